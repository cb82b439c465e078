/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Close under load, many rounds: whatever moment the close falls on, an
 * enqueue returned n and its elements arrive, or it returned -EPIPE and none
 * do; every consumer ends with -EPIPE and only when all has been taken.
 */
#include "ring_traffic.h"

#define SIDE_MAX 3

struct round {
	fp_ring *r;
	uint64_t close_at; /* elements of producer 0 before somebody closes */
	int who;	   /* closes: 0 the producer itself, 1 a thread of its own */
	int reached;	   /* atomic */
	struct rt_producer p[SIDE_MAX];
	struct rt_consumer c[SIDE_MAX];
};

struct job {
	struct round *round;
	int index;
	pthread_t thread;
};

static void *produce(void *arg)
{
	struct job *job = arg;
	struct round *round = job->round;
	struct rt_producer *p = &round->p[job->index];
	uint32_t tries = 0;

	while (!p->closed) {
		rt_back_off(&tries, rt_produce(p, UINT32_MAX));
		if (job->index || p->number < round->close_at)
			continue;
		if (round->who == 0)
			CHECK_EQ(fp_ring_close(p->r), 0);
		__atomic_store_n(&round->reached, 1, __ATOMIC_RELEASE);
	}
	CHECK_EQ(fp_ring_is_closed(p->r), 1);
	return NULL;
}

static void *consume(void *arg)
{
	struct job *job = arg;
	struct rt_consumer *c = &job->round->c[job->index];
	uint32_t tries = 0;

	while (!c->closed)
		rt_back_off(&tries, rt_consume(c));
	CHECK_EQ(fp_ring_dequeue(c->r, c->buf), -EPIPE); /* and so it stays */
	return NULL;
}

static void *close_it(void *arg)
{
	struct job *job = arg;

	while (!__atomic_load_n(&job->round->reached, __ATOMIC_ACQUIRE))
		sched_yield();
	CHECK_EQ(fp_ring_close(job->round->r), 0);
	return NULL;
}

static void one_round(const struct rt_mode *m, uint32_t cap, uint64_t *seed)
{
	static struct round round;
	int producers = m->producer == LIBFP_ST ?
				1 :
				1 + (int)(fpt_random(seed) >> 33) % SIDE_MAX;
	int consumers = m->consumer == LIBFP_ST ?
				1 :
				1 + (int)(fpt_random(seed) >> 33) % SIDE_MAX;
	struct rc_tally in = { 0, 0 }, out = { 0, 0 };
	struct job jobs[2 * SIDE_MAX + 1];
	int n = 0;

	memset(&round, 0, sizeof(round));
	round.r = rt_ring(cap, 8, m, 0);
	round.close_at = (fpt_random(seed) >> 33) % 200;
	round.who = m->producer == LIBFP_ST ? 0 : (int)(fpt_random(seed) >> 33) % 2;
	fpt_where("%s %dP%dC capacity %u close at %" PRIu64 " by %d", m->name, producers,
		  consumers, cap, round.close_at, round.who);
	for (int i = 0; i < producers; i++)
		rt_producer_init(&round.p[i], round.r, (uint32_t)i, fpt_random(seed));
	for (int i = 0; i < consumers; i++)
		rt_consumer_init(&round.c[i], round.r, fpt_random(seed));
	for (int i = 0; i < producers + consumers + round.who; i++, n++) {
		int c = i - producers;

		jobs[n] = (struct job){ .round = &round, .index = c < 0 ? i : c };
		CHECK_EQ(pthread_create(&jobs[n].thread, NULL,
					c < 0	      ? produce :
					c < consumers ? consume :
							close_it,
					&jobs[n]),
			 0);
	}
	while (n)
		pthread_join(jobs[--n].thread, NULL);
	for (int i = 0; i < producers; i++) {
		rc_add(&in, &round.p[i].accepted);
		free(round.p[i].buf);
	}
	for (int i = 0; i < consumers; i++) {
		rc_add(&out, &round.c[i].checker.tally);
		free(round.c[i].buf);
	}
	rc_conserved(&in, &out);
	CHECK_EQ(fp_ring_count(round.r), 0);
	CHECK_EQ(fp_ring_destroy(round.r), 0);
}

static void close_under_load(void)
{
	static const uint32_t caps[] = { 1, 3, 8, 100 };
	uint64_t seed = fpt_seed(), rounds = fpt_scale(40, 4000);

	RT_EACH_MODE(m)
	for (uint64_t i = 0; i < rounds; i++)
		one_round(m, caps[i % FPT_LEN(caps)], &seed);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(close_under_load),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
