/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frame parser: link layer, tags and labels, then the outermost IP header,
 * then the ports. README.md states the rules as a user sees them.
 *
 * Every function gets the bytes that are left, checks their number before it
 * reads, and hands the rest to the next one. Bytes after the end that an IP or
 * PPPoE header states (Ethernet padding) do not count as captured.
 */
#include "parse.h"

#include <netinet/in.h>
#include <pcap/dlt.h>
#include <string.h>

#define ETHERTYPE_IP4 0x0800
#define ETHERTYPE_IP6 0x86dd
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_QINQ 0x88a8
#define ETHERTYPE_QINQ_OLD 0x9100
#define ETHERTYPE_MPLS 0x8847
#define ETHERTYPE_MPLS_MULTICAST 0x8848
#define ETHERTYPE_PPPOE_SESSION 0x8864
#define ETHERTYPE_FABRICPATH 0x8903

#define PPP_IP4 0x0021
#define PPP_IP6 0x0057

/* ARPHRD_ values under which a cooked header's protocol is not an EtherType. */
#define ARPHRD_FRAD 770
#define ARPHRD_IEEE80211_RADIOTAP 803
#define ARPHRD_NETLINK 824

#define ETHERNET_HEADER 14
#define IP4_HEADER 20
#define IP6_HEADER 40
#define TCP_HEADER 20
#define UDP_HEADER 8
#define SCTP_HEADER 12

static uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)be16(p) << 16 | be16(p + 2);
}

static uint64_t hash_key(const struct flow_key *key)
{
	uint64_t words[sizeof(*key) / 8], h = 0x9e3779b97f4a7c15ull;

	_Static_assert(sizeof(*key) % 8 == 0, "the key is hashed in whole words");
	memcpy(words, key, sizeof(words));
	for (unsigned int i = 0; i < sizeof(words) / 8; i++) {
		h = (h ^ words[i]) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	h *= 0xc4ceb9fe1a85ec53ull;
	return h ^ h >> 29;
}

/* Puts the two ends in order; on entry end 0 is the sender. */
static void finish_flow(struct frame *f)
{
	struct flow_key *k = &f->key;
	int order = memcmp(k->addr[0], k->addr[1], sizeof(k->addr[0]));

	if (order > 0 || (order == 0 && k->port[0] > k->port[1])) {
		uint8_t addr[sizeof(k->addr[0])];
		uint16_t port = k->port[0];

		memcpy(addr, k->addr[0], sizeof(addr));
		memcpy(k->addr[0], k->addr[1], sizeof(addr));
		memcpy(k->addr[1], addr, sizeof(addr));
		k->port[0] = k->port[1];
		k->port[1] = port;
		f->from = 1;
	}
	f->hash = hash_key(k);
	f->verdict = FRAME_FLOW;
}

static void parse_transport(struct frame *f, const uint8_t *p, uint32_t n)
{
	uint32_t header;

	switch (f->key.proto) {
	case IPPROTO_TCP:
		header = TCP_HEADER;
		break;
	case IPPROTO_UDP:
		header = UDP_HEADER;
		break;
	case IPPROTO_SCTP:
		header = SCTP_HEADER;
		break;
	default:
		return;
	}
	if (n < header)
		return;
	f->key.port[0] = be16(p);
	f->key.port[1] = be16(p + 2);
	if (f->key.proto == IPPROTO_TCP)
		f->tcp_flags = p[13];
}

static void parse_ip4(struct frame *f, const uint8_t *p, uint32_t n)
{
	uint32_t header, total;

	f->version = 4;
	f->verdict = FRAME_IP_SHORT;
	if (n < 1)
		return;
	if (p[0] >> 4 != 4) {
		f->verdict = FRAME_IP4_VERSION;
		return;
	}
	if (n < IP4_HEADER)
		return;
	header = (p[0] & 15u) * 4;
	if (header < IP4_HEADER) {
		f->verdict = FRAME_IP4_IHL;
		return;
	}
	if (n < header)
		return;
	/* 0: captured before the network card cut a large segment. */
	total = be16(p + 2);
	if (total && total < header) {
		f->verdict = FRAME_IP4_TOTAL;
		return;
	}
	if (total && total < n)
		n = total;

	f->key.version = 4;
	f->key.proto = p[9];
	memcpy(f->key.addr[0], p + 12, 4);
	memcpy(f->key.addr[1], p + 16, 4);
	if (!(be16(p + 6) & 0x1fff))
		parse_transport(f, p + header, n - header);
	finish_flow(f);
}

/*
 * Walks the extension headers; the protocol becomes the last "next header" that
 * could be read. Stops without ports at a header that is cut, and behind the
 * header of a non-first fragment.
 */
static void parse_ip6_payload(struct frame *f, const uint8_t *p, uint32_t n)
{
	for (;;) {
		uint8_t kind = f->key.proto;
		uint32_t header;

		switch (kind) {
		case IPPROTO_HOPOPTS:
		case IPPROTO_ROUTING:
		case IPPROTO_DSTOPTS:
		case IPPROTO_AH:
			if (n < 2)
				return;
			header = kind == IPPROTO_AH ? (p[1] + 2u) * 4 : (p[1] + 1u) * 8;
			break;
		case IPPROTO_FRAGMENT:
			if (n < 8)
				return;
			header = 8;
			break;
		default:
			parse_transport(f, p, n);
			return;
		}
		f->key.proto = p[0];
		if (n < header || (kind == IPPROTO_FRAGMENT && be16(p + 2) & 0xfff8))
			return;
		p += header;
		n -= header;
	}
}

static void parse_ip6(struct frame *f, const uint8_t *p, uint32_t n)
{
	uint32_t payload;

	f->version = 6;
	f->verdict = FRAME_IP_SHORT;
	if (n < 1)
		return;
	if (p[0] >> 4 != 6) {
		f->verdict = FRAME_IP6_VERSION;
		return;
	}
	if (n < IP6_HEADER)
		return;
	/* 0: a jumbogram, or a large segment as above. */
	payload = be16(p + 4);
	n -= IP6_HEADER;
	if (payload && payload < n)
		n = payload;

	f->key.version = 6;
	f->key.proto = p[6];
	memcpy(f->key.addr[0], p + 8, 16);
	memcpy(f->key.addr[1], p + 24, 16);
	parse_ip6_payload(f, p + IP6_HEADER, n);
	finish_flow(f);
}

/* Raw IP, and what is below an MPLS stack: the first nibble tells. */
static void parse_ip_by_nibble(struct frame *f, const uint8_t *p, uint32_t n)
{
	if (n < 1)
		f->verdict = FRAME_LINK_SHORT;
	else if (p[0] >> 4 == 4)
		parse_ip4(f, p, n);
	else if (p[0] >> 4 == 6)
		parse_ip6(f, p, n);
	else
		f->verdict = FRAME_OTHER;
}

static void parse_mpls(struct frame *f, const uint8_t *p, uint32_t n)
{
	int bottom;

	do {
		if (n < 4) {
			f->verdict = FRAME_LINK_SHORT;
			return;
		}
		bottom = p[2] & 1;
		p += 4;
		n -= 4;
	} while (!bottom);
	parse_ip_by_nibble(f, p, n);
}

static void parse_pppoe(struct frame *f, const uint8_t *p, uint32_t n)
{
	uint32_t length;
	uint16_t protocol;

	if (n < 6) {
		f->verdict = FRAME_LINK_SHORT;
		return;
	}
	length = be16(p + 4);
	p += 6;
	n -= 6;
	if (length < n)
		n = length;
	if (n < 2) {
		f->verdict = FRAME_LINK_SHORT;
		return;
	}
	protocol = be16(p);
	p += 2;
	n -= 2;
	if (protocol == PPP_IP4)
		parse_ip4(f, p, n);
	else if (protocol == PPP_IP6)
		parse_ip6(f, p, n);
	else
		f->verdict = FRAME_OTHER;
}

/* What follows an EtherType; passes tags until something else comes. */
static void parse_ethertype(struct frame *f, uint16_t type, const uint8_t *p, uint32_t n)
{
	for (;;) {
		uint32_t skip;

		switch (type) {
		case ETHERTYPE_IP4:
			parse_ip4(f, p, n);
			return;
		case ETHERTYPE_IP6:
			parse_ip6(f, p, n);
			return;
		case ETHERTYPE_MPLS:
		case ETHERTYPE_MPLS_MULTICAST:
			parse_mpls(f, p, n);
			return;
		case ETHERTYPE_PPPOE_SESSION:
			parse_pppoe(f, p, n);
			return;
		case ETHERTYPE_VLAN:
		case ETHERTYPE_QINQ:
		case ETHERTYPE_QINQ_OLD:
			skip = 4;
			break;
		case ETHERTYPE_FABRICPATH: /* a tag, then a whole frame */
			skip = 2 + ETHERNET_HEADER;
			break;
		default:
			f->verdict = FRAME_OTHER;
			return;
		}
		if (n < skip) {
			f->verdict = FRAME_LINK_SHORT;
			return;
		}
		type = be16(p + skip - 2);
		p += skip;
		n -= skip;
	}
}

/*
 * AF_ values of the capturing system: 2 is IPv4 everywhere, IPv6 differs
 * (NetBSD and OpenBSD, FreeBSD, macOS).
 */
static void parse_family(struct frame *f, uint32_t family, const uint8_t *p, uint32_t n)
{
	switch (family) {
	case 2:
		parse_ip4(f, p, n);
		break;
	case 24:
	case 28:
	case 30:
		parse_ip6(f, p, n);
		break;
	default:
		f->verdict = FRAME_OTHER;
	}
}

static void parse_cooked(struct frame *f, uint16_t hardware, uint16_t type,
			 const uint8_t *p, uint32_t n)
{
	if (hardware == ARPHRD_FRAD || hardware == ARPHRD_NETLINK ||
	    hardware == ARPHRD_IEEE80211_RADIOTAP)
		f->verdict = FRAME_OTHER;
	else
		parse_ethertype(f, type, p, n);
}

/* Bytes of the link header; -1: not supported. */
static int link_header(int link_type)
{
	switch (link_type) {
	case DLT_EN10MB:
		return ETHERNET_HEADER;
	case DLT_RAW:
	case DLT_IPV4:
	case DLT_IPV6:
		return 0;
	case DLT_LINUX_SLL:
		return 16;
	case DLT_LINUX_SLL2:
		return 20;
	case DLT_NULL:
	case DLT_LOOP:
		return 4;
	default:
		return -1;
	}
}

int frame_link_supported(int link_type)
{
	return link_header(link_type) >= 0;
}

void frame_parse(int link_type, const uint8_t *p, uint32_t n, struct frame *out)
{
	uint32_t header = (uint32_t)link_header(link_type);
	const uint8_t *rest;
	uint32_t family;

	memset(out, 0, sizeof(*out));
	if (n < header) {
		out->verdict = FRAME_LINK_SHORT;
		return;
	}
	rest = p + header;
	n -= header;

	switch (link_type) {
	case DLT_EN10MB:
		parse_ethertype(out, be16(p + 12), rest, n);
		break;
	case DLT_IPV4:
		parse_ip4(out, rest, n);
		break;
	case DLT_IPV6:
		parse_ip6(out, rest, n);
		break;
	case DLT_LINUX_SLL:
		parse_cooked(out, be16(p + 2), be16(p + 14), rest, n);
		break;
	case DLT_LINUX_SLL2:
		parse_cooked(out, be16(p + 8), be16(p), rest, n);
		break;
	case DLT_NULL: /* in the byte order of the capturing machine */
	case DLT_LOOP: /* in network byte order */
		family = be32(p);
		if (family > 0xffff && link_type == DLT_NULL)
			family = __builtin_bswap32(family);
		parse_family(out, family, rest, n);
		break;
	default:
		parse_ip_by_nibble(out, rest, n);
	}
}

const char *frame_verdict_name(enum frame_verdict verdict)
{
	static const char *const names[FRAME_VERDICTS] = {
		[FRAME_FLOW] = "in flows",
		[FRAME_OTHER] = "not IP",
		[FRAME_LINK_SHORT] = "link header cut short",
		[FRAME_IP_SHORT] = "IP header cut short",
		[FRAME_IP4_VERSION] = "bad IPv4 version",
		[FRAME_IP6_VERSION] = "bad IPv6 version",
		[FRAME_IP4_IHL] = "bad IPv4 header length",
		[FRAME_IP4_TOTAL] = "bad IPv4 total length",
	};

	return names[verdict];
}
