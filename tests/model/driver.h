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
 * scenario, and redundant orders to the end. A named scenario is explored to its end.
 */
#ifndef MODEL_DRIVER_H
#define MODEL_DRIVER_H

#include "explorer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a big scenario, which takes minutes: it would take days, and is cut. */
#define MODEL_ENDLESS 2

struct model_suite {
	int scenarios;
	int forms; /* 2; 1: the code has no runs of generation bytes */
	const char *(*name)(int scenario);
	int (*big)(int scenario); /* not 0: for LIBFP_TEST_SCALE=proof only */
	/* Makes the scenario ready to be explored. */
	void (*prepare)(int scenario, struct ex_test *test);
};

/* The rest of a model program whose scenarios are in `table`. */
#define MODEL_SUITE_MAIN(table, n_forms, prepare_scenario)                            \
	static const char *suite_name(int i)                                          \
	{                                                                             \
		return table[i].name;                                                 \
	}                                                                             \
	static int suite_big(int i)                                                   \
	{                                                                             \
		return table[i].big;                                                  \
	}                                                                             \
	static void suite_prepare(int i, struct ex_test *test)                        \
	{                                                                             \
		prepare_scenario(&table[i], test);                                    \
	}                                                                             \
	int main(int argc, char **argv)                                               \
	{                                                                             \
		static const struct model_suite suite = { sizeof(table) /             \
								  sizeof(table[0]),   \
							  n_forms, suite_name,        \
							  suite_big, suite_prepare }; \
		return model_main(argc, argv, &suite);                                \
	}

int model_main(int argc, char **argv, const struct model_suite *suite);

#ifdef __cplusplus
}
#endif

#endif
