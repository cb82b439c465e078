/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report. A flow's key has its ends in address order; here they become a
 * (the sender of the first packet) and b. Rows have a total order, so the same
 * capture gives the same file with any number of workers (outlet.c puts them into it).
 */
#include "report.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_ADDR INET6_ADDRSTRLEN
#define TEXT_END (INET6_ADDRSTRLEN + 8) /* "[address]:port" */

static int compare_u64(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

/* IPv4 before IPv6, then as numbers. */
static int compare_addr(const struct flow *x, int x_end, const struct flow *y, int y_end)
{
	if (x->key.version != y->key.version)
		return x->key.version - y->key.version;
	return memcmp(x->key.addr[x_end], y->key.addr[y_end], sizeof(x->key.addr[0]));
}

static int by_time(const struct flow *x, const struct flow *y)
{
	int c = compare_u64(x->first_ns, y->first_ns);

	if (!c)
		c = x->key.proto - y->key.proto;
	for (int end = 0; !c && end < 2; end++) {
		int xe = x->a ^ end, ye = y->a ^ end;

		c = compare_addr(x, xe, y, ye);
		if (!c)
			c = x->key.port[xe] - y->key.port[ye];
	}
	return c;
}

int report_order(const struct flow *x, const struct flow *y)
{
	int c = compare_u64(x->end_ns, y->end_ns);

	return c ? c : by_time(x, y);
}

static uint64_t all_bytes(const struct flow *f)
{
	return f->bytes[0] + f->bytes[1];
}

int report_by_bytes(const struct flow *x, const struct flow *y)
{
	int c = compare_u64(all_bytes(y), all_bytes(x));

	if (!c)
		c = by_time(x, y);
	return c ? c : compare_u64(x->end_ns, y->end_ns);
}

static const char *format_addr(const struct flow *f, int end, char text[TEXT_ADDR])
{
	return inet_ntop(f->key.version == 4 ? AF_INET : AF_INET6, f->key.addr[end], text,
			 TEXT_ADDR);
}

int report_header(FILE *out)
{
	return fputs("proto,addr_a,port_a,addr_b,port_b,first_ns,last_ns,"
		     "packets_ab,bytes_ab,packets_ba,bytes_ba,tcp_flags\n",
		     out) < 0 ?
		       errno :
		       0;
}

int report_row(FILE *out, const struct flow *f)
{
	char text_a[TEXT_ADDR], text_b[TEXT_ADDR];
	int a = f->a, b = !a;

	return fprintf(out,
		       "%u,%s,%u,%s,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
		       ",%" PRIu64 ",%" PRIu64 ",%u\n",
		       f->key.proto, format_addr(f, a, text_a), f->key.port[a],
		       format_addr(f, b, text_b), f->key.port[b], f->first_ns, f->last_ns,
		       f->packets[a], f->bytes[a], f->packets[b], f->bytes[b],
		       f->tcp_flags) < 0 ?
		       errno :
		       0;
}

/* ---- summary ---- */

static const char *format_proto(uint8_t proto, char text[8])
{
	static const struct {
		uint8_t number;
		const char *name;
	} names[] = {
		{ IPPROTO_ICMP, "ICMP" }, { IPPROTO_IGMP, "IGMP" },
		{ IPPROTO_IPIP, "IPIP" }, { IPPROTO_TCP, "TCP" },
		{ IPPROTO_UDP, "UDP" },	  { IPPROTO_IPV6, "IPv6" },
		{ IPPROTO_GRE, "GRE" },	  { IPPROTO_ESP, "ESP" },
		{ IPPROTO_AH, "AH" },	  { IPPROTO_ICMPV6, "ICMPv6" },
		{ 89, "OSPF" },		  { IPPROTO_SCTP, "SCTP" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].number == proto)
			return names[i].name;
	snprintf(text, 8, "%u", proto);
	return text;
}

static const char *format_bytes(uint64_t bytes, char text[16])
{
	static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
	double value = (double)bytes / 1000;
	size_t unit = 0;

	if (bytes < 1000) {
		snprintf(text, 16, "%" PRIu64 " B", bytes);
		return text;
	}
	while (value >= 999.95 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1000;
		unit++;
	}
	snprintf(text, 16, "%.1f %s", value, units[unit]);
	return text;
}

static const char *format_end(const struct flow *f, int end, char text[TEXT_END])
{
	char addr[TEXT_ADDR];

	format_addr(f, end, addr);
	if (!f->key.port[0] && !f->key.port[1])
		snprintf(text, TEXT_END, "%s", addr);
	else if (f->key.version == 6)
		snprintf(text, TEXT_END, "[%s]:%u", addr, f->key.port[end]);
	else
		snprintf(text, TEXT_END, "%s:%u", addr, f->key.port[end]);
	return text;
}

static void print_top(FILE *out, const struct flow *flows, size_t n)
{
	char a[TEXT_END], b[TEXT_END];
	int wide_a = 1, wide_b = 1;

	for (size_t i = 0; i < n; i++) {
		int len_a = (int)strlen(format_end(&flows[i], flows[i].a, a));
		int len_b = (int)strlen(format_end(&flows[i], !flows[i].a, b));

		wide_a = len_a > wide_a ? len_a : wide_a;
		wide_b = len_b > wide_b ? len_b : wide_b;
	}
	fprintf(out, "  %-6s  %-*s  %-*s  %9s  %9s  %9s  %9s  %9s\n", "proto", wide_a,
		"a", wide_b, "b", "pkts a>b", "bytes a>b", "pkts b>a", "bytes b>a",
		"seconds");
	for (size_t i = 0; i < n; i++) {
		const struct flow *f = &flows[i];
		char proto[8], ab[16], ba[16];

		fprintf(out,
			"  %-6s  %-*s  %-*s  %9" PRIu64 "  %9s  %9" PRIu64
			"  %9s  %9.3f\n",
			format_proto(f->key.proto, proto), wide_a, format_end(f, f->a, a),
			wide_b, format_end(f, !f->a, b), f->packets[f->a],
			format_bytes(f->bytes[f->a], ab), f->packets[!f->a],
			format_bytes(f->bytes[!f->a], ba),
			(double)(f->last_ns - f->first_ns) / 1e9);
	}
}

static void print_rate(FILE *out, const struct pipeline_result *r)
{
	double rate = r->seconds > 0 ? (double)r->packets / r->seconds : 0;

	if (rate < 1e6)
		fprintf(out, "rate       %.0f k packets/s", rate / 1e3);
	else
		fprintf(out, "rate       %.2f M packets/s", rate / 1e6);
	fprintf(out, " (%.3f s, %u worker%s)\n", r->seconds, r->workers,
		r->workers == 1 ? "" : "s");
}

static void print_counts(FILE *out, const struct pipeline_result *r,
			 const struct outlet *outlet)
{
	const struct pipeline_counts *c = &r->counts;
	uint64_t malformed = 0, bytes = 0;

	for (int v = 0; v < FRAME_VERDICTS; v++) {
		bytes += c->bytes[v];
		if (v >= FRAME_LINK_SHORT)
			malformed += c->frames[v];
	}
	fprintf(out, "packets    %" PRIu64 "\n", r->packets);
	fprintf(out, "bytes      %" PRIu64 "  (original lengths)\n", bytes);
	fprintf(out, "IPv4       %" PRIu64 "\n", c->ip4);
	fprintf(out, "IPv6       %" PRIu64 "\n", c->ip6);
	fprintf(out, "other      %" PRIu64 "  (not IP)\n", c->frames[FRAME_OTHER]);
	fprintf(out, "malformed  %" PRIu64 "\n", malformed);
	for (int v = FRAME_LINK_SHORT; v < FRAME_VERDICTS; v++)
		if (c->frames[v])
			fprintf(out, "  %s: %" PRIu64 "\n",
				frame_verdict_name((enum frame_verdict)v), c->frames[v]);
	fprintf(out, "flows      %zu\n", outlet->rows);
	if (r->idle_timeout_ns)
		fprintf(out, "  idle for %g s: %zu\n", (double)r->idle_timeout_ns / 1e9,
			outlet->idle);
	print_rate(out, r);
}

void report_summary(FILE *out, const struct pipeline_result *r,
		    const struct report_names *names, const struct outlet *outlet)
{
	const struct top *top = &outlet->top;

	if (top->count) {
		fprintf(out, "Top %zu of %zu flows by bytes:\n", top->count,
			outlet->rows);
		print_top(out, top->flows, top->count);
		fputc('\n', out);
	}
	fprintf(out, "input      %s\n", names->input);
	print_counts(out, r, outlet);
	fprintf(out, "flow table %s\n", names->csv);
	if (names->echo)
		fprintf(out, "echo       %s\n", names->echo);
}
