/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See _glue.h. Included into the file that cffi generates, behind libfp.h and _glue.h; Python.h,
 * which comes first there, defines _GNU_SOURCE (for dladdr).
 *
 * Gates. Each glue_ring has one per side and one for the rest, so that producer and consumer do
 * not share a cache line. A gate's word counts the threads inside. Destroy, reset and unref
 * close all three first: each must go from 0 to CLOSED, or they give up, and a call that finds
 * CLOSED turns back. After destroy the gates stay closed, with GONE. ST sides also take the
 * guard's busy flag, which all Python objects on one ring share; it never waits. Wake-ups,
 * services, their cores and timer wheels have one gate each.
 *
 * Guards. A guard also keeps the wake-ups that Python bound to the ring: a ring is destroyed
 * before them, in whichever order Python lets go of its objects.
 *
 * Reasons. A handler set at start keeps the last line that libfp logged on this thread, so that
 * exceptions can tell why. It is C and calls the handler that was there before.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GATE_CLOSED 0x80000000u
#define GATE_GONE 0x40000000u

static __thread char glue_line[256];
static fp_log_handler glue_next;
static void *glue_next_user;

static void glue_log(uint32_t level, const char *line, void *user)
{
	(void)user;
	strncpy(glue_line, line, sizeof(glue_line) - 1);
	if (glue_next)
		glue_next(level, line, glue_next_user);
}

/* Once per process, at import. 0, or -EPROTO: a library of another ABI, or without a part. */
int glue_start(void)
{
	const uint64_t parts = LIBFP_FEATURE_RING | LIBFP_FEATURE_MEMPOOL |
			       LIBFP_FEATURE_WAKEUP | LIBFP_FEATURE_SERVICE |
			       LIBFP_FEATURE_TIMER;
	static int started;

	if (fp_version_number() >> 8 != LIBFP_VERSION_NUMBER >> 8 ||
	    fp_version_number() < LIBFP_VERSION_NUMBER ||
	    (fp_features() & parts) != parts)
		return -EPROTO;
	if (!__atomic_exchange_n(&started, 1, __ATOMIC_SEQ_CST))
		glue_next = fp_log_set_handler(glue_log, NULL, &glue_next_user);
	return 0;
}

/* What libfp logged during the last call of this thread; "" if nothing. */
const char *glue_reason(void)
{
	return glue_line;
}

/* The file that holds the running libfp. */
const char *glue_library(void)
{
	Dl_info info;

	if (!dladdr((void *)fp_version_number, &info) || !info.dli_fname)
		return "";
	return info.dli_fname;
}

/* ---- gates ---- */

/* 0, or why a call must turn back. */
static int glue_pass(glue_gate *gate)
{
	uint32_t old = __atomic_fetch_add(&gate->word, 1, __ATOMIC_SEQ_CST);

	glue_line[0] = 0;
	if (__builtin_expect(!(old & (GATE_CLOSED | GATE_GONE)), 1))
		return 0;
	__atomic_fetch_sub(&gate->word, 1, __ATOMIC_SEQ_CST);
	return old & GATE_GONE ? GLUE_DESTROYED : GLUE_ENDING;
}

static void glue_leave_gate(glue_gate *gate)
{
	__atomic_fetch_sub(&gate->word, 1, __ATOMIC_SEQ_CST);
}

static void glue_open_gates(glue_gate *gates, int n)
{
	while (n--)
		__atomic_fetch_and(&gates[n].word, ~GATE_CLOSED, __ATOMIC_SEQ_CST);
}

/* For calls that must be alone. 0, or why not. */
static int glue_close_gates(glue_gate *gates, int n)
{
	glue_line[0] = 0;
	for (int i = 0; i < n; i++) {
		uint32_t old = 0;

		if (!__atomic_compare_exchange_n(&gates[i].word, &old, GATE_CLOSED, 0,
						 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
			glue_open_gates(gates, i);
			return old & GATE_GONE ? GLUE_DESTROYED : GLUE_IN_USE;
		}
	}
	return 0;
}

static void glue_end_gates(glue_gate *gates, int n)
{
	while (n--)
		__atomic_fetch_or(&gates[n].word, GATE_GONE, __ATOMIC_SEQ_CST);
}

#define GLUE_WAS_ENDING 1 /* the parent was about to destroy it */
#define GLUE_WAS_INSIDE 2

/* In the child of a fork: only the forking thread is left. What the others were doing. */
static int glue_forked_gates(glue_gate *gates, int n)
{
	int was = 0;

	while (n--) {
		uint32_t word = gates[n].word;

		if (word & GATE_CLOSED)
			was |= GLUE_WAS_ENDING;
		else if (word & ~GATE_GONE)
			was |= GLUE_WAS_INSIDE;
		gates[n].word &= GATE_GONE;
	}
	return was;
}

/* ---- gates of a ring ---- */

static int glue_enter_gate(glue_ring *g, uint32_t side)
{
	int err = glue_pass(&g->gates[side]);

	if (__builtin_expect(err || !g->guard->torn, 1))
		return err;
	glue_leave_gate(&g->gates[side]);
	return GLUE_TORN;
}

static int glue_enter(glue_ring *g, uint32_t side)
{
	int err = glue_enter_gate(g, side);

	if (err || !g->st[side])
		return err;
	if (!__atomic_exchange_n(&g->guard->busy[side], 1, __ATOMIC_SEQ_CST))
		return 0;
	glue_leave_gate(&g->gates[side]);
	return GLUE_SIDE_BUSY;
}

static void glue_leave(glue_ring *g, uint32_t side)
{
	if (g->st[side])
		__atomic_store_n(&g->guard->busy[side], 0, __ATOMIC_SEQ_CST);
	glue_leave_gate(&g->gates[side]);
}

static void glue_gone(glue_ring *g)
{
	glue_end_gates(g->gates, 3);
	g->handle = NULL;
	g->owner = 0;
}

/* ---- what the glue_rings on one ring share ---- */

static void glue_unbind(glue_guard *guard);

/* NULL: no memory. */
glue_guard *glue_guard_new(void)
{
	glue_guard *guard = calloc(1, sizeof(*guard));

	if (guard)
		guard->refs = 1;
	return guard;
}

void glue_guard_release(glue_guard *guard)
{
	if (__atomic_sub_fetch(&guard->refs, 1, __ATOMIC_SEQ_CST))
		return;
	glue_unbind(guard);
	free(guard);
}

/* Right after create or lookup, once. */
void glue_share(glue_ring *g, glue_guard *guard)
{
	__atomic_fetch_add(&guard->refs, 1, __ATOMIC_SEQ_CST);
	g->guard = guard;
}

/* ---- life ---- */

static void glue_fill(glue_ring *out, fp_ring *ring, uint32_t owner)
{
	out->handle = ring;
	out->owner = owner;
	out->elem_size = (uint32_t)fp_ring_elem_size(ring);
	out->st[GLUE_PRODUCER] = fp_ring_producer_sync(ring) == LIBFP_ST;
	out->st[GLUE_CONSUMER] = fp_ring_consumer_sync(ring) == LIBFP_ST;
}

/* The caller gives it its guard afterwards, with glue_share(). */
int glue_create(const char *name, uint32_t capacity, uint32_t elem_size,
		uint32_t producer, uint32_t consumer, uint32_t flags, uint32_t numa_node,
		glue_ring *out)
{
	fp_ring_opts opts = LIBFP_RING_OPTS_INIT;
	fp_ring *ring = NULL;
	int err;

	glue_line[0] = 0;
	opts.name = name;
	opts.capacity = capacity;
	opts.elem_size = elem_size;
	opts.producer = producer;
	opts.consumer = consumer;
	opts.flags = flags;
	opts.numa_node = numa_node;
	err = fp_ring_create(&opts, &ring);
	if (!err)
		glue_fill(out, ring, 1);
	return err;
}

int glue_lookup(const char *name, glue_ring *out)
{
	fp_ring *ring = NULL;
	int err;

	glue_line[0] = 0;
	err = fp_ring_lookup(name, &ring);
	if (!err)
		glue_fill(out, ring, 0);
	return err;
}

static int glue_end(glue_ring *g, int (*end)(fp_ring *))
{
	int err = glue_close_gates(g->gates, 3);

	if (err)
		return err;
	err = end(g->handle);
	if (!err)
		glue_gone(g);
	glue_open_gates(g->gates, 3);
	return err;
}

int glue_destroy(glue_ring *g)
{
	int err = glue_end(g, fp_ring_destroy);

	if (!err)
		glue_unbind(g->guard);
	return err;
}

int glue_unref(glue_ring *g)
{
	return glue_end(g, fp_ring_unref);
}

/*
 * The Python object and everything that was made from it are gone. A ring that cannot be
 * destroyed, because C code holds a reference to it, stays.
 */
void glue_drop(glue_ring *g)
{
	if (g->handle && g->owner) {
		if (!fp_ring_destroy(g->handle))
			glue_unbind(g->guard);
	} else if (g->handle) {
		fp_ring_unref(g->handle);
	}
	glue_gone(g);
	if (g->guard)
		glue_guard_release(g->guard);
	g->guard = NULL;
}

/*
 * In a child, right after the fork: the parent's other threads are not here. What one of them
 * was about to destroy may be half destroyed: leave it. What one was inside of must not be used.
 */
void glue_forked(glue_ring *g)
{
	int was = glue_forked_gates(g->gates, 3);

	if (was & GLUE_WAS_ENDING)
		glue_gone(g);
	if (was & GLUE_WAS_INSIDE)
		g->guard->torn = 1;
	g->guard->busy[0] = g->guard->busy[1] = 0;
}

/* ---- elements ---- */

#define GLUE_MOVE(g, side, elems, bytes, call)         \
	do {                                           \
		uint64_t n = (bytes) / (g)->elem_size; \
		int32_t got;                           \
                                                       \
		if (n * (g)->elem_size != (bytes))     \
			return GLUE_SIZE;              \
		if (n > INT32_MAX)                     \
			return -EINVAL;                \
		got = glue_enter(g, side);             \
		if (got)                               \
			return got;                    \
		got = call;                            \
		glue_leave(g, side);                   \
		return got;                            \
	} while (0)

int32_t glue_enqueue(glue_ring *g, const void *elems, uint64_t bytes)
{
	GLUE_MOVE(g, GLUE_PRODUCER, elems, bytes,
		  fp_ring_enqueue_burst(g->handle, elems, (uint32_t)n, NULL));
}

int32_t glue_enqueue_bulk(glue_ring *g, const void *elems, uint64_t bytes)
{
	GLUE_MOVE(g, GLUE_PRODUCER, elems, bytes,
		  fp_ring_enqueue_bulk(g->handle, elems, (uint32_t)n, NULL));
}

int32_t glue_dequeue(glue_ring *g, void *elems, uint64_t bytes)
{
	GLUE_MOVE(g, GLUE_CONSUMER, elems, bytes,
		  fp_ring_dequeue_burst(g->handle, elems, (uint32_t)n, NULL));
}

int32_t glue_dequeue_bulk(glue_ring *g, void *elems, uint64_t bytes)
{
	GLUE_MOVE(g, GLUE_CONSUMER, elems, bytes,
		  fp_ring_dequeue_bulk(g->handle, elems, (uint32_t)n, NULL));
}

int32_t glue_peek(glue_ring *g, void *elems, uint64_t bytes)
{
	GLUE_MOVE(g, GLUE_CONSUMER, elems, bytes,
		  fp_ring_peek(g->handle, elems, (uint32_t)n));
}

int32_t glue_put(glue_ring *g, uint64_t value)
{
	int32_t got;

	if (g->elem_size != sizeof(value))
		return GLUE_NO_INT;
	got = glue_enter(g, GLUE_PRODUCER);
	if (got)
		return got;
	got = fp_ring_enqueue_u64(g->handle, value);
	glue_leave(g, GLUE_PRODUCER);
	return got;
}

int32_t glue_take(glue_ring *g, uint64_t *value)
{
	int32_t got;

	if (g->elem_size != sizeof(*value))
		return GLUE_NO_INT;
	got = glue_enter(g, GLUE_CONSUMER);
	if (got)
		return got;
	got = fp_ring_dequeue_u64(g->handle, value);
	glue_leave(g, GLUE_CONSUMER);
	return got;
}

/* ---- spans ---- */

int32_t glue_reserve(glue_ring *g, uint32_t side, uint32_t n, uint32_t flags,
		     fp_ring_span *span)
{
	int32_t got = glue_enter(g, side);

	if (got)
		return got;
	got = side == GLUE_PRODUCER ? fp_ring_reserve_enqueue(g->handle, n, flags, span) :
				      fp_ring_reserve_dequeue(g->handle, n, flags, span);
	glue_leave(g, side);
	return got;
}

int32_t glue_commit(glue_ring *g, uint32_t side, fp_ring_span *span, uint32_t k)
{
	int32_t got = glue_enter(g, side);

	if (got)
		return got;
	got = side == GLUE_PRODUCER ? fp_ring_commit_enqueue(g->handle, span, k) :
				      fp_ring_commit_dequeue(g->handle, span, k);
	glue_leave(g, side);
	return got;
}

/* ---- the rest ---- */

int glue_close(glue_ring *g)
{
	int err = glue_enter(g, GLUE_PRODUCER);

	if (err)
		return err;
	err = fp_ring_close(g->handle);
	glue_leave(g, GLUE_PRODUCER);
	return err;
}

int glue_reset(glue_ring *g)
{
	int err = glue_close_gates(g->gates, 3);

	if (err)
		return err;
	err = g->guard->torn ? GLUE_TORN : fp_ring_reset(g->handle);
	glue_open_gates(g->gates, 3);
	return err;
}

#define GLUE_LOOK(type, name, look)                         \
	type name(glue_ring *g)                             \
	{                                                   \
		type got = glue_enter_gate(g, GLUE_OTHERS); \
                                                            \
		if (got)                                    \
			return got;                         \
		got = look(g->handle);                      \
		glue_leave_gate(&g->gates[GLUE_OTHERS]);    \
		return got;                                 \
	}

GLUE_LOOK(int64_t, glue_count, fp_ring_count)
GLUE_LOOK(int64_t, glue_free_count, fp_ring_free_count)
GLUE_LOOK(int, glue_is_full, fp_ring_is_full)
GLUE_LOOK(int, glue_is_empty, fp_ring_is_empty)
GLUE_LOOK(int, glue_is_closed, fp_ring_is_closed)

int glue_get_stats(glue_ring *g, fp_ring_stats *io)
{
	int got = glue_enter_gate(g, GLUE_OTHERS);

	if (got)
		return got;
	io->size = sizeof(*io);
	got = fp_ring_get_stats(g->handle, io);
	glue_leave_gate(&g->gates[GLUE_OTHERS]);
	return got;
}
