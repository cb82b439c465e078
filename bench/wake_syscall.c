/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wake_syscall.c - counts the membarriers of the library, and refuses them.
 *
 * The library makes its system calls through the C library's syscall(). A program's
 * own function of that name comes first in the dynamic linker's order, so it sees them
 * all; it passes them on. Nothing of the library has to be built for it.
 */
#include "wake.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef long syscall_fn(long number, ...);

static syscall_fn *next;
static atomic_ulong membarriers;
static atomic_int refused;

/* Before main(): whoever called syscall() first may have other threads already. */
__attribute__((constructor)) static void find_next(void)
{
	void *found = dlsym(RTLD_NEXT, "syscall");

	if (!found) {
		fprintf(stderr, "bench: the C library has no syscall()\n");
		exit(2);
	}
	*(void **)&next = found;
}

long syscall(long number, ...)
{
	long a[6];
	va_list args;

	/* As the C library's: all six, whatever was passed. */
	va_start(args, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_membarrier) {
		if (atomic_load_explicit(&refused, memory_order_relaxed)) {
			errno = ENOSYS;
			return -1;
		}
		if (a[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED)
			atomic_fetch_add_explicit(&membarriers, 1, memory_order_relaxed);
	}
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

uint64_t wake_membarriers(void)
{
	return atomic_load_explicit(&membarriers, memory_order_relaxed);
}

void wake_refuse_membarrier(int refuse)
{
	atomic_store_explicit(&refused, refuse, memory_order_relaxed);
}
