/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random calls of every kind, on one thread, against an oracle that knows nothing of
 * wheels: an array sorted by (expiry, order of arming), in timer_oracle.h. Every record
 * that fires must be the oracle's next one, in all its fields; every call must return what
 * the oracle says. Callbacks make random calls too. Many expiries are equal on purpose,
 * in some wheels hundreds, others are due already; `now` stands still, crawls, leaps and
 * goes back.
 *
 * What the header leaves open is not asked: what becomes of the periods that a SKIP timer
 * has missed if it is touched before it has fired.
 */
#include "timer_oracle.h"

#define BULK 16
#define FLOOD 500 /* periods to catch up with; who has more is cancelled */

static struct run {
	uint64_t seed;
	uint64_t ops;
	uint32_t range;	  /* bits of a span of ticks */
	int calm;	  /* callbacks call nothing */
	uint32_t crowded; /* every second expiry is `meeting`, or over: 1 to 4 of 4 */
	uint64_t meeting;
} run;

static uint32_t below(uint32_t n)
{
	return (uint32_t)((fpt_random(&run.seed) >> 32) % n);
}

static uint64_t bits(uint32_t n)
{
	return n ? fpt_random(&run.seed) >> (64 - n) : 0;
}

static uint64_t later(uint64_t tick, uint64_t span)
{
	return span > UINT64_MAX - tick ? UINT64_MAX : tick + span;
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
	uint64_t base = to.running && below(2) ? to.tick : to.now;

	if (run.crowded && below(2)) {
		if (run.meeting <= to.now)
			run.meeting = later(to.now, 1 + bits(run.range - below(4)));
		return below(4) < run.crowded ? run.meeting : base - below(3);
	}
	switch (below(10)) {
	case 0:
	case 1:
	case 2: /* together with another one */
		return to.n_due ? to.due[below(to.n_due)].expiry : base;
	case 3:
		return base - bits(below(run.range));
	case 4:
	case 5:
		return later(base, below(8));
	default:
		return later(base, bits(below(run.range + 1)));
	}
}

static int arm_result(uint32_t slot)
{
	return !to.t[slot].exists ? -ESTALE : to.t[slot].armed;
}

static int stop_result(uint32_t slot)
{
	const struct to_timer *t = &to.t[slot];

	return !t->exists ? -ESTALE : t->id == to.running ? -EINPROGRESS : t->armed;
}

static void armed(uint32_t slot, uint64_t expiry, uint64_t period, uint32_t policy)
{
	struct to_timer *t = &to.t[slot];

	if (!t->exists)
		return;
	to.arms += !t->armed;
	to_disarm(slot); /* by its old order */
	t->order = ++to.orders;
	t->period = period;
	t->policy = policy;
	t->missed = 0;
	to_arm(slot, expiry);
}

static void do_arm(uint32_t slot)
{
	uint64_t expiry = below(8) ? some_tick() : to.t[slot].expiry;

	CHECK_EQ(fp_timer_arm(to.w, to.t[slot].id, expiry), arm_result(slot));
	armed(slot, expiry, 0, 0);
}

static void do_arm_periodic(uint32_t slot)
{
	uint64_t first = some_tick(), period = 1 + bits(below(run.range + 1));
	uint32_t policy = below(3);

	if (first <= to.now && (to.now - first) / period > FLOOD / 8)
		policy %= LIBFP_TIMER_CATCH_UP;
	CHECK_EQ(fp_timer_arm_periodic(to.w, to.t[slot].id, first, period, policy),
		 arm_result(slot));
	armed(slot, first, period, policy);
}

/* A touch that moves is an arming. */
static void touched(uint32_t slot, uint64_t expiry)
{
	struct to_timer *t = &to.t[slot];

	if (!t->exists || !t->armed || expiry <= t->expiry)
		return;
	if (t->waits) { /* and goes on waiting */
		t->expiry = expiry;
		t->order = ++to.orders;
		return;
	}
	to_disarm(slot);
	t->order = ++to.orders;
	t->expiry = expiry;
	to_insert(slot);
}

static int missed_some(uint32_t slot)
{
	const struct to_timer *t = &to.t[slot];

	return t->armed && t->period && t->policy == LIBFP_TIMER_SKIP &&
	       t->expiry <= to.now;
}

static void do_touch(uint32_t slot)
{
	uint64_t expiry = some_tick();

	if (missed_some(slot))
		return;
	CHECK_EQ(fp_timer_touch(to.w, to.t[slot].id, expiry), arm_result(slot));
	touched(slot, expiry);
}

static void do_cancel(uint32_t slot)
{
	CHECK_EQ(fp_timer_cancel(to.w, to.t[slot].id), stop_result(slot));
	to_disarm(slot);
}

static void do_cancel_sync(uint32_t slot)
{
	int own = to.t[slot].id == to.running;

	CHECK_EQ(fp_timer_cancel_sync(to.w, to.t[slot].id, LIBFP_FOREVER),
		 own ? -EDEADLK : stop_result(slot));
	if (!own)
		to_disarm(slot);
}

static void do_destroy(uint32_t slot)
{
	CHECK_EQ(fp_timer_destroy(to.w, to.t[slot].id), stop_result(slot));
	to_disarm(slot);
	to.t[slot].exists = 0;
}

static void oracle_expired(fp_timer_wheel *w, const fp_timer_record *r, void *user);

static void do_create(uint32_t slot)
{
	struct to_timer *t = &to.t[slot];
	uint64_t id = 0;
	int has_callback = below(8) != 0, rc;

	if (t->exists)
		return;
	rc = fp_timer_create(to.w, has_callback ? oracle_expired : NULL,
			     tt_user(slot + 1), &id);
	if (rc) { /* destroyed ones that no poll has come by */
		fp_timer_wheel_stats st = tt_stats(to.w);

		CHECK_EQ(rc, -ENOMEM);
		CHECK_EQ(st.timers, st.max_timers);
		return;
	}
	CHECK(id != 0 && id != t->id);
	*t = (struct to_timer){ .id = id, .exists = 1, .has_callback = has_callback };
}

/* One of the bulk calls, as likely as not with the same id twice, and stale ones. */
static void do_bulk(uint32_t kind)
{
	uint32_t n = below(BULK + 1), slots[BULK];
	uint64_t ids[BULK], ticks[BULK];
	int32_t results[BULK], rc, good = 0;
	int with_results = below(4) != 0;

	for (uint32_t i = 0; i < n; i++) {
		slots[i] = below(to.slots);
		if (kind == 1 && missed_some(slots[i])) {
			n = i;
			break;
		}
		ids[i] = to.t[slots[i]].id;
		ticks[i] = some_tick();
		results[i] = 99;
	}
	rc = kind == 0 ?
		     fp_timer_arm_bulk(to.w, ids, ticks, n,
				       with_results ? results : NULL) :
	     kind == 1 ?
		     fp_timer_touch_bulk(to.w, ids, ticks, n,
					 with_results ? results : NULL) :
	     kind == 2 ?
		     fp_timer_cancel_bulk(to.w, ids, n, with_results ? results : NULL) :
		     fp_timer_destroy_bulk(to.w, ids, n, with_results ? results : NULL);
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
			to_disarm(slot);
			good += kind == 2 ? want == 1 : want != -ESTALE;
			to.t[slot].exists &= kind == 2;
		}
	}
	CHECK_EQ(rc, good);
}

static void do_ask(uint32_t slot)
{
	const struct to_timer *t = &to.t[slot];
	uint64_t ticks = TT_NO_TICK;
	uint64_t now = missed_some(slot) || below(2) ? to.now : some_tick();

	CHECK_EQ(fp_timer_is_pending(to.w, t->id), arm_result(slot));
	CHECK_EQ(fp_timer_remaining(to.w, t->id, now, &ticks), arm_result(slot));
	CHECK(ticks == (!t->exists || !t->armed ? TT_NO_TICK :
			t->expiry > now		? t->expiry - now :
						  0));
}

static int seen(const fp_timer_info *info, void *user)
{
	const struct to_timer *t = &to.t[info->user - 1];
	uint32_t flags = (t->armed ? LIBFP_TIMER_IS_ARMED : 0) |
			 (t->armed && t->period ? LIBFP_TIMER_IS_PERIODIC : 0);

	CHECK(info->user >= 1 && info->user <= to.slots);
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

	CHECK_EQ(fp_timer_wheel_for_each(to.w, seen, &shown), 0);
	for (uint32_t i = 0; i < to.slots; i++)
		exist += (uint32_t)to.t[i].exists;
	CHECK_EQ(shown, exist);
}

static void do_cancel_all(void)
{
	int64_t n = to.n_due + to.n_waiting;

	CHECK_EQ(fp_timer_wheel_cancel_all(to.w), n);
	for (uint32_t i = 0; i < to.slots; i++)
		to_disarm(i);
}

static void do_something(uint32_t slot)
{
	uint32_t dice = below(100);

	run.ops++;
	if (!to.t[slot].exists && below(3))
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
	struct to_timer *t;

	CHECK(w == to.w);
	CHECK(user == tt_user(r->user));
	do /* those without a callback have fired before this one */
		CHECK(to_take(&want, &t));
	while (!t->has_callback);
	same_record(r, &want);
	to.running = r->id;
	if (!run.calm && below(2))
		for (uint32_t n = 1 + below(3); n > 0; n--)
			do_something(below(3) ? below(to.slots) : (uint32_t)r->user - 1);
	to.running = 0;
}

static void poll_with_callbacks(uint64_t now, uint32_t max)
{
	fp_timer_record want;
	struct to_timer *t;
	int several = below(4) == 0;
	int64_t rc;

	to_begin_poll(now, max == TT_ALL ? INT64_MAX : (int64_t)max, several);
	rc = several ? fp_timer_wheel_poll_many(&to.w, 1, now, max) :
		       fp_timer_wheel_poll(to.w, now, max);
	while (to_take(&want, &t))
		CHECK(!t->has_callback); /* or it is missing */
	to_end_poll();
	CHECK_EQ(rc, to.taken);
}

static void poll_for_records(uint64_t now, uint32_t n)
{
	fp_timer_record got[BULK * 4], want;
	struct to_timer *t;
	int32_t rc;

	to_begin_poll(now, n, 0);
	rc = fp_timer_wheel_poll_burst(to.w, now, got, n);
	CHECK(rc >= 0 && rc <= (int32_t)n);
	for (int32_t i = 0; i < rc; i++) {
		CHECK(to_take(&want, &t));
		same_record(&got[i], &want);
	}
	CHECK(!to_take(&want, &t));
	to_end_poll();
}

static uint64_t some_now(void)
{
	switch (below(16)) {
	case 0:
	case 1:
	case 2:
	case 3:
		return to.now;
	case 4:
		return to.now - (to.now ? bits(below(run.range)) % to.now : 0);
	case 5:
		return later(to.now, bits(below(run.range + 1)));
	case 6:
		return below(2000) ? to.now : UINT64_MAX;
	case 7:
	case 8:
	case 9: /* at an expiry, or the tick before it */
		if (to.n_due) {
			uint64_t tick = to.due[below(to.n_due) / (1 + below(20))].expiry;

			return tick - (tick && below(2));
		}
		return to.now;
	default:
		return later(to.now, bits(below(run.range / 2 + 1)));
	}
}

/* Expiries to come up to this tick, as far as timers catch up with them. */
static void stop_floods(uint64_t now)
{
	for (uint32_t i = 0; i < to.slots; i++) {
		struct to_timer *t = &to.t[i];

		if (t->armed && t->period && t->policy == LIBFP_TIMER_CATCH_UP &&
		    t->expiry < now && (now - t->expiry) / t->period > FLOOD)
			do_cancel(i);
	}
}

static void do_poll(void)
{
	uint64_t now = some_now(), tick = TT_NO_TICK, first = UINT64_MAX;
	int rc;

	run.ops++;
	if (below(3) == 0) {
		poll_for_records(now, below(BULK * 4 + 1));
	} else {
		uint32_t max = below(3) ? TT_ALL : below(30);

		if (max == TT_ALL)
			stop_floods(now);
		poll_with_callbacks(now, max);
	}
	stop_floods(to.now);
	CHECK_EQ(fp_timer_wheel_count(to.w), to.n_due + to.n_waiting);
	if (to.n_due)
		first = to.due[0].expiry;
	for (uint32_t i = 0; i < to.n_waiting; i++)
		if (first > to.t[to.waiting[i]].expiry)
			first = to.t[to.waiting[i]].expiry;
	rc = fp_timer_wheel_next_expiry(to.w, &tick);
	CHECK(rc == 1 || rc == 0);
	CHECK(rc ? tick <= first || !(to.n_due + to.n_waiting) : first == UINT64_MAX);
}

/* ---- lives of wheels ---- */

static void begin_life(void)
{
	static const uint32_t ranges[] = { 4, 9, 12, 17, 24, 33, 48, 60 };
	fp_timer_wheel_opts opts = tt_opts(0, 0);

	memset(&to, 0, sizeof(to));
	to.slots = 1 + below(below(2) ? 100 : TO_SLOTS);
	run.range = ranges[below(FPT_LEN(ranges))];
	run.calm = below(4) == 0;
	run.crowded = below(2) ? 1 + below(4) : 0;
	run.meeting = 0;
	to.now = to.over = bits(below(64));
	opts.start_tick = to.now;
	opts.capacity = to.slots;
	opts.max_timers = to.slots + below(2) * below(100);
	opts.flags |= below(2) ? LIBFP_STATS : 0;
	to.w = tt_create(&opts);
	for (uint32_t i = 0; i < to.slots; i++)
		do_create(i);
}

static void end_life(void)
{
	fp_timer_wheel_stats st = tt_stats(to.w);

	do_look_at_all();
	CHECK_EQ(st.fired, to.fired);
	CHECK_EQ(st.overruns, to.overruns);
	CHECK_EQ(st.late_max, to.late_max);
	if (st.flags & LIBFP_WHEEL_STATS_COUNTED)
		CHECK_EQ(st.arms, to.arms);
	poll_with_callbacks(to.now, 0);
	do_cancel_all();
	poll_with_callbacks(UINT64_MAX, TT_ALL);
	CHECK_EQ(to.taken, 0);
	tt_end(to.w);
}

static void one_life(uint64_t ops)
{
	uint64_t until, over = 0;
	static const uint32_t one_in[] = { 5, 40, 500, 2000 };
	uint32_t polls;

	begin_life();
	polls = one_in[below(4)]; /* one call in so many is a poll */
	for (until = run.ops + ops; run.ops < until && over < 200;) {
		if (below(polls) == 0)
			do_poll();
		else
			do_something(below(to.slots));
		if (below(3000) == 0)
			do_look_at_all();
		if (below(5000) == 0)
			do_cancel_all();
		over += to.now > UINT64_MAX / 4 * 3; /* time ends */
	}
	end_life();
}

static void the_wheel_agrees_with_a_sorted_array(void)
{
	uint64_t seeds = FPT_SAMPLE ? 2 : 5;
	uint64_t ops = fpt_scale(FPT_SAMPLE ? 20000 : 100000, 10000000);
	uint64_t seed = fpt_seed();

	for (uint64_t s = 0; s < seeds; s++) {
		run.seed = fpt_random(&seed) | 1;
		for (run.ops = 0; run.ops < ops;) {
			fpt_where("seed %" PRIu64 " of the run, life from call %" PRIu64,
				  s, run.ops);
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
