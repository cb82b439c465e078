/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every model program does with its scenarios; see README.md.
 *
 *	program scenarios [NAME...]
 *		every scenario (or the named ones) must be clean, in both forms
 *	program mutants CAUGHT REDUNDANT SOURCE...
 *		every FPI_MO order in the sources, weakened, must be noticed by
 *		the scenario that CAUGHT names, or be in REDUNDANT ("-": none)
 *	program learn CAUGHT REDUNDANT SOURCE...
 *		looks for scenarios that notice, and writes CAUGHT anew
 *	program trace SCENARIO SITE ORDER FORM
 *		explores one mutant under one scenario and prints the failure
 *
 * LIBFP_TEST_SCALE=proof: also the big scenarios, every mutant under every
 * scenario, and redundant orders to the end.
 */
#ifndef MODEL_DRIVER_H
#define MODEL_DRIVER_H

#include "explorer.h"

#ifdef __cplusplus
extern "C" {
#endif

struct model_suite {
	int scenarios;
	const char *(*name)(int scenario);
	int (*big)(int scenario); /* for LIBFP_TEST_SCALE=proof only */
	/* Makes the scenario ready to be explored. */
	void (*prepare)(int scenario, struct ex_test *test);
};

int model_main(int argc, char **argv, const struct model_suite *suite);

#ifdef __cplusplus
}
#endif

#endif
