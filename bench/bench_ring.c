/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_ring.c - libfp's rings beside their peers. Writes JSON lines to
 * stdout; bench/run starts it several times and makes the report.
 *
 *   burst1_floor  one thread, enqueue and dequeue of one object: what the pair
 *                 costs, beside two exported calls that do nothing
 *   one_thread    enqueue n, dequeue n: ns an object for both
 *   elements      the same with elements of 16 and 64 bytes
 *   two_threads   a producer and a consumer on two cores: objects a second
 *   stall         a producer sleeps inside an enqueue: what another one pays
 *
 * "ST" is a ring with one thread a side (the peers' SP/SC kinds), "MT" one
 * with any number, driven by one thread a side (their MP/MC kinds).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring_contestant.h"
#include "ring_stall.h"

#include <libfp/base.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

unsigned char ring_source[RING_BURST_MAX * RING_ELEM_MAX] __attribute__((aligned(64)));
unsigned char ring_target[RING_BURST_MAX * RING_ELEM_MAX] __attribute__((aligned(64)));

static const struct ring_library *const libraries[] = {
	&ring_fp,
#ifdef BENCH_RTE_VERSION
	&ring_rte,
#endif
#ifdef BENCH_CK_VERSION
	&ring_ck,
#endif
#ifdef BENCH_ATOMIC_QUEUE_VERSION
	&ring_atomic_queue,
#endif
#ifdef BENCH_MOODYCAMEL_VERSION
	&ring_moodycamel,
#endif
};

/* What this program was built without. */
static const struct bench_peer not_built[] = {
#ifndef BENCH_RTE_VERSION
	{ "rte_ring", NULL, "libdpdk-dev was not there at build time" },
#endif
#ifndef BENCH_CK_VERSION
	{ "ck_ring", NULL, "libck-dev was not there at build time" },
#endif
#ifndef BENCH_ATOMIC_QUEUE_VERSION
	{ "atomic_queue", NULL,
	  "libatomic-queue-dev or a C++ compiler was not there at build time" },
#endif
#ifndef BENCH_MOODYCAMEL_VERSION
	{ "moodycamel", NULL,
	  "libconcurrentqueue-dev or a C++ compiler was not there at build time" },
#endif
	{ NULL, NULL, NULL },
};

static int present[LEN(libraries)];

static void start_libraries(struct bench *b)
{
	struct bench_peer peers[LEN(libraries) + LEN(not_built)];
	unsigned n = 0;

	for (unsigned i = 0; i < LEN(libraries); i++) {
		const char *why = libraries[i]->start(bench_cpu(b, 0));

		present[i] = !why;
		if (libraries[i] == &ring_fp)
			continue;
		peers[n] = libraries[i]->peer;
		if (why) {
			peers[n].version = NULL;
			peers[n].reason = why;
		}
		n++;
	}
	for (unsigned i = 0; not_built[i].name; i++)
		peers[n++] = not_built[i];
	bench_describe(b, peers, n);
}

/* ---- rings of the current run ---- */

#define RINGS_MAX 256

static struct {
	const struct ring_contestant *contestant;
	void *ring;
} opened[RINGS_MAX];
static unsigned n_opened;

static void close_rings(void)
{
	while (n_opened) {
		n_opened--;
		opened[n_opened].contestant->close(opened[n_opened].ring);
	}
}

static void add(struct bench *b, const struct ring_contestant *c, const char *row,
		const struct ring_shape *shape, uint32_t burst)
{
	struct bench_case k = {
		.row = row,
		.mode = shape->sync == RING_ST ? "ST" : "MT",
		.who = c->who,
		.burst = burst,
		.capacity = shape->capacity,
		.elem = shape->elem,
	};
	const struct ring_loops *loops;

	if (!bench_wanted(b, k.row, k.mode, burst, k.capacity, k.elem))
		return;
	if (c->only_row && (strcmp(c->only_row, row) || burst == 1))
		return;
	k.object = n_opened < RINGS_MAX ? c->open(shape) : NULL;
	if (!k.object)
		return;
	opened[n_opened].contestant = c;
	opened[n_opened++].ring = k.object;
	loops = c->loops(shape, burst);
	if (!strcmp(row, "two_threads")) {
		k.unit = "M/s";
		k.feed = loops->feed;
		k.drain = loops->drain;
	} else {
		k.unit = "ns";
		k.one = loops->pair;
	}
	bench_add(b, &k);
}

/* One row: every contestant that takes part in this mode. */
static void add_row(struct bench *b, const char *row, uint32_t sync, uint32_t capacity,
		    uint32_t elem, uint32_t burst)
{
	const struct ring_shape shape = { sync, capacity, elem };

	for (unsigned i = 0; i < LEN(libraries); i++)
		for (unsigned k = 0; present[i] && k < libraries[i]->n; k++)
			if (libraries[i]->contestants[k].sync & sync)
				add(b, &libraries[i]->contestants[k], row, &shape, burst);
}

static const uint32_t syncs[] = { RING_ST, RING_MT };
static const uint32_t capacities[] = { 1024, 1000 };

static void burst1_floor(struct bench *b)
{
	const struct bench_case floor = {
		.row = "burst1_floor",
		.mode = "none",
		.who = "two empty calls",
		.unit = "ns",
		.burst = 1,
		.capacity = 1024,
		.elem = 8,
		.one = bench_floor_loops()->pair,
	};

	if (bench_wanted(b, floor.row, floor.mode, 1, 1024, 8))
		bench_add(b, &floor);
	for (unsigned s = 0; s < LEN(syncs); s++) {
		const struct ring_shape shape = { syncs[s], 1024, 8 };

		add_row(b, floor.row, syncs[s], 1024, 8, 1);
		add(b, &ring_fp_plt, floor.row, &shape, 1);
	}
	bench_run(b, "single calls over two empty ones", 2);
	close_rings();
}

static void one_thread(struct bench *b)
{
	static const uint32_t bursts[] = { 1, 8, 32, 256 };

	for (unsigned s = 0; s < LEN(syncs); s++)
		for (unsigned c = 0; c < LEN(capacities); c++)
			for (unsigned n = 0; n < LEN(bursts); n++)
				add_row(b, "one_thread", syncs[s], capacities[c], 8,
					bursts[n]);
	add_row(b, "elements", RING_ST, 1024, 16, 32);
	add_row(b, "elements", RING_ST, 1024, 64, 32);
	bench_run(b, "one thread", 7);
	close_rings();
}

static void two_threads(struct bench *b)
{
	static const uint32_t bursts[] = { 1, 8, 32 };

	for (unsigned s = 0; s < LEN(syncs); s++)
		for (unsigned c = 0; c < LEN(capacities); c++)
			for (unsigned n = 0; n < LEN(bursts); n++)
				add_row(b, "two_threads", syncs[s], capacities[c], 8,
					bursts[n]);
	bench_run(b, "producer and consumer on two cores", 20);
	close_rings();
}

static void stall(struct bench *b)
{
	for (unsigned i = 0; i < LEN(libraries); i++)
		for (unsigned k = 0; present[i] && k < libraries[i]->n; k++) {
			const struct ring_contestant *c = &libraries[i]->contestants[k];

			if (!c->stall || !bench_wanted(b, "stall", "MT", 8, 65536, 8))
				continue;
			bench_progress(b, "a stalled producer", i ? 0.25 * (k + 1) : 0);
			ring_stall_run(b, c, 0.5 * bench_scale(b));
		}
}

int main(int argc, char **argv)
{
	struct bench *b;

	for (unsigned i = 0; i < sizeof(ring_source); i++)
		ring_source[i] = (unsigned char)(i % 255 + 1);

	b = bench_start(argc, argv);
	start_libraries(b);
	burst1_floor(b);
	one_thread(b);
	if (bench_two_cores(b))
		two_threads(b);
	else
		bench_skip(b, "two_threads", "needs two cores");
	stall(b);
	bench_finish(b);
	return 0;
}
