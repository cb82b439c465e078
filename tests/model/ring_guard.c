/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios of LIBFP_CHECKED: misuse is turned away before it does harm. Two
 * threads on an ST side, and destroy or reset beside calls, would be data races.
 */
#include "ring_scenario.h"

#define CHECKED(p, c) .producer = LIBFP_##p, .consumer = LIBFP_##c, .flags = LIBFP_CHECKED

/* clang-format off */
static const struct ring_scenario table[] = {
	/* two threads on one ST side */
	{ "two-producers", { "i", "i" }, CHECKED(ST, ST), .capacity = 2 },
	{ "two-consumers", { "j", "j" }, CHECKED(ST, ST), .capacity = 2, .fill = 2 },
	{ "two-and-one", { "i", "i", "j" }, CHECKED(ST, ST), .capacity = 2, .fill = 1 },
	{ "two-producers-gens", { "i", "i" }, CHECKED(ST, MT), .capacity = 2 },
	{ "two-consumers-gens", { "j", "j" }, CHECKED(MT, ST), .capacity = 2, .fill = 2 },
	/* one after the other is legal */
	{ "hand-over", { "is", "wi" }, CHECKED(ST, ST), .capacity = 2, .must = 1 },
	{ "hand-over-take", { "js", "wj" }, CHECKED(ST, ST), .capacity = 2, .fill = 2,
	  .must = 1 },
	/* one span committed by two threads at once */
	{ "twice", { "m", "m" }, CHECKED(MT, MT), .capacity = 2, .span = 1 },
	{ "twice-taken", { "m", "m", "j" }, CHECKED(MT, ST), .capacity = 2, .span = 1 },
	{ "twice-reused", { "m", "m", "ji" }, CHECKED(MT, MT), .capacity = 1, .span = 1,
	  .big = 1 },
	/* a call beside destroy, beside reset */
	{ "destroy", { "X", "i" }, CHECKED(MT, MT), .capacity = 2 },
	{ "destroy-two", { "X", "i", "j" }, CHECKED(MT, MT), .capacity = 2, .fill = 1 },
	{ "destroy-twice", { "X", "X", "i" }, CHECKED(MT, MT), .capacity = 2 },
	{ "reset", { "S", "i" }, CHECKED(MT, MT), .capacity = 2 },
	{ "reset-two", { "S", "ii" }, CHECKED(ST, ST), .capacity = 2 },
};
/* clang-format on */

MODEL_SUITE_MAIN(table, 2, ring_scenario_prepare)
