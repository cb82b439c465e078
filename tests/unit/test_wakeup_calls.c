/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What never enters the kernel: a time-out of 0, signals with nobody asleep, and every
 * call of a ring whose wake-ups nobody sleeps on (users-and-peers 44). Counted by a filter
 * that turns system calls of the one thread of a child into signals.
 */
#include "child.h"
#include "filter.h"
#include "wake_test.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(FPT_EMULATED)
#define CAN_COUNT 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CAN_COUNT 0
#endif
#endif
#ifndef CAN_COUNT
#define CAN_COUNT 1
#endif

static volatile sig_atomic_t calls, last_call;

static void count(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	calls++;
	last_call = info->si_syscall;
}

/* From here on system calls fail and are counted, but for those of this program's end. */
static void count_calls(void)
{
	struct sock_filter code[] = {
		FPT_FILTER_LOAD(nr),
		FPT_FILTER_IF(SYS_exit_group),
		FPT_FILTER_RETURN(SECCOMP_RET_ALLOW),
		FPT_FILTER_IF(SYS_rt_sigreturn),
		FPT_FILTER_RETURN(SECCOMP_RET_ALLOW),
		FPT_FILTER_IF(SYS_write),
		FPT_FILTER_RETURN(SECCOMP_RET_ALLOW),
		FPT_FILTER_RETURN(SECCOMP_RET_TRAP),
	};
	struct sigaction a = { .sa_sigaction = count, .sa_flags = SA_SIGINFO };

	CHECK_EQ(sigaction(SIGSYS, &a, NULL), 0);
	fpt_filter(code, FPT_LEN(code));
	calls = 0;
}

static void no_call_yet(const char *what)
{
	if (calls)
		fprintf(stderr, "  %s made %d system calls, the last was %d\n", what,
			(int)calls, (int)last_call);
	CHECK_EQ(calls, 0);
}

static void ring_calls(fp_ring *r)
{
	uint64_t e[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	fp_ring_span s;

	CHECK_EQ(fp_ring_wait_readable(r, 0), 0);
	CHECK_EQ(fp_ring_dequeue_wait(r, e, 1, 8, 0), 0);
	CHECK_EQ(fp_ring_dequeue_wait(r, e, 0, 8, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_ring_wait_writable(r, LIBFP_FOREVER), 1);
	CHECK_EQ(fp_ring_enqueue_wait(r, e, 2, 2, LIBFP_FOREVER), 2);
	CHECK_EQ(fp_ring_wait_readable(r, LIBFP_FOREVER), 1);
	CHECK_EQ(fp_ring_dequeue_wait(r, e, 2, 2, LIBFP_FOREVER), 2);
	CHECK_EQ(fp_ring_enqueue_u64(r, 1), 1);
	CHECK_EQ(fp_ring_enqueue(r, e), 1);
	CHECK_EQ(fp_ring_enqueue_burst(r, e, 2, NULL), 2);
	CHECK_EQ(fp_ring_reserve_enqueue(r, 8, 0, &s), 4);
	CHECK_EQ(fp_ring_commit_enqueue(r, &s, 4), 4);
	CHECK_EQ(fp_ring_wait_writable(r, 0), 0);
	CHECK_EQ(fp_ring_enqueue_wait(r, e, 1, 1, 0), 0);
	CHECK_EQ(fp_ring_enqueue_wait(r, e, 0, 1, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_ring_reserve_dequeue(r, 2, 0, &s), 2);
	CHECK_EQ(fp_ring_commit_dequeue(r, &s, 2), 2);
	CHECK_EQ(fp_ring_dequeue_u64(r, e), 1);
	CHECK_EQ(fp_ring_dequeue_bulk(r, e, 5, NULL), 5);
	CHECK_EQ(fp_ring_close(r), 0);
	CHECK_EQ(fp_ring_wait_readable(r, LIBFP_FOREVER), -EPIPE);
	CHECK_EQ(fp_ring_dequeue_wait(r, e, 1, 1, LIBFP_FOREVER), -EPIPE);
	CHECK_EQ(fp_ring_enqueue_wait(r, e, 1, 1, LIBFP_FOREVER), -EPIPE);
}

static void nothing_enters_the_kernel(void *arg)
{
	const struct wt_mode *m = arg;
	fp_ring *own[FPT_LEN(rt_modes)], *bound[FPT_LEN(rt_modes)];
	fp_wakeup *w = wt_wakeup(m);
	uint64_t key[2];

	for (size_t i = 0; i < FPT_LEN(rt_modes); i++) {
		own[i] = rt_ring(8, 8, &rt_modes[i], LIBFP_RING_WAIT);
		bound[i] = rt_ring(8, 8, &rt_modes[i], 0);
		for (uint32_t side = 0; side < 2; side++)
			CHECK_EQ(fp_ring_set_wakeup(bound[i], side, w), 0);
	}
	count_calls();
	for (size_t i = 0; i < FPT_LEN(rt_modes); i++) {
		fpt_where("%s %s", m->name, rt_modes[i].name);
		ring_calls(own[i]);
		no_call_yet("a ring of LIBFP_RING_WAIT");
		ring_calls(bound[i]);
		no_call_yet("a bound ring");
	}
	CHECK_EQ(fp_wakeup_signal(w), 0);
	no_call_yet("a signal to nobody");
	/* A sleeper's announcement may: that shows that the filter counts. */
	CHECK_EQ(fp_wakeup_prepare(w, &key[0]), 0);
	CHECK_EQ(fp_wakeup_prepare(w, &key[1]), 0);
	CHECK_EQ(calls, m->mode == LIBFP_WAKEUP_MODE_MEMBARRIER ? 2 : 0);
	calls = 0;
	CHECK_EQ(fp_wakeup_wait(w, key[0], 0), -ETIMEDOUT);
	CHECK_EQ(fp_wakeup_cancel(w, key[1]), 0);
	no_call_yet("a wait for no time");
	syscall(SYS_getppid);
	CHECK_EQ(calls, 1);
	CHECK_EQ(last_call, SYS_getppid);
}

static void timeout_0_and_quiet_signals_make_no_system_call(void)
{
	if (!CAN_COUNT)
		printf("  not in this build: sanitizers and emulators make system calls "
		       "themselves\n");
	else
		WT_EACH_MODE(m)
	fpt_in_child(nothing_enters_the_kernel, (void *)(uintptr_t)m);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(timeout_0_and_quiet_signals_make_no_system_call),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
