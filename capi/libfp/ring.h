/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libfp/ring.h - bounded FIFO rings of fixed-size elements.
 *
 * A ring carries copies of elements of 4 to 4096 bytes (default 8: a pointer
 * or a uint64_t) from producers to consumers. Its capacity is exactly what was
 * asked for. Each side is LIBFP_MT (any number of threads at once) or LIBFP_ST
 * (one at a time), chosen at create; one set of functions drives every kind.
 *
 * Order       Elements of one producer reach every consumer in the order in
 *             which they were enqueued; a burst stays in order.
 * Full, empty With several threads these are statements about the moment of
 *             the call. On a ring with an MT side, "empty" means that the
 *             element at the head is not published: the ring is empty, or a
 *             producer that claimed its place earlier is still inside its call
 *             (or holds a span). In the same way "full" means that the slot at
 *             the producers' head has not been given back yet. Without such a
 *             call in progress on the other side the answers are exact. Do not
 *             conclude from n returned enqueues that n dequeues will succeed.
 *             A call that would be refused may pause for about a
 *             microsecond and look once more, while that pays.
 * Progress    Nobody waits for anybody. A thread that is stopped inside an
 *             operation delays only what stands behind its own slots: other
 *             producers go on until the ring is full, and consumers get all
 *             that is before them.
 * Close       fp_ring_close() ends the producing side. An enqueue either
 *             returns n and its elements are delivered before any consumer
 *             gets -EPIPE, or it returns -EPIPE. A consumer gets -EPIPE only
 *             when everything has been taken (a bulk: when fewer than n are
 *             left; a burst gets these).
 * Waiting     A ring with LIBFP_RING_WAIT, or a side with a wake-up bound to it
 *             (fp_ring_set_wakeup()), can be waited for: fp_ring_dequeue_wait() and
 *             the like spin for 50 us, nap for 100 us, then sleep. Other calls pay
 *             one load for that, and a system call only if somebody sleeps. With
 *             LIBFP_RING_WAIT one waiter is woken for what one can take; a bound
 *             wake-up wakes all that sleep on it. Both belong to the handle: what is
 *             done through another handle on the same memory wakes nobody.
 * Fork        A child may use a ring that no other thread was inside at the
 *             fork, and may destroy any ring. It must not wait (-ECHILD).
 *
 * Calls with `burst` move as many elements as fit, 0 to n; with `bulk` all n,
 * or none and return 0. Single calls return like a burst of one. n = 0 moves
 * nothing and returns 0.
 *
 * The errors below that every fast-path call shares:
 *   -EINVAL  ring is NULL; a table is NULL with n > 0; n > INT32_MAX; a bulk
 *            of more than the capacity (it could never succeed)
 *   -EPIPE   enqueue: the ring is closed; dequeue: it is closed and drained
 *   -EBUSY   LIBFP_CHECKED only: another thread is inside this ST side, this ST
 *            side has a span open, or the ring is being destroyed
 */
#ifndef LIBFP_RING_H
#define LIBFP_RING_H

#include <libfp/base.h>
#include <libfp/wakeup.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LIBFP_RING_CAPACITY_MAX 0x40000000 /* 2^30 elements */
#define LIBFP_RING_ELEM_MAX 4096	   /* bytes of an element */
#define LIBFP_RING_ALIGN 128		   /* alignment of fp_ring_init memory */

#define LIBFP_RING_WAIT 0x100 /* fp_ring_opts.flags: both sides can be waited for */

/* The sides of a ring, for calls that concern one. */
#define LIBFP_RING_PRODUCER 0
#define LIBFP_RING_CONSUMER 1

typedef struct fp_ring fp_ring;

/*
 * flags: LIBFP_STATS counts refusals and the high-water mark; LIBFP_CHECKED
 * detects misuse (two threads inside an ST side, a call during destroy) and
 * names both threads in a log line; LIBFP_RING_WAIT lets threads wait for it;
 * LIBFP_MEM_HUGE, LIBFP_MEM_PREFAULT and
 * LIBFP_MEM_NODE place the memory (fp_ring_create only: -EINVAL with
 * fp_ring_init, whose memory is the caller's).
 */
typedef struct fp_ring_opts {
	uint32_t size;	     /* sizeof(fp_ring_opts) */
	uint32_t flags;	     /* LIBFP_STATS, LIBFP_CHECKED, LIBFP_RING_WAIT, LIBFP_MEM_... */
	const char *name;    /* NULL: not registered */
	uint32_t capacity;   /* elements, 1 to LIBFP_RING_CAPACITY_MAX; no default */
	uint32_t elem_size;  /* bytes, a multiple of 4, 4 to LIBFP_RING_ELEM_MAX; 0: 8 */
	uint32_t producer;   /* LIBFP_MT or LIBFP_ST */
	uint32_t consumer;   /* LIBFP_MT or LIBFP_ST */
	uint32_t numa_node;  /* with LIBFP_MEM_NODE */
	uint32_t reserved0;  /* 0 */
	const fp_allocator *allocator; /* NULL: the library's own */
} fp_ring_opts;

#define LIBFP_RING_OPTS_INIT { sizeof(fp_ring_opts), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/*
 * A run of slots that is the caller's until it is committed, in at most two
 * pieces: n1 elements at ptr1, then n2 elements at ptr2 (NULL if n2 is 0).
 * Elements are contiguous, elem_size bytes each. Any thread may commit it,
 * once. This struct never grows.
 */
typedef struct fp_ring_span {
	void *ptr1;
	void *ptr2;
	uint32_t n1;
	uint32_t n2;
	uint64_t token; /* the library's */
} fp_ring_span;

#define LIBFP_RING_BULK 0x1 /* reserve all n or none */

/* Bits of fp_ring_stats.flags. */
#define LIBFP_RING_STATS_COUNTED 0x1 /* refused_full, refused_empty and \
				      * high_water are kept (LIBFP_STATS) */
#define LIBFP_RING_STATS_BLOCKED 0x2 /* the head element is claimed but not \
				      * published: consumers see "empty" */

/* Counts are exact when no call is in progress. */
typedef struct fp_ring_stats {
	uint32_t size;		/* in: sizeof(fp_ring_stats); out: bytes filled */
	uint32_t flags;		/* LIBFP_RING_STATS_... */
	uint64_t enqueued;	/* elements since create or reset, without voided */
	uint64_t dequeued;	/* elements */
	uint64_t refused_full;	/* enqueue and reserve calls that got fewer than n */
	uint64_t refused_empty; /* dequeue and reserve calls that got fewer than n */
	uint64_t voided;	/* slots that commits of fewer than n gave up */
	uint64_t high_water;	/* most slots in use at the end of an enqueue */
	uint64_t count;		/* slots in use, as fp_ring_count() */
	uint64_t unpublished;	/* of count: claimed by producers or their spans */
	uint64_t void_pending;	/* of count: voided, not passed by consumers yet */
	uint64_t blocked_since_ns; /* CLOCK_MONOTONIC of when a call first saw the
				    * head blocked; 0: not blocked or not known
				    * (needs LIBFP_STATS or LIBFP_CHECKED) */
	int64_t blocked_by;	/* thread id that holds the head; 0: not known
				 * (needs LIBFP_CHECKED) */
} fp_ring_stats;

/*
 * Fills *opts with LIBFP_RING_OPTS_INIT: for languages without macros.
 *
 * opts:     the struct to fill.
 * size:     its size in bytes as the caller knows it, at least the first
 *           published size (48).
 * Returns:  0; -EINVAL: opts is NULL or size is too small; -E2BIG: size is
 *           larger than 1 MiB, which no options struct will ever be.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_ring_opts_init(fp_ring_opts *opts, uint32_t size);

/*
 * Creates a ring.
 *
 * opts:     see fp_ring_opts; capacity has no default, so NULL is -EINVAL.
 * out:      receives the ring; untouched on failure.
 * Returns:  0; -EINVAL: bad capacity, element size, padding, alignment of the
 *           options, or out is NULL; -E2BIG, -EOPNOTSUPP: see libfp/base.h;
 *           -ENAMETOOLONG; -EEXIST: the name is taken; -ENOMEM.
 * Threads:  any.
 * Progress: blocking (allocates; a named ring takes the registry lock).
 * Since:    0.9
 */
LIBFP_API int fp_ring_create(const fp_ring_opts *opts, fp_ring **out);

/*
 * Destroys a ring made by create, init or attach. Elements still inside are
 * forgotten. Memory given to init or attach stays the caller's.
 *
 * No call on the ring may run or follow; that is the caller's duty, and only a
 * LIBFP_CHECKED ring looks for it.
 *
 * Returns:  0, also for NULL; -EBUSY and nothing freed: references taken by
 *           lookup remain, a span is open (not looked for in the caller's
 *           memory, where it may belong to another handle), a thread waits, or
 *           (LIBFP_CHECKED) a thread is inside a call. A bound wake-up is unbound.
 * Threads:  one, with no other call on this ring.
 * Progress: blocking (frees memory; a named ring takes the registry lock).
 * Since:    0.9
 */
LIBFP_API int fp_ring_destroy(fp_ring *ring);

/*
 * Finds a ring by name and takes a reference to it.
 *
 * name:     the name given at create.
 * out:      receives the ring; untouched on failure.
 * Returns:  0; -EINVAL: name or out is NULL; -ENOENT: no such ring, or it is
 *           being created or destroyed.
 * Threads:  any.
 * Progress: blocking (registry lock).
 * Since:    0.9
 */
LIBFP_API int fp_ring_lookup(const char *name, fp_ring **out);

/*
 * Gives back one reference taken by fp_ring_lookup().
 *
 * Returns:  0; -EINVAL: ring is NULL or no reference is out.
 * Threads:  any.
 * Progress: blocking (registry lock).
 * Since:    0.9
 */
LIBFP_API int fp_ring_unref(fp_ring *ring);

/*
 * Bytes that fp_ring_init() needs for a ring with these options. The state is
 * position independent: it may be mapped at different addresses.
 *
 * Returns:  the size, a multiple of LIBFP_RING_ALIGN; -EINVAL, -E2BIG,
 *           -EOPNOTSUPP as for create.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int64_t fp_ring_memsize(const fp_ring_opts *opts);

/*
 * Makes a ring in the caller's memory, overwriting what was there. The handle
 * itself is allocated separately and is local to this process; destroy frees
 * only the handle.
 *
 * mem:      aligned to LIBFP_RING_ALIGN; must outlive every handle on it.
 * len:      its size in bytes.
 * out:      receives the ring; untouched on failure.
 * Returns:  0; -EINVAL: mem is NULL or not aligned, memory flags are set, or
 *           as for create; -ENOSPC: len is smaller than fp_ring_memsize();
 *           -E2BIG, -EOPNOTSUPP, -ENAMETOOLONG, -EEXIST, -ENOMEM as for create.
 * Threads:  any; nobody else may use mem.
 * Progress: blocking, as create.
 * Since:    0.9
 */
LIBFP_API int fp_ring_init(void *mem, uint64_t len, const fp_ring_opts *opts,
			   fp_ring **out);

/*
 * Makes one more handle on a ring that fp_ring_init() made in this memory, in
 * this process or in another that maps it.
 *
 * mem, len: the mapping; aligned to LIBFP_RING_ALIGN.
 * out:      receives the ring; untouched on failure.
 * Returns:  0; -EINVAL: mem or out is NULL, or mem is not aligned; -EPROTO: no
 *           ring there, one of another layout version, or one that does not
 *           fit in len; -ENOMEM.
 * Threads:  any, once init has returned.
 * Progress: blocking (allocates).
 * Since:    0.9
 */
LIBFP_API int fp_ring_attach(void *mem, uint64_t len, fp_ring **out);

/*
 * Makes the ring empty and open and its counters zero.
 *
 * Returns:  0; -EINVAL: ring is NULL; -EBUSY: a span is open, a thread waits, or
 *           (LIBFP_CHECKED) a thread is inside a call. A wake-up bound to the producer
 *           side is signalled.
 * Threads:  one, with no other call on this ring, as for destroy.
 * Progress: wait-free (touches one byte per slot).
 * Since:    0.9
 */
LIBFP_API int fp_ring_reset(fp_ring *ring);

/*
 * Ends the producing side; see "Close" above. Closing again does nothing. A
 * span reserved before close may still be committed on an MT producer side; on
 * an ST side its commit returns -EPIPE.
 *
 * Returns:  0; -EINVAL: ring is NULL; -EBUSY: LIBFP_CHECKED, see above.
 * Threads:  MT producer: any. ST producer: the producing thread.
 * Progress: lock-free.
 * Since:    0.9
 */
LIBFP_API int fp_ring_close(fp_ring *ring);

/*
 * Enqueues one element of elem_size bytes, copied from *elem. To pass a
 * pointer, pass its address: fp_ring_enqueue(ring, &object).
 *
 * elem:     the element; any alignment.
 * Returns:  1; 0: full; -EINVAL, -EPIPE, -EBUSY: see the top.
 * Threads:  MT producer: any. ST producer: one at a time.
 * Progress: ST: wait-free. MT: lock-free (retries only if another producer got
 *           on).
 * Since:    0.9
 */
LIBFP_API int32_t fp_ring_enqueue(fp_ring *ring, const void *elem);

/*
 * Enqueues one 8-byte element by value: the fastest single call.
 *
 * Returns:  as fp_ring_enqueue(); -EINVAL also if elem_size is not 8.
 * Threads:  as fp_ring_enqueue().
 * Progress: as fp_ring_enqueue().
 * Since:    0.9
 */
LIBFP_API int32_t fp_ring_enqueue_u64(fp_ring *ring, uint64_t elem);

/*
 * Enqueues all n elements or none.
 *
 * elems:    n * elem_size contiguous bytes; any alignment.
 * free_after: receives the free slots after the call; may be NULL.
 * Returns:  n; 0: fewer than n slots are free; -EINVAL, -EPIPE, -EBUSY: see
 *           the top.
 * Threads:  as fp_ring_enqueue().
 * Progress: as fp_ring_enqueue().
 * Since:    0.9
 */
LIBFP_API int32_t fp_ring_enqueue_bulk(fp_ring *ring, const void *elems,
				       uint32_t n, uint32_t *free_after);

/*
 * Enqueues as many of n elements as fit, in order, from the first on.
 *
 * elems:    n * elem_size contiguous bytes; any alignment.
 * free_after: receives the free slots after the call; may be NULL.
 * Returns:  how many were taken, 0 to n; -EINVAL, -EPIPE, -EBUSY: see the top.
 * Threads:  as fp_ring_enqueue().
 * Progress: as fp_ring_enqueue().
 * Since:    0.9
 */
LIBFP_API int32_t fp_ring_enqueue_burst(fp_ring *ring, const void *elems,
					uint32_t n, uint32_t *free_after);

/*
 * Dequeues one element of elem_size bytes.
 *
 * elem:     receives it; any alignment; untouched if there is none.
 * Returns:  1; 0: empty; -EINVAL, -EPIPE, -EBUSY: see the top.
 * Threads:  MT consumer: any. ST consumer: one at a time.
 * Progress: ST: wait-free. MT: lock-free (retries only if another consumer got
 *           on).
 * Since:    0.9
 */
LIBFP_API int32_t fp_ring_dequeue(fp_ring *ring, void *elem);

/*
 * Dequeues one 8-byte element: the fastest single call.
 *
 * Returns:  as fp_ring_dequeue(); -EINVAL also if elem_size is not 8.
 * Threads:  as fp_ring_dequeue().
 * Progress: as fp_ring_dequeue().
 * Since:    0.9
 */
LIBFP_API int32_t fp_ring_dequeue_u64(fp_ring *ring, uint64_t *elem);

/*
 * Dequeues n elements or none.
 *
 * elems:    receives n * elem_size bytes; any alignment.
 * left_after: receives the slots in use after the call; may be NULL.
 * Returns:  n; 0: fewer than n are there; -EPIPE: closed and fewer than n
 *           remain (a burst gets the rest); -EINVAL, -EBUSY: see the top.
 * Threads:  as fp_ring_dequeue().
 * Progress: as fp_ring_dequeue().
 * Since:    0.9
 */
LIBFP_API int32_t fp_ring_dequeue_bulk(fp_ring *ring, void *elems, uint32_t n,
				       uint32_t *left_after);

/*
 * Dequeues up to n elements.
 *
 * elems:    receives them; room for n * elem_size bytes; any alignment.
 * left_after: receives the slots in use after the call; may be NULL.
 * Returns:  how many, 0 to n; -EINVAL, -EPIPE, -EBUSY: see the top.
 * Threads:  as fp_ring_dequeue().
 * Progress: as fp_ring_dequeue().
 * Since:    0.9
 */
LIBFP_API int32_t fp_ring_dequeue_burst(fp_ring *ring, void *elems, uint32_t n,
					uint32_t *left_after);

/*
 * Copies up to n elements from the head without taking them. Ends at a void
 * slot, as a span does.
 *
 * elems:    receives them; room for n * elem_size bytes; any alignment.
 * Returns:  how many, 0 to n; -EOPNOTSUPP: the consumer side is MT (another
 *           thread could take them meanwhile); -EINVAL, -EPIPE, -EBUSY: see
 *           the top.
 * Threads:  one consumer at a time.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int32_t fp_ring_peek(fp_ring *ring, void *elems, uint32_t n);

/*
 * Reserves up to n free slots, to be written in place and then committed.
 * On an ST producer side one span may be open at a time and nothing may be
 * enqueued meanwhile (a span that was overrun so is given up by its commit, which
 * returns -EINVAL); on an MT side any number may be open.
 *
 * flags:    0, or LIBFP_RING_BULK for all n or none.
 * span:     receives the slots; all zero if the call returns 0.
 * Returns:  how many, 0 to n (0: there is nothing to commit); -EINVAL: ring or
 *           span is NULL, n > INT32_MAX, an ST side has a span open, or bulk of
 *           more than the capacity;
 *           -EOPNOTSUPP: unknown flag; -EPIPE, -EBUSY: see the top.
 * Threads:  as fp_ring_enqueue().
 * Progress: as fp_ring_enqueue().
 * Since:    0.9
 */
LIBFP_API int32_t fp_ring_reserve_enqueue(fp_ring *ring, uint32_t n,
					  uint32_t flags, fp_ring_span *span);

/*
 * Publishes the first k elements of a reserved span and gives up the rest. On
 * an MT producer side the rest becomes void slots that consumers skip: they
 * count as used until then.
 *
 * span:     from fp_ring_reserve_enqueue(); set to all zero on success.
 * k:        0 to n1 + n2.
 * Returns:  k; -EINVAL: ring or span is NULL, the span is not open on this
 *           ring and side (committed before, or not reserved), or k is larger
 *           than it; -EPIPE: an ST side was closed meanwhile, the span is
 *           given up; -EBUSY: see the top. Two commits of one span at the very
 *           same moment are told apart on a LIBFP_CHECKED ring only.
 * Threads:  any thread, once; ST producer: one at a time.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int32_t fp_ring_commit_enqueue(fp_ring *ring, fp_ring_span *span,
					 uint32_t k);

/*
 * Reserves up to n elements, to be read in place and then committed. On an ST
 * consumer side one span may be open at a time and nothing may be dequeued
 * meanwhile; on an MT side any number may be open.
 *
 * A span's elements are contiguous, so a burst ends at a void slot.
 *
 * flags:    0, or LIBFP_RING_BULK for n or none.
 * span:     receives the elements; all zero if the call returns 0.
 * Returns:  how many, 0 to n; -EINVAL: as fp_ring_reserve_enqueue(); -EAGAIN:
 *           a bulk whose n elements are there, but divided by a void slot (take
 *           them without LIBFP_RING_BULK); -EOPNOTSUPP: unknown flag; -EPIPE,
 *           -EBUSY: see the top.
 * Threads:  as fp_ring_dequeue().
 * Progress: as fp_ring_dequeue().
 * Since:    0.9
 */
LIBFP_API int32_t fp_ring_reserve_dequeue(fp_ring *ring, uint32_t n,
					  uint32_t flags, fp_ring_span *span);

/*
 * Takes the first k elements of a reserved span; the rest stays in the ring.
 *
 * span:     from fp_ring_reserve_dequeue(); set to all zero on success.
 * k:        ST consumer: 0 to n1 + n2. MT consumer: exactly n1 + n2.
 * Returns:  k; -EINVAL: ring or span is NULL, the span is not open on this
 *           ring and side, or k is not allowed; -EBUSY: see the top. Two
 *           commits at the same moment: as fp_ring_commit_enqueue().
 * Threads:  any thread, once; ST consumer: one at a time.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int32_t fp_ring_commit_dequeue(fp_ring *ring, fp_ring_span *span,
					 uint32_t k);

/*
 * Binds a side to a wake-up: from now on it is signalled whenever something may have
 * become possible on that side - for LIBFP_RING_CONSUMER an element came, for
 * LIBFP_RING_PRODUCER a slot was freed, for both the ring was closed. The ring keeps
 * the wake-up from being destroyed. Several rings and sides may share one.
 *
 * wakeup:   NULL unbinds; a ring with LIBFP_RING_WAIT then has its own again.
 * Returns:  0; -EINVAL: ring is NULL or there is no such side; -EBUSY: a thread waits
 *           on this side, or (LIBFP_CHECKED) is inside a call; -ECHILD: ring or wakeup
 *           was made before a fork.
 * Threads:  one, with no other call on this ring, as for destroy.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_ring_set_wakeup(fp_ring *ring, uint32_t side, fp_wakeup *wakeup);

/*
 * Waits until a dequeue would find something. Takes nothing: another consumer may be
 * faster.
 *
 * timeout_ns: nanoseconds; 0: looks once, without a system call; LIBFP_FOREVER: no limit.
 * Returns:  1: readable; 0: timed out; -EPIPE: closed and drained; -ECANCELED:
 *           fp_ring_interrupt() or fp_wakeup_interrupt(); -ENXIO: neither
 *           LIBFP_RING_WAIT nor a wake-up bound to this side (with timeout_ns 0 too);
 *           -EOPNOTSUPP: bound to the wake-up of a service, which nobody can wait on;
 *           -EINVAL: ring is NULL; -EBUSY: LIBFP_CHECKED, see the top; -ECHILD: made
 *           before a fork.
 * Threads:  as fp_ring_dequeue(). Not a cancellation point.
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API int fp_ring_wait_readable(fp_ring *ring, uint64_t timeout_ns);

/*
 * Waits until an enqueue would find a free slot. Takes nothing: another producer may
 * be faster.
 *
 * timeout_ns: as fp_ring_wait_readable().
 * Returns:  1: writable; 0: timed out; -EPIPE: closed; -ECANCELED, -ENXIO, -EOPNOTSUPP,
 *           -EINVAL, -EBUSY, -ECHILD: as fp_ring_wait_readable().
 * Threads:  as fp_ring_enqueue(). Not a cancellation point.
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API int fp_ring_wait_writable(fp_ring *ring, uint64_t timeout_ns);

/*
 * Dequeues at least `min` and up to n elements, and waits for the first `min`, which it
 * takes together. From a closed ring it takes what is left, also below `min`.
 * Void slots (commits of fewer than reserved) take room and give nothing: with these, a
 * `min` near the capacity may wait for what producers have no room for.
 *
 * elems:    receives them; room for n * elem_size bytes; any alignment.
 * min:      1 to n, at most the capacity. 0: does not wait, as fp_ring_dequeue_burst().
 * timeout_ns: as fp_ring_wait_readable().
 * Returns:  how many, `min` to n; 0: timed out, nothing taken; -EINVAL: see the top, and
 *           min is above n or the capacity; -EPIPE: closed and drained; -ECANCELED:
 *           nothing taken; -ENXIO, -EOPNOTSUPP, -EBUSY, -ECHILD: as
 *           fp_ring_wait_readable().
 * Threads:  as fp_ring_dequeue(). Not a cancellation point.
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API int32_t fp_ring_dequeue_wait(fp_ring *ring, void *elems, uint32_t min,
				       uint32_t n, uint64_t timeout_ns);

/*
 * Enqueues at least the first `min` and up to n elements, and waits for room for `min`,
 * which it puts in together.
 *
 * elems:    n * elem_size contiguous bytes; any alignment.
 * min:      1 to n, at most the capacity. 0: does not wait, as fp_ring_enqueue_burst().
 * timeout_ns: as fp_ring_wait_readable().
 * Returns:  how many were taken, `min` to n; 0: timed out, none; -EINVAL: see the top,
 *           and min is above n or the capacity; -EPIPE: closed, none taken; -ECANCELED:
 *           none taken; -ENXIO, -EOPNOTSUPP, -EBUSY, -ECHILD: as
 *           fp_ring_wait_readable().
 * Threads:  as fp_ring_enqueue(). Not a cancellation point.
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API int32_t fp_ring_enqueue_wait(fp_ring *ring, const void *elems, uint32_t min,
				       uint32_t n, uint64_t timeout_ns);

/*
 * Ends the waits in progress on one side with -ECANCELED; later ones are not affected. A
 * wake-up that is bound is interrupted, with all that wait on it.
 *
 * Returns:  0; -EINVAL: ring is NULL or there is no such side; -ENXIO, -EOPNOTSUPP,
 *           -ECHILD: as fp_ring_wait_readable().
 * Threads:  any.
 * Progress: wait-free, but for a system call.
 * Since:    0.9
 */
LIBFP_API int fp_ring_interrupt(fp_ring *ring, uint32_t side);

/*
 * Slots in use: elements, plus slots that are claimed but not published yet,
 * plus voided slots that no consumer has passed. Never above the capacity.
 * Exact when no call is in progress.
 *
 * Returns:  the count; -EINVAL: ring is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int64_t fp_ring_count(const fp_ring *ring);

/*
 * Slots not in use: capacity - count.
 *
 * Returns:  the count; -EINVAL: ring is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int64_t fp_ring_free_count(const fp_ring *ring);

/*
 * Elements that the ring holds at most: what was asked for at create.
 *
 * Returns:  the capacity; -EINVAL: ring is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int64_t fp_ring_capacity(const fp_ring *ring);

/*
 * Bytes of an element.
 *
 * Returns:  the size; -EINVAL: ring is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int64_t fp_ring_elem_size(const fp_ring *ring);

/*
 * Who may be on the producer side.
 *
 * Returns:  LIBFP_MT or LIBFP_ST; -EINVAL: ring is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_ring_producer_sync(const fp_ring *ring);

/*
 * Who may be on the consumer side.
 *
 * Returns:  LIBFP_MT or LIBFP_ST; -EINVAL: ring is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_ring_consumer_sync(const fp_ring *ring);

/*
 * Whether count == capacity.
 *
 * Returns:  1 or 0; -EINVAL: ring is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_ring_is_full(const fp_ring *ring);

/*
 * Whether count == 0.
 *
 * Returns:  1 or 0; -EINVAL: ring is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_ring_is_empty(const fp_ring *ring);

/*
 * Whether fp_ring_close() was called (elements may still be inside).
 *
 * Returns:  1 or 0; -EINVAL: ring is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_ring_is_closed(const fp_ring *ring);

/*
 * The name given at create.
 *
 * Returns:  the name, valid until destroy; NULL: ring is NULL or has no name.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API const char *fp_ring_name(const fp_ring *ring);

/*
 * Reads the counters. On a ring with an MT side it looks at one byte per slot
 * in use to tell unpublished and void slots apart.
 *
 * io:       io->size is set by the caller; the library fills at most that and
 *           writes back what it filled.
 * Returns:  0; -EINVAL: ring or io is NULL, or io->size is below 8.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_ring_get_stats(const fp_ring *ring, fp_ring_stats *io);

#ifdef __cplusplus
}
#endif

#endif /* LIBFP_RING_H */
