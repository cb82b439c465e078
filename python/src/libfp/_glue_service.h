/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the Python package calls for services and their cores, as _glue.h for rings: cffi parses
 * this file as it is, so it holds declarations only.
 *
 * A service with a Python function has an id, by which Python knows the function. It is called
 * only on a thread that Python lent with glue_core_run() or glue_service_run_once(): elsewhere
 * the service answers -EPERM, and a thread of libfp never enters the interpreter.
 */

/* Beside the values of _glue.h. */
#define GLUE_NOT_OURS -10031 /* destroy: it is another object's, and ends with that */

#define GLUE_LENT 2 /* owner: another object, such as a wheel */

typedef struct glue_service {
	fp_service *handle; /* NULL: destroyed, or the reference given back */
	uint32_t owner;	    /* 1: destroyed with the glue_service; or GLUE_LENT */
	uint32_t pad;
	glue_wakeup *wake; /* the service's; its gate closes with this one's */
	glue_gate gate;
} glue_service;

typedef struct glue_core {
	fp_service_core *handle; /* NULL: destroyed, or the reference given back */
	uint32_t owner;
	uint32_t lent; /* threads of Python that are running it, also between two calls */
	uint32_t stops; /* calls of glue_core_stop() */
	uint32_t pad;
	glue_wakeup *wake;
	glue_gate gate;
} glue_core;

/* id: not 0 for a Python function; run and user are the C function otherwise. */
int glue_service_create(const char *name, uint32_t flags, uint32_t cycles, uint64_t id,
			uint64_t run, uint64_t user, glue_service *out);
int glue_service_lookup(const char *name, glue_service *out);
int glue_service_adopt(fp_service *service, glue_service *out);
int glue_service_destroy(glue_service *g, uint32_t flags, uint64_t timeout_ns);
int glue_service_unref(glue_service *g);
void glue_service_drop(glue_service *g);
void glue_service_forked(glue_service *g);
uint64_t glue_service_reap(void);

int glue_service_start(glue_service *g);
int glue_service_stop(glue_service *g, uint64_t timeout_ns);
int glue_service_set_ready(glue_service *g, uint32_t ready, uint64_t timeout_ns);
int glue_service_is_runnable(glue_service *g);
int glue_service_is_active(glue_service *g);
int glue_service_run_once(glue_service *g, int32_t *result);
int glue_service_set_deadline(glue_service *g, uint64_t deadline_ns);
int glue_service_get_stats(glue_service *g, fp_service_stats *io);
int glue_service_reset_stats(glue_service *g);

int glue_service_map(glue_service *g, glue_core *core);
int glue_service_unmap(glue_service *g, glue_core *core, uint64_t timeout_ns);
int glue_service_is_mapped(glue_service *g, glue_core *core);
int glue_service_get_map_stats(glue_service *g, glue_core *core,
			       fp_service_map_stats *io);

int glue_core_create(const fp_service_core_opts *opts, glue_core *out);
int glue_core_lookup(const char *name, glue_core *out);
int glue_core_adopt(fp_service_core *core, glue_core *out);
int glue_core_destroy(glue_core *g);
int glue_core_unref(glue_core *g);
void glue_core_drop(glue_core *g);
void glue_core_forked(glue_core *g);

int glue_core_set_cpus(glue_core *g, const uint32_t *cpus, uint32_t n);
int glue_core_start(glue_core *g);
int glue_core_stop(glue_core *g, uint64_t timeout_ns);
uint32_t glue_core_lend(glue_core *g, int how_many);
int glue_core_run(glue_core *g, uint64_t timeout_ns);
int64_t glue_core_services(glue_core *g, fp_service **list, uint32_t n);
int glue_core_get_stats(glue_core *g, fp_service_core_stats *io);
int glue_core_reset_stats(glue_core *g);
