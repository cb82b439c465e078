/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the Python package calls: one function per operation, over the exported functions of
 * libfp. cffi parses this file as it is, so it holds declarations only; _glue.c has the rest.
 *
 * A glue_ring is one Python object's way to a ring. cffi releases the GIL during every call, so
 * another Python thread may destroy the ring or enter the same side meanwhile: every call
 * passes a gate that notices.
 */

/*
 * Of each part's struct _handle.py reads one member, handle: the C object, or NULL once it is
 * destroyed. Each part's functions answer GLUE_DESTROYED from then on, and a function that makes
 * an object takes the struct last.
 */

/* Beside negative errno values: what the gates answer. */
#define GLUE_DESTROYED -10001 /* destroyed, or the reference given back */
#define GLUE_SIDE_BUSY -10002 /* another thread is inside this ST side */
#define GLUE_IN_USE -10003    /* destroy, reset, unref: a thread is inside a call */
#define GLUE_ENDING -10004    /* a thread is inside destroy, reset or unref */
#define GLUE_TORN -10005      /* at the fork a thread of the parent was inside the ring */
#define GLUE_SIZE -10006      /* a buffer that is not a whole number of elements */
#define GLUE_NO_INT -10007    /* integers need elements of 8 bytes */
#define GLUE_KEY_USED -10008  /* a key that wait or cancel had before */

#define GLUE_PRODUCER 0
#define GLUE_CONSUMER 1
#define GLUE_OTHERS 2 /* neither side: counts, statistics */

typedef struct glue_wakeup glue_wakeup; /* see _glue_wakeup.h */

/* Shared by all glue_rings on one ring; freed with the last reference. */
typedef struct glue_guard {
	uint32_t busy[2]; /* 1: a thread is inside this ST side */
	uint32_t torn;
	uint32_t refs;
	uint32_t interrupts[2]; /* calls of glue_interrupt() */
	glue_wakeup *wake[2];	/* bound from Python, and kept; NULL: none */
} glue_guard;

typedef struct glue_gate {
	uint32_t word; /* threads inside, and two bits */
	uint32_t pad[15];
} glue_gate;

typedef struct glue_ring {
	fp_ring *handle; /* NULL: destroyed, or the reference given back */
	glue_guard *guard;
	uint32_t elem_size;
	uint32_t owner; /* destroyed with the glue_ring */
	uint32_t st[2];
	uint64_t pad[4];
	glue_gate gates[3];
} glue_ring;

int glue_start(void);
const char *glue_reason(void);
const char *glue_library(void);

glue_guard *glue_guard_new(void);
void glue_guard_release(glue_guard *guard);
void glue_share(glue_ring *g, glue_guard *guard);

int glue_create(const char *name, uint32_t capacity, uint32_t elem_size,
		uint32_t producer, uint32_t consumer, uint32_t flags, uint32_t numa_node,
		glue_ring *out);
int glue_lookup(const char *name, glue_ring *out);
int glue_destroy(glue_ring *g);
int glue_unref(glue_ring *g);
void glue_drop(glue_ring *g);
void glue_forked(glue_ring *g);

int32_t glue_enqueue(glue_ring *g, const void *elems, uint64_t bytes);
int32_t glue_enqueue_bulk(glue_ring *g, const void *elems, uint64_t bytes);
int32_t glue_dequeue(glue_ring *g, void *elems, uint64_t bytes);
int32_t glue_dequeue_bulk(glue_ring *g, void *elems, uint64_t bytes);
int32_t glue_peek(glue_ring *g, void *elems, uint64_t bytes);
int32_t glue_put(glue_ring *g, uint64_t value);
int32_t glue_take(glue_ring *g, uint64_t *value);

int32_t glue_reserve(glue_ring *g, uint32_t side, uint32_t n, uint32_t flags,
		     fp_ring_span *span);
int32_t glue_commit(glue_ring *g, uint32_t side, fp_ring_span *span, uint32_t k);

int glue_close(glue_ring *g);
int glue_reset(glue_ring *g);
int64_t glue_count(glue_ring *g);
int64_t glue_free_count(glue_ring *g);
int glue_is_full(glue_ring *g);
int glue_is_empty(glue_ring *g);
int glue_is_closed(glue_ring *g);
int glue_get_stats(glue_ring *g, fp_ring_stats *io);
