/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All mode pairs under load: producers and consumers that mix every kind of
 * call, from one thread a side to more threads than cores, on tiny and larger
 * rings. Each run ends by closing the ring; the checker then compares what was
 * accepted with what was delivered.
 */
#include "ring_traffic.h"

#define SIDE_MAX 4

struct run {
	fp_ring *r;
	uint64_t each; /* elements of a producer */
	int producing; /* atomic: producers at work */
	struct rt_producer p[SIDE_MAX];
	struct rt_consumer c[SIDE_MAX];
};

struct job {
	struct run *run;
	int index;
	pthread_t thread;
};

static void *produce(void *arg)
{
	struct job *job = arg;
	struct rt_producer *p = &job->run->p[job->index];
	uint32_t tries = 0;

	while (p->number < job->run->each) {
		int32_t got = rt_produce(p, job->run->each - p->number);

		CHECK(got >= 0);
		rt_back_off(&tries, got);
	}
	/* The last one closes; for an ST side this is the producing thread. */
	if (__atomic_sub_fetch(&job->run->producing, 1, __ATOMIC_ACQ_REL) == 0)
		CHECK_EQ(fp_ring_close(p->r), 0);
	return NULL;
}

static void *consume(void *arg)
{
	struct job *job = arg;
	struct rt_consumer *c = &job->run->c[job->index];
	uint32_t tries = 0;

	while (!c->closed)
		rt_back_off(&tries, rt_consume(c));
	return NULL;
}

static void traffic(const struct rt_mode *m, int producers, int consumers, uint32_t cap,
		    uint32_t size, uint32_t flags, uint64_t lap, uint64_t seed)
{
	struct run *run = calloc(1, sizeof(*run));
	struct job jobs[2 * SIDE_MAX];
	struct rc_tally in = { 0, 0 }, out = { 0, 0 };
	fp_ring_stats s;
	int n = 0;

	CHECK(run != NULL);
	fpt_where("%s %dP%dC capacity %u element %u flags %u lap %" PRIu64, m->name,
		  producers, consumers, cap, size, flags, lap);
	run->r = rt_ring(cap, size, m, flags);
	if (lap)
		fpi_ring_start_at(run->r, lap);
	run->producing = producers;
	/* A small ring costs a hand-over between threads every few elements. */
	run->each = fpt_scale(cap > 100 ? 30000 : 1500 * cap,
			      cap > 100 ? 60000000 : 1000000 * cap) /
		    (uint64_t)producers;
	for (int i = 0; i < producers; i++)
		rt_producer_init(&run->p[i], run->r, (uint32_t)i, fpt_random(&seed));
	for (int i = 0; i < consumers; i++)
		rt_consumer_init(&run->c[i], run->r, fpt_random(&seed));
	for (int i = 0; i < producers; i++, n++) {
		jobs[n] = (struct job){ .run = run, .index = i };
		CHECK_EQ(pthread_create(&jobs[n].thread, NULL, produce, &jobs[n]), 0);
	}
	for (int i = 0; i < consumers; i++, n++) {
		jobs[n] = (struct job){ .run = run, .index = i };
		CHECK_EQ(pthread_create(&jobs[n].thread, NULL, consume, &jobs[n]), 0);
	}
	while (n)
		pthread_join(jobs[--n].thread, NULL);
	for (int i = 0; i < producers; i++) {
		CHECK_EQ(run->p[i].number, run->each);
		rc_add(&in, &run->p[i].accepted);
		free(run->p[i].buf);
	}
	for (int i = 0; i < consumers; i++) {
		rc_add(&out, &run->c[i].checker.tally);
		free(run->c[i].buf);
	}
	rc_conserved(&in, &out);
	s = rt_stats(run->r);
	CHECK_EQ(s.enqueued - lap * cap, in.count);
	CHECK_EQ(s.dequeued - lap * cap, out.count);
	CHECK_EQ(s.count, 0);
	CHECK_EQ(s.unpublished, 0);
	CHECK_EQ(s.void_pending, 0);
	CHECK_EQ(fp_ring_destroy(run->r), 0);
	free(run);
}

static void all_capacities(const struct rt_mode *m, int producers, int consumers)
{
	static const uint32_t caps[] = { 1, 2, 7, 1024 };
	static const uint32_t sizes[] = { 8, 16, 20, 64 };
	static const uint32_t flags[] = { 0, LIBFP_STATS, 0, LIBFP_CHECKED };
	uint64_t seed = fpt_seed();

	for (size_t c = 0; c < FPT_LEN(caps); c++) {
		size_t turn = c + (size_t)(fpt_random(&seed) >> 60);

		/* 8 bytes have code of their own: always; another size in turn */
		traffic(m, producers, consumers, caps[c], 8, 0, 0, fpt_random(&seed));
		traffic(m, producers, consumers, caps[c], sizes[turn % 4],
			flags[turn / 4 % 4], turn % 2 ? 62 : (1ull << 32) - 3,
			fpt_random(&seed));
	}
}

static void st_st_1p1c(void)
{
	all_capacities(&rt_modes[0], 1, 1);
}
static void st_mt_1p1c(void)
{
	all_capacities(&rt_modes[1], 1, 1);
}
static void st_mt_1p2c(void)
{
	all_capacities(&rt_modes[1], 1, 2);
}
static void st_mt_1p4c(void)
{
	all_capacities(&rt_modes[1], 1, 4);
}
static void mt_st_1p1c(void)
{
	all_capacities(&rt_modes[2], 1, 1);
}
static void mt_st_2p1c(void)
{
	all_capacities(&rt_modes[2], 2, 1);
}
static void mt_st_4p1c(void)
{
	all_capacities(&rt_modes[2], 4, 1);
}
static void mt_mt_1p1c(void)
{
	all_capacities(&rt_modes[3], 1, 1);
}
static void mt_mt_2p2c(void)
{
	all_capacities(&rt_modes[3], 2, 2);
}
static void mt_mt_4p4c(void)
{
	all_capacities(&rt_modes[3], 4, 4);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(st_st_1p1c), FPT_CASE(st_mt_1p1c), FPT_CASE(st_mt_1p2c),
		FPT_CASE(st_mt_1p4c), FPT_CASE(mt_st_1p1c), FPT_CASE(mt_st_2p1c),
		FPT_CASE(mt_st_4p1c), FPT_CASE(mt_mt_1p1c), FPT_CASE(mt_mt_2p2c),
		FPT_CASE(mt_mt_4p4c),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
