/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings: create, destroy, inspect. The fast path is in ring_fast.c, the
 * algorithms in ring_spsc.c (ST/ST) and ring_gens.c (any MT side).
 *
 * A ring with ST on both sides is an index ring; every other one is a
 * generation ring. The state (geometry, sides, generations, elements) is one
 * position-independent block; the handle is allocated beside it.
 */
#include <errno.h>
#include <string.h>

#include "base/copy.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/opts.h"
#include "ring/ring_gens.h"
#include "ring/ring_internal.h"

#define RING_OPTS_FIRST 48 /* sizeof(fp_ring_opts) as first published */
#define RING_STATE_FLAGS (LIBFP_STATS | LIBFP_CHECKED)
#define RING_HANDLE_FLAGS LIBFP_RING_WAIT
#define RING_MEM_FLAGS (LIBFP_MEM_HUGE | LIBFP_MEM_PREFAULT | LIBFP_MEM_NODE)

static struct fpi_registry rings = FPI_REGISTRY_INIT;

/* ---- options and geometry ---- */

struct geometry {
	uint64_t gens_offset;
	uint64_t data_offset;
	uint64_t owners_offset;
	uint64_t total;
};

int fp_ring_opts_init(fp_ring_opts *opts, uint32_t size)
{
	return fpi_opts_init(opts, size, RING_OPTS_FIRST);
}

/* Reads and checks the caller's options; `who` names the call in the log. */
static int read_opts(fp_ring_opts *o, const fp_ring_opts *opts, const char *who)
{
	int err = fpi_opts_read(o, sizeof(*o), RING_OPTS_FIRST, opts);

	if (err)
		return fpi_refuse(err,
				  "%s: options missing, misaligned or of a size "
				  "this library does not know",
				  who);
	if (o->flags & ~(uint32_t)(RING_STATE_FLAGS | RING_HANDLE_FLAGS | RING_MEM_FLAGS))
		return fpi_refuse(-EOPNOTSUPP, "%s: unknown flags %#x", who, o->flags);
	if (o->producer > LIBFP_ST || o->consumer > LIBFP_ST)
		return fpi_refuse(-EOPNOTSUPP,
				  "%s: sync %u/%u is not LIBFP_MT or LIBFP_ST", who,
				  o->producer, o->consumer);
	if (o->reserved0)
		return fpi_refuse(-EINVAL, "%s: reserved0 is not 0", who);
	if (o->capacity == 0 || o->capacity > LIBFP_RING_CAPACITY_MAX)
		return fpi_refuse(-EINVAL, "%s: capacity %u is not 1 to %d", who,
				  o->capacity, LIBFP_RING_CAPACITY_MAX);
	if (o->elem_size == 0)
		o->elem_size = 8;
	if (o->elem_size % 4 || o->elem_size > LIBFP_RING_ELEM_MAX)
		return fpi_refuse(-EINVAL,
				  "%s: element size %u is not a multiple of 4 up to %d",
				  who, o->elem_size, LIBFP_RING_ELEM_MAX);
	return fpi_allocator_check(o->allocator);
}

/* At most 2^30 elements of 4 KiB: 64 bits do not overflow. */
static struct geometry geometry_of(uint32_t capacity, uint32_t elem_size,
				   uint32_t producer, uint32_t consumer, uint32_t flags)
{
	struct geometry g = { 0 };
	uint64_t at = sizeof(struct fpi_ring_state);

	if (producer == LIBFP_MT || consumer == LIBFP_MT) {
		g.gens_offset = at;
		at += FPI_ALIGN_UP((uint64_t)capacity + FPI_GENS_PAD, LIBFP_RING_ALIGN);
		if (flags & LIBFP_CHECKED) {
			g.owners_offset = at;
			at += FPI_ALIGN_UP((uint64_t)capacity * 8, LIBFP_RING_ALIGN);
		}
	}
	g.data_offset = at;
	at += FPI_ALIGN_UP((uint64_t)capacity * elem_size, LIBFP_RING_ALIGN);
	g.total = at;
	return g;
}

int64_t fp_ring_memsize(const fp_ring_opts *opts)
{
	fp_ring_opts o;
	int err = read_opts(&o, opts, "fp_ring_memsize");

	if (err)
		return err;
	return (int64_t)geometry_of(o.capacity, o.elem_size, o.producer, o.consumer,
				    o.flags)
		.total;
}

/* ---- making state and handle ---- */

static void make_state(struct fpi_ring_state *s, const fp_ring_opts *o)
{
	struct geometry g = geometry_of(o->capacity, o->elem_size, o->producer,
					o->consumer, o->flags);

	memset(s, 0, sizeof(*s));
	s->total = g.total;
	s->gens_offset = g.gens_offset;
	s->data_offset = g.data_offset;
	s->owners_offset = g.owners_offset;
	s->flags = o->flags & RING_STATE_FLAGS;
	s->capacity = o->capacity;
	s->elem_size = o->elem_size;
	s->producer = o->producer;
	s->consumer = o->consumer;
}

/* Lets attach see a complete state. Partner: RING_ATTACH. */
static void publish_state(struct fpi_ring_state *s)
{
	FPI_STORE(&s->magic, FPI_RING_MAGIC, FPI_MO(RING_READY, RELEASE));
}

/*
 * A handle on a state at `at` that is, or is going to be, like *s: nothing is
 * read or written there.
 */
static int make_handle(struct fpi_ring_state *s, void *at, const fp_allocator *allocator,
		       uint32_t flags, fp_ring **out)
{
	struct fpi_ring_state *state = at;
	unsigned char *base = at;
	struct fpi_mem mem = { 0 };
	uint64_t lap = 4; /* at least 2 bits, so that gen_shift is not negative */
	fp_ring *r;
	size_t bytes = sizeof(*r);
	int err;

	if (flags & LIBFP_RING_WAIT)
		bytes += 2 * sizeof(*r->own);
	err = fpi_mem_alloc(&mem, allocator, bytes, FPI_FALSE_SHARING, 0, 0);
	if (err)
		return fpi_refuse(err, "fp_ring: no %zu bytes of memory for a handle",
				  bytes);
	r = mem.ptr;
	r->mem = mem;
	r->state = s;
	r->capacity = s->capacity;
	r->elem_size = s->elem_size;
	for (r->shift = 2; lap < s->capacity; lap <<= 1)
		r->shift++;
	r->gen_shift = r->shift - 2;
	r->mask = lap - 1;
	r->last = s->capacity - 1;
	r->carry = lap - s->capacity;
	r->prod = &state->prod;
	r->cons = &state->cons;
	r->data = base + s->data_offset;
	if (s->gens_offset)
		r->gens = (fpi_atomic_u8 *)(base + s->gens_offset);
	if (s->owners_offset)
		r->owners = (fpi_atomic_u64 *)(void *)(base + s->owners_offset);
	if (r->gens)
		fpi_ring_gens_ops(r, fpi_cpu_avx2());
	else
		fpi_ring_spsc_ops(r, fpi_cpu_avx2());
	r->raw = r->ops;
	r->generation = fpi_fork_generation();
	r->flags = s->flags;
	r->sync[FPI_RING_PRODUCER] = s->producer;
	r->sync[FPI_RING_CONSUMER] = s->consumer;
	if (flags & LIBFP_RING_WAIT)
		r->own = (fp_wakeup *)(void *)(r + 1);
	fpi_ring_wake_init(r);
	if (s->flags)
		fpi_ring_guard_ops(r);
	r->state = state;
	*out = r;
	return 0;
}

static void drop_handle(fp_ring *r)
{
	struct fpi_mem mem = r->mem, state = r->state_mem;

	fpi_ring_wake_drop(r);
	fpi_mem_free(&state);
	fpi_ring_let_out(r);
	fpi_mem_free(&mem);
}

static int take_name(fp_ring *r, const fp_ring_opts *o, const char *who)
{
	int err = fpi_registry_reserve(&rings, &r->name, o->name, r);

	if (err)
		return fpi_refuse(err, "%s: name '%.64s' is taken, empty or too long",
				  who, o->name);
	return 0;
}

/* The ring is complete: attach, the caller and lookup may see it. */
static void show(fp_ring *r, fp_ring **out)
{
	publish_state(r->state);
	*out = r;
	fpi_registry_publish(&r->name);
}

int fp_ring_create(const fp_ring_opts *opts, fp_ring **out)
{
	struct fpi_mem mem = { 0 };
	fp_ring_opts o;
	fp_ring *r = NULL;
	uint64_t total;
	int err = read_opts(&o, opts, "fp_ring_create");

	if (err)
		return err;
	if (!out)
		return fpi_refuse(-EINVAL, "fp_ring_create: out is NULL");
	err = fpi_fork_register();
	if (err)
		return err;
	total = geometry_of(o.capacity, o.elem_size, o.producer, o.consumer, o.flags)
			.total;
	err = fpi_mem_alloc(&mem, o.allocator, total, FPI_FALSE_SHARING, o.flags,
			    o.numa_node);
	if (err)
		return fpi_refuse(err, "fp_ring_create: no %llu bytes of memory",
				  (unsigned long long)total);
	make_state(mem.ptr, &o);
	err = make_handle(mem.ptr, mem.ptr, o.allocator, o.flags, &r);
	if (err) {
		fpi_mem_free(&mem);
		return err;
	}
	r->state_mem = mem;
	err = take_name(r, &o, "fp_ring_create");
	if (err) {
		drop_handle(r);
		return err;
	}
	show(r, out);
	return 0;
}

int fp_ring_init(void *mem, uint64_t len, const fp_ring_opts *opts, fp_ring **out)
{
	struct fpi_ring_state shape;
	fp_ring_opts o;
	fp_ring *r = NULL;
	int err = read_opts(&o, opts, "fp_ring_init");

	if (err)
		return err;
	if (!mem || !out || (uintptr_t)mem % LIBFP_RING_ALIGN)
		return fpi_refuse(-EINVAL,
				  "fp_ring_init: mem is NULL or not aligned to %d, "
				  "or out is NULL",
				  LIBFP_RING_ALIGN);
	if (o.flags & RING_MEM_FLAGS)
		return fpi_refuse(-EINVAL,
				  "fp_ring_init: memory flags with the caller's memory");
	if (len <
	    geometry_of(o.capacity, o.elem_size, o.producer, o.consumer, o.flags).total)
		return fpi_refuse(-ENOSPC, "fp_ring_init: %llu bytes are too few",
				  (unsigned long long)len);
	err = fpi_fork_register();
	if (err)
		return err;
	/* All that can fail comes before the first write to the caller's memory. */
	make_state(&shape, &o);
	err = make_handle(&shape, mem, o.allocator, o.flags, &r);
	if (err)
		return err;
	err = take_name(r, &o, "fp_ring_init");
	if (err) {
		drop_handle(r);
		return err;
	}
	*r->state = shape;
	if (shape.gens_offset) /* generations, and with CHECKED the owners behind them */
		memset((unsigned char *)mem + shape.gens_offset, 0,
		       shape.data_offset - shape.gens_offset);
	show(r, out);
	return 0;
}

int fp_ring_attach(void *mem, uint64_t len, fp_ring **out)
{
	struct fpi_ring_state *s = mem;
	struct geometry g;
	int err;

	if (!mem || !out || (uintptr_t)mem % LIBFP_RING_ALIGN)
		return fpi_refuse(-EINVAL,
				  "fp_ring_attach: mem is NULL or not aligned to %d, "
				  "or out is NULL",
				  LIBFP_RING_ALIGN);
	/* Partner: RING_READY: a state with the magic is complete. */
	if (len < sizeof(*s) ||
	    FPI_LOAD(&s->magic, FPI_MO(RING_ATTACH, ACQUIRE)) != FPI_RING_MAGIC)
		return fpi_refuse(-EPROTO, "fp_ring_attach: no ring of this layout");
	/* Whatever is not exactly what init writes is refused, not trusted. */
	if (s->capacity == 0 || s->capacity > LIBFP_RING_CAPACITY_MAX ||
	    s->elem_size == 0 || s->elem_size % 4 || s->elem_size > LIBFP_RING_ELEM_MAX ||
	    s->producer > LIBFP_ST || s->consumer > LIBFP_ST ||
	    s->flags & ~(uint32_t)RING_STATE_FLAGS)
		return fpi_refuse(-EPROTO, "fp_ring_attach: damaged ring");
	g = geometry_of(s->capacity, s->elem_size, s->producer, s->consumer, s->flags);
	if (g.total != s->total || g.gens_offset != s->gens_offset ||
	    g.data_offset != s->data_offset || g.owners_offset != s->owners_offset ||
	    g.total > len)
		return fpi_refuse(-EPROTO,
				  "fp_ring_attach: the ring does not fit in %llu bytes",
				  (unsigned long long)len);
	err = fpi_fork_register();
	if (err)
		return err;
	return make_handle(s, mem, NULL, 0, out);
}

/* ---- the end ---- */

static int spans_open(const fp_ring *r)
{
	return r->prod->span_n || r->cons->span_n ||
	       (r->gens && fpi_ring_gens_spans_open(r));
}

static int is_waited_for(const fp_ring *r)
{
	return fpi_ring_is_waited_for(r, FPI_RING_PRODUCER) ||
	       fpi_ring_is_waited_for(r, FPI_RING_CONSUMER);
}

int fp_ring_destroy(fp_ring *ring)
{
	int err;

	if (!ring)
		return 0;
	/* Threads, spans and references of the parent do not exist in a child. */
	if (ring->generation != fpi_fork_generation()) {
		fpi_registry_retire(&ring->name, 1);
		ring->flags = 0;
		drop_handle(ring);
		return 0;
	}
	/* First: who holds a reference may be inside a call, rightly. */
	if (fpi_registry_referenced(&ring->name))
		return fpi_refuse(-EBUSY,
				  "fp_ring_destroy: references by lookup are out");
	if (is_waited_for(ring))
		return fpi_refuse(-EBUSY, "fp_ring_destroy: a thread waits");
	err = fpi_ring_shut(ring, "fp_ring_destroy");
	if (err)
		return err;
	/* The state of a caller's memory lives on, and so may its spans. */
	if (ring->state_mem.ptr && spans_open(ring)) {
		fpi_ring_reopen(ring);
		return fpi_refuse(-EBUSY, "fp_ring_destroy: a span is open");
	}
	err = fpi_registry_retire(&ring->name, 0);
	if (err) {
		fpi_ring_reopen(ring);
		return fpi_refuse(err, "fp_ring_destroy: references by lookup are out");
	}
	drop_handle(ring);
	return 0;
}

int fp_ring_reset(fp_ring *ring)
{
	struct fpi_ring_state *s;
	int err;

	if (!ring)
		return -EINVAL;
	if (is_waited_for(ring))
		return fpi_refuse(-EBUSY, "fp_ring_reset: a thread waits");
	err = fpi_ring_shut(ring, "fp_ring_reset");
	if (err)
		return err;
	if (spans_open(ring)) {
		fpi_ring_reopen(ring);
		return fpi_refuse(-EBUSY, "fp_ring_reset: a span is open");
	}
	/* Nobody else is here: all of this is plain memory for now. */
	s = ring->state;
	s->closed.value = 0;
	s->spans.value = 0;
	s->prod = s->cons = (struct fpi_ring_side){ 0 };
	s->voided.value = s->voids_passed.value = 0;
	s->refused_full.value = s->refused_empty.value = s->high_water.value = 0;
	s->blocked_pos.value = s->blocked_since.value = 0;
	if (ring->gens)
		memset(ring->gens, 0, s->data_offset - s->gens_offset);
	/* Who sleeps on a bound wake-up waits for room, perhaps. */
	fpi_wakeup_signal(ring->wake[FPI_RING_PRODUCER]);
	fpi_ring_reopen(ring);
	return 0;
}

void fpi_ring_set_closed(fp_ring *r)
{
	if (r->gens)
		fpi_gens_close(r);
	else
		fpi_spsc_close(r);
	fpi_ring_wake_closed(r);
}

int fp_ring_close(fp_ring *ring)
{
	if (!ring)
		return -EINVAL;
	if (ring->flags & LIBFP_CHECKED)
		return fpi_ring_guarded_close(ring);
	fpi_ring_set_closed(ring);
	return 0;
}

/* ---- names ---- */

int fp_ring_lookup(const char *name, fp_ring **out)
{
	void *object;
	int err;

	if (!name || !out)
		return -EINVAL;
	err = fpi_registry_lookup(&rings, name, &object);
	if (!err)
		*out = object;
	return err;
}

int fp_ring_unref(fp_ring *ring)
{
	return ring ? fpi_registry_unref(&ring->name) : -EINVAL;
}

const char *fp_ring_name(const fp_ring *ring)
{
	return ring ? fpi_registry_name(&ring->name) : NULL;
}

/* ---- inspection ---- */

uint64_t fpi_ring_used(const fp_ring *r)
{
	/*
	 * Consumer head first: what a consumer has passed, the producer head
	 * has passed before (through the slots, or SPSC_C_REFRESH), so the
	 * difference is not negative. Partner: GENS_C_CLAIM, GENS_SC_HEAD,
	 * SPSC_C_FREE. Consumers may move between the loads: clamp.
	 */
	uint64_t c = FPI_LOAD(&r->cons->head, FPI_MO(RING_USED_CONS, ACQUIRE));
	uint64_t p = FPI_LOAD(&r->prod->head, FPI_RELAXED) & ~FPI_RING_CLOSED;
	uint64_t n = fpi_ring_distance(r, c, p);

	return n < r->capacity ? n : r->capacity;
}

int64_t fp_ring_count(const fp_ring *ring)
{
	return ring ? (int64_t)fpi_ring_used(ring) : -EINVAL;
}

int64_t fp_ring_free_count(const fp_ring *ring)
{
	return ring ? (int64_t)(ring->capacity - fpi_ring_used(ring)) : -EINVAL;
}

int64_t fp_ring_capacity(const fp_ring *ring)
{
	return ring ? (int64_t)ring->capacity : -EINVAL;
}

int64_t fp_ring_elem_size(const fp_ring *ring)
{
	return ring ? (int64_t)ring->elem_size : -EINVAL;
}

int fp_ring_producer_sync(const fp_ring *ring)
{
	return ring ? (int)ring->state->producer : -EINVAL;
}

int fp_ring_consumer_sync(const fp_ring *ring)
{
	return ring ? (int)ring->state->consumer : -EINVAL;
}

int fp_ring_is_full(const fp_ring *ring)
{
	return ring ? fpi_ring_used(ring) == ring->capacity : -EINVAL;
}

int fp_ring_is_empty(const fp_ring *ring)
{
	return ring ? fpi_ring_used(ring) == 0 : -EINVAL;
}

int fp_ring_is_closed(const fp_ring *ring)
{
	if (!ring)
		return -EINVAL;
	/* Not the hint: who was told -EPIPE must not be told "open" afterwards. */
	return (FPI_LOAD(&ring->prod->head, FPI_RELAXED) & FPI_RING_CLOSED) != 0;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

int fp_ring_get_stats(const fp_ring *ring, fp_ring_stats *io)
{
	fp_ring_stats s = { 0 };
	const struct fpi_ring_state *st;
	uint64_t passed, pos;

	if (!ring || !io)
		return -EINVAL;
	st = ring->state;
	s.voided = FPI_LOAD(&st->voided, FPI_RELAXED);
	passed = FPI_LOAD(&st->voids_passed, FPI_RELAXED);
	s.count = fpi_ring_used(ring);
	/* Void counts may run ahead of the heads that we see: never below 0. */
	s.dequeued = less(fpi_ring_linear(ring, FPI_LOAD(&ring->cons->head, FPI_RELAXED)),
			  passed);
	s.enqueued = less(fpi_ring_linear(ring, FPI_LOAD(&ring->prod->head, FPI_RELAXED) &
							~FPI_RING_CLOSED),
			  s.voided);
	if (st->flags & LIBFP_STATS) {
		s.flags |= LIBFP_RING_STATS_COUNTED;
		s.refused_full = FPI_LOAD(&st->refused_full, FPI_RELAXED);
		s.refused_empty = FPI_LOAD(&st->refused_empty, FPI_RELAXED);
		s.high_water = FPI_LOAD(&st->high_water, FPI_RELAXED);
	}
	if (ring->gens) {
		fpi_ring_gens_survey(ring, &s.unpublished, &s.void_pending);
		s.enqueued = less(s.enqueued, s.unpublished);
		if (fpi_ring_gens_blocked(ring, &pos, &s.blocked_by)) {
			s.flags |= LIBFP_RING_STATS_BLOCKED;
			if (st->flags)
				s.blocked_since_ns = fpi_ring_note_blocked(ring, pos);
		}
	}
	return fpi_stats_write(io, &s, sizeof(s));
}

#ifdef FPI_TEST_STEPS
void fpi_ring_start_at(fp_ring *r, uint64_t lap)
{
	uint64_t pos = lap << r->shift;

	r->prod->head.value = r->cons->head.value = pos;
	r->prod->cached = r->cons->cached = pos;
	if (r->gens)
		memset(r->gens, fpi_gen(r, pos, FPI_GEN_EMPTY), r->capacity);
}
#endif
