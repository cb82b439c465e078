/* SPDX-License-Identifier: BSD-2-Clause */
/* Thread slots and thread ids: who gets which, and when it is given back. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "base/thread_slot.h"
#include "check.h"

void (*fpi_test_step)(const char *step);

/*
 * libc runs a thread's key destructors in the order in which the keys were
 * made: `early` before the library's, `late` after it.
 */
static pthread_key_t early, late;
static uint32_t slot_in_early, slot_in_late;

static void early_exit(void *unused)
{
	(void)unused;
	slot_in_early = fpi_thread_slot();
}

static void late_exit(void *unused)
{
	(void)unused;
	slot_in_late = fpi_thread_slot();
	if (slot_in_late == FPI_NO_SLOT)
		slot_in_late = fpi_thread_slot();
}

/* Runs fn(arg) on a thread of its own to its end. */
static void on_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, fn, arg));
	pthread_join(thread, NULL);
}

static void *take(void *out)
{
	*(uint32_t *)out = fpi_thread_slot();
	return NULL;
}

static void a_thread_keeps_its_slot(void)
{
	uint32_t mine = fpi_thread_slot();

	CHECK(mine < FPI_THREAD_SLOTS);
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(fpi_thread_slot(), mine);
}

static void another_thread_gets_another_slot(void)
{
	uint32_t mine = fpi_thread_slot(), other = FPI_NO_SLOT;

	on_thread(take, &other);
	CHECK(other < FPI_THREAD_SLOTS);
	CHECK(other != mine);
}

static void a_slot_is_used_again_after_the_thread_ended(void)
{
	uint32_t first, next;

	fpi_thread_slot();
	on_thread(take, &first);
	for (int i = 0; i < FPI_THREAD_SLOTS + 1; i++) {
		on_thread(take, &next);
		CHECK_EQ(next, first);
	}
}

static sem_t ready, go;

static void *take_and_wait(void *out)
{
	*(uint32_t *)out = fpi_thread_slot();
	sem_post(&ready);
	sem_wait(&go);
	return NULL;
}

static void slots_are_dense_and_more_threads_than_slots_still_work(void)
{
	static uint32_t got[FPI_THREAD_SLOTS];
	static pthread_t threads[FPI_THREAD_SLOTS];
	unsigned char seen[FPI_THREAD_SLOTS] = { 0 };
	unsigned without = 0;
	uint32_t late_comer;

	seen[fpi_thread_slot()] = 1;
	sem_init(&ready, 0, 0);
	sem_init(&go, 0, 0);
	/* One thread more than there are slots: this one has one too. */
	for (int i = 0; i < FPI_THREAD_SLOTS; i++) {
		CHECK(!pthread_create(&threads[i], NULL, take_and_wait, &got[i]));
		sem_wait(&ready);
		CHECK(got[i] == FPI_NO_SLOT || got[i] <= (uint32_t)i + 1);
	}
	for (int i = 0; i < FPI_THREAD_SLOTS; i++) {
		if (got[i] == FPI_NO_SLOT) {
			without++;
			continue;
		}
		CHECK(!seen[got[i]]);
		seen[got[i]] = 1;
	}
	CHECK_EQ(without, 1);
	on_thread(take, &late_comer);
	CHECK_EQ(late_comer, FPI_NO_SLOT);
	for (int i = 0; i < FPI_THREAD_SLOTS; i++)
		sem_post(&go);
	for (int i = 0; i < FPI_THREAD_SLOTS; i++)
		pthread_join(threads[i], NULL);
	on_thread(take, &late_comer);
	CHECK(late_comer != FPI_NO_SLOT);
}

static sem_t poor_go;

static void *take_wait_and_retry(void *out)
{
	uint32_t *got = out;

	got[0] = fpi_thread_slot();
	sem_post(&ready);
	sem_wait(&poor_go);
	got[1] = fpi_thread_slot();
	return NULL;
}

static void a_thread_without_a_slot_gets_one_when_one_is_free(void)
{
	static uint32_t got[FPI_THREAD_SLOTS], poor_got[2];
	static pthread_t threads[FPI_THREAD_SLOTS], poor;

	fpi_thread_slot();
	sem_init(&ready, 0, 0);
	sem_init(&go, 0, 0);
	sem_init(&poor_go, 0, 0);
	for (int i = 0; i < FPI_THREAD_SLOTS - 1; i++) {
		CHECK(!pthread_create(&threads[i], NULL, take_and_wait, &got[i]));
		sem_wait(&ready);
		CHECK(got[i] != FPI_NO_SLOT);
	}
	CHECK(!pthread_create(&poor, NULL, take_wait_and_retry, poor_got));
	sem_wait(&ready);
	CHECK_EQ(poor_got[0], FPI_NO_SLOT);
	for (int i = 0; i < FPI_THREAD_SLOTS - 1; i++)
		sem_post(&go);
	for (int i = 0; i < FPI_THREAD_SLOTS - 1; i++)
		pthread_join(threads[i], NULL);
	sem_post(&poor_go);
	pthread_join(poor, NULL);
	CHECK(poor_got[1] != FPI_NO_SLOT);
}

static void *take_with_destructors(void *out)
{
	pthread_setspecific(early, &early);
	pthread_setspecific(late, &late);
	*(uint32_t *)out = fpi_thread_slot();
	return NULL;
}

static void after_the_exit_hook_a_thread_takes_no_slot(void)
{
	uint32_t before, again;

	fpi_thread_slot();
	slot_in_early = slot_in_late = 12345;
	on_thread(take_with_destructors, &before);
	CHECK(before != FPI_NO_SLOT);
	CHECK_EQ(slot_in_early, before);
	CHECK_EQ(slot_in_late, FPI_NO_SLOT);
	on_thread(take, &again);
	CHECK_EQ(again, before);
}

static void *first_use_in_destructor(void *unused)
{
	pthread_setspecific(early, &early);
	return unused;
}

static void a_slot_taken_by_a_destructor_is_given_back(void)
{
	uint32_t expected, again;

	fpi_thread_slot();
	on_thread(take, &expected);
	slot_in_early = 12345;
	on_thread(first_use_in_destructor, NULL);
	CHECK_EQ(slot_in_early, expected);
	on_thread(take, &again);
	CHECK_EQ(again, expected);
}

static uint32_t hook_slot, hook_sees;
static unsigned hook_calls;

static void hook(uint32_t slot)
{
	hook_calls++;
	hook_slot = slot;
	hook_sees = fpi_thread_slot();
}

static void *no_slot_at_all(void *unused)
{
	return unused;
}

static void exit_hooks_run_once_with_the_slot_still_in_place(void)
{
	uint32_t got;

	CHECK_EQ(fpi_thread_exit_register(hook), 0);
	CHECK_EQ(fpi_thread_exit_register(hook), 0);
	on_thread(no_slot_at_all, NULL);
	CHECK_EQ(hook_calls, 0);
	on_thread(take, &got);
	CHECK_EQ(hook_calls, 1);
	CHECK_EQ(hook_slot, got);
	CHECK_EQ(hook_sees, got);
}

#define FILLER(n)                            \
	static void filler##n(uint32_t slot) \
	{                                    \
		(void)slot;                  \
	}
FILLER(1)
FILLER(2)
FILLER(3)
FILLER(4)
FILLER(5)
FILLER(6)
FILLER(7)
FILLER(8)

static void the_hook_table_says_when_it_is_full(void)
{
	void (*const fillers[])(uint32_t) = { filler1, filler2, filler3, filler4,
					      filler5, filler6, filler7, filler8 };
	unsigned refused = 0;
	int rc;

	CHECK_EQ(fpi_thread_exit_register(hook), 0);
	for (size_t i = 0; i < FPT_LEN(fillers); i++) {
		rc = fpi_thread_exit_register(fillers[i]);
		CHECK(rc == 0 || rc == -ENOSPC);
		refused += rc != 0;
	}
	CHECK_EQ(refused, 1);
	CHECK_EQ(fpi_thread_exit_register(hook), 0);
}

static void *ask_id(void *out)
{
	int64_t *ids = out;

	ids[0] = gettid();
	ids[1] = fpi_thread_id();
	ids[2] = fpi_thread_id();
	return NULL;
}

static void thread_id_is_the_kernels(void)
{
	int64_t ids[3];

	ask_id(ids);
	CHECK_EQ(ids[0], ids[1]);
	CHECK_EQ(ids[0], ids[2]);
	on_thread(ask_id, ids);
	CHECK_EQ(ids[0], ids[1]);
	CHECK_EQ(ids[0], ids[2]);
	CHECK(ids[0] != gettid());
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_thread_keeps_its_slot),
		FPT_CASE(another_thread_gets_another_slot),
		FPT_CASE(a_slot_is_used_again_after_the_thread_ended),
		FPT_CASE(slots_are_dense_and_more_threads_than_slots_still_work),
		FPT_CASE(a_thread_without_a_slot_gets_one_when_one_is_free),
		FPT_CASE(after_the_exit_hook_a_thread_takes_no_slot),
		FPT_CASE(a_slot_taken_by_a_destructor_is_given_back),
		FPT_CASE(exit_hooks_run_once_with_the_slot_still_in_place),
		FPT_CASE(the_hook_table_says_when_it_is_full),
		FPT_CASE(thread_id_is_the_kernels),
	};

	pthread_key_create(&early, early_exit);
	fpi_thread_slot(); /* makes the library's key */
	pthread_key_create(&late, late_exit);
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
