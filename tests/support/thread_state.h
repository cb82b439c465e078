/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a thread of this process does, as the kernel says. One that has been woken is
 * runnable from the moment at which the call that woke it returns, long before it runs.
 */
#ifndef FPT_THREAD_STATE_H
#define FPT_THREAD_STATE_H

#include <stdio.h>
#include <string.h>

/* The kernel's letter: S sleeps, R runs or is about to; 0: there is no such thread. */
static inline char fpt_thread_state(int tid)
{
	char path[64], line[512], *at;
	FILE *f;
	char state = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fgets(line, sizeof(line), f) && (at = strrchr(line, ')')) && at[1] == ' ')
		state = at[2];
	fclose(f);
	return state;
}

#endif
