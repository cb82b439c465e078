/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of a wake-up of each mode, and of a ring that is bound to it, through libffi;
 * see ffi_life.h.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "ffi_life.h"

#define FOREVER UINT64_MAX /* LIBFP_FOREVER; as a double it is not exact */

static uint64_t new_wakeup(const void *allocator, uint64_t flags)
{
	const char *type = "fp_wakeup_opts";
	void *opts = life_struct(type), *wakeup = NULL;

	abi_set(opts, type, "flags", flags);
	abi_set(opts, type, "allocator", WORD(allocator));
	CHECK(CALL("fp_wakeup_create", WORD(opts), WORD(&wakeup)) == 0, "create failed");
	free(opts);
	if (!wakeup)
		abi_die("no wake-up to go on with");
	return WORD(wakeup);
}

static void waits(uint64_t wakeup)
{
	uint64_t key = 0;

	CHECK(CALL("fp_wakeup_signal", wakeup) == 0, "nobody waits");
	CHECK(CALL("fp_wakeup_prepare", wakeup, WORD(&key)) == 0, "prepare");
	CHECK(CALL("fp_wakeup_destroy", wakeup) == -EBUSY, "destroyed while prepared");
	CHECK(CALL("fp_wakeup_cancel", wakeup, key) == 0, "cancel");
	CHECK(CALL("fp_wakeup_prepare", wakeup, WORD(&key)) == 0, "prepare");
	CHECK(CALL("fp_wakeup_wait", wakeup, key, 1000) == -ETIMEDOUT, "no time-out");
	CHECK(CALL("fp_wakeup_prepare", wakeup, WORD(&key)) == 0, "prepare");
	CHECK(CALL("fp_wakeup_signal", wakeup) == 1, "signal");
	CHECK(CALL("fp_wakeup_wait", wakeup, key, FOREVER) == 0, "wait");
	CHECK(CALL("fp_wakeup_prepare", wakeup, WORD(&key)) == 0, "prepare");
	CHECK(CALL("fp_wakeup_interrupt", wakeup) == 0, "interrupt");
	CHECK(CALL("fp_wakeup_wait", wakeup, key, FOREVER) == -ECANCELED, "no interrupt");
}

static int readable(int64_t fd)
{
	struct pollfd p = { (int)fd, POLLIN, 0 };

	return poll(&p, 1, 0);
}

static void descriptor(uint64_t wakeup)
{
	int64_t fd;

	CHECK(CALL("fp_wakeup_arm", wakeup) == -ENXIO, "armed without a descriptor");
	fd = CALL("fp_wakeup_fd", wakeup);
	CHECK(fd >= 0 && CALL("fp_wakeup_fd", wakeup) == fd, "fd");
	CHECK(CALL("fp_wakeup_arm", wakeup) == 0, "arm");
	CHECK(!readable(fd), "readable without a signal");
	CHECK(CALL("fp_wakeup_signal", wakeup) == 1, "signal");
	CHECK(readable(fd), "not readable after a signal");
	CHECK(CALL("fp_wakeup_clear", wakeup) == 1, "clear");
	CHECK(!readable(fd), "readable after clear");
}

/* A ring signals it from both sides; a wait on the ring is one on it. */
static void bound(const void *allocator, uint64_t wakeup, uint64_t consumer)
{
	const char *type = "fp_ring_opts";
	void *opts = life_struct(type), *made = NULL;
	uint64_t elems[] = { 5, 6, 7 }, out[3] = { 0 }, ring;

	abi_set(opts, type, "capacity", 2);
	abi_set(opts, type, "allocator", WORD(allocator));
	CHECK(CALL("fp_ring_create", WORD(opts), WORD(&made)) == 0, "create failed");
	free(opts);
	ring = WORD(made);
	CHECK(CALL("fp_ring_wait_readable", ring, FOREVER) == -ENXIO, "not bound yet");
	for (uint64_t side = 0; side < 2; side++)
		CHECK(CALL("fp_ring_set_wakeup", ring, side, wakeup) == 0, "set_wakeup");
	CHECK(CALL("fp_wakeup_destroy", wakeup) == -EBUSY, "destroyed while bound");
	CHECK(CALL("fp_ring_wait_readable", ring, 1000) == 0, "readable, but empty");
	CHECK(CALL("fp_wakeup_arm", wakeup) == 0, "arm");
	CHECK(CALL("fp_ring_enqueue_wait", ring, WORD(elems), 2, 3, FOREVER) == 2,
	      "enqueue_wait");
	CHECK(CALL("fp_wakeup_clear", wakeup) == 1, "no signal");
	CHECK(CALL("fp_ring_wait_writable", ring, 1000) == 0, "writable, but full");
	CHECK(CALL("fp_ring_dequeue_wait", ring, WORD(out), 2, 3, FOREVER) == 2 &&
		      out[0] == 5 && out[1] == 6 && out[2] == 0,
	      "dequeue_wait");
	CHECK(CALL("fp_ring_interrupt", ring, consumer) == 0, "interrupt");
	CHECK(CALL("fp_ring_destroy", ring) == 0, "destroy");
}

static void end(uint64_t wakeup)
{
	const char *type = "fp_wakeup_stats";
	void *stats = life_struct(type);

	CHECK(CALL("fp_wakeup_get_stats", wakeup, WORD(stats)) == 0, "stats");
	CHECK(abi_get(stats, type, "bound") == 0 && abi_get(stats, type, "waiting") == 0,
	      "somebody needs it");
	CHECK(abi_get(stats, type, "interrupts") == 2 &&
		      abi_get(stats, type, "fd_writes") == 2,
	      "%llu interrupts, %llu writes",
	      (unsigned long long)abi_get(stats, type, "interrupts"),
	      (unsigned long long)abi_get(stats, type, "fd_writes"));
	CHECK(CALL("fp_wakeup_destroy", wakeup) == 0, "destroy");
	free(stats);
}

void life_of_wakeups(const void *allocator)
{
	const uint64_t flags[] = { 0, life_constant("LIBFP_WAKEUP_FENCE") };

	for (int i = 0; i < 2; i++) {
		uint64_t wakeup = new_wakeup(allocator, flags[i]);
		int is_fence = CALL("fp_wakeup_mode", wakeup) ==
			       (int64_t)life_constant("LIBFP_WAKEUP_MODE_FENCE");

		CHECK(is_fence == i, "another mode than was asked for");
		waits(wakeup);
		descriptor(wakeup);
		bound(allocator, wakeup, life_constant("LIBFP_RING_CONSUMER"));
		end(wakeup);
	}
}
