/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C driver of the wake-ups' conformance script: runs wakeup.json on the library and
 * prints a line for each step that did not do what it should. README.md has the format.
 *
 *     wakeup_conformance wakeup.json
 *     wakeup_conformance --planted wakeup_planted.json
 */
#include "wakeup_calls.h"

static const struct field fields[] = {
	FIELD(fp_wakeup_stats, flags),		FIELD(fp_wakeup_stats, waiting),
	FIELD(fp_wakeup_stats, bound),		FIELD(fp_wakeup_stats, sleeps),
	FIELD(fp_wakeup_stats, wakes),		FIELD(fp_wakeup_stats, spurious),
	FIELD(fp_wakeup_stats, fallback_polls), FIELD(fp_wakeup_stats, fd_writes),
	FIELD(fp_wakeup_stats, interrupts),	{ 0 },
};

int main(int argc, char **argv)
{
	static const struct part part = {
		.name = "wakeup",
		.key = "wakeup",
		.otherwise = "w",
		.calls = wakeup_calls,
		.fields = fields,
		.things = sizeof(struct things),
		.outcome = sizeof(struct outcome),
	};

	return script_main(&part, argc, argv);
}
