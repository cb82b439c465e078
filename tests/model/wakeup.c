/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios of wake-ups; see wakeup_scenario.h. What only rings do with theirs (naps, one
 * wake-up for one waiter) is in ring_wait.c.
 *
 * Whether cores can sleep on one epoch for any number of wake-ups, with a mask each, was
 * open until these scenarios answered it: they can, in the order of wakeup_cores.c.
 */
#include "wakeup_scenario.h"

/* clang-format off */
#define ALL .kind = FPI_WAKEUP_ALL
#define FENCED .kind = FPI_WAKEUP_ALL, .flags = LIBFP_WAKEUP_FENCE
#define CORES .kind = FPI_WAKEUP_CORES

static const struct wakeup_scenario table[] = {
	/* prepare and wait */
	{ "one", { "a", "0" }, ALL },
	{ "one-fenced", { "a", "0" }, FENCED },
	{ "one-poll", { "a", "0" }, ALL, .no_membarrier = 1 },
	{ "two-signal", { "c", "0", "1" }, ALL },
	{ "two-signal-fenced", { "c", "0", "1" }, FENCED },
	{ "two-sleep", { "a", "a", "0" }, ALL, .asleep = 1 },
	{ "two-sleep-fenced", { "a", "a", "0" }, FENCED },
	{ "two-sleep-awake", { "a", "a", "0" }, ALL, .big = 1 },
	{ "two-one", { "a", "b", "0" }, ALL, .asleep = 2 },
	{ "two-in-turn", { "a", "b", "01" }, ALL, .asleep = 2, .big = 1 },
	{ "two-two", { "a", "b", "0", "1" }, ALL, .asleep = 2, .big = 1 },
	{ "two-two-fenced", { "a", "b", "0", "1" }, FENCED, .asleep = 2, .big = 1 },
	{ "two-two-awake", { "a", "b", "0", "1" }, ALL, .asleep = 1,
	  .big = MODEL_ENDLESS },
	{ "in-vain", { "a", "s0" }, ALL },
	{ "timeout", { "t", "0" }, ALL, .timeouts = 1 },
	{ "zero", { "z", "0" }, ALL },
	/* interrupts */
	{ "interrupt", { "a", "x" }, ALL },
	{ "interrupt-two", { "a", "b", "x" }, ALL, .asleep = 1 },
	{ "interrupt-beside", { "a", "x", "0" }, ALL },
	{ "interrupt-zero", { "z", "x" }, ALL },
	{ "interrupt-again", { "aa", "x", "0" }, ALL },
	/* the descriptor */
	{ "fd", { "f", "0" }, ALL },
	{ "fd-fenced", { "f", "0" }, FENCED },
	{ "fd-new", { "f", "0" }, ALL, .new_fd = 1 },
	{ "fd-at-once", { "f", "0" }, ALL, .at_once = 1 },
	{ "fd-both", { "h", "0", "1" }, ALL },
	{ "fd-both-one", { "h", "01" }, ALL },
	{ "fd-both-fenced", { "h", "0", "1" }, FENCED },
	{ "fd-in-vain", { "f", "s", "0" }, ALL },
	{ "fd-and-sleeper", { "b", "f", "0", "1" }, ALL, .asleep = 1,
	  .big = MODEL_ENDLESS },
	{ "fd-and-sleeper-one", { "a", "f", "0" }, ALL, .asleep = 1 },
	/* service cores */
	{ "core", { "A", "0" }, CORES },
	{ "core-in-vain", { "A", "s0" }, CORES },
	{ "core-in-vain-two", { "A", "s", "0" }, CORES },
	{ "core-two-services", { "C", "0", "1" }, CORES },
	{ "core-two-in-turn", { "C", "01" }, CORES },
	{ "two-cores", { "A", "E", "0" }, CORES, .asleep = 1 },
	{ "two-cores-awake", { "A", "E", "0" }, CORES, .big = 1 },
	{ "two-cores-apart", { "A", "F", "0", "1" }, CORES, .asleep = 2 },
	{ "two-cores-one-bit", { "A", "F", "0" }, CORES, .one_bit = 1, .asleep = 2 },
	{ "two-cores-one-bit-apart", { "A", "F", "0", "1" }, CORES, .one_bit = 1, .asleep = 2,
	  .big = MODEL_ENDLESS },
	{ "two-cores-join", { "A", "F", "0", "1" }, CORES, .asleep = 1,
	  .big = MODEL_ENDLESS },
	{ "two-cores-both", { "C", "G", "0", "1" }, CORES, .asleep = 2,
	  .big = MODEL_ENDLESS },
	{ "two-cores-overlap", { "C", "E", "0" }, CORES, .asleep = 2 },
	{ "two-cores-overlap-both", { "C", "E", "01" }, CORES, .asleep = 2,
	  .big = MODEL_ENDLESS },
	/* the end */
	{ "unbind", { "u", "D" }, ALL, .bound = 1 },
	{ "unbind-two", { "u", "u", "D" }, ALL, .bound = 2 },
	{ "destroy", { "a", "v0D" }, ALL },
};
/* clang-format on */

MODEL_SUITE_MAIN(table, 1, wakeup_scenario_prepare)
