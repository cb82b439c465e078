/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Churn: control threads create, map, start, stop, unmap, run once and destroy services at
 * random while cores run, sleep, stop and start again. A seat has at most one service;
 * one thread at a time changes it (a seat is locked), so that the thread knows what must
 * hold; other threads' seats are on the same cores, and services change other seats'
 * services from inside.
 *
 * Checked at every call of a service: its memory is there (freed, and poisoned, the
 * moment destroy has returned), it has been started and not stopped, a serialised one is
 * alone. At every stop, unmap and destroy: nobody is inside afterwards, and the counters
 * of the library equal the service's own.
 */
#include <errno.h>
#include <libfp/service.h>
#include <pthread.h>
#include <sched.h>

#include "base/step.h"
#include "check.h"

void (*fpi_test_step)(const char *step);

#define SEATS 8
#define CONTROLS 4
#define CORES_MAX 4
#define LONG_NS 60000000000ull
#define POISON 0xdeadbeefdeadbeefull
#define ALIVE 0x5e721ce5e721ceull

/* What a service works on; freed as soon as it is destroyed. */
struct work {
	uint64_t alive; /* ALIVE */
	uint64_t open;	/* atomic: may run */
	uint64_t inside;
	uint64_t calls, idle, errors; /* atomic */
	uint64_t seed;
	int serialised;
};

struct seat {
	pthread_mutex_t lock;
	fp_service *service;
	struct work *work;
	int mapped[CORES_MAX];
	int started;
	int loose; /* unmapped from inside, not waited for */
};

static struct seat seats[SEATS];
static fp_service_core *cores[CORES_MAX];
static int n_cores;
static uint64_t releases, deferred; /* atomic: destroys that were, and were to come */
static uint64_t overlaps, after_stop, calls_in_all;

static uint64_t add(uint64_t *counter)
{
	return __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

static int32_t work(void *user)
{
	struct work *w = user;
	uint64_t inside = add(&w->inside), n = add(&w->calls);
	int32_t rc = 0;

	CHECK_EQ(w->alive, ALIVE);
	if (!__atomic_load_n(&w->open, __ATOMIC_ACQUIRE))
		add(&after_stop);
	if (w->serialised && inside != 1)
		add(&overlaps);
	for (uint64_t i = n * w->seed % 64; i; i--)
		__asm__ volatile("" ::: "memory");
	if (n % 256 == 0)
		sched_yield(); /* stays inside for a while */
	if (n % 3 == 1) {
		add(&w->idle);
		rc = -EAGAIN;
	} else if (n % 101 == 0) {
		add(&w->errors);
		rc = n % 2 ? INT32_MIN : INT32_MIN + 1;
	}
	__atomic_sub_fetch(&w->inside, 1, __ATOMIC_RELAXED);
	return rc;
}

static void release(void *user)
{
	struct work *w = user;

	CHECK_EQ(w->inside, 0);
	__atomic_add_fetch(&calls_in_all, w->calls, __ATOMIC_RELAXED);
	w->alive = POISON;
	free(w);
	__atomic_add_fetch(&releases, 1, __ATOMIC_RELEASE);
}

/* ---- one seat, locked ---- */

static void create(struct seat *s, uint64_t random)
{
	fp_service_opts o = LIBFP_SERVICE_OPTS_INIT;

	s->work = calloc(1, sizeof(*s->work));
	CHECK(s->work);
	s->work->alive = ALIVE;
	s->work->seed = random | 1;
	s->work->serialised = random >> 8 & 1;
	o.flags = (s->work->serialised ? 0 : LIBFP_SERVICE_MT_SAFE) |
		  (random >> 9 & 1 ? LIBFP_SERVICE_WAKEABLE : 0);
	o.cycles = random >> 10 & 3;
	if (o.cycles == 3)
		o.cycles = 0;
	o.run = work;
	o.user = s->work;
	o.released = release;
	CHECK_EQ(fp_service_create(&o, &s->service), 0);
	memset(s->mapped, 0, sizeof(s->mapped));
	s->started = 0;
	s->loose = 0;
}

/* Nobody is inside: what the library counted is what ran. */
static void check_counters(struct seat *s)
{
	fp_service_stats st = { .size = sizeof(st) };

	CHECK_EQ(fp_service_is_active(s->service), 0);
	CHECK_EQ(__atomic_load_n(&s->work->inside, __ATOMIC_RELAXED), 0);
	CHECK_EQ(fp_service_get_stats(s->service, &st), 0);
	CHECK_EQ(st.calls, s->work->calls);
	CHECK_EQ(st.idle, s->work->idle);
	CHECK_EQ(st.errors, s->work->errors);
}

static void start(struct seat *s)
{
	__atomic_store_n(&s->work->open, 1, __ATOMIC_RELEASE);
	CHECK_EQ(fp_service_start(s->service), 0);
	s->started = 1;
}

static void stop(struct seat *s, uint64_t random)
{
	if (random & 1)
		CHECK_EQ(fp_service_stop(s->service, LONG_NS), 0);
	else
		while (fp_service_stop(s->service, random % 50000) == -ETIMEDOUT)
			;
	__atomic_store_n(&s->work->open, 0, __ATOMIC_RELEASE);
	s->started = 0;
	s->loose = 0;
	check_counters(s);
}

static void map(struct seat *s, int core)
{
	CHECK_EQ(fp_service_map(s->service, cores[core]), 0);
	s->mapped[core] = 1;
}

static void unmap(struct seat *s, int core)
{
	int mapped = s->loose;

	CHECK_EQ(fp_service_unmap(s->service, cores[core], LONG_NS), 0);
	s->mapped[core] = 0;
	for (int i = 0; i < n_cores; i++)
		mapped |= s->mapped[i];
	/* Nobody else runs it: the lock of the seat is ours. */
	if (!mapped)
		check_counters(s);
}

static void destroy(struct seat *s)
{
	CHECK_EQ(fp_service_destroy(s->service, LIBFP_SERVICE_FORCE, LONG_NS), 0);
	s->service = NULL;
}

static void run_once(struct seat *s)
{
	int32_t result;
	int rc = fp_service_run_once(s->service, 0, &result);

	CHECK(rc == 0 || (rc == -EBUSY && s->work->serialised) ||
	      (rc == -ESHUTDOWN && !s->started));
}

static void change_seat(struct seat *s, uint64_t random)
{
	int core = (int)((random >> 16) % (uint64_t)n_cores);

	if (!s->service) {
		create(s, random >> 8);
		map(s, core);
		start(s);
		return;
	}
	switch (random & 15) {
	case 0:
		destroy(s);
		break;
	case 1 ... 3:
		stop(s, random >> 24);
		break;
	case 4 ... 7:
		start(s);
		break;
	case 8 ... 9:
		map(s, core);
		break;
	case 10 ... 11:
		unmap(s, core);
		break;
	case 12:
		CHECK_EQ(fp_service_set_ready(s->service, 0, LONG_NS), 0);
		check_counters(s);
		CHECK_EQ(fp_service_set_ready(s->service, 1, 0), 0);
		break;
	case 13:
		CHECK(fp_service_is_active(s->service) >= 0);
		fp_wakeup_signal(fp_service_wakeup(s->service));
		break;
	default:
		run_once(s);
	}
}

/* ---- from inside: nothing waits, so a seat that is locked is left alone ---- */

static int32_t meddle(void *user)
{
	uint64_t *seed = user, random = fpt_random(seed) >> 8;
	struct seat *s = &seats[random % SEATS];
	int rc = 0;

	if (random >> 8 & 63 || pthread_mutex_trylock(&s->lock))
		return -EAGAIN;
	if (s->service && (random >> 16 & 3) == 0) {
		rc = fp_service_destroy(s->service, LIBFP_SERVICE_FORCE, LONG_NS);
		CHECK_EQ(rc, -EINPROGRESS);
		add(&deferred);
		s->service = NULL;
	} else if (s->service && (random >> 16 & 3) == 1) {
		rc = fp_service_unmap(s->service, cores[random >> 24 & 1], LONG_NS);
		CHECK_EQ(rc, -EINPROGRESS);
		s->mapped[random >> 24 & 1] = 0;
		s->loose = 1;
	} else if (s->service && (random >> 16 & 3) == 2) {
		rc = fp_service_stop(s->service, LONG_NS);
		CHECK_EQ(rc, -EINPROGRESS);
		s->started = 0;
	} else if (s->service) {
		start(s);
	}
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* ---- the threads ---- */

struct control {
	uint64_t seed, operations;
	pthread_t thread;
};

static void *control(void *arg)
{
	struct control *k = arg;

	for (uint64_t i = 0; i < k->operations; i++) {
		uint64_t random = fpt_random(&k->seed) >> 8;
		struct seat *s = &seats[random % SEATS];

		pthread_mutex_lock(&s->lock);
		change_seat(s, random >> 4);
		pthread_mutex_unlock(&s->lock);
		if (random >> 40 % 64 == 0)
			sched_yield();
	}
	return NULL;
}

static void *restart(void *arg)
{
	struct control *k = arg;

	for (uint64_t i = 0; i < k->operations; i++) {
		fp_service_core *c = cores[fpt_random(&k->seed) % (uint64_t)n_cores];

		CHECK_EQ(fp_service_core_stop(c, LONG_NS), 0);
		sched_yield();
		CHECK_EQ(fp_service_core_start(c), 0);
		for (int y = 0; y < 20; y++)
			sched_yield();
	}
	return NULL;
}

static void make_cores(int n)
{
	n_cores = n;
	for (int i = 0; i < n; i++) {
		fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;

		/* Sleeps often, or never. */
		o.flags = LIBFP_SERVICE_CORE_SPIN_NS;
		o.idle = i == 1 ? LIBFP_SERVICE_CORE_YIELD : LIBFP_SERVICE_CORE_SLEEP;
		CHECK_EQ(fp_service_core_create(&o, &cores[i]), 0);
		CHECK_EQ(fp_service_core_start(cores[i]), 0);
	}
}

static void churn(int cores_wanted, int with_meddler, uint64_t *seed)
{
	uint64_t operations = fpt_scale(1500, 60000), meddler_seed = fpt_random(seed) | 1;
	struct control k[CONTROLS + 1];
	fp_service *meddler = NULL;

	fpt_where("%d cores%s", cores_wanted,
		  with_meddler ? ", changes from inside" : "");
	make_cores(cores_wanted);
	for (int i = 0; i < SEATS; i++)
		pthread_mutex_init(&seats[i].lock, NULL);
	if (with_meddler) {
		fp_service_opts o = LIBFP_SERVICE_OPTS_INIT;

		o.run = meddle;
		o.user = &meddler_seed;
		CHECK_EQ(fp_service_create(&o, &meddler), 0);
		for (int i = 0; i < n_cores; i++)
			CHECK_EQ(fp_service_map(meddler, cores[i]), 0);
		CHECK_EQ(fp_service_start(meddler), 0);
	}
	for (int i = 0; i <= CONTROLS; i++) {
		k[i].seed = fpt_random(seed) | 1;
		k[i].operations = i < CONTROLS ? operations : operations / 64;
		CHECK_EQ(pthread_create(&k[i].thread, NULL,
					i < CONTROLS ? control : restart, &k[i]),
			 0);
	}
	for (int i = 0; i <= CONTROLS; i++)
		pthread_join(k[i].thread, NULL);
	if (meddler)
		CHECK_EQ(fp_service_destroy(meddler, LIBFP_SERVICE_FORCE, LONG_NS), 0);
	for (int i = 0; i < SEATS; i++)
		if (seats[i].service) {
			stop(&seats[i], 1);
			destroy(&seats[i]);
		}
	for (int i = 0; i < n_cores; i++) {
		CHECK_EQ(fp_service_core_stop(cores[i], LONG_NS), 0);
		CHECK_EQ(fp_service_core_destroy(cores[i]), 0);
	}
	CHECK_EQ(overlaps, 0);
	/* A stop from inside leaves `open` as it is: nothing to be seen there. */
	CHECK_EQ(after_stop, 0);
	CHECK_EQ(fp_service_list(NULL, 0), 0);
}

static void control_threads_only(void)
{
	uint64_t seed = fpt_seed();

	for (int n = 2; n <= CORES_MAX; n++)
		churn(n, 0, &seed);
	printf("  %" PRIu64 " calls, %" PRIu64 " services\n", calls_in_all, releases);
}

static void also_from_inside(void)
{
	uint64_t seed = fpt_seed();

	for (int n = 2; n <= CORES_MAX; n++)
		churn(n, 1, &seed);
	printf("  %" PRIu64 " calls, %" PRIu64 " services, %" PRIu64
	       " destroyed from inside\n",
	       calls_in_all, releases, deferred);
}

extern int fpi_test_no_membarrier;

static void without_membarrier(void)
{
	uint64_t seed = fpt_seed();

	fpi_test_no_membarrier = 1;
	churn(2, 1, &seed);
	fpi_test_no_membarrier = 0;
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(control_threads_only),
		FPT_CASE(also_from_inside),
		FPT_CASE(without_membarrier),
	};
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
