/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios of the index ring (ST producer, ST consumer).
 */
#include "ring_scenario.h"

#define ST_ST .producer = LIBFP_ST, .consumer = LIBFP_ST

/* clang-format off */
static const struct ring_scenario table[] = {
	/* each path alone against the other side: empty, half, full */
	{ "one-empty", { "eee", "ddd" }, ST_ST, .capacity = 2 },
	{ "one-half", { "eee", "ddd" }, ST_ST, .capacity = 2, .fill = 1 },
	{ "one-full", { "eee", "ddd" }, ST_ST, .capacity = 2, .fill = 2 },
	{ "one-cap1", { "eee", "ddd" }, ST_ST, .capacity = 1 },
	{ "one-cap3", { "eeee", "dddd" }, ST_ST, .capacity = 3, .fill = 2, .passed = 2 },
	{ "burst1-empty", { "iii", "jjj" }, ST_ST, .capacity = 2 },
	{ "burst1-full", { "iii", "jjj" }, ST_ST, .capacity = 2, .fill = 2 },
	{ "burst-empty", { "EE", "DD" }, ST_ST, .capacity = 3, .passed = 2 },
	{ "burst-full", { "EE", "DD" }, ST_ST, .capacity = 3, .fill = 3 },
	{ "burst-wrap", { "TEi", "UDj" }, ST_ST, .capacity = 4, .fill = 2, .passed = 3 },
	{ "many-empty", { "TT", "UU" }, ST_ST, .capacity = 6 },
	{ "many-full", { "TT", "UU" }, ST_ST, .capacity = 4, .fill = 4, .passed = 1 },
	{ "many-size12", { "TT", "UU" }, ST_ST, .capacity = 4, .fill = 2, .elem_size = 12 },
	{ "bulk", { "BiB", "GjG" }, ST_ST, .capacity = 3, .fill = 1 },
	{ "mixed", { "eEe", "dDd" }, ST_ST, .capacity = 2, .fill = 1 },
	/* other element sizes */
	{ "size4", { "iEi", "jDj" }, ST_ST, .capacity = 3, .fill = 1, .elem_size = 4 },
	{ "size12", { "iEi", "jDj" }, ST_ST, .capacity = 3, .fill = 1, .elem_size = 12 },
	/* spans: all, some, none; peek */
	{ "span-empty", { "RRQ", "YYy" }, ST_ST, .capacity = 2 },
	{ "span-full", { "QAR", "yzY" }, ST_ST, .capacity = 3, .fill = 3 },
	{ "span-mixed", { "eRi", "dYj" }, ST_ST, .capacity = 2, .fill = 2, .passed = 1 },
	{ "peek", { "ee", "kdkdkj" }, ST_ST, .capacity = 2 },
	/* close: the producer's last word */
	{ "close-empty", { "epc", "ddd" }, ST_ST, .capacity = 2 },
	{ "close-full", { "epcei", "dddd" }, ST_ST, .capacity = 2, .fill = 2 },
	{ "close-burst", { "EpcE", "DGj" }, ST_ST, .capacity = 3, .fill = 1 },
	{ "close-span", { "ocxi", "Ykjd" }, ST_ST, .capacity = 2, .fill = 1 },
	/* no false "full", no false "empty" */
	{ "must-put", { "wee", "dds" }, ST_ST, .capacity = 2, .fill = 2, .must = 1 },
	{ "must-take", { "ees", "wdd" }, ST_ST, .capacity = 2, .must = 1 },
	/* a third thread counts: never below what must be inside */
	{ "count", { "ei", "dj", "nn" }, ST_ST, .capacity = 4, .fill = 2 },
	{ "count-up", { "ee", "dd", "n" }, ST_ST, .capacity = 8, .fill = 3, .count_min = 1,
	  .count_max = 5 },
	{ "count-over", { "e", "dd", "n" }, ST_ST, .capacity = 4, .fill = 1, .count_max = 2 },
};
/* clang-format on */

MODEL_SUITE_MAIN(table, 2, ring_scenario_prepare)
