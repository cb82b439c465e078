/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LIBFP_CHECKED: every misuse of objects gives its error code and one line in the log,
 * is counted, and leaves the pool as it was. Who may be inside at a time is in
 * test_mempool_inside.c.
 */
#define _GNU_SOURCE /* gettid */
#include <time.h>
#include <unistd.h>

#include "pool_test.h"

static uint64_t misuses; /* that the pool at hand should have counted */

/* One misuse: its code, one line, counted once. */
#define MISUSE(p, call, code)                             \
	do {                                              \
		fpt_log_begin();                          \
		CHECK_EQ(call, code);                     \
		CHECK_EQ(fpt_log.lines, 1);               \
		CHECK_EQ(fpt_log.level, LIBFP_LOG_ERROR); \
		fpt_log_end();                            \
		CHECK_EQ(pt_stats(p).misuses, ++misuses); \
	} while (0)

/* Through the thread's cache, through an explicit one, and without one. */
struct door {
	fp_mempool *p;
	fp_mempool_cache *c;
};

static struct door open_door(int which, uint32_t flags, fp_mempool_object_fn constructor)
{
	fp_mempool_opts o = pt_opts(20, which == 2 ? 0 : 6, LIBFP_CHECKED | flags);
	struct door d = { NULL, NULL };

	o.name = "checked";
	o.constructor = constructor;
	if (which == 2)
		o.flags |= LIBFP_POOL_NO_CACHE;
	d.p = pt_create(&o);
	if (which == 1)
		d.c = pt_cache(d.p);
	misuses = 0;
	return d;
}

static void close_door(struct door *d)
{
	CHECK_EQ(fp_mempool_cache_destroy(d->c), 0);
	CHECK_EQ(pt_stats(d->p).misuses, misuses);
	pt_end(d->p);
}

static int leave_marks(void *object, uint32_t index, void *user)
{
	(void)user;
	memset(object, (int)index, 16);
	return 0;
}

#define EACH_DOOR(d)                                                                     \
	for (int way_ = 0; way_ < 12; way_++)                                            \
		for (struct door d = open_door(way_ % 3, way_ / 3 % 2 ? LIBFP_STATS : 0, \
					       way_ / 6 ? leave_marks : NULL);           \
		     d.p; close_door(&d), d.p = NULL)

static void *get(struct door *d)
{
	return d->c ? fp_mempool_get_via_cache(d->p, d->c) : fp_mempool_get(d->p);
}

static int put(struct door *d, void *object)
{
	return d->c ? fp_mempool_put_via_cache(d->p, d->c, object) :
		      fp_mempool_put(d->p, object);
}

static int32_t get_bulk(struct door *d, void **t, uint32_t n)
{
	return d->c ? fp_mempool_get_bulk_via_cache(d->p, d->c, t, n) :
		      fp_mempool_get_bulk(d->p, t, n);
}

static int32_t put_bulk(struct door *d, void *const *t, uint32_t n)
{
	return d->c ? fp_mempool_put_bulk_via_cache(d->p, d->c, t, n) :
		      fp_mempool_put_bulk(d->p, t, n);
}

/* M-34 */
static void a_second_put_is_refused(void)
{
	EACH_DOOR(d)
	{
		void *t[3];

		CHECK_EQ(get_bulk(&d, t, 3), 3);
		CHECK_EQ(put(&d, t[1]), 0);
		MISUSE(d.p, put(&d, t[1]), -EALREADY);
		MISUSE(d.p, put_bulk(&d, t, 3), -EALREADY);
		pt_at_rest(d.p, 2);
		/* The others of the table are the caller's still. */
		CHECK_EQ(put(&d, t[0]), 0);
		CHECK_EQ(put(&d, t[2]), 0);
		MISUSE(d.p, put(&d, t[2]), -EALREADY);
		/* One that was never got. */
		MISUSE(d.p, put(&d, fp_mempool_object(d.p, 19)), -EALREADY);
		CHECK(strstr(fpt_log.last, "checked") != NULL);
	}
}

static void a_table_with_an_object_twice_is_refused_as_a_whole(void)
{
	EACH_DOOR(d)
	{
		void *t[8];

		for (int i = 0; i < 8; i++)
			for (int k = 0; k < i; k++) {
				void *dup;

				CHECK_EQ(get_bulk(&d, t, 8), 8);
				dup = t[i];
				t[i] = t[k];
				MISUSE(d.p, put_bulk(&d, t, 8), -EALREADY);
				pt_at_rest(d.p, 8);
				t[i] = dup;
				CHECK_EQ(put_bulk(&d, t, 8), 8);
				pt_at_rest(d.p, 0);
			}
	}
}

/* M-33 */
static void what_is_no_object_of_the_pool_is_refused(void)
{
	fp_mempool *q = pt_pool(20, 6, LIBFP_CHECKED);
	void *of_q = fp_mempool_get(q);

	EACH_DOOR(d)
	{
		void *object = get(&d), *t[2], *stranger = malloc(16);
		char *bytes = object;

		for (int off = 1; off < 16; off++)
			MISUSE(d.p, put(&d, bytes + off), -EFAULT);
		MISUSE(d.p, put(&d, bytes - 1), -EFAULT);
		MISUSE(d.p, put(&d, bytes + 16), -EFAULT);
		MISUSE(d.p, put(&d, stranger), -EFAULT);
		MISUSE(d.p, put(&d, &d), -EFAULT);
		MISUSE(d.p, put(&d, of_q), -EFAULT);
		MISUSE(d.p, put(&d, (void *)UINTPTR_MAX), -EFAULT);
		for (int i = 0; i < 2; i++) {
			t[i] = object;
			t[!i] = bytes + 8;
			MISUSE(d.p, put_bulk(&d, t, 2), -EFAULT);
			t[!i] = NULL;
			MISUSE(d.p, put_bulk(&d, t, 2), -EFAULT);
		}
		pt_at_rest(d.p, 1);
		CHECK_EQ(put(&d, object), 0);
		free(stranger);
	}
	CHECK_EQ(fp_mempool_put(q, of_q), 0);
	CHECK_EQ(pt_stats(q).misuses, 0);
	pt_end(q);
}

/* M-15: the first byte before and behind, and the last that is watched. */
static void a_write_beyond_an_object_is_found_at_put(void)
{
	static const uint32_t sizes[] = { 1, 3, 8, 15, 16, 17, 64, 100 };
	static const uint32_t aligns[] = { 0, 1, 64, 4096 };

	for (size_t s = 0; s < FPT_LEN(sizes); s++)
		for (size_t a = 0; a < FPT_LEN(aligns); a++) {
			fp_mempool_opts o = pt_opts(5, 0, LIBFP_CHECKED);
			int offs[] = { -1, -16, (int)sizes[s], (int)sizes[s] + 15 };
			fp_mempool *p;

			fpt_where("size %u align %u", sizes[s], aligns[a]);
			o.object_size = sizes[s];
			o.align = aligns[a];
			p = pt_create(&o);
			misuses = 0;
			for (size_t i = 0; i < FPT_LEN(offs); i++)
				for (uint64_t at = 0; at < 5; at++) {
					void *t[5];
					char *object = fp_mempool_object(p, at);

					pt_get(p, t, 5);
					/* All that is its own is legal. */
					memset(object, 0xee, sizes[s]);
					CHECK_EQ(fp_mempool_audit(p), 0);
					object[offs[i]] ^= 0x20;
					fpt_log_begin();
					CHECK_EQ(fp_mempool_audit(p), -EUCLEAN);
					fpt_log_end();
					MISUSE(p, fp_mempool_put_bulk(p, t, 5), -EUCLEAN);
					/* Mended, and the caller's still. */
					pt_at_rest(p, 5);
					pt_put(p, t, 5);
				}
			pt_end(p);
		}
}

static void a_write_after_put_is_found_at_get(void)
{
	EACH_DOOR(d)
	{
		static const int offs[] = { 0, 7, 15, -1, 16 };
		char *object = get(&d);
		void *t[3], *all[20];

		for (size_t i = 0; i < FPT_LEN(offs); i++) {
			CHECK_EQ(put(&d, object), 0);
			object[offs[i]] ^= 1;
			fpt_log_begin();
			CHECK_EQ(fp_mempool_audit(d.p), -EUCLEAN);
			fpt_log_end();
			if (i % 2) {
				MISUSE(d.p, get_bulk(&d, t, 3), -EUCLEAN);
			} else {
				fpt_log_begin();
				CHECK(get(&d) == NULL);
				CHECK_EQ(fpt_log.lines, 1);
				fpt_log_end();
				CHECK_EQ(pt_stats(d.p).misuses, ++misuses);
			}
			/* Reported once, and nothing was taken. */
			pt_at_rest(d.p, 0);
			CHECK(get(&d) == object);
			pt_at_rest(d.p, 1);
		}
		CHECK_EQ(put(&d, object), 0);
		/* Several at once: one refusal, a line for each. */
		CHECK_EQ(get_bulk(&d, all, 20), 20);
		CHECK_EQ(put_bulk(&d, all, 20), 20);
		for (int i = 0; i < 20; i++)
			((char *)fp_mempool_object(d.p, (uint64_t)i))[3] ^= 1;
		fpt_log_begin();
		CHECK_EQ(get_bulk(&d, all, 20), -EUCLEAN);
		CHECK_EQ(fpt_log.lines, 20);
		fpt_log_end();
		misuses++;
		pt_at_rest(d.p, 0);
		CHECK_EQ(get_bulk(&d, all, 20), 20);
		pt_different(d.p, all, 20);
		CHECK_EQ(put_bulk(&d, all, 20), 20);
	}
}

/* With a constructor the contents are kept, else the object is poisoned. */
static void contents_of_checked_objects(void)
{
	EACH_DOOR(d)
	{
		int kept = way_ / 6;
		unsigned char *object = get(&d);
		unsigned char first = object[0];

		for (int i = 1; i < 16; i++)
			CHECK_EQ(object[i], first);
		CHECK_EQ(first, kept ? fp_mempool_index(d.p, object) : 0xdb);
		memset(object, 0x12, 16);
		CHECK_EQ(put(&d, object), 0);
		CHECK(get(&d) == object);
		for (int i = 0; i < 16; i++)
			CHECK_EQ(object[i], kept ? 0x12 : 0xdb);
		CHECK_EQ(put(&d, object), 0);
	}
}

/* ---- windows ---- */

static void windows_are_checked_at_commit(void)
{
	for (int way = 0; way < 2; way++) {
		struct door d = open_door(way, 0, NULL);
		void *t[6], **place;
		void *const *window;
		char *object;

		CHECK_EQ(get_bulk(&d, t, 6), 6);
		CHECK_EQ(put_bulk(&d, t, 4), 4);
#define GET_RESERVE(n)                                                          \
	CHECK_EQ(d.c ? fp_mempool_get_reserve_via_cache(d.p, d.c, n, &window) : \
		       fp_mempool_get_reserve(d.p, n, &window),                 \
		 n)
#define GET_COMMIT(k)                                         \
	(d.c ? fp_mempool_get_commit_via_cache(d.p, d.c, k) : \
	       fp_mempool_get_commit(d.p, k))
#define PUT_RESERVE(n)                                                         \
	CHECK_EQ(d.c ? fp_mempool_put_reserve_via_cache(d.p, d.c, n, &place) : \
		       fp_mempool_put_reserve(d.p, n, &place),                 \
		 n)
#define PUT_COMMIT(k)                                         \
	(d.c ? fp_mempool_put_commit_via_cache(d.p, d.c, k) : \
	       fp_mempool_put_commit(d.p, k))
		GET_RESERVE(2);
		object = window[1];
		object[5] ^= 1;
		MISUSE(d.p, GET_COMMIT(2), -EUCLEAN);
		pt_at_rest(d.p, 2);
		GET_RESERVE(2);
		CHECK(window[0] == t[2] && window[1] == t[3]);
		CHECK_EQ(GET_COMMIT(2), 2);
		pt_at_rest(d.p, 4);

		PUT_RESERVE(3);
		place[0] = t[2];
		place[1] = t[2];
		MISUSE(d.p, PUT_COMMIT(2), -EALREADY);
		pt_at_rest(d.p, 4);
		PUT_RESERVE(3);
		place[0] = (char *)t[2] + 1;
		MISUSE(d.p, PUT_COMMIT(1), -EFAULT);
		PUT_RESERVE(3);
		place[0] = t[2];
		place[1] = NULL;
		MISUSE(d.p, PUT_COMMIT(2), -EFAULT);
		PUT_RESERVE(3);
		place[0] = t[2];
		place[1] = t[3];
		((char *)t[3])[16] ^= 1;
		MISUSE(d.p, PUT_COMMIT(2), -EUCLEAN);
		pt_at_rest(d.p, 4);
		PUT_RESERVE(2);
		place[0] = t[2];
		place[1] = t[3];
		CHECK_EQ(PUT_COMMIT(2), 2);
		CHECK_EQ(put_bulk(&d, t + 4, 2), 2);
		/* What a window shows is not the caller's yet. */
		GET_RESERVE(1);
		MISUSE(d.p, put(&d, window[0]), -EALREADY);
		close_door(&d);
	}
}

/* ---- who has what ---- */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

struct taker {
	fp_mempool *p;
	void *object;
	int64_t thread;
};

static void *take_one(void *arg)
{
	struct taker *t = arg;

	t->thread = gettid();
	t->object = fp_mempool_get(t->p);
	CHECK_EQ(fp_mempool_set_tag(t->p, t->object, 4711), 0);
	return NULL;
}

static void leaks_say_who_has_what_since_when(void)
{
	int64_t before = now_ns(), after;
	struct taker other = { .p = pt_pool(20, 4, LIBFP_CHECKED) };
	fp_mempool_leak leaks[20];
	void *t[5], *const *window;

	CHECK_EQ(fp_mempool_leaks(other.p, NULL, 0), 0);
	CHECK_EQ(fp_mempool_leaks(other.p, leaks, 20), 0);
	pt_get(other.p, t, 3);
	pt_on_thread(take_one, &other);
	CHECK_EQ(fp_mempool_get_reserve(other.p, 1, &window), 1);
	t[3] = window[0];
	CHECK_EQ(fp_mempool_leaks(other.p, NULL, 0), 4); /* not got yet */
	CHECK_EQ(fp_mempool_get_commit(other.p, 1), 1);
	CHECK_EQ(fp_mempool_set_tag(other.p, t[1], 815), 0);
	after = now_ns();
	for (uint32_t max = 0; max <= 20; max++) {
		int64_t last = -1;

		memset(leaks, 0x44, sizeof(leaks));
		CHECK_EQ(fp_mempool_leaks(other.p, leaks, max), 5);
		for (uint32_t i = 0; i < max && i < 5; i++) {
			int theirs = leaks[i].object == other.object;

			CHECK((int64_t)leaks[i].index > last);
			last = (int64_t)leaks[i].index;
			CHECK_EQ(fp_mempool_index(other.p, leaks[i].object), last);
			CHECK_EQ(leaks[i].thread, theirs ? other.thread : gettid());
			CHECK_EQ(leaks[i].tag, theirs		       ? 4711 :
					       leaks[i].object == t[1] ? 815 :
									 0);
			CHECK((int64_t)leaks[i].since_ns >= before);
			CHECK((int64_t)leaks[i].since_ns <= after);
			CHECK((int64_t)leaks[i].age_ns >=
			      after - (int64_t)leaks[i].since_ns);
		}
		for (uint32_t i = max < 5 ? max : 5; i < 20; i++)
			CHECK_EQ(leaks[i].tag, 0x4444444444444444);
	}
	pt_put(other.p, t, 4);
	CHECK_EQ(fp_mempool_put(other.p, other.object), 0); /* not by its taker */
	CHECK_EQ(fp_mempool_leaks(other.p, leaks, 20), 0);
	/* The next get clears the tag. */
	for (int i = 0; i < 5; i++) {
		CHECK((t[i] = fp_mempool_get(other.p)) != NULL);
		CHECK_EQ(fp_mempool_leaks(other.p, leaks, 20), i + 1);
	}
	for (int i = 0; i < 5; i++)
		CHECK_EQ(leaks[i].tag, 0);
	pt_put(other.p, t, 5);
	pt_end(other.p);
}

static void tags_are_for_objects_in_use(void)
{
	fp_mempool *p = pt_pool(20, 4, LIBFP_CHECKED);
	char *object = fp_mempool_get(p);

	CHECK_EQ(fp_mempool_set_tag(p, object, 1), 0);
	CHECK_EQ(fp_mempool_set_tag(p, object + 1, 1), -EFAULT);
	CHECK_EQ(fp_mempool_set_tag(p, NULL, 1), -EFAULT);
	CHECK_EQ(fp_mempool_set_tag(p, &p, 1), -EFAULT);
	CHECK_EQ(fp_mempool_put(p, object), 0);
	CHECK_EQ(fp_mempool_set_tag(p, object, 1), -EALREADY);
	CHECK_EQ(fp_mempool_set_tag(p, fp_mempool_object(p, 19), 1), -EALREADY);
	pt_end(p);
}

/* A refused table leaves tag and time of its objects alone. */
static void a_refused_put_keeps_the_tag(void)
{
	fp_mempool *p = pt_pool(20, 4, LIBFP_CHECKED);
	fp_mempool_leak before, after;
	void *t[2];

	misuses = 0;
	t[0] = fp_mempool_get(p);
	CHECK_EQ(fp_mempool_set_tag(p, t[0], 9), 0);
	CHECK_EQ(fp_mempool_leaks(p, &before, 1), 1);
	t[1] = t[0];
	MISUSE(p, fp_mempool_put_bulk(p, t, 2), -EALREADY);
	((char *)t[0])[16] ^= 1;
	MISUSE(p, fp_mempool_put(p, t[0]), -EUCLEAN);
	CHECK_EQ(fp_mempool_leaks(p, &after, 1), 1);
	CHECK_EQ(after.tag, 9);
	CHECK_EQ(after.since_ns, before.since_ns);
	CHECK_EQ(after.thread, before.thread);
	CHECK_EQ(fp_mempool_put(p, t[0]), 0);
	pt_end(p);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_second_put_is_refused),
		FPT_CASE(a_table_with_an_object_twice_is_refused_as_a_whole),
		FPT_CASE(what_is_no_object_of_the_pool_is_refused),
		FPT_CASE(a_write_beyond_an_object_is_found_at_put),
		FPT_CASE(a_write_after_put_is_found_at_get),
		FPT_CASE(contents_of_checked_objects),
		FPT_CASE(windows_are_checked_at_commit),
		FPT_CASE(leaks_say_who_has_what_since_when),
		FPT_CASE(tags_are_for_objects_in_use),
		FPT_CASE(a_refused_put_keeps_the_tag),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
