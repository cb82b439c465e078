/* SPDX-License-Identifier: BSD-2-Clause */
/* Mutual exclusion of the mutex, with holders that are preempted while inside. */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <sched.h>

#include "base/lock.h"
#include "check.h"

#define THREADS 6

static struct fpi_lock lock = FPI_LOCK_INIT;
static uint64_t a, b; /* equal whenever the lock is free; plain */
static uint64_t rounds;

static void *work(void *arg)
{
	uint64_t random = (uint64_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < rounds; i++) {
		fpi_lock_acquire(&lock);
		CHECK_EQ(a, b);
		a++;
		/* The others run into the lock and fall asleep. */
		if (fpt_random(&random) % 64 == 0)
			sched_yield();
		b++;
		fpi_lock_release(&lock);
	}
	return NULL;
}

static void one_thread_at_a_time_and_nobody_is_forgotten(void)
{
	pthread_t threads[THREADS];
	uint64_t seed = fpt_seed();

	rounds = fpt_scale(30000, 3000000);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, work,
				      (void *)(uintptr_t)(seed + i * 7919 + 1)));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(a, rounds * THREADS);
	CHECK_EQ(b, rounds * THREADS);
	CHECK_EQ(lock.word.value & FPI_LOCK_STATE, FPI_LOCK_FREE);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(one_thread_at_a_time_and_nobody_is_forgotten),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
