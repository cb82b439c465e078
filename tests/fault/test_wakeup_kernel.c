/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wake-ups and waiting rings when memory, descriptors, membarrier or a quiet sleep are not
 * to be had: a clean error or a slower mode, and nothing leaked. The kernel's refusals are
 * made by a filter of system calls.
 */
#include <linux/futex.h>

#include "child.h"
#include "filter.h"
#include "wake_test.h"

#define UNTOUCHED ((void *)(uintptr_t)0x1234)

/* ---- memory ---- */

static void create_fails_cleanly_at_every_allocation(void)
{
	for (int fence = 0; fence < 2; fence++)
		for (int64_t at = 0, done = 0; !done; at++) {
			struct fpt_heap heap = { .fail_at = at };
			fp_allocator a = fpt_heap_allocator(&heap);
			fp_wakeup_opts o = LIBFP_WAKEUP_OPTS_INIT;
			fp_wakeup *w = UNTOUCHED;
			int rc;

			fpt_where("fence %d allocation %" PRId64, fence, at);
			o.allocator = &a;
			o.flags = fence ? LIBFP_WAKEUP_FENCE : 0;
			fpt_log_begin();
			rc = fp_wakeup_create(&o, &w);
			if (rc == 0) {
				done = 1;
				CHECK(at >= 1);
				CHECK_EQ(fpt_log.lines, 0);
				CHECK_EQ(fp_wakeup_destroy(w), 0);
			} else {
				CHECK_EQ(rc, -ENOMEM);
				CHECK(w == UNTOUCHED);
				CHECK_EQ(fpt_log.lines, 1);
			}
			fpt_log_end();
			CHECK_EQ(heap.live, 0);
			CHECK_EQ(heap.bad, 0);
		}
}

static void a_waiting_ring_fails_cleanly_at_every_allocation(void)
{
	RT_EACH_MODE(m)
	for (uint32_t flags = 0; flags < 4; flags++)
		for (int placed = 0; placed < 2; placed++)
			for (int64_t at = 0, done = 0; !done; at++) {
				struct fpt_heap heap = { .fail_at = at };
				fp_allocator a = fpt_heap_allocator(&heap);
				fp_ring_opts o =
					rt_opts(8, 8, m, flags | LIBFP_RING_WAIT);
				size_t size = (size_t)fp_ring_memsize(&o);
				void *mem = aligned_alloc(LIBFP_RING_ALIGN, size);
				fp_ring *r = UNTOUCHED;
				uint64_t e = 1;
				int rc;

				fpt_where("%s flags %u placed %d allocation %" PRId64,
					  m->name, flags, placed, at);
				CHECK(mem != NULL);
				o.allocator = &a;
				rc = placed ? fp_ring_init(mem, size, &o, &r) :
					      fp_ring_create(&o, &r);
				if (rc == 0) {
					/* Its memory was not zero. */
					done = 1;
					CHECK_EQ(fp_ring_dequeue_wait(r, &e, 1, 1, 1), 0);
					CHECK_EQ(fp_ring_enqueue_wait(r, &e, 1, 1, 1), 1);
					CHECK_EQ(wt_stats(&r->own[0]).sleeps, 0);
					CHECK_EQ(fp_ring_destroy(r), 0);
				} else {
					CHECK_EQ(rc, -ENOMEM);
					CHECK(r == UNTOUCHED);
				}
				CHECK_EQ(heap.live, 0);
				CHECK_EQ(heap.bad, 0);
				free(mem);
			}
}

/* ---- descriptors ---- */

struct refusal {
	int err;
	int answer;
};

static void without_eventfd(void *arg)
{
	const struct refusal *x = arg;

	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		uint64_t key;

		if (m == wt_modes)
			fpt_filter_fail(SYS_eventfd2, x->err);
		errno = 1234;
		CHECK_EQ(fp_wakeup_fd(w), x->answer);
		CHECK_EQ(fp_wakeup_fd(w), x->answer);
		CHECK_EQ(errno, 1234);
		CHECK_EQ(fp_wakeup_arm(w), -ENXIO);
		CHECK_EQ(fp_wakeup_clear(w), -ENXIO);
		/* It can be waited for all the same. */
		CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
		CHECK_EQ(fp_wakeup_signal(w), 1);
		CHECK_EQ(fp_wakeup_wait(w, key, LIBFP_FOREVER), 0);
		CHECK_EQ(fp_wakeup_interrupt(w), 0);
		CHECK_EQ(wt_stats(w).fd_writes, 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

static void a_descriptor_that_cannot_be_had_is_an_error(void)
{
	static const struct refusal refusals[] = { { EMFILE, -EMFILE },
						   { ENFILE, -EMFILE },
						   { ENOMEM, -ENOMEM },
						   { ENODEV, -ENOMEM } };

	if (!wt_mode_exists(wt_modes) || !FPT_FILTERS) {
		printf("  not in this build: no filters of system calls\n");
		return;
	}
	for (size_t i = 0; i < FPT_LEN(refusals); i++)
		fpt_in_child(without_eventfd, (void *)(uintptr_t)&refusals[i]);
}

/* ---- membarrier ---- */

/* As in a container whose filter does not know the call. */
static void without_membarrier(void *arg)
{
	int err = *(int *)arg;
	fp_wakeup_opts o = LIBFP_WAKEUP_OPTS_INIT;
	fp_wakeup *before = NULL, *w = NULL, *fence = NULL;
	fp_ring *r;
	uint64_t key, e;

	CHECK_EQ(fp_wakeup_create(NULL, &before), 0);
	CHECK_EQ(fp_wakeup_mode(before), LIBFP_WAKEUP_MODE_MEMBARRIER);
	fpt_filter_fail(SYS_membarrier, err);
	errno = 1234;
	CHECK_EQ(fp_wakeup_create(NULL, &w), 0);
	CHECK_EQ(fp_wakeup_mode(w), LIBFP_WAKEUP_MODE_POLL);
	o.flags = LIBFP_WAKEUP_FENCE;
	CHECK_EQ(fp_wakeup_create(&o, &fence), 0);
	CHECK_EQ(fp_wakeup_mode(fence), LIBFP_WAKEUP_MODE_FENCE);
	CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
	CHECK_EQ(fp_wakeup_wait(w, key, LIBFP_FOREVER), 0);
	CHECK_EQ(wt_stats(w).fallback_polls, 1);
	/* What was made before keeps its mode, and does not sleep without limit. */
	CHECK_EQ(fp_wakeup_prepare(before, &key), 0);
	CHECK_EQ(fp_wakeup_wait(before, key, LIBFP_FOREVER), 0);
	CHECK_EQ(wt_stats(before).fallback_polls, 1);
	r = rt_ring(4, 8, &rt_modes[3], LIBFP_RING_WAIT);
	CHECK_EQ(fp_wakeup_mode(&r->own[0]), LIBFP_WAKEUP_MODE_POLL);
	CHECK_EQ(fp_ring_dequeue_wait(r, &e, 1, 1, WT_MS), 0);
	CHECK_EQ(fp_ring_enqueue_u64(r, 9), 1);
	CHECK_EQ(fp_ring_dequeue_wait(r, &e, 1, 1, LIBFP_FOREVER), 1);
	CHECK_EQ(errno, 1234);
	CHECK_EQ(fp_ring_destroy(r), 0);
	CHECK_EQ(fp_wakeup_destroy(before), 0);
	CHECK_EQ(fp_wakeup_destroy(w), 0);
	CHECK_EQ(fp_wakeup_destroy(fence), 0);
}

static void a_refused_membarrier_limits_sleeps(void)
{
	int refusals[] = { ENOSYS, EPERM, EINVAL };

	if (!wt_mode_exists(wt_modes) || !FPT_FILTERS) {
		printf("  not in this build: no filters of system calls\n");
		return;
	}
	for (size_t i = 0; i < FPT_LEN(refusals); i++)
		fpt_in_child(without_membarrier, &refusals[i]);
}

/* ---- a futex that wakes for nothing ---- */

static void *sleep_restlessly(void *arg)
{
	struct sock_filter code[] = {
		FPT_FILTER_LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 4),
		FPT_FILTER_LOAD(args[1]), /* the lower half: little-endian */
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, FUTEX_CMD_MASK),
		FPT_FILTER_IF(FUTEX_WAIT_BITSET),
		FPT_FILTER_RETURN(SECCOMP_RET_ERRNO | EINTR),
		FPT_FILTER_RETURN(SECCOMP_RET_ALLOW),
	};

	fpt_filter(code, FPT_LEN(code));
	return wt_sleep(arg);
}

static void a_sleep_that_ends_for_nothing_goes_on(void)
{
	if (!FPT_FILTERS) {
		printf("  not in this build: no filters of system calls\n");
		return;
	}
	WT_EACH_MODE(m)
	{
		struct wt_sleeper s = { .timeout_ns = LIBFP_FOREVER, .err = 1 };

		fpt_where("%s", m->name);
		s.w = wt_wakeup(m);
		CHECK_EQ(pthread_create(&s.t.thread, NULL, sleep_restlessly, &s), 0);
		while (wt_stats(s.w).spurious < 100)
			wt_pause();
		CHECK_EQ(wt_is_through(&s.t), 0);
		CHECK_EQ(fp_wakeup_signal(s.w), 1);
		CHECK_EQ(wt_sleeper_join(&s), 0);
		CHECK_EQ(wt_stats(s.w).waiting, 0);
		CHECK_EQ(fp_wakeup_destroy(s.w), 0);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(create_fails_cleanly_at_every_allocation),
		FPT_CASE(a_waiting_ring_fails_cleanly_at_every_allocation),
		FPT_CASE(a_descriptor_that_cannot_be_had_is_an_error),
		FPT_CASE(a_refused_membarrier_limits_sleeps),
		FPT_CASE(a_sleep_that_ends_for_nothing_goes_on),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
