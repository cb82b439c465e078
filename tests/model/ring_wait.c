/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios of waiting for rings; see ring_wait_scenario.h.
 */
#include "ring_wait_scenario.h"

/* clang-format off */
static const struct ring_wait_scenario table[] = {
	/* index ring */
	{ "index", { "w", "e" }, .capacity = 1, .producer = LIBFP_ST, .consumer = LIBFP_ST },
	{ "index-full", { "p", "d" }, .capacity = 1, .fill = 1, .producer = LIBFP_ST,
	  .consumer = LIBFP_ST },
	{ "index-late", { "w", "e" }, .capacity = 1, .producer = LIBFP_ST,
	  .consumer = LIBFP_ST, .timeouts = 1 },
	{ "index-fenced", { "w", "e" }, .capacity = 1, .producer = LIBFP_ST,
	  .consumer = LIBFP_ST, .bound = BOUND_FENCED },
	{ "index-ping-pong", { "ww", "ee" }, .capacity = 1, .producer = LIBFP_ST,
	  .consumer = LIBFP_ST },
	{ "index-both-wait", { "pp", "ww" }, .capacity = 1, .producer = LIBFP_ST,
	  .consumer = LIBFP_ST, .big = 1 },
	{ "index-both", { "pp", "w" }, .capacity = 1, .producer = LIBFP_ST,
	  .consumer = LIBFP_ST, .big = 1 },
	{ "index-close", { "w", "c" }, .capacity = 1, .producer = LIBFP_ST,
	  .consumer = LIBFP_ST },
	/* generation ring */
	{ "gens", { "w", "0" }, .capacity = 2, .spans = 1 },
	{ "gens-late", { "w", "0" }, .capacity = 2, .spans = 1, .timeouts = 1 },
	{ "gens-enqueue", { "w", "e" }, .capacity = 1 },
	{ "gens-full", { "p", "d" }, .capacity = 1, .fill = 1 },
	{ "gens-bound", { "w", "0" }, .capacity = 2, .spans = 1, .bound = BOUND },
	{ "gens-fenced", { "w", "0" }, .capacity = 2, .spans = 1, .bound = BOUND_FENCED },
	{ "gens-fenced-late", { "w", "0" }, .capacity = 2, .spans = 1, .bound = BOUND_FENCED,
	  .timeouts = 1 },
	{ "gens-fenced-nap", { "w", "0" }, .capacity = 2, .spans = 1, .bound = BOUND_FENCED,
	  .timeouts = EX_NEVER },
	{ "gens-poll", { "w", "0" }, .capacity = 2, .spans = 1, .no_membarrier = 1 },
	{ "readable", { "r", "0" }, .capacity = 2, .spans = 1 },
	{ "writable", { "q", "d" }, .capacity = 1, .fill = 1 },
	{ "together", { "W", "0", "1" }, .capacity = 2, .spans = 2 },
	{ "timeout", { "t", "0" }, .capacity = 2, .spans = 1, .timeouts = 1 },
	/* two signallers, or two waiters */
	{ "two-signal", { "w", "0", "1" }, .capacity = 2, .spans = 2 },
	{ "two-wait", { "w", "w", "0" }, .capacity = 2, .spans = 1, .big = 1 },
	/* one wake-up for two: the first hands on */
	{ "hand-on", { "w", "w", "E" }, .capacity = 2, .asleep = 2 },
	{ "hand-on-slots", { "p", "p", "T" }, .capacity = 2, .fill = 2, .asleep = 2 },
	{ "hand-on-timeout", { "t", "w", "E" }, .capacity = 2, .timeouts = 1,
	  .big = MODEL_ENDLESS },
	{ "for-all", { "W", "w", "0" }, .capacity = 2, .spans = 1, .asleep = 2 },
	{ "for-all-readable", { "r", "w", "0" }, .capacity = 2, .spans = 1, .asleep = 2 },
	{ "hand-on-readable", { "w", "r", "0" }, .capacity = 2, .spans = 1, .asleep = 2 },
	{ "disorder", { "w", "w", "10" }, .capacity = 2, .spans = 2, .asleep = 2,
	  .big = MODEL_ENDLESS },
	{ "disorder-two", { "w", "w", "0", "1" }, .capacity = 2, .spans = 2, .asleep = 2,
	  .big = MODEL_ENDLESS },
	{ "thief", { "w", "e", "d" }, .capacity = 1, .asleep = 1 },
	{ "thief-awake", { "w", "e", "d" }, .capacity = 1 },
	/* interrupts */
	{ "interrupt", { "w", "x" }, .capacity = 2 },
	{ "interrupt-late", { "w", "x" }, .capacity = 2, .timeouts = 1 },
	{ "interrupt-producer", { "p", "X" }, .capacity = 1, .fill = 1 },
	{ "interrupt-beside", { "w", "x", "0" }, .capacity = 2, .spans = 1 },
	{ "interrupt-bound", { "w", "x" }, .capacity = 2, .bound = BOUND, .timeouts = 1 },
	/* the end */
	{ "close", { "w", "c" }, .capacity = 2 },
	{ "close-late", { "w", "c" }, .capacity = 2, .timeouts = 1 },
	{ "close-two", { "w", "w", "c" }, .capacity = 2, .asleep = 2 },
	{ "close-producer", { "p", "c" }, .capacity = 1, .fill = 1 },
	{ "close-blocked", { "w", "c", "0" }, .capacity = 2, .spans = 1 },
	{ "destroy", { "w", "veD" }, .capacity = 1 },
};
/* clang-format on */

MODEL_SUITE_MAIN(table, 1, ring_wait_scenario_prepare)
