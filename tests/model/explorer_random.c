/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Self-test of the explorer's search: random little programs, explored with and
 * without pruning, must have the same outcomes (all registers and the final
 * memory), or be racy both ways.
 */
#include "explorer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define MAX_OPS 4
#define LOCATIONS 3
#define OUTCOMES 4096
#define PROGRAM_MAX 50000 /* executions; a program that has more is left out */

enum kind { LOAD, STORE, CAS, ADD, SWAP, FENCE, READ, WRITE, BARRIER, WAIT, WAKE };

struct op {
	enum kind kind;
	int loc;
	enum ex_order order;
	uint64_t value;
};

static struct op program[EX_THREADS][MAX_OPS];
static int threads, ops[EX_THREADS];
static uint64_t memory[LOCATIONS];
static uint32_t plain;
static uint64_t registers[EX_THREADS][MAX_OPS];

static uint64_t outcomes[2][OUTCOMES]; /* hashes */
static int n_outcomes[2], pruning;

static void setup(void)
{
	memset(memory, 0, sizeof(memory));
	memset(registers, 0, sizeof(registers));
}

static void thread(int t)
{
	for (int i = 0; i < ops[t]; i++) {
		const struct op *o = &program[t][i];
		uint64_t *p = &memory[o->loc], *r = &registers[t][i];

		switch (o->kind) {
		case LOAD:
			*r = ex_load(p, 8, o->order, "x");
			break;
		case STORE:
			ex_store(p, 8, o->value, o->order, "x");
			break;
		case CAS:
			*r = o->value - 1;
			*r += 10 * (uint64_t)ex_cas(p, 8, r, o->value, o->order, "x");
			break;
		case ADD:
		case SWAP:
			*r = ex_rmw(p, 8, o->kind == ADD ? EX_ADD : EX_SWAP, o->value,
				    o->order, "x");
			break;
		case FENCE:
			ex_fence(o->order);
			break;
		case READ:
		case WRITE:
			/* after having seen something, so that not all are racy */
			if (i > 0 && registers[t][i - 1])
				ex_plain(&plain, 4, o->kind == WRITE, "plain");
			break;
		case BARRIER:
			ex_membarrier();
			break;
		case WAIT: /* with or without a deadline, for some wakes or for all */
			*r = 1 +
			     (uint64_t)ex_futex_wait_bits(p, 8, o->value - 1,
							  o->order == EX_ACQUIRE ? 1 : 3,
							  o->order == EX_RELAXED, "x");
			break;
		case WAKE:
			if (o->order == EX_RELEASE)
				ex_futex_wake_bits(p, 8, (uint32_t)o->value, "x");
			else
				ex_futex_wake(p, 8, (uint32_t)o->value, "x");
			break;
		}
	}
}

static void record(uint64_t hash)
{
	int w = pruning;

	for (int i = 0; i < LOCATIONS; i++)
		hash = (hash ^ memory[i]) * 0x100000001b3ull + (hash >> 29);
	for (int t = 0; t < threads; t++)
		for (int i = 0; i < ops[t]; i++)
			hash = (hash ^ registers[t][i]) * 0x100000001b3ull + (hash >> 29);
	for (int i = 0; i < n_outcomes[w]; i++)
		if (outcomes[w][i] == hash)
			return;
	CHECK(n_outcomes[w] < OUTCOMES);
	outcomes[w][n_outcomes[w]++] = hash;
}

static void finish(void)
{
	record(0xcbf29ce484222325ull);
}

/* Who sleeps for ever has no register for it. */
static int stuck(void)
{
	record(0x9e3779b97f4a7c15ull);
	return 1;
}

static enum ex_order random_order(uint64_t *rng, enum kind kind)
{
	static const enum ex_order loads[] = { EX_RELAXED, EX_ACQUIRE, EX_SEQ_CST };
	static const enum ex_order stores[] = { EX_RELAXED, EX_RELEASE, EX_SEQ_CST };

	if (kind == LOAD)
		return loads[fpt_random(rng) % 3];
	if (kind == STORE)
		return stores[fpt_random(rng) % 3];
	return (enum ex_order)(fpt_random(rng) % 5);
}

static const enum kind memory_kinds[] = {
	LOAD, STORE, CAS, ADD, SWAP, FENCE, READ, WRITE
};
static const enum kind kernel_kinds[] = { LOAD,	 LOAD,	  STORE, STORE, ADD,
					  FENCE, BARRIER, WAIT,	 WAKE };

static void make_program(uint64_t *rng, const enum kind *kinds, size_t n_kinds)
{
	threads = 2 + (int)(fpt_random(rng) % 2);
	for (int t = 0; t < threads; t++) {
		ops[t] = 2 + (int)(fpt_random(rng) % (threads == 2 ? 3 : 2));
		for (int i = 0; i < ops[t]; i++) {
			struct op *o = &program[t][i];

			o->kind = kinds[fpt_random(rng) % n_kinds];
			o->loc = (int)(fpt_random(rng) % LOCATIONS);
			o->loc = o->loc == 2 ? 0 : o->loc; /* often the same */
			o->order = random_order(rng, o->kind);
			o->value = 1 + fpt_random(rng) % 2;
		}
	}
}

static int same_outcomes(void)
{
	if (n_outcomes[0] != n_outcomes[1])
		return 0;
	for (int i = 0; i < n_outcomes[0]; i++) {
		int found = 0;

		for (int j = 0; j < n_outcomes[1]; j++)
			found |= outcomes[0][i] == outcomes[1][j];
		if (!found)
			return 0;
	}
	return 1;
}

static void print_program(void)
{
	static const char *const kinds[] = { "load",	   "store", "cas",  "add",
					     "swap",	   "fence", "read", "write",
					     "membarrier", "wait",  "wake" };

	for (int t = 0; t < threads; t++)
		for (int i = 0; i < ops[t]; i++)
			printf("  T%d: %s [%d] order %d value %d\n", t,
			       kinds[program[t][i].kind], program[t][i].loc,
			       program[t][i].order, (int)program[t][i].value);
}

static void compare(const enum kind *kinds, size_t n_kinds, uint64_t n)
{
	struct ex_test test = {
		.name = "random",
		.setup = setup,
		.thread = thread,
		.finish = finish,
		.stuck = stuck,
		.timeouts = 1,
	};
	uint64_t rng = fpt_seed();
	uint64_t all = 0, distinct = 0, racy = 0, too_long = 0;

	for (uint64_t i = 0; i < n; i++) {
		struct ex_result res[2];

		make_program(&rng, kinds, n_kinds);
		test.threads = threads;
		n_outcomes[0] = n_outcomes[1] = 0;
		for (pruning = 0; pruning < 2; pruning++) {
			ex_no_pruning = !pruning;
			ex_explore(&test, PROGRAM_MAX, &res[pruning]);
		}
		ex_no_pruning = 0;
		if (res[0].cut) {
			too_long++;
			continue;
		}
		if (res[0].failed != res[1].failed ||
		    (!res[0].failed && !same_outcomes())) {
			print_program();
			CHECK(!"the same outcomes with and without pruning");
		}
		racy += (uint64_t)res[0].failed;
		all += res[0].complete;
		distinct += res[1].complete;
	}
	printf("  %llu programs, %llu racy; %llu executions, %llu with pruning\n",
	       (unsigned long long)n, (unsigned long long)racy, (unsigned long long)all,
	       (unsigned long long)distinct);
	CHECK(racy < n && distinct < all && too_long < n / 10);
}

static void pruning_loses_nothing(void)
{
	compare(memory_kinds, FPT_LEN(memory_kinds), fpt_scale(3000, 100000));
}

static void nor_beside_the_kernel(void)
{
	compare(kernel_kinds, FPT_LEN(kernel_kinds), fpt_scale(700, 50000));
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(pruning_loses_nothing),
		FPT_CASE(nor_beside_the_kernel),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
