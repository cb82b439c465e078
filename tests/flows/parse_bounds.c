/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses every prefix of every frame of the captures given, each placed so that it
 * ends at a page that cannot be read: a parser that looks one byte past the
 * captured ones dies here, in every build.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture.h"
#include "parse.h"

#define READABLE (1u << 20)

static uint8_t *make_fence(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p = mmap(NULL, READABLE + page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + READABLE, page, PROT_NONE)) {
		perror("mmap");
		exit(2);
	}
	return p + READABLE;
}

int main(int argc, char **argv)
{
	uint8_t *fence = make_fence();
	unsigned long parsed = 0;

	for (int i = 1; i < argc; i++) {
		char error[CAPTURE_ERROR];
		const struct pcap_pkthdr *header;
		const uint8_t *data;
		struct capture *c = capture_open(argv[i], error);

		if (!c) {
			fprintf(stderr, "%s: %s\n", argv[i], error);
			return 2;
		}
		while (capture_next(c, &header, &data, error) == 1) {
			for (uint32_t n = 0; n <= header->caplen && n <= READABLE; n++) {
				struct frame frame;

				memcpy(fence - n, data, n);
				frame_parse(capture_link_type(c), fence - n, n, &frame);
				parsed++;
			}
		}
		capture_close(c);
	}
	printf("%lu prefixes\n", parsed);
	return 0;
}
