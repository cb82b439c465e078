/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenarios of services; see service_scenario.h. */
#include "service_scenario.h"

/* clang-format off */
#define PARALLEL .mt_safe = 1
#define SERIAL .mt_safe = 0

static const struct service_scenario table[] = {
	/* the handshake of a stop */
	{ "stop", { "1", "s" }, { "0" }, PARALLEL },
	{ "stop-exchange", { "1", "s" }, { "0" }, PARALLEL, .exchange = 1 },
	{ "stop-loops", { "11", "s" }, { "0" }, PARALLEL },
	{ "stop-loops-exchange", { "11", "s" }, { "0" }, PARALLEL, .exchange = 1 },
	{ "stop-stay", { "2", "s" }, { "0" }, PARALLEL },
	{ "stop-beside", { "1", "s" }, { "0", "0" }, PARALLEL },
	{ "stop-both", { "1", "sS" }, { "0", "0" }, PARALLEL },
	{ "barrier", { "1", "b", "s" }, { "0" }, PARALLEL, .big = MODEL_ENDLESS },
	{ "barrier-exchange", { "1", "b", "s" }, { "0" }, PARALLEL, .exchange = 1 },
	{ "stop-apart", { "1", "s", "S" }, { "0", "0" }, PARALLEL, .big = MODEL_ENDLESS },
	{ "stop-leave", { "1l", "s" }, { "0" }, PARALLEL },
	{ "stop-start", { "11", "st" }, { "0" }, PARALLEL },
	{ "unmap", { "1", "u" }, { "0" }, PARALLEL },
	{ "start", { "1", "t" }, { "0" }, PARALLEL, .stopped = 1 },
	{ "start-stop", { "11", "tS" }, { "0", "0" }, PARALLEL, .stopped = 1 },
	{ "start-stop-exchange", { "11", "tS" }, { "0", "0" }, PARALLEL, .stopped = 1,
	  .exchange = 1, .big = 1 },
	{ "stop-start-stop", { "1", "sts" }, { "0" }, PARALLEL, .big = 1 },
	{ "two-cores", { "1", "5", "s" }, { "01" }, PARALLEL, .big = 1 },
	/* looking at wake-ups */
	{ "nap", { "n", "s" }, { "0" }, PARALLEL },
	{ "nap-exchange", { "n", "s" }, { "0" }, PARALLEL, .exchange = 1 },
	{ "nap-look", { "N", "s" }, { "0" }, PARALLEL, .big = 1 },
	{ "nap-beside", { "n", "s" }, { "0", "0" }, PARALLEL },
	{ "nap-beside-exchange", { "n", "s" }, { "0", "0" }, PARALLEL, .exchange = 1 },
	/* a serialised service: who has the bias */
	{ "serial-stop", { "1", "s" }, { "0" }, SERIAL },
	{ "serial-stop-exchange", { "1", "s" }, { "0" }, SERIAL, .exchange = 1 },
	{ "bias-once", { "1", "r" }, { "0" }, SERIAL },
	{ "bias-once-exchange", { "1", "r" }, { "0" }, SERIAL, .exchange = 1 },
	{ "bias-once-loops", { "11", "r" }, { "0" }, SERIAL, .big = 1 },
	{ "bias-once-loops-exchange", { "11", "r" }, { "0" }, SERIAL, .exchange = 1, .big = 1 },
	{ "bias-map", { "1", "m5" }, { "0" }, SERIAL },
	{ "bias-map-loops", { "11", "m5" }, { "0" }, SERIAL, .big = 1 },
	{ "bias-move", { "1", "um5" }, { "0" }, SERIAL },
	{ "bias-unmap", { "11", "vr" }, { "0" }, SERIAL, .exchange = 1 },
	{ "bias-taken", { "r", "M1" }, { "" }, SERIAL, .exchange = 1 },
	{ "bias-restart", { "1", "stm5" }, { "0" }, SERIAL, .big = MODEL_ENDLESS },
	{ "bias-two-cores", { "1", "5", "m" }, { "0" }, SERIAL, .big = MODEL_ENDLESS },
	{ "serial-two-cores", { "1", "5" }, { "01" }, SERIAL },
	{ "serial-two-cores-stop", { "1", "5", "s" }, { "01" }, SERIAL,
	  .big = MODEL_ENDLESS },
	/* stopped from inside */
	{ "active", { "1", "a" }, { "0" }, PARALLEL },
	{ "active-exchange", { "1", "a" }, { "0" }, PARALLEL, .exchange = 1 },
	{ "active-once", { "r", "a" }, { "" }, SERIAL },
	/* threads of the caller's */
	{ "once-stop", { "r", "s" }, { "" }, SERIAL },
	{ "once-stop-parallel", { "r", "s" }, { "" }, PARALLEL },
	{ "once-two", { "r", "r" }, { "" }, SERIAL },
	{ "once-two-stop", { "r", "r", "s" }, { "" }, SERIAL },
	{ "once-two-stop-parallel", { "r", "r", "s" }, { "" }, PARALLEL },
	{ "once-core", { "r", "1" }, { "01" }, SERIAL },
	{ "once-core-stop", { "1", "r", "s" }, { "01" }, SERIAL, .big = 1 },
	{ "once-start", { "r", "st" }, { "" }, SERIAL },
};
/* clang-format on */

MODEL_SUITE_MAIN(table, 1, service_scenario_prepare)
