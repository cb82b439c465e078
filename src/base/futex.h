/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The futex calls, private to the process. They are no cancellation points
 * and leave errno alone, as every function of the library must.
 */
#ifndef FPI_BASE_FUTEX_H
#define FPI_BASE_FUTEX_H

#include <stdint.h>

/*
 * Sleeps while *word == expected, without limit. Returns after a wake, a
 * signal, or at once if the word differs: the caller looks again.
 */
void fpi_futex_wait(uint32_t *word, uint32_t expected);

/* Wakes up to n sleepers. */
void fpi_futex_wake(uint32_t *word, uint32_t n);

#endif
