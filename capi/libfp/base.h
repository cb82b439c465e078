/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libfp/base.h - what every part of libfp shares: version, status codes,
 * allocator, flags, log handler.
 *
 * Conventions of the whole library
 * --------------------------------
 * Status      Functions return int, int32_t (burst counts) or int64_t (counts
 *             and sizes): 0 or positive is success, a negative errno value is
 *             failure (-EINVAL is -22). errno itself is never touched and
 *             there is no "last error". fp_strerror() names a code.
 * NULL        A NULL handle is accepted by every function and gives -EINVAL
 *             (functions that return a pointer: NULL; destroy: 0).
 * Failure     A call that fails changes nothing; output parameters keep their
 *             value.
 * Options     Every options struct starts with `uint32_t size` (sizeof the
 *             struct as the caller knows it) and `uint32_t flags`, and is only
 *             ever appended to. A field of 0 means the default. Codes:
 *             -E2BIG       bytes beyond what this library knows are not zero
 *             -EOPNOTSUPP  a flag bit or a value that this library does not
 *                          know (both: newer than this library)
 *             -EINVAL      size below the first published size, named padding
 *                          not zero, or a contradiction
 * Names       Optional, copied, 1 to LIBFP_NAME_MAX bytes without the final
 *             NUL (-EINVAL, -ENAMETOOLONG), unique per part (-EEXIST).
 * Threads     Any thread may use any object within the rules that the
 *             function's comment states; per-thread state appears at first
 *             use and is given back at thread exit. Nothing is initialised
 *             globally.
 * Signals     No function is async-signal-safe unless its comment says so.
 * fork        The child may exec, _exit, destroy any object, create new ones,
 *             and use a ring that no other thread was inside at the fork.
 * Experimental
 *             What stands under LIBFP_ENABLE_EXPERIMENTAL carries no promise:
 *             it may change or go with any release. Define that before the
 *             include to see it. Its symbols are in the version node
 *             LIBFP_EXPERIMENTAL.
 * Output      The library never prints, exits, aborts or installs a signal
 *             handler. One line of reason for a refused create goes to the
 *             handler of fp_log_set_handler(); the default is silence.
 */
#ifndef LIBFP_BASE_H
#define LIBFP_BASE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers; the only place where it is written. */
#define LIBFP_VERSION_MAJOR 0
#define LIBFP_VERSION_MINOR 9
#define LIBFP_VERSION_PATCH 0

/* One number that grows with the version: major << 16 | minor << 8 | patch. */
#define LIBFP_VERSION_ENCODE(major, minor, patch) \
	(((major) << 16) | ((minor) << 8) | (patch))
#define LIBFP_VERSION_NUMBER \
	LIBFP_VERSION_ENCODE(LIBFP_VERSION_MAJOR, LIBFP_VERSION_MINOR, \
			     LIBFP_VERSION_PATCH)

/* True if these headers are of version major.minor.patch or newer; for #if too. */
#define LIBFP_VERSION_AT_LEAST(major, minor, patch) \
	(LIBFP_VERSION_NUMBER >= LIBFP_VERSION_ENCODE(major, minor, patch))

/* Marks a function as part of the ABI; used in capi/ only. */
#ifndef LIBFP_API
#define LIBFP_API __attribute__((visibility("default")))
#endif

#define LIBFP_NAME_MAX 63 /* bytes of an object's name, without the NUL */

#define LIBFP_FOREVER UINT64_MAX /* a timeout_ns that never expires */

/* Who may be inside one side of an object at a time. */
#define LIBFP_MT 0 /* any number of threads (the default) */
#define LIBFP_ST 1 /* one thread at a time; a hand-over between threads needs \
		    * a happens-before (mutex, join, message) */

/* Flags that the options of several parts share: bits 0 to 7. */
#define LIBFP_STATS 0x1	      /* keep counters that cost on the hot path */
#define LIBFP_CHECKED 0x2     /* detect misuse; a debug mode, slower */
#define LIBFP_MEM_HUGE 0x4    /* hint: huge pages; falls back silently */
#define LIBFP_MEM_PREFAULT 0x8 /* touch all memory at create */
#define LIBFP_MEM_NODE 0x10   /* hint: numa_node counts; falls back silently */

/* Bits of fp_features(). */
#define LIBFP_FEATURE_RING 0x1 /* the ring part is in this library */
#define LIBFP_FEATURE_AVX2 0x2 /* AVX2 copies are in use on this machine */
#define LIBFP_FEATURE_MEMPOOL 0x4 /* the mempool part is in this library */
#define LIBFP_FEATURE_WAKEUP 0x8  /* the wake-up part is in this library */
#define LIBFP_FEATURE_SERVICE 0x10 /* the service part is in this library */
#define LIBFP_FEATURE_TIMER 0x20   /* the timer part is in this library */

/* Levels of a log line. */
#define LIBFP_LOG_ERROR 1 /* misuse found by a LIBFP_CHECKED object */
#define LIBFP_LOG_INFO 2  /* the reason of a refused create or configure */

/*
 * Returns `size` bytes aligned to `align` (a power of two), or NULL.
 * `ctx` is fp_allocator.ctx. May run on any thread that calls libfp, never
 * inside another libfp callback; must not call libfp.
 */
typedef void *(*fp_allocator_alloc_fn)(void *ctx, uint64_t size, uint64_t align);

/* Frees what alloc returned, with the same size and align. Same rules. */
typedef void (*fp_allocator_free_fn)(void *ctx, void *ptr, uint64_t size,
				     uint64_t align);

/*
 * Where an object's memory comes from. Copied at create; `ctx` is last used
 * inside the destroy call of the last object created with it. Memory hints
 * (LIBFP_MEM_HUGE, LIBFP_MEM_NODE) do not apply to it.
 */
typedef struct fp_allocator {
	uint32_t size;	/* sizeof(fp_allocator) */
	uint32_t flags; /* none defined: 0 */
	fp_allocator_alloc_fn alloc;
	fp_allocator_free_fn free;
	void *ctx;
} fp_allocator;

#define LIBFP_ALLOCATOR_INIT { sizeof(fp_allocator), 0, 0, 0, 0 }

/*
 * Receives one line, without a newline, valid during the call only. Runs on
 * the thread whose call is being refused, one call at a time; must not call
 * libfp. `user` is not used any more once an fp_log_set_handler() that
 * replaces it has returned.
 */
typedef void (*fp_log_handler)(uint32_t level, const char *line, void *user);

/*
 * Version of the running library as LIBFP_VERSION_NUMBER.
 *
 * Returns:  the number; never fails.
 * Threads:  any. Async-signal-safe.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API uint32_t fp_version_number(void);

/*
 * Version of the running library as text, for example "0.9.0".
 *
 * Returns:  a static string; never NULL.
 * Threads:  any. Async-signal-safe.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API const char *fp_version_string(void);

/*
 * What the running library offers on this machine: LIBFP_FEATURE_ bits.
 * Headers and library may differ in age: ask this before using a new part.
 *
 * Returns:  the bits; never fails.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API uint64_t fp_features(void);

/*
 * Names a status code.
 *
 * code:     any value that a function of this library returned; the sign does
 *           not matter.
 * Returns:  a static string such as "EINVAL: invalid argument", "success" for
 *           0, "unknown error" for a code the library never returns.
 * Threads:  any. Async-signal-safe.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API const char *fp_strerror(int code);

/*
 * Sets the process-wide receiver of log lines.
 *
 * handler:  the new receiver, or NULL for silence.
 * user:     handed to the handler.
 * prev_user: receives the `user` of the handler that was replaced; may be NULL.
 * Returns:  the handler that was replaced (so that it can be chained or
 *           restored); NULL if there was none.
 * Threads:  any. Waits for a handler call in progress on another thread; must
 *           not be called from a handler.
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API fp_log_handler fp_log_set_handler(fp_log_handler handler, void *user,
					    void **prev_user);

#ifdef __cplusplus
}
#endif

#endif /* LIBFP_BASE_H */
