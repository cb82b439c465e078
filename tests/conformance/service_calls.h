/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_calls.h - how one step of a script becomes one call on a service or a core. The
 * driver is service_conformance.c.
 *
 * The script says what the function of a service does: what it returns in turn, and which
 * steps it makes itself when it is called for the first time. `user` is a struct function,
 * which outlives its service, so that the script can ask how often it was called.
 */
#ifndef CONFORMANCE_SERVICE_CALLS_H
#define CONFORMANCE_SERVICE_CALLS_H

#include "calls.h"

#define CORES_MAX 8   /* of a case */
#define RESULTS_MAX 8 /* of a function, in turn */

/* What a case calls by names, besides services. */
struct things {
	struct handle cores[CORES_MAX];
	struct function {
		char name[NAME_SIZE]; /* of its service */
		struct run *run;
		const json_t *inside; /* steps of the first call */
		int32_t results[RESULTS_MAX];
		uint64_t n;	   /* results: the last one again and again */
		uint64_t calls;	   /* atomic */
		uint64_t released; /* atomic */
	} functions[HANDLES_MAX];
};

/* What came of a step, besides the result. */
struct outcome {
	int32_t result; /* of the function that fp_service_run_once() has run */
	fp_service_stats stats;
	fp_service_core_stats core_stats;
	fp_service_map_stats map_stats;
};

extern const struct call service_calls[];
extern const struct field service_fields[], service_core_fields[], service_map_fields[];

/* A status of the script: a number, or the name of an error. */
int32_t status_of(const json_t *v);

#endif
