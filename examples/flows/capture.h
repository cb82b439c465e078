/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture files: reading one (pcap, pcapng, from a file or from standard
 * input), and writing the packets again as pcap.
 */
#ifndef FLOWS_CAPTURE_H
#define FLOWS_CAPTURE_H

#include <pcap/pcap.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_ERROR 512	 /* bytes of an error text */
#define CAPTURE_FRAME_MAX 262144 /* bytes of a frame; tcpdump's and Wireshark's limit */

struct capture;

/* "-" is standard input. NULL: failed, and error says why. */
struct capture *capture_open(const char *path, char error[CAPTURE_ERROR]);
void capture_close(struct capture *c);

/* libpcap's DLT_ number, and its name for messages. */
int capture_link_type(const struct capture *c);
const char *capture_link_name(const struct capture *c);

/* Captured bytes of a frame at most: the snapshot length, up to CAPTURE_FRAME_MAX. */
uint32_t capture_frame_max(const struct capture *c);

/*
 * 1: a packet, valid until the next call; 0: the end; -1: the file is cut or
 * damaged here, and error says how.
 */
int capture_next(struct capture *c, const struct pcap_pkthdr **header,
		 const uint8_t **data, char error[CAPTURE_ERROR]);

/* Time stamp of a packet of this capture, in ns since 1970, modulo 2^64. */
uint64_t capture_time_ns(const struct capture *c, const struct pcap_pkthdr *header);

/* Bytes read so far, and of the whole file (0: not known, as for a pipe). */
uint64_t capture_bytes_read(const struct capture *c);
uint64_t capture_bytes_total(const struct capture *c);

struct echo;

/*
 * A pcap file ("-": standard output) with the capture's link type, snapshot length and resolution of
 * time stamps. NULL: failed, and error says why. Keeps the path's pointer.
 */
struct echo *echo_open(const struct capture *c, const char *path,
		       char error[CAPTURE_ERROR]);
/* The path given at open, for messages. */
const char *echo_path(const struct echo *e);
/* 0, or an errno value: the file is lost. */
int echo_write(struct echo *e, const struct pcap_pkthdr *header, const uint8_t *data);
/* Flushes and closes; 0, or an errno value: the file is lost. */
int echo_close(struct echo *e);

#endif
