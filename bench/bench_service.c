/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_service.c - libfp's services beside DPDK's, and beside a loop written by hand.
 * Writes JSON lines to stdout; bench/run starts it several times and makes the report.
 *
 *   service_loop      ns of a core's loop over n services that do nothing
 *   service_ends      of two: the first and the last one of 200 (the peer: of 64)
 *   service_unsafe    of one that must not run twice at once, on one core
 *   service_no_work   of one that says that it had nothing to do
 *   service_store     of services that write a line which is not in the core's caches:
 *                     an empty function hides what a lock costs
 *   service_once, service_once_unsafe
 *                     ns of a call on a thread of the application
 *   service_stop, service_start, service_unmap, service_map
 *                     ns of these calls while the core runs (service_latency.c)
 *   service_idle, service_first
 *                     CPU share of cores without work, and how soon they run when some
 *                     comes (service_asleep.c)
 *   service_late      lateness of deadlines (service_late.c)
 *
 * The mode of a loop is what is measured about each service: "off", "sampled" (ours), or
 * "on": the time it takes. Ours counts calls in all of them. n is the burst, and the
 * capacity is how many were created.
 *
 * A window of the loop: the services are made, the core starts on the second core, this
 * thread sleeps for WINDOW_NS, and the CPU time of the core's thread is divided by its
 * loops. The wall would count what the machine took away. Windows of all contestants of a
 * row take turns.
 */
#include "service_contestant.h"

#include <stdlib.h>
#include <string.h>

#include <libfp/base.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

#define WINDOW_NS 1200000
#define WARM_NS 150000
#define WARM_LOOPS \
	4096	  /* of 32 services: four times over the lines of service_callbacks.c */
#define ROUNDS 34 /* windows of a contestant, of which the report wants 20 */
#define CASES_MAX 96

struct service_set service_the_set;

static const struct service_contestant *contestants[3];
static unsigned n_contestants;

static const char *const modes[SERVICE_STATS] = { "off", "sampled", "on" };

static void start_libraries(struct bench *b)
{
	struct bench_peer peer = { .name = "rte_service" };

	contestants[n_contestants++] = &service_fp;
	contestants[n_contestants++] = &service_bare;
#ifdef BENCH_RTE_VERSION
	peer.version = BENCH_RTE_VERSION;
	if (!bench_two_cores(b))
		return;
	peer.reason = service_rte_start(bench_cpu(b, 0), bench_cpu(b, 1));
	if (peer.reason)
		peer.version = NULL;
	else
		contestants[n_contestants++] = &service_rte;
#else
	peer.reason = "libdpdk-dev was not there at build time";
#endif
	bench_describe(b, &peer, 1);
}

/* ---- loops ---- */

struct loop_case {
	const struct service_contestant *contestant;
	struct bench_case name;
	struct service_shape shape;
	unsigned n;
	float values[ROUNDS];
};

static struct loop_case cases[CASES_MAX];
static unsigned n_cases;

static int open_set(const struct service_contestant *c, const struct service_shape *shape,
		    int cpu)
{
	struct service_set *set = &service_the_set;

	memset(set, 0, sizeof(*set));
	set->shape = *shape;
	set->cpu = cpu;
	return c->open(set);
}

static void add(struct bench *b, const char *row, struct service_shape shape)
{
	for (unsigned i = 0; i < n_contestants * SERVICE_STATS; i++) {
		const struct service_contestant *c = contestants[i / SERVICE_STATS];
		struct loop_case *k = &cases[n_cases];

		shape.stats = (enum service_stats)(i % SERVICE_STATS);
		if (n_cases == CASES_MAX ||
		    !bench_wanted(b, row, modes[shape.stats], shape.mapped, shape.created,
				  0) ||
		    !open_set(c, &shape, bench_cpu(b, 1)))
			continue;
		c->close(&service_the_set);
		*k = (struct loop_case){ .contestant = c, .shape = shape };
		k->name = (struct bench_case){ .row = row,
					       .mode = modes[shape.stats],
					       .who = c->who,
					       .unit = "ns",
					       .burst = shape.mapped,
					       .capacity = shape.created };
		n_cases++;
	}
}

/* CPU time of a loop, in ns; 0: the core did not run. */
static double window(const struct service_contestant *c)
{
	struct service_set *set = &service_the_set;
	clockid_t clock;
	uint64_t loops, ns;

	service_go(c, set);
	clock = c->clock(set);
	/* Until all lines of the store that misses are where its caches leave them. */
	do
		service_sleep(WARM_NS);
	while (c->loops(set) < WARM_LOOPS);
	loops = c->loops(set);
	ns = service_cpu_ns(clock);
	service_sleep(WINDOW_NS);
	loops = c->loops(set) - loops;
	ns = service_cpu_ns(clock) - ns;
	c->halt(set);
	return loops ? (double)ns / (double)loops : 0;
}

static void loops(struct bench *b)
{
	static const uint32_t mapped[] = { 1, 2, 3, 32, 64, 200 };
	unsigned rounds = (unsigned)(ROUNDS * bench_scale(b) + 0.5);

	rounds = rounds < 1 ? 1 : rounds > ROUNDS ? ROUNDS : rounds;
	for (unsigned i = 0; i < LEN(mapped); i++)
		add(b, "service_loop",
		    (struct service_shape){ .created = mapped[i],
					    .mapped = mapped[i],
					    .run = service_empty });
	add(b, "service_ends",
	    (struct service_shape){
		    .created = 200, .mapped = 2, .ends = 1, .run = service_empty });
	add(b, "service_unsafe",
	    (struct service_shape){
		    .created = 1, .mapped = 1, .serialised = 1, .run = service_empty });
	add(b, "service_no_work",
	    (struct service_shape){ .created = 1, .mapped = 1, .run = service_no_work });
	add(b, "service_store",
	    (struct service_shape){ .created = 32, .mapped = 32, .run = service_store });

	bench_pin(bench_cpu(b, 0));
	for (unsigned r = 0; r < rounds; r++)
		for (unsigned i = 0; i < n_cases; i++) {
			struct loop_case *k = &cases[(i + r) % n_cases];
			double ns;

			bench_progress(b, "services, loops",
				       (double)(r * n_cases + i) / (rounds * n_cases));
			if (!open_set(k->contestant, &k->shape, bench_cpu(b, 1)))
				continue;
			ns = window(k->contestant);
			k->contestant->close(&service_the_set);
			if (ns > 0)
				k->values[k->n++] = (float)ns;
		}
	bench_unpin(b);
	for (unsigned i = 0; i < n_cases; i++)
		bench_samples(b, &cases[i].name, cases[i].values, cases[i].n);
}

/* ---- run once ---- */

/* Each contestant of a row has a set of its own, since they take turns. */
static void once(struct bench *b)
{
	static struct service_set sets[2 * LEN(contestants) * SERVICE_STATS];
	const struct service_contestant *owners[LEN(sets)];
	unsigned n = 0;

	for (unsigned i = 0; i < 2 * n_contestants * SERVICE_STATS; i++) {
		const struct service_contestant *c = contestants[i / 2 / SERVICE_STATS];
		enum service_stats stats = (enum service_stats)(i / 2 % SERVICE_STATS);
		struct bench_case k = {
			.row = i % 2 ? "service_once_unsafe" : "service_once",
			.mode = modes[stats],
			.who = c->who,
			.unit = "ns",
			.burst = 1,
			.capacity = 1,
			.object = &sets[n],
			.one = c->once,
		};

		if (!c->once || !bench_wanted(b, k.row, k.mode, 1, 1, 0))
			continue;
		sets[n].cpu = bench_cpu(b, 1);
		sets[n].shape = (struct service_shape){ .created = 1,
							.mapped = 1,
							.serialised = i % 2,
							.stats = stats,
							.run = service_empty };
		if (!c->open(&sets[n]))
			continue;
		owners[n++] = c;
		bench_add(b, &k);
	}
	bench_run(b, "services, run once", 0.4);
	while (n--)
		owners[n]->close(&sets[n]);
}

int main(int argc, char **argv)
{
	struct bench *b = bench_start(argc, argv);
	static const char *const two_cores[] = {
		"service_loop",	   "service_ends",	  "service_unsafe",
		"service_no_work", "service_store",	  "service_once",
		"service_stop",	   "service_start",	  "service_unmap",
		"service_map",	   "service_idle",	  "service_first",
		"service_late",	   "service_once_unsafe",
	};

	if (!bench_two_cores(b)) {
		bench_describe(b, NULL, 0);
		for (unsigned i = 0; i < LEN(two_cores); i++)
			bench_skip(b, two_cores[i], "needs two cores");
		bench_finish(b);
		return 0;
	}
	start_libraries(b);
	loops(b);
	once(b);
	service_latency(b, contestants, n_contestants);
	service_asleep(b);
	service_late(b);
	bench_finish(b);
	return 0;
}
