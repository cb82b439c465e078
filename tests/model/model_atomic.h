/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The atomic layer of the model build: every atomic of the library's own source
 * goes to the explorer (see src/base/atomic.h, FPI_ATOMIC_HEADER).
 *
 * Three things are chosen at run time, so that one binary explores everything:
 *   model_fence_form  runs of generation bytes: relaxed accesses and one fence
 *                     (what the product does, wide) or an order on each byte
 *   model_locks_wait  a lock is taken in one step once it is free, or as the
 *                     product does, with its spinning and sleeping
 *   the mutant        one FPI_MO site whose order is weakened (sites.h)
 */
#ifndef MODEL_ATOMIC_H
#define MODEL_ATOMIC_H

#include <string.h>

#include "explorer.h"
#include "sites.h"

#define FPI_RELAXED EX_RELAXED
#define FPI_ACQUIRE EX_ACQUIRE
#define FPI_RELEASE EX_RELEASE
#define FPI_ACQ_REL EX_ACQ_REL
#define FPI_SEQ_CST EX_SEQ_CST

#define FPI_WIDE 0
#define FPI_FENCE_FORM model_fence_form

#define FPI_MO(site, order)                                 \
	__extension__({                                     \
		static int site_id_;                        \
		model_order(&site_id_, #site, FPI_##order); \
	})

#define MODEL_TYPE(p) __typeof__((p)->value)

#define FPI_LOAD(p, order) \
	((MODEL_TYPE(p))ex_load(&(p)->value, sizeof((p)->value), order, #p))
#define FPI_STORE(p, v, order) \
	ex_store(&(p)->value, sizeof((p)->value), (uint64_t)(v), order, #p)
#define MODEL_RMW(p, op, v, order)                                          \
	__extension__({                                                     \
		(MODEL_TYPE(p)) ex_rmw(&(p)->value, sizeof((p)->value), op, \
				       (uint64_t)(v), order, #p);           \
	})
#define FPI_EXCHANGE(p, v, order) MODEL_RMW(p, EX_SWAP, v, order)
#define FPI_FETCH_ADD(p, v, order) MODEL_RMW(p, EX_ADD, v, order)
#define FPI_FETCH_SUB(p, v, order) MODEL_RMW(p, EX_SUB, v, order)
#define FPI_FETCH_OR(p, v, order) MODEL_RMW(p, EX_OR, v, order)
#define FPI_FETCH_AND(p, v, order) MODEL_RMW(p, EX_AND, v, order)
#define FPI_CAS(p, expected, desired, order)                                    \
	__extension__({                                                         \
		uint64_t expected_ = (uint64_t) * (expected);                   \
		int done_ = ex_cas(&(p)->value, sizeof((p)->value), &expected_, \
				   (uint64_t)(desired), order, #p);             \
		*(expected) = (__typeof__(*(expected)))expected_;               \
		done_;                                                          \
	})
#define FPI_CAS_LOCK(p, expected, desired, order)                                 \
	__extension__({                                                           \
		int done_ = 1;                                                    \
		if (model_locks_wait)                                             \
			ex_cas_wait(&(p)->value, sizeof((p)->value), *(expected), \
				    desired, order, #p);                          \
		else                                                              \
			done_ = FPI_CAS(p, expected, desired, order);             \
		done_;                                                            \
	})
/* A wait of which only the end is of interest. */
#define FPI_AWAIT_NOT(p, seen) \
	ex_await_not(&(p)->value, sizeof((p)->value), seen, EX_RELAXED, #p)
#define FPI_FENCE(order) ex_fence(order)
#define FPI_COMPILER_FENCE() ((void)0)

#define FPI_PLAIN_LOAD(p)                                     \
	__extension__({                                       \
		ex_plain(p, sizeof(__typeof__(*(p))), 0, #p); \
		*(p);                                         \
	})
#define FPI_PLAIN_STORE(p, v)                                 \
	do {                                                  \
		ex_plain(p, sizeof(__typeof__(*(p))), 1, #p); \
		*(p) = (v);                                   \
	} while (0)

/* Element copies: what is on the thread's own stack is nobody else's business. */
#define FPI_COPY_OVERRIDDEN
static inline void fpi_copy(void *to, const void *from, size_t bytes)
{
	ex_plain(from, bytes, 0, "element");
	ex_plain(to, bytes, 1, "element");
	memcpy(to, from, bytes);
}

#endif
