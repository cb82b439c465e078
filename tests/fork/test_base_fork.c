/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Forks with a thread of the parent inside each lock of the library: the child
 * must be able to log, create, look up, destroy and take slots, and must not
 * see half of anything.
 *
 * A child returns the line of the first condition that does not hold. One that
 * hangs is killed by its alarm, which is a failure too; the time decides
 * nothing else.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libfp/base.h>

#include "base/fork.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/registry.h"
#include "base/thread_slot.h"
#include "child.h"

#define EXPECT(cond)                     \
	do {                             \
		if (!(cond))             \
			return __LINE__; \
	} while (0)

#define HANG_SECONDS 60

/* 0 if fn returned 0 in a child. */
static int in_child(int (*fn)(void))
{
	int status, line;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		alarm(HANG_SECONDS);
		line = fn();
		if (line)
			fprintf(stderr, "  child: line %d does not hold\n", line);
		_exit(line != 0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		fprintf(stderr, "  child: killed by signal %d\n", WTERMSIG(status));
	return status;
}

/* ---- a thread of the parent held at a step ---- */

static sem_t reached, go;
static const char *volatile held_step;
static pthread_t held_thread;
static _Thread_local int may_be_held;

static void hold(const char *step)
{
	if (may_be_held && held_step && !strcmp(step, held_step)) {
		may_be_held = 0;
		sem_post(&reached);
		sem_wait(&go);
	}
}
void (*fpi_test_step)(const char *step) = hold;

static void *run_held(void *fn)
{
	may_be_held = 1;
	(*(void (**)(void))fn)();
	return NULL;
}

/* Starts fn on a thread and returns when it stands at `step`. */
static void start_held(void (*fn)(void), const char *step)
{
	static void (*run)(void);

	run = fn;
	held_step = step;
	sem_init(&reached, 0, 0);
	sem_init(&go, 0, 0);
	CHECK(!pthread_create(&held_thread, NULL, run_held, &run));
	sem_wait(&reached);
}

static void let_go(void)
{
	sem_post(&go);
	pthread_join(held_thread, NULL);
	held_step = NULL;
}

/* ---- generation ---- */

static uint32_t parents_generation;

static int child_is_a_later_generation(void)
{
	EXPECT(fpi_fork_generation() > parents_generation);
	return 0;
}

static int grandchild_is_later_still(void)
{
	uint32_t mine = fpi_fork_generation();
	int status;
	pid_t pid;

	EXPECT(mine > parents_generation);
	EXPECT(fpi_fork_register() == 0);
	EXPECT(fpi_fork_generation() == mine);
	pid = fork();
	if (!pid)
		_exit(fpi_fork_generation() > mine ? 0 : 1);
	EXPECT(waitpid(pid, &status, 0) == pid);
	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	EXPECT(fpi_fork_generation() == mine);
	return 0;
}

static void every_fork_is_counted_in_the_child_alone(void)
{
	CHECK_EQ(fpi_fork_register(), 0);
	parents_generation = fpi_fork_generation();
	CHECK(parents_generation > 0);
	CHECK_EQ(in_child(child_is_a_later_generation), 0);
	CHECK_EQ(in_child(grandchild_is_later_still), 0);
	CHECK_EQ(fpi_fork_generation(), parents_generation);
}

/* ---- lock ---- */

static struct fpi_lock lock = FPI_LOCK_INIT;

static void hold_the_lock(void)
{
	fpi_lock_acquire(&lock);
	hold("holding");
	fpi_lock_release(&lock);
}

static void *lock_once(void *unused)
{
	fpi_lock_acquire(&lock);
	fpi_lock_release(&lock);
	return unused;
}

static int child_takes_the_lock(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++) {
		fpi_lock_acquire(&lock);
		fpi_lock_release(&lock);
	}
	if (!FPT_CHILD_STARTS_THREADS)
		return 0;
	/* And it excludes and wakes, as any lock. */
	fpi_lock_acquire(&lock);
	EXPECT(!pthread_create(&thread, NULL, lock_once, NULL));
	while ((FPI_LOAD(&lock.word, FPI_ACQUIRE) & FPI_LOCK_STATE) != FPI_LOCK_CONTENDED)
		usleep(100);
	fpi_lock_release(&lock);
	pthread_join(thread, NULL);
	return 0;
}

static void a_lock_held_by_another_thread_is_free_in_the_child(void)
{
	int with_holder, with_sleeper;
	pthread_t sleeper;

	start_held(hold_the_lock, "holding");
	with_holder = in_child(child_takes_the_lock);
	/* Also if somebody sleeps on it. */
	CHECK(!pthread_create(&sleeper, NULL, lock_once, NULL));
	while ((FPI_LOAD(&lock.word, FPI_ACQUIRE) & FPI_LOCK_STATE) != FPI_LOCK_CONTENDED)
		usleep(100);
	with_sleeper = in_child(child_takes_the_lock);
	CHECK_EQ(FPI_LOAD(&lock.word, FPI_ACQUIRE) & FPI_LOCK_STATE, FPI_LOCK_CONTENDED);
	let_go();
	pthread_join(sleeper, NULL);
	CHECK_EQ(with_holder, 0);
	CHECK_EQ(with_sleeper, 0);
}

static int child_releases_what_its_own_thread_held(void)
{
	fpi_lock_release(&lock);
	return child_takes_the_lock();
}

static void a_thread_that_forks_with_the_lock_held_holds_it_in_the_child(void)
{
	fpi_lock_acquire(&lock);
	CHECK_EQ(in_child(child_releases_what_its_own_thread_held), 0);
	fpi_lock_release(&lock);
}

/* ---- log ---- */

static volatile int lines;

static void slow_handler(uint32_t level, const char *line, void *user)
{
	(void)level;
	(void)line;
	(void)user;
	lines++;
	hold("handling");
}

static void log_a_line(void)
{
	fpi_log(LIBFP_LOG_INFO, "from the parent");
}

static int child_logs_and_sets_a_handler(void)
{
	int before = lines;

	fpi_log(LIBFP_LOG_INFO, "from the child");
	EXPECT(lines == before + 1);
	EXPECT(fp_log_set_handler(NULL, NULL, NULL) == slow_handler);
	fpi_log(LIBFP_LOG_INFO, "to nobody");
	EXPECT(lines == before + 1);
	return 0;
}

static void the_log_works_in_the_child_of_a_thread_that_logs(void)
{
	int status;

	fp_log_set_handler(slow_handler, NULL, NULL);
	start_held(log_a_line, "handling");
	status = in_child(child_logs_and_sets_a_handler);
	let_go();
	CHECK_EQ(status, 0);
	CHECK(fp_log_set_handler(NULL, NULL, NULL) == slow_handler);
}

/* ---- registry ---- */

static struct fpi_registry reg = FPI_REGISTRY_INIT;
static struct fpi_name kept, in_work, more;

static void reserve_in_work(void)
{
	fpi_registry_reserve(&reg, &in_work, "in work", &in_work);
}

static void cancel_in_work(void)
{
	fpi_registry_cancel(&in_work);
}

/* Everything a child may want of a registry that was being changed. */
static int child_uses_the_registry(void)
{
	void *found = NULL;

	EXPECT(fpi_registry_lookup(&reg, "kept", &found) == 0);
	EXPECT(found == &kept);
	EXPECT(fpi_registry_retire(&kept, 0) == -EBUSY);
	EXPECT(fpi_registry_unref(&kept) == 0);
	EXPECT(fpi_registry_lookup(&reg, "in work", &found) == -ENOENT);
	/* Its create ended with the parent's thread: the name is free. */
	EXPECT(fpi_registry_reserve(&reg, &more, "in work", &more) == 0);
	fpi_registry_publish(&more);
	EXPECT(fpi_registry_lookup(&reg, "in work", &found) == 0);
	EXPECT(found == &more);
	EXPECT(fpi_registry_unref(&more) == 0);
	EXPECT(fpi_registry_retire(&more, 0) == 0);
	EXPECT(fpi_registry_retire(&kept, 0) == 0);
	EXPECT(fpi_registry_lookup(&reg, "kept", &found) == -ENOENT);
	return 0;
}

static void the_registry_works_in_the_child_at_every_step_of_a_change(void)
{
	static const struct {
		void (*change)(void);
		const char *step;
	} held[] = {
		{ reserve_in_work, "REG_LOCKED" }, { reserve_in_work, "REG_STORE" },
		{ reserve_in_work, "REG_STORED" }, { cancel_in_work, "REG_STORE" },
		{ cancel_in_work, "REG_STORED" },
	};
	int status;

	CHECK_EQ(fpi_registry_reserve(&reg, &kept, "kept", &kept), 0);
	fpi_registry_publish(&kept);
	for (size_t i = 0; i < FPT_LEN(held); i++) {
		fpt_where("change %zu held at %s", i, held[i].step);
		if (held[i].change == cancel_in_work)
			reserve_in_work();
		start_held(held[i].change, held[i].step);
		status = in_child(child_uses_the_registry);
		let_go();
		CHECK_EQ(status, 0);
		if (held[i].change == reserve_in_work)
			cancel_in_work();
	}
	CHECK_EQ(fpi_registry_retire(&kept, 0), 0);
}

static void half_a_create(void)
{
	reserve_in_work();
	hold("making");
}

static void a_name_reserved_by_a_thread_of_the_parent_is_free_in_the_child(void)
{
	int status, parent_rc;

	CHECK_EQ(fpi_registry_reserve(&reg, &kept, "kept", &kept), 0);
	fpi_registry_publish(&kept);
	start_held(half_a_create, "making");
	status = in_child(child_uses_the_registry);
	parent_rc = fpi_registry_reserve(&reg, &more, "in work", &more);
	let_go();
	CHECK_EQ(status, 0);
	CHECK_EQ(parent_rc, -EEXIST);
	fpi_registry_cancel(&in_work);
	CHECK_EQ(fpi_registry_retire(&kept, 0), 0);
}

/* ---- slots ---- */

static void take_a_slot(void)
{
	fpi_thread_slot();
	hold("has a slot");
}

static void *take(void *out)
{
	*(uint32_t *)out = fpi_thread_slot();
	return NULL;
}

static int child_has_all_slots(void)
{
	uint32_t other = 1;
	pthread_t thread;

	if (FPT_CHILD_STARTS_THREADS) {
		/* A new thread first: it must not get what the forked one has. */
		EXPECT(!pthread_create(&thread, NULL, take, &other));
		pthread_join(thread, NULL);
		EXPECT(other == 0);
	}
	EXPECT(fpi_thread_slot() == 0);
	if (FPT_CHILD_STARTS_THREADS) {
		EXPECT(!pthread_create(&thread, NULL, take, &other));
		pthread_join(thread, NULL);
	}
	EXPECT(other == 1);
	EXPECT(fpi_thread_slot() == 0);
	return 0;
}

static void slots_of_the_parents_threads_are_free_in_the_child(void)
{
	static const char *const steps[] = { "has a slot", "SLOT_LOCKED" };
	uint32_t mine = fpi_thread_slot();
	int status;

	for (size_t i = 0; i < FPT_LEN(steps); i++) {
		fpt_where("held at %s", steps[i]);
		start_held(take_a_slot, steps[i]);
		status = in_child(child_has_all_slots);
		let_go();
		CHECK_EQ(status, 0);
		CHECK_EQ(fpi_thread_slot(), mine);
	}
}

static int64_t parents_id;

static int child_has_an_id_of_its_own(void)
{
	EXPECT(fpi_thread_id() == gettid());
	EXPECT(fpi_thread_id() != parents_id);
	return 0;
}

static void the_thread_id_is_right_in_the_child(void)
{
	parents_id = fpi_thread_id();
	CHECK_EQ(parents_id, gettid());
	CHECK_EQ(in_child(child_has_an_id_of_its_own), 0);
	CHECK_EQ(fpi_thread_id(), parents_id);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(every_fork_is_counted_in_the_child_alone),
		FPT_CASE(a_lock_held_by_another_thread_is_free_in_the_child),
		FPT_CASE(a_thread_that_forks_with_the_lock_held_holds_it_in_the_child),
		FPT_CASE(the_log_works_in_the_child_of_a_thread_that_logs),
		FPT_CASE(the_registry_works_in_the_child_at_every_step_of_a_change),
		FPT_CASE(a_name_reserved_by_a_thread_of_the_parent_is_free_in_the_child),
		FPT_CASE(slots_of_the_parents_threads_are_free_in_the_child),
		FPT_CASE(the_thread_id_is_right_in_the_child),
	};

	if (!FPT_CHILD_STARTS_THREADS)
		fprintf(stderr, "  in this build children start no threads\n");
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
