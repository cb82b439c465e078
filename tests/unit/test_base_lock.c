/* SPDX-License-Identifier: BSD-2-Clause */
/* The mutex: its states, its sleepers, words of other generations. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "base/fork.h"
#include "base/lock.h"
#include "check.h"

static uint32_t state_of(struct fpi_lock *l)
{
	return FPI_LOAD(&l->word, FPI_ACQUIRE) & FPI_LOCK_STATE;
}

static void zero_is_unlocked_and_states_follow(void)
{
	struct fpi_lock l = FPI_LOCK_INIT;

	for (int i = 0; i < 3; i++) {
		fpi_lock_acquire(&l);
		CHECK_EQ(state_of(&l), FPI_LOCK_HELD);
		fpi_lock_release(&l);
		CHECK_EQ(state_of(&l), FPI_LOCK_FREE);
	}
}

static void first_use_registers_the_fork_handler(void)
{
	struct fpi_lock l = FPI_LOCK_INIT;

	fpi_lock_acquire(&l);
	CHECK(fpi_fork_generation() > 0);
	CHECK_EQ(l.word.value >> FPI_LOCK_GENERATION_SHIFT, fpi_fork_generation());
	fpi_lock_release(&l);
}

static void a_holder_of_another_generation_does_not_count(void)
{
	struct fpi_lock l = FPI_LOCK_INIT;

	CHECK_EQ(fpi_fork_register(), 0);
	for (uint32_t state = FPI_LOCK_FREE; state <= FPI_LOCK_CONTENDED; state++) {
		l.word.value =
			(fpi_fork_generation() - 1) << FPI_LOCK_GENERATION_SHIFT | state;
		fpi_lock_acquire(&l);
		CHECK_EQ(state_of(&l), FPI_LOCK_HELD);
		fpi_lock_release(&l);
		CHECK_EQ(state_of(&l), FPI_LOCK_FREE);
	}
}

static struct fpi_lock slept_on = FPI_LOCK_INIT;
static int entered;

static void *enter(void *unused)
{
	fpi_lock_acquire(&slept_on);
	entered++;
	fpi_lock_release(&slept_on);
	return unused;
}

static void sleepers_are_all_woken_in_the_end(void)
{
	enum { SLEEPERS = 5 };
	pthread_t threads[SLEEPERS];

	entered = 0;
	fpi_lock_acquire(&slept_on);
	for (int i = 0; i < SLEEPERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, enter, NULL));
	/* Somebody is about to sleep, or sleeps. */
	while (state_of(&slept_on) != FPI_LOCK_CONTENDED)
		sched_yield();
	CHECK_EQ(entered, 0);
	fpi_lock_release(&slept_on);
	for (int i = 0; i < SLEEPERS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(entered, SLEEPERS);
	CHECK_EQ(state_of(&slept_on), FPI_LOCK_FREE);
}

static void errno_is_left_alone(void)
{
	pthread_t thread;

	fpi_lock_acquire(&slept_on);
	CHECK(!pthread_create(&thread, NULL, enter, NULL));
	while (state_of(&slept_on) != FPI_LOCK_CONTENDED)
		sched_yield();
	errno = 77;
	fpi_lock_release(&slept_on);
	fpi_lock_acquire(&slept_on);
	fpi_lock_release(&slept_on);
	CHECK_EQ(errno, 77);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(zero_is_unlocked_and_states_follow),
		FPT_CASE(first_use_registers_the_fork_handler),
		FPT_CASE(a_holder_of_another_generation_does_not_count),
		FPT_CASE(sleepers_are_all_woken_in_the_end),
		FPT_CASE(errno_is_left_alone),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
