/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random operations, one thread, against a model that is too simple to be
 * wrong: an array of slots with a state and a number each. Every return value,
 * element, out parameter and counter is compared after every operation.
 *
 * What the model leaves open: when consumers pass void slots. It takes that
 * from the ring's void_pending, which may only say that leading ones are gone.
 */
#include "ring_test.h"

#define CAP_MAX 64
#define SPANS 3

enum state { FREE, CLAIMED, FULL, VOID, TAKEN };

struct slot {
	enum state state;
	uint64_t v;
};

struct open_span {
	fp_ring_span s;
	uint64_t pos;
	uint32_t n; /* 0: not open */
};

struct model {
	fp_ring *r;
	uint32_t cap, size, flags;
	int pst, cst;
	int closed;
	uint64_t ph, ch; /* positions as plain counts */
	uint64_t next;	 /* number of the next element */
	uint64_t enqueued, dequeued, voided, full, empty, high;
	struct slot slot[CAP_MAX];
	struct open_span in[SPANS], out[SPANS];
	struct rt_table table;
	uint64_t seed;
};

static struct slot *at(struct model *m, uint64_t pos)
{
	return &m->slot[pos % m->cap];
}

static uint32_t rnd(struct model *m, uint32_t n)
{
	return (uint32_t)(fpt_random(&m->seed) >> 20) % n;
}

/* Mostly small, sometimes about the capacity. */
static uint32_t rnd_n(struct model *m)
{
	return rnd(m, 4) ? rnd(m, 10) : rnd(m, m->cap + 3);
}

static int span_open(const struct open_span *s)
{
	return s[0].n || s[1].n || s[2].n;
}

static uint32_t free_run(struct model *m, uint32_t n)
{
	uint32_t i = 0;

	if (n > m->cap)
		n = m->cap;
	while (i < n && m->ph + i < m->ch + m->cap && at(m, m->ph + i)->state == FREE)
		i++;
	return i;
}

/* FULL slots that can be reached from the head, skipping VOID; at most n. */
static uint32_t reachable(struct model *m, uint32_t n)
{
	uint32_t full = 0;

	for (uint64_t p = m->ch; p < m->ph && full < n; p++)
		if (at(m, p)->state == FULL)
			full++;
		else if (at(m, p)->state != VOID)
			break;
	return full;
}

/* FULL slots without a VOID among them; leading VOID ones do not count. */
static uint32_t contiguous(struct model *m, uint32_t n)
{
	uint64_t p = m->ch;
	uint32_t full = 0;

	while (p < m->ph && at(m, p)->state == VOID)
		p++;
	while (p < m->ph && full < n && at(m, p)->state == FULL)
		p++, full++;
	return full;
}

static int all_published(struct model *m)
{
	for (uint64_t p = m->ch; p < m->ph; p++)
		if (at(m, p)->state == CLAIMED)
			return 0;
	return 1;
}

static void pass_voids(struct model *m)
{
	while (m->ch < m->ph && at(m, m->ch)->state == VOID)
		at(m, m->ch++)->state = FREE;
}

static uint32_t count_state(struct model *m, enum state s)
{
	uint32_t n = 0;

	for (uint64_t p = m->ch; p < m->ph; p++)
		n += at(m, p)->state == s;
	return n;
}

/* After every operation: the ring says what the model says. */
static void compare(struct model *m)
{
	fp_ring_stats s = rt_stats(m->r);
	uint32_t used;

	while (count_state(m, VOID) > s.void_pending) {
		CHECK(m->ch < m->ph && at(m, m->ch)->state == VOID);
		at(m, m->ch++)->state = FREE;
	}
	used = (uint32_t)(m->ph - m->ch);
	CHECK_EQ(s.void_pending, count_state(m, VOID));
	CHECK_EQ(s.unpublished, count_state(m, CLAIMED));
	CHECK_EQ(s.count, used);
	CHECK_EQ(fp_ring_count(m->r), used);
	CHECK_EQ(fp_ring_free_count(m->r), m->cap - used);
	CHECK_EQ(fp_ring_is_full(m->r), used == m->cap);
	CHECK_EQ(fp_ring_is_empty(m->r), used == 0);
	CHECK_EQ(fp_ring_is_closed(m->r), m->closed);
	CHECK_EQ(s.voided, m->voided);
	CHECK_EQ(s.enqueued, m->enqueued);
	CHECK_EQ(s.dequeued, m->dequeued);
	if (m->flags & LIBFP_STATS) {
		CHECK_EQ(s.refused_full, m->full);
		CHECK_EQ(s.refused_empty, m->empty);
		CHECK_EQ(s.high_water, m->high);
	}
	CHECK_EQ(!!(s.flags & LIBFP_RING_STATS_BLOCKED),
		 used && at(m, m->ch)->state == CLAIMED);
}

static void note_high(struct model *m)
{
	if (m->ph - m->ch > m->high)
		m->high = m->ph - m->ch;
}

static void do_enqueue(struct model *m)
{
	uint32_t how = rnd(m, m->size == 8 ? 4 : 3), n = how < 2 ? rnd_n(m) : 1;
	uint32_t want = free_run(m, n), after = UINT32_MAX;
	int32_t expect = (int32_t)want, got;

	if (m->pst && span_open(m->in))
		return; /* the caller's duty */
	if (n == 0)
		expect = 0;
	else if (m->closed)
		expect = n > m->cap && how == 0 ? INT32_MIN : -EPIPE;
	else if (how == 0 && n > m->cap)
		expect = -EINVAL;
	else if (how == 0 && want < n)
		expect = 0;
	rt_fill(m->table.at, m->size, m->next, n);
	if (how == 0)
		got = fp_ring_enqueue_bulk(m->r, m->table.at, n, &after);
	else if (how == 1)
		got = fp_ring_enqueue_burst(m->r, m->table.at, n, &after);
	else if (how == 2)
		got = fp_ring_enqueue(m->r, m->table.at);
	else
		got = fp_ring_enqueue_u64(m->r, rt_u64(m->next));
	if (expect == INT32_MIN) /* two things are wrong: either may be told */
		CHECK(got == -EPIPE || got == -EINVAL);
	else
		CHECK_EQ(got, expect);
	if (got < 0) {
		CHECK_EQ(after, UINT32_MAX);
		return;
	}
	for (int32_t i = 0; i < got; i++)
		*at(m, m->ph++) = (struct slot){ FULL, m->next++ };
	m->enqueued += (uint64_t)got;
	if (n && (uint32_t)got < n)
		m->full++;
	if (got)
		note_high(m);
	if (n && how < 2)
		CHECK_EQ(after, m->cap - (m->ph - m->ch));
}

static void take(struct model *m, uint32_t n)
{
	while (n) {
		struct slot *s = at(m, m->ch);

		n -= s->state == FULL;
		s->state = FREE;
		m->ch++;
	}
}

static void do_dequeue(struct model *m)
{
	uint32_t how = rnd(m, m->size == 8 ? 4 : 3), n = how < 2 ? rnd_n(m) : 1;
	uint32_t want = reachable(m, n), after = UINT32_MAX, k = 0;
	int32_t expect = (int32_t)want, got;
	uint64_t p = m->ch, e;

	if (m->cst && span_open(m->out))
		return;
	if (n == 0)
		expect = 0;
	else if (how == 0 && n > m->cap)
		expect = -EINVAL;
	else if (want == 0 || (how == 0 && want < n))
		expect = m->closed && all_published(m) ? -EPIPE : 0;
	rt_table_wipe(&m->table);
	if (how == 0)
		got = fp_ring_dequeue_bulk(m->r, m->table.at, n, &after);
	else if (how == 1)
		got = fp_ring_dequeue_burst(m->r, m->table.at, n, &after);
	else if (how == 2)
		got = fp_ring_dequeue(m->r, m->table.at);
	else if ((got = fp_ring_dequeue_u64(m->r, &e)) == 1)
		memcpy(m->table.at, &e, 8);
	CHECK_EQ(got, expect);
	for (; got > 0 && k < (uint32_t)got; p++)
		if (at(m, p)->state == FULL) {
			CHECK(rt_right(m->table.at + (size_t)k * m->size, m->size,
				       at(m, p)->v, 1));
			k++;
		}
	CHECK(rt_table_clean(&m->table, (size_t)k * m->size));
	if (got < 0) {
		CHECK_EQ(after, UINT32_MAX);
		return;
	}
	take(m, (uint32_t)got);
	m->dequeued += (uint64_t)got;
	if (n && (uint32_t)got < n)
		m->empty++;
	if (n && how < 2) {
		CHECK(after <= m->ph - m->ch);
		CHECK(after + count_state(m, VOID) >= m->ph - m->ch);
	}
}

static void do_peek(struct model *m)
{
	uint32_t n = 1 + rnd_n(m), most = reachable(m, n), least = contiguous(m, n);
	int32_t got;
	uint64_t p = m->ch;

	if (!m->cst || span_open(m->out))
		return;
	rt_table_wipe(&m->table);
	got = fp_ring_peek(m->r, m->table.at, n);
	if (most == 0) {
		CHECK_EQ(got, m->closed && all_published(m) ? -EPIPE : 0);
		return;
	}
	CHECK(got >= (int32_t)least && got <= (int32_t)most);
	for (int32_t k = 0; k < got; p++)
		if (at(m, p)->state == FULL)
			CHECK(rt_right(m->table.at + (size_t)k++ * m->size, m->size,
				       at(m, p)->v, 1));
}

static void do_reserve_enqueue(struct model *m)
{
	uint32_t n = 1 + rnd_n(m), bulk = rnd(m, 3) == 0, want = free_run(m, n);
	struct open_span *s = &m->in[rnd(m, SPANS)];
	int32_t expect = (int32_t)want, got;

	if (s->n)
		return;
	if (m->closed) {
		if (n > m->cap || span_open(m->in))
			return; /* two things are wrong */
		expect = -EPIPE;
	} else if ((m->pst && span_open(m->in)) || (bulk && n > m->cap)) {
		expect = -EINVAL;
	} else if (bulk && want < n) {
		expect = 0;
	}
	got = fp_ring_reserve_enqueue(m->r, n, bulk, &s->s);
	CHECK_EQ(got, expect);
	if (got < 0)
		return;
	CHECK_EQ(s->s.n1 + s->s.n2, got);
	s->pos = m->ph;
	s->n = (uint32_t)got;
	if ((uint32_t)got < n)
		m->full++;
	if (got == 0)
		CHECK(rt_span_is_zero(&s->s));
	if (m->pst)
		return; /* nothing shared has changed */
	for (uint32_t i = 0; i < s->n; i++)
		at(m, m->ph++)->state = CLAIMED;
	if (got)
		note_high(m);
}

static void do_commit_enqueue(struct model *m)
{
	struct open_span *s = &m->in[rnd(m, SPANS)];
	uint32_t n = s->n, k = rnd(m, n + 1);
	fp_ring_span copy = s->s;
	int32_t expect = (int32_t)k;

	if (!n)
		return;
	if (rnd(m, 3))
		k = n, expect = (int32_t)n;
	if (m->pst && m->closed)
		expect = -EPIPE;
	if (rnd(m, 4) == 0)
		CHECK_EQ(fp_ring_commit_enqueue(m->r, &s->s, n + 1 + rnd(m, 9)), -EINVAL);
	rt_span_fill(&s->s, m->size, m->next, k);
	CHECK_EQ(fp_ring_commit_enqueue(m->r, &s->s, k), expect);
	CHECK_EQ(fp_ring_commit_enqueue(m->r, &copy, k), -EINVAL);
	s->n = 0;
	if (expect < 0)
		return;
	for (uint32_t i = 0; i < (m->pst ? k : n); i++)
		*at(m, s->pos + i) = (struct slot){ i < k ? FULL : VOID, m->next + i };
	m->next += k;
	m->enqueued += k;
	if (m->pst)
		m->ph += k;
	else
		m->voided += n - k;
	if (k)
		note_high(m);
}

static void do_reserve_dequeue(struct model *m)
{
	uint32_t n = 1 + rnd_n(m), bulk = rnd(m, 3) == 0, want = contiguous(m, n);
	struct open_span *s = &m->out[rnd(m, SPANS)];
	int32_t expect = (int32_t)want, got;

	if (s->n)
		return;
	if ((m->cst && span_open(m->out)) || (bulk && n > m->cap))
		expect = -EINVAL;
	else if (want == 0 || (bulk && reachable(m, n) < n))
		expect = m->closed && all_published(m) ? -EPIPE : 0;
	else if (bulk && want < n)
		expect = -EAGAIN; /* n are there, but void slots divide them */
	got = fp_ring_reserve_dequeue(m->r, n, bulk, &s->s);
	CHECK_EQ(got, expect);
	if (got >= 0 && (uint32_t)got < n)
		m->empty++;
	if (got <= 0)
		return;
	pass_voids(m);
	s->pos = m->ch;
	s->n = (uint32_t)got;
	for (uint32_t i = 0; i < s->n; i++) {
		CHECK(rt_right(rt_span_at(&s->s, m->size, i), m->size,
			       at(m, s->pos + i)->v, 1));
		if (!m->cst)
			at(m, m->ch++)->state = TAKEN;
	}
	if (!m->cst)
		m->dequeued += s->n;
}

static void do_commit_dequeue(struct model *m)
{
	struct open_span *s = &m->out[rnd(m, SPANS)];
	uint32_t n = s->n, k = m->cst ? rnd(m, n + 1) : n;
	fp_ring_span copy = s->s;

	if (!n)
		return;
	if (rnd(m, 4) == 0)
		CHECK_EQ(fp_ring_commit_dequeue(m->r, &s->s, n + 1), -EINVAL);
	CHECK_EQ(fp_ring_commit_dequeue(m->r, &s->s, k), k);
	CHECK_EQ(fp_ring_commit_dequeue(m->r, &copy, k), -EINVAL);
	s->n = 0;
	for (uint32_t i = 0; i < k; i++)
		at(m, s->pos + i)->state = FREE;
	if (m->cst) {
		m->ch += k;
		m->dequeued += k;
	}
}

static void do_reset(struct model *m)
{
	int busy = span_open(m->in) || span_open(m->out);

	CHECK_EQ(fp_ring_reset(m->r), busy ? -EBUSY : 0);
	if (busy) {
		CHECK_EQ(fp_ring_destroy(m->r), -EBUSY);
		return;
	}
	memset(m->slot, 0, sizeof(m->slot));
	m->ph = m->ch = 0;
	m->closed = 0;
	m->enqueued = m->dequeued = m->voided = m->full = m->empty = m->high = 0;
}

static void step(struct model *m)
{
	uint32_t x = rnd(m, 1000);

	if (x < 330)
		do_enqueue(m);
	else if (x < 640)
		do_dequeue(m);
	else if (x < 700)
		do_peek(m);
	else if (x < 780)
		do_reserve_enqueue(m);
	else if (x < 880)
		do_commit_enqueue(m);
	else if (x < 940)
		do_reserve_dequeue(m);
	else if (x < 997)
		do_commit_dequeue(m);
	else if (x < 998 || m->closed)
		do_reset(m);
	else if (x < 999) {
		CHECK_EQ(fp_ring_close(m->r), 0);
		m->closed = 1;
	}
}

static void run(const struct rt_mode *mode, uint32_t cap, uint32_t size, uint32_t flags,
		uint64_t seed, uint64_t steps)
{
	static const uint64_t laps[] = { 0, 1, 61, 63, (1ull << 32) - 2, 1ull << 40 };
	static struct model model;
	struct model *m = &model;
	uint64_t lap = laps[seed % FPT_LEN(laps)];

	memset(m, 0, sizeof(*m));
	m->seed = seed;
	m->cap = cap;
	m->size = size;
	m->flags = flags;
	m->pst = mode->producer == LIBFP_ST;
	m->cst = mode->consumer == LIBFP_ST;
	m->r = rt_ring(cap, size, mode, flags);
	m->table = rt_table_new((size_t)(cap + 16) * size, seed % 16);
	if (lap) {
		fpi_ring_start_at(m->r, lap);
		m->enqueued = m->dequeued = lap * cap;
	}
	for (uint64_t i = 0; i < steps; i++) {
		fpt_where("%s capacity %u element %u flags %u lap %" PRIu64
			  " case seed %" PRIu64 " step %" PRIu64,
			  mode->name, cap, size, flags, lap, seed, i);
		step(m);
		compare(m);
	}
	for (int i = 0; i < SPANS; i++) {
		if (m->in[i].n)
			fp_ring_commit_enqueue(m->r, &m->in[i].s, 0);
		if (m->out[i].n)
			CHECK_EQ(fp_ring_commit_dequeue(m->r, &m->out[i].s, m->out[i].n),
				 m->out[i].n);
	}
	rt_table_free(&m->table);
	CHECK_EQ(fp_ring_destroy(m->r), 0);
}

static void random_operations_equal_the_model(void)
{
	static const uint32_t caps[] = { 1, 2, 3, 4, 5, 8, 17, 40, 64 };
	static const uint32_t sizes[] = { 8, 4, 8, 12, 64 };
	uint64_t seed = fpt_seed(), steps = fpt_scale(FPT_SAMPLE ? 300 : 1500, 200000);

	RT_EACH_MODE(m)
	for (size_t c = 0; c < FPT_LEN(caps); c++)
		for (size_t s = 0; s < FPT_LEN(sizes); s++)
			for (uint32_t flags = 0; flags < 4; flags++)
				run(m, caps[c], sizes[s], flags, fpt_random(&seed) | 1,
				    steps);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(random_operations_equal_the_model),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
