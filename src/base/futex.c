/* SPDX-License-Identifier: BSD-2-Clause */
/* The futex system call; see futex.h. libc has no wrapper for it. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

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

	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n);
	errno = saved;
}
