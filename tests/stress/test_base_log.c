/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads log while the handler is replaced all the time: calls are one at a
 * time, and a user is never used after the call that replaced it returned.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <libfp/base.h>

#include "base/log.h"
#include "check.h"

#define THREADS 3

static atomic_int stop, heard;
static uint64_t lines; /* plain: the handler runs one at a time */

static void count(uint32_t level, const char *line, void *user)
{
	uint64_t *alive = user;

	CHECK_EQ(level, LIBFP_LOG_INFO);
	CHECK(!strncmp(line, "line ", 5));
	CHECK_EQ(*alive, 42);
	lines++;
	atomic_store(&heard, 1);
}

static void *talk(void *unused)
{
	for (int i = 0; !atomic_load(&stop); i++) {
		fpi_log(LIBFP_LOG_INFO, "line %d", i);
		if (i % 16 == 0)
			sched_yield();
	}
	return unused;
}

static void a_replaced_user_is_not_used_any_more(void)
{
	uint64_t changes = fpt_scale(20000, 1000000);
	pthread_t threads[THREADS];
	uint64_t *user = NULL;
	void *old;

	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, talk, NULL));
	for (uint64_t i = 0; i < changes || !atomic_load(&heard); i++) {
		uint64_t *next = malloc(sizeof(*next));

		*next = 42;
		fp_log_set_handler(count, next, &old);
		CHECK(old == user);
		if (user)
			*user = 0;
		free(user);
		user = next;
		if (i % 16 == 0)
			sched_yield();
	}
	fp_log_set_handler(NULL, NULL, &old);
	CHECK(old == user);
	free(user);
	atomic_store(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("  %" PRIu64 " lines\n", lines);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_replaced_user_is_not_used_any_more),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
