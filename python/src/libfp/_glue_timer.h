/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the Python package calls for timer wheels, as _glue.h for rings: cffi parses this file
 * as it is, so it holds declarations only.
 *
 * Timers of Python have no callback: they are polled into records. So nothing here enters the
 * interpreter, whichever thread polls. Ids, expiries and results cross as the caller's own
 * arrays; `n` is their length.
 */

/* Beside the values of _glue.h. */
#define GLUE_UNALIGNED \
	-10021 /* an array that does not start at a multiple of its items */

/* Shared by all glue_wheels on one wheel; freed with the last reference. */
typedef struct glue_wheel_guard {
	uint32_t refs;
	uint32_t interrupts; /* calls of glue_wheel_interrupt() */
	glue_wakeup *wake;   /* bound from Python, and kept; NULL: none */
} glue_wheel_guard;

typedef struct glue_wheel {
	fp_timer_wheel *handle; /* NULL: destroyed, or the reference given back */
	glue_wheel_guard *guard;
	uint32_t owner; /* destroyed with the glue_wheel */
	uint32_t forked;
	glue_gate gate;
} glue_wheel;

glue_wheel_guard *glue_wheel_guard_new(void);
void glue_wheel_guard_release(glue_wheel_guard *guard);
void glue_wheel_share(glue_wheel *g, glue_wheel_guard *guard);

int glue_wheel_create(const fp_timer_wheel_opts *opts, glue_wheel *out);
int glue_wheel_lookup(const char *name, glue_wheel *out);
int glue_wheel_destroy(glue_wheel *g, glue_service *service);
int glue_wheel_unref(glue_wheel *g, glue_service *service);
void glue_wheel_drop(glue_wheel *g);
void glue_wheel_forked(glue_wheel *g);

int glue_timer_create(glue_wheel *g, uint64_t user, uint64_t *id);
int32_t glue_timer_create_bulk(glue_wheel *g, const uint64_t *users, uint64_t *ids,
			       uint64_t n);
int glue_timer_destroy(glue_wheel *g, uint64_t id);
int32_t glue_timer_destroy_bulk(glue_wheel *g, const uint64_t *ids, uint64_t n,
				int32_t *results);

int glue_timer_arm(glue_wheel *g, uint64_t id, uint64_t expiry);
int glue_timer_arm_periodic(glue_wheel *g, uint64_t id, uint64_t first, uint64_t period,
			    uint32_t policy);
int glue_timer_touch(glue_wheel *g, uint64_t id, uint64_t expiry);
int glue_timer_cancel(glue_wheel *g, uint64_t id);
int glue_timer_cancel_sync(glue_wheel *g, uint64_t id, uint64_t timeout_ns);
int glue_timer_is_pending(glue_wheel *g, uint64_t id);
int glue_timer_remaining(glue_wheel *g, uint64_t id, uint64_t now, uint64_t *ticks);
int32_t glue_timer_arm_bulk(glue_wheel *g, const uint64_t *ids, const uint64_t *expiries,
			    uint64_t n, int32_t *results);
int32_t glue_timer_touch_bulk(glue_wheel *g, const uint64_t *ids,
			      const uint64_t *expiries, uint64_t n, int32_t *results);
int32_t glue_timer_cancel_bulk(glue_wheel *g, const uint64_t *ids, uint64_t n,
			       int32_t *results);

int32_t glue_wheel_poll(glue_wheel *g, uint64_t now, void *records, uint64_t bytes);
int glue_wheel_now(glue_wheel *g, uint64_t *tick);
int glue_wheel_ticks(glue_wheel *g, uint64_t ns, uint64_t *ticks);
int glue_wheel_next(glue_wheel *g, uint64_t *tick);
int64_t glue_wheel_count(glue_wheel *g);
int64_t glue_wheel_cancel_all(glue_wheel *g);
int64_t glue_wheel_timers(glue_wheel *g, fp_timer_info *room, uint64_t n);
int glue_wheel_get_stats(glue_wheel *g, fp_timer_wheel_stats *io);
int glue_wheel_reset_stats(glue_wheel *g);

int glue_wheel_set_wakeup(glue_wheel *g, glue_wakeup *wakeup);
glue_wakeup *glue_wheel_wakeup(glue_wheel *g);
int glue_wheel_wait(glue_wheel *g, uint64_t timeout_ns);
int glue_wheel_interrupt(glue_wheel *g);
int64_t glue_wheel_interrupts(glue_wheel *g);
int glue_wheel_service(glue_wheel *g, glue_service *out);
