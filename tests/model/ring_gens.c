/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios of the generation ring (an MT side). The model build has one lap
 * bit (FPI_RING_LAP_BITS), so generations wrap every second lap.
 */
#include "ring_scenario.h"

#define MT_MT .producer = LIBFP_MT, .consumer = LIBFP_MT
#define ST_MT .producer = LIBFP_ST, .consumer = LIBFP_MT
#define MT_ST .producer = LIBFP_MT, .consumer = LIBFP_ST

/* clang-format off */
static const struct ring_scenario table[] = {
	/* two of each side, each path: one by value, burst of one, bursts */
	{ "one-empty", { "e", "e", "d", "d" }, MT_MT, .capacity = 2 },
	{ "one-half", { "e", "e", "d", "d" }, MT_MT, .capacity = 2, .fill = 1 },
	{ "one-full", { "e", "e", "d", "d" }, MT_MT, .capacity = 2, .fill = 2 },
	{ "one-cap1", { "e", "e", "d", "d" }, MT_MT, .capacity = 1 },
	{ "burst1-empty", { "i", "i", "j", "j" }, MT_MT, .capacity = 2 },
	{ "burst1-full", { "i", "i", "j", "j" }, MT_MT, .capacity = 2, .fill = 2 },
	{ "burst-empty", { "E", "E", "D", "D" }, MT_MT, .capacity = 4 },
	{ "burst-full", { "E", "E", "D", "D" }, MT_MT, .capacity = 4, .fill = 4 },
	{ "burst-wrap", { "E", "E", "D", "D" }, MT_MT, .capacity = 3, .fill = 1,
	  .passed = 1 },
	{ "burst-half", { "E", "i", "D", "j" }, MT_MT, .capacity = 2, .fill = 1 },
	{ "bulk", { "B", "e", "G", "d" }, MT_MT, .capacity = 3, .fill = 1, .passed = 2 },
	/* more than FPI_RING_FEW */
	{ "many-empty", { "T", "U" }, MT_MT, .capacity = 6 },
	{ "many-full", { "T", "U" }, MT_MT, .capacity = 3, .fill = 3 },
	{ "many-2p", { "T", "i", "U" }, MT_MT, .capacity = 4, .fill = 3, .passed = 1 },
	{ "many-size12", { "T", "U" }, MT_MT, .capacity = 3, .elem_size = 12 },
	{ "many-sp", { "TT", "U" }, ST_MT, .capacity = 3, .fill = 3 },
	{ "many-sc", { "T", "UU" }, MT_ST, .capacity = 3 },
	{ "3p1c-empty", { "e", "e", "e", "d" }, MT_MT, .capacity = 2 },
	{ "3p1c-full", { "e", "e", "e", "d" }, MT_MT, .capacity = 2, .fill = 2 },
	{ "1p2c-empty", { "ee", "d", "d" }, MT_MT, .capacity = 2 },
	{ "1p2c-full", { "e", "dd", "d" }, MT_MT, .capacity = 2, .fill = 2 },
	{ "alternating", { "ed", "e", "d" }, MT_MT, .capacity = 2 },
	{ "alternating-full", { "de", "e", "d" }, MT_MT, .capacity = 2, .fill = 2 },
	{ "size12", { "iE", "i", "jD" }, MT_MT, .capacity = 3, .fill = 1, .elem_size = 12 },
	/* generations wrap behind the back of a thread */
	{ "wrap-put", { "ede", "e" }, MT_MT, .capacity = 1 },
	{ "wrap-take", { "ded", "d" }, MT_MT, .capacity = 1, .fill = 1 },
	{ "wrap-put-burst1", { "iji", "i" }, MT_MT, .capacity = 1 },
	{ "wrap-take-burst1", { "jij", "j" }, MT_MT, .capacity = 1, .fill = 1 },
	{ "wrap-put-burst", { "EDE", "E" }, MT_MT, .capacity = 2 },
	{ "wrap-take-burst", { "DED", "D" }, MT_MT, .capacity = 2, .fill = 2 },
	{ "wrap-put-many", { "TUT", "T" }, MT_MT, .capacity = 3 },
	{ "wrap-take-many", { "UTU", "U" }, MT_MT, .capacity = 3, .fill = 3 },
	{ "wrap-both", { "eded", "ed" }, MT_MT, .capacity = 1 },
	/* one side ST */
	{ "sp2c-empty", { "ee", "d", "d" }, ST_MT, .capacity = 2 },
	{ "sp2c-full", { "eE", "d", "D" }, ST_MT, .capacity = 2, .fill = 2 },
	{ "sp2c-wrap", { "eee", "dd", "d" }, ST_MT, .capacity = 1 },
	{ "2psc-empty", { "e", "e", "dd" }, MT_ST, .capacity = 2 },
	{ "2psc-full", { "e", "E", "dD" }, MT_ST, .capacity = 2, .fill = 2 },
	{ "2psc-wrap", { "ee", "e", "ddd" }, MT_ST, .capacity = 1 },
	/* spans; void slots */
	{ "span", { "R", "e", "Y", "d" }, MT_MT, .capacity = 3, .fill = 1 },
	{ "span-wrap", { "R", "Y", "R" }, MT_MT, .capacity = 3, .fill = 2, .passed = 2 },
	{ "void-all", { "A", "j", "j" }, MT_MT, .capacity = 2 },
	{ "void-all-beside", { "A", "i", "j" }, MT_MT, .capacity = 3 },
	{ "void-rest", { "Q", "e", "D", "d" }, MT_MT, .capacity = 3 },
	{ "void-front", { "a", "i", "jj" }, MT_MT, .capacity = 3 },
	{ "void-middle", { "Qi", "D", "G" }, MT_MT, .capacity = 3 },
	{ "void-span", { "Qi", "Y", "Y" }, MT_MT, .capacity = 3 },
	{ "void-wrap", { "aia", "jj" }, MT_MT, .capacity = 1 },
	{ "void-wrap2", { "AiA", "jj" }, MT_MT, .capacity = 2 },
	{ "void-both", { "Qa", "D", "j" }, MT_MT, .capacity = 4 },
	{ "void-reuse", { "a", "j", "i" }, MT_MT, .capacity = 1 },
	{ "void-walk-reuse", { "Qii", "D" }, MT_MT, .capacity = 3 },
	{ "void-sc-reuse", { "a", "j", "i" }, MT_ST, .capacity = 1 },
	{ "void-sc", { "Q", "i", "DkU" }, MT_ST, .capacity = 3 },
	{ "span-sc", { "R", "i", "kYyz" }, MT_ST, .capacity = 3 },
	{ "span-sp", { "RQA", "Y", "d" }, ST_MT, .capacity = 3, .fill = 1 },
	/* a span committed twice, one after the other: refused, whatever the slot is now */
	{ "twice", { "mm", "j" }, MT_MT, .capacity = 2, .span = 1 },
	{ "twice-reused", { "mm", "ji" }, MT_MT, .capacity = 1, .span = 1 },
	/* close */
	{ "close-1p", { "epc", "d", "d" }, MT_MT, .capacity = 2 },
	{ "close-2p", { "e", "pc", "dd" }, MT_MT, .capacity = 2 },
	{ "close-2p2c", { "e", "pc", "d", "d" }, MT_MT, .capacity = 2, .fill = 1 },
	{ "close-full", { "e", "ic", "dd" }, MT_MT, .capacity = 1, .fill = 1 },
	{ "close-2c", { "c", "c", "e", "dd" }, MT_MT, .capacity = 2 },
	{ "close-burst", { "Epc", "E", "DG" }, MT_MT, .capacity = 4, .fill = 1 },
	{ "close-span", { "ocx", "dd", "d" }, MT_MT, .capacity = 2 },
	{ "close-void", { "apc", "j", "j" }, MT_MT, .capacity = 2 },
	{ "close-sp", { "epcei", "d", "d" }, ST_MT, .capacity = 2 },
	{ "close-sp-span", { "ocxi", "D" }, ST_MT, .capacity = 2, .fill = 1 },
	{ "close-sc", { "e", "epc", "dkYj" }, MT_ST, .capacity = 2 },
	/* no false "full", no false "empty" */
	{ "must-put", { "e", "e", "dd" }, MT_MT, .capacity = 4, .fill = 2, .must = 1 },
	{ "must-take", { "d", "d", "ee" }, MT_MT, .capacity = 4, .fill = 2, .must = 1 },
	{ "must-put-burst", { "E", "E", "D" }, MT_MT, .capacity = 8, .fill = 4, .must = 1 },
	{ "must-take-burst", { "D", "D", "E" }, MT_MT, .capacity = 8, .fill = 4, .must = 1 },
	/* overtaken on each way in: by value, common path, long way */
	{ "must-put-chased", { "e", "eii" }, MT_MT, .capacity = 4, .must = 1 },
	{ "must-take-chased", { "d", "djj" }, MT_MT, .capacity = 4, .fill = 4, .must = 1 },
	{ "must-bulk-chased", { "B", "ee" }, MT_MT, .capacity = 4, .must = 1 },
	{ "must-bulk-taken", { "G", "dd" }, MT_MT, .capacity = 4, .fill = 4, .must = 1 },
	{ "must-hand-over", { "es", "wd" }, MT_MT, .capacity = 2, .must = 1 },
	{ "must-hand-back", { "ds", "we" }, MT_MT, .capacity = 2, .fill = 2, .must = 1 },
	/* a third party counts */
	{ "count", { "e", "d", "nn" }, MT_MT, .capacity = 4, .fill = 2, .count_min = 1,
	  .count_max = 3 },
	{ "count-mc", { "e", "dd", "n" }, MT_MT, .capacity = 4, .fill = 1, .count_max = 2 },
	{ "count-sc", { "e", "jj", "n" }, MT_ST, .capacity = 4, .fill = 1, .count_max = 2 },
	{ "count-sp", { "i", "dd", "n" }, ST_MT, .capacity = 4, .fill = 1, .count_max = 2 },
	/* more of everything */
	{ "big-2p2c", { "ee", "e", "dd", "d" }, MT_MT, .capacity = 2, .fill = 1, .big = 1 },
	{ "big-alternating", { "ed", "ed", "de" }, MT_MT, .capacity = 2, .fill = 1, .big = 1 },
	{ "big-3p2c", { "e", "e", "e", "d", "d" }, MT_MT, .capacity = 2, .fill = 2, .big = 1 },
	{ "big-burst", { "E", "T", "D", "U" }, MT_MT, .capacity = 4, .fill = 2, .big = 1 },
	{ "big-close", { "E", "ic", "D", "j" }, MT_MT, .capacity = 3, .fill = 1, .big = 1 },
	/* attach sees a complete ring or none */
	{ "attach", { "I", "H", "H" }, MT_MT, .capacity = 2, .unborn = 1 },
	{ "count-free", { "ed", "n" }, MT_MT, .capacity = 2, .passed = 1, .count_max = 1 },
};
/* clang-format on */

MODEL_SUITE_MAIN(table, 2, ring_scenario_prepare)
