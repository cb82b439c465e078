/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See _glue_wakeup.h. Included into the file that cffi generates, behind _glue.c, whose gates
 * keep calls and destroy apart. A thread that sleeps is inside its gate, so what it sleeps on
 * is not destroyed; it does not hold the GIL.
 */

/* ---- life of wake-ups ---- */

/* NULL: no memory. */
glue_wakeup *glue_wakeup_new(void)
{
	glue_wakeup *g = calloc(1, sizeof(*g));

	if (g)
		g->refs = 1;
	return g;
}

glue_wakeup *glue_wakeup_keep(glue_wakeup *g)
{
	__atomic_fetch_add(&g->refs, 1, __ATOMIC_SEQ_CST);
	return g;
}

/* A wake-up that cannot be destroyed, because C code bound something to it, stays. */
void glue_wakeup_release(glue_wakeup *g)
{
	if (__atomic_sub_fetch(&g->refs, 1, __ATOMIC_SEQ_CST))
		return;
	if (g->owner && g->handle)
		fp_wakeup_destroy(g->handle);
	free(g);
}

int glue_wakeup_create(uint32_t flags, glue_wakeup *out)
{
	fp_wakeup_opts opts = LIBFP_WAKEUP_OPTS_INIT;
	int err;

	glue_line[0] = 0;
	opts.flags = flags;
	err = fp_wakeup_create(&opts, &out->handle);
	out->owner = !err;
	return err;
}

static void glue_wakeup_gone(glue_wakeup *g)
{
	glue_end_gates(&g->gate, 1);
	g->handle = NULL;
}

int glue_wakeup_destroy(glue_wakeup *g)
{
	int err = glue_close_gates(&g->gate, 1);

	if (err)
		return err;
	err = fp_wakeup_destroy(g->handle);
	if (!err)
		glue_wakeup_gone(g);
	glue_open_gates(&g->gate, 1);
	return err;
}

/* In a child, right after the fork: libfp refuses all but destroy. */
void glue_wakeup_forked(glue_wakeup *g)
{
	if (glue_forked_gates(&g->gate, 1) & GLUE_WAS_ENDING)
		glue_wakeup_gone(g);
}

/* ---- sleeping ---- */

int glue_wakeup_prepare(glue_wakeup *g, glue_key *out)
{
	int err = glue_pass(&g->gate);

	if (err)
		return err;
	err = fp_wakeup_prepare(g->handle, &out->value);
	if (!err) {
		out->wakeup = glue_wakeup_keep(g);
		out->held = 1;
	}
	glue_leave_gate(&g->gate);
	return err;
}

static int glue_key_use(glue_key *key)
{
	if (!__atomic_exchange_n(&key->held, 0, __ATOMIC_SEQ_CST))
		return GLUE_KEY_USED;
	return glue_pass(&key->wakeup->gate);
}

int glue_wakeup_cancel(glue_key *key)
{
	int err = glue_key_use(key);

	if (err)
		return err;
	err = fp_wakeup_cancel(key->wakeup->handle, key->value);
	glue_leave_gate(&key->wakeup->gate);
	return err;
}

/*
 * go_on: the caller will wait again after a time-out. The key is then a new one, announced before
 * the old one ended: no signal falls between two waits.
 */
int glue_wakeup_wait(glue_key *key, uint64_t timeout_ns, uint32_t go_on)
{
	fp_wakeup *w = key->wakeup->handle;
	uint64_t next = 0;
	int err = glue_key_use(key);

	if (err)
		return err;
	if (go_on)
		go_on = !fp_wakeup_prepare(w, &next);
	err = fp_wakeup_wait(w, key->value, timeout_ns);
	if (go_on && err == -ETIMEDOUT) {
		key->value = next;
		__atomic_store_n(&key->held, 1, __ATOMIC_SEQ_CST);
	} else if (go_on) {
		fp_wakeup_cancel(w, next);
	}
	glue_leave_gate(&key->wakeup->gate);
	return err;
}

/* Python forgot it. */
void glue_key_drop(glue_key *key)
{
	if (!key->wakeup)
		return;
	glue_wakeup_cancel(key);
	glue_wakeup_release(key->wakeup);
}

/* ---- the rest ---- */

#define GLUE_WAKEUP_CALL(name, call)           \
	int name(glue_wakeup *g)               \
	{                                      \
		int got = glue_pass(&g->gate); \
                                               \
		if (got)                       \
			return got;            \
		got = call(g->handle);         \
		glue_leave_gate(&g->gate);     \
		return got;                    \
	}

GLUE_WAKEUP_CALL(glue_wakeup_mode, fp_wakeup_mode)
GLUE_WAKEUP_CALL(glue_wakeup_signal, fp_wakeup_signal)
GLUE_WAKEUP_CALL(glue_wakeup_interrupt, fp_wakeup_interrupt)
GLUE_WAKEUP_CALL(glue_wakeup_fd, fp_wakeup_fd)
GLUE_WAKEUP_CALL(glue_wakeup_arm, fp_wakeup_arm)
GLUE_WAKEUP_CALL(glue_wakeup_clear, fp_wakeup_clear)

int glue_wakeup_get_stats(glue_wakeup *g, fp_wakeup_stats *io)
{
	int got = glue_pass(&g->gate);

	if (got)
		return got;
	io->size = sizeof(*io);
	got = fp_wakeup_get_stats(g->handle, io);
	glue_leave_gate(&g->gate);
	return got;
}

/* How many interrupts there were, or why nobody knows. */
int64_t glue_wakeup_interrupts(glue_wakeup *g)
{
	fp_wakeup_stats stats;
	int got = glue_wakeup_get_stats(g, &stats);

	return got ? got : (int64_t)stats.interrupts;
}

/* ---- rings ---- */

/* Nothing signals the wake-ups for this ring any more. */
static void glue_unbind(glue_guard *guard)
{
	for (int side = 0; side < 2; side++) {
		if (guard->wake[side])
			glue_wakeup_release(guard->wake[side]);
		guard->wake[side] = NULL;
	}
}

static int glue_bind(glue_ring *g, uint32_t side, glue_wakeup *wakeup)
{
	int err = wakeup ? glue_pass(&wakeup->gate) : 0;

	if (err)
		return err;
	err = fp_ring_set_wakeup(g->handle, side, wakeup ? wakeup->handle : NULL);
	if (wakeup)
		glue_leave_gate(&wakeup->gate);
	if (err)
		return err;
	if (wakeup)
		glue_wakeup_keep(wakeup);
	if (g->guard->wake[side])
		glue_wakeup_release(g->guard->wake[side]);
	g->guard->wake[side] = wakeup;
	return 0;
}

/* wakeup: NULL unbinds. */
int glue_set_wakeup(glue_ring *g, uint32_t side, glue_wakeup *wakeup)
{
	int err = glue_close_gates(g->gates, 3);

	if (err)
		return err;
	err = g->guard->torn ? GLUE_TORN : glue_bind(g, side, wakeup);
	glue_open_gates(g->gates, 3);
	return err;
}

/* With a reference; NULL: Python bound none. Only glue_set_wakeup() must not come beside it. */
glue_wakeup *glue_get_wakeup(glue_ring *g, uint32_t side)
{
	glue_wakeup *wakeup = NULL;

	if (glue_enter_gate(g, GLUE_OTHERS))
		return NULL;
	if (g->guard->wake[side])
		wakeup = glue_wakeup_keep(g->guard->wake[side]);
	glue_leave_gate(&g->gates[GLUE_OTHERS]);
	return wakeup;
}

int glue_interrupt(glue_ring *g, uint32_t side)
{
	int err = glue_enter_gate(g, GLUE_OTHERS);

	if (err)
		return err;
	__atomic_fetch_add(&g->guard->interrupts[side], 1, __ATOMIC_SEQ_CST);
	err = fp_ring_interrupt(g->handle, side);
	glue_leave_gate(&g->gates[GLUE_OTHERS]);
	return err;
}

/* A number that another interrupt of this side changes. */
int64_t glue_interrupts(glue_ring *g, uint32_t side)
{
	int64_t got = glue_enter_gate(g, GLUE_OTHERS);

	if (got)
		return got;
	got = g->guard->interrupts[side];
	if (g->guard->wake[side])
		got = glue_wakeup_interrupts(g->guard->wake[side]);
	glue_leave_gate(&g->gates[GLUE_OTHERS]);
	return got;
}

int32_t glue_wait(glue_ring *g, uint32_t side, uint64_t timeout_ns)
{
	int32_t got = glue_enter(g, side);

	if (got)
		return got;
	got = side == GLUE_PRODUCER ? fp_ring_wait_writable(g->handle, timeout_ns) :
				      fp_ring_wait_readable(g->handle, timeout_ns);
	glue_leave(g, side);
	return got;
}

int32_t glue_dequeue_wait(glue_ring *g, void *elems, uint64_t bytes, uint32_t min,
			  uint64_t timeout_ns)
{
	GLUE_MOVE(g, GLUE_CONSUMER, elems, bytes,
		  fp_ring_dequeue_wait(g->handle, elems, min, (uint32_t)n, timeout_ns));
}

int32_t glue_enqueue_wait(glue_ring *g, const void *elems, uint64_t bytes, uint32_t min,
			  uint64_t timeout_ns)
{
	GLUE_MOVE(g, GLUE_PRODUCER, elems, bytes,
		  fp_ring_enqueue_wait(g->handle, elems, min, (uint32_t)n, timeout_ns));
}
