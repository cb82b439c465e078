/* SPDX-License-Identifier: BSD-2-Clause */
/* The futex system call; see futex.h. libc has no wrapper for it. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/futex.h"

void fpi_futex_wait(uint32_t *word, uint32_t expected)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL);
	errno = saved;
}

void fpi_futex_wake(uint32_t *word, uint32_t n)
{
	int saved = errno;

	/* The kernel's count is an int. */
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n < INT_MAX ? n : INT_MAX);
	errno = saved;
}

int fpi_futex_wait_until(uint32_t *word, uint32_t expected, uint32_t bits,
			 uint64_t deadline_ns)
{
	struct timespec until = { .tv_sec = (time_t)(deadline_ns / FPI_NS_PER_S),
				  .tv_nsec = (long)(deadline_ns % FPI_NS_PER_S) };
	int saved = errno, err = 0;

	/* Absolute, CLOCK_MONOTONIC: what WAIT_BITSET has and WAIT has not. */
	if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected,
		    deadline_ns == FPI_NO_DEADLINE ? NULL : &until, NULL, bits))
		err = -errno;
	errno = saved;
	return err;
}

void fpi_futex_wake_bits(uint32_t *word, uint32_t bits)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, NULL, NULL, bits);
	errno = saved;
}
