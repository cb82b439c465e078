/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Services and service cores in the form that costs Go least: shim.h says what holds for
 * all of it. What runs the function of a service is in service_call.go.
 */
#ifndef FPGO_SERVICE_SHIM_H
#define FPGO_SERVICE_SHIM_H

#include <errno.h>
#include <time.h>

#include "wakeup_shim.h"

/* An fp_service and an fp_service_core, as Go sees them. */
typedef uint8_t fpgo_service;
typedef uint8_t fpgo_core;

/* A new handle, or why there is none. */
typedef struct fpgo_made_service {
	fpgo_service *service;
	int code;
} fpgo_made_service;

typedef struct fpgo_made_core {
	fpgo_core *core;
	int code;
} fpgo_made_core;

static inline fpgo_made_service fpgo_service_create(const char *name,
						    fp_service_run_fn run, void *user,
						    uint32_t flags, uint32_t cycles)
{
	fpgo_made_service made = { 0, 0 };
	fp_service_opts opts;
	fp_service *service = 0;

	made.code = fp_service_opts_init(&opts, sizeof(opts));
	if (made.code < 0)
		return made;
	opts.flags = flags;
	opts.name = name;
	opts.run = run;
	opts.user = user;
	opts.cycles = cycles;
	made.code = fp_service_create(&opts, &service);
	made.service = (fpgo_service *)service;
	return made;
}

static inline fpgo_made_service fpgo_service_lookup(const char *name)
{
	fpgo_made_service made = { 0, 0 };
	fp_service *service = 0;

	made.code = fp_service_lookup(name, &service);
	made.service = (fpgo_service *)service;
	return made;
}

static inline int fpgo_service_release(fpgo_service *service, int found, uint32_t flags)
{
	return found ? fp_service_unref((fp_service *)service) :
		       fp_service_destroy((fp_service *)service, flags, 0);
}

/* What has nothing to convert but the handle. */
#define FPGO_SERVICE(result, name, function)                    \
	static inline result name(fpgo_service *service)        \
	{                                                       \
		return (result)function((fp_service *)service); \
	}
FPGO_SERVICE(const char *, fpgo_service_name, fp_service_name)
FPGO_SERVICE(int, fpgo_service_start, fp_service_start)
FPGO_SERVICE(int, fpgo_service_is_runnable, fp_service_is_runnable)
FPGO_SERVICE(int, fpgo_service_is_active, fp_service_is_active)
FPGO_SERVICE(int, fpgo_service_reset_stats, fp_service_reset_stats)
FPGO_SERVICE(fpgo_wakeup *, fpgo_service_wakeup, fp_service_wakeup)
#undef FPGO_SERVICE

static inline int fpgo_service_stop(fpgo_service *service, uint64_t timeout_ns)
{
	return fp_service_stop((fp_service *)service, timeout_ns);
}

static inline int fpgo_service_set_ready(fpgo_service *service, uint32_t ready,
					 uint64_t timeout_ns)
{
	return fp_service_set_ready((fp_service *)service, ready, timeout_ns);
}

static inline int fpgo_service_map(fpgo_service *service, fpgo_core *core)
{
	return fp_service_map((fp_service *)service, (fp_service_core *)core);
}

static inline int fpgo_service_unmap(fpgo_service *service, fpgo_core *core,
				     uint64_t timeout_ns)
{
	return fp_service_unmap((fp_service *)service, (fp_service_core *)core,
				timeout_ns);
}

static inline int fpgo_service_is_mapped(fpgo_service *service, fpgo_core *core)
{
	return fp_service_is_mapped((fp_service *)service, (fp_service_core *)core);
}

/* The library's clock. */
static inline uint64_t fpgo_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* From now; below 0: none. */
static inline int fpgo_service_set_deadline(fpgo_service *service, int64_t in_ns)
{
	if (in_ns < 0)
		return fp_service_set_deadline((fp_service *)service, 0);
	return fp_service_set_deadline((fp_service *)service,
				       fpgo_monotonic_ns() + (uint64_t)in_ns);
}

/* size is 0 if the call failed. */
static inline fp_service_stats fpgo_service_stats(fpgo_service *service)
{
	fp_service_stats stats = { .size = sizeof(stats) };

	if (fp_service_get_stats((fp_service *)service, &stats) < 0)
		stats.size = 0;
	return stats;
}

static inline int fpgo_service_map_stats(fpgo_service *service, fpgo_core *core,
					 fp_service_map_stats *stats)
{
	stats->size = sizeof(*stats);
	return fp_service_get_map_stats((fp_service *)service, (fp_service_core *)core,
					stats);
}

/* ---- cores ---- */

/* Options whose type Go need not translate are filled in place. */
static inline fpgo_made_core fpgo_core_create(const char *name,
					      const fp_service_core_opts *from)
{
	fpgo_made_core made = { 0, 0 };
	fp_service_core_opts opts;
	fp_service_core *core = 0;

	made.code = fp_service_core_opts_init(&opts, sizeof(opts));
	if (made.code < 0)
		return made;
	opts.flags = from->flags;
	opts.name = name;
	opts.cpu = from->cpu;
	opts.policy = from->policy;
	opts.priority = from->priority;
	opts.idle = from->idle;
	opts.spin_ns = from->spin_ns;
	opts.nap_ns = from->nap_ns;
	opts.late_margin_ns = from->late_margin_ns;
	opts.max_sleep_ns = from->max_sleep_ns;
	opts.unwakeable_ns = from->unwakeable_ns;
	opts.stack_size = from->stack_size;
	made.code = fp_service_core_create(&opts, &core);
	made.core = (fpgo_core *)core;
	return made;
}

static inline fpgo_made_core fpgo_core_lookup(const char *name)
{
	fpgo_made_core made = { 0, 0 };
	fp_service_core *core = 0;

	made.code = fp_service_core_lookup(name, &core);
	made.core = (fpgo_core *)core;
	return made;
}

static inline int fpgo_core_release(fpgo_core *core, int found)
{
	return found ? fp_service_core_unref((fp_service_core *)core) :
		       fp_service_core_destroy((fp_service_core *)core);
}

#define FPGO_CORE(result, name, function)                         \
	static inline result name(fpgo_core *core)                \
	{                                                         \
		return (result)function((fp_service_core *)core); \
	}
FPGO_CORE(const char *, fpgo_core_name, fp_service_core_name)
FPGO_CORE(int, fpgo_core_start, fp_service_core_start)
FPGO_CORE(int, fpgo_core_reset_stats, fp_service_core_reset_stats)
FPGO_CORE(fpgo_wakeup *, fpgo_core_wakeup, fp_service_core_wakeup)
#undef FPGO_CORE

static inline int fpgo_core_set_cpus(fpgo_core *core, const uint32_t *cpus, uint32_t n)
{
	return fp_service_core_set_cpus((fp_service_core *)core, cpus, n);
}

static inline int fpgo_core_stop(fpgo_core *core, uint64_t timeout_ns)
{
	return fp_service_core_stop((fp_service_core *)core, timeout_ns);
}

static inline fp_service_core_stats fpgo_core_stats(fpgo_core *core)
{
	fp_service_core_stats stats = { .size = sizeof(stats) };

	if (fp_service_core_get_stats((fp_service_core *)core, &stats) < 0)
		stats.size = 0;
	return stats;
}

/* ---- lists ---- */

static inline int64_t fpgo_service_list(fpgo_core *core, fpgo_service **list, uint32_t n)
{
	return core ? fp_service_core_services((fp_service_core *)core,
					       (fp_service **)list, n) :
		      fp_service_list((fp_service **)list, n);
}

static inline int64_t fpgo_core_list(fpgo_core **list, uint32_t n)
{
	return fp_service_core_list((fp_service_core **)list, n);
}

static inline int64_t fpgo_start_defaults(fpgo_core **cores, uint32_t n)
{
	return fp_service_start_defaults((fp_service_core *const *)cores, n);
}

#endif
