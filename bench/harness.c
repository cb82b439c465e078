/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * harness.c - slices, classes and medians; see harness.h for the method.
 */
#include "harness.h"

#include "partner.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libfp/base.h>

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

#define SLICE_NS 300000.0
#define WARMUP_SLICES 3 /* per case: sizes the slice, fills caches */
#define WARMUP_PART 8	/* of each slice, this part is not timed */
#define LEAST_STEPS 16	/* of a slice */
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

struct bench_options {
	const char *only; /* run the rows whose name contains this; NULL: all */
	unsigned process; /* number of this process, written to every line */
	double scale;	  /* of the time that is spent */
	int progress;	  /* a progress line on stderr */
	FILE *out;	  /* JSON lines */
	int cpus[2];	  /* cores to use; -1: choose */
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

void bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
		die("cannot pin a thread");
}

void bench_unpin(const struct bench *b)
{
	pthread_setaffinity_np(pthread_self(), sizeof(b->affinity), &b->affinity);
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

static void usage(const char *program)
{
	fprintf(stderr,
		"usage: %s [-o ROW] [-p PROCESS] [-s SCALE] [-c CPU,CPU] [-v]\n"
		"  -o  only rows row/mode/burstN/capacityN/elemN that contain this\n"
		"  -p  number of this process, written to every line\n"
		"  -s  factor on the time spent\n"
		"  -c  cores to run on; default: the first two that are allowed\n"
		"  -v  a progress line on stderr\n",
		program);
	exit(2);
}

static void read_options(struct bench_options *options, int argc, char **argv)
{
	int opt;

	*options =
		(struct bench_options){ .scale = 1, .out = stdout, .cpus = { -1, -1 } };
	while ((opt = getopt(argc, argv, "o:p:s:c:v")) != -1) {
		if (opt == 'o')
			options->only = optarg;
		else if (opt == 'p')
			options->process = (unsigned)strtoul(optarg, NULL, 10);
		else if (opt == 's')
			options->scale = strtod(optarg, NULL);
		else if (opt == 'c' && sscanf(optarg, "%d,%d", &options->cpus[0],
					      &options->cpus[1]) >= 1)
			continue;
		else if (opt == 'v')
			options->progress = 1;
		else
			usage(argv[0]);
	}
	if (optind != argc || !(options->scale > 0))
		usage(argv[0]);
}

struct bench *bench_start(int argc, char **argv)
{
	struct bench *b = aligned_alloc(128, (sizeof(*b) + 127) / 128 * 128);

	if (!b)
		die("out of memory");
	memset(b, 0, sizeof(*b));
	read_options(&b->options, argc, argv);
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
	bench_unpin(b);
	if (b->options.progress)
		fprintf(stderr, "\r%79s\r", "");
	free(b->entries);
	free(b);
}

int bench_two_cores(const struct bench *b)
{
	return b->n_cpus == 2;
}

void bench_skip(struct bench *b, const char *row, const char *reason)
{
	fprintf(b->options.out,
		"{\"kind\":\"skipped\",\"process\":%u,\"row\":\"%s\",\"reason\":\"%s\"}\n",
		b->options.process, row, reason);
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

int bench_wanted(const struct bench *b, const char *row, const char *mode, uint32_t burst,
		 uint32_t capacity, uint32_t elem)
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
	struct entry *e;

	if (b->n_entries == b->room) {
		b->room = b->room ? b->room * 2 : 64;
		b->entries = must_realloc(b->entries, b->room * sizeof(*b->entries));
	}
	e = &b->entries[b->n_entries++];
	*e = (struct entry){ .c = *c };
	if (!e->c.step)
		e->c.step = c->burst;
	e->units = LEAST_STEPS * e->c.step;
}

/* ---- slices ---- */

static int class_of(double ns)
{
	return ns < NEAR_BELOW_NS ? BENCH_NEAR : ns > FAR_ABOVE_NS ? BENCH_FAR : -1;
}

static void keep(struct entry *e, int cls, uint64_t units, uint64_t ns)
{
	struct samples *s = &e->samples[cls];
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
	uint64_t step = e->c.step, least = LEAST_STEPS * step;

	factor = factor > 8 ? 8 : factor < 0.125 ? 0.125 : factor;
	e->units = (uint64_t)((double)units * factor) / step * step;
	if (e->units < least)
		e->units = least;
	if (e->c.most && e->units > e->c.most / (WARMUP_PART + 1) * WARMUP_PART)
		e->units = e->c.most / (WARMUP_PART + 1) * WARMUP_PART;
}

static void slice_one(struct entry *e)
{
	uint64_t units = e->units, done, start, ns;
	uint64_t warm = units / WARMUP_PART / e->c.step * e->c.step;
	long switches;

	if (e->c.prepare)
		e->c.prepare(e->c.object);
	e->c.one(e->c.object, e->c.burst, warm);
	switches = partner_switches();
	start = bench_now_ns();
	done = e->c.one(e->c.object, e->c.burst, units);
	ns = bench_now_ns() - start;
	if (done != units)
		e->wrong++;
	else if (partner_switches() != switches)
		e->switched++;
	else
		keep(e, BENCH_ALONE, units, ns);
	adapt(e, units, ns);
}

static void slice_two(struct bench *b, struct entry *e)
{
	struct partner *p = &b->partner;
	uint64_t warm = e->units / WARMUP_PART / e->c.step * e->c.step;
	uint64_t total = e->units + warm;
	uint64_t got, rest, start, ns;
	double before, after;
	long switches;
	int cls;

	if (e->c.prepare)
		e->c.prepare(e->c.object);
	before = partner_handoff_ns(p);
	switches = partner_switches();
	partner_feed(p, &e->c, total);
	got = e->c.drain(e->c.object, e->c.burst, warm);
	start = bench_now_ns();
	rest = total - got;
	if (e->c.drain(e->c.object, e->c.burst, rest) != rest)
		e->wrong++;
	ns = bench_now_ns() - start;
	partner_wait(p);
	switches = partner_switches() - switches + p->switches;
	after = partner_handoff_ns(p);

	cls = class_of(before);
	if (switches) {
		e->switched++;
	} else if (cls < 0 || cls != class_of(after)) {
		e->moved++;
	} else if (p->fed != total) {
		e->wrong++;
	} else {
		b->handoff_sum[cls] += before;
		b->handoff_n[cls]++;
		keep(e, cls, rest, ns);
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

static void write_samples(struct bench *b, struct entry *e, int cls)
{
	struct samples *s = &e->samples[cls];
	FILE *f = b->options.out;

	fprintf(f,
		"{\"kind\":\"cell\",\"process\":%u,\"row\":\"%s\",\"mode\":\"%s\","
		"\"burst\":%u,\"capacity\":%u,\"elem\":%u,\"who\":\"%s\",\"unit\":\"%s\","
		"\"class\":\"%s\",\"slices\":%zu,\"switched\":%u,\"moved\":%u,"
		"\"wrong\":%u",
		b->options.process, e->c.row, e->c.mode, e->c.burst, e->c.capacity,
		e->c.elem, e->c.who, e->c.unit, class_names[cls], s->n, e->switched,
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
	for (int cls = 0; cls < BENCH_CLASSES; cls++)
		free(e->samples[cls].values);
}

void bench_samples(struct bench *b, const struct bench_case *c, const float *values,
		   size_t n)
{
	struct samples *s;
	struct entry e = { .c = *c };

	s = &e.samples[BENCH_ALONE];
	s->values = must_realloc(NULL, (n ? n : 1) * sizeof(float));
	memcpy(s->values, values, n * sizeof(float));
	s->n = n;
	write_samples(b, &e, BENCH_ALONE);
	free(s->values);
}

void bench_figure(struct bench *b, const char *row, const char *who, const char *unit,
		  double value)
{
	fprintf(b->options.out,
		"{\"kind\":\"figure\",\"process\":%u,\"row\":\"%s\",\"who\":\"%s\","
		"\"unit\":\"%s\",\"value\":%.5g}\n",
		b->options.process, row, who, unit, value);
}

/* ---- a run ---- */

static const char *volatile running = "";

static void too_long(int sig)
{
	ssize_t said = write(2, "\nbench: hangs in ", 17);

	(void)sig;
	said += write(2, running, strlen(running));
	said += write(2, "\n", 1);
	_exit(said > 0 ? 3 : 4);
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
	if (two && partner_start(&b->partner, b->cpus[1]))
		die("cannot create a thread");
	signal(SIGALRM, too_long);
	alarm((unsigned)(seconds * b->options.scale) + 120);

	for (unsigned round = 0; bench_now_ns() - start < length; round++) {
		bench_progress(b, what,
			       (double)(bench_now_ns() - start) / (double)length);
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
		partner_stop(&b->partner);
	for (size_t i = 0; i < b->n_entries; i++)
		write_entry(b, &b->entries[i]);
	if (two)
		for (int cls = BENCH_NEAR; cls <= BENCH_FAR; cls++)
			fprintf(b->options.out,
				"{\"kind\":\"handoff\",\"process\":%u,\"class\":\"%s\","
				"\"slices\":%u,\"mean_ns\":%.1f}\n",
				b->options.process, class_names[cls], b->handoff_n[cls],
				b->handoff_n[cls] ?
					b->handoff_sum[cls] / b->handoff_n[cls] :
					0.0);
	memset(b->handoff_sum, 0, sizeof(b->handoff_sum));
	memset(b->handoff_n, 0, sizeof(b->handoff_n));
	b->n_entries = 0;
	bench_unpin(b);
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
		fp_features() & LIBFP_FEATURE_AVX2 ? "true" : "false", COMPILER);
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
