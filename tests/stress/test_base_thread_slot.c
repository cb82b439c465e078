/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 10,000 short threads, a few at a time. No two living threads may have the
 * same slot, what the last owner of a slot wrote must be visible to the next,
 * and the exit hook must have run in between.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/thread_slot.h"
#include "check.h"

void (*fpi_test_step)(const char *step);

#define TOGETHER 8

static atomic_int owned[FPI_THREAD_SLOTS];
/* Plain memory, as the caches of a pool would be: the slot alone protects it. */
static uint64_t uses[FPI_THREAD_SLOTS], hooked[FPI_THREAD_SLOTS];

static void give_back(uint32_t slot)
{
	hooked[slot]++;
	CHECK_EQ(atomic_fetch_sub(&owned[slot], 1), 1);
}

static void *live_shortly(void *unused)
{
	uint32_t slot = fpi_thread_slot();

	CHECK(slot < FPI_THREAD_SLOTS);
	CHECK_EQ(atomic_fetch_add(&owned[slot], 1), 0);
	CHECK_EQ(uses[slot], hooked[slot]);
	uses[slot]++;
	sched_yield();
	CHECK_EQ(fpi_thread_slot(), slot);
	return unused;
}

static void ten_thousand_threads_share_the_slots(void)
{
	uint64_t threads = fpt_scale(10000, 200000), total = 0;
	pthread_t ids[TOGETHER];

	CHECK_EQ(fpi_thread_exit_register(give_back), 0);
	for (uint64_t i = 0; i < threads; i++) {
		if (i >= TOGETHER)
			pthread_join(ids[i % TOGETHER], NULL);
		CHECK(!pthread_create(&ids[i % TOGETHER], NULL, live_shortly, NULL));
	}
	for (int i = 0; i < TOGETHER; i++)
		pthread_join(ids[i], NULL);
	for (int s = 0; s < FPI_THREAD_SLOTS; s++) {
		CHECK_EQ(owned[s], 0);
		CHECK_EQ(uses[s], hooked[s]);
		total += uses[s];
		/* Dense: more slots than threads alive are never touched. */
		CHECK(s < TOGETHER || !uses[s]);
	}
	CHECK_EQ(total, threads);
}

/* More threads than slots, all asking all the time. */
#define CROWD (FPI_THREAD_SLOTS + 32)

static atomic_int in_crowd, without;

static void *live_in_a_crowd(void *unused)
{
	uint32_t slot = FPI_NO_SLOT;

	atomic_fetch_add(&in_crowd, 1);
	while (atomic_load(&in_crowd) < CROWD) {
		uint32_t now = fpi_thread_slot();

		CHECK(slot == FPI_NO_SLOT || now == slot);
		if (slot == FPI_NO_SLOT && now != FPI_NO_SLOT) {
			CHECK_EQ(atomic_fetch_add(&owned[now], 1), 0);
			uses[now]++;
		}
		slot = now;
		sched_yield();
	}
	if (slot == FPI_NO_SLOT) {
		slot = fpi_thread_slot();
		if (slot != FPI_NO_SLOT) {
			CHECK_EQ(atomic_fetch_add(&owned[slot], 1), 0);
			uses[slot]++;
		} else {
			atomic_fetch_add(&without, 1);
		}
	}
	return unused;
}

static void more_threads_than_slots_still_work(void)
{
	static pthread_t ids[CROWD];

	CHECK_EQ(fpi_thread_exit_register(give_back), 0);
	for (int i = 0; i < CROWD; i++)
		CHECK(!pthread_create(&ids[i], NULL, live_in_a_crowd, NULL));
	for (int i = 0; i < CROWD; i++)
		pthread_join(ids[i], NULL);
	printf("  %d of %d threads ended without a slot\n", atomic_load(&without), CROWD);
	for (int s = 0; s < FPI_THREAD_SLOTS; s++) {
		CHECK_EQ(owned[s], 0);
		CHECK_EQ(uses[s], hooked[s]);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(ten_thousand_threads_share_the_slots),
		FPT_CASE(more_threads_than_slots_still_work),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
