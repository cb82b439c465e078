/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A function of the test build of the library that has changed its meaning: it
 * was to say 1, and is now to say 2. See answer.c, test_symver.py.
 */
#ifndef LIBFP_TESTS_ABI_ANSWER_H
#define LIBFP_TESTS_ABI_ANSWER_H

int fp_symver_answer(void);

#endif
