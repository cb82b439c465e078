/* SPDX-License-Identifier: BSD-2-Clause */
/* The membarrier system call; see membarrier.h. libc has no wrapper for it. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/membarrier.h"

#ifdef FPI_TEST_STEPS
int fpi_test_no_membarrier; /* 1: there is none; 2: it says yes and does nothing */
#endif

static int call(int command)
{
	int saved = errno, err = 0;

#ifdef FPI_TEST_STEPS
	int none = FPI_TEST_LOAD(&fpi_test_no_membarrier);

	if (none)
		return none == 1 ? -EOPNOTSUPP : 0;
#endif
	/* Registration is inherited over fork, and doing it again is quick. */
	if (syscall(SYS_membarrier, command, 0, 0))
		err = -EOPNOTSUPP;
	errno = saved;
	return err;
}

int fpi_membarrier_register(void)
{
	return call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

int fpi_membarrier(void)
{
	return call(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}
