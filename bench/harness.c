/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * harness.c - slices, classes and medians; see harness.h for the method.
 */
#include "harness.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <libfp/base.h>

#define SLICE_NS 300000.0
#define WARMUP_SLICES 3	  /* per case: sizes the slice, fills caches */
#define WARMUP_PART 8	  /* of each slice, this part is not timed */
#define HANDOFF_GROUPS 5  /* the median of these ... */
#define HANDOFF_ROUNDS 12 /* ... averages of so many round trips */
/* A hand-off takes about 50 ns near and 200 ns far; what lies between says
 * that the cores moved meanwhile. */
#define NEAR_BELOW_NS 90.0
#define FAR_ABOVE_NS 140.0

struct samples {
	float *values;
	size_t n, room;
};

struct entry {
	struct bench_case c;
	uint64_t units; /* of the next slice */
	unsigned warm;
	struct samples samples[BENCH_CLASSES];
	unsigned switched; /* slices dropped: a thread was descheduled */
	unsigned moved;	   /* slices dropped: class changed or unclear */
	unsigned wrong;	   /* slices whose loop did not do its units */
};

enum order { ORDER_HANDOFF, ORDER_FEED, ORDER_QUIT };

/* The partner thread of two-thread slices takes orders over these lines. */
struct partner {
	_Alignas(128) atomic_uint order_seq;
	enum order order;
	const struct entry *entry;
	uint64_t units;
	_Alignas(128) atomic_uint done_seq;
	long switches; /* involuntary, during the last order */
	uint64_t fed;
	_Alignas(128) atomic_uint ball;
	_Alignas(128) int cpu;
	unsigned seq; /* main thread's */
	pthread_t thread;
};

struct bench {
	struct bench_options options;
	cpu_set_t affinity; /* of the thread that called bench_start */
	int cpus[2];
	int n_cpus; /* 1 or 2: how many were found to run on */
	struct entry *entries;
	size_t n_entries, room;
	int percent; /* last shown */
	struct partner partner;
	double handoff_sum[BENCH_CLASSES];
	unsigned handoff_n[BENCH_CLASSES];
};

static const char *const class_names[BENCH_CLASSES] = { "alone", "near", "far" };

static void die(const char *why)
{
	fprintf(stderr, "bench: %s\n", why);
	exit(2);
}

static void *must_realloc(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p)
		die("out of memory");
	return p;
}

uint64_t bench_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static long involuntary_switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nivcsw;
}

void bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
		die("cannot pin a thread");
}

/* ---- cores ---- */

static int core_of(int cpu)
{
	char path[96];
	int package = 0, core = cpu;
	FILE *f;

	snprintf(path, sizeof(path),
		 "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
	f = fopen(path, "r");
	if (f) {
		if (fscanf(f, "%d", &package) != 1)
			package = 0;
		fclose(f);
	}
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/core_id",
		 cpu);
	f = fopen(path, "r");
	if (f) {
		if (fscanf(f, "%d", &core) != 1)
			core = cpu;
		fclose(f);
	}
	return package * 100000 + core;
}

/* The first two allowed CPUs that are cores of their own. */
static void choose_cpus(struct bench *b)
{
	b->n_cpus = 0;
	for (int cpu = 0; cpu < CPU_SETSIZE && b->n_cpus < 2; cpu++) {
		if (!CPU_ISSET((unsigned)cpu, &b->affinity))
			continue;
		if (b->n_cpus && core_of(cpu) == core_of(b->cpus[0]))
			continue;
		b->cpus[b->n_cpus++] = cpu;
	}
	if (b->options.cpus[0] >= 0)
		b->cpus[0] = b->options.cpus[0];
	if (b->options.cpus[1] >= 0) {
		b->cpus[1] = b->options.cpus[1];
		b->n_cpus = 2;
	}
	if (b->cpus[0] == b->cpus[1])
		b->n_cpus = 1;
}

struct bench *bench_start(const struct bench_options *options)
{
	struct bench *b = aligned_alloc(128, (sizeof(*b) + 127) / 128 * 128);

	if (!b)
		die("out of memory");
	memset(b, 0, sizeof(*b));
	b->options = *options;
	b->cpus[1] = -1;
	if (pthread_getaffinity_np(pthread_self(), sizeof(b->affinity), &b->affinity))
		die("cannot read the affinity");
	choose_cpus(b);
	if (!b->n_cpus)
		die("no CPU to run on");
	return b;
}

void bench_finish(struct bench *b)
{
	pthread_setaffinity_np(pthread_self(), sizeof(b->affinity), &b->affinity);
	if (b->options.progress)
		fprintf(stderr, "\r%79s\r", "");
	free(b->entries);
	free(b);
}

int bench_two_cores(const struct bench *b)
{
	return b->n_cpus == 2;
}

FILE *bench_out(struct bench *b)
{
	return b->options.out;
}

unsigned bench_process(const struct bench *b)
{
	return b->options.process;
}

double bench_scale(const struct bench *b)
{
	return b->options.scale;
}

int bench_cpu(const struct bench *b, unsigned which)
{
	return b->cpus[which < (unsigned)b->n_cpus ? which : 0];
}

void bench_progress(struct bench *b, const char *what, double part)
{
	int percent = (int)(part * 100);

	if (!b->options.progress || percent == b->percent)
		return;
	b->percent = percent;
	fprintf(stderr, "\r  process %u: %-36s %3d %%  ", b->options.process + 1, what,
		percent);
}

int bench_wanted(const struct bench *b, const char *row, const char *mode,
		 uint32_t burst, uint32_t capacity, uint32_t elem)
{
	char name[128];

	if (!b->options.only)
		return 1;
	snprintf(name, sizeof(name), "%s/%s/burst%u/capacity%u/elem%u", row, mode, burst,
		 capacity, elem);
	return strstr(name, b->options.only) != NULL;
}

void bench_add(struct bench *b, const struct bench_case *c)
{
	if (b->n_entries == b->room) {
		b->room = b->room ? b->room * 2 : 64;
		b->entries = must_realloc(b->entries, b->room * sizeof(*b->entries));
	}
	b->entries[b->n_entries++] = (struct entry){ .c = *c, .units = 64 * c->burst };
}

/* ---- the partner thread ---- */

/* Throws back every ball that handoff_ns() throws. */
static void return_balls(atomic_uint *ball)
{
	for (unsigned i = 1; i < 2 * HANDOFF_GROUPS * HANDOFF_ROUNDS; i += 2) {
		while (atomic_load_explicit(ball, memory_order_acquire) != i)
			;
		atomic_store_explicit(ball, i + 1, memory_order_release);
	}
}

static void *partner_main(void *arg)
{
	struct partner *p = arg;
	unsigned seq = 0;

	bench_pin(p->cpu);
	for (;;) {
		long before;

		while (atomic_load_explicit(&p->order_seq, memory_order_acquire) == seq)
			bench_relax();
		seq++;
		before = involuntary_switches();
		if (p->order == ORDER_HANDOFF)
			return_balls(&p->ball);
		else if (p->order == ORDER_FEED)
			p->fed = p->entry->c.feed(p->entry->c.object, p->entry->c.burst,
						  p->units);
		p->switches = involuntary_switches() - before;
		atomic_store_explicit(&p->done_seq, seq, memory_order_release);
		if (p->order == ORDER_QUIT)
			return NULL;
	}
}

static void partner_order(struct partner *p, enum order order)
{
	p->order = order;
	atomic_store_explicit(&p->order_seq, ++p->seq, memory_order_release);
}

static void partner_wait(struct partner *p)
{
	while (atomic_load_explicit(&p->done_seq, memory_order_acquire) != p->seq)
		bench_relax();
}

static void partner_start(struct bench *b)
{
	struct partner *p = &b->partner;

	memset(p, 0, sizeof(*p));
	p->cpu = b->cpus[1];
	if (pthread_create(&p->thread, NULL, partner_main, p))
		die("cannot create a thread");
}

static void partner_stop(struct bench *b)
{
	partner_order(&b->partner, ORDER_QUIT);
	pthread_join(b->partner.thread, NULL);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* ns to hand a cache line to the other core: half a round trip. */
static double handoff_ns(struct partner *p)
{
	double group[HANDOFF_GROUPS];
	unsigned ball = 0;

	atomic_store_explicit(&p->ball, 0, memory_order_relaxed);
	partner_order(p, ORDER_HANDOFF);
	for (int g = 0; g < HANDOFF_GROUPS; g++) {
		uint64_t start = bench_now_ns();

		for (int i = 0; i < HANDOFF_ROUNDS; i++, ball += 2) {
			atomic_store_explicit(&p->ball, ball + 1, memory_order_release);
			while (atomic_load_explicit(&p->ball, memory_order_acquire) !=
			       ball + 2)
				;
		}
		group[g] = (double)(bench_now_ns() - start) / HANDOFF_ROUNDS / 2;
	}
	partner_wait(p);
	qsort(group, HANDOFF_GROUPS, sizeof(group[0]), compare_doubles);
	return group[HANDOFF_GROUPS / 2];
}

static int class_of(double ns)
{
	return ns < NEAR_BELOW_NS ? BENCH_NEAR : ns > FAR_ABOVE_NS ? BENCH_FAR : -1;
}

/* ---- slices ---- */

static void keep(struct entry *e, int class, uint64_t units, uint64_t ns)
{
	struct samples *s = &e->samples[class];
	double value = (double)ns / (double)units; /* ns a unit */

	if (e->warm < WARMUP_SLICES) {
		e->warm++;
		return;
	}
	if (!strcmp(e->c.unit, "M/s"))
		value = 1e3 / value;
	if (s->n == s->room) {
		s->room = s->room ? s->room * 2 : 64;
		s->values = must_realloc(s->values, s->room * sizeof(float));
	}
	s->values[s->n++] = (float)value;
}

/* Sizes the next slice by what this one took. */
static void adapt(struct entry *e, uint64_t units, uint64_t ns)
{
	double factor = SLICE_NS / (ns ? (double)ns : 1);
	uint64_t burst = e->c.burst, least = 16 * burst;

	factor = factor > 8 ? 8 : factor < 0.125 ? 0.125 : factor;
	e->units = (uint64_t)((double)units * factor) / burst * burst;
	if (e->units < least)
		e->units = least;
}

static void slice_one(struct entry *e)
{
	uint64_t warm = e->units / WARMUP_PART / e->c.burst * e->c.burst, units = e->units;
	uint64_t done, start, ns;
	long switches;

	e->c.one(e->c.object, e->c.burst, warm);
	switches = involuntary_switches();
	start = bench_now_ns();
	done = e->c.one(e->c.object, e->c.burst, units);
	ns = bench_now_ns() - start;
	if (done != units)
		e->wrong++;
	else if (involuntary_switches() != switches)
		e->switched++;
	else
		keep(e, BENCH_ALONE, units, ns);
	adapt(e, units, ns);
}

static void slice_two(struct bench *b, struct entry *e)
{
	struct partner *p = &b->partner;
	uint64_t warm = e->units / WARMUP_PART, total = e->units + warm;
	uint64_t got, rest, start, ns;
	double before, after;
	long switches;
	int class;

	before = handoff_ns(p);
	switches = involuntary_switches();
	p->entry = e;
	p->units = total;
	partner_order(p, ORDER_FEED);
	got = e->c.drain(e->c.object, e->c.burst, warm);
	start = bench_now_ns();
	rest = total - got;
	if (e->c.drain(e->c.object, e->c.burst, rest) != rest)
		e->wrong++;
	ns = bench_now_ns() - start;
	partner_wait(p);
	switches = involuntary_switches() - switches + p->switches;
	after = handoff_ns(p);

	class = class_of(before);
	if (switches) {
		e->switched++;
	} else if (class < 0 || class != class_of(after)) {
		e->moved++;
	} else if (p->fed != total) {
		e->wrong++;
	} else {
		b->handoff_sum[class] += before;
		b->handoff_n[class]++;
		keep(e, class, rest, ns);
	}
	adapt(e, rest, ns);
}

/* ---- results ---- */

static int compare_floats(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static double quantile(const struct samples *s, double q)
{
	return s->values[(size_t)(q * (double)(s->n - 1) + 0.5)];
}

static void write_samples(struct bench *b, struct entry *e, int class)
{
	struct samples *s = &e->samples[class];
	FILE *f = b->options.out;

	fprintf(f,
		"{\"kind\":\"cell\",\"process\":%u,\"row\":\"%s\",\"mode\":\"%s\","
		"\"burst\":%u,\"capacity\":%u,\"elem\":%u,\"who\":\"%s\",\"unit\":\"%s\","
		"\"class\":\"%s\",\"slices\":%zu,\"switched\":%u,\"moved\":%u,\"wrong\":%u",
		b->options.process, e->c.row, e->c.mode, e->c.burst, e->c.capacity,
		e->c.elem, e->c.who, e->c.unit, class_names[class], s->n, e->switched,
		e->moved, e->wrong);
	if (s->n) {
		qsort(s->values, s->n, sizeof(float), compare_floats);
		fprintf(f, ",\"median\":%.5g,\"p10\":%.5g,\"p90\":%.5g,\"samples\":[",
			quantile(s, 0.5), quantile(s, 0.1), quantile(s, 0.9));
		for (size_t i = 0; i < s->n; i++)
			fprintf(f, "%s%.4g", i ? "," : "", (double)s->values[i]);
		fputc(']', f);
	}
	fputs("}\n", f);
}

static void write_entry(struct bench *b, struct entry *e)
{
	if (e->c.one) {
		write_samples(b, e, BENCH_ALONE);
	} else {
		write_samples(b, e, BENCH_NEAR);
		write_samples(b, e, BENCH_FAR);
	}
	for (int class = 0; class < BENCH_CLASSES; class++)
		free(e->samples[class].values);
}

/* ---- a run ---- */

static const char *volatile running = "";

static void too_long(int sig)
{
	(void)sig;
	if (write(2, "\nbench: hangs in ", 17) < 0 ||
	    write(2, running, strlen(running)) < 0 || write(2, "\n", 1) < 0)
		_exit(3);
	_exit(3);
}

void bench_run(struct bench *b, const char *what, double seconds)
{
	uint64_t start = bench_now_ns(), length;
	int two = 0;

	if (!b->n_entries)
		return;
	length = (uint64_t)(seconds * b->options.scale * 1e9);
	for (size_t i = 0; i < b->n_entries; i++)
		two |= !b->entries[i].c.one;
	bench_pin(b->cpus[0]);
	if (two)
		partner_start(b);
	signal(SIGALRM, too_long);
	alarm((unsigned)(seconds * b->options.scale) + 120);

	for (unsigned round = 0; bench_now_ns() - start < length; round++) {
		bench_progress(b, what, (double)(bench_now_ns() - start) / (double)length);
		for (size_t i = 0; i < b->n_entries; i++) {
			struct entry *e = &b->entries[(i + round) % b->n_entries];

			running = e->c.who;
			if (e->c.one)
				slice_one(e);
			else
				slice_two(b, e);
		}
	}
	alarm(0);
	if (two)
		partner_stop(b);
	for (size_t i = 0; i < b->n_entries; i++)
		write_entry(b, &b->entries[i]);
	if (two)
		for (int class = BENCH_NEAR; class <= BENCH_FAR; class++)
			fprintf(b->options.out,
				"{\"kind\":\"handoff\",\"process\":%u,\"class\":\"%s\","
				"\"slices\":%u,\"mean_ns\":%.1f}\n",
				b->options.process, class_names[class],
				b->handoff_n[class],
				b->handoff_n[class] ? b->handoff_sum[class] /
							      b->handoff_n[class] :
						      0.0);
	memset(b->handoff_sum, 0, sizeof(b->handoff_sum));
	memset(b->handoff_n, 0, sizeof(b->handoff_n));
	b->n_entries = 0;
	pthread_setaffinity_np(pthread_self(), sizeof(b->affinity), &b->affinity);
}

/* The processor's name, without what would need escaping. */
static void cpu_name(char *name, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256];

	snprintf(name, size, "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		char *value = strchr(line, ':');

		if (!value || strncmp(line, "model name", 10))
			continue;
		value[strcspn(value, "\n\"\\")] = 0;
		snprintf(name, size, "%s", value + 2);
		break;
	}
	if (f)
		fclose(f);
}

void bench_describe(struct bench *b, const struct bench_peer *peers, unsigned n)
{
	FILE *f = b->options.out;
	char cpu[128];

	cpu_name(cpu, sizeof(cpu));
	fprintf(f,
		"{\"kind\":\"run\",\"process\":%u,\"cpu\":\"%s\",\"cores\":%d,"
		"\"pins\":[%d,%d],\"libfp\":\"%s\",\"avx2\":%s,\"compiler\":\"%s\","
		"\"peers\":{",
		b->options.process, cpu, CPU_COUNT(&b->affinity), b->cpus[0],
		b->n_cpus > 1 ? b->cpus[1] : -1, fp_version_string(),
		fp_features() & LIBFP_FEATURE_AVX2 ? "true" : "false", __VERSION__);
	for (unsigned i = 0, first = 1; i < n; i++)
		if (peers[i].version) {
			fprintf(f, "%s\"%s\":\"%s\"", first ? "" : ",", peers[i].name,
				peers[i].version);
			first = 0;
		}
	fprintf(f, "},\"missing\":{");
	for (unsigned i = 0, first = 1; i < n; i++)
		if (!peers[i].version) {
			fprintf(f, "%s\"%s\":\"%s\"", first ? "" : ",", peers[i].name,
				peers[i].reason);
			first = 0;
		}
	fprintf(f, "}}\n");
	fflush(f);
}
