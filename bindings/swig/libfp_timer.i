/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Timer wheels for libfp.i, which says by which conventions: ids and ticks are numbers, and
 * tables of them tables of elements; records are elements of 32 bytes; callbacks are those
 * of C. The functions behind the bulk calls are in libfp_swig.h.
 */

/* A callback is one of C, its address a number. */
%apply unsigned long long { fp_timer_fn };
%ignore fp_timer_info_fn;
%ignore fp_timer_wheel_for_each;
%ignore fp_timer_wheel_poll_many;

/* Records and infos are tables, for which no object is needed. */
%ignore fp_timer_record;
%ignore fp_timer_info;
%apply (void *elems, uint32_t n) { (fp_timer_record *records, uint32_t n) };
#ifndef FP_WORDS /* else the language has typemaps for these */
%apply (void *elems, uint32_t n) { (uint64_t *ids, uint32_t n) };
%apply (const void *elems, uint32_t n) {
	(const fp_swig_word *ids, uint32_t n),
	(const fp_swig_word *users, uint32_t n_users),
	(const fp_swig_word *expiry_ticks, uint32_t n_ticks)
};
#endif
%apply uint64_t *elem { uint64_t *tick, uint64_t *ticks };

FP_OBJECT(fp_timer_wheel)
%immutable fp_timer_wheel_stats::timers;
%immutable fp_timer_wheel_stats::max_timers;
%immutable fp_timer_wheel_stats::arms;
%immutable fp_timer_wheel_stats::rearms;
%immutable fp_timer_wheel_stats::cancelled;
%immutable fp_timer_wheel_stats::fired;
%immutable fp_timer_wheel_stats::expired;
%immutable fp_timer_wheel_stats::overruns;
%immutable fp_timer_wheel_stats::late_max;
%immutable fp_timer_wheel_stats::polls;
%immutable fp_timer_wheel_stats::entries_moved;
%immutable fp_timer_wheel_stats::entries_moved_max;
%immutable fp_timer_wheel_stats::memory;
%immutable fp_timer_wheel_stats::memory_used;

/* Tables for what comes out have their limit. */
%define FP_TIMERS(FUNCTION, N)
%exception FUNCTION {
	if (N > FP_SWIG_TIMERS_MAX)
		result = -EINVAL;
	else
		$action
}
%enddef
FP_TIMERS(fp_timer_wheel_poll_burst, arg4)
FP_TIMERS(fp_timer_swig_create_bulk, arg6)

/* No object unbinds; one without a handle is a mistake. */
%exception fp_timer_wheel_set_wakeup {
	if (object2 && !arg2)
		result = -EINVAL;
	else
		$action
}

/* The service is the wheel's. */
%ignore fp_timer_wheel_service;
%rename(fp_timer_wheel_service) fp_timer_wheel_swig_service;
%newobject fp_timer_wheel_swig_service;
%{
static fp_service *fp_timer_wheel_swig_service(fp_timer_wheel *object, int *status)
{
	fp_service *service = NULL;

	*status = fp_timer_wheel_service(fp_swig_handle(object), &service);
	return *status < 0 ? NULL : fp_swig_lent(object, service, status);
}
%}
fp_service *fp_timer_wheel_swig_service(fp_timer_wheel *object, int *status);

/* Ticks and ids that only errors keep away are the return value. */
%ignore fp_timer_wheel_now;
%ignore fp_timer_wheel_ticks_from_ns;
%ignore fp_timer_create;
%rename(fp_timer_wheel_now) fp_timer_wheel_swig_now;
%rename(fp_timer_wheel_ticks_from_ns) fp_timer_wheel_swig_ticks_from_ns;
%rename(fp_timer_create) fp_timer_swig_create;
%inline %{
static uint64_t fp_timer_wheel_swig_now(const fp_timer_wheel *wheel, int *status)
{
	uint64_t now = 0;

	*status = fp_timer_wheel_now(wheel, &now);
	return now;
}

static uint64_t fp_timer_wheel_swig_ticks_from_ns(const fp_timer_wheel *wheel, uint64_t ns,
						  int *status)
{
	uint64_t ticks = 0;

	*status = fp_timer_wheel_ticks_from_ns(wheel, ns, &ticks);
	return ticks;
}

static uint64_t fp_timer_swig_create(fp_timer_wheel *wheel, fp_timer_fn cb, void *user,
				     int *status)
{
	uint64_t id = 0;

	*status = fp_timer_create(wheel, cb, user, &id);
	return id;
}
%}

/* Each table of a bulk has its own length. */
%ignore fp_timer_create_bulk;
%ignore fp_timer_destroy_bulk;
%ignore fp_timer_arm_bulk;
%ignore fp_timer_touch_bulk;
%ignore fp_timer_cancel_bulk;
%rename(fp_timer_create_bulk) fp_timer_swig_create_bulk;
%rename(fp_timer_destroy_bulk) fp_timer_swig_destroy_bulk;
%rename(fp_timer_arm_bulk) fp_timer_swig_arm_bulk;
%rename(fp_timer_touch_bulk) fp_timer_swig_touch_bulk;
%rename(fp_timer_cancel_bulk) fp_timer_swig_cancel_bulk;
int32_t fp_timer_swig_create_bulk(fp_timer_wheel *wheel, fp_timer_fn cb,
				  const fp_swig_word *users, uint32_t n_users,
				  uint64_t *ids, uint32_t n);
int32_t fp_timer_swig_destroy_bulk(fp_timer_wheel *wheel, const fp_swig_word *ids, uint32_t n,
				   int32_t *results, uint32_t n_results);
int32_t fp_timer_swig_arm_bulk(fp_timer_wheel *wheel, const fp_swig_word *ids, uint32_t n,
			       const fp_swig_word *expiry_ticks, uint32_t n_ticks,
			       int32_t *results, uint32_t n_results);
int32_t fp_timer_swig_touch_bulk(fp_timer_wheel *wheel, const fp_swig_word *ids, uint32_t n,
				 const fp_swig_word *expiry_ticks, uint32_t n_ticks,
				 int32_t *results, uint32_t n_results);
int32_t fp_timer_swig_cancel_bulk(fp_timer_wheel *wheel, const fp_swig_word *ids, uint32_t n,
				  int32_t *results, uint32_t n_results);
