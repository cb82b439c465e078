/* SPDX-License-Identifier: BSD-2-Clause */
/* Log lines of the library, caught between fpt_log_begin() and fpt_log_end(). */
#ifndef FPT_LOG_H
#define FPT_LOG_H

#include <libfp/base.h>

#include "check.h"

struct fpt_log {
	int lines;
	uint32_t level; /* of the last line */
	char last[512];
};
static struct fpt_log fpt_log;

static inline void fpt_log_take(uint32_t level, const char *line, void *user)
{
	struct fpt_log *log = user;

	log->lines++;
	log->level = level;
	snprintf(log->last, sizeof(log->last), "%s", line);
}

static inline void fpt_log_begin(void)
{
	memset(&fpt_log, 0, sizeof(fpt_log));
	fp_log_set_handler(fpt_log_take, &fpt_log, NULL);
}

static inline void fpt_log_end(void)
{
	fp_log_set_handler(NULL, NULL, NULL);
}

/* Whether a line has this number, whole: a thread id. */
static inline int fpt_names_thread(const char *line, long tid)
{
	char id[32];
	size_t n = (size_t)snprintf(id, sizeof(id), "%ld", tid);

	for (const char *p = line; (p = strstr(p, id)); p++)
		if ((p == line || p[-1] < '0' || p[-1] > '9') &&
		    (p[n] < '0' || p[n] > '9'))
			return 1;
	return 0;
}

#endif
