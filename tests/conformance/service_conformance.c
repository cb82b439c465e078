/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C driver of the services' conformance script: runs service.json on the library and
 * prints a line for each step that did not do what it should. README.md has the format.
 *
 *     service_conformance service.json
 *     service_conformance --planted service_planted.json
 */
#include <errno.h>
#include <string.h>

#include "service_calls.h"

const struct field service_fields[] = {
	FIELD(fp_service_stats, flags),	      FIELD(fp_service_stats, calls),
	FIELD(fp_service_stats, idle),	      FIELD(fp_service_stats, errors),
	FIELD(fp_service_stats, busy),	      FIELD(fp_service_stats, cycles),
	FIELD(fp_service_stats, longest),     FIELD(fp_service_stats, cycle_hz),
	FIELD(fp_service_stats, cores),	      FIELD(fp_service_stats, inside_since_ns),
	FIELD(fp_service_stats, deadline_ns), { 0 },
};

const struct field service_core_fields[] = {
	FIELD(fp_service_core_stats, flags),
	FIELD(fp_service_core_stats, state),
	FIELD(fp_service_core_stats, loops),
	FIELD(fp_service_core_stats, idle_loops),
	FIELD(fp_service_core_stats, busy_cycles),
	FIELD(fp_service_core_stats, idle_cycles),
	FIELD(fp_service_core_stats, cycle_hz),
	FIELD(fp_service_core_stats, sleeps),
	FIELD(fp_service_core_stats, naps),
	FIELD(fp_service_core_stats, wakes),
	FIELD(fp_service_core_stats, late_wakes),
	FIELD(fp_service_core_stats, services),
	FIELD(fp_service_core_stats, thread_id),
	{ 0 },
};

const struct field service_map_fields[] = {
	FIELD(fp_service_map_stats, flags),
	FIELD(fp_service_map_stats, calls),
	FIELD(fp_service_map_stats, idle),
	FIELD(fp_service_map_stats, errors),
	FIELD(fp_service_map_stats, busy),
	FIELD(fp_service_map_stats, cycles),
	{ 0 },
};

int32_t status_of(const json_t *v)
{
	static const struct {
		const char *name;
		int32_t status;
	} errors[] = { { "-EAGAIN", -EAGAIN }, { "-EIO", -EIO }, { "-EPIPE", -EPIPE } };
	const char *name = json_string_value(v);

	if (!name)
		return (int32_t)json_integer_value(v);
	for (size_t i = 0; i < LEN(errors); i++)
		if (!strcmp(name, errors[i].name))
			return errors[i].status;
	script_die(name, "no status that a function of the script returns");
}

/* Cores outlive no case either. What a failed one leaves behind must not run: its
 * functions are gone. */
static void end(struct run *run)
{
	const struct things *t = run->things;

	for (int i = 0; i < CORES_MAX; i++)
		if (t->cores[i].handle && !run->failed)
			fail(run, "the case ends, but core %s is open", t->cores[i].name);
	for (int i = 0; i < CORES_MAX; i++)
		fp_service_core_stop(t->cores[i].handle, LIBFP_FOREVER);
	for (int i = 0; i < HANDLES_MAX; i++)
		fp_service_set_ready(run->handles[i].handle, 0, LIBFP_FOREVER);
}

int main(int argc, char **argv)
{
	static const struct part part = {
		.name = "service",
		.key = "service",
		.otherwise = "s",
		.calls = service_calls,
		.fields = service_fields,
		.things = sizeof(struct things),
		.outcome = sizeof(struct outcome),
		.end = end,
	};

	return script_main(&part, argc, argv);
}
