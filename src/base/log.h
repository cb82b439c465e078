/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Log lines to the handler of fp_log_set_handler(). Silent by default: then a
 * call costs one load. Never on a fast path.
 */
#ifndef FPI_BASE_LOG_H
#define FPI_BASE_LOG_H

#include <stdint.h>

#include "base/compiler.h"

/* One line, no newline; cut at about 500 bytes. level: LIBFP_LOG_... */
void fpi_log(uint32_t level, const char *format, ...)
	__attribute__((format(printf, 2, 3), cold));

/*
 * Logs the reason of a refusal at LIBFP_LOG_INFO and returns `code`:
 *     return fpi_refuse(-EINVAL, "fp_ring_create: capacity %u ...", n);
 */
int fpi_refuse(int code, const char *format, ...)
	__attribute__((format(printf, 2, 3), cold));

#endif
