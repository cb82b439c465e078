/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a forked child may do with pools: destroy those of its parent, whatever the
 * parent's threads were doing with them, and make and use new ones. All else on a
 * parent's pool is -ECHILD as soon as it leaves the fast path. With a thread of the
 * parent held at every step that it passes: in create, get, put, destroy, at its exit.
 */
#include "child.h"
#include "hold.h"
#include "pool_test.h"

struct pools {
	fp_mempool *p;
	fp_mempool *named; /* looked up once */
	fp_mempool_cache *c;
	uint32_t flags;
	void *t[4];
};

static void make(struct pools *s, uint32_t flags)
{
	fp_mempool_opts o = pt_opts(60, 6, flags);

	s->flags = flags;
	s->p = pt_create(&o);
	s->c = pt_cache(s->p);
	o.name = "before the fork";
	s->named = pt_create(&o);
	pt_get(s->p, s->t, 4);
	pt_put(s->p, s->t, 2);
	pt_get(s->named, s->t, 2);
	pt_put(s->named, s->t, 2);
	CHECK_EQ(fp_mempool_get_bulk_via_cache(s->p, s->c, s->t, 2), 2);
	CHECK_EQ(fp_mempool_put_bulk_via_cache(s->p, s->c, s->t, 2), 2);
}

/* The parent has noticed nothing. */
static void unmake(struct pools *s)
{
	fp_mempool *found = NULL;
	void *t[60];

	CHECK_EQ(fp_mempool_lookup("before the fork", &found), 0);
	CHECK(found == s->named);
	CHECK_EQ(fp_mempool_unref(found), 0);
	CHECK_EQ(fp_mempool_cache_destroy(s->c), 0);
	pt_at_rest(s->p, 2);
	fp_mempool_reclaim(s->p);
	for (uint64_t i = 0; i < 60; i++)
		t[i] = fp_mempool_object(s->p, i);
	CHECK(fp_mempool_get_bulk(s->p, t, 58) == 58);
	pt_different(s->p, t, 58);
	for (uint64_t i = 0; i < 60; i++)
		CHECK_EQ(fp_mempool_put(s->p, fp_mempool_object(s->p, i)), 0);
	pt_end(s->p);
	pt_end(s->named);
}

/* ---- in the child ---- */

/* In use, with caches, referenced: all that belongs to the parent's threads. */
static void destroy_all(void *arg)
{
	struct pools *s = arg;
	fp_mempool *found = NULL;

	CHECK_EQ(fp_mempool_destroy(s->p), 0);
	CHECK_EQ(fp_mempool_destroy(s->named), 0);
	CHECK_EQ(fp_mempool_lookup("before the fork", &found), -ENOENT);
}

static void only_destroy_is_allowed(void *arg)
{
	struct pools *s = arg;
	fp_mempool_cache *c = PT_UNTOUCHED;
	void *t[60], **place = PT_UNTOUCHED;
	void *const *window = PT_UNTOUCHED;

	CHECK_EQ(fp_mempool_get_bulk(s->p, t, 50), -ECHILD);
	/* The one cache of such a pool is everybody's, on the fast path. */
	if (s->flags != PT_SINGLE) {
		CHECK(fp_mempool_get(s->p) == NULL);
		CHECK_EQ(fp_mempool_put(s->p, s->t[0]), -ECHILD);
		CHECK_EQ(fp_mempool_get_bulk(s->p, t, 4), -ECHILD);
		CHECK_EQ(fp_mempool_put_bulk(s->p, s->t, 2), -ECHILD);
		CHECK_EQ(fp_mempool_get_reserve(s->p, 1, &window), -ECHILD);
		CHECK_EQ(fp_mempool_put_reserve(s->p, 1, &place), -ECHILD);
		CHECK_EQ(fp_mempool_get_commit(s->p, 1), -ECHILD);
		CHECK_EQ(fp_mempool_put_commit(s->p, 1), -ECHILD);
	}
	CHECK_EQ(fp_mempool_flush(s->p), -ECHILD);
	CHECK_EQ(fp_mempool_reclaim(s->p), -ECHILD);
	CHECK_EQ(fp_mempool_audit(s->p), -ECHILD);
	CHECK_EQ(fp_mempool_cache_create(s->p, &c), -ECHILD);
	/* An explicit cache: more than it holds. */
	CHECK_EQ(fp_mempool_get_bulk_via_cache(s->p, s->c, t, 60), -ECHILD);
	CHECK_EQ(fp_mempool_put_bulk_via_cache(s->p, s->c, t, 60), -ECHILD);
	CHECK_EQ(fp_mempool_get_reserve_via_cache(s->p, s->c, 1, &window), -ECHILD);
	CHECK_EQ(fp_mempool_put_reserve_via_cache(s->p, s->c, 1, &place), -ECHILD);
	CHECK_EQ(fp_mempool_get_commit_via_cache(s->p, s->c, 0), -ECHILD);
	CHECK_EQ(fp_mempool_cache_flush(s->c), -ECHILD);
	CHECK(window == PT_UNTOUCHED && place == PT_UNTOUCHED && c == PT_UNTOUCHED);
	/* What only reads goes on. */
	CHECK_EQ(fp_mempool_capacity(s->p), 60);
	CHECK_EQ(fp_mempool_index(s->p, fp_mempool_object(s->p, 7)), 7);
	CHECK(fp_mempool_avail_count(s->p) <= 60);
	CHECK_EQ(fp_mempool_cache_destroy(s->c), 0);
	destroy_all(s);
}

static void *use_it(void *arg)
{
	fp_mempool *p = arg;
	void *t[20];

	for (int i = 0; i < 50; i++) {
		CHECK_EQ(fp_mempool_get_bulk(p, t, 20), 20);
		CHECK_EQ(fp_mempool_put_bulk(p, t, 20), 20);
	}
	CHECK(pt_stats(p).in_own_cache > 0);
	return NULL;
}

static void create_and_use(void *arg)
{
	(void)arg;
	for (int i = 0; i < 8; i++) {
		fp_mempool_opts o = pt_opts(60, 6, pt_kinds[i]);
		fp_mempool *p, *found = NULL;
		fp_mempool_cache *c;
		void *object;

		o.name = i % 2 ? "after the fork" : NULL;
		p = pt_create(&o);
		if (o.name) {
			CHECK_EQ(fp_mempool_lookup(o.name, &found), 0);
			CHECK(found == p);
			CHECK_EQ(fp_mempool_unref(p), 0);
		}
		c = pt_cache(p);
		use_it(p);
		CHECK((object = fp_mempool_get_via_cache(p, c)) != NULL);
		CHECK_EQ(fp_mempool_put_via_cache(p, c, object), 0);
		if (FPT_CHILD_STARTS_THREADS) {
			/* Slots are given out anew; this thread has the first. */
			pt_on_thread(use_it, p);
			CHECK(pt_stats(p).thread_caches <= 1);
		}
		CHECK_EQ(fp_mempool_cache_destroy(c), 0);
		pt_end(p);
	}
}

static void destroy_then_create(void *arg)
{
	destroy_all(arg);
	create_and_use(arg);
}

/* ---- with an idle parent ---- */

static void with_pools(void (*fn)(void *))
{
	PT_EACH_KIND(flags)
	{
		struct pools s;

		make(&s, flags);
		fpt_in_child(fn, &s);
		unmake(&s);
	}
}

static void a_child_destroys_what_was_made_before(void)
{
	with_pools(destroy_all);
}

static void a_child_may_do_nothing_else(void)
{
	with_pools(only_destroy_is_allowed);
}

static void a_child_creates_new_pools(void)
{
	with_pools(destroy_then_create);
}

static void a_grandchild_does_the_same(void)
{
	struct pools s;

	make(&s, 0);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			fpt_back = NULL;
			fpt_in_child(destroy_then_create, &s);
			destroy_then_create(&s);
			fpt_child_ends(0);
		}
		CHECK_EQ(fpt_child_stopped(pid), 0);
	}
	unmake(&s);
}

/* The same slot, another thread: what it exits from is not the parent's. */
static void use_another_pool(void *arg)
{
	struct pools *s = arg;
	fp_mempool_stats before = pt_stats(s->p);
	fp_mempool *p = pt_pool(60, 6, 0);

	CHECK_EQ(before.thread_caches, 1);
	pt_on_thread(use_it, p);
	CHECK_EQ(pt_stats(s->p).thread_caches, 1);
	CHECK_EQ(pt_stats(s->p).in_depot, before.in_depot);
	pt_end(p);
	destroy_all(s);
}

static void an_exit_in_a_child_gives_back_nothing_of_the_parents(void)
{
	struct pools s;

	if (!FPT_CHILD_STARTS_THREADS) {
		printf("  not in this build: the child starts a thread\n");
		return;
	}
	make(&s, 0);
	fpt_in_child(use_another_pool, &s);
	unmake(&s);
}

/* ---- a thread of the parent is in the middle of something ---- */

static pthread_key_t after_the_hook; /* its destructor runs after the library's */

struct busy {
	struct pools *s;
	struct fpt_hold h;
	int at_exit;
};

static void hold_done(void *hold)
{
	fpt_hold_done(hold);
}

static void everything(struct pools *s)
{
	fp_mempool_opts o = pt_opts(30, 4, 0);
	fp_mempool_cache *c;
	fp_mempool *p;
	void *t[12];

	o.name = "half made";
	p = pt_create(&o);
	pt_get(s->p, t, 12);
	pt_put(s->p, t, 12);
	c = pt_cache(s->p);
	CHECK_EQ(fp_mempool_get_bulk_via_cache(s->p, c, t, 12), 12);
	CHECK_EQ(fp_mempool_put_bulk_via_cache(s->p, c, t, 12), 12);
	CHECK_EQ(fp_mempool_cache_destroy(c), 0);
	CHECK(fp_mempool_flush(s->p) >= 0);
	pt_get(p, t, 12);
	pt_put(p, t, 12);
	CHECK_EQ(fp_mempool_destroy(p), 0);
}

static void *be_busy(void *arg)
{
	struct busy *b = arg;
	void *t[12];

	if (b->at_exit) {
		pt_get(b->s->p, t, 12);
		pt_put(b->s->p, t, 12);
		pt_get(b->s->named, t, 12);
		pt_put(b->s->named, t, 12);
		pthread_setspecific(after_the_hook, &b->h);
		fpt_hold_me(&b->h);
	} else {
		fpt_hold_me(&b->h);
		everything(b->s);
		fpt_hold_done(&b->h);
	}
	return NULL;
}

static int at_every_step(int at_exit, void (*fn)(void *))
{
	int held = 1, steps = 0;

	for (; held; steps++) {
		struct pools s;
		struct busy b = { .s = &s, .at_exit = at_exit };
		pthread_t thread;

		make(&s, 0);
		fpt_hold_init(&b.h, NULL);
		b.h.skip = steps;
		CHECK_EQ(pthread_create(&thread, NULL, be_busy, &b), 0);
		held = fpt_hold_reached(&b.h);
		fpt_where("step %d %s", steps, held ? b.h.reached_step : "none");
		fpt_join_unheld(&b.h, thread);
		fpt_in_child(fn, &s);
		fpt_hold_release(&b.h);
		fpt_join_held(&b.h, thread);
		fpt_hold_end(&b.h);
		unmake(&s);
	}
	return steps;
}

static void a_child_does_not_wait_for_the_parents_locks(void)
{
	CHECK(at_every_step(0, destroy_then_create) > 20);
}

static void a_child_of_a_parent_whose_thread_exits(void)
{
	CHECK(at_every_step(1, destroy_then_create) > 5);
}

/* The child need not destroy anything. */
static void a_child_leaves_the_parents_pools_alone(void)
{
	CHECK(at_every_step(0, create_and_use) > 20);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_child_destroys_what_was_made_before),
		FPT_CASE(a_child_may_do_nothing_else),
		FPT_CASE(a_child_creates_new_pools),
		FPT_CASE(a_grandchild_does_the_same),
		FPT_CASE(an_exit_in_a_child_gives_back_nothing_of_the_parents),
		FPT_CASE(a_child_does_not_wait_for_the_parents_locks),
		FPT_CASE(a_child_of_a_parent_whose_thread_exits),
		FPT_CASE(a_child_leaves_the_parents_pools_alone),
	};
	fp_mempool *p = pt_pool(20, 4, 0);

	/* The first use of a pool makes the library's key. */
	CHECK_EQ(fp_mempool_put(p, fp_mempool_get(p)), 0);
	CHECK_EQ(fp_mempool_destroy(p), 0);
	pthread_key_create(&after_the_hook, hold_done);
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
