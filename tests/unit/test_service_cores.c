/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cores and their threads: states, attributes of the library's own threads, what a lent
 * one keeps, many services on several cores, and that none of them starves.
 */
#define _GNU_SOURCE 1
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "child.h"
#include "service_test.h"

/* ---- what a core's thread is like ---- */

struct portrait {
	char name[16];
	sigset_t blocked;
	cpu_set_t cpus;
	int policy, nice, slack;
	int64_t tid;
	size_t stack;
	int taken; /* atomic */
};

static void paint(struct portrait *p)
{
	struct sched_param param;
	pthread_attr_t attr;
	void *base;

	prctl(PR_GET_NAME, p->name);
	pthread_sigmask(SIG_BLOCK, NULL, &p->blocked);
	pthread_getaffinity_np(pthread_self(), sizeof(p->cpus), &p->cpus);
	pthread_getschedparam(pthread_self(), &p->policy, &param);
	p->nice = getpriority(PRIO_PROCESS, 0);
	p->slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
	p->tid = gettid();
	if (!pthread_getattr_np(pthread_self(), &attr)) {
		pthread_attr_getstack(&attr, &base, &p->stack);
		pthread_attr_destroy(&attr);
	}
}

static int32_t take_portrait(void *user)
{
	struct portrait *p = user;

	if (!__atomic_load_n(&p->taken, __ATOMIC_ACQUIRE)) {
		paint(p);
		__atomic_store_n(&p->taken, 1, __ATOMIC_RELEASE);
	}
	return -EAGAIN;
}

static struct portrait portrait_of(fp_service_core *c)
{
	static struct portrait p;
	fp_service *s;

	memset(&p, 0, sizeof(p));
	s = st_make_fn(take_portrait, &p, NULL, 0);
	st_on(s, c);
	CHECK_EQ(fp_service_core_start(c), 0);
	CHECK(st_core_stats(c).thread_id > 0 && st_core_stats(c).thread_id != gettid());
	st_await(&p.taken);
	CHECK_EQ(p.tid, st_core_stats(c).thread_id);
	st_end(s);
	return p;
}

/* A CPU that this process may use. */
static uint32_t some_cpu(void)
{
	cpu_set_t set;
	uint32_t cpu = 0;

	CHECK_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	return cpu;
}

static void its_own_thread(void)
{
	fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
	fp_service_core *c;
	struct portrait p;
	sigset_t before, after; /* all bytes: the kernel's are fewer */

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	o.name = "a name of more than fifteen bytes";
	o.flags = LIBFP_SERVICE_CORE_PIN;
	o.cpu = some_cpu();
	o.stack_size = 1 << 20;
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	CHECK_EQ(fp_service_core_create(&o, &c), 0);
	CHECK_EQ(st_core_stats(c).thread_id, 0);
	p = portrait_of(c);
	CHECK(!strcmp(p.name, "a name of more "));
	for (int sig = 1; sig < 32; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			CHECK(sigismember(&p.blocked, sig) == 1);
	CHECK(CPU_COUNT(&p.cpus) == 1 && CPU_ISSET(o.cpu, &p.cpus));
	CHECK_EQ(st_core_stats(c).flags, LIBFP_SERVICE_CORE_GOT_CPUS);
#ifndef FPT_EMULATED
	CHECK(sigismember(&p.blocked, SIGRTMAX) == 1); /* the emulator's own there */
	CHECK(p.stack >= 1 << 20 && p.stack < 2 << 20);
	CHECK_EQ(p.slack, 1);
#endif
	/* The one that started it is as before. */
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	CHECK_EQ(memcmp(&before, &after, sizeof(before)), 0);
	CHECK_EQ(fp_service_core_stop(c, ST_LONG), 0);
	CHECK_EQ(st_core_stats(c).thread_id, 0);
	st_end_core(c);
}

static void cpus_hold_from_the_next_start_on(void)
{
	const uint32_t cpu = some_cpu(), none = LIBFP_SERVICE_CORE_CPU_MAX;
	fp_service_core *c = st_core(NULL);
	struct portrait p;
	cpu_set_t all;

	CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	CHECK_EQ(fp_service_core_set_cpus(c, &cpu, 1), 0);
	p = portrait_of(c);
	CHECK(CPU_COUNT(&p.cpus) == 1 && CPU_ISSET(cpu, &p.cpus));
	CHECK_EQ(fp_service_core_set_cpus(c, NULL, 0), -EBUSY);
	CHECK_EQ(fp_service_core_stop(c, ST_LONG), 0);
	CHECK_EQ(fp_service_core_set_cpus(c, NULL, 0), 0);
	p = portrait_of(c);
	CHECK(CPU_EQUAL(&p.cpus, &all));
	CHECK_EQ(st_core_stats(c).flags, 0);
	CHECK_EQ(fp_service_core_stop(c, ST_LONG), 0);
	/* A CPU that the machine does not have: said, and not fatal. */
	if (CPU_ISSET(none, &all)) {
		printf("  without a CPU that does not exist: this machine has them all\n");
	} else {
		CHECK_EQ(fp_service_core_set_cpus(c, &none, 1), 0);
		p = portrait_of(c);
		CHECK_EQ(st_core_stats(c).flags & LIBFP_SERVICE_CORE_GOT_CPUS, 0);
	}
	st_end_core(c);
}

static void policies_are_granted_or_reported(void)
{
	static const int system[] = { -1,	SCHED_OTHER, SCHED_FIFO,
				      SCHED_RR, SCHED_BATCH, SCHED_IDLE };

	for (uint32_t policy = 0; policy < FPT_LEN(system); policy++) {
		fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
		int real_time = policy == LIBFP_SERVICE_CORE_POLICY_FIFO ||
				policy == LIBFP_SERVICE_CORE_POLICY_RR;
		fp_service_core *c;
		struct portrait p;
		int got;

		fpt_where("policy %u", policy);
		o.policy = policy;
		if (policy)
			o.priority = real_time ? 1 : 3;
		CHECK_EQ(fp_service_core_create(&o, &c), 0);
		p = portrait_of(c);
		got = (st_core_stats(c).flags & LIBFP_SERVICE_CORE_GOT_POLICY) != 0;
		CHECK(!got || policy);
		if (got) {
			CHECK_EQ(p.policy, system[policy]);
			CHECK(real_time || p.nice == 3);
		} else if (policy) {
			printf("  policy %u is not granted here\n", policy);
		}
		st_end_core(c);
	}
}

static void without_privilege(void *unused)
{
	fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
	struct rlimit none = { 0, 0 };
	fp_service_core *c;
	struct portrait p;

	(void)unused;
	CHECK_EQ(setrlimit(RLIMIT_RTPRIO, &none), 0);
	if (geteuid() == 0)
		CHECK_EQ(setresuid(65534, 65534, 65534), 0);
	o.policy = LIBFP_SERVICE_CORE_POLICY_FIFO;
	o.priority = 50;
	CHECK_EQ(fp_service_core_create(&o, &c), 0);
	p = portrait_of(c);
	CHECK_EQ(p.policy, SCHED_OTHER);
	CHECK_EQ(st_core_stats(c).flags, 0);
	st_end_core(c);
}

/* In a child, which can give up what it may. */
static void a_refused_policy_is_not_fatal(void)
{
	if (FPT_CHILD_STARTS_THREADS)
		fpt_in_child(without_privilege, NULL);
	else
		printf("  not in this build: the child starts a thread\n");
}

static void stacks_that_cannot_be(void)
{
	fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
	fp_service_core *c;

	o.stack_size = 1;
	CHECK_EQ(fp_service_core_create(&o, &c), 0);
	fpt_log_begin();
	CHECK_EQ(fp_service_core_start(c), -EINVAL);
	CHECK_EQ(fpt_log.lines, 1);
	CHECK_EQ(fp_service_core_start(c), -EINVAL);
	fpt_log_end();
	CHECK_EQ(st_core_stats(c).state, LIBFP_SERVICE_CORE_STOPPED);
	CHECK_EQ(fp_service_core_stop(c, 0), -EALREADY);
	CHECK_EQ(fp_service_core_run(c, 0), -ETIMEDOUT); /* a lent thread has its own */
	CHECK_EQ(fp_service_core_destroy(c), 0);
}

/* ---- lent threads ---- */

static void *lend_and_compare(void *core)
{
	struct portrait before, after;
	sigset_t one;

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	sigemptyset(&one);
	sigaddset(&one, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &one, NULL);
	pthread_setname_np(pthread_self(), "lent by a test");
	paint(&before);
	CHECK_EQ(fp_service_core_run(core, ST_MS), -ETIMEDOUT);
	paint(&after);
	CHECK_EQ(memcmp(&before, &after, sizeof(before)), 0);
	CHECK(!strcmp(after.name, "lent by a test"));
	return NULL;
}

static void a_lent_thread_stays_as_it_is(void)
{
	fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
	struct portrait p = { .taken = 0 };
	fp_service *s = st_make_fn(take_portrait, &p, NULL, 0);
	fp_service_core *c;
	pthread_t thread;

	o.name = "core's name";
	o.flags = LIBFP_SERVICE_CORE_PIN;
	o.cpu = some_cpu();
	o.policy = LIBFP_SERVICE_CORE_POLICY_IDLE;
	CHECK_EQ(fp_service_core_create(&o, &c), 0);
	st_on(s, c);
	CHECK_EQ(pthread_create(&thread, NULL, lend_and_compare, c), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	/* Inside the loop it was the same. */
	CHECK_EQ(p.taken, 1);
	CHECK(!strcmp(p.name, "lent by a test") && p.policy == SCHED_OTHER);
	CHECK(sigismember(&p.blocked, SIGUSR2) == 1 &&
	      sigismember(&p.blocked, SIGUSR1) == 0);
	CHECK_EQ(st_core_stats(c).flags, 0);
	CHECK_EQ(st_core_stats(c).thread_id, 0);
	st_end(s);
	CHECK_EQ(fp_service_core_destroy(c), 0);
}

static void run_ends_by_time_or_by_a_stop(void)
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c = st_core(NULL);
	struct st_loan loan;
	uint64_t begin;

	/* 0: one loop, exactly, with or without anything to call. */
	CHECK_EQ(fp_service_core_run(c, 0), -ETIMEDOUT);
	CHECK_EQ(st_core_stats(c).loops, 1);
	st_on(s, c);
	for (int i = 1; i <= 5; i++) {
		CHECK_EQ(fp_service_core_run(c, 0), -ETIMEDOUT);
		CHECK_EQ(k.calls, i);
	}
	/* A short time, with work, without, and asleep without anything mapped. */
	for (int i = 0; i < 3; i++) {
		fpt_where("round %d", i);
		k.returns = i ? -EAGAIN : 0;
		if (i == 2)
			CHECK_EQ(fp_service_unmap(s, c, 0), 0);
		begin = st_now();
		CHECK_EQ(fp_service_core_run(c, 3 * ST_MS), -ETIMEDOUT);
		CHECK(st_now() - begin >= 3 * ST_MS);
		CHECK_EQ(st_core_stats(c).state, LIBFP_SERVICE_CORE_STOPPED);
	}
	/* For ever, and a very long time, until somebody stops it, also asleep. */
	for (int i = 0; i < 4; i++) {
		st_lend(&loan, c, i % 2 ? LIBFP_FOREVER : LIBFP_FOREVER - 1);
		st_await_state(c, i ? LIBFP_SERVICE_CORE_RUNNING :
				      LIBFP_SERVICE_CORE_ASLEEP);
		while (!st_core_stats(c).thread_id)
			sched_yield();
		CHECK_EQ(st_core_stats(c).flags, LIBFP_SERVICE_CORE_IS_LENT);
		CHECK_EQ(fp_service_core_start(c), -EALREADY);
		CHECK_EQ(fp_service_core_run(c, 0), -EALREADY);
		CHECK_EQ(fp_service_core_destroy(c), -EBUSY);
		CHECK_EQ(fp_service_core_stop(c, ST_LONG), 0);
		CHECK_EQ(st_returned(&loan), 0);
		CHECK_EQ(fp_service_core_stop(c, ST_LONG), -EALREADY);
		k.returns = 0;
		CHECK_EQ(fp_service_map(s, c), 0);
	}
	st_end(s);
	st_end_core(c);
}

static void a_core_starts_again_and_again(void)
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c = st_core("again");
	uint64_t calls;

	st_on(s, c);
	for (int i = 0; i < 30; i++) {
		CHECK_EQ(fp_service_core_start(c), 0);
		CHECK_EQ(fp_service_core_start(c), -EALREADY);
		CHECK(st_core_stats(c).state != LIBFP_SERVICE_CORE_STOPPED);
		st_await_calls(&k, 1);
		CHECK_EQ(fp_service_core_stop(c, ST_LONG), 0);
		CHECK_EQ(fp_service_core_stop(c, ST_LONG), -EALREADY);
		CHECK_EQ(st_core_stats(c).state, LIBFP_SERVICE_CORE_STOPPED);
		calls = st_calls(&k);
		/* Changes while it does not run. */
		CHECK_EQ(fp_service_unmap(s, c, 0) + fp_service_map(s, c), 0);
		CHECK_EQ(fp_service_stop(s, 0) + fp_service_start(s), 0);
		CHECK_EQ(st_calls(&k), calls);
	}
	CHECK_EQ(st_stats(s).calls, k.calls);
	CHECK_EQ(fp_service_core_reset_stats(c), 0);
	CHECK_EQ(st_core_stats(c).loops + st_core_stats(c).sleeps, 0);
	CHECK_EQ(st_stats(s).calls, k.calls); /* the services' stay */
	st_end(s);
	st_end_core(c);
}

/* ---- many ---- */

#define MANY 300
#define SOME 5

static void many_services_on_several_cores(void)
{
	static struct st_counter k[MANY];
	static fp_service *s[MANY], *list[MANY + 1];
	fp_service_core *c[SOME];
	char name[32];

	memset(k, 0, sizeof(k));
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "service %d", i);
		s[i] = st_make(&k[i], name, i % 3 ? 0 : LIBFP_SERVICE_MT_SAFE);
	}
	for (int i = 0; i < SOME; i++)
		c[i] = st_core(NULL);
	CHECK_EQ(fp_service_start_defaults(c, SOME), MANY);
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ(fp_service_is_mapped(s[i], c[i % SOME]), 1);
		while (st_calls(&k[i]) < 2)
			sched_yield();
	}
	CHECK_EQ(fp_service_list(list, MANY + 1), MANY);
	for (int i = 0; i < MANY; i++)
		CHECK(list[i] == s[i] && fp_service_unref(s[i]) == 0);
	CHECK_EQ(fp_service_core_services(c[2], list, MANY), MANY / SOME);
	for (int i = 0; i < MANY / SOME; i++)
		CHECK(list[i] == s[i * SOME + 2] && fp_service_unref(list[i]) == 0);
	for (int i = 0; i < SOME; i++)
		CHECK_EQ(fp_service_core_stop(c[i], ST_LONG), 0);
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ(st_stats(s[i]).calls, k[i].calls);
		CHECK_EQ(k[i].overlaps, 0);
		st_end(s[i]);
	}
	for (int i = 0; i < SOME; i++)
		st_end_core(c[i]);
}

/* The first and the last of 200, on one core. */
static void the_first_and_the_last_of_many(void)
{
	static struct st_counter k[200];
	fp_service *s[200];
	fp_service_core *c = st_running(NULL);

	memset(k, 0, sizeof(k));
	for (int i = 0; i < 200; i++)
		s[i] = st_make(&k[i], NULL, 0);
	st_on(s[0], c);
	st_on(s[199], c);
	while (st_calls(&k[0]) < 10 || st_calls(&k[199]) < 10)
		sched_yield();
	CHECK_EQ(st_core_stats(c).services, 2);
	for (int i = 0; i < 200; i++) {
		CHECK(i % 199 == 0 || k[i].calls == 0);
		st_end(s[i]);
	}
	st_end_core(c);
}

/* One that always has work, another that returns errors: all run in every loop. */
static void nobody_starves(void)
{
	static const int32_t returns[] = { 1, -EIO, -EAGAIN, 0 };
	struct st_counter k[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
	fp_service *s[4];
	fp_service_core *c = st_core(NULL);

	for (int i = 0; i < 4; i++) {
		k[i].returns = returns[i];
		s[i] = st_make(&k[i], NULL, 0);
		st_on(s[i], c);
	}
	for (uint64_t loop = 1; loop <= 100; loop++) {
		CHECK_EQ(fp_service_core_run(c, 0), -ETIMEDOUT);
		for (int i = 0; i < 4; i++)
			CHECK_EQ(k[i].calls, loop);
	}
	CHECK_EQ(st_core_stats(c).loops, 100);
	CHECK_EQ(st_core_stats(c).idle_loops, 0);
	for (int i = 0; i < 4; i++)
		st_end(s[i]);
	st_end_core(c);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(its_own_thread),
		FPT_CASE(cpus_hold_from_the_next_start_on),
		FPT_CASE(policies_are_granted_or_reported),
		FPT_CASE(a_refused_policy_is_not_fatal),
		FPT_CASE(stacks_that_cannot_be),
		FPT_CASE(a_lent_thread_stays_as_it_is),
		FPT_CASE(run_ends_by_time_or_by_a_stop),
		FPT_CASE(a_core_starts_again_and_again),
		FPT_CASE(many_services_on_several_cores),
		FPT_CASE(the_first_and_the_last_of_many),
		FPT_CASE(nobody_starves),
	};
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
