/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Self-test of the explorer: the classic litmus shapes, each with the outcome
 * that C11 allows or forbids.
 */
#include "explorer.h"

#include <stdio.h>
#include <string.h>

static uint64_t x, y, z;
static uint64_t r[4];
static uint32_t d;
static enum ex_order store_order, load_order, fence_order;
static int hit;
static int (*outcome)(void);

#define LOAD(p, o) ex_load(&(p), sizeof(p), o, #p)
#define STORE(p, v, o) ex_store(&(p), sizeof(p), v, o, #p)
#define ADD(p, v, o) ex_rmw(&(p), sizeof(p), EX_ADD, v, o, #p)

static void setup(void)
{
	x = y = z = d = 0;
	memset(r, 0, sizeof(r));
}

static void finish(void)
{
	if (outcome && outcome())
		hit = 1;
}

/* message passing: x, then y; read y, then x */
static void mp(int t)
{
	if (t == 0) {
		STORE(x, 1, EX_RELAXED);
		STORE(y, 1, store_order);
	} else {
		r[0] = LOAD(y, load_order);
		r[1] = LOAD(x, EX_RELAXED);
	}
}

static void mp_fences(int t)
{
	if (t == 0) {
		STORE(x, 1, EX_RELAXED);
		ex_fence(EX_RELEASE);
		STORE(y, 1, EX_RELAXED);
	} else {
		r[0] = LOAD(y, EX_RELAXED);
		ex_fence(fence_order);
		r[1] = LOAD(x, EX_RELAXED);
	}
}

static int first_not_second(void)
{
	return r[0] == 1 && r[1] == 0;
}

/* store buffering */
static void sb(int t)
{
	if (t == 0) {
		STORE(x, 1, store_order);
		ex_fence(fence_order);
		r[0] = LOAD(y, load_order);
	} else {
		STORE(y, 1, store_order);
		ex_fence(fence_order);
		r[1] = LOAD(x, load_order);
	}
}

static int both_zero(void)
{
	return r[0] == 0 && r[1] == 0;
}

/* load buffering */
static void lb(int t)
{
	if (t == 0) {
		r[0] = LOAD(x, EX_RELAXED);
		STORE(y, 1, EX_RELAXED);
	} else {
		r[1] = LOAD(y, EX_RELAXED);
		STORE(x, 1, EX_RELAXED);
	}
}

static int both_one(void)
{
	return r[0] == 1 && r[1] == 1;
}

/* independent reads of independent writes */
static void iriw(int t)
{
	switch (t) {
	case 0:
		STORE(x, 1, store_order);
		break;
	case 1:
		STORE(y, 1, store_order);
		break;
	case 2:
		r[0] = LOAD(x, load_order);
		ex_fence(fence_order);
		r[1] = LOAD(y, load_order);
		break;
	case 3:
		r[2] = LOAD(y, load_order);
		ex_fence(fence_order);
		r[3] = LOAD(x, load_order);
		break;
	}
}

static int disagree(void)
{
	return r[0] == 1 && !r[1] && r[2] == 1 && !r[3];
}

/* coherence: two loads of one location */
static void corr(int t)
{
	if (t == 0) {
		STORE(x, 1, EX_RELAXED);
	} else {
		r[0] = LOAD(x, EX_RELAXED);
		r[1] = LOAD(x, EX_RELAXED);
	}
}

/* write to read causality */
static void wrc(int t)
{
	switch (t) {
	case 0:
		STORE(x, 1, EX_RELAXED);
		break;
	case 1:
		r[2] = LOAD(x, EX_ACQUIRE);
		STORE(y, 1, store_order);
		break;
	case 2:
		r[0] = LOAD(y, EX_ACQUIRE);
		r[1] = LOAD(x, EX_RELAXED);
		break;
	}
}

static void wrc_release(int t)
{
	if (t == 0)
		STORE(x, 1, EX_RELEASE);
	else
		wrc(t);
}

static int causality_lost(void)
{
	return r[2] == 1 && r[0] == 1 && r[1] == 0;
}

static void adders(int t)
{
	r[t] = ADD(x, 1, EX_RELAXED);
}

static int same(void)
{
	return r[0] == r[1];
}

static void cas_once(int t)
{
	uint64_t zero = 0;

	r[t] = (uint64_t)ex_cas(&x, sizeof(x), &zero, (uint64_t)t + 1, EX_RELAXED, "x");
	if (!r[t])
		EX_CHECK(zero != 0);
}

/* Plain write, release store of 1; `middle` makes it 2; acquire load of 2, read. */
static void write_plain(void)
{
	ex_plain(&d, sizeof(d), 1, "d");
	d = 1;
}

static void sequence_rmw(int t)
{
	switch (t) {
	case 0:
		write_plain();
		STORE(x, 1, EX_RELEASE);
		break;
	case 1:
		ADD(x, 1, EX_RELAXED);
		break;
	case 2:
		if (LOAD(x, EX_ACQUIRE) == 2)
			ex_plain(&d, sizeof(d), 0, "d");
		break;
	}
}

static void sequence_store(int t)
{
	if (t == 1) {
		if (LOAD(x, EX_RELAXED) == 1)
			STORE(x, 2, EX_RELEASE);
	} else {
		sequence_rmw(t);
	}
}

static void guarded_read(int t)
{
	if (t == 0) {
		write_plain();
		STORE(x, 1, EX_RELEASE);
	} else if (LOAD(x, EX_RELAXED) == 1) {
		ex_fence(fence_order);
		ex_plain(&d, sizeof(d), 0, "d");
	}
}

/* The writer must not overtake the reader either. */
static void reader_first(int t)
{
	if (t == 0) {
		ex_plain(&d, sizeof(d), 0, "d");
		STORE(x, 1, store_order);
	} else if (LOAD(x, EX_ACQUIRE) == 1) {
		write_plain();
	}
}

/* A release fence covers what is before it only. */
static void fence_too_early(int t)
{
	if (t == 0) {
		ex_fence(fence_order);
		write_plain();
		STORE(x, 1, EX_RELAXED);
	} else if (LOAD(x, EX_ACQUIRE) == 1) {
		ex_plain(&d, sizeof(d), 0, "d");
	}
}

/* Two seq_cst fences in a row order memory, but do not synchronise. */
static void fences_alone(int t)
{
	if (t == 0) {
		write_plain();
		STORE(x, 1, EX_RELAXED);
		ex_fence(EX_SEQ_CST);
		r[0] = LOAD(y, EX_RELAXED);
	} else {
		STORE(y, 1, EX_RELAXED);
		ex_fence(EX_SEQ_CST);
		if (LOAD(x, EX_RELAXED) == 1)
			ex_plain(&d, sizeof(d), 0, "d");
	}
}

static void await_flag(int t)
{
	if (t == 0) {
		write_plain();
		STORE(x, 1, store_order);
	} else {
		ex_await(&x, sizeof(x), 1, EX_ACQUIRE, "x");
		ex_plain(&d, sizeof(d), 0, "d");
	}
}

static void await_nobody(int t)
{
	if (t == 0)
		LOAD(x, EX_RELAXED);
	else
		ex_await(&x, sizeof(x), 1, EX_RELAXED, "x");
}

/* Who takes the lock sees what the one before did. */
static void lock_by_waiting(int t)
{
	(void)t;
	ex_cas_wait(&x, sizeof(x), 0, 1, load_order, "x");
	write_plain();
	STORE(x, 0, store_order);
}

static void lock_not_given_back(int t)
{
	(void)t;
	ex_cas_wait(&x, sizeof(x), 0, 1, EX_ACQUIRE, "x");
}

/* The waker writes, then calls: nobody sleeps for ever. The other order is wrong. */
static void futex_after_store(int t)
{
	if (t == 0) {
		STORE(x, 1, EX_RELAXED);
		ex_futex_wake(&x, sizeof(x), 1, "x");
	} else {
		ex_futex_wait(&x, sizeof(x), 0, "x");
	}
}

static void futex_before_store(int t)
{
	if (t == 0) {
		ex_futex_wake(&x, sizeof(x), 1, "x");
		STORE(x, 1, EX_RELAXED);
	} else {
		ex_futex_wait(&x, sizeof(x), 0, "x");
	}
}

/* store buffering, one side with a membarrier for both, the other one with nothing */
static void sb_membarrier(int t)
{
	if (t == 0) {
		STORE(x, 1, EX_RELAXED);
		ex_membarrier();
		r[0] = LOAD(y, EX_RELAXED);
	} else if (t == 1) {
		STORE(y, 1, EX_RELAXED);
		r[1] = LOAD(x, EX_RELAXED);
	}
}

static void sb_membarrier_too_early(int t)
{
	if (t == 0) {
		ex_membarrier();
		STORE(x, 1, EX_RELAXED);
		r[0] = LOAD(y, EX_RELAXED);
	} else {
		sb_membarrier(t);
	}
}

static void mp_membarrier(int t)
{
	if (t == 0) {
		STORE(x, 1, EX_RELAXED);
		STORE(y, 1, EX_RELAXED);
	} else {
		r[0] = LOAD(y, EX_RELAXED);
		ex_membarrier();
		r[1] = LOAD(x, EX_RELAXED);
	}
}

/*
 * Store buffering in a ring of three. The membarrier reaches thread 1 before its store,
 * and thread 2 after its load: not at the same moment.
 */
static void sb_three(int t)
{
	if (t == 0) {
		STORE(x, 1, EX_RELAXED);
		ex_membarrier();
		r[0] = LOAD(y, EX_RELAXED);
	} else if (t == 1) {
		STORE(y, 1, EX_RELAXED);
		r[1] = LOAD(z, EX_RELAXED);
	} else {
		STORE(z, 1, EX_RELAXED);
		r[2] = LOAD(x, EX_RELAXED);
	}
}

static int all_zero(void)
{
	return both_zero() && r[2] == 0;
}

/* A wake is for those that have the bit. */
static uint32_t wake_bits;

static void futex_bits(int t)
{
	if (t == 0) {
		STORE(x, 1, EX_RELAXED);
		ex_futex_wake_bits(&x, sizeof(x), wake_bits, "x");
	} else {
		ex_futex_wait_bits(&x, sizeof(x), 0, 2, 0, "x");
	}
}

/* Two locations, two additions each: as many executions as orders of them. */
static void two_pairs(int t)
{
	if (t < 2)
		ADD(x, 1, EX_RELAXED);
	else
		ADD(y, 1, EX_RELAXED);
}

static int wrong;

static void expect(const char *name, int seen, int wanted)
{
	printf("%-48s %s%s\n", name, seen ? "seen" : "never",
	       seen == wanted ? "" : "   <- WRONG");
	wrong += seen != wanted;
}

static struct ex_result res;

static int explored(int threads, void (*thread)(int))
{
	struct ex_test test = { .name = "litmus",
				.threads = threads,
				.setup = setup,
				.thread = thread,
				.finish = finish };

	hit = 0;
	return ex_explore(&test, EX_NO_LIMIT, &res);
}

static int seen(int threads, void (*thread)(int), int (*pred)(void))
{
	outcome = pred;
	explored(threads, thread);
	outcome = NULL;
	return hit;
}

int main(void)
{
	store_order = load_order = fence_order = EX_RELAXED;
	expect("message passing, relaxed", seen(2, mp, first_not_second), 1);
	store_order = EX_RELEASE;
	expect("message passing, release, relaxed", seen(2, mp, first_not_second), 1);
	load_order = EX_ACQUIRE;
	expect("message passing, release, acquire", seen(2, mp, first_not_second), 0);
	expect("message passing, release fence, no fence",
	       seen(2, mp_fences, first_not_second), 1);
	fence_order = EX_ACQUIRE;
	expect("message passing, two fences", seen(2, mp_fences, first_not_second), 0);

	fence_order = EX_RELAXED;
	expect("store buffering, release, acquire", seen(2, sb, both_zero), 1);
	fence_order = EX_ACQ_REL;
	expect("store buffering, acq_rel fences", seen(2, sb, both_zero), 1);
	fence_order = EX_SEQ_CST;
	expect("store buffering, seq_cst fences", seen(2, sb, both_zero), 0);
	fence_order = EX_RELAXED;
	store_order = load_order = EX_SEQ_CST;
	expect("store buffering, seq_cst accesses", seen(2, sb, both_zero), 0);

	load_order = EX_ACQUIRE;
	expect("store buffering, only stores seq_cst", seen(2, sb, both_zero), 1);
	store_order = EX_RELEASE;
	load_order = EX_SEQ_CST;
	expect("store buffering, only loads seq_cst", seen(2, sb, both_zero), 1);

	expect("load buffering (outside the model)", seen(2, lb, both_one), 0);

	expect("independent reads, only loads seq_cst", seen(4, iriw, disagree), 1);
	store_order = EX_SEQ_CST;
	expect("independent reads, seq_cst", seen(4, iriw, disagree), 0);
	store_order = EX_RELEASE;
	load_order = EX_ACQUIRE;
	expect("independent reads, release, acquire", seen(4, iriw, disagree), 1);
	load_order = EX_RELAXED;
	fence_order = EX_SEQ_CST;
	expect("independent reads, seq_cst fences", seen(4, iriw, disagree), 0);

	expect("coherence of two loads", seen(2, corr, first_not_second), 0);

	store_order = EX_RELAXED;
	expect("causality, middle store relaxed", seen(3, wrc_release, causality_lost),
	       1);
	store_order = EX_RELEASE;
	expect("causality, first store relaxed", seen(3, wrc, causality_lost), 0);
	expect("causality, all release", seen(3, wrc_release, causality_lost), 0);

	expect("two additions with one result", seen(2, adders, same), 0);
	expect("two compare-and-swaps both win or lose", seen(2, cas_once, same), 0);

	expect("race: release sequence of a rmw", explored(3, sequence_rmw), 0);
	expect("race: another thread's store ends it", explored(3, sequence_store), 1);
	fence_order = EX_RELAXED;
	expect("race: relaxed load", explored(2, guarded_read), 1);
	fence_order = EX_ACQUIRE;
	expect("race: relaxed load, acquire fence", explored(2, guarded_read), 0);
	expect("race: write after read, release", explored(2, reader_first), 0);
	store_order = EX_RELAXED;
	expect("race: write after read, relaxed", explored(2, reader_first), 1);
	fence_order = EX_RELEASE;
	expect("race: write after the release fence", explored(2, fence_too_early), 1);
	fence_order = EX_SEQ_CST;
	expect("race: write after the seq_cst fence", explored(2, fence_too_early), 1);
	expect("race: two seq_cst fences, relaxed accesses", explored(2, fences_alone),
	       1);
	expect("race: await of a relaxed store", explored(2, await_flag), 1);
	store_order = EX_RELEASE;
	expect("race: await of a release store", explored(2, await_flag), 0);
	expect("deadlock: await of nothing", explored(2, await_nobody), 1);

	load_order = EX_ACQUIRE;
	expect("race: a lock, acquire, release", explored(3, lock_by_waiting), 0);
	load_order = EX_RELAXED;
	expect("race: a lock, relaxed, release", explored(3, lock_by_waiting), 1);
	expect("deadlock: a lock not given back", explored(2, lock_not_given_back), 1);
	expect("deadlock: wake after the store", explored(2, futex_after_store), 0);
	expect("deadlock: wake before the store", explored(2, futex_before_store), 1);
	wake_bits = 3;
	expect("deadlock: wake with the bit", explored(2, futex_bits), 0);
	wake_bits = 1;
	expect("deadlock: wake without the bit", explored(2, futex_bits), 1);

	expect("store buffering, membarrier", seen(2, sb_membarrier, both_zero), 0);
	expect("store buffering, membarrier, and a bystander",
	       seen(3, sb_membarrier, both_zero), 0);
	expect("store buffering, membarrier before the store",
	       seen(2, sb_membarrier_too_early, both_zero), 1);
	expect("message passing, membarrier of the reader",
	       seen(2, mp_membarrier, first_not_second), 0);
	expect("store buffering of three, one membarrier", seen(3, sb_three, all_zero),
	       1);

	expect("pairs of adders: failure", explored(4, two_pairs), 0);
	expect("pairs of adders: 2 x 2 executions", res.complete == 4, 1);

	if (wrong)
		printf("%d wrong\n", wrong);
	return wrong != 0;
}
