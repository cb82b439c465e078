/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that arm, move, touch, cancel and destroy timers at random, their own and each
 * other's, while timers fire on one thread or on all in turn. The callbacks do the same.
 *
 * What is checked: the books (timer_accounts.h); a callback finds its `user` whole, and
 * that is scribbled over and freed as soon as the header allows it; of a timer whose
 * cancel_sync has returned no callback runs or begins. What the threads of a test hand to
 * callbacks is written and read plainly, so that sanitizers see an order that is missing.
 */
#include "timer_accounts.h"

#define THREADS 4
#define SHARED 24
#define OWN 8 /* timers of each thread that no other one arms */
#define MAX_TIMERS 512
#define ORPHANS 64
#define POLLS 300 /* at least, however busy the machine is with other things */

#define ALIVE 0x600dull
#define DEAD 0xaa

/* What the `user` of a timer points to. */
struct box {
	uint64_t room[2]; /* where free() keeps its lists */
	uint64_t alive;
	uint64_t id;
	uint64_t begun; /* callbacks */
	uint32_t inside;
	uint32_t is_own;
};

/* Where a timer is, or will be. */
struct place {
	uint64_t
		id; /* atomic; 0: none. A stale one is met by whoever has read it before */
	uint32_t taken;	 /* atomic: there is one, or it is being made */
	struct box *box; /* of who has taken the place, or has destroyed what was there */
};

enum way { POLL, BURST, BOTH };

struct setting {
	const char *name;
	uint32_t flags;
	int fixed; /* one thread polls and does nothing else; else all do by turns */
	enum way way;
};

struct worker;

struct run {
	const struct setting *how;
	fp_timer_wheel *w;
	uint64_t clock;	  /* atomic */
	uint64_t polls;	  /* atomic: that were not refused */
	uint64_t working; /* atomic: threads that are not through */
	struct place shared[SHARED];
};

struct worker {
	struct run *run;
	pthread_t thread;
	uint64_t seed;
	uint64_t steps;
	struct ta_book book;
	struct place own[OWN];
	uint32_t orphans; /* timers that their own callback has destroyed, in this poll */
	struct box *orphan[ORPHANS];
} FPI_OWN_LINES;

static _Thread_local struct worker *me;

static uint32_t below(uint32_t n)
{
	return (uint32_t)((fpt_random(&me->seed) >> 32) % n);
}

static uint64_t clock_now(void)
{
	return __atomic_load_n(&me->run->clock, __ATOMIC_RELAXED);
}

/* Soon, mostly; now and then past or far. */
static uint64_t some_tick(void)
{
	switch (below(8)) {
	case 0:
		return below(2) ? 0 : clock_now() + (1ull << below(50));
	case 1:
		return clock_now();
	default:
		return clock_now() + below(16);
	}
}

/* ---- making and destroying ---- */

static void expired(fp_timer_wheel *w, const fp_timer_record *r, void *user);

/* Makes a timer where there is none. */
static void fill(struct place *p, uint32_t is_own)
{
	struct run *run = me->run;
	struct box *box;
	uint64_t id;
	int rc;

	if (__atomic_exchange_n(&p->taken, 1, __ATOMIC_ACQUIRE))
		return;
	box = calloc(1, sizeof(*box));
	CHECK(box != NULL);
	rc = fp_timer_create(run->w, expired, box, &id);
	if (rc) {
		/* Until the next poll: what was destroyed is not recycled yet. */
		CHECK_EQ(rc, -ENOMEM);
		free(box);
		__atomic_store_n(&p->taken, 0, __ATOMIC_RELEASE);
		return;
	}
	box->alive = ALIVE;
	box->id = id;
	box->is_own = is_own;
	p->box = box;
	__atomic_store_n(&p->id, id, __ATOMIC_RELEASE);
}

/* No callback uses it any more. */
static void bury(struct box *box)
{
	CHECK(box->alive == ALIVE && !box->inside);
	memset(box, DEAD, sizeof(*box));
	free(box);
}

/* In a callback `running` is its timer, else 0. */
static void destroy(struct place *p, uint64_t running)
{
	struct run *run = me->run;
	uint64_t id = __atomic_load_n(&p->id, __ATOMIC_ACQUIRE);
	struct box *box;
	int rc;

	if (!id || (id == running && me->orphans == ORPHANS))
		return;
	rc = ta_destroy(run->w, id);
	if (rc == -ESTALE)
		return; /* somebody else has: of all that try one destroys it */
	CHECK(!running || (rc == -EINPROGRESS) == (id == running));
	box = p->box;
	__atomic_store_n(&p->id, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&p->taken, 0, __ATOMIC_RELEASE);
	if (id == running) {
		me->orphan[me->orphans++] = box;
		return;
	}
	if (rc == -EINPROGRESS) {
		do
			rc = ta_cancel_sync(run->w, id, below(2) ? 0 : LIBFP_FOREVER);
		while (rc == -ETIMEDOUT);
		CHECK_EQ(rc, -ESTALE);
	}
	bury(box);
}

static void bury_orphans(void)
{
	while (me->orphans) {
		struct box *box = me->orphan[--me->orphans];

		CHECK_EQ(ta_cancel_sync(me->run->w, box->id, LIBFP_FOREVER), -ESTALE);
		bury(box);
	}
}

/* ---- one call of any kind ---- */

static void many_at_once(void)
{
	struct run *run = me->run;
	uint64_t ids[SHARED], ticks[SHARED];
	int32_t results[SHARED], n = 0, good = 0, rc;
	uint32_t kind = below(3);

	for (int i = 0; i < SHARED; i++) {
		ids[n] = __atomic_load_n(&run->shared[i].id, __ATOMIC_ACQUIRE);
		ticks[n] = some_tick();
		n += ids[n] != 0 && below(4) == 0;
	}
	if (kind == 0)
		rc = fp_timer_arm_bulk(run->w, ids, ticks, (uint32_t)n, results);
	else if (kind == 1)
		rc = fp_timer_cancel_bulk(run->w, ids, (uint32_t)n, results);
	else
		rc = fp_timer_touch_bulk(run->w, ids, ticks, (uint32_t)n, results);
	for (int i = 0; i < n; i++) {
		if (kind == 0)
			good += ta_armed(results[i]) >= 0;
		else if (kind == 1)
			good += ta_cancelled(results[i]) == 1;
		else
			good += results[i] == 1;
	}
	CHECK_EQ(rc, good);
}

/* From about now on: who catches up with all of the past never ends. */
static void arm_to_repeat(uint64_t id)
{
	ta_arm_periodic(me->run->w, id, clock_now() + below(16), 1 + below(50), below(3));
}

static void one_call(struct place *p, uint64_t running)
{
	fp_timer_wheel *w = me->run->w;
	uint64_t id = __atomic_load_n(&p->id, __ATOMIC_ACQUIRE), ticks;
	int rc;

	if (!id)
		return;
	switch (below(16)) {
	case 0:
		arm_to_repeat(id);
		break;
	case 1:
	case 2:
		rc = ta_cancel(w, id);
		CHECK(!running || rc == -ESTALE ||
		      (rc == -EINPROGRESS) == (id == running));
		break;
	case 3:
		if (id == running)
			CHECK_EQ(fp_timer_cancel_sync(w, id, LIBFP_FOREVER), -EDEADLK);
		else
			ta_cancel_sync(w, id, below(2) ? LIBFP_FOREVER : below(2000));
		break;
	case 4:
	case 5:
		rc = fp_timer_touch(w, id, some_tick());
		CHECK(rc == 0 || rc == 1 || rc == -ESTALE);
		break;
	case 6:
		rc = fp_timer_is_pending(w, id);
		CHECK(rc == 0 || rc == 1 || rc == -ESTALE);
		rc = fp_timer_remaining(w, id, clock_now(), &ticks);
		CHECK(rc == 0 || rc == 1 || rc == -ESTALE);
		break;
	case 7:
		many_at_once();
		break;
	case 8:
	case 9:
		destroy(p, running);
		break;
	default:
		ta_arm(w, id, some_tick());
	}
}

static struct place *some_shared(void)
{
	return &me->run->shared[below(SHARED)];
}

static void about_shared(uint64_t running)
{
	struct place *p = some_shared();

	one_call(p, running);
	fill(p, 0);
}

static void expired(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	struct box *box = user;

	CHECK(box->alive == ALIVE && box->id == r->id);
	CHECK_EQ(r->user, (uintptr_t)box);
	CHECK_EQ(box->inside, 0);
	box->inside = 1;
	box->begun++;
	ta_saw(r);
	switch (below(8)) {
	case 0: /* itself, for a tick that may have come */
	case 1:
		ta_arm(w, r->id, r->expiry_tick + below(4));
		break;
	case 2:
		CHECK_EQ(fp_timer_wheel_poll(w, UINT64_MAX, 1), -EBUSY);
		CHECK_EQ(fp_timer_cancel_sync(w, r->id, 0), -EDEADLK);
		CHECK_EQ(fp_timer_wheel_destroy(w), -EBUSY);
		break;
	case 3:
	case 4:
		about_shared(r->id);
		break;
	case 5: /* itself */
		if (!box->is_own)
			for (int i = 0; i < SHARED; i++)
				if (__atomic_load_n(&me->run->shared[i].id,
						    __ATOMIC_ACQUIRE) == r->id)
					one_call(&me->run->shared[i], r->id);
		break;
	case 6:
		sched_yield(); /* others find it running */
	}
	CHECK(box->alive == ALIVE && box->inside == 1 && box->id == r->id);
	box->inside = 0;
}

static void poll_once(void)
{
	struct run *run = me->run;
	uint64_t now = __atomic_add_fetch(&run->clock, below(64) ? below(3) : below(1000),
					  __ATOMIC_RELAXED);
	uint32_t max = below(2) ? LIBFP_WHEEL_NO_LIMIT : below(5);
	int64_t n;

	if (run->how->way == BURST || (run->how->way == BOTH && below(2)))
		n = ta_poll_burst(run->w, now);
	else
		n = ta_poll(run->w, now, max);
	bury_orphans();
	if (n < 0)
		sched_yield(); /* let whoever polls get on */
	else
		__atomic_add_fetch(&run->polls, 1, __ATOMIC_RELAXED);
}

/* ---- threads ---- */

static void some_step(void)
{
	uint32_t kind = below(32);

	if (kind < 8 && !me->run->how->fixed)
		poll_once();
	else if (kind == 8 && !below(100))
		ta_cancel_all(me->run->w);
	else
		about_shared(0);
}

/* A timer that only this thread and its own callback arm. */
static void about_own(struct place *p)
{
	fp_timer_wheel *w = me->run->w;
	uint64_t begun;

	fill(p, 1);
	switch (p->id ? below(8) : 0) {
	case 0:
		break;
	case 1:
		destroy(p, 0);
		break;
	case 2:
	case 3:
		CHECK(ta_cancel_sync(w, p->id, LIBFP_FOREVER) >= 0);
		begun = p->box->begun;
		for (uint32_t i = below(8); i; i--) {
			CHECK(p->box->inside == 0 && p->box->begun == begun);
			some_step();
		}
		CHECK(p->box->inside == 0 && p->box->begun == begun);
		CHECK_EQ(fp_timer_is_pending(w, p->id), 0);
		break;
	case 4:
		arm_to_repeat(p->id);
		break;
	default:
		ta_arm(w, p->id, some_tick());
	}
}

static void *work(void *arg)
{
	me = arg;
	ta_mine = &me->book;
	for (uint64_t i = 0;
	     i < me->steps || __atomic_load_n(&me->run->polls, __ATOMIC_RELAXED) < POLLS;
	     i++) {
		if (below(3))
			some_step();
		else
			about_own(&me->own[below(OWN)]);
		if (i % 256 == 0)
			sched_yield();
	}
	__atomic_sub_fetch(&me->run->working, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Does nothing but poll. */
static void *keep_polling(void *arg)
{
	me = arg;
	ta_mine = &me->book;
	while (__atomic_load_n(&me->run->working, __ATOMIC_ACQUIRE)) {
		poll_once();
		if (!below(4))
			sched_yield();
	}
	return NULL;
}

static void race(const struct setting *how, uint64_t steps, uint64_t *seed)
{
	static struct worker x[THREADS + 1];
	static struct run run;
	struct ta_book sum = { 0 };
	fp_timer_wheel_opts o = tt_opts(1000, MAX_TIMERS);
	int threads = THREADS + (how->fixed != 0);

	fpt_where("%s", how->name);
	memset(x, 0, sizeof(x));
	memset(&run, 0, sizeof(run));
	o.flags |= how->flags;
	run.how = how;
	run.w = tt_create(&o);
	run.clock = 1000;
	run.working = THREADS;
	for (int i = 0; i < threads; i++) {
		x[i].run = &run;
		x[i].seed = fpt_random(seed) | 1;
		x[i].steps = steps;
		ta_start(&x[i].thread, i < THREADS ? work : keep_polling, &x[i]);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(x[i].thread, NULL);
	for (int i = 0; i < threads; i++)
		ta_add(&sum, &x[i].book);
	ta_settle(run.w, &sum);
	CHECK(sum.expired > 0 && sum.cancelled > 0);

	/* The rest is destroyed, which also counts. */
	me = &x[0];
	ta_mine = &me->book;
	for (int i = 0; i < SHARED; i++)
		destroy(&run.shared[i], 0);
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < OWN; k++)
			destroy(&x[i].own[k], 0);
	memset(&sum, 0, sizeof(sum));
	for (int i = 0; i < threads; i++)
		ta_add(&sum, &x[i].book);
	CHECK_EQ(ta_settle(run.w, &sum), 0);
	ta_all_free(run.w, UINT64_MAX, MAX_TIMERS);
	tt_end(run.w);
}

static void the_books_balance(void)
{
	static const struct setting all[] = {
		{ "one polls", LIBFP_STATS, 1, POLL },
		{ "one polls bursts", LIBFP_STATS, 1, BURST },
		{ "all poll", LIBFP_STATS, 0, POLL },
		{ "all poll bursts", LIBFP_STATS, 0, BURST },
		{ "all poll both ways", LIBFP_STATS, 0, BOTH },
		{ "all poll both ways, nothing counted", 0, 0, BOTH },
	};
	uint64_t seed = fpt_seed();

	for (size_t i = 0; i < FPT_LEN(all); i++)
		race(&all[i], fpt_scale(FPT_SAMPLE ? 10000 : 40000, 4000000), &seed);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(the_books_balance),
	};
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
