/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios of pools. The model build has two shards and four thread slots; a
 * magazine is half a cache, here one or two objects.
 */
#include "mempool_scenario.h"

/* clang-format off */
static const struct mempool_scenario table[] = {
	/* the depot alone */
	{ "depot", { "gp", "gp" }, .count = 2, .shard0 = 1 },
	{ "depot-one", { "gp", "g" }, .count = 1, .shard0 = 1 },
	{ "depot-put", { "pg", "pg" }, .count = 2, .held = { 1, 1 }, .must = 1 },
	{ "depot-three", { "gp", "gp", "gp" }, .count = 2, .shard0 = 1 },
	{ "depot-turns", { "gpg", "pgp", "gp" }, .count = 3, .held = { 0, 1 }, .shard0 = 1 },
	{ "depot-bulk", { "PG", "gp" }, .count = 4, .held = { 2 }, .shard0 = 1 },
	/* caches exchange magazines with the depot */
	{ "refill", { "g", "g" }, .count = 4, .cache_size = 2, .shard0 = 2, .must = 1 },
	{ "refill-last", { "g", "g" }, .count = 2, .cache_size = 2, .shard0 = 1 },
	{ "spill", { "ppp", "g" }, .count = 4, .cache_size = 2, .held = { 3 } },
	{ "spill-both", { "p", "p" }, .count = 6, .cache_size = 2, .held = { 1, 1 },
	  .cached = { 2, 2 } },
	{ "spill-last", { "p", "", "p" }, .count = 10, .cache_size = 2, .held = { 1, 0, 1 },
	  .cached = { 2, 0, 2 }, .shard0 = 4 },
	{ "swap", { "gg", "pp" }, .count = 4, .cache_size = 2, .cached = { 1, 1 },
	  .held = { 0, 2 } },
	{ "swap-three", { "gp", "pg", "gp" }, .count = 4, .cache_size = 2,
	  .cached = { 1 }, .held = { 0, 1 }, .shard0 = 1 },
	{ "cache-three", { "ggp", "pgg", "ppg" }, .count = 5, .cache_size = 2,
	  .cached = { 1, 1 }, .held = { 0, 1, 2 } },
	{ "bulk-three", { "GP", "PG", "gp" }, .count = 4, .held = { 0, 2 },
	  .shard0 = 1, .big = 1 },
	{ "two-each", { "ggg", "ppp" }, .count = 8, .cache_size = 4, .cached = { 2, 3 },
	  .held = { 0, 3 } },
	{ "two-puts-each", { "ppp", "ppp" }, .count = 8, .cache_size = 4, .cached = { 1, 1 },
	  .held = { 3, 3 } },
	{ "windows", { "zv", "zv" }, .count = 6, .cache_size = 4, .shard0 = 3 },
	{ "windows-one", { "zz", "vz" }, .count = 3, .cache_size = 2, .held = { 0, 1 } },
	{ "flush", { "f", "g" }, .count = 3, .cache_size = 2, .cached = { 2 } },
	{ "explicit", { "cxe", "g" }, .count = 3, .cache_size = 2, .shard0 = 1, .via = 1 },
	/* no false "empty": the depot always has enough */
	{ "steal", { "g", "ps", "wg" }, .count = 2, .held = { 0, 1 }, .shard0 = 1,
	  .must = 1 },
	{ "steal-back", { "ps", "wg", "g" }, .count = 2, .held = { 1 }, .must = 1 },
	{ "steal-cache", { "gg", "ps", "wg" }, .count = 4, .cache_size = 2,
	  .cached = { 1 }, .held = { 0, 1 }, .shard0 = 1, .must = 1 },
	/* all at once: all or nothing, and never nothing for no reason */
	{ "all-beside-get", { "G", "g" }, .count = 2, .shard0 = 1 },
	{ "all-beside-put", { "G", "p" }, .count = 2, .held = { 0, 1 }, .shard0 = 1 },
	{ "all-twice", { "G", "G" }, .count = 2, .shard0 = 1 },
	{ "all-cached", { "gG", "g" }, .count = 4, .cache_size = 2, .shard0 = 2 },
	{ "all-steal", { "G", "ps", "wg" }, .count = 3, .held = { 0, 1 }, .shard0 = 2,
	  .must = 1 },
	/* the exit of a thread */
	{ "exit-beside-get", { "E", "g" }, .count = 2, .cache_size = 2, .cached = { 1 } },
	{ "exit-two", { "E", "E" }, .count = 2, .cache_size = 2, .cached = { 1, 1 } },
	{ "exit-destroy", { "E", "X" }, .count = 2, .cache_size = 2, .cached = { 1 } },
	{ "exit-destroy-two", { "E", "X", "E" }, .count = 2, .cache_size = 2,
	  .cached = { 1, 0, 1 } },
	{ "exit-slot", { "Es", "w0gp" }, .count = 2, .cache_size = 2, .cached = { 1 },
	  .must = 1 },
	{ "exit-slot-spare", { "Es", "w0gp", "ggp" }, .count = 6, .cache_size = 4,
	  .counts = 1, .cached = { 2 }, .shard0 = 4 },
	{ "exit-spare", { "E", "g", "g" }, .count = 4, .cache_size = 2, .cached = { 1 } },
	{ "exit-reclaim", { "E", "r" }, .count = 2, .cache_size = 2, .cached = { 1 } },
	/* reclaim */
	{ "reclaim", { "rs", "pwpk" }, .count = 4, .cache_size = 4, .held = { 0, 2 },
	  .cached = { 0, 2 }, .k_max = 2 },
	{ "reclaim-again", { "Nr", "Nrs", "pwpk" }, .count = 4, .cache_size = 4,
	  .held = { 0, 0, 2 }, .cached = { 0, 0, 2 }, .k_max = 2 },
	{ "reclaim-twice", { "Nr", "Nr", "p" }, .count = 2, .cache_size = 2,
	  .held = { 0, 0, 1 }, .cached = { 0, 0, 1 } },
	{ "reclaim-new", { "r", "gp" }, .count = 2, .cache_size = 2 },
	{ "reclaim-checked", { "rs", "pwpk" }, .count = 4, .cache_size = 4,
	  .flags = LIBFP_STATS, .held = { 0, 2 }, .cached = { 0, 2 }, .k_max = 2 },
	/* counts */
	{ "count", { "gp", "n" }, .count = 2, .cache_size = 2 },
	{ "count-two", { "g", "p", "n" }, .count = 4, .cache_size = 2, .held = { 0, 1 },
	  .cached = { 1, 1 } },
	{ "count-depot", { "g", "g", "n" }, .count = 2, .flags = LIBFP_STATS },
	/* LIBFP_CHECKED: misuse is turned away before it does harm */
	{ "two-puts", { "d", "d" }, .count = 2, .flags = LIBFP_CHECKED, .shared = 1 },
	{ "put-of-two", { "D", "d" }, .count = 2, .flags = LIBFP_CHECKED, .shared = 1 },
	{ "put-damaged", { "d", "d" }, .count = 2, .flags = LIBFP_CHECKED, .shared = 1,
	  .damaged = 1 },
	{ "put-fresh", { "h", "d" }, .count = 1, .flags = LIBFP_CHECKED, .shared = 1,
	  .fresh = 1, .constructed = 1 },
	{ "leaks", { "h", "l" }, .count = 1, .flags = LIBFP_CHECKED, .shared = 1,
	  .fresh = 1 },
	{ "leaks-put-of-two", { "h", "D", "l" }, .count = 2, .flags = LIBFP_CHECKED,
	  .shared = 1, .fresh = 1 },
	{ "two-getters", { "g", "g" }, .count = 2,
	  .flags = LIBFP_CHECKED | LIBFP_POOL_ST_GET },
	{ "two-putters", { "p", "p" }, .count = 2, .held = { 1, 1 },
	  .flags = LIBFP_CHECKED | LIBFP_POOL_ST_PUT },
	{ "two-on-a-cache", { "x", "x" }, .count = 2, .cache_size = 2, .via = 1,
	  .flags = LIBFP_CHECKED },
	{ "destroy", { "Y", "g" }, .count = 2, .flags = LIBFP_CHECKED },
	{ "destroy-put", { "Y", "p" }, .count = 2, .held = { 0, 1 },
	  .flags = LIBFP_CHECKED },
};
/* clang-format on */

MODEL_SUITE_MAIN(table, 1, mempool_scenario_prepare)
