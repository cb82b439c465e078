/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library to be preloaded into fp-flows: counts the calls that get memory (the
 * heap's, and mappings) while a capture is read. The reading is the clock, so that
 * the result does not depend on how fast anything runs: from the packet numbered
 * COUNT_FROM on, until libpcap says that there are no more.
 *
 * At that moment it writes one line to the file COUNT_REPORT:
 *
 *   <packets read> <calls before COUNT_FROM> <calls since> <who made the first since>
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc's own, which a program may call when it replaces the public ones. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

static atomic_int steady;
static atomic_ulong before, since;
static _Atomic(void *) first_caller;
static unsigned long packets, from;

static void count(void *caller)
{
	void *none = NULL;

	if (!atomic_load(&steady)) {
		atomic_fetch_add(&before, 1);
		return;
	}
	atomic_fetch_add(&since, 1);
	atomic_compare_exchange_strong(&first_caller, &none, caller);
}

void *malloc(size_t size)
{
	count(__builtin_return_address(0));
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	count(__builtin_return_address(0));
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	count(__builtin_return_address(0));
	return __libc_realloc(p, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	count(__builtin_return_address(0));
	return __libc_memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
	void *p;

	count(__builtin_return_address(0));
	p = __libc_memalign(align, size);
	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	count(__builtin_return_address(0));
	return (void *)syscall(SYS_mmap, addr, size, prot, flags, fd, offset);
}

static void report(void)
{
	const char *path = getenv("COUNT_REPORT");
	FILE *f = path ? fopen(path, "w") : NULL;
	Dl_info info = { .dli_fname = NULL };
	void *caller = atomic_load(&first_caller);

	if (!f)
		abort();
	if (caller)
		dladdr(caller, &info);
	fprintf(f, "%lu %lu %lu %s %s\n", packets, atomic_load(&before),
		atomic_load(&since), info.dli_fname ? info.dli_fname : "-",
		info.dli_sname ? info.dli_sname : "-");
	fclose(f);
}

int pcap_next_ex(pcap_t *pcap, struct pcap_pkthdr **header, const u_char **data)
{
	static int (*real)(pcap_t *, struct pcap_pkthdr **, const u_char **);
	int rc;

	if (!real) {
		const char *text = getenv("COUNT_FROM");

		*(void **)&real = dlsym(RTLD_NEXT, "pcap_next_ex");
		if (!real || !text)
			abort();
		from = strtoul(text, NULL, 10);
	}
	if (packets == from)
		atomic_store(&steady, 1);
	rc = real(pcap, header, data);
	if (rc == 1) {
		packets++;
	} else {
		atomic_store(&steady, 0);
		report();
	}
	return rc;
}
