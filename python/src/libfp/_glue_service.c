/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See _glue_service.h. Included into the file that cffi generates, behind _glue_wakeup.c, with
 * the gates of _glue.c: one for a service or core, and that of the wake-up it owns.
 *
 * Releases. libfp says that it will never call a service again on any thread, perhaps one of its
 * own. The id is put on a list then, from which Python takes it later and forgets the function.
 */
#include <time.h>

/* Defined by cffi: calls the Python function of that id, with the GIL. */
static int32_t glue_call_python(uint64_t id);

struct glue_function {
	uint64_t id;
	struct glue_function *next;
};

static struct glue_function *glue_released; /* newest first */
static struct glue_function *glue_reaping;  /* what glue_service_reap() took from it */
static __thread uint32_t glue_lent; /* calls that this thread, Python's, is inside of */

static int32_t glue_run_python(void *user)
{
	return glue_lent ? glue_call_python(((struct glue_function *)user)->id) : -EPERM;
}

static void glue_release(void *user)
{
	struct glue_function *f = user;

	f->next = __atomic_load_n(&glue_released, __ATOMIC_SEQ_CST);
	while (!__atomic_compare_exchange_n(&glue_released, &f->next, f, 0,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

/* The id of a function that is needed no more; 0: none. One thread at a time. */
uint64_t glue_service_reap(void)
{
	struct glue_function *f;
	uint64_t id;

	if (!glue_reaping)
		glue_reaping =
			__atomic_exchange_n(&glue_released, NULL, __ATOMIC_SEQ_CST);
	f = glue_reaping;
	if (!f)
		return 0;
	glue_reaping = f->next;
	id = f->id;
	free(f);
	return id;
}

/* ---- what services and cores share ---- */

static int glue_own(fp_wakeup *w, glue_wakeup **out)
{
	*out = glue_wakeup_new();
	if (!*out)
		return -ENOMEM;
	(*out)->handle = w;
	return 0;
}

static void glue_disown(glue_wakeup **wake)
{
	if (!*wake)
		return;
	glue_wakeup_gone(*wake);
	glue_wakeup_release(*wake);
	*wake = NULL;
}

/* Both gates, or none. */
static int glue_close_both(glue_gate *gate, glue_wakeup *wake)
{
	int err = glue_close_gates(gate, 1);

	if (err)
		return err;
	err = glue_close_gates(&wake->gate, 1);
	if (err)
		glue_open_gates(gate, 1);
	return err;
}

static void glue_open_both(glue_gate *gate, glue_wakeup *wake)
{
	glue_open_gates(gate, 1);
	if (wake)
		glue_open_gates(&wake->gate, 1);
}

/* ---- life of services ---- */

static int glue_service_fill(glue_service *out, fp_service *service, uint32_t owner)
{
	int err = glue_own(fp_service_wakeup(service), &out->wake);

	if (err)
		return err;
	out->handle = service;
	out->owner = owner;
	return 0;
}

int glue_service_create(const char *name, uint32_t flags, uint32_t cycles, uint64_t id,
			uint64_t run, uint64_t user, glue_service *out)
{
	fp_service_opts opts = LIBFP_SERVICE_OPTS_INIT;
	struct glue_function *f = NULL;
	fp_service *service = NULL;
	int err;

	glue_line[0] = 0;
	opts.name = name;
	opts.flags = flags;
	opts.cycles = cycles;
	opts.run = (fp_service_run_fn)(uintptr_t)run;
	opts.user = (void *)(uintptr_t)user;
	if (id) {
		f = calloc(1, sizeof(*f));
		if (!f)
			return -ENOMEM;
		f->id = id;
		opts.run = glue_run_python;
		opts.user = f;
		opts.released = glue_release;
	}
	err = fp_service_create(&opts, &service);
	if (err) {
		free(f);
		return err;
	}
	err = glue_service_fill(out, service, 1);
	if (err)
		fp_service_destroy(service, 0, 0);
	return err;
}

/* Takes over a reference. */
int glue_service_adopt(fp_service *service, glue_service *out)
{
	int err = glue_service_fill(out, service, 0);

	if (err)
		fp_service_unref(service);
	return err;
}

int glue_service_lookup(const char *name, glue_service *out)
{
	fp_service *service = NULL;
	int err;

	glue_line[0] = 0;
	err = fp_service_lookup(name, &service);
	return err ? err : glue_service_adopt(service, out);
}

static void glue_service_gone(glue_service *g)
{
	glue_end_gates(&g->gate, 1);
	g->handle = NULL;
	glue_disown(&g->wake);
}

/* -EINPROGRESS: libfp will do it; the handle is not to be used any more, as after 0. */
int glue_service_destroy(glue_service *g, uint32_t flags, uint64_t timeout_ns)
{
	int err;

	glue_line[0] = 0;
	if (g->owner == GLUE_LENT)
		return GLUE_NOT_OURS;
	err = glue_close_both(&g->gate, g->wake);
	if (err)
		return err;
	err = fp_service_destroy(g->handle, flags, timeout_ns);
	if (!err || err == -EINPROGRESS)
		glue_service_gone(g);
	glue_open_both(&g->gate, g->wake);
	return err;
}

int glue_service_unref(glue_service *g)
{
	int err = glue_close_both(&g->gate, g->wake);

	if (err)
		return err;
	err = fp_service_unref(g->handle);
	if (!err)
		glue_service_gone(g);
	glue_open_both(&g->gate, g->wake);
	return err;
}

/* The Python object is gone. A service that cannot be destroyed is stopped, and stays. */
void glue_service_drop(glue_service *g)
{
	if (!g->handle)
		return;
	if (g->owner == 1)
		fp_service_destroy(g->handle, LIBFP_SERVICE_FORCE, 0);
	else if (!g->owner)
		fp_service_unref(g->handle);
	glue_service_gone(g);
}

/* In a child, right after the fork: libfp refuses all but destroy. */
void glue_service_forked(glue_service *g)
{
	if (g->wake)
		glue_wakeup_forked(g->wake);
	if (glue_forked_gates(&g->gate, 1) & GLUE_WAS_ENDING)
		glue_service_gone(g);
}

/* ---- calls on services ---- */

/* call is an expression over handle, the C object. */
#define GLUE_PASSED(g, call)                     \
	do {                                     \
		int got = glue_pass(&(g)->gate); \
                                                 \
		if (got)                         \
			return got;              \
		got = (call);                    \
		glue_leave_gate(&(g)->gate);     \
		return got;                      \
	} while (0)

int glue_service_start(glue_service *g)
{
	GLUE_PASSED(g, fp_service_start(g->handle));
}

int glue_service_stop(glue_service *g, uint64_t timeout_ns)
{
	GLUE_PASSED(g, fp_service_stop(g->handle, timeout_ns));
}

int glue_service_set_ready(glue_service *g, uint32_t ready, uint64_t timeout_ns)
{
	GLUE_PASSED(g, fp_service_set_ready(g->handle, ready, timeout_ns));
}

int glue_service_is_runnable(glue_service *g)
{
	GLUE_PASSED(g, fp_service_is_runnable(g->handle));
}

int glue_service_is_active(glue_service *g)
{
	GLUE_PASSED(g, fp_service_is_active(g->handle));
}

static int glue_run_once(fp_service *service, int32_t *result)
{
	int err;

	glue_lent++;
	err = fp_service_run_once(service, 0, result);
	glue_lent--;
	return err;
}

int glue_service_run_once(glue_service *g, int32_t *result)
{
	GLUE_PASSED(g, glue_run_once(g->handle, result));
}

int glue_service_set_deadline(glue_service *g, uint64_t deadline_ns)
{
	GLUE_PASSED(g, fp_service_set_deadline(g->handle, deadline_ns));
}

int glue_service_get_stats(glue_service *g, fp_service_stats *io)
{
	io->size = sizeof(*io);
	GLUE_PASSED(g, fp_service_get_stats(g->handle, io));
}

int glue_service_reset_stats(glue_service *g)
{
	GLUE_PASSED(g, fp_service_reset_stats(g->handle));
}

/* ---- a service and a core ---- */

#define GLUE_PASSED_BOTH(g, core, call)              \
	do {                                         \
		int both = glue_pass(&(core)->gate); \
                                                     \
		if (both)                            \
			return both;                 \
		both = glue_pass(&(g)->gate);        \
		if (!both) {                         \
			both = (call);               \
			glue_leave_gate(&(g)->gate); \
		}                                    \
		glue_leave_gate(&(core)->gate);      \
		return both;                         \
	} while (0)

int glue_service_map(glue_service *g, glue_core *core)
{
	GLUE_PASSED_BOTH(g, core, fp_service_map(g->handle, core->handle));
}

int glue_service_unmap(glue_service *g, glue_core *core, uint64_t timeout_ns)
{
	GLUE_PASSED_BOTH(g, core, fp_service_unmap(g->handle, core->handle, timeout_ns));
}

int glue_service_is_mapped(glue_service *g, glue_core *core)
{
	GLUE_PASSED_BOTH(g, core, fp_service_is_mapped(g->handle, core->handle));
}

int glue_service_get_map_stats(glue_service *g, glue_core *core, fp_service_map_stats *io)
{
	io->size = sizeof(*io);
	GLUE_PASSED_BOTH(g, core, fp_service_get_map_stats(g->handle, core->handle, io));
}

/* ---- cores ---- */

static int glue_core_fill(glue_core *out, fp_service_core *core, uint32_t owner)
{
	int err = glue_own(fp_service_core_wakeup(core), &out->wake);

	if (err)
		return err;
	out->handle = core;
	out->owner = owner;
	return 0;
}

int glue_core_create(const fp_service_core_opts *opts, glue_core *out)
{
	fp_service_core *core = NULL;
	int err;

	glue_line[0] = 0;
	err = fp_service_core_create(opts, &core);
	if (err)
		return err;
	err = glue_core_fill(out, core, 1);
	if (err)
		fp_service_core_destroy(core);
	return err;
}

/* Takes over a reference. */
int glue_core_adopt(fp_service_core *core, glue_core *out)
{
	int err = glue_core_fill(out, core, 0);

	if (err)
		fp_service_core_unref(core);
	return err;
}

int glue_core_lookup(const char *name, glue_core *out)
{
	fp_service_core *core = NULL;
	int err;

	glue_line[0] = 0;
	err = fp_service_core_lookup(name, &core);
	return err ? err : glue_core_adopt(core, out);
}

static void glue_core_gone(glue_core *g)
{
	glue_end_gates(&g->gate, 1);
	g->handle = NULL;
	glue_disown(&g->wake);
}

static int glue_core_end(glue_core *g, int (*end)(fp_service_core *))
{
	int err = glue_close_both(&g->gate, g->wake);

	if (err)
		return err;
	err = end(g->handle);
	if (!err)
		glue_core_gone(g);
	glue_open_both(&g->gate, g->wake);
	return err;
}

int glue_core_destroy(glue_core *g)
{
	return glue_core_end(g, fp_service_core_destroy);
}

int glue_core_unref(glue_core *g)
{
	return glue_core_end(g, fp_service_core_unref);
}

/* The Python object is gone. A core that C code runs, or has a reference to, stays. */
void glue_core_drop(glue_core *g)
{
	if (!g->handle)
		return;
	if (g->owner)
		fp_service_core_destroy(g->handle);
	else
		fp_service_core_unref(g->handle);
	glue_core_gone(g);
}

void glue_core_forked(glue_core *g)
{
	g->lent = 0;
	if (g->wake)
		glue_wakeup_forked(g->wake);
	if (glue_forked_gates(&g->gate, 1) & GLUE_WAS_ENDING)
		glue_core_gone(g);
}

int glue_core_set_cpus(glue_core *g, const uint32_t *cpus, uint32_t n)
{
	GLUE_PASSED(g, fp_service_core_set_cpus(g->handle, cpus, n));
}

int glue_core_start(glue_core *g)
{
	GLUE_PASSED(g, fp_service_core_start(g->handle));
}

/*
 * A thread that Python lent in slices may be between two of them, and libfp says that the core
 * does not run: it is asked until the thread has seen the stop.
 */
static int glue_stop_lent(glue_core *g, uint64_t timeout_ns)
{
	const struct timespec pause = { 0, 50000 };
	uint64_t waited = 0;
	int err;

	__atomic_fetch_add(&g->stops, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		err = fp_service_core_stop(g->handle, timeout_ns);
		if (err != -EALREADY || glue_lent ||
		    !__atomic_load_n(&g->lent, __ATOMIC_SEQ_CST))
			return err;
		if (waited >= timeout_ns)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
		waited += 50000;
	}
}

int glue_core_stop(glue_core *g, uint64_t timeout_ns)
{
	GLUE_PASSED(g, glue_stop_lent(g, timeout_ns));
}

/* Around all slices of one run: 1 before, -1 after. Returns how many lent it before. */
uint32_t glue_core_lend(glue_core *g, int how_many)
{
	return __atomic_fetch_add(&g->lent, (uint32_t)how_many, __ATOMIC_SEQ_CST);
}

static int glue_run(fp_service_core *core, uint64_t timeout_ns)
{
	int err;

	glue_lent++;
	err = fp_service_core_run(core, timeout_ns);
	glue_lent--;
	return err;
}

int glue_core_run(glue_core *g, uint64_t timeout_ns)
{
	GLUE_PASSED(g, glue_run(g->handle, timeout_ns));
}

int64_t glue_core_services(glue_core *g, fp_service **list, uint32_t n)
{
	int64_t count = glue_pass(&g->gate);

	if (count)
		return count;
	count = fp_service_core_services(g->handle, list, n);
	glue_leave_gate(&g->gate);
	return count;
}

int glue_core_get_stats(glue_core *g, fp_service_core_stats *io)
{
	io->size = sizeof(*io);
	GLUE_PASSED(g, fp_service_core_get_stats(g->handle, io));
}

int glue_core_reset_stats(glue_core *g)
{
	GLUE_PASSED(g, fp_service_core_reset_stats(g->handle));
}
