/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_latency.c - how long it takes to stop, start, unmap and map a service while its
 * core runs. A stop returns when the core is not inside the service's function.
 *
 * The service runs for longer than a loop between two calls: DPDK's core shows where it
 * is when it comes by, so right after a start a stop would find nothing to wait for.
 */
#include "service_contestant.h"

#include <stdlib.h>
#include <string.h>

#include <libfp/base.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define SAMPLES 300
#define WARMUP 5

static const struct scene {
	const char *mode;
	uint32_t services;
	service_run *run, *first;
	uint64_t gap_ns; /* between calls, and up to twice that */
	int sleeps;
} scenes[] = {
	{ "1 empty", 1, service_empty, NULL, 20000, 0 },
	{ "32 empty", 32, service_empty, NULL, 20000, 0 },
	{ "1 of 20 us", 1, service_20_us, NULL, 40000, 0 },
	{ "31 others of 10 us", 32, service_10_us, service_empty, 700000, 0 },
	{ "core asleep", 1, service_no_work, NULL, 400000, 1 },
};

/* Time of one call. */
static float timed(void (*call)(struct service_set *), struct service_set *set)
{
	uint64_t begin = bench_now_ns();

	call(set);
	return (float)(bench_now_ns() - begin);
}

static void write(struct bench *b, const struct scene *scene,
		  const struct service_contestant *c, const char *row,
		  const float *values, unsigned n)
{
	struct bench_case k = { .row = row,
				.mode = scene->mode,
				.who = c->who,
				.unit = "ns",
				.burst = scene->services };

	bench_samples(b, &k, values, n);
}

static void pause_between(const struct scene *scene)
{
	service_spin(scene->gap_ns + (uint64_t)rand() % scene->gap_ns);
}

static void measure(struct bench *b, const struct scene *scene,
		    const struct service_contestant *c, unsigned samples)
{
	struct service_set *set = &service_the_set;
	float stop[SAMPLES], start[SAMPLES], unmap[SAMPLES], map[SAMPLES];

	memset(set, 0, sizeof(*set));
	set->cpu = bench_cpu(b, 1);
	set->shape = (struct service_shape){ .created = scene->services,
					     .mapped = scene->services,
					     .sleeps = scene->sleeps,
					     .run = scene->run,
					     .first = scene->first };
	if (!c->open(set))
		return;
	service_go(c, set);
	service_sleep(1000000);
	for (unsigned i = 0; i < samples + WARMUP; i++) {
		unsigned at = i < WARMUP ? 0 : i - WARMUP;

		pause_between(scene);
		stop[at] = timed(c->stop, set);
		start[at] = timed(c->start, set);
		if (!c->unmap)
			continue;
		pause_between(scene);
		unmap[at] = timed(c->unmap, set);
		map[at] = timed(c->map, set);
	}
	c->halt(set);
	c->close(set);
	write(b, scene, c, "service_stop", stop, samples);
	write(b, scene, c, "service_start", start, samples);
	if (c->unmap) {
		write(b, scene, c, "service_unmap", unmap, samples);
		write(b, scene, c, "service_map", map, samples);
	}
}

void service_latency(struct bench *b, const struct service_contestant *const *contestants,
		     unsigned n)
{
	unsigned samples = (unsigned)(SAMPLES * bench_scale(b));

	samples = samples < 1 ? 1 : samples > SAMPLES ? SAMPLES : samples;
	bench_pin(bench_cpu(b, 0));
	for (unsigned i = 0; i < LEN(scenes) * n; i++) {
		const struct scene *scene = &scenes[i / n];
		const struct service_contestant *c = contestants[i % n];

		bench_progress(b, "services, stop and start",
			       (double)i / (double)(LEN(scenes) * n));
		if (c->stop &&
		    bench_wanted(b, "service_stop", scene->mode, scene->services, 0, 0))
			measure(b, scene, c, samples);
	}
	bench_unpin(b);
}
