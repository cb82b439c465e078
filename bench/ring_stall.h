/* SPDX-License-Identifier: BSD-2-Clause */
/* ring_stall.h - the row of the stalled producer; see ring_stall.c. */
#ifndef BENCH_RING_STALL_H
#define BENCH_RING_STALL_H

#include "ring_contestant.h"

/* Measures one contestant for twice `seconds` and writes a line. */
void ring_stall_run(struct bench *bench, const struct ring_contestant *contestant,
		    double seconds);

#endif
