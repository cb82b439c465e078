/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture files through libpcap. Its savefile reader takes a FILE; we give it
 * one whose reads come through us, which tells how far it is, and lets us look
 * at the first bytes before libpcap does: the resolution of time stamps must be
 * chosen at open. Microsecond files are read (and echoed) as such, so that the
 * echo has the same records; all others as nanoseconds.
 */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC_PCAP_NANO 0xa1b23c4d
#define MAGIC_PCAPNG 0x0a0d0d0a
#define STREAM_BUFFER (256 * 1024)

struct capture {
	int fd;
	uint8_t head[4]; /* read ahead of libpcap */
	size_t head_bytes;
	size_t head_given;
	uint64_t bytes_read;
	uint64_t bytes_total;
	uint32_t frame_max;
	int nano;
	int classic; /* pcap, not pcapng */
	pcap_t *pcap;
	char buffer[STREAM_BUFFER]; /* of the FILE; stdio takes a size only with memory */
};

static ssize_t read_retry(int fd, void *buffer, size_t size)
{
	ssize_t n;

	do
		n = read(fd, buffer, size);
	while (n < 0 && errno == EINTR);
	return n;
}

static ssize_t cookie_read(void *cookie, char *buffer, size_t size)
{
	struct capture *c = cookie;
	ssize_t n;

	if (c->head_given < c->head_bytes) {
		size_t left = c->head_bytes - c->head_given;

		if (size > left)
			size = left;
		memcpy(buffer, c->head + c->head_given, size);
		c->head_given += size;
		return (ssize_t)size;
	}
	n = read_retry(c->fd, buffer, size);
	if (n > 0)
		c->bytes_read += (uint64_t)n;
	return n;
}

/* Fills head; 0 or an errno value. A file shorter than that is libpcap's to refuse. */
static int read_head(struct capture *c)
{
	while (c->head_bytes < sizeof(c->head)) {
		ssize_t n = read_retry(c->fd, c->head + c->head_bytes,
				       sizeof(c->head) - c->head_bytes);

		if (n < 0)
			return errno;
		if (n == 0)
			break;
		c->head_bytes += (size_t)n;
	}
	c->bytes_read = c->head_bytes;
	return 0;
}

static void look_at_head(struct capture *c)
{
	uint32_t magic;

	memcpy(&magic, c->head, sizeof(magic));
	c->classic = magic != MAGIC_PCAPNG;
	c->nano = magic == MAGIC_PCAPNG || magic == MAGIC_PCAP_NANO ||
		  magic == __builtin_bswap32(MAGIC_PCAP_NANO);
}

static int open_pcap(struct capture *c, char error[CAPTURE_ERROR])
{
	cookie_io_functions_t io = { .read = cookie_read };
	char reason[PCAP_ERRBUF_SIZE] = "";
	FILE *stream = fopencookie(c, "r", io);
	int snapshot;

	if (!stream || setvbuf(stream, c->buffer, _IOFBF, STREAM_BUFFER)) {
		snprintf(error, CAPTURE_ERROR, "out of memory");
		if (stream)
			fclose(stream);
		return -1;
	}
	c->pcap = pcap_fopen_offline_with_tstamp_precision(
		stream,
		c->nano ? PCAP_TSTAMP_PRECISION_NANO : PCAP_TSTAMP_PRECISION_MICRO,
		reason);
	if (!c->pcap) {
		snprintf(error, CAPTURE_ERROR, "%s", reason);
		fclose(stream);
		return -1;
	}
	snapshot = pcap_snapshot(c->pcap);
	c->frame_max = snapshot > 0 && snapshot < CAPTURE_FRAME_MAX ? (uint32_t)snapshot :
								      CAPTURE_FRAME_MAX;
	return 0;
}

struct capture *capture_open(const char *path, char error[CAPTURE_ERROR])
{
	struct capture *c = calloc(1, sizeof(*c));
	struct stat st;
	int rc;

	if (!c) {
		snprintf(error, CAPTURE_ERROR, "out of memory");
		return NULL;
	}
	c->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (c->fd < 0) {
		snprintf(error, CAPTURE_ERROR, "%s", strerror(errno));
		free(c);
		return NULL;
	}
	rc = read_head(c);
	if (rc) {
		snprintf(error, CAPTURE_ERROR, "%s", strerror(rc));
		capture_close(c);
		return NULL;
	}
	if (!fstat(c->fd, &st) && S_ISREG(st.st_mode))
		c->bytes_total = (uint64_t)st.st_size;
	look_at_head(c);
	if (open_pcap(c, error)) {
		capture_close(c);
		return NULL;
	}
	return c;
}

void capture_close(struct capture *c)
{
	if (c->pcap)
		pcap_close(c->pcap);
	if (c->fd != STDIN_FILENO)
		close(c->fd);
	free(c);
}

int capture_link_type(const struct capture *c)
{
	return pcap_datalink(c->pcap);
}

const char *capture_link_name(const struct capture *c)
{
	const char *name = pcap_datalink_val_to_name(pcap_datalink(c->pcap));

	return name ? name : "unknown";
}

uint32_t capture_frame_max(const struct capture *c)
{
	return c->frame_max;
}

int capture_next(struct capture *c, const struct pcap_pkthdr **header,
		 const uint8_t **data, char error[CAPTURE_ERROR])
{
	struct pcap_pkthdr *h;
	int rc = pcap_next_ex(c->pcap, &h, data);

	*header = h;
	if (rc == 1) {
		/* libpcap sees to this, but for pcapng files that ask for more. */
		if (h->caplen <= c->frame_max)
			return 1;
		snprintf(error, CAPTURE_ERROR,
			 "invalid packet capture length %u, bigger than maximum of %u",
			 h->caplen, c->frame_max);
		return -1;
	}
	if (rc == PCAP_ERROR_BREAK)
		return 0;
	snprintf(error, CAPTURE_ERROR, "%s", pcap_geterr(c->pcap));
	return -1;
}

uint64_t capture_time_ns(const struct capture *c, const struct pcap_pkthdr *header)
{
	uint64_t sec = (uint64_t)header->ts.tv_sec;
	uint64_t fraction = (uint64_t)header->ts.tv_usec;

	if (c->classic) { /* 32-bit fields, which libpcap takes for signed */
		sec = (uint32_t)sec;
		fraction = (uint32_t)fraction;
	}
	return sec * 1000000000u + (c->nano ? fraction : fraction * 1000u);
}

uint64_t capture_bytes_read(const struct capture *c)
{
	return c->bytes_read;
}

uint64_t capture_bytes_total(const struct capture *c)
{
	return c->bytes_total;
}

struct echo {
	const char *path;
	FILE *stream;
	pcap_dumper_t *dumper;
	char buffer[STREAM_BUFFER];
};

struct echo *echo_open(const struct capture *c, const char *path,
		       char error[CAPTURE_ERROR])
{
	struct echo *e = calloc(1, sizeof(*e));

	if (!e) {
		snprintf(error, CAPTURE_ERROR, "out of memory");
		return NULL;
	}
	e->path = path;
	e->stream = strcmp(path, "-") ? fopen(path, "wbe") : stdout;
	if (!e->stream) {
		snprintf(error, CAPTURE_ERROR, "%s", strerror(errno));
		free(e);
		return NULL;
	}
	setvbuf(e->stream, e->buffer, _IOFBF, STREAM_BUFFER);
	e->dumper = pcap_dump_fopen(c->pcap, e->stream);
	if (!e->dumper) {
		snprintf(error, CAPTURE_ERROR, "%s", pcap_geterr(c->pcap));
		fclose(e->stream);
		free(e);
		return NULL;
	}
	return e;
}

const char *echo_path(const struct echo *e)
{
	return e->path;
}

int echo_write(struct echo *e, const struct pcap_pkthdr *header, const uint8_t *data)
{
	errno = 0;
	pcap_dump((u_char *)e->dumper, header, data);
	if (ferror(e->stream))
		return errno ? errno : EIO;
	return 0;
}

int echo_close(struct echo *e)
{
	int rc = 0, fd;

	errno = 0;
	if (fflush(e->stream) || ferror(e->stream))
		rc = errno ? errno : EIO;
	/*
	 * pcap_dump_close() does not say whether close() failed, which is where
	 * network file systems report a full disk: close a duplicate first.
	 */
	fd = dup(fileno(e->stream));
	if (fd >= 0 && close(fd) && !rc)
		rc = errno;
	pcap_dump_close(e->dumper);
	free(e);
	return rc;
}
