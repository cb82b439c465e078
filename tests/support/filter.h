/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filters of system calls (seccomp) for one thread, which keeps them to its end: a child
 * or a thread of the test. Not under an emulator, which has no such filters.
 */
#ifndef FPT_FILTER_H
#define FPT_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "check.h"

#ifdef FPT_EMULATED
#define FPT_FILTERS 0
#else
#define FPT_FILTERS 1
#endif

static inline void fpt_filter(struct sock_filter *code, size_t n)
{
	struct sock_fprog program = { .len = (unsigned short)n, .filter = code };

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

#define FPT_FILTER_LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define FPT_FILTER_RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
/* If the value that was loaded is this one, the next instruction, else the one after. */
#define FPT_FILTER_IF(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)

/* The calling thread's system call `nr` fails with err from now on. */
static inline void fpt_filter_fail(int nr, int err)
{
	struct sock_filter code[] = {
		FPT_FILTER_LOAD(nr),
		FPT_FILTER_IF((uint32_t)nr),
		FPT_FILTER_RETURN(SECCOMP_RET_ERRNO | (uint32_t)err),
		FPT_FILTER_RETURN(SECCOMP_RET_ALLOW),
	};

	fpt_filter(code, FPT_LEN(code));
}

#endif
