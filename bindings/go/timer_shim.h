/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Timer wheels in the form that costs Go least: shim.h says what holds for all of it.
 *
 * Timers of Go have no callback: it would be C calling into Go, from whatever thread
 * polls. What has fired comes as records, a burst per call.
 */
#ifndef FPGO_TIMER_SHIM_H
#define FPGO_TIMER_SHIM_H

#include "service_shim.h"

/* An fp_timer_wheel, as Go sees it. */
typedef uint8_t fpgo_wheel;

/* A new handle, or why there is none. */
typedef struct fpgo_made_wheel {
	fpgo_wheel *wheel;
	int code;
} fpgo_made_wheel;

/* A number of 64 bits, if code is 0 or above. */
typedef struct fpgo_tick {
	uint64_t value;
	int code;
} fpgo_tick;

_Static_assert(sizeof(void *) == sizeof(uint64_t), "the user of a timer is a uint64_t");

/* ---- wheels ---- */

static inline fpgo_made_wheel fpgo_wheel_create(const char *name, uint64_t tick_ns,
						uint64_t start_tick, uint32_t capacity,
						uint32_t max_timers, uint32_t flags,
						uint32_t numa_node)
{
	fpgo_made_wheel made = { 0, 0 };
	fp_timer_wheel_opts opts;
	fp_timer_wheel *wheel = 0;

	made.code = fp_timer_wheel_opts_init(&opts, sizeof(opts));
	if (made.code < 0)
		return made;
	opts.flags = flags;
	opts.name = name;
	opts.tick_ns = tick_ns;
	opts.start_tick = start_tick;
	opts.capacity = capacity;
	opts.max_timers = max_timers;
	opts.numa_node = numa_node;
	made.code = fp_timer_wheel_create(&opts, &wheel);
	made.wheel = (fpgo_wheel *)wheel;
	return made;
}

static inline fpgo_made_wheel fpgo_wheel_lookup(const char *name)
{
	fpgo_made_wheel made = { 0, 0 };
	fp_timer_wheel *wheel = 0;

	made.code = fp_timer_wheel_lookup(name, &wheel);
	made.wheel = (fpgo_wheel *)wheel;
	return made;
}

static inline int fpgo_wheel_release(fpgo_wheel *wheel, int found)
{
	return found ? fp_timer_wheel_unref((fp_timer_wheel *)wheel) :
		       fp_timer_wheel_destroy((fp_timer_wheel *)wheel);
}

/* What has nothing to convert but the handle. */
#define FPGO_WHEEL(result, name, function)                \
	static inline result name(fpgo_wheel *wheel)      \
	{                                                 \
		return function((fp_timer_wheel *)wheel); \
	}
FPGO_WHEEL(const char *, fpgo_wheel_name, fp_timer_wheel_name)
FPGO_WHEEL(int64_t, fpgo_wheel_tick_ns, fp_timer_wheel_tick_ns)
FPGO_WHEEL(int64_t, fpgo_wheel_count, fp_timer_wheel_count)
FPGO_WHEEL(int64_t, fpgo_wheel_cancel_all, fp_timer_wheel_cancel_all)
FPGO_WHEEL(int, fpgo_wheel_reset_stats, fp_timer_wheel_reset_stats)
FPGO_WHEEL(int, fpgo_wheel_interrupt, fp_timer_wheel_interrupt)
#undef FPGO_WHEEL

static inline fpgo_tick fpgo_wheel_now(fpgo_wheel *wheel)
{
	fpgo_tick tick = { 0, 0 };

	tick.code = fp_timer_wheel_now((fp_timer_wheel *)wheel, &tick.value);
	return tick;
}

static inline fpgo_tick fpgo_wheel_next_expiry(fpgo_wheel *wheel)
{
	fpgo_tick tick = { 0, 0 };

	tick.code = fp_timer_wheel_next_expiry((fp_timer_wheel *)wheel, &tick.value);
	return tick;
}

/* size is 0 if the call failed. */
static inline fp_timer_wheel_stats fpgo_wheel_stats(fpgo_wheel *wheel)
{
	fp_timer_wheel_stats stats = { .size = sizeof(stats) };

	if (fp_timer_wheel_get_stats((fp_timer_wheel *)wheel, &stats) < 0)
		stats.size = 0;
	return stats;
}

/* Room for n timers, and how many there were. */
struct fpgo_wheel_list {
	fp_timer_info *timers;
	uint64_t room;
	uint64_t n;
};

static inline int fpgo_wheel_list_one(const fp_timer_info *info, void *user)
{
	struct fpgo_wheel_list *list = user;

	if (list->n < list->room)
		list->timers[list->n] = *info;
	list->n++;
	return 0;
}

/* How many timers there are, of which as many are listed as there is room for. */
static inline int64_t fpgo_wheel_timers(fpgo_wheel *wheel, fp_timer_info *timers,
					uint64_t room)
{
	struct fpgo_wheel_list list = { timers, room, 0 };
	int code = fp_timer_wheel_for_each((fp_timer_wheel *)wheel, fpgo_wheel_list_one,
					   &list);

	return code < 0 ? code : (int64_t)list.n;
}

/* ---- polls ---- */

static inline int32_t fpgo_wheel_poll_burst(fpgo_wheel *wheel, uint64_t now_tick,
					    fp_timer_record *records, uint32_t n)
{
	return fp_timer_wheel_poll_burst((fp_timer_wheel *)wheel, now_tick, records, n);
}

static inline int64_t fpgo_wheel_poll(fpgo_wheel *wheel, uint64_t now_tick, uint32_t max)
{
	return fp_timer_wheel_poll((fp_timer_wheel *)wheel, now_tick, max);
}

static inline int64_t fpgo_wheel_poll_many(fpgo_wheel **wheels, uint32_t n,
					   uint64_t now_tick, uint32_t max)
{
	return fp_timer_wheel_poll_many((fp_timer_wheel *const *)wheels, n, now_tick,
					max);
}

/* ---- waiting ---- */

static inline int fpgo_wheel_set_wakeup(fpgo_wheel *wheel, fpgo_wakeup *wakeup)
{
	return fp_timer_wheel_set_wakeup((fp_timer_wheel *)wheel, (fp_wakeup *)wakeup);
}

/*
 * The nanoseconds until a poll has something to do, 0: it has now, INT64_MAX: nothing is
 * armed; below 0: an error of fp_timer_wheel_wait().
 */
static inline int64_t fpgo_wheel_left(fpgo_wheel *wheel)
{
	int code = fp_timer_wheel_wait((fp_timer_wheel *)wheel, 0);
	uint64_t length, tick, now;

	if (code != -ETIMEDOUT)
		return code;
	if (fp_timer_wheel_next_expiry((fp_timer_wheel *)wheel, &tick) != 1)
		return INT64_MAX;
	length = (uint64_t)fp_timer_wheel_tick_ns((fp_timer_wheel *)wheel);
	if (tick > INT64_MAX / length)
		return INT64_MAX;
	now = fpgo_monotonic_ns();
	return tick * length > now ? (int64_t)(tick * length - now) : 0;
}

/* 1: a poll has something to do, or may have; 0: not within the time; else an error. */
static inline int fpgo_wheel_block(fpgo_wheel *wheel, uint64_t timeout_ns)
{
	int code = fp_timer_wheel_wait((fp_timer_wheel *)wheel, timeout_ns);

	if (code == -ETIMEDOUT)
		return 0;
	return code < 0 ? code : 1;
}

static inline fpgo_made_service fpgo_wheel_service(fpgo_wheel *wheel)
{
	fpgo_made_service made = { 0, 0 };
	fp_service *service = 0;

	made.code = fp_timer_wheel_service((fp_timer_wheel *)wheel, &service);
	made.service = (fpgo_service *)service;
	return made;
}

/* ---- timers ---- */

static inline fpgo_tick fpgo_timer_create(fpgo_wheel *wheel, uint64_t user)
{
	fpgo_tick id = { 0, 0 };

	id.code = fp_timer_create((fp_timer_wheel *)wheel, 0, (void *)(uintptr_t)user,
				  &id.value);
	return id;
}

static inline int32_t fpgo_timer_create_bulk(fpgo_wheel *wheel, const uint64_t *users,
					     uint64_t *ids, uint32_t n)
{
	return fp_timer_create_bulk((fp_timer_wheel *)wheel, 0,
				    (void *const *)(const void *)users, ids, n);
}

static inline int fpgo_timer_destroy(fpgo_wheel *wheel, uint64_t id)
{
	return fp_timer_destroy((fp_timer_wheel *)wheel, id);
}

static inline int32_t fpgo_timer_destroy_bulk(fpgo_wheel *wheel, const uint64_t *ids,
					      uint32_t n, int32_t *results)
{
	return fp_timer_destroy_bulk((fp_timer_wheel *)wheel, ids, n, results);
}

static inline int fpgo_timer_arm(fpgo_wheel *wheel, uint64_t id, uint64_t expiry_tick)
{
	return fp_timer_arm((fp_timer_wheel *)wheel, id, expiry_tick);
}

static inline int32_t fpgo_timer_arm_bulk(fpgo_wheel *wheel, const uint64_t *ids,
					  const uint64_t *expiry_ticks, uint32_t n,
					  int32_t *results)
{
	return fp_timer_arm_bulk((fp_timer_wheel *)wheel, ids, expiry_ticks, n, results);
}

static inline int fpgo_timer_arm_periodic(fpgo_wheel *wheel, uint64_t id,
					  uint64_t first_tick, uint64_t period_ticks,
					  uint32_t policy)
{
	return fp_timer_arm_periodic((fp_timer_wheel *)wheel, id, first_tick,
				     period_ticks, policy);
}

static inline int fpgo_timer_touch(fpgo_wheel *wheel, uint64_t id, uint64_t expiry_tick)
{
	return fp_timer_touch((fp_timer_wheel *)wheel, id, expiry_tick);
}

static inline int32_t fpgo_timer_touch_bulk(fpgo_wheel *wheel, const uint64_t *ids,
					    const uint64_t *expiry_ticks, uint32_t n,
					    int32_t *results)
{
	return fp_timer_touch_bulk((fp_timer_wheel *)wheel, ids, expiry_ticks, n,
				   results);
}

static inline int fpgo_timer_cancel(fpgo_wheel *wheel, uint64_t id)
{
	return fp_timer_cancel((fp_timer_wheel *)wheel, id);
}

static inline int32_t fpgo_timer_cancel_bulk(fpgo_wheel *wheel, const uint64_t *ids,
					     uint32_t n, int32_t *results)
{
	return fp_timer_cancel_bulk((fp_timer_wheel *)wheel, ids, n, results);
}

static inline int fpgo_timer_cancel_sync(fpgo_wheel *wheel, uint64_t id,
					 uint64_t timeout_ns)
{
	return fp_timer_cancel_sync((fp_timer_wheel *)wheel, id, timeout_ns);
}

static inline int fpgo_timer_is_pending(fpgo_wheel *wheel, uint64_t id)
{
	return fp_timer_is_pending((fp_timer_wheel *)wheel, id);
}

static inline fpgo_tick fpgo_timer_remaining(fpgo_wheel *wheel, uint64_t id,
					     uint64_t now_tick)
{
	fpgo_tick ticks = { 0, 0 };

	ticks.code =
		fp_timer_remaining((fp_timer_wheel *)wheel, id, now_tick, &ticks.value);
	return ticks;
}

#endif
