/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See _glue_timer.h. Included into the file that cffi generates, behind _glue_service.c, with
 * the gates of _glue.c: a wheel has one, which is closed for the calls that must be alone. A
 * thread that waits is inside it, so a wheel is not destroyed under one.
 *
 * The service of a wheel is the wheel's: its glue_service is lent, and ends with the wheel.
 */
_Static_assert(sizeof(void *) == sizeof(uint64_t),
	       "an array of `user` is one of integers");

/* ---- gates ---- */

static int glue_wheel_enter(glue_wheel *g)
{
	int err = glue_pass(&g->gate);

	if (__builtin_expect(err || !g->forked, 1))
		return err;
	glue_leave_gate(&g->gate);
	return GLUE_FORKED;
}

static int glue_wheel_close(glue_wheel *g)
{
	int err = glue_close_gates(&g->gate, 1);

	if (err || !g->forked)
		return err;
	glue_open_gates(&g->gate, 1);
	return GLUE_FORKED;
}

/* A function of one call: `call` is an expression over g->handle. */
#define GLUE_WHEEL_CALL(type, name, arguments, call) \
	type name arguments                          \
	{                                            \
		type got = glue_wheel_enter(g);      \
                                                     \
		if (got)                             \
			return got;                  \
		got = (call);                        \
		glue_leave_gate(&g->gate);           \
		return got;                          \
	}

/* ---- what the glue_wheels on one wheel share ---- */

/* NULL: no memory. */
glue_wheel_guard *glue_wheel_guard_new(void)
{
	glue_wheel_guard *guard = calloc(1, sizeof(*guard));

	if (guard)
		guard->refs = 1;
	return guard;
}

static void glue_wheel_unbind(glue_wheel_guard *guard)
{
	if (guard->wake)
		glue_wakeup_release(guard->wake);
	guard->wake = NULL;
}

void glue_wheel_guard_release(glue_wheel_guard *guard)
{
	if (__atomic_sub_fetch(&guard->refs, 1, __ATOMIC_SEQ_CST))
		return;
	glue_wheel_unbind(guard);
	free(guard);
}

/* Right after create or lookup, once. */
void glue_wheel_share(glue_wheel *g, glue_wheel_guard *guard)
{
	__atomic_fetch_add(&guard->refs, 1, __ATOMIC_SEQ_CST);
	g->guard = guard;
}

/* ---- life ---- */

/* The caller gives it its guard afterwards, with glue_wheel_share(). */
int glue_wheel_create(const fp_timer_wheel_opts *opts, glue_wheel *out)
{
	int err;

	glue_line[0] = 0;
	err = fp_timer_wheel_create(opts, &out->handle);
	out->owner = !err;
	return err;
}

int glue_wheel_lookup(const char *name, glue_wheel *out)
{
	glue_line[0] = 0;
	return fp_timer_wheel_lookup(name, &out->handle);
}

static void glue_wheel_gone(glue_wheel *g)
{
	glue_end_gates(&g->gate, 1);
	g->handle = NULL;
	g->owner = 0;
}

/* A child has no reference in its parent's registry to give back. */
static int glue_wheel_give_back(glue_wheel *g)
{
	return g->forked ? 0 : fp_timer_wheel_unref(g->handle);
}

static int glue_wheel_free(glue_wheel *g)
{
	return fp_timer_wheel_destroy(g->handle);
}

static int glue_wheel_end(glue_wheel *g, glue_service *service, int (*end)(glue_wheel *))
{
	int err = glue_close_gates(&g->gate, 1);

	if (err)
		return err;
	if (service && service->handle)
		err = glue_close_both(&service->gate, service->wake);
	else
		service = NULL;
	if (!err) {
		err = end(g);
		if (!err && service)
			glue_service_gone(service);
		if (service)
			glue_open_both(&service->gate, service->wake);
	}
	if (!err)
		glue_wheel_gone(g);
	glue_open_gates(&g->gate, 1);
	return err;
}

/* service: what glue_wheel_service() made for this glue_wheel, or NULL. */
int glue_wheel_destroy(glue_wheel *g, glue_service *service)
{
	int err = glue_wheel_end(g, service, glue_wheel_free);

	if (!err)
		glue_wheel_unbind(g->guard);
	return err;
}

int glue_wheel_unref(glue_wheel *g, glue_service *service)
{
	return glue_wheel_end(g, service, glue_wheel_give_back);
}

/*
 * The Python object and everything that was made from it are gone. A wheel that cannot be
 * destroyed, because C code uses it, stays.
 */
void glue_wheel_drop(glue_wheel *g)
{
	if (g->handle && g->owner) {
		if (!glue_wheel_free(g) && g->guard)
			glue_wheel_unbind(g->guard);
	} else if (g->handle) {
		glue_wheel_give_back(g);
	}
	glue_wheel_gone(g);
	if (g->guard)
		glue_wheel_guard_release(g->guard);
	g->guard = NULL;
}

/* In a child, right after the fork: all but destroy is refused. */
void glue_wheel_forked(glue_wheel *g)
{
	g->forked = 1;
	if (glue_forked_gates(&g->gate, 1) & GLUE_WAS_ENDING)
		glue_wheel_gone(g);
}

/* ---- timers, one at a time ---- */

GLUE_WHEEL_CALL(int, glue_timer_create, (glue_wheel * g, uint64_t user, uint64_t *id),
		fp_timer_create(g->handle, NULL, (void *)(uintptr_t)user, id))
GLUE_WHEEL_CALL(int, glue_timer_destroy, (glue_wheel * g, uint64_t id),
		fp_timer_destroy(g->handle, id))
GLUE_WHEEL_CALL(int, glue_timer_arm, (glue_wheel * g, uint64_t id, uint64_t expiry),
		fp_timer_arm(g->handle, id, expiry))
GLUE_WHEEL_CALL(int, glue_timer_arm_periodic,
		(glue_wheel * g, uint64_t id, uint64_t first, uint64_t period,
		 uint32_t policy),
		fp_timer_arm_periodic(g->handle, id, first, period, policy))
GLUE_WHEEL_CALL(int, glue_timer_touch, (glue_wheel * g, uint64_t id, uint64_t expiry),
		fp_timer_touch(g->handle, id, expiry))
GLUE_WHEEL_CALL(int, glue_timer_cancel, (glue_wheel * g, uint64_t id),
		fp_timer_cancel(g->handle, id))
GLUE_WHEEL_CALL(int, glue_timer_cancel_sync,
		(glue_wheel * g, uint64_t id, uint64_t timeout_ns),
		fp_timer_cancel_sync(g->handle, id, timeout_ns))
GLUE_WHEEL_CALL(int, glue_timer_is_pending, (glue_wheel * g, uint64_t id),
		fp_timer_is_pending(g->handle, id))
GLUE_WHEEL_CALL(int, glue_timer_remaining,
		(glue_wheel * g, uint64_t id, uint64_t now, uint64_t *ticks),
		fp_timer_remaining(g->handle, id, now, ticks))

/* ---- and many ---- */

/* 0, or why these arrays cannot be passed on as they are. */
static int glue_check_arrays(const void *one, const void *two, const int32_t *results,
			     uint64_t n)
{
	if (!n) /* an empty array may be anywhere */
		return 0;
	if (((uintptr_t)one | (uintptr_t)two) % sizeof(uint64_t) ||
	    (uintptr_t)results % sizeof(int32_t))
		return GLUE_UNALIGNED;
	return n > INT32_MAX ? -EINVAL : 0;
}

#define GLUE_TIMER_BULK(name, arguments, one, two, results, call)      \
	int32_t name arguments                                         \
	{                                                              \
		int32_t got = glue_check_arrays(one, two, results, n); \
                                                                       \
		if (!got)                                              \
			got = glue_wheel_enter(g);                     \
		if (got)                                               \
			return got;                                    \
		got = (call);                                          \
		glue_leave_gate(&g->gate);                             \
		return got;                                            \
	}

/* users: NULL: all 0. */
GLUE_TIMER_BULK(glue_timer_create_bulk,
		(glue_wheel * g, const uint64_t *users, uint64_t *ids, uint64_t n), users,
		ids, NULL,
		fp_timer_create_bulk(g->handle, NULL, (void *const *)(const void *)users,
				     ids, (uint32_t)n))
GLUE_TIMER_BULK(glue_timer_destroy_bulk,
		(glue_wheel * g, const uint64_t *ids, uint64_t n, int32_t *results), ids,
		NULL, results,
		fp_timer_destroy_bulk(g->handle, ids, (uint32_t)n, results))
GLUE_TIMER_BULK(glue_timer_arm_bulk,
		(glue_wheel * g, const uint64_t *ids, const uint64_t *expiries,
		 uint64_t n, int32_t *results),
		ids, expiries, results,
		fp_timer_arm_bulk(g->handle, ids, expiries, (uint32_t)n, results))
GLUE_TIMER_BULK(glue_timer_touch_bulk,
		(glue_wheel * g, const uint64_t *ids, const uint64_t *expiries,
		 uint64_t n, int32_t *results),
		ids, expiries, results,
		fp_timer_touch_bulk(g->handle, ids, expiries, (uint32_t)n, results))
GLUE_TIMER_BULK(glue_timer_cancel_bulk,
		(glue_wheel * g, const uint64_t *ids, uint64_t n, int32_t *results), ids,
		NULL, results, fp_timer_cancel_bulk(g->handle, ids, (uint32_t)n, results))

static int32_t glue_poll(fp_timer_wheel *wheel, uint64_t now, fp_timer_record *records,
			 uint64_t n)
{
	int32_t err = glue_check_arrays(records, NULL, NULL, n);

	return err ? err : fp_timer_wheel_poll_burst(wheel, now, records, (uint32_t)n);
}

/* Fills a buffer of `bytes` bytes with records. */
int32_t glue_wheel_poll(glue_wheel *g, uint64_t now, void *records, uint64_t bytes)
{
	int32_t got;

	if (bytes % sizeof(fp_timer_record))
		return GLUE_SIZE;
	got = glue_wheel_enter(g);
	if (got)
		return got;
	got = glue_poll(g->handle, now, records, bytes / sizeof(fp_timer_record));
	glue_leave_gate(&g->gate);
	return got;
}

/* ---- the wheel ---- */

GLUE_WHEEL_CALL(int, glue_wheel_now, (glue_wheel * g, uint64_t *tick),
		fp_timer_wheel_now(g->handle, tick))
GLUE_WHEEL_CALL(int, glue_wheel_ticks, (glue_wheel * g, uint64_t ns, uint64_t *ticks),
		fp_timer_wheel_ticks_from_ns(g->handle, ns, ticks))
GLUE_WHEEL_CALL(int, glue_wheel_next, (glue_wheel * g, uint64_t *tick),
		fp_timer_wheel_next_expiry(g->handle, tick))
GLUE_WHEEL_CALL(int64_t, glue_wheel_count, (glue_wheel * g),
		fp_timer_wheel_count(g->handle))
GLUE_WHEEL_CALL(int64_t, glue_wheel_cancel_all, (glue_wheel * g),
		fp_timer_wheel_cancel_all(g->handle))
GLUE_WHEEL_CALL(int, glue_wheel_reset_stats, (glue_wheel * g),
		fp_timer_wheel_reset_stats(g->handle))

int glue_wheel_get_stats(glue_wheel *g, fp_timer_wheel_stats *io)
{
	int got = glue_wheel_enter(g);

	if (got)
		return got;
	io->size = sizeof(*io);
	got = fp_timer_wheel_get_stats(g->handle, io);
	glue_leave_gate(&g->gate);
	return got;
}

struct glue_list {
	fp_timer_info *room;
	uint64_t n;
	int64_t count;
};

static int glue_list_one(const fp_timer_info *info, void *user)
{
	struct glue_list *list = user;

	if ((uint64_t)list->count < list->n)
		list->room[list->count] = *info;
	list->count++;
	return 0;
}

static int64_t glue_list_all(fp_timer_wheel *wheel, fp_timer_info *room, uint64_t n)
{
	struct glue_list list = { room, n, 0 };
	int err = fp_timer_wheel_for_each(wheel, glue_list_one, &list);

	return err ? err : list.count;
}

/* Fills up to n and returns how many timers there are. */
GLUE_WHEEL_CALL(int64_t, glue_wheel_timers,
		(glue_wheel * g, fp_timer_info *room, uint64_t n),
		glue_list_all(g->handle, room, n))

/* ---- waiting ---- */

static int glue_wheel_bind(glue_wheel *g, glue_wakeup *wakeup)
{
	int err = wakeup ? glue_pass(&wakeup->gate) : 0;

	if (err)
		return err;
	err = fp_timer_wheel_set_wakeup(g->handle, wakeup ? wakeup->handle : NULL);
	if (wakeup)
		glue_leave_gate(&wakeup->gate);
	if (err)
		return err;
	if (wakeup)
		glue_wakeup_keep(wakeup);
	glue_wheel_unbind(g->guard);
	g->guard->wake = wakeup;
	return 0;
}

/* wakeup: NULL unbinds. */
int glue_wheel_set_wakeup(glue_wheel *g, glue_wakeup *wakeup)
{
	int err = glue_wheel_close(g);

	if (err)
		return err;
	err = glue_wheel_bind(g, wakeup);
	glue_open_gates(&g->gate, 1);
	return err;
}

/* With a reference; NULL: none. Only glue_wheel_set_wakeup() must not come beside it. */
glue_wakeup *glue_wheel_wakeup(glue_wheel *g)
{
	glue_wakeup *wakeup = NULL;

	if (glue_wheel_enter(g))
		return NULL;
	if (g->guard->wake)
		wakeup = glue_wakeup_keep(g->guard->wake);
	glue_leave_gate(&g->gate);
	return wakeup;
}

static int glue_wait_wheel(fp_timer_wheel *wheel, uint64_t timeout_ns)
{
	int got = fp_timer_wheel_wait(wheel, timeout_ns);

	return got == -ETIMEDOUT ? 0 : got ? got : 1;
}

/* 1: poll; 0: the time is over. */
GLUE_WHEEL_CALL(int, glue_wheel_wait, (glue_wheel * g, uint64_t timeout_ns),
		glue_wait_wheel(g->handle, timeout_ns))

int glue_wheel_interrupt(glue_wheel *g)
{
	int err = glue_wheel_enter(g);

	if (err)
		return err;
	__atomic_fetch_add(&g->guard->interrupts, 1, __ATOMIC_SEQ_CST);
	err = fp_timer_wheel_interrupt(g->handle);
	glue_leave_gate(&g->gate);
	return err;
}

/* A number that another interrupt changes. As glue_wheel_wakeup(). */
int64_t glue_wheel_interrupts(glue_wheel *g)
{
	int64_t got = glue_wheel_enter(g);

	if (got)
		return got;
	if (g->guard->wake)
		got = glue_wakeup_interrupts(g->guard->wake);
	else
		got = __atomic_load_n(&g->guard->interrupts, __ATOMIC_SEQ_CST);
	glue_leave_gate(&g->gate);
	return got;
}

static int glue_wheel_lend(fp_timer_wheel *wheel, glue_service *out)
{
	fp_service *service = NULL;
	int err = fp_timer_wheel_service(wheel, &service);

	return err ? err : glue_service_fill(out, service, GLUE_LENT);
}

int glue_wheel_service(glue_wheel *g, glue_service *out)
{
	int err = glue_wheel_close(g);

	if (err)
		return err;
	err = glue_wheel_lend(g->handle, out);
	glue_open_gates(&g->gate, 1);
	return err;
}
