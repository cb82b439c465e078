/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenarios of timers; see timer_scenario.h. */
#include "timer_scenario.h"

/* clang-format off */
static const struct timer_scenario table[] = {
	/* two threads and one word */
	{ "cancel", { "p", "c" }, .armed = { 5 } },
	{ "cancel-burst", { "q", "c" }, .armed = { 5 } },
	{ "cancel-cancel", { "c", "c" }, .armed = { 5 }, .shared = 1 },
	{ "cancel-sync", { "p", "s" }, .armed = { 5 } },
	{ "cancel-sync-next", { "p", "s" }, .armed = { 5, 6 } },
	{ "cancel-rearmed", { "p", "c" }, .armed = { 5 }, .rearm = 1, .shared = 1 },
	{ "sync-rearmed", { "p", "s" }, .armed = { 5 }, .rearm = 1, .shared = 1 },
	{ "later", { "p", "l" }, .armed = { 5 } },
	{ "touch", { "p", "t" }, .armed = { 5 } },
	{ "touch-cancel", { "p", "t", "c" }, .armed = { 5 }, .big = 1 },
	{ "arm-arm", { "a", "l" }, .armed = { 0 }, .owner = 5, .shared = 1 },
	/* lanes */
	{ "arm", { "p", "a" }, .armed = { 0 } },
	{ "arm-twice", { "p", "al" }, .armed = { 0 } },
	{ "arm-polls", { "pp", "a" }, .armed = { 0 } },
	{ "arm-both", { "p", "ab" }, .armed = { 0 } },
	{ "arm-both-polls", { "pp", "ab" }, .armed = { 0 } },
	{ "arm-apart", { "p", "a", "b" }, .armed = { 0 } },
	{ "arm-apart-polls", { "pp", "a", "b" }, .armed = { 0 }, .big = 1 },
	{ "earlier", { "p", "e" }, .armed = { 5 } },
	{ "earlier-polls", { "pp", "e" }, .armed = { 5 } },
	{ "arm-cancel", { "p", "ac" }, .armed = { 0 } },
	{ "arm-then-cancel", { "p", "a", "c" }, .armed = { 0 }, .shared = 1 },
	{ "arm-shared", { "p", "a", "l" }, .armed = { 0 }, .shared = 1, .big = 1 },
	/* the wheel changes hands */
	{ "owner", { "p", "a" }, .armed = { 0 }, .owner = 1 },
	{ "owner-armed", { "p", "e" }, .armed = { 5 }, .owner = 1 },
	{ "two-polls", { "p", "p" }, .armed = { 5 } },
	{ "poll-then-arm", { "pa", "p" }, .armed = { 5 } },
	/* destroy */
	{ "destroy", { "p", "d" }, .armed = { 5 } },
	{ "destroy-sync", { "p", "D" }, .armed = { 5 } },
	{ "destroy-polls", { "pp", "d" }, .armed = { 5 } },
	{ "destroy-owner", { "p", "d" }, .armed = { 5 }, .owner = 1 },
	{ "destroy-queued", { "p", "ad" }, .armed = { 0 } },
	{ "destroy-arm", { "a", "d" }, .armed = { 0 }, .owner = 5 },
	{ "destroy-destroy", { "d", "d" }, .armed = { 5 }, .owner = 5 },
	{ "destroy-make", { "p", "d", "m" }, .armed = { 5 }, .big = 1 },
	{ "make", { "p", "m" }, .armed = { 0 } },
	{ "make-anew", { "dm", "k" }, .armed = { 5 } },
	{ "make-count", { "k", "m" }, .armed = { 0 }, .owner = 5 },
	/* asking and sleeping */
	{ "next", { "p", "n" }, .armed = { 0 } },
	{ "next-polls", { "pp", "n" }, .armed = { 0 } },
	{ "next-armed", { "p", "n" }, .armed = { 5 } },
	{ "sleep", { "w", "a" }, .armed = { 0 }, .asleep = 1 },
	{ "sleep-falling", { "w", "a" }, .armed = { 0 } },
	{ "sleep-fence", { "w", "a" }, .armed = { 0 }, .fence = 1 },
	{ "sleep-after", { "pw", "L" }, .armed = { 5 } },
	{ "sleep-after-fence", { "pw", "L" }, .armed = { 5 }, .fence = 1 },
	{ "sleep-owner", { "w", "a" }, .armed = { 0 }, .owner = 1 },
	{ "sleep-later", { "w", "la" }, .armed = { 0 }, .asleep = 1 },
	{ "sleep-beside", { "w", "a", "p" }, .armed = { 0 }, .asleep = 1, .big = 1 },
};
/* clang-format on */

MODEL_SUITE_MAIN(table, 1, timer_scenario_prepare)
