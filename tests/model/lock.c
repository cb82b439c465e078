/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios of the mutex (src/base/lock.h), with its slow half: threads that take
 * the lock so and so often and each time add 1 to a plain number. Nobody may race,
 * sleep for ever, or leave the lock taken. The model spins once.
 */
#include "base/lock.h"

#include "driver.h"
#include "sites.h"

enum word { FREE, STALE_FREE, STALE_HELD, STALE_CONTENDED };

static const struct scenario {
	const char *name;
	int times[EX_THREADS]; /* up to the first 0 */
	enum word word;	       /* stale: of a generation before a fork */
	int big;
} table[] = {
	{ "two", { 1, 1 }, FREE, 0 },
	{ "three", { 1, 1, 1 }, FREE, 0 },
	{ "two-turns", { 2, 2 }, FREE, 0 },
	{ "stale-free", { 1, 1 }, STALE_FREE, 0 },
	{ "stale-held", { 1, 1 }, STALE_HELD, 0 },
	{ "stale-contended", { 1, 1 }, STALE_CONTENDED, 0 },
	{ "four", { 1, 1, 1, 1 }, FREE, 1 },
	{ "three-turns", { 2, 2, 1 }, FREE, 1 },
};

static const struct scenario *scenario;
static struct fpi_lock lock;
static uint32_t number;

static void setup(void)
{
	uint32_t generation = fpi_fork_generation();
	uint32_t word = generation << FPI_LOCK_GENERATION_SHIFT;

	if (scenario->word != FREE) {
		word = (generation - 1) << FPI_LOCK_GENERATION_SHIFT;
		if (scenario->word == STALE_HELD)
			word |= FPI_LOCK_HELD;
		if (scenario->word == STALE_CONTENDED)
			word |= FPI_LOCK_CONTENDED;
	}
	lock.word.value = word;
	number = 0;
	ex_name(&lock.word.value, "lock");
}

static void thread(int t)
{
	for (int i = 0; i < scenario->times[t]; i++) {
		fpi_lock_acquire(&lock);
		FPI_PLAIN_STORE(&number, FPI_PLAIN_LOAD(&number) + 1);
		fpi_lock_release(&lock);
	}
}

static void finish(void)
{
	uint32_t times = 0;

	for (int t = 0; t < EX_THREADS; t++)
		times += (uint32_t)scenario->times[t];
	EX_CHECK(number == times);
	EX_CHECK(lock.word.value == fpi_fork_generation() << FPI_LOCK_GENERATION_SHIFT);
}

static void prepare(const struct scenario *s, struct ex_test *test)
{
	fpi_fork_register();
	model_locks_wait = 0;
	scenario = s;
	*test = (struct ex_test){
		.name = s->name, .setup = setup, .thread = thread, .finish = finish
	};
	while (test->threads < EX_THREADS && s->times[test->threads])
		test->threads++;
}

MODEL_SUITE_MAIN(table, 1, prepare)
