/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What cancel and destroy say about a timer that is about to fire: one thread arms, waits
 * for a random moment, and asks; another polls. Each of the three answers is checked
 * against what really happened, and after destroy the memory that the callback uses is
 * scribbled over and freed as soon as the answer allows it. Rows T-19 and T-18 of the list
 * of field bugs.
 *
 * Callbacks use that memory plainly, so that sanitizers see an order that is missing.
 */
#include "timer_accounts.h"

#define ALIVE 0x600dull
#define DEAD 0xaa

/* What the `user` of a timer points to. */
struct box {
	uint64_t room[2]; /* where free() keeps its lists */
	uint64_t alive;
	uint64_t id;
	uint64_t begun; /* callbacks */
	uint32_t inside;
	uint32_t reserved;
};

/* No callback uses it any more. */
static void bury(struct box *box)
{
	CHECK(box->alive == ALIVE && !box->inside);
	memset(box, DEAD, sizeof(*box));
	free(box);
}

struct duel {
	fp_timer_wheel *w;
	uint64_t clock; /* atomic */
	int burst;
	int over;	  /* atomic */
	uint64_t records; /* of bursts; the poller's */
	uint64_t rounds;
	uint64_t seed;
	uint64_t outcome[3]; /* cancelled, fired, running: that all of them occur */
	struct ta_book book[2];
};

static void shot(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	struct box *box = user;

	(void)w;
	CHECK(box->alive == ALIVE && box->id == r->id && !box->inside);
	box->inside = 1;
	box->begun++;
	ta_saw(r);
	if (r->expiry_tick % 4 == 0)
		sched_yield();
	CHECK(box->alive == ALIVE && box->begun == 1);
	box->inside = 0;
}

static void *shoot(void *arg)
{
	struct duel *d = arg;

	ta_mine = &d->book[1];
	for (uint64_t i = 0; !__atomic_load_n(&d->over, __ATOMIC_ACQUIRE); i++) {
		uint64_t now = __atomic_add_fetch(&d->clock, 1, __ATOMIC_RELAXED);

		if (d->burst)
			ta_poll_burst(d->w, now);
		else
			ta_poll(d->w, now, LIBFP_WHEEL_NO_LIMIT);
		if (i % 16 == 0)
			sched_yield();
	}
	return NULL;
}

/* Arms, waits for a moment at which it may fire or not. */
static void aim(struct duel *d, uint64_t id)
{
	uint64_t now = __atomic_load_n(&d->clock, __ATOMIC_RELAXED);

	CHECK_EQ(ta_arm(d->w, id, now + (fpt_random(&d->seed) >> 20) % 4), 0);
	ta_moment(&d->seed, 400);
	if (fpt_random(&d->seed) >> 60 == 0)
		sched_yield();
}

static void a_duel(int burst, void (*round)(struct duel *), uint64_t rounds,
		   uint64_t *seed)
{
	struct duel d = { .burst = burst,
			  .rounds = rounds,
			  .seed = fpt_random(seed) | 1 };
	fp_timer_wheel_opts o = tt_opts(0, 64);
	struct ta_book sum = { 0 };
	pthread_t poller;

	fpt_where("burst %d", burst);
	o.flags |= LIBFP_STATS;
	d.w = tt_create(&o);
	ta_mine = &d.book[0];
	ta_start(&poller, shoot, &d);
	round(&d);
	__atomic_store_n(&d.over, 1, __ATOMIC_RELEASE);
	pthread_join(poller, NULL);
	ta_add(&sum, &d.book[0]);
	ta_add(&sum, &d.book[1]);
	CHECK_EQ(ta_settle(d.w, &sum), 0);
	/* Every arming was cancelled or fired, none both: nothing arms a second time. */
	CHECK_EQ(sum.arms, rounds);
	CHECK_EQ(sum.arms, sum.cancelled + sum.fired);
	CHECK_EQ(sum.cancelled, d.outcome[0]);
	ta_all_free(d.w, UINT64_MAX, 64);
	tt_end(d.w);
	printf("  %" PRIu64 " cancelled, %" PRIu64 " had fired, %" PRIu64
	       " fired just then\n",
	       d.outcome[0], d.outcome[1], d.outcome[2]);
}

static void cancel_each(struct duel *d)
{
	struct box box = { .alive = ALIVE };

	box.id = tt_timer_fn(d->w, shot, (uintptr_t)&box);
	for (uint64_t i = 0; i < d->rounds; i++) {
		int rc;

		box.begun = 0;
		aim(d, box.id);
		rc = ta_cancel(d->w, box.id);
		d->outcome[rc == 1 ? 0 : rc == 0 ? 1 : 2]++;
		if (rc == -EINPROGRESS) {
			CHECK(!d->burst);
			CHECK_EQ(ta_cancel_sync(d->w, box.id, LIBFP_FOREVER), 0);
		}
		/* Of a burst the poller has the record, but may not have counted it yet. */
		if (!d->burst)
			CHECK_EQ(box.begun, rc == 1 ? 0 : 1);
		CHECK_EQ(box.inside, 0);
	}
	CHECK(ta_destroy(d->w, box.id) >= 0);
}

static void cancel_says_what_comes(void) /* T-19 */
{
	uint64_t seed = fpt_seed();

	for (int burst = 0; burst < 2; burst++)
		a_duel(burst, cancel_each, fpt_scale(FPT_SAMPLE ? 6000 : 30000, 10000000),
		       &seed);
}

static void destroy_each(struct duel *d)
{
	for (uint64_t i = 0; i < d->rounds; i++) {
		struct box *box = calloc(1, sizeof(*box));
		int rc;

		CHECK(box != NULL);
		while ((rc = fp_timer_create(d->w, shot, box, &box->id)) == -ENOMEM)
			sched_yield(); /* until a poll recycles some */
		CHECK_EQ(rc, 0);
		box->alive = ALIVE;
		aim(d, box->id);
		rc = ta_destroy(d->w, box->id);
		d->outcome[rc == 1 ? 0 : rc == 0 ? 1 : 2]++;
		if (rc == -EINPROGRESS)
			CHECK_EQ(ta_cancel_sync(d->w, box->id, LIBFP_FOREVER), -ESTALE);
		if (!d->burst)
			CHECK_EQ(box->begun, rc == 1 ? 0 : 1);
		CHECK_EQ(fp_timer_arm(d->w, box->id, 0), -ESTALE);
		bury(box);
	}
}

static void destroy_beside_expiry_tells_when_to_free(void) /* T-18 */
{
	uint64_t seed = fpt_seed();

	for (int burst = 0; burst < 2; burst++)
		a_duel(burst, destroy_each,
		       fpt_scale(FPT_SAMPLE ? 6000 : 30000, 10000000), &seed);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(cancel_says_what_comes),
		FPT_CASE(destroy_beside_expiry_tells_when_to_free),
	};
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
