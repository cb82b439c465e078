/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every atomic of the library goes through these macros.
 *
 * Three builds share one source:
 *   product       the compiler's __atomic builtins; runs of generation bytes
 *                 are read and written wide, with fences (FPI_WIDE 1)
 *   TSan          the same builtins, but byte by byte with acquire loads and
 *                 release stores, because TSan does not see fences (FPI_WIDE 0)
 *   model         FPI_ATOMIC_HEADER names a header that replaces this layer by
 *                 an explorer of weak memory; it also compiles as C++
 *
 * FPI_MO(site, ORDER) is an order with a name. The product drops the name; the
 * model build weakens one named site at a time to relaxed and expects that a
 * scenario notices (a mutant). A site's name is unique in the library.
 *
 * Atomic objects are structs, so that a plain access does not compile.
 * Slot and private-memory accesses are plain in the product; they have macros
 * because the model checks them for data races.
 */
#ifndef FPI_BASE_ATOMIC_H
#define FPI_BASE_ATOMIC_H

#include <stdint.h>

#include "base/compiler.h"

typedef struct fpi_atomic_u8 {
	uint8_t value;
} fpi_atomic_u8;
typedef struct fpi_atomic_u32 {
	uint32_t value;
} fpi_atomic_u32;
typedef struct fpi_atomic_u64 {
	uint64_t value;
} fpi_atomic_u64;
typedef struct fpi_atomic_ptr {
	void *value;
} fpi_atomic_ptr;

/* A plain variable that a test sets while threads of the library run; test builds only. */
#define FPI_TEST_LOAD(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)

#ifdef FPI_ATOMIC_HEADER
#include FPI_ATOMIC_HEADER
#else

#define FPI_RELAXED __ATOMIC_RELAXED
#define FPI_ACQUIRE __ATOMIC_ACQUIRE
#define FPI_RELEASE __ATOMIC_RELEASE
#define FPI_ACQ_REL __ATOMIC_ACQ_REL
#define FPI_SEQ_CST __ATOMIC_SEQ_CST

#define FPI_MO(site, order) FPI_##order

#define FPI_LOAD(p, order) __atomic_load_n(&(p)->value, order)
#define FPI_STORE(p, v, order) __atomic_store_n(&(p)->value, v, order)
#define FPI_EXCHANGE(p, v, order) __atomic_exchange_n(&(p)->value, v, order)
#define FPI_FETCH_ADD(p, v, order) __atomic_fetch_add(&(p)->value, v, order)
#define FPI_FETCH_SUB(p, v, order) __atomic_fetch_sub(&(p)->value, v, order)
#define FPI_FETCH_OR(p, v, order) __atomic_fetch_or(&(p)->value, v, order)
#define FPI_FETCH_AND(p, v, order) __atomic_fetch_and(&(p)->value, v, order)
/*
 * Strong compare-and-swap; *expected is overwritten on failure. The failure
 * order is always relaxed: whoever goes on after a failure loads again.
 */
#define FPI_CAS(p, expected, desired, order)                                  \
	__atomic_compare_exchange_n(&(p)->value, expected, desired, 0, order, \
				    __ATOMIC_RELAXED)
/* The first try at a lock. The model can wait here instead of failing. */
#define FPI_CAS_LOCK FPI_CAS
/* Orders the compiler only: the partner runs a membarrier instead of a fence. */
#define FPI_COMPILER_FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* Ring slots and one-side private memory: plain memory, race-checked by the model. */
#define FPI_PLAIN_LOAD(p) (*(p))
#define FPI_PLAIN_STORE(p, v) ((void)(*(p) = (v)))

#if defined(__SANITIZE_THREAD__)
#define FPI_WIDE 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FPI_WIDE 0
#endif
#endif
#ifndef FPI_WIDE
#define FPI_WIDE 1
#endif

#if FPI_WIDE
#define FPI_FENCE(order) __atomic_thread_fence(order)
#elif defined(__x86_64__)
/* TSan knows no fences, and gcc warns of them there; the CPU needs this one all the same. */
#define FPI_FENCE(order) __asm__ volatile("mfence" ::: "memory")
#else
#define FPI_FENCE(order) __asm__ volatile("dmb ish" ::: "memory")
#endif
/* Runs of bytes: relaxed accesses and one fence, or an order on each access. */
#define FPI_FENCE_FORM FPI_WIDE

#endif /* FPI_ATOMIC_HEADER */

#endif
