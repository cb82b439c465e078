/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Child processes of tests. A child never outlives a failed parent,
 * even if it is stopped.
 */
#ifndef FPT_CHILD_H
#define FPT_CHILD_H

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/*
 * Neither TSan nor qemu-user can follow a child of a threaded parent that
 * starts threads itself; the other builds do.
 */
#if defined(__SANITIZE_THREAD__) || defined(FPT_EMULATED)
#define FPT_CHILD_STARTS_THREADS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FPT_CHILD_STARTS_THREADS 0
#endif
#endif
#ifndef FPT_CHILD_STARTS_THREADS
#define FPT_CHILD_STARTS_THREADS 1
#endif

static inline void *fpt_shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		       0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* Not _exit: TSan would report the parent's threads as leaked. */
static inline void fpt_child_ends(int failed)
{
	fflush(NULL);
	syscall(SYS_exit_group, failed);
}

/* Runs fn(arg) in a child; a failed CHECK there ends the child with status 1. */
static inline pid_t fpt_child(void (*fn)(void *), void *arg)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	fpt_back = NULL;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	fn(arg);
	fpt_child_ends(0);
	return 0;
}

/* 1 stopped, 0 ended well, -1 (with WNOHANG) neither. Anything else fails. */
static inline int fpt_child_change(pid_t pid, int flags)
{
	int status;
	pid_t got;

	do
		got = waitpid(pid, &status, WUNTRACED | flags);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return -1;
	CHECK_EQ(got, pid);
	if (WIFSTOPPED(status))
		return 1;
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return 0;
}

/* Waits until the child has stopped (1) or ended well (0). */
static inline int fpt_child_stopped(pid_t pid)
{
	return fpt_child_change(pid, 0);
}

/* The child must not end here. */
static inline int fpt_child_stopped_yet(pid_t pid)
{
	int change = fpt_child_change(pid, WNOHANG);

	CHECK(change != 0);
	return change > 0;
}

static inline void fpt_in_child(void (*fn)(void *), void *arg)
{
	CHECK_EQ(fpt_child_stopped(fpt_child(fn, arg)), 0);
}

#endif
