/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system calls of the model build: takes the place of src/base/futex.c and
 * src/base/membarrier.c, and of the C library's calls on eventfds (see CMakeLists.txt).
 */
#include "model_system.h"

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/futex.h"
#include "base/membarrier.h"
#include "explorer.h"

#define EVENTFD 1000 /* the only one */

int model_membarrier_fails;
uint64_t model_eventfd_count;
struct timespec (*model_clock)(void);

void fpi_futex_wait(uint32_t *word, uint32_t expected)
{
	ex_futex_wait(word, sizeof(*word), expected, "futex word");
}

void fpi_futex_wake(uint32_t *word, uint32_t n)
{
	ex_futex_wake(word, sizeof(*word), n, "futex word");
}

int fpi_futex_wait_until(uint32_t *word, uint32_t expected, uint32_t bits,
			 uint64_t deadline_ns)
{
	static const int errors[] = {
		[EX_WOKEN] = 0, [EX_DIFFERS] = -EAGAIN, [EX_TIMED_OUT] = -ETIMEDOUT
	};

	return errors[ex_futex_wait_bits(word, sizeof(*word), expected, bits,
					 deadline_ns != FPI_NO_DEADLINE, "futex word")];
}

void fpi_futex_wake_bits(uint32_t *word, uint32_t bits)
{
	ex_futex_wake_bits(word, sizeof(*word), bits, "futex word");
}

int fpi_membarrier_register(void)
{
	return model_membarrier_fails ? -EOPNOTSUPP : 0;
}

int fpi_membarrier(void)
{
	if (model_membarrier_fails)
		return -EOPNOTSUPP;
	ex_membarrier();
	return 0;
}

int model_clock_gettime(clockid_t clock, struct timespec *t);
int model_eventfd(unsigned count, int flags);
ssize_t model_write(int fd, const void *from, size_t n);
ssize_t model_read(int fd, void *to, size_t n);

int model_eventfd(unsigned count, int flags)
{
	(void)flags;
	model_eventfd_count = count;
	return EVENTFD;
}

ssize_t model_write(int fd, const void *from, size_t n)
{
	const uint64_t *add = from;

	EX_CHECK(fd == EVENTFD && n == sizeof(*add));
	ex_rmw(&model_eventfd_count, sizeof(model_eventfd_count), EX_ADD, *add,
	       EX_RELAXED, "eventfd");
	return (ssize_t)n;
}

ssize_t model_read(int fd, void *to, size_t n)
{
	uint64_t *count = to;

	EX_CHECK(fd == EVENTFD && n == sizeof(*count));
	*count = ex_rmw(&model_eventfd_count, sizeof(model_eventfd_count), EX_SWAP, 0,
			EX_RELAXED, "eventfd");
	if (*count)
		return (ssize_t)n;
	errno = EAGAIN;
	return -1;
}

void model_poll(void)
{
	ex_poll(&model_eventfd_count, sizeof(model_eventfd_count), "eventfd");
}

int model_clock_gettime(clockid_t clock, struct timespec *t)
{
	static struct timespec still;

	(void)clock;
	*t = model_clock ? model_clock() : still;
	return 0;
}
