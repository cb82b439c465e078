/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the bytes of one captured frame to the flow it belongs to. Pure: no
 * state, no allocation, reads nothing beyond the captured bytes.
 */
#ifndef FLOWS_PARSE_H
#define FLOWS_PARSE_H

#include <stdint.h>

/* What became of a frame. Everything from FRAME_LINK_SHORT on is malformed. */
enum frame_verdict {
	FRAME_FLOW,	   /* belongs to the flow in frame.key */
	FRAME_OTHER,	   /* not IP */
	FRAME_LINK_SHORT,  /* cut inside the headers in front of IP */
	FRAME_IP_SHORT,	   /* cut inside the IP header */
	FRAME_IP4_VERSION, /* the layer below says IPv4, the version field does not */
	FRAME_IP6_VERSION, /* the same for IPv6 */
	FRAME_IP4_IHL,	   /* IPv4 header length below 20 bytes */
	FRAME_IP4_TOTAL,   /* IPv4 total length below the header length */
	FRAME_VERDICTS,
};

/*
 * The same for both directions: end 0 is the one with the smaller (address,
 * port). IPv4 addresses use the first 4 bytes. Compared and hashed as bytes.
 */
struct flow_key {
	uint8_t addr[2][16];
	uint16_t port[2];
	uint8_t version; /* 4 or 6 */
	uint8_t proto;
	uint8_t zero[2];
};

struct frame {
	enum frame_verdict verdict;
	uint8_t version;   /* 4 or 6 where an IP header is announced, else 0 */
	uint8_t from;	   /* which end of the key sent it */
	uint8_t tcp_flags; /* 0 if not TCP, or if its header is not complete */
	uint64_t hash;	   /* of the key; 0 without a flow */
	struct flow_key key;
};

/* True if frame_parse() knows this libpcap link type (DLT_...). */
int frame_link_supported(int link_type);

/* Parses n captured bytes; the link type must be a supported one. */
void frame_parse(int link_type, const uint8_t *p, uint32_t n, struct frame *out);

/* A few words for reports, for example "bad IPv4 version". */
const char *frame_verdict_name(enum frame_verdict verdict);

#endif
