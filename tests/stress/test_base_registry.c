/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads create, look up, give back and destroy objects of few names at once.
 * Whoever gets an object by name must find it complete and alive until the
 * reference is given back; a name never has two objects.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/registry.h"
#include "check.h"

void (*fpi_test_step)(const char *step);

#define THREADS 4
#define NAMES 3
#define ALIVE 0x616c697665ull

static struct fpi_registry reg = FPI_REGISTRY_INIT;
static const char *const names[NAMES] = { "rx", "tx", "rx2" };
static atomic_int owners[NAMES];
static uint64_t rounds, seed;

struct object {
	uint64_t alive; /* plain: sanitizers see a wrong access too */
	uint64_t which;
	struct fpi_name name;
};

struct worker {
	uint64_t random;
	struct object *mine[NAMES];
	uint64_t made, taken, found, busy;
};

static void try_create(struct worker *w, unsigned which)
{
	struct object *o;
	int rc;

	if (w->mine[which])
		return;
	o = calloc(1, sizeof(*o));
	rc = fpi_registry_reserve(&reg, &o->name, names[which], o);
	if (rc) {
		CHECK_EQ(rc, -EEXIST);
		w->taken++;
		free(o);
		return;
	}
	CHECK_EQ(atomic_fetch_add(&owners[which], 1), 0);
	if (fpt_random(&w->random) % 8 == 0) {
		/* The create fails half-way. */
		CHECK_EQ(atomic_fetch_sub(&owners[which], 1), 1);
		fpi_registry_cancel(&o->name);
		free(o);
		return;
	}
	o->which = which;
	o->alive = ALIVE;
	fpi_registry_publish(&o->name);
	w->mine[which] = o;
	w->made++;
}

static int try_destroy(struct worker *w, unsigned which)
{
	struct object *o = w->mine[which];
	int rc;

	if (!o)
		return 0;
	/* Counted down before: a moment later the name is somebody else's. */
	atomic_fetch_sub(&owners[which], 1);
	rc = fpi_registry_retire(&o->name, 0);
	if (rc) {
		CHECK_EQ(rc, -EBUSY);
		atomic_fetch_add(&owners[which], 1);
		w->busy++;
		return rc;
	}
	o->alive = 0;
	free(o);
	w->mine[which] = NULL;
	return 0;
}

static void try_lookup(struct worker *w, unsigned which)
{
	void *found = NULL;
	struct object *o;
	int rc = fpi_registry_lookup(&reg, names[which], &found);

	if (rc) {
		CHECK_EQ(rc, -ENOENT);
		CHECK(!found);
		return;
	}
	o = found;
	w->found++;
	for (uint64_t i = fpt_random(&w->random) % 4; i <= 4; i++) {
		CHECK_EQ(o->alive, ALIVE);
		CHECK_EQ(o->which, which);
		if (i == 2)
			sched_yield(); /* the reference is out meanwhile */
	}
	CHECK_EQ(fpi_registry_unref(&o->name), 0);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t r = fpt_random(&w->random);
		unsigned which = (unsigned)(r >> 8) % NAMES;

		if (r >> 16 & 1)
			sched_yield();
		switch (r % 4) {
		case 0:
			try_create(w, which);
			break;
		case 1:
			try_destroy(w, which);
			break;
		default:
			try_lookup(w, which);
		}
	}
	for (unsigned which = 0; which < NAMES; which++)
		while (try_destroy(w, which))
			;
	return NULL;
}

static void lookups_never_return_a_dying_or_half_made_object(void)
{
	static struct worker workers[THREADS];
	pthread_t threads[THREADS];
	uint64_t made = 0, found = 0, taken = 0, busy = 0;

	rounds = fpt_scale(40000, 4000000);
	seed = fpt_seed();
	for (int i = 0; i < THREADS; i++) {
		workers[i].random = seed + (uint64_t)i * 7919 + 1;
		CHECK(!pthread_create(&threads[i], NULL, work, &workers[i]));
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		made += workers[i].made;
		found += workers[i].found;
		taken += workers[i].taken;
		busy += workers[i].busy;
	}
	printf("  made %" PRIu64 ", found %" PRIu64 ", name taken %" PRIu64
	       ", busy %" PRIu64 "\n",
	       made, found, taken, busy);
	CHECK(made > 0);
	CHECK(!FPI_LOAD(&reg.first, FPI_RELAXED));
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(lookups_never_return_a_dying_or_half_made_object),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
