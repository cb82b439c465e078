/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of a timer wheel, its timers and its service, through libffi; see ffi_life.h.
 * The callbacks of timers and of for_each are closures.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ffi_life.h"

#define FOREVER UINT64_MAX

#define TIMERS 3 /* in each table */

/* What the closures have seen. */
static struct {
	uint64_t wheel;
	uint64_t calls;	 /* of the callback of timers */
	uint64_t expiry; /* in its last record */
	uint64_t shown;	 /* timers, by for_each */
	uint64_t armed;	 /* of these */
} seen;

static void fired_body(ffi_cif *cif, void *result, void **arguments, void *user)
{
	const char *type = "fp_timer_record";
	const void *record = life_ptr(arguments[1]);
	uint64_t id = abi_get(record, type, "id");

	(void)cif, (void)result;
	CHECK(life_u64(arguments[0]) == seen.wheel, "the callback got another wheel");
	CHECK(life_ptr(arguments[2]) == user &&
		      abi_get(record, type, "user") == WORD(user),
	      "the callback got another user");
	CHECK(CALL("fp_timer_cancel", seen.wheel, id) == -EINPROGRESS,
	      "it is not running inside its callback");
	CHECK(CALL("fp_timer_cancel_sync", seen.wheel, id, FOREVER) == -EDEADLK,
	      "waits for itself");
	CHECK(CALL("fp_timer_wheel_poll", seen.wheel, UINT64_MAX, 1) == -EBUSY,
	      "polls inside a poll");
	seen.calls++;
	seen.expiry = abi_get(record, type, "expiry_tick");
	life_called("fp_timer_fn");
}

static void shown_body(ffi_cif *cif, void *result, void **arguments, void *user)
{
	const char *type = "fp_timer_info";
	const void *info = life_ptr(arguments[0]);
	const ffi_sarg go_on = 0;

	(void)cif;
	CHECK(life_ptr(arguments[1]) == user, "for_each got another user");
	seen.shown++;
	if (abi_get(info, type, "flags") & life_constant("LIBFP_TIMER_IS_ARMED"))
		seen.armed++;
	life_called("fp_timer_info_fn");
	memcpy(result, &go_on, sizeof(go_on));
}

static uint64_t new_wheel(const void *allocator, const char *name, uint64_t flags)
{
	const char *type = "fp_timer_wheel_opts";
	void *opts = life_struct(type), *wheel = NULL;

	abi_set(opts, type, "name", WORD(name));
	abi_set(opts, type, "flags",
		flags | life_constant("LIBFP_STATS") |
			life_constant("LIBFP_WHEEL_START_AT"));
	abi_set(opts, type, "start_tick", 1000);
	abi_set(opts, type, "max_timers", 2 * TIMERS + 1);
	abi_set(opts, type, "capacity", 1);
	abi_set(opts, type, "allocator", WORD(allocator));
	CHECK(CALL("fp_timer_wheel_create", WORD(opts), WORD(&wheel)) == 0,
	      "create failed");
	free(opts);
	if (!wheel)
		abi_die("no wheel to go on with");
	return WORD(wheel);
}

static void references(uint64_t wheel)
{
	void *found = NULL;

	CHECK(CALL("fp_timer_wheel_lookup", WORD("ffi"), WORD(&found)) == 0 &&
		      WORD(found) == wheel,
	      "lookup");
	CHECK(CALL("fp_timer_wheel_destroy", wheel) == -EBUSY,
	      "destroyed while referenced");
	CHECK(CALL("fp_timer_wheel_unref", wheel) == 0, "unref");
	CHECK(!strcmp((const char *)(uintptr_t)CALL("fp_timer_wheel_name", wheel), "ffi"),
	      "name");
}

static void with_a_callback(uint64_t wheel)
{
	void *fired = abi_closure("fp_timer_fn", fired_body, &seen);
	uint64_t id = 0, tick = 0;

	CHECK(CALL("fp_timer_create", wheel, WORD(fired), WORD(&seen), WORD(&id)) == 0 &&
		      id,
	      "create");
	CHECK(CALL("fp_timer_arm", wheel, id, 1200) == 0, "arm");
	CHECK(CALL("fp_timer_arm", wheel, id, 1100) == 1, "re-arm");
	CHECK(CALL("fp_timer_is_pending", wheel, id) == 1, "not pending");
	CHECK(CALL("fp_timer_remaining", wheel, id, 1010, WORD(&tick)) == 1 && tick == 90,
	      "%llu ticks remain", (unsigned long long)tick);
	CHECK(CALL("fp_timer_wheel_next_expiry", wheel, WORD(&tick)) == 1 && tick <= 1100,
	      "next at %llu", (unsigned long long)tick);
	CHECK(CALL("fp_timer_wheel_poll", wheel, 1099,
		   life_constant("LIBFP_WHEEL_NO_LIMIT")) == 0,
	      "early");
	CHECK(CALL("fp_timer_wheel_poll", wheel, 1150,
		   life_constant("LIBFP_WHEEL_NO_LIMIT")) == 1 &&
		      seen.calls == 1 && seen.expiry == 1100,
	      "%llu calls", (unsigned long long)seen.calls);
	CHECK(CALL("fp_timer_touch", wheel, id, 1300) == 0, "touched, but not armed");
	CHECK(CALL("fp_timer_arm_periodic", wheel, id, 1200, 100,
		   life_constant("LIBFP_TIMER_COALESCE")) == 0,
	      "arm_periodic");
	CHECK(CALL("fp_timer_wheel_poll_many", WORD(&wheel), 1, 1450,
		   life_constant("LIBFP_WHEEL_NO_LIMIT")) == 1 &&
		      seen.calls == 2 && seen.expiry == 1200,
	      "%llu calls", (unsigned long long)seen.calls);
	/* The callback has cancelled it. */
	CHECK(CALL("fp_timer_destroy", wheel, id) == 0, "destroy");
	CHECK(CALL("fp_timer_cancel", wheel, id) == -ESTALE, "its id is not stale");
}

static void tables(uint64_t wheel)
{
	const char *type = "fp_timer_record";
	size_t size = (size_t)abi_number(abi_entry("structs", type), "size");
	uint64_t users[TIMERS] = { 1, 2, 3 }, ids[TIMERS];
	uint64_t at[TIMERS] = { 1530, 1510, 1520 };
	uint64_t shown = WORD(abi_closure("fp_timer_info_fn", shown_body, users));
	int32_t results[TIMERS] = { -1, -1, -1 };
	char *records = calloc(TIMERS, size);

	CHECK(CALL("fp_timer_create_bulk", wheel, 0, WORD(users), WORD(ids), TIMERS) ==
		      TIMERS,
	      "create_bulk");
	CHECK(CALL("fp_timer_arm_bulk", wheel, WORD(ids), WORD(at), TIMERS,
		   WORD(results)) == TIMERS &&
		      !results[0] && !results[1] && !results[2],
	      "arm_bulk");
	at[2] = 1540;
	CHECK(CALL("fp_timer_touch_bulk", wheel, WORD(ids), WORD(at), TIMERS, 0) ==
		      TIMERS,
	      "touch_bulk");
	CHECK(CALL("fp_timer_wheel_count", wheel) == TIMERS, "count");
	CHECK(CALL("fp_timer_wheel_for_each", wheel, shown, WORD(users)) == 0 &&
		      seen.shown == TIMERS && seen.armed == TIMERS,
	      "for_each showed %llu", (unsigned long long)seen.shown);
	CHECK(CALL("fp_timer_wheel_poll_burst", wheel, 1530, WORD(records), TIMERS) == 2,
	      "poll_burst");
	CHECK(abi_get(records, type, "user") == 2 &&
		      abi_get(records + size, type, "id") == ids[0],
	      "another order");
	CHECK(CALL("fp_timer_cancel_bulk", wheel, WORD(ids), TIMERS, WORD(results)) ==
			      1 &&
		      !results[0] && !results[1] && results[2] == 1,
	      "cancel_bulk");
	CHECK(CALL("fp_timer_arm", wheel, ids[0], UINT64_MAX) == 0, "arm");
	CHECK(CALL("fp_timer_wheel_cancel_all", wheel) == 1, "cancel_all");
	CHECK(CALL("fp_timer_destroy_bulk", wheel, WORD(ids), TIMERS, 0) == TIMERS,
	      "destroy_bulk");
	free(records);
}

static void statistics(uint64_t wheel)
{
	const char *type = "fp_timer_wheel_stats";
	void *stats = life_struct(type);

	CHECK(CALL("fp_timer_wheel_get_stats", wheel, WORD(stats)) == 0, "stats");
	CHECK(abi_get(stats, type, "flags") ==
			      life_constant("LIBFP_WHEEL_STATS_COUNTED") &&
		      abi_get(stats, type, "fired") == 4 &&
		      abi_get(stats, type, "rearms") == 1 &&
		      abi_get(stats, type, "overruns") == 2 &&
		      abi_get(stats, type, "late_max") == 250,
	      "%llu fired", (unsigned long long)abi_get(stats, type, "fired"));
	CHECK(CALL("fp_timer_wheel_reset_stats", wheel) == 0, "reset_stats");
	CHECK(CALL("fp_timer_wheel_get_stats", wheel, WORD(stats)) == 0 &&
		      abi_get(stats, type, "fired") == 0,
	      "not reset");
	free(stats);
}

static void by_the_clock(uint64_t wheel, uint64_t wakeup)
{
	uint64_t now = 0, ticks = 0, id = 0;

	CHECK(CALL("fp_timer_wheel_tick_ns", wheel) == 1000, "tick_ns");
	CHECK(CALL("fp_timer_wheel_ticks_from_ns", wheel, 1001, WORD(&ticks)) == 0 &&
		      ticks == 2,
	      "ticks_from_ns");
	CHECK(CALL("fp_timer_wheel_now", wheel, WORD(&now)) == 0 && now > 0, "now");
	CHECK(CALL("fp_timer_wheel_poll", wheel, now, 1) == 0, "nothing is armed");
	CHECK(CALL("fp_timer_wheel_wait", wheel, 0) == -ETIMEDOUT, "wait in vain");
	CHECK(CALL("fp_timer_wheel_interrupt", wheel) == 0, "interrupt");
	CHECK(CALL("fp_timer_wheel_set_wakeup", wheel, wakeup) == 0, "set_wakeup");
	CHECK(CALL("fp_wakeup_destroy", wakeup) == -EBUSY, "destroyed while bound");
	CHECK(CALL("fp_timer_wheel_set_wakeup", wheel, 0) == 0, "set_wakeup of none");
	CHECK(CALL("fp_timer_create", wheel, 0, 0, WORD(&id)) == 0, "create");
	CHECK(CALL("fp_timer_arm", wheel, id, now) == 0, "arm");
	CHECK(CALL("fp_timer_wheel_wait", wheel, FOREVER) == 0, "wait");
}

/* Its service has the timer that is due. */
static void served(uint64_t wheel)
{
	void *service = NULL;
	int32_t result = -1;

	CHECK(CALL("fp_timer_wheel_service", wheel, WORD(&service)) == 0 && service,
	      "service");
	CHECK(CALL("fp_timer_wheel_wait", wheel, 0) == -EOPNOTSUPP,
	      "waits beside its service");
	CHECK(CALL("fp_service_start", WORD(service)) == 0, "start");
	CHECK(CALL("fp_service_run_once", WORD(service), 0, WORD(&result)) == 0 &&
		      result >= 0,
	      "run_once gave %d", result);
	CHECK(CALL("fp_timer_wheel_count", wheel) == 0, "it has not fired");
}

void life_of_timers(const void *allocator)
{
	uint64_t wheel = new_wheel(allocator, "ffi", life_constant("LIBFP_WHEEL_WAIT"));
	void *wakeup = NULL;

	seen.wheel = wheel;
	references(wheel);
	with_a_callback(wheel);
	tables(wheel);
	statistics(wheel);
	CHECK(CALL("fp_wakeup_create", 0, WORD(&wakeup)) == 0, "wake-up");
	by_the_clock(wheel, WORD(wakeup));
	CHECK(CALL("fp_wakeup_destroy", WORD(wakeup)) == 0, "destroy of the wake-up");
	served(wheel);
	CHECK(CALL("fp_timer_wheel_destroy", wheel) == 0, "destroy");
}
