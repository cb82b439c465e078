/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of a service on cores of both kinds, lent and with a thread of its own, through
 * libffi; see ffi_life.h. Its function and the one that gives `user` back are closures.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "ffi_life.h"

#define FOREVER UINT64_MAX

/* What the closures of the service know; `user` is its address. */
static struct counts {
	uint64_t calls, released; /* atomic */
	int32_t returns;
} counts;

static uint64_t calls(void)
{
	return __atomic_load_n(&counts.calls, __ATOMIC_ACQUIRE);
}

static void run_body(ffi_cif *cif, void *result, void **arguments, void *user)
{
	const ffi_sarg answer = counts.returns;

	(void)cif;
	CHECK(life_ptr(arguments[0]) == user, "the service got another user");
	if (__atomic_fetch_add(&counts.calls, 1, __ATOMIC_RELEASE) == 0)
		life_called("fp_service_run_fn");
	memcpy(result, &answer, sizeof(answer));
}

static void released_body(ffi_cif *cif, void *result, void **arguments, void *user)
{
	(void)cif, (void)result;
	CHECK(life_ptr(arguments[0]) == user, "released got another user");
	CHECK(counts.released == 0, "released twice");
	counts.released++;
	life_called("fp_service_released_fn");
}

static uint64_t new_service(const void *allocator)
{
	const char *type = "fp_service_opts";
	void *opts = life_struct(type), *service = NULL;

	memset(&counts, 0, sizeof(counts));
	abi_set(opts, type, "name", WORD("ffi"));
	abi_set(opts, type, "run",
		WORD(abi_closure("fp_service_run_fn", run_body, &counts)));
	abi_set(opts, type, "user", WORD(&counts));
	abi_set(opts, type, "released",
		WORD(abi_closure("fp_service_released_fn", released_body, &counts)));
	abi_set(opts, type, "cycles", life_constant("LIBFP_SERVICE_CYCLES_EXACT"));
	abi_set(opts, type, "allocator", WORD(allocator));
	CHECK(CALL("fp_service_create", WORD(opts), WORD(&service)) == 0,
	      "create failed");
	free(opts);
	if (!service)
		abi_die("no service to go on with");
	return WORD(service);
}

static uint64_t new_core(const void *allocator)
{
	const char *type = "fp_service_core_opts";
	void *opts = life_struct(type), *core = NULL;

	abi_set(opts, type, "name", WORD("ffi"));
	abi_set(opts, type, "idle", life_constant("LIBFP_SERVICE_CORE_YIELD"));
	abi_set(opts, type, "allocator", WORD(allocator));
	CHECK(CALL("fp_service_core_create", WORD(opts), WORD(&core)) == 0,
	      "create failed");
	free(opts);
	if (!core)
		abi_die("no core to go on with");
	return WORD(core);
}

static void references(uint64_t service, uint64_t core)
{
	void *found[2] = { NULL, NULL };

	CHECK(CALL("fp_service_lookup", WORD("ffi"), WORD(found)) == 0 &&
		      WORD(found[0]) == service,
	      "lookup");
	CHECK(CALL("fp_service_destroy", service, 0, FOREVER) == -EBUSY,
	      "destroyed while referenced");
	CHECK(CALL("fp_service_unref", service) == 0, "unref");
	CHECK(CALL("fp_service_list", WORD(found), 2) == 1 && WORD(found[0]) == service &&
		      !found[1],
	      "list");
	CHECK(CALL("fp_service_unref", service) == 0, "unref");
	CHECK(CALL("fp_service_core_lookup", WORD("ffi"), WORD(found)) == 0 &&
		      WORD(found[0]) == core,
	      "lookup of a core");
	CHECK(CALL("fp_service_core_unref", core) == 0, "unref of a core");
}

static void lent(uint64_t service, uint64_t core)
{
	int32_t result = 1;

	CHECK(CALL("fp_service_run_once", service, 0, WORD(&result)) == -ESHUTDOWN,
	      "run before it was started");
	CHECK(CALL("fp_service_map", service, core) == 0, "map");
	CHECK(CALL("fp_service_start", service) == 0, "start");
	CHECK(CALL("fp_service_is_runnable", service) == 1, "not runnable");
	counts.returns = -EAGAIN;
	CHECK(CALL("fp_service_run_once", service, 0, WORD(&result)) == 0 &&
		      result == -EAGAIN && calls() == 1,
	      "run_once gave %d", result);
	CHECK(CALL("fp_service_core_run", core, 0) == -ETIMEDOUT && calls() == 2,
	      "one loop, %llu calls", (unsigned long long)calls());
	counts.returns = -EIO;
	CHECK(CALL("fp_service_core_run", core, 0) == -ETIMEDOUT, "one loop");
	counts.returns = 1;
}

static void threaded(uint64_t service, uint64_t core)
{
	uint64_t before = calls(), cpu = 0;

	CHECK(CALL("fp_service_core_set_cpus", core, WORD(&cpu), 0) == 0, "set_cpus");
	CHECK(CALL("fp_service_core_start", core) == 0, "start");
	CHECK(CALL("fp_service_core_destroy", core) == -EBUSY, "destroyed while it runs");
	while (calls() == before)
		sched_yield();
	CHECK(CALL("fp_wakeup_signal", (uint64_t)CALL("fp_service_wakeup", service)) >= 0,
	      "its wake-up");
	CHECK(CALL("fp_service_set_deadline", service, 1) == 0, "set_deadline");
	CHECK(CALL("fp_service_stop", service, FOREVER) == 0, "stop");
	before = calls();
	CHECK(CALL("fp_service_is_active", service) == 0, "active after stop");
	CHECK(CALL("fp_service_core_stop", core, FOREVER) == 0, "core_stop");
	CHECK(calls() == before, "called after it was stopped");
}

static void statistics(uint64_t service, uint64_t core)
{
	const char *type = "fp_service_stats", *of_map = "fp_service_map_stats";
	const char *of_core = "fp_service_core_stats";
	void *stats = life_struct(type), *map = life_struct(of_map);
	void *cores = life_struct(of_core);

	CHECK(CALL("fp_service_get_stats", service, WORD(stats)) == 0, "stats");
	CHECK(abi_get(stats, type, "calls") == calls() &&
		      abi_get(stats, type, "idle") == 2 &&
		      abi_get(stats, type, "errors") == 1 &&
		      abi_get(stats, type, "cores") == 1,
	      "%llu calls", (unsigned long long)abi_get(stats, type, "calls"));
	CHECK(abi_get(stats, type, "cycles") && abi_get(stats, type, "cycle_hz") &&
		      abi_get(stats, type, "longest"),
	      "no cycles");
	CHECK(CALL("fp_service_get_map_stats", service, core, WORD(map)) == 0,
	      "map_stats");
	CHECK(abi_get(map, of_map, "calls") == calls() - 1, "run_once is of no core");
	CHECK(CALL("fp_service_core_get_stats", core, WORD(cores)) == 0, "core_stats");
	CHECK(abi_get(cores, of_core, "state") ==
			      life_constant("LIBFP_SERVICE_CORE_STOPPED") &&
		      abi_get(cores, of_core, "services") == 1 &&
		      abi_get(cores, of_core, "loops") >= calls() - 1,
	      "%llu loops", (unsigned long long)abi_get(cores, of_core, "loops"));
	free(stats);
	free(map);
	free(cores);
}

void life_of_services(const void *allocator)
{
	uint64_t service = new_service(allocator), core = new_core(allocator);

	references(service, core);
	lent(service, core);
	threaded(service, core);
	statistics(service, core);
	CHECK(CALL("fp_service_destroy", service, 0, FOREVER) == -EBUSY,
	      "destroyed while mapped");
	CHECK(counts.released == 0, "released too early");
	CHECK(CALL("fp_service_destroy", service, life_constant("LIBFP_SERVICE_FORCE"),
		   FOREVER) == 0,
	      "destroy");
	CHECK(counts.released == 1, "not released");
	CHECK(CALL("fp_service_core_destroy", core) == 0, "core_destroy");
}
