/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads in unusual roles: each both produces and consumes, one feeds itself,
 * many more threads than cores, payloads behind pointers, rings that come and
 * go while others look them up.
 */
#define _GNU_SOURCE /* pthread_tryjoin_np */
#include "ring_traffic.h"

#define THREADS_MAX 96

struct player {
	fp_ring *r;
	struct rt_producer p;
	struct rt_consumer c;
	uint64_t rounds;
	pthread_t thread;
};

static void *alternate(void *arg)
{
	struct player *a = arg;

	for (uint64_t i = 0; i < a->rounds; i++) {
		int32_t put = rt_produce(&a->p, UINT32_MAX);
		int32_t got = rt_consume(&a->c);

		CHECK(put >= 0 && got >= 0);
		rt_sane(a->r);
		if (put == 0 && got == 0)
			sched_yield();
	}
	return NULL;
}

static void *only_produce(void *arg)
{
	struct player *a = arg;
	uint32_t tries = 0;

	while (a->p.number < a->rounds)
		rt_back_off(&tries, rt_produce(&a->p, a->rounds - a->p.number));
	return NULL;
}

static void *only_consume(void *arg)
{
	struct player *a = arg;
	uint32_t tries = 0;

	while (a->c.checker.tally.count < a->rounds)
		rt_back_off(&tries, rt_consume(&a->c));
	return NULL;
}

/* Runs n players; what is left in the ring is drained and checked too. */
static void play(uint32_t n, uint32_t cap, uint32_t size, uint64_t rounds, int helpers,
		 uint64_t seed)
{
	struct player *a = calloc(n + 2, sizeof(*a));
	fp_ring *r = rt_ring(cap, size, &rt_modes[3], 0);
	struct rc_tally in = { 0, 0 }, out = { 0, 0 };
	uint32_t all = n + (helpers ? 2 : 0);

	CHECK(a != NULL);
	fpt_where("%u threads capacity %u element %u", n, cap, size);
	for (uint32_t i = 0; i < all; i++) {
		a[i].r = r;
		a[i].rounds = rounds;
		rt_producer_init(&a[i].p, r, i, fpt_random(&seed));
		rt_consumer_init(&a[i].c, r, fpt_random(&seed));
	}
	for (uint32_t i = 0; i < all; i++)
		CHECK_EQ(pthread_create(&a[i].thread, NULL,
					i < n  ? alternate :
					i == n ? only_produce :
						 only_consume,
					&a[i]),
			 0);
	for (uint32_t i = 0; i < n; i++)
		pthread_join(a[i].thread, NULL);
	/* Whichever helper is left alone needs somebody on the other side. */
	for (int p = !helpers, c = !helpers; !p || !c; sched_yield()) {
		if (!p) {
			rt_consume(&a[n].c);
			p = pthread_tryjoin_np(a[n].thread, NULL) == 0;
		}
		if (!c) {
			rt_produce(&a[n + 1].p, UINT32_MAX);
			c = pthread_tryjoin_np(a[n + 1].thread, NULL) == 0;
		}
	}
	rt_consume_all(&a[0].c);
	for (uint32_t i = 0; i < all; i++) {
		rc_add(&in, &a[i].p.accepted);
		rc_add(&out, &a[i].c.checker.tally);
		free(a[i].p.buf);
		free(a[i].c.buf);
	}
	rc_conserved(&in, &out);
	CHECK_EQ(fp_ring_count(r), 0);
	CHECK_EQ(fp_ring_destroy(r), 0);
	free(a);
}

/* used slots stay in 0..capacity when threads change sides. */
static void threads_that_alternate_sides(void)
{
	static const uint32_t caps[] = { 1, 2, 7, 64 };
	uint64_t seed = fpt_seed();

	for (size_t c = 0; c < FPT_LEN(caps); c++) {
		play(2, caps[c], 8, fpt_scale(8000, 10000000), 0, fpt_random(&seed));
		play(4, caps[c], 16, fpt_scale(4000, 1000000), 0, fpt_random(&seed));
	}
}

/* One thread alternates beside a pure producer and a pure consumer. */
static void one_alternates_beside_others(void)
{
	uint64_t seed = fpt_seed();

	for (uint32_t cap = 1; cap <= 16; cap *= 4)
		play(1, cap, 8, fpt_scale(4000, 3000000), 1, fpt_random(&seed));
}

/* heads and tails do not cross with far more threads than cores. */
static void ninety_six_threads(void)
{
	uint64_t seed = fpt_seed();

	play(THREADS_MAX, 31, 8, fpt_scale(150, 100000), 0, fpt_random(&seed));
}

/* one producer, two consumers, a small ring, bulks; each element once. */
struct bulk_consumer {
	fp_ring *r;
	struct rc_consumer checker;
	pthread_t thread;
};

static void *consume_bulk(void *arg)
{
	struct bulk_consumer *c = arg;
	uint32_t tries = 0, left;
	uint64_t e[3];
	int32_t got;

	while ((got = fp_ring_dequeue_bulk(c->r, e, 3, &left)) != -EPIPE) {
		CHECK(got == 0 || got == 3);
		for (int32_t i = 0; i < got; i++)
			rc_take(&c->checker, &e[i], 8);
		if (got)
			CHECK(left <= c->r->capacity);
		rt_sane(c->r);
		rt_back_off(&tries, got);
	}
	return NULL;
}

static void bulks_to_two_consumers_never_pass_the_producer(void)
{
	static const int modes[] = { 1, 3 };

	for (size_t m = 0; m < FPT_LEN(modes); m++) {
		fp_ring *r = rt_ring(7, 8, &rt_modes[modes[m]], 0);
		struct bulk_consumer *c = calloc(2, sizeof(*c));
		struct rc_tally in = { 0, 0 }, out = { 0, 0 };
		uint64_t n = fpt_scale(9000, 9000000), e[3];
		uint32_t tries = 0;

		CHECK(c != NULL);
		for (int i = 0; i < 2; i++) {
			c[i].r = r;
			CHECK_EQ(pthread_create(&c[i].thread, NULL, consume_bulk, &c[i]),
				 0);
		}
		for (uint64_t v = 0; v < n;) {
			int32_t got;

			for (uint64_t i = 0; i < 3; i++)
				e[i] = rc_head(0, v + i);
			got = fp_ring_enqueue_bulk(r, e, 3, NULL);
			CHECK(got == 0 || got == 3);
			for (int32_t i = 0; i < got; i++)
				rc_count(&in, 0, v++);
			rt_back_off(&tries, got);
		}
		CHECK_EQ(fp_ring_close(r), 0);
		for (int i = 0; i < 2; i++) {
			pthread_join(c[i].thread, NULL);
			rc_add(&out, &c[i].checker.tally);
		}
		rc_conserved(&in, &out);
		CHECK_EQ(fp_ring_destroy(r), 0);
		free(c);
	}
}

/* a thread that feeds itself is told "full" and "empty", and returns. */
static void a_thread_that_feeds_itself(void)
{
	uint64_t seed = fpt_seed();

	RT_EACH_MODE(m)
	for (uint32_t cap = 1; cap <= 9; cap += 2) {
		fp_ring *r = rt_ring(cap, 8, m, 0);
		struct rc_tally in = { 0, 0 };
		struct player a = { .r = r };

		fpt_where("%s capacity %u", m->name, cap);
		rt_producer_init(&a.p, r, 0, fpt_random(&seed));
		rt_consumer_init(&a.c, r, fpt_random(&seed));
		for (int i = 0; i < 3000; i++) {
			while (rt_produce(&a.p, UINT32_MAX) > 0)
				;
			if (i % 2)
				rt_consume(&a.c);
			else
				rt_consume_all(&a.c);
		}
		rt_consume_all(&a.c);
		rc_add(&in, &a.p.accepted);
		rc_conserved(&in, &a.c.checker.tally);
		free(a.p.buf);
		free(a.c.buf);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* ---- payloads behind pointers ---- */

struct payload {
	uint64_t number;
	uint64_t words[6];
};

struct courier {
	fp_ring *full, *empty;
	uint64_t n;
	uint32_t burst;
	pthread_t thread;
};

static void *write_payloads(void *arg)
{
	struct courier *k = arg;
	struct payload *p[32];
	uint32_t tries = 0;
	uint64_t v = 0;

	while (v < k->n) {
		int32_t got = fp_ring_dequeue_burst(k->empty, p, k->burst, NULL), put = 0;

		rt_back_off(&tries, got);
		for (int32_t i = 0; i < got; i++, v++) {
			p[i]->number = v;
			for (uint32_t w = 0; w < 6; w++)
				p[i]->words[w] = rt_word(v, w);
		}
		while (put < got) {
			int32_t m = fp_ring_enqueue_burst(k->full, p + put,
							  (uint32_t)(got - put), NULL);

			CHECK(m >= 0);
			put += m;
			rt_back_off(&tries, m);
		}
	}
	CHECK_EQ(fp_ring_close(k->full), 0);
	return NULL;
}

/* what was stored before the enqueue is seen after the dequeue. */
static void payloads_are_never_stale(void)
{
	static struct payload pool[32];

	RT_EACH_MODE(m)
	for (uint32_t burst = 1; burst <= 32; burst *= 32) {
		struct courier k = { .n = fpt_scale(20000, 10000000), .burst = burst };
		struct payload *p[32];
		uint64_t v = 0;
		uint32_t tries = 0;
		int32_t got;

		fpt_where("%s burst %u", m->name, burst);
		k.full = rt_ring(32, sizeof(void *), m, 0);
		k.empty = rt_ring(32, sizeof(void *), m, 0);
		for (int i = 0; i < 32; i++) {
			p[0] = &pool[i];
			CHECK_EQ(fp_ring_enqueue(k.empty, p), 1);
		}
		CHECK_EQ(pthread_create(&k.thread, NULL, write_payloads, &k), 0);
		while ((got = fp_ring_dequeue_burst(k.full, p, burst, NULL)) != -EPIPE) {
			for (int32_t i = 0; i < got; i++, v++) {
				CHECK_EQ(p[i]->number, v);
				for (uint32_t w = 0; w < 6; w++)
					CHECK_EQ(p[i]->words[w], rt_word(v, w));
				memset(p[i], 0, sizeof(*p[i]));
			}
			/* "full" while the writer is still inside its dequeue */
			while (got &&
			       fp_ring_enqueue_bulk(k.empty, p, (uint32_t)got, NULL) == 0)
				sched_yield();
			rt_back_off(&tries, got);
		}
		pthread_join(k.thread, NULL);
		CHECK(v >= k.n);
		CHECK_EQ(fp_ring_destroy(k.full), 0);
		CHECK_EQ(fp_ring_destroy(k.empty), 0);
	}
}

/* ---- names ---- */

struct namer {
	uint64_t rounds;
	uint64_t found;
	int *done;
	pthread_t thread;
};

static void *make_and_destroy(void *arg)
{
	struct namer *n = arg;
	fp_ring_opts o = rt_opts(6, 8, &rt_modes[3], 0);

	o.name = "comes and goes";
	for (uint64_t i = 0; i < n->rounds; i++) {
		fp_ring *r = NULL;

		CHECK_EQ(fp_ring_create(&o, &r), 0);
		sched_yield();
		while (fp_ring_destroy(r) == -EBUSY) /* somebody looked it up */
			sched_yield();
	}
	__atomic_store_n(n->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *look_up(void *arg)
{
	struct namer *n = arg;

	while (!__atomic_load_n(n->done, __ATOMIC_ACQUIRE)) {
		fp_ring *r = NULL;
		int rc = fp_ring_lookup("comes and goes", &r);
		uint64_t e;

		if (rc) {
			CHECK_EQ(rc, -ENOENT);
			sched_yield();
			continue;
		}
		n->found++;
		CHECK_EQ(fp_ring_capacity(r), 6);
		CHECK(!strcmp(fp_ring_name(r), "comes and goes"));
		if (fp_ring_enqueue_u64(r, 7) == 1)
			CHECK(fp_ring_dequeue_u64(r, &e) == 0 || e == 7);
		CHECK_EQ(fp_ring_unref(r), 0);
		sched_yield(); /* or the maker hardly finds a moment to destroy it */
	}
	return NULL;
}

/* What a lookup returns is complete and stays so until the unref. */
static void a_ring_found_by_name_is_whole(void)
{
	int done = 0;
	struct namer maker = { .rounds = fpt_scale(5000, 500000), .done = &done };
	struct namer lookers[2] = { { .done = &done }, { .done = &done } };

	CHECK_EQ(pthread_create(&maker.thread, NULL, make_and_destroy, &maker), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&lookers[i].thread, NULL, look_up, &lookers[i]),
			 0);
	pthread_join(maker.thread, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(lookers[i].thread, NULL);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(threads_that_alternate_sides),
		FPT_CASE(one_alternates_beside_others),
		FPT_CASE(ninety_six_threads),
		FPT_CASE(bulks_to_two_consumers_never_pass_the_producer),
		FPT_CASE(a_thread_that_feeds_itself),
		FPT_CASE(payloads_are_never_stale),
		FPT_CASE(a_ring_found_by_name_is_whole),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
