/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random calls of every kind, on one thread, against an oracle that knows nothing of
 * wheels: an array sorted by (expiry, order of arming). Every record that fires must be
 * the oracle's next one, in all its fields; every call must return what the oracle says.
 * Callbacks make random calls too. Many expiries are equal on purpose, others are due
 * already; `now` stands still, crawls, leaps and goes back.
 *
 * What the header leaves open is not asked: what becomes of the periods that a SKIP timer
 * has missed if it is touched before it has fired.
 */
#include "timer_test.h"

#define SLOTS 1024 /* at most so many timers at once */
#define BULK 16
#define FLOOD 500 /* periods to catch up with; who has more is cancelled */

struct timer {
	uint64_t id; /* of the timer, or of the last one in this slot */
	uint64_t expiry;
	uint64_t order; /* of arming */
	uint64_t period;
	uint64_t missed; /* SKIP: periods already passed over */
	uint32_t policy;
	int has_callback;
	int exists;
	int armed;
	int waits; /* armed by a callback for a tick that was over: for the next poll */
};

struct place {
	uint64_t expiry, order;
	uint32_t slot;
};

static struct oracle {
	fp_timer_wheel *w;
	uint64_t seed;
	uint64_t now; /* of the last poll */
	uint64_t orders;
	uint64_t ops;
	uint32_t slots;
	uint32_t range; /* bits of a span of ticks */
	int calm;	/* callbacks call nothing */

	struct timer t[SLOTS];
	struct place due[SLOTS]; /* sorted: all that is armed and does not wait */
	uint32_t n_due;
	uint32_t waiting[SLOTS];
	uint32_t n_waiting;

	/* The poll in progress. */
	uint64_t tick;	  /* being fired */
	uint64_t over;	  /* the tick up to which all has been fired */
	uint64_t running; /* id whose callback runs, 0: none */
	int64_t taken, max;

	/* Over the life of the wheel. */
	uint64_t fired, overruns, late_max, arms;
} o;

static uint32_t below(uint32_t n)
{
	return (uint32_t)((fpt_random(&o.seed) >> 32) % n);
}

static uint64_t bits(uint32_t n)
{
	return n ? fpt_random(&o.seed) >> (64 - n) : 0;
}

static uint64_t later(uint64_t tick, uint64_t span)
{
	return span > UINT64_MAX - tick ? UINT64_MAX : tick + span;
}

/* ---- the oracle ---- */

/* Where (expiry, order) is in due[], or belongs. */
static uint32_t place_of(uint64_t expiry, uint64_t order)
{
	uint32_t from = 0, to = o.n_due;

	while (from < to) {
		uint32_t mid = (from + to) / 2;
		const struct place *p = &o.due[mid];

		if (p->expiry < expiry || (p->expiry == expiry && p->order < order))
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static void insert(uint32_t slot)
{
	struct timer *t = &o.t[slot];
	uint32_t at = place_of(t->expiry, t->order);

	t->waits = 0;
	t->armed = 1;
	memmove(o.due + at + 1, o.due + at, (o.n_due - at) * sizeof(*o.due));
	o.due[at] = (struct place){ t->expiry, t->order, slot };
	o.n_due++;
}

static void disarm(uint32_t slot)
{
	struct timer *t = &o.t[slot];
	uint32_t at = 0;

	if (!t->armed)
		return;
	t->armed = 0;
	if (t->waits) {
		while (o.waiting[at] != slot)
			at++;
		o.waiting[at] = o.waiting[--o.n_waiting];
		t->waits = 0;
		return;
	}
	at = place_of(t->expiry, t->order);
	CHECK_EQ(o.due[at].slot, slot);
	o.n_due--;
	memmove(o.due + at, o.due + at + 1, (o.n_due - at) * sizeof(*o.due));
}

/* T3: what a callback arms for a tick that is over, or is being fired, waits. */
static void arm(uint32_t slot, uint64_t expiry)
{
	struct timer *t = &o.t[slot];

	disarm(slot);
	t->expiry = expiry;
	if (!o.running || expiry > o.over) {
		insert(slot);
		return;
	}
	t->armed = t->waits = 1;
	o.waiting[o.n_waiting++] = slot;
}

/* A poll before the next expiry, or for nothing, does nothing: it moves no time either. */
static void begin_poll(uint64_t now, int64_t max)
{
	uint64_t next = UINT64_MAX;

	o.taken = o.max = 0;
	if (fp_timer_wheel_next_expiry(o.w, &next) < 0 || now < next || now < o.now ||
	    !max)
		return;
	o.max = max;
	o.now = now;
	while (o.n_waiting)
		insert(o.waiting[--o.n_waiting]);
}

static void end_poll(void)
{
	if (o.taken < o.max)
		o.over = o.now;
}

/* Takes what fires next; 0: nothing. */
static int take(fp_timer_record *r, struct timer **which)
{
	for (;;) {
		uint32_t slot = o.due[0].slot;
		struct timer *t = &o.t[slot];
		uint64_t over;

		if (o.taken == o.max || !o.n_due || t->expiry > o.now)
			return 0;
		over = t->period ? (o.now - t->expiry) / t->period : 0;
		disarm(slot);
		if (over && t->policy == LIBFP_TIMER_SKIP) {
			t->missed += over;
			t->expiry += over * t->period;
			insert(slot);
			continue;
		}
		*r = (fp_timer_record){ t->id, slot + 1, t->expiry, 0, 0 };
		if (t->policy == LIBFP_TIMER_SKIP)
			over = t->missed;
		t->missed = 0;
		o.tick = t->expiry;
		if (o.over < o.tick)
			o.over = o.tick;
		o.taken++;
		o.fired++;
		if (o.late_max < o.now - t->expiry)
			o.late_max = o.now - t->expiry;
		*which = t;
		if (!t->period)
			return 1;
		r->overruns = over > UINT32_MAX ? UINT32_MAX : (uint32_t)over;
		r->flags = LIBFP_TIMER_IS_PERIODIC;
		if (t->policy != LIBFP_TIMER_CATCH_UP)
			o.overruns += over;
		over = t->policy == LIBFP_TIMER_COALESCE ? over : 0;
		t->expiry += over * t->period;
		if (t->period <= UINT64_MAX - t->expiry) {
			t->expiry += t->period;
			insert(slot);
		}
		return 1;
	}
}

static void same_record(const fp_timer_record *got, const fp_timer_record *want)
{
	CHECK_EQ(got->user, want->user);
	CHECK_EQ(got->expiry_tick, want->expiry_tick);
	CHECK_EQ(got->id, want->id);
	CHECK_EQ(got->overruns, want->overruns);
	CHECK_EQ(got->flags, want->flags);
}

/* ---- one call, and what it must return ---- */

static uint64_t some_tick(void)
{
	uint64_t base = o.running && below(2) ? o.tick : o.now;

	switch (below(10)) {
	case 0:
	case 1:
	case 2: /* together with another one */
		return o.n_due ? o.due[below(o.n_due)].expiry : base;
	case 3:
		return base - bits(below(o.range));
	case 4:
	case 5:
		return later(base, below(8));
	default:
		return later(base, bits(below(o.range + 1)));
	}
}

static int arm_result(uint32_t slot)
{
	return !o.t[slot].exists ? -ESTALE : o.t[slot].armed;
}

static int stop_result(uint32_t slot)
{
	const struct timer *t = &o.t[slot];

	return !t->exists ? -ESTALE : t->id == o.running ? -EINPROGRESS : t->armed;
}

static void armed(uint32_t slot, uint64_t expiry, uint64_t period, uint32_t policy)
{
	struct timer *t = &o.t[slot];

	if (!t->exists)
		return;
	o.arms += !t->armed;
	disarm(slot); /* by its old order */
	t->order = ++o.orders;
	t->period = period;
	t->policy = policy;
	t->missed = 0;
	arm(slot, expiry);
}

static void do_arm(uint32_t slot)
{
	uint64_t expiry = below(8) ? some_tick() : o.t[slot].expiry;

	CHECK_EQ(fp_timer_arm(o.w, o.t[slot].id, expiry), arm_result(slot));
	armed(slot, expiry, 0, 0);
}

static void do_arm_periodic(uint32_t slot)
{
	uint64_t first = some_tick(), period = 1 + bits(below(o.range + 1));
	uint32_t policy = below(3);

	if (first <= o.now && (o.now - first) / period > FLOOD / 8)
		policy %= LIBFP_TIMER_CATCH_UP;
	CHECK_EQ(fp_timer_arm_periodic(o.w, o.t[slot].id, first, period, policy),
		 arm_result(slot));
	armed(slot, first, period, policy);
}

/* A touch that moves is an arming. */
static void touched(uint32_t slot, uint64_t expiry)
{
	struct timer *t = &o.t[slot];

	if (!t->exists || !t->armed || expiry <= t->expiry)
		return;
	if (t->waits) { /* and goes on waiting */
		t->expiry = expiry;
		t->order = ++o.orders;
		return;
	}
	disarm(slot);
	t->order = ++o.orders;
	t->expiry = expiry;
	insert(slot);
}

static int missed_some(uint32_t slot)
{
	const struct timer *t = &o.t[slot];

	return t->armed && t->period && t->policy == LIBFP_TIMER_SKIP &&
	       t->expiry <= o.now;
}

static void do_touch(uint32_t slot)
{
	uint64_t expiry = some_tick();

	if (missed_some(slot))
		return;
	CHECK_EQ(fp_timer_touch(o.w, o.t[slot].id, expiry), arm_result(slot));
	touched(slot, expiry);
}

static void do_cancel(uint32_t slot)
{
	CHECK_EQ(fp_timer_cancel(o.w, o.t[slot].id), stop_result(slot));
	disarm(slot);
}

static void do_cancel_sync(uint32_t slot)
{
	int own = o.t[slot].id == o.running;

	CHECK_EQ(fp_timer_cancel_sync(o.w, o.t[slot].id, LIBFP_FOREVER),
		 own ? -EDEADLK : stop_result(slot));
	if (!own)
		disarm(slot);
}

static void do_destroy(uint32_t slot)
{
	CHECK_EQ(fp_timer_destroy(o.w, o.t[slot].id), stop_result(slot));
	disarm(slot);
	o.t[slot].exists = 0;
}

static void oracle_expired(fp_timer_wheel *w, const fp_timer_record *r, void *user);

static void do_create(uint32_t slot)
{
	struct timer *t = &o.t[slot];
	uint64_t id = 0;
	int has_callback = below(8) != 0, rc;

	if (t->exists)
		return;
	rc = fp_timer_create(o.w, has_callback ? oracle_expired : NULL, tt_user(slot + 1),
			     &id);
	if (rc) { /* destroyed ones that no poll has come by */
		fp_timer_wheel_stats st = tt_stats(o.w);

		CHECK_EQ(rc, -ENOMEM);
		CHECK_EQ(st.timers, st.max_timers);
		return;
	}
	CHECK(id != 0 && id != t->id);
	*t = (struct timer){ .id = id, .exists = 1, .has_callback = has_callback };
}

/* One of the bulk calls, as likely as not with the same id twice, and stale ones. */
static void do_bulk(uint32_t kind)
{
	uint32_t n = below(BULK + 1), slots[BULK];
	uint64_t ids[BULK], ticks[BULK];
	int32_t results[BULK], rc, good = 0;
	int with_results = below(4) != 0;

	for (uint32_t i = 0; i < n; i++) {
		slots[i] = below(o.slots);
		while (kind == 1 && missed_some(slots[i]))
			slots[i] = below(o.slots);
		ids[i] = o.t[slots[i]].id;
		ticks[i] = some_tick();
		results[i] = 99;
	}
	rc = kind == 0 ?
		     fp_timer_arm_bulk(o.w, ids, ticks, n,
				       with_results ? results : NULL) :
	     kind == 1 ?
		     fp_timer_touch_bulk(o.w, ids, ticks, n,
					 with_results ? results : NULL) :
	     kind == 2 ?
		     fp_timer_cancel_bulk(o.w, ids, n, with_results ? results : NULL) :
		     fp_timer_destroy_bulk(o.w, ids, n, with_results ? results : NULL);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = slots[i];
		int want = kind < 2 ? arm_result(slot) : stop_result(slot);

		if (with_results)
			CHECK_EQ(results[i], want);
		if (kind == 0) {
			armed(slot, ticks[i], 0, 0);
			good += want >= 0;
		} else if (kind == 1) {
			touched(slot, ticks[i]);
			good += want == 1;
		} else {
			disarm(slot);
			good += kind == 2 ? want == 1 : want != -ESTALE;
			o.t[slot].exists &= kind == 2;
		}
	}
	CHECK_EQ(rc, good);
}

static void do_ask(uint32_t slot)
{
	const struct timer *t = &o.t[slot];
	uint64_t ticks = TT_NO_TICK;
	uint64_t now = missed_some(slot) || below(2) ? o.now : some_tick();

	CHECK_EQ(fp_timer_is_pending(o.w, t->id), arm_result(slot));
	CHECK_EQ(fp_timer_remaining(o.w, t->id, now, &ticks), arm_result(slot));
	CHECK(ticks == (!t->exists || !t->armed ? TT_NO_TICK :
			t->expiry > now		? t->expiry - now :
						  0));
}

static int seen(const fp_timer_info *info, void *user)
{
	const struct timer *t = &o.t[info->user - 1];
	uint32_t flags = (t->armed ? LIBFP_TIMER_IS_ARMED : 0) |
			 (t->armed && t->period ? LIBFP_TIMER_IS_PERIODIC : 0);

	CHECK(info->user >= 1 && info->user <= o.slots);
	CHECK(t->exists && info->id == t->id);
	++*(uint32_t *)user;
	CHECK_EQ(info->flags & LIBFP_TIMER_IS_ARMED, flags & LIBFP_TIMER_IS_ARMED);
	if (!t->armed)
		return 0;
	CHECK_EQ(info->flags, flags);
	if (!missed_some((uint32_t)info->user - 1))
		CHECK_EQ(info->expiry_tick, t->expiry);
	if (t->period) {
		CHECK_EQ(info->period_ticks, t->period);
		CHECK_EQ(info->policy, t->policy);
	}
	return 0;
}

static void do_look_at_all(void)
{
	uint32_t shown = 0, exist = 0;

	CHECK_EQ(fp_timer_wheel_for_each(o.w, seen, &shown), 0);
	for (uint32_t i = 0; i < o.slots; i++)
		exist += (uint32_t)o.t[i].exists;
	CHECK_EQ(shown, exist);
}

static void do_cancel_all(void)
{
	int64_t n = o.n_due + o.n_waiting;

	CHECK_EQ(fp_timer_wheel_cancel_all(o.w), n);
	for (uint32_t i = 0; i < o.slots; i++)
		disarm(i);
}

static void do_something(uint32_t slot)
{
	uint32_t dice = below(100);

	o.ops++;
	if (!o.t[slot].exists && below(3))
		do_create(slot);
	else if (dice < 40)
		do_arm(slot);
	else if (dice < 50)
		do_arm_periodic(slot);
	else if (dice < 64)
		do_touch(slot);
	else if (dice < 76)
		do_cancel(slot);
	else if (dice < 78)
		do_cancel_sync(slot);
	else if (dice < 82)
		do_destroy(slot);
	else if (dice < 92)
		do_bulk(below(8) ? below(3) : 3);
	else
		do_ask(slot);
}

/* ---- polls ---- */

static void oracle_expired(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	fp_timer_record want;
	struct timer *t;

	CHECK(w == o.w);
	CHECK(user == tt_user(r->user));
	do /* those without a callback have fired before this one */
		CHECK(take(&want, &t));
	while (!t->has_callback);
	same_record(r, &want);
	o.running = r->id;
	if (!o.calm && below(2))
		for (uint32_t n = 1 + below(3); n > 0; n--)
			do_something(below(3) ? below(o.slots) : (uint32_t)r->user - 1);
	o.running = 0;
}

static void poll_with_callbacks(uint64_t now, uint32_t max)
{
	fp_timer_record want;
	struct timer *t;
	int64_t rc;

	begin_poll(now, max == TT_ALL ? INT64_MAX : (int64_t)max);
	rc = fp_timer_wheel_poll(o.w, now, max);
	while (take(&want, &t))
		CHECK(!t->has_callback); /* or it is missing */
	end_poll();
	CHECK_EQ(rc, o.taken);
}

static void poll_for_records(uint64_t now, uint32_t n)
{
	fp_timer_record got[BULK * 4], want;
	struct timer *t;
	int32_t rc;

	begin_poll(now, n);
	rc = fp_timer_wheel_poll_burst(o.w, now, got, n);
	CHECK(rc >= 0 && rc <= (int32_t)n);
	for (int32_t i = 0; i < rc; i++) {
		CHECK(take(&want, &t));
		same_record(&got[i], &want);
	}
	CHECK(!take(&want, &t));
	end_poll();
}

static uint64_t some_now(void)
{
	switch (below(16)) {
	case 0:
	case 1:
	case 2:
	case 3:
		return o.now;
	case 4:
		return o.now - (o.now ? bits(below(o.range)) % o.now : 0);
	case 5:
		return later(o.now, bits(below(o.range + 1)));
	case 6:
		return below(2000) ? o.now : UINT64_MAX;
	case 7:
	case 8:
	case 9: /* at an expiry, or the tick before it */
		if (o.n_due) {
			uint64_t tick = o.due[below(o.n_due) / (1 + below(20))].expiry;

			return tick - (tick && below(2));
		}
		return o.now;
	default:
		return later(o.now, bits(below(o.range / 2 + 1)));
	}
}

/* Expiries to come up to this tick, as far as timers catch up with them. */
static void stop_floods(uint64_t now)
{
	for (uint32_t i = 0; i < o.slots; i++) {
		struct timer *t = &o.t[i];

		if (t->armed && t->period && t->policy == LIBFP_TIMER_CATCH_UP &&
		    t->expiry < now && (now - t->expiry) / t->period > FLOOD)
			do_cancel(i);
	}
}

static void do_poll(void)
{
	uint64_t now = some_now(), tick = TT_NO_TICK, first = UINT64_MAX;
	int rc;

	o.ops++;
	if (below(3) == 0) {
		poll_for_records(now, below(BULK * 4 + 1));
	} else {
		uint32_t max = below(3) ? TT_ALL : below(30);

		if (max == TT_ALL)
			stop_floods(now);
		poll_with_callbacks(now, max);
	}
	stop_floods(o.now);
	CHECK_EQ(fp_timer_wheel_count(o.w), o.n_due + o.n_waiting);
	if (o.n_due)
		first = o.due[0].expiry;
	for (uint32_t i = 0; i < o.n_waiting; i++)
		if (first > o.t[o.waiting[i]].expiry)
			first = o.t[o.waiting[i]].expiry;
	rc = fp_timer_wheel_next_expiry(o.w, &tick);
	CHECK(rc == 1 || rc == 0);
	CHECK(rc ? tick <= first || !(o.n_due + o.n_waiting) : first == UINT64_MAX);
}

/* ---- lives of wheels ---- */

static void begin_life(void)
{
	static const uint32_t ranges[] = { 4, 9, 12, 17, 24, 33, 48, 60 };
	fp_timer_wheel_opts opts = tt_opts(0, 0);
	uint64_t seed = o.seed, ops = o.ops;

	memset(&o, 0, sizeof(o));
	o.seed = seed;
	o.ops = ops;
	o.slots = 1 + below(below(3) ? 100 : SLOTS);
	o.range = ranges[below(FPT_LEN(ranges))];
	o.calm = below(4) == 0;
	o.now = o.over = bits(below(64));
	opts.start_tick = o.now;
	opts.capacity = o.slots;
	opts.max_timers = o.slots + below(2) * below(100);
	opts.flags |= below(2) ? LIBFP_STATS : 0;
	o.w = tt_create(&opts);
	for (uint32_t i = 0; i < o.slots; i++)
		do_create(i);
}

static void end_life(void)
{
	fp_timer_wheel_stats st = tt_stats(o.w);

	do_look_at_all();
	CHECK_EQ(st.fired, o.fired);
	CHECK_EQ(st.overruns, o.overruns);
	CHECK_EQ(st.late_max, o.late_max);
	if (st.flags & LIBFP_WHEEL_STATS_COUNTED)
		CHECK_EQ(st.arms, o.arms);
	poll_with_callbacks(o.now, 0);
	do_cancel_all();
	poll_with_callbacks(UINT64_MAX, TT_ALL);
	CHECK_EQ(o.taken, 0);
	tt_end(o.w);
}

static void one_life(uint64_t ops)
{
	uint64_t until, over = 0;
	uint32_t polls;

	begin_life();
	polls = below(2) ? 5 : 40; /* one call in so many is a poll */
	for (until = o.ops + ops; o.ops < until && over < 200;) {
		if (below(polls) == 0)
			do_poll();
		else
			do_something(below(o.slots));
		if (below(3000) == 0)
			do_look_at_all();
		if (below(5000) == 0)
			do_cancel_all();
		over += o.now > UINT64_MAX / 4 * 3; /* time ends */
	}
	end_life();
}

static void the_wheel_agrees_with_a_sorted_array(void)
{
	uint64_t seeds = FPT_SAMPLE ? 2 : 5;
	uint64_t ops = fpt_scale(FPT_SAMPLE ? 20000 : 100000, 10000000);
	uint64_t seed = fpt_seed();

	for (uint64_t s = 0; s < seeds; s++) {
		o.seed = fpt_random(&seed) | 1;
		for (o.ops = 0; o.ops < ops;) {
			fpt_where("seed %" PRIu64 " of the run, life from call %" PRIu64,
				  s, o.ops);
			one_life(1000 + below(20000));
		}
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(the_wheel_agrees_with_a_sorted_array),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
