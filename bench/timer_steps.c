/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer_steps.c - what one thread pays for each of n timers, and the memory that these
 * take.
 *
 * A repetition arms all timers, arms them again in another order for other times, puts
 * them off, touches, cancels; then comes what ours has of bulk calls; then polls that fire
 * all of them. Each step is timed as a whole. The contestants take turns.
 *
 * Timers expire uniformly within a second, 40 s ahead. They are armed in the order in
 * which they lie in memory, and everything else takes them in a random order.
 *
 * They expire in one poll, right after they were armed ("warm"), and once more after the
 * core has read memory that has nothing to do with them ("cold"): time has to go by before
 * a timer expires, and the caches are seldom left alone meanwhile.
 *
 * Ours leaves a part of the work to polls: an entry that was cancelled is dropped, and
 * one that was put off is moved, when time comes to it. These polls have a row too.
 */
#include "partner.h"
#include "timer_contestant.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CONTESTANTS_MAX 5
#define VALUES_MAX 64
#define OTHER_WORK ((size_t)64 << 20)

/* Of so many timers a step is long, and counts in CPU time, with all contestants: it may
 * be descheduled now and then, each SWITCH_NS. A shorter one must not be. */
#define LONG_FROM 100000u
#define SWITCH_NS 10000000u

#define MEMORY_FROM 10000u /* fewer are lost among pages */

static const struct size {
	uint32_t n;
	unsigned rounds; /* turns of each */
	unsigned warm;	 /* repetitions of a turn before the one that counts */
	unsigned ours;	 /* repetitions of a turn that count, of ours; of others 1 */
} sizes[] = {
	{ 1000, 40, 1, 1 },
	{ 10000, 24, 1, 1 },
	{ 100000, 5, 0, 3 },
	{ 1000000, 1, 0, 3 },
};

static const struct {
	const char *row, *mode;
	uint32_t burst;
} rows[TIMER_STEPS] = {
	[TIMER_ARM] = { "timer_arm", "call", 1 },
	[TIMER_REARM] = { "timer_rearm", "call", 1 },
	[TIMER_PUT_OFF] = { "timer_later", "call", 1 },
	[TIMER_TOUCH] = { "timer_touch", "call", 1 },
	[TIMER_CANCEL] = { "timer_cancel", "call", 1 },
	[TIMER_DROP_CANCELLED] = { "timer_passed", "cancelled", 1 },
	[TIMER_BULK_ARM] = { "timer_arm", "bulk", TIMER_BURST },
	[TIMER_BULK_REARM] = { "timer_rearm", "bulk", TIMER_BURST },
	[TIMER_BULK_TOUCH] = { "timer_touch", "bulk", TIMER_BURST },
	[TIMER_MOVE_TOUCHED] = { "timer_passed", "put off", 1 },
	[TIMER_BULK_CANCEL] = { "timer_cancel", "bulk", TIMER_BURST },
	[TIMER_EXPIRE] = { "timer_expire", "warm", 1 },
	[TIMER_EXPIRE_COLD] = { "timer_expire", "cold", 1 },
	[TIMER_EXPIRE_BURST] = { "timer_expire", "poll_burst", TIMER_BURST },
	[TIMER_HOLD] = { "timer_hold", "poll", 1 },
};

/* The orders and times of all contestants of a size. */
static struct {
	uint32_t n;
	uint32_t *in_memory, *shuffled, *again;
	uint32_t *us, *other_us;
} plans;

struct turn {
	const struct timer_contestant *contestant;
	struct timer_set set;
	int wanted[TIMER_STEPS];
	int counts; /* this repetition */
	unsigned n[TIMER_STEPS];
	float values[TIMER_STEPS][VALUES_MAX];
};

static uint32_t *make_order(uint32_t n, uint64_t *seed)
{
	uint32_t *order = timer_alloc(n * sizeof(*order));

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n; seed && i > 1; i--) {
		uint32_t at = timer_random_below(seed, i), t = order[at];

		order[at] = order[i - 1];
		order[i - 1] = t;
	}
	return order;
}

static uint32_t *make_times(uint32_t n, uint64_t *seed)
{
	uint32_t *us = timer_alloc(n * sizeof(*us));

	for (uint32_t i = 0; i < n; i++)
		us[i] = timer_random_below(seed, TIMER_SPREAD_US);
	return us;
}

static void make_plans(struct bench *b, uint32_t n)
{
	uint64_t seed = 88172645463325252u + bench_process(b);

	plans.n = n;
	plans.in_memory = make_order(n, NULL);
	plans.shuffled = make_order(n, &seed);
	plans.again = make_order(n, &seed);
	plans.us = make_times(n, &seed);
	plans.other_us = make_times(n, &seed);
}

static void free_plans(void)
{
	free(plans.in_memory);
	free(plans.shuffled);
	free(plans.again);
	free(plans.us);
	free(plans.other_us);
}

static void open_set(struct timer_set *set, uint32_t n)
{
	memset(set, 0, sizeof(*set));
	set->n = n;
	set->ids = timer_alloc(n * sizeof(uint64_t));
	set->handles = timer_alloc(n * sizeof(uint64_t));
	set->expiries = timer_alloc(n * sizeof(uint64_t));
	set->us = plans.other_us;
}

static void close_set(struct timer_set *set)
{
	free(set->ids);
	free(set->handles);
	free(set->expiries);
}

static uint64_t clock_ns(uint32_t n)
{
	struct timespec t;

	if (n < LONG_FROM)
		return bench_now_ns();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Other work: reads more than the caches hold. */
static void use_caches(void)
{
	static uint64_t *memory;
	volatile uint64_t sum = 0;

	if (!memory)
		memory = memset(timer_alloc(OTHER_WORK), 1, OTHER_WORK);
	for (size_t i = 0; i < OTHER_WORK / sizeof(*memory); i += 64 / sizeof(*memory))
		sum += memory[i];
	(void)sum;
}

/* ---- a repetition ---- */

static void step(struct turn *t, enum timer_step what)
{
	timer_run *run = t->contestant->steps[what];
	uint32_t n = t->set.n;
	long switches = partner_switches();
	uint64_t begin = clock_ns(n), ns;

	run(&t->set);
	ns = clock_ns(n) - begin;
	if (!t->counts || t->n[what] == VALUES_MAX)
		return;
	switches = partner_switches() - switches;
	if ((uint64_t)switches <= (n < LONG_FROM ? 0 : ns / SWITCH_NS))
		t->values[what][t->n[what]++] = (float)ns / (float)n;
}

/* A step that its row alone needs. */
static void planned(struct turn *t, enum timer_step what, const uint32_t *order,
		    const uint32_t *us, enum timer_when when)
{
	const struct timer_plan plan = { order, us, when };

	if (!t->wanted[what])
		return;
	t->contestant->load(&t->set, &plan);
	step(t, what);
}

static void arm_all(struct turn *t, enum timer_when when, enum timer_step what)
{
	const struct timer_plan plan = { plans.in_memory, plans.us, when };

	t->contestant->load(&t->set, &plan);
	step(t, what);
}

static void cancel_all(struct turn *t, enum timer_step what)
{
	const struct timer_plan plan = { plans.again, plans.us, TIMER_AHEAD };

	t->contestant->load(&t->set, &plan);
	step(t, what);
	if (t->contestant->steps[TIMER_DROP_CANCELLED])
		step(t, TIMER_DROP_CANCELLED);
}

static int any(const struct turn *t, enum timer_step first, enum timer_step last)
{
	for (; first <= last; first++)
		if (t->wanted[first])
			return 1;
	return 0;
}

static void fire_all(struct turn *t, enum timer_step what)
{
	const struct timer_plan plan = { plans.in_memory, plans.us, TIMER_DUE };
	const struct timer_contestant *c = t->contestant;

	if (!t->wanted[what])
		return;
	c->load(&t->set, &plan);
	c->steps[TIMER_ARM](&t->set);
	if (c->rest)
		c->rest(&t->set);
	if (what == TIMER_EXPIRE_COLD)
		use_caches();
	t->set.fired = 0;
	step(t, what);
	if (t->set.fired != t->set.n) {
		fprintf(stderr, "bench: %s fired %llu of %u timers\n", c->who,
			(unsigned long long)t->set.fired, t->set.n);
		exit(2);
	}
	if (what != TIMER_HOLD)
		return;
	c->load(&t->set, &plan);
	c->steps[TIMER_CANCEL](&t->set);
	if (c->steps[TIMER_DROP_CANCELLED])
		c->steps[TIMER_DROP_CANCELLED](&t->set);
}

static void repeat(struct turn *t)
{
	if (any(t, TIMER_ARM, TIMER_DROP_CANCELLED)) {
		arm_all(t, TIMER_AHEAD, TIMER_ARM);
		planned(t, TIMER_REARM, plans.shuffled, plans.other_us, TIMER_AHEAD);
		planned(t, TIMER_PUT_OFF, plans.again, plans.other_us, TIMER_LATER);
		planned(t, TIMER_TOUCH, plans.shuffled, plans.other_us, TIMER_LATEST);
		cancel_all(t, TIMER_CANCEL);
	}
	if (any(t, TIMER_BULK_ARM, TIMER_BULK_CANCEL)) {
		arm_all(t, TIMER_AHEAD, TIMER_BULK_ARM);
		planned(t, TIMER_BULK_REARM, plans.shuffled, plans.other_us, TIMER_AHEAD);
		planned(t, TIMER_BULK_TOUCH, plans.again, plans.other_us, TIMER_LATEST);
		if (t->wanted[TIMER_MOVE_TOUCHED] && t->wanted[TIMER_BULK_TOUCH])
			step(t, TIMER_MOVE_TOUCHED);
		cancel_all(t, TIMER_BULK_CANCEL);
	}
	fire_all(t, TIMER_EXPIRE);
	fire_all(t, TIMER_EXPIRE_COLD);
	fire_all(t, TIMER_EXPIRE_BURST);
	fire_all(t, TIMER_HOLD);
}

/* ---- turns ---- */

static int open_turn(struct bench *b, struct turn *t, const struct timer_contestant *c,
		     uint32_t n)
{
	int wanted = 0;

	memset(t, 0, sizeof(*t));
	t->contestant = c;
	for (unsigned s = 0; s < TIMER_STEPS; s++) {
		t->wanted[s] = c->steps[s] && bench_wanted(b, rows[s].row, rows[s].mode,
							   rows[s].burst, n, 0);
		wanted |= t->wanted[s];
	}
	if (!wanted || n > c->most)
		return 0;
	open_set(&t->set, n);
	if (c->open(&t->set))
		return 1;
	close_set(&t->set);
	return 0;
}

static void close_turn(struct bench *b, struct turn *t)
{
	for (unsigned s = 0; s < TIMER_STEPS; s++) {
		struct bench_case c = { .row = rows[s].row,
					.mode = rows[s].mode,
					.who = t->contestant->who,
					.unit = "ns",
					.burst = rows[s].burst,
					.capacity = t->set.n };

		if (t->wanted[s])
			bench_samples(b, &c, t->values[s], t->n[s]);
	}
	t->contestant->close(&t->set);
	close_set(&t->set);
}

static void take_turns(struct bench *b, const struct size *size,
		       const struct timer_contestant *const *contestants, unsigned n)
{
	static struct turn turns[CONTESTANTS_MAX];
	unsigned rounds = (unsigned)(size->rounds * bench_scale(b) + 0.5), open = 0;

	rounds = rounds < 1 ? 1 : rounds > VALUES_MAX ? VALUES_MAX : rounds;
	make_plans(b, size->n);
	for (unsigned i = 0; i < n; i++)
		open += (unsigned)open_turn(b, &turns[open], contestants[i], size->n);
	for (unsigned r = 0; r < rounds * open; r++) {
		struct turn *t = &turns[(r + r / open) % open];
		unsigned count = t->contestant == &timer_fp ? size->ours : 1;

		if (t->contestant->every && r / open % t->contestant->every)
			continue;
		bench_progress(b, "timers, one thread", (double)r / (rounds * open));
		for (unsigned i = 0; i < size->warm + count; i++) {
			t->counts = i >= size->warm;
			repeat(t);
		}
	}
	while (open)
		close_turn(b, &turns[--open]);
	free_plans();
}

void timer_steps(struct bench *b, const struct timer_contestant *const *contestants,
		 unsigned n)
{
	bench_pin(bench_cpu(b, 0));
	for (unsigned i = 0; i < LEN(sizes); i++)
		take_turns(b, &sizes[i], contestants, n);
	bench_unpin(b);
}

/* ---- memory ---- */

/* Bytes of the process that are in memory; exact, other than those of statm. */
static double resident(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	unsigned long kb = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Rss: %lu kB", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return 1024.0 * (double)kb;
}

/* Armed once, ahead. The bench's own arrays have been touched before. */
static void one_memory(struct bench *b, const struct timer_contestant *c, uint32_t n)
{
	const struct timer_plan plan = { plans.in_memory, plans.us, TIMER_AHEAD };
	struct timer_set set;
	double before;
	char who[64];

	open_set(&set, n);
	memset(set.ids, 1, n * sizeof(uint64_t));
	memset(set.handles, 1, n * sizeof(uint64_t));
	memset(set.expiries, 1, n * sizeof(uint64_t));
	before = resident();
	if (c->open(&set)) {
		c->load(&set, &plan);
		c->steps[TIMER_ARM](&set);
		snprintf(who, sizeof(who), "%s, %u", c->who, n);
		bench_figure(b, "timer_memory", who, "B", (resident() - before) / n);
		if (c->reserved)
			bench_figure(b, "timer_reserved", who, "B",
				     (double)c->reserved(&set) / n);
		c->steps[TIMER_CANCEL](&set);
		c->close(&set);
	}
	close_set(&set);
}

void timer_memory(struct bench *b, const struct timer_contestant *const *contestants,
		  unsigned n)
{
	for (unsigned i = 0; i < LEN(sizes); i++) {
		if (sizes[i].n < MEMORY_FROM ||
		    !bench_wanted(b, "timer_memory", "touched", 1, sizes[i].n, 0))
			continue;
		make_plans(b, sizes[i].n);
		for (unsigned c = 0; c < n; c++)
			if (contestants[c] != &timer_timerfd) /* the kernel's memory */
				one_memory(b, contestants[c], sizes[i].n);
		free_plans();
	}
}
