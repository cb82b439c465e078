/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a forked child may do with rings: destroy any, create new ones, use one
 * that no other thread was inside at the fork. Also with another thread holding
 * the name registry's lock at the fork.
 */
#include <pthread.h>

#include "child.h"
#include "hold.h"
#include "ring_test.h"

struct rings {
	fp_ring *r;
	fp_ring *named;
	unsigned char *mem;
	fp_ring *placed;
};

static void make(struct rings *s, const struct rt_mode *m, uint32_t flags)
{
	fp_ring_opts o = rt_opts(8, 8, m, flags);
	int64_t size = fp_ring_memsize(&o);

	s->r = rt_ring(8, 8, m, flags);
	s->mem = aligned_alloc(LIBFP_RING_ALIGN, (size_t)size);
	CHECK(s->mem != NULL);
	CHECK_EQ(fp_ring_init(s->mem, (uint64_t)size, &o, &s->placed), 0);
	o.name = "before the fork";
	CHECK_EQ(fp_ring_create(&o, &s->named), 0);
	for (uint64_t i = 0; i < 3; i++) {
		CHECK_EQ(fp_ring_enqueue_u64(s->r, i), 1);
		CHECK_EQ(fp_ring_enqueue_u64(s->named, i), 1);
	}
}

static void unmake(struct rings *s)
{
	CHECK_EQ(fp_ring_destroy(s->r), 0);
	CHECK_EQ(fp_ring_destroy(s->named), 0);
	CHECK_EQ(fp_ring_destroy(s->placed), 0);
	free(s->mem);
}

static void destroy_all(void *arg)
{
	struct rings *s = arg;
	fp_ring *found = NULL;

	unmake(s);
	CHECK_EQ(fp_ring_lookup("before the fork", &found), -ENOENT);
}

static void create_and_use(void *arg)
{
	(void)arg;
	RT_EACH_MODE(m)
	for (int i = 0; i < 50; i++) {
		fp_ring_opts o = rt_opts(5, 8, m, (uint32_t)i % 4);
		fp_ring *r = NULL, *found = NULL;
		uint64_t e = 0;

		o.name = i % 2 ? "after the fork" : NULL;
		CHECK_EQ(fp_ring_create(&o, &r), 0);
		CHECK_EQ(fp_ring_enqueue_u64(r, 7), 1);
		CHECK_EQ(fp_ring_dequeue_u64(r, &e), 1);
		CHECK_EQ(e, 7);
		if (o.name) {
			CHECK_EQ(fp_ring_lookup("after the fork", &found), 0);
			CHECK(found == r);
			CHECK_EQ(fp_ring_unref(r), 0);
		}
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void use_an_idle_ring(void *arg)
{
	struct rings *s = arg;
	uint64_t e[8];

	CHECK_EQ(fp_ring_count(s->r), 3);
	CHECK_EQ(fp_ring_enqueue_u64(s->r, 3), 1);
	CHECK_EQ(fp_ring_dequeue_burst(s->r, e, 8, NULL), 4);
	for (uint64_t i = 0; i < 4; i++)
		CHECK_EQ(e[i], i);
	CHECK_EQ(fp_ring_dequeue_u64(s->r, e), 0);
	for (int lap = 0; lap < 100; lap++) {
		CHECK_EQ(fp_ring_enqueue_bulk(s->r, e, 8, NULL), 8);
		CHECK_EQ(fp_ring_dequeue_bulk(s->r, e, 8, NULL), 8);
	}
	CHECK_EQ(fp_ring_close(s->r), 0);
	CHECK_EQ(fp_ring_dequeue_u64(s->r, e), -EPIPE);
	CHECK_EQ(fp_ring_destroy(s->r), 0);
}

/* The parent has noticed nothing. */
static void untouched(struct rings *s)
{
	fp_ring *found = NULL;
	uint64_t e;

	CHECK_EQ(fp_ring_lookup("before the fork", &found), 0);
	CHECK(found == s->named);
	CHECK_EQ(fp_ring_unref(found), 0);
	CHECK_EQ(fp_ring_is_closed(s->r), 0);
	for (uint64_t i = 0; i < 3; i++) {
		CHECK_EQ(fp_ring_dequeue_u64(s->r, &e), 1);
		CHECK_EQ(e, i);
	}
	CHECK_EQ(fp_ring_dequeue_u64(s->r, &e), 0);
}

static void with_rings(void (*fn)(void *))
{
	RT_EACH_MODE(m)
	for (uint32_t flags = 0; flags < 4; flags++) {
		struct rings s;

		fpt_where("%s flags %u", m->name, flags);
		make(&s, m, flags);
		fpt_in_child(fn, &s);
		untouched(&s);
		unmake(&s);
	}
}

static void a_child_destroys_what_was_made_before(void)
{
	with_rings(destroy_all);
}

static void a_child_creates_new_rings(void)
{
	with_rings(create_and_use);
}

static void a_child_uses_an_idle_ring(void)
{
	with_rings(use_an_idle_ring);
}

/* ---- another thread is in the middle of something at the fork ---- */

static void *create_named(void *arg)
{
	struct fpt_hold *h = arg;
	fp_ring_opts o = rt_opts(4, 8, &rt_modes[3], 0);
	fp_ring *r = NULL;

	o.name = "half made";
	fpt_hold_me(h);
	CHECK_EQ(fp_ring_create(&o, &r), 0);
	fpt_hold_done(h);
	CHECK_EQ(fp_ring_destroy(r), 0);
	return NULL;
}

static void destroy_create_and_name(void *arg)
{
	destroy_all(arg);
	create_and_use(arg);
}

static void a_child_does_not_wait_for_the_parents_locks(void)
{
	for (int step = 0, held = 1; held; step++) {
		struct rings s;
		struct fpt_hold h;
		pthread_t t;

		make(&s, &rt_modes[3], 0);
		fpt_hold_init(&h, NULL);
		h.skip = step;
		CHECK_EQ(pthread_create(&t, NULL, create_named, &h), 0);
		held = fpt_hold_reached(&h);
		fpt_where("step %d %s", step, held ? h.reached_step : "none");
		CHECK(held || step > 0);
		fpt_join_unheld(&h, t);
		fpt_in_child(destroy_create_and_name, &s);
		fpt_hold_release(&h);
		fpt_join_held(&h, t);
		fpt_hold_end(&h);
		untouched(&s);
		unmake(&s);
	}
}

/* A thread that is inside a ring leaves every other ring to the child. */
static void *enqueue_one(void *arg)
{
	struct rings *s = arg;

	CHECK_EQ(fp_ring_enqueue_u64(s->named, 3), 1);
	return NULL;
}

struct inside {
	struct rings *s;
	struct fpt_hold *h;
};

static void *enqueue_held(void *arg)
{
	struct inside *i = arg;

	fpt_hold_me(i->h);
	enqueue_one(i->s);
	fpt_hold_done(i->h);
	return NULL;
}

static void a_child_destroys_a_ring_that_a_thread_was_inside(void)
{
	RT_EACH_MODE(m)
	{
		struct rings s;
		struct fpt_hold h;
		struct inside i = { &s, &h };
		pthread_t t;

		fpt_where("%s", m->name);
		make(&s, m, 0);
		fpt_hold_init(&h, NULL);
		CHECK_EQ(pthread_create(&t, NULL, enqueue_held, &i), 0);
		CHECK_EQ(fpt_hold_reached(&h), 1);
		fpt_in_child(destroy_all, &s);
		fpt_in_child(use_an_idle_ring, &s);
		fpt_hold_release(&h);
		pthread_join(t, NULL);
		fpt_hold_end(&h);
		untouched(&s);
		CHECK_EQ(fp_ring_count(s.named), 4);
		unmake(&s);
	}
}

/* ---- a handle made before the fork, a ring in shared memory ---- */

static void destroy_one(void *arg)
{
	CHECK_EQ(fp_ring_destroy(arg), 0);
}

/* What the parent's threads hold does not exist in the child. */
static void a_child_destroys_what_the_parent_holds(void)
{
	for (int flags = 0; flags <= (int)LIBFP_CHECKED; flags += LIBFP_CHECKED) {
		RT_EACH_MODE(m)
		{
			fp_ring *r = rt_ring(8, 8, m, (uint32_t)flags);
			fp_ring_span s;
			struct fpt_hold h;
			struct rings held = { .named = r };
			struct inside i = { &held, &h };
			pthread_t t;

			fpt_where("%s flags %d", m->name, flags);
			/* An open span, */
			CHECK_EQ(fp_ring_reserve_enqueue(r, 2, 0, &s), 2);
			fpt_in_child(destroy_one, r);
			CHECK_EQ(fp_ring_commit_enqueue(r, &s, 2), 2);
			/* and a thread inside a ring on which spans were used. */
			fpt_hold_init(&h, NULL);
			CHECK_EQ(pthread_create(&t, NULL, enqueue_held, &i), 0);
			CHECK(fpt_hold_reached(&h));
			fpt_in_child(destroy_one, r);
			fpt_hold_release(&h);
			pthread_join(t, NULL);
			fpt_hold_end(&h);
			CHECK_EQ(fp_ring_count(r), 3);
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
	}
}

static void send_a_thousand(void *arg)
{
	fp_ring *r = arg;

	for (uint64_t i = 0; i < 1000;)
		if (fp_ring_enqueue_u64(r, i) == 1)
			i++;
	CHECK_EQ(fp_ring_close(r), 0);
	CHECK_EQ(fp_ring_destroy(r), 0); /* the handle; the memory is shared */
}

static void an_inherited_handle_reaches_the_parent(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring_opts o = rt_opts(10, 8, m, 0);
		size_t size = (size_t)fp_ring_memsize(&o);
		void *mem = fpt_shared(size);
		uint64_t next = 0, e = 0;
		fp_ring *r = NULL;
		int32_t got;
		pid_t child;

		fpt_where("%s", m->name);
		CHECK_EQ(fp_ring_init(mem, size, &o, &r), 0);
		child = fpt_child(send_a_thousand, r);
		while ((got = fp_ring_dequeue_u64(r, &e)) != -EPIPE) {
			CHECK(got >= 0);
			if (got)
				CHECK_EQ(e, next++);
		}
		CHECK_EQ(next, 1000);
		CHECK_EQ(fpt_child_stopped(child), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
		munmap(mem, size);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_child_destroys_what_was_made_before),
		FPT_CASE(a_child_creates_new_rings),
		FPT_CASE(a_child_uses_an_idle_ring),
		FPT_CASE(a_child_does_not_wait_for_the_parents_locks),
		FPT_CASE(a_child_destroys_a_ring_that_a_thread_was_inside),
		FPT_CASE(a_child_destroys_what_the_parent_holds),
		FPT_CASE(an_inherited_handle_reaches_the_parent),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
