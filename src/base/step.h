/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Named steps inside lock-free operations, where a test can hold a thread.
 * Nothing in the product; the test build (FPI_TEST_STEPS) calls out.
 */
#ifndef FPI_BASE_STEP_H
#define FPI_BASE_STEP_H

#ifdef FPI_TEST_STEPS
#include "base/atomic.h"

extern void (*fpi_test_step)(const char *step); /* defined by the test */
#define FPI_STEP(name)                                                           \
	do {                                                                     \
		void (*step_)(const char *step) = FPI_TEST_LOAD(&fpi_test_step); \
		if (step_)                                                       \
			step_(#name);                                            \
	} while (0)
#else
#define FPI_STEP(name) ((void)0)
#endif

#endif
