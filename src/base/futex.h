/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The futex calls, private to the process. They are no cancellation points
 * and leave errno alone, as every function of the library must.
 */
#ifndef FPI_BASE_FUTEX_H
#define FPI_BASE_FUTEX_H

#include <stdint.h>

#define FPI_FUTEX_ANY UINT32_MAX /* all bits: every sleeper, every wake */

/*
 * Sleeps while *word == expected, without limit. Returns after a wake, a
 * signal, or at once if the word differs: the caller looks again.
 */
void fpi_futex_wait(uint32_t *word, uint32_t expected);

/* Wakes up to n sleepers. */
void fpi_futex_wake(uint32_t *word, uint32_t n);

/*
 * Sleeps while *word == expected, until a wake that has one of `bits` (not 0) in common,
 * or until deadline_ns of base/clock.h.
 *
 * Returns 0: woken; -EAGAIN: the word differs; -ETIMEDOUT; -EINTR: for no reason.
 */
int fpi_futex_wait_until(uint32_t *word, uint32_t expected, uint32_t bits,
			 uint64_t deadline_ns);

/* Wakes every sleeper that has one of `bits` (not 0) in common. */
void fpi_futex_wake_bits(uint32_t *word, uint32_t bits);

#endif
