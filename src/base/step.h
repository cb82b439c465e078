/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Named steps inside lock-free operations, where a test can hold a thread.
 * Nothing in the product; the test build (FPI_TEST_STEPS) calls out.
 */
#ifndef FPI_BASE_STEP_H
#define FPI_BASE_STEP_H

#ifdef FPI_TEST_STEPS
extern void (*fpi_test_step)(const char *step); /* defined by the test */
/* Atomic: a test may set it while threads of the library run. */
#define FPI_STEP(name)                                                     \
	do {                                                               \
		void (*step_)(const char *step) =                          \
			__atomic_load_n(&fpi_test_step, __ATOMIC_ACQUIRE); \
		if (step_)                                                 \
			step_(#name);                                      \
	} while (0)
#else
#define FPI_STEP(name) ((void)0)
#endif

#endif
