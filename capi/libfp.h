/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libfp - fast-path building blocks behind a small, stable C ABI.
 *
 * Umbrella header: includes the header of every part. Each part's header can
 * also be included alone. The conventions that all parts share (status codes,
 * option structs, names, threads, fork) are described in libfp/base.h.
 */
#ifndef LIBFP_H
#define LIBFP_H

#include <libfp/base.h>
#include <libfp/mempool.h>
#include <libfp/ring.h>
#include <libfp/service.h>
#include <libfp/timer.h>
#include <libfp/wakeup.h>

#endif /* LIBFP_H */
