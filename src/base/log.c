/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Log handler.
 *
 * Handler and user belong together, so both are read and called under one
 * lock. That gives the two promises of the API: one handler call at a time,
 * and after fp_log_set_handler() the old user is used no more, because the
 * change waits for a call in progress. The lock is held while user code runs,
 * so nothing else may ever be done under it; in a forked child it is free.
 *
 * A handler must not call libfp. If it does all the same, its thread would
 * meet its own lock: a thread-local mark turns that into a dropped line
 * instead of a deadlock.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <libfp/base.h>

#include "base/atomic.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/thread_slot.h"

#define LOG_LINE 512

static struct fpi_lock log_lock = FPI_LOCK_INIT;
static fp_log_handler log_handler; /* under log_lock, as log_user */
static void *log_user;
static fpi_atomic_u32 log_wanted; /* log_handler is set */

static void log_format(char line[LOG_LINE], const char *format, va_list args)
{
	int saved = errno;
	int n = vsnprintf(line, LOG_LINE, format, args);

	if (n < 0)
		line[0] = '\0';
	/* Names come from the user: keep it one line. */
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	errno = saved;
}

static void log_line(uint32_t level, const char *format, va_list args)
{
	char line[LOG_LINE];

	/*
	 * Relaxed: only decides whether it is worth formatting; the handler is
	 * read under the lock. Partner: LOG_WANTED_SET.
	 */
	if (!FPI_LOAD(&log_wanted, FPI_MO(LOG_WANTED, RELAXED)) ||
	    fpi_thread.in_log_handler)
		return;
	log_format(line, format, args);
	fpi_lock_acquire(&log_lock);
	if (log_handler) {
		fpi_thread.in_log_handler = 1;
		log_handler(level, line, log_user);
		fpi_thread.in_log_handler = 0;
	}
	fpi_lock_release(&log_lock);
}

void fpi_log(uint32_t level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line(level, format, args);
	va_end(args);
}

int fpi_refuse(int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_line(LIBFP_LOG_INFO, format, args);
	va_end(args);
	return code;
}

fp_log_handler fp_log_set_handler(fp_log_handler handler, void *user, void **prev_user)
{
	int locked = !fpi_thread.in_log_handler;
	fp_log_handler old;
	void *old_user;

	if (locked)
		fpi_lock_acquire(&log_lock);
	old = log_handler;
	old_user = log_user;
	log_handler = handler;
	log_user = user;
	/* Relaxed: a hint, see LOG_WANTED. */
	FPI_STORE(&log_wanted, handler != NULL, FPI_MO(LOG_WANTED_SET, RELAXED));
	if (locked)
		fpi_lock_release(&log_lock);
	if (prev_user)
		*prev_user = old_user;
	return old;
}
