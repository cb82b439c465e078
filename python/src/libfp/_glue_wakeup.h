/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the Python package calls for wake-ups and for waiting rings, as _glue.h for rings: cffi
 * parses this file as it is, so it holds declarations only.
 *
 * A glue_wakeup is freed with its last reference. The Python object has one, every key has one,
 * and so has the guard of every ring that it is bound to.
 */

struct glue_wakeup {
	fp_wakeup *handle; /* NULL: destroyed, or the service that had it */
	uint32_t refs;
	uint32_t
		owner; /* destroyed with the glue_wakeup; 0: it is a service's or a core's */
	glue_gate gate;
};

/* What fp_wakeup_prepare() gave, for one wait or cancel. */
typedef struct glue_key {
	glue_wakeup *wakeup;
	uint64_t value;
	uint32_t held; /* 0: used */
	uint32_t pad;
} glue_key;

glue_wakeup *glue_wakeup_new(void);
glue_wakeup *glue_wakeup_keep(glue_wakeup *g);
void glue_wakeup_release(glue_wakeup *g);
int glue_wakeup_create(uint32_t flags, glue_wakeup *out);
int glue_wakeup_destroy(glue_wakeup *g);
void glue_wakeup_forked(glue_wakeup *g);

int glue_wakeup_prepare(glue_wakeup *g, glue_key *out);
int glue_wakeup_cancel(glue_key *key);
int glue_wakeup_wait(glue_key *key, uint64_t timeout_ns, uint32_t go_on);
void glue_key_drop(glue_key *key);

int glue_wakeup_mode(glue_wakeup *g);
int glue_wakeup_signal(glue_wakeup *g);
int glue_wakeup_interrupt(glue_wakeup *g);
int glue_wakeup_fd(glue_wakeup *g);
int glue_wakeup_arm(glue_wakeup *g);
int glue_wakeup_clear(glue_wakeup *g);
int glue_wakeup_get_stats(glue_wakeup *g, fp_wakeup_stats *io);
int64_t glue_wakeup_interrupts(glue_wakeup *g);

/* ---- rings ---- */

int glue_set_wakeup(glue_ring *g, uint32_t side, glue_wakeup *wakeup);
glue_wakeup *glue_get_wakeup(glue_ring *g, uint32_t side);
int glue_interrupt(glue_ring *g, uint32_t side);
int64_t glue_interrupts(glue_ring *g, uint32_t side);
int32_t glue_wait(glue_ring *g, uint32_t side, uint64_t timeout_ns);
int32_t glue_dequeue_wait(glue_ring *g, void *elems, uint64_t bytes, uint32_t min,
			  uint64_t timeout_ns);
int32_t glue_enqueue_wait(glue_ring *g, const void *elems, uint64_t bytes, uint32_t min,
			  uint64_t timeout_ns);
