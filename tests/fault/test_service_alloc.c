/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Failing allocations, at every index, in every call of services and cores that
 * allocates: -ENOMEM, nothing changed, nothing leaked, and the same call works when there
 * is memory again. Threads that cannot be made.
 */
#define _GNU_SOURCE 1
#include <sys/resource.h>

#include "child.h"
#include "heap.h"
#include "service_test.h"

/* ---- create ---- */

static void create_fails_cleanly(void)
{
	for (int core = 0; core < 2; core++) {
		struct fpt_heap heap = { .fail_at = 0 };
		fp_allocator a = fpt_heap_allocator(&heap);
		fp_service_core_opts co = LIBFP_SERVICE_CORE_OPTS_INIT;
		fp_service_opts o = LIBFP_SERVICE_OPTS_INIT;
		struct st_counter k = { 0 };
		fp_service *s = ST_UNTOUCHED;
		fp_service_core *c = ST_UNTOUCHED;

		o.name = co.name = "may fail";
		o.allocator = co.allocator = &a;
		o.run = st_count;
		o.user = &k;
		fpt_log_begin();
		if (core)
			CHECK_EQ(fp_service_core_create(&co, &c), -ENOMEM);
		else
			CHECK_EQ(fp_service_create(&o, &s), -ENOMEM);
		CHECK(s == ST_UNTOUCHED && c == ST_UNTOUCHED);
		CHECK_EQ(fpt_log.lines, 1);
		fpt_log_end();
		CHECK_EQ(heap.live, 0);
		CHECK_EQ(fp_service_list(NULL, 0) + fp_service_core_list(NULL, 0), 0);
		CHECK_EQ(fp_service_lookup("may fail", &s), -ENOENT);
		CHECK_EQ(fp_service_core_lookup("may fail", &c), -ENOENT);
		if (core) {
			CHECK_EQ(fp_service_core_create(&co, &c), 0);
			CHECK_EQ(fp_service_core_destroy(c), 0);
		} else {
			CHECK_EQ(fp_service_create(&o, &s), 0);
			CHECK_EQ(fp_service_destroy(s, 0, 0), 0);
		}
		CHECK_EQ(heap.live + heap.bad, 0);
	}
}

/* A name that is taken is found out after the memory was. */
static void a_late_refusal_gives_everything_back(void)
{
	struct fpt_heap heap = { .fail_at = -1 };
	fp_allocator a = fpt_heap_allocator(&heap);
	fp_service_core_opts co = LIBFP_SERVICE_CORE_OPTS_INIT;
	fp_service_opts o = LIBFP_SERVICE_OPTS_INIT;
	struct st_counter k = { 0 };
	fp_service *s, *t = ST_UNTOUCHED;
	fp_service_core *c, *d = ST_UNTOUCHED;

	o.name = co.name = "taken";
	o.allocator = co.allocator = &a;
	o.run = st_count;
	o.user = &k;
	CHECK_EQ(fp_service_create(&o, &s) + fp_service_core_create(&co, &c), 0);
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(fp_service_create(&o, &t), -EEXIST);
		CHECK_EQ(fp_service_core_create(&co, &d), -EEXIST);
		CHECK_EQ(heap.live, 2);
	}
	CHECK(t == ST_UNTOUCHED && d == ST_UNTOUCHED);
	CHECK_EQ(fp_service_destroy(s, 0, 0) + fp_service_core_destroy(c), 0);
	CHECK_EQ(heap.live + heap.bad, 0);
}

/* ---- changes ---- */

#define CORES 3

/* A service, and cores whose memory can fail. */
struct stage {
	struct fpt_heap heap[CORES];
	fp_service_core *c[CORES];
	struct st_counter k;
	fp_service *s;
	int parallel;
};

static void set_stage(struct stage *x, uint32_t flags)
{
	memset(x, 0, sizeof(*x));
	x->s = st_make(&x->k, NULL, flags);
	x->parallel = flags == LIBFP_SERVICE_MT_SAFE;
	for (int i = 0; i < CORES; i++) {
		fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
		fp_allocator a = fpt_heap_allocator(&x->heap[i]);

		x->heap[i].fail_at = -1;
		o.allocator = &a;
		CHECK_EQ(fp_service_core_create(&o, &x->c[i]), 0);
	}
}

static void clear_stage(struct stage *x)
{
	st_end(x->s);
	for (int i = 0; i < CORES; i++) {
		st_end_core(x->c[i]);
		CHECK_EQ(x->heap[i].live + x->heap[i].bad, 0);
	}
	CHECK(x->parallel || x->k.overlaps == 0);
}

/* What is to be as before when a call has failed. */
struct picture {
	uint32_t flags;
	uint64_t cores, states;
	int runnable, mapped[CORES];
};

static struct picture picture_of(struct stage *x)
{
	struct picture p;
	fp_service_stats st = st_stats(x->s);

	memset(&p, 0, sizeof(p));
	p.flags = st.flags & ~(uint32_t)LIBFP_SERVICE_IS_ACTIVE;
	p.cores = st.cores;
	p.runnable = fp_service_is_runnable(x->s);
	for (int i = 0; i < CORES; i++) {
		p.mapped[i] = fp_service_is_mapped(x->s, x->c[i]);
		p.states |= (uint64_t)(st_core_stats(x->c[i]).state !=
				       LIBFP_SERVICE_CORE_STOPPED)
			    << i;
	}
	return p;
}

struct change {
	const char *name;
	int running; /* cores run and the service is on the first n */
	int (*before)(struct stage *);
	int (*call)(struct stage *);
};

static int nothing(struct stage *x)
{
	(void)x;
	return 0;
}

static int map_0(struct stage *x)
{
	return fp_service_map(x->s, x->c[0]);
}

static int map_1(struct stage *x)
{
	return fp_service_map(x->s, x->c[1]);
}

static int unmap_0(struct stage *x)
{
	return fp_service_unmap(x->s, x->c[0], LIBFP_FOREVER);
}

static int start(struct stage *x)
{
	return fp_service_start(x->s);
}

static int stop(struct stage *x)
{
	return fp_service_stop(x->s, LIBFP_FOREVER);
}

static int ready(struct stage *x)
{
	return fp_service_set_ready(x->s, 1, 0);
}

static int shut(struct stage *x)
{
	return fp_service_set_ready(x->s, 0, LIBFP_FOREVER);
}

static int start_core(struct stage *x)
{
	return fp_service_core_start(x->c[2]);
}

static int run_core(struct stage *x)
{
	int rc = fp_service_core_run(x->c[2], 0);

	return rc == -ETIMEDOUT ? 0 : rc;
}

/* Busy at times, which is no failure. */
static int run_once(struct stage *x)
{
	int rc;

	while ((rc = fp_service_run_once(x->s, 0, NULL)) == -EBUSY)
		sched_yield();
	return rc;
}

static int start_defaults(struct stage *x)
{
	return (int)fp_service_start_defaults(x->c, CORES) < 0 ? -ENOMEM : 0;
}

static const struct change changes[] = {
	{ "map", 1, nothing, map_1 },
	{ "map, stopped", 1, stop, map_1 },
	{ "unmap", 1, nothing, unmap_0 },
	{ "unmap of two", 2, nothing, unmap_0 },
	{ "stop", 1, nothing, stop },
	{ "stop of two", 2, nothing, stop },
	{ "start", 1, stop, start },
	{ "start of two", 2, stop, start },
	{ "shut", 2, nothing, shut },
	{ "ready", 2, shut, ready },
	{ "core start", 1, nothing, start_core },
	{ "core run", 1, nothing, run_core },
	{ "run once", 1, nothing, run_once },
};

/* Fails allocation `at` of core `i` from here on; returns what the call did. */
static int fails(struct stage *x, const struct change *ch, int i, int64_t at)
{
	struct picture before = picture_of(x), after;
	int64_t live[CORES];
	int rc;

	for (int j = 0; j < CORES; j++)
		live[j] = x->heap[j].live;
	x->heap[i].fail_at = (int64_t)x->heap[i].allocs + at;
	rc = ch->call(x);
	x->heap[i].fail_at = -1;
	if (rc == 0)
		return 0;
	CHECK_EQ(rc, -ENOMEM);
	after = picture_of(x);
	CHECK_EQ(memcmp(&before, &after, sizeof(before)), 0);
	for (int j = 0; j < CORES; j++)
		CHECK(x->heap[j].live <= live[j]); /* what has been passed may go */
	return rc;
}

static void changes_fail_cleanly_at_every_allocation(void)
{
	for (int safe = 0; safe < 2; safe++)
		for (size_t n = 0; n < FPT_LEN(changes); n++)
			for (int i = 0; i < CORES; i++)
				for (int64_t at = 0, rc = -ENOMEM; rc; at++) {
					const struct change *ch = &changes[n];
					struct stage x;
					uint64_t calls;

					fpt_where("%s, core %d, allocation %" PRId64
						  ", flags %d",
						  ch->name, i, at, safe);
					CHECK(at < 10);
					set_stage(&x, safe ? LIBFP_SERVICE_MT_SAFE : 0);
					CHECK_EQ(map_0(&x), 0);
					CHECK_EQ(ch->running > 1 ? map_1(&x) : 0, 0);
					CHECK_EQ(start(&x), 0);
					for (int j = 0; j < 2; j++)
						CHECK_EQ(fp_service_core_start(x.c[j]),
							 0);
					CHECK_EQ(ch->before(&x), 0);
					fpt_log_begin();
					rc = fails(&x, ch, i, at);
					fpt_log_end();
					/* Now there is memory. */
					CHECK_EQ(rc ? ch->call(&x) : 0, 0);
					calls = st_calls(&x.k);
					if (picture_of(&x).runnable)
						while (st_calls(&x.k) == calls)
							sched_yield();
					clear_stage(&x);
				}
}

/* Of the defaults, what was done until then stays. */
static void defaults_fail_half_way(void)
{
	for (int i = 0; i < CORES; i++)
		for (int64_t at = 0, rc = -ENOMEM; rc; at++) {
			struct stage x;

			fpt_where("core %d, allocation %" PRId64, i, at);
			CHECK(at < 10);
			set_stage(&x, 0);
			x.heap[i].fail_at = at;
			rc = start_defaults(&x);
			x.heap[i].fail_at = -1;
			CHECK_EQ(start_defaults(&x), 0);
			st_await_calls(&x.k, 2);
			clear_stage(&x);
		}
}

static void destroy_without_memory_changes_nothing(void)
{
	struct stage x;

	set_stage(&x, 0);
	CHECK_EQ(map_0(&x) + start(&x) + fp_service_core_start(x.c[0]), 0);
	st_await_calls(&x.k, 1);
	x.heap[0].fail_at = (int64_t)x.heap[0].allocs;
	CHECK_EQ(fp_service_destroy(x.s, LIBFP_SERVICE_FORCE, LIBFP_FOREVER), -ENOMEM);
	CHECK_EQ(x.k.released, 0);
	CHECK_EQ(fp_service_is_runnable(x.s), 1);
	st_await_calls(&x.k, 2);
	clear_stage(&x);
	CHECK_EQ(x.k.released, 1);
}

/* ---- threads ---- */

static void not_started(fp_service_core *c, int rc)
{
	CHECK_EQ(rc, -EAGAIN);
	CHECK_EQ(st_core_stats(c).state, LIBFP_SERVICE_CORE_STOPPED);
	CHECK_EQ(st_core_stats(c).thread_id, 0);
	CHECK_EQ(fp_service_core_stop(c, 0), -EALREADY);
}

/* A stack that no address space has. */
static void a_thread_with_too_large_a_stack(void)
{
#if defined(FPT_EMULATED) || defined(__SANITIZE_THREAD__)
	printf("  not in this build: it ends the program instead of refusing\n");
#else
	fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c;

	o.stack_size = 1ull << 52;
	CHECK_EQ(fp_service_core_create(&o, &c), 0);
	CHECK_EQ(fp_service_map(s, c) + fp_service_start(s), 0);
	for (int i = 0; i < 3; i++) {
		fpt_log_begin();
		not_started(c, fp_service_core_start(c));
		CHECK_EQ(fpt_log.lines, 1);
		fpt_log_end();
	}
	CHECK_EQ(fp_service_start_defaults(&c, 1), -EAGAIN);
	/* On a thread of the caller's it runs. */
	CHECK_EQ(fp_service_core_run(c, 0), -ETIMEDOUT);
	CHECK_EQ(k.calls, 1);
	CHECK_EQ(fp_service_core_destroy(c), 0);
	st_end(s);
#endif
}

static void no_more_threads(void *unused)
{
	struct rlimit none = { 1, 1 };
	fp_service_core *c = st_core(NULL);

	(void)unused;
	CHECK_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
	if (geteuid() == 0)
		CHECK_EQ(setresuid(65534, 65534, 65534), 0);
	not_started(c, fp_service_core_start(c));
	CHECK_EQ(fp_service_core_destroy(c), 0);
}

static void a_process_that_may_have_no_more_threads(void)
{
#if defined(FPT_EMULATED) || defined(__SANITIZE_THREAD__)
	printf("  not in this build: its children make threads of their own\n");
	(void)no_more_threads;
#else
	fpt_in_child(no_more_threads, NULL);
#endif
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(create_fails_cleanly),
		FPT_CASE(a_late_refusal_gives_everything_back),
		FPT_CASE(changes_fail_cleanly_at_every_allocation),
		FPT_CASE(defaults_fail_half_way),
		FPT_CASE(destroy_without_memory_changes_nothing),
		FPT_CASE(a_thread_with_too_large_a_stack),
		FPT_CASE(a_process_that_may_have_no_more_threads),
	};
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
