/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that has used up all pthread keys: threads get no slot, because
 * nobody would give it back; everything works again once a key is free.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include "base/thread_slot.h"
#include "check.h"

void (*fpi_test_step)(const char *step);

static void without_a_key_there_is_no_slot(void)
{
	pthread_key_t last = 0, key;
	int made = 0;

	while (!pthread_key_create(&key, NULL)) {
		last = key;
		made++;
	}
	CHECK(made > 0);
	errno = 77;
	CHECK_EQ(fpi_thread_slot(), FPI_NO_SLOT);
	CHECK_EQ(fpi_thread_slot(), FPI_NO_SLOT);
	CHECK_EQ(errno, 77);
	CHECK(!pthread_key_delete(last));
	CHECK(fpi_thread_slot() != FPI_NO_SLOT);
	/* The key is the library's now. */
	CHECK_EQ(pthread_key_create(&key, NULL), EAGAIN);
	CHECK_EQ(fpi_thread_slot(), 0);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(without_a_key_there_is_no_slot),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
