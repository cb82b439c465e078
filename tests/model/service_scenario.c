/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prepares a scenario of services, runs its letters and checks what came out; see
 * service_scenario.h.
 *
 * Services and cores are made once per scenario, in memory of our own that is set back to
 * a snapshot before every execution. What a thread allocates later comes from an arena of
 * its own and is used once, so that an address stands for the same thing in every
 * execution; bindings, which have atomics, have theirs apart.
 */
#include "service_scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_system.h"
#include "service/service_internal.h"

#define MAIN EX_THREADS /* "thread" of preparation */
#define ARENAS (EX_THREADS + 1)
#define ARENA_BYTES 16384
#define FIRST_ID 100
#define CORES 2
#define SERVICES 2
#define STEP_NS 6000u /* of a thread that waits: the barrier is due at its first look */

static const struct service_scenario *scenario;

static struct actor_service {
	fp_service *s;
	uint32_t datum[ARENAS]; /* [0] of a serialised one */
	int closed[ARENAS];	/* stopped, for that thread */
	int32_t result;
} services[SERVICES], services_at_start[SERVICES];
static fp_service_core *cores[CORES];
static uint64_t now_ns[ARENAS];

enum { OTHER, BINDING, KINDS };
static _Alignas(FPI_FALSE_SHARING) unsigned char arena[ARENAS][KINDS][ARENA_BYTES];
static unsigned char arena_at_start[KINDS][ARENA_BYTES];
static size_t used[ARENAS][KINDS], used_at_start[KINDS];
static struct fpi_services all_at_start;

/* ---- who runs, its memory and its time ---- */

static int me(void)
{
	return fpi_thread.id - FIRST_ID;
}

static void become(int t)
{
	uint32_t generation = fpi_fork_generation();

	fpi_thread = (struct fpi_thread){ .generation = generation,
					  .id_generation = generation,
					  .id = FIRST_ID + t,
					  .slot = FPI_NO_SLOT };
}

static void must_be(int right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "%s: cannot prepare: %s\n", scenario->name, what);
	exit(2);
}

static void *arena_alloc(void *ctx, uint64_t size, uint64_t align)
{
	int t = me(), kind = size == sizeof(struct fpi_service_binding);
	size_t at = (used[t][kind] + align - 1) & ~(size_t)(align - 1);
	unsigned char *p = arena[t][kind] + at;
	struct fpi_service_binding *b = (struct fpi_service_binding *)(void *)p;

	(void)ctx;
	must_be(at + size <= ARENA_BYTES, "the arena is too small");
	used[t][kind] = at + size;
	ex_plain(p, size < 512 ? size : 512, 1, "new memory");
	if (kind == BINDING) {
		ex_statistic(&b->calls.value);
		ex_statistic(&b->idle.value);
		ex_statistic(&b->errors.value);
		ex_statistic(&b->busy.value);
		ex_statistic(&b->cycles.value);
		ex_statistic(&b->longest.value);
	}
	return p;
}

/* Whoever used the memory must have happened before. */
static void arena_free(void *ctx, void *p, uint64_t size, uint64_t align)
{
	(void)ctx;
	(void)align;
	ex_plain(p, size < 512 ? size : 512, 1, "freed memory");
}

static const fp_allocator allocator = { sizeof(allocator), 0, arena_alloc, arena_free,
					NULL };

static struct timespec next_look(void)
{
	uint64_t ns = now_ns[me()] += fpi_thread.in_service ? 1 : STEP_NS;

	return (struct timespec){ .tv_sec = 1, .tv_nsec = (long)ns };
}

/* ---- the function ---- */

static int32_t function(void *user)
{
	struct actor_service *a = user;
	int t = me();
	uint32_t *datum = &a->datum[scenario->mt_safe ? t : 0];

	EX_CHECK(!a->closed[t]);
	ex_plain(datum, sizeof(*datum), 1, "function");
	return a->result;
}

/* What has been stopped, for these threads, is the caller's. */
static void has_stopped(struct actor_service *a, int from, int to)
{
	if (!scenario->mt_safe)
		ex_plain(&a->datum[0], sizeof(a->datum[0]), 1, "stopped");
	for (int t = from; t <= to; t++) {
		if (scenario->mt_safe)
			ex_plain(&a->datum[t], sizeof(a->datum[t]), 1, "stopped");
		a->closed[t] = 1;
	}
}

static void reopen(struct actor_service *a, int from, int to)
{
	for (int t = from; t <= to; t++)
		a->closed[t] = 0;
}

/* ---- letters ---- */

static uint64_t timeout(void)
{
	return (uint64_t)(scenario->looks ? scenario->looks : 1) * STEP_NS;
}

static void stop(struct actor_service *a)
{
	int err = fp_service_stop(a->s, timeout());

	EX_CHECK(err == 0 || err == -ETIMEDOUT);
	if (err)
		return;
	has_stopped(a, 0, EX_THREADS - 1);
	ex_plain(&a->s->flags, sizeof(a->s->flags), 1, "freed service");
}

/* As from inside a service: does not wait, and asks later. */
static void stop_inside(struct actor_service *a)
{
	int active;

	fpi_thread.in_service = 1;
	EX_CHECK(fp_service_stop(a->s, LIBFP_FOREVER) == -EINPROGRESS);
	fpi_thread.in_service = 0;
	active = fp_service_is_active(a->s);
	EX_CHECK(active == 0 || active == 1);
	if (!active)
		has_stopped(a, 0, EX_THREADS - 1);
}

static void unmap(struct actor_service *a, int core)
{
	int err = fp_service_unmap(a->s, cores[core], timeout());

	EX_CHECK(err == 0 || err == -ETIMEDOUT);
	/* Others may go on, so that a serialised one is not the caller's. */
	if (!err && scenario->mt_safe)
		has_stopped(a, core, core);
	if (!err)
		a->closed[core] = 1;
}

static void unmap_inside(struct actor_service *a)
{
	fpi_thread.in_service = 1;
	EX_CHECK(fp_service_unmap(a->s, cores[0], LIBFP_FOREVER) == -EINPROGRESS);
	fpi_thread.in_service = 0;
}

static void map(struct actor_service *a, int core)
{
	reopen(a, core, core);
	EX_CHECK(fp_service_map(a->s, cores[core]) == 0);
}

/* Up to a time, of which a pass takes as much as it looks at the clock. */
static void loop(int core, uint64_t looks)
{
	uint64_t until = looks ? FPI_NS_PER_S + now_ns[me()] + looks : 0;

	fpi_thread.in_service = 1;
	(void)fpi_core_loop(cores[core], until);
	fpi_thread.in_service = 0;
}

static void run_once(struct actor_service *a)
{
	int32_t result;
	int err = fp_service_run_once(a->s, 0, &result);

	EX_CHECK(err == 0 || err == -ESHUTDOWN || (err == -EBUSY && !scenario->mt_safe));
}

static void letter(char op)
{
	switch (op) {
	case '1':
	case '5':
		loop(op == '5', 0);
		break;
	case '2':
	case '6':
	case 'n':
		loop(op == '6', 3);
		break;
	case 'N':
		loop(0, 4);
		break;
	case 'l':
		fpi_core_leave(cores[0]);
		break;
	case 's':
	case 'S':
		stop(&services[op == 'S']);
		break;
	case 't':
		reopen(&services[0], 0, EX_THREADS - 1);
		EX_CHECK(fp_service_start(services[0].s) == 0);
		break;
	case 'm':
	case 'M':
		map(&services[0], op == 'm');
		break;
	case 'u':
		unmap(&services[0], 0);
		break;
	case 'v':
		unmap_inside(&services[0]);
		break;
	case 'a':
		stop_inside(&services[0]);
		break;
	case 'b':
		fpi_services_barrier();
		break;
	case 'r':
		run_once(&services[0]);
		break;
	}
}

static void thread(int t)
{
	become(t);
	for (const char *p = scenario->threads[t]; *p; p++)
		letter(*p);
}

/* All has been checked on the way. */
static void finish(void)
{
}

/* ---- preparation ---- */

/* Whether a thread has one of these letters. */
static int has(const char *letters)
{
	for (int t = 0; t < EX_THREADS && scenario->threads[t]; t++)
		if (strpbrk(scenario->threads[t], letters))
			return 1;
	return 0;
}

static void make_core(fp_service_core **c)
{
	fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;

	o.allocator = &allocator;
	must_be(fp_service_core_create(&o, c) == 0, "core");
	(*c)->spin_ns = has("nN") ? 0 : UINT64_MAX;
	(*c)->nap_ns = 0; /* asks at once whether all can be woken */
}

static void make_service(struct actor_service *a, const char *mapped, int start)
{
	fp_service_opts o = LIBFP_SERVICE_OPTS_INIT;

	o.flags = scenario->mt_safe ? LIBFP_SERVICE_MT_SAFE : 0;
	o.run = function;
	o.user = a;
	o.allocator = &allocator;
	must_be(fp_service_create(&o, &a->s) == 0, "service");
	a->result = has("26nN") ? -EAGAIN : 0;
	for (; mapped && *mapped; mapped++)
		must_be(fp_service_map(a->s, cores[*mapped - '0']) == 0, "map");
	must_be(!start || fp_service_start(a->s) == 0, "start");
}

static void setup(void)
{
	become(MAIN);
	for (int kind = 0; kind < KINDS; kind++)
		memcpy(arena[MAIN][kind], arena_at_start[kind], used_at_start[kind]);
	memset(used, 0, sizeof(used));
	memcpy(used[MAIN], used_at_start, sizeof(used_at_start));
	memset(now_ns, 0, sizeof(now_ns));
	fpi_services = all_at_start;
	memcpy(services, services_at_start, sizeof(services));
	for (int i = 0; i < CORES; i++) {
		fp_service_core *c = cores[i];

		ex_statistic(&c->loops.value);
		ex_statistic(&c->idle_loops.value);
	}
	for (int i = 0; i < SERVICES; i++) {
		ex_statistic(&services[i].s->app_idle.value);
		ex_name(&services[i].s->owner.value, i ? "owner B" : "owner A");
	}
	for (int i = 0; i < CORES; i++) {
		ex_name(&cores[i]->cur.value, i ? "cur 1" : "cur 0");
		ex_name(&cores[i]->ack.value, i ? "ack 1" : "ack 0");
		ex_name(&cores[i]->snapshot.value, i ? "snapshot 1" : "snapshot 0");
	}
}

void service_scenario_prepare(const struct service_scenario *s, struct ex_test *test)
{
	scenario = s;
	model_membarrier_fails = s->exchange;
	model_clock = next_look;
	fpi_fork_register(); /* a first generation, for become() */
	become(MAIN);
	memset(&fpi_services, 0, sizeof(fpi_services));
	memset(services, 0, sizeof(services));
	memset(used, 0, sizeof(used));
	memset(now_ns, 0, sizeof(now_ns));
	for (int i = 0; i < CORES; i++)
		make_core(&cores[i]);
	for (int i = 0; i < SERVICES; i++)
		make_service(&services[i], s->mapped[i], i || !s->stopped);
	for (int i = 0; i < CORES; i++)
		must_be(fpi_core_enter(cores[i], 1) == 0, "enter");
	all_at_start = fpi_services;
	memcpy(services_at_start, services, sizeof(services));
	memcpy(used_at_start, used[MAIN], sizeof(used_at_start));
	memcpy(arena_at_start, arena[MAIN], sizeof(arena_at_start));
	*test = (struct ex_test){ .name = s->name,
				  .setup = setup,
				  .thread = thread,
				  .finish = finish,
				  .local = &fpi_thread,
				  .local_size = sizeof(fpi_thread) };
	while (test->threads < EX_THREADS && s->threads[test->threads])
		test->threads++;
}
