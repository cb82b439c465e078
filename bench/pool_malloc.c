/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_malloc.c - the C library's malloc, jemalloc and mimalloc. The two libraries
 * replace malloc in a program that is linked to them; here they are loaded with
 * their symbols kept to themselves, and called through pointers, which is what
 * a call to any shared library is. jemalloc finds room for its thread-local data
 * only if the program was started with GLIBC_TUNABLES as bench/run sets it.
 */
#include "pool_contestant.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct allocator {
	void *(*alloc)(size_t size);
	void (*release)(void *memory);
	size_t size; /* bytes of each object */
};

static struct allocator c_library = { malloc, free, 0 };
static struct allocator jemalloc, mimalloc;
static char versions[3][32];

static int open_allocator(struct pool *p, const struct pool_shape *shape,
			  const struct allocator *a)
{
	struct allocator *own = malloc(sizeof(*own));

	if (!own)
		return 0;
	*own = *a;
	own->size = shape->size;
	p->pool = own;
	return 1;
}

static void close_allocator(struct pool *p)
{
	free(p->pool);
}

static inline int get(const struct allocator *a, void **object)
{
	*object = a->alloc(a->size);
	return *object != NULL;
}

static inline int put(const struct allocator *a, void *object)
{
	a->release(object);
	return 1;
}

#define NOTHING_TO_DO() ((void)0)
#define GET1(p, table, n) ((void)(n), get((p)->pool, table))
#define PUT1(p, table, n) ((void)(n), put((p)->pool, *(table)))
POOL_LOOPS(single, NOTHING_TO_DO, GET1, PUT1)

/* The library's handle, or NULL. */
static void *load(struct allocator *a, const char *name, const char *alloc,
		  const char *release)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return NULL;
	/* POSIX: a function's address fits a void pointer. */
	*(void **)&a->alloc = dlsym(library, alloc);
	*(void **)&a->release = dlsym(library, release);
	return a->alloc && a->release ? library : NULL;
}

static const char *start_malloc(int cpu)
{
	(void)cpu;
	snprintf(versions[0], sizeof(versions[0]), "glibc %s", gnu_get_libc_version());
	return NULL;
}

static const char *start_jemalloc(int cpu)
{
	void *library = load(&jemalloc, "libjemalloc.so.2", "malloc", "free");
	int (*control)(const char *, void *, size_t *, void *, size_t);
	const char *version;
	size_t size = sizeof(version);

	(void)cpu;
	if (!library)
		return "libjemalloc.so.2 (libjemalloc2) cannot be loaded; start with bench/run";
	*(void **)&control = dlsym(library, "mallctl");
	if (!control || control("version", &version, &size, NULL, 0))
		version = "of unknown version";
	/* Without the hash of the commit. */
	snprintf(versions[1], sizeof(versions[1]), "%.*s", (int)strcspn(version, "-"),
		 version);
	return NULL;
}

static const char *start_mimalloc(int cpu)
{
	void *library = load(&mimalloc, "libmimalloc.so.2", "mi_malloc", "mi_free");
	int (*version)(void), v;

	(void)cpu;
	if (!library)
		return "libmimalloc.so.2 (libmimalloc2.0) cannot be loaded";
	*(void **)&version = dlsym(library, "mi_version");
	v = version ? version() : 0;
	snprintf(versions[2], sizeof(versions[2]), "%d.%d.%d", v / 100, v / 10 % 10,
		 v % 10);
	return NULL;
}

#define ALLOCATOR(name, who, allocator, version)                                        \
	static int open_##name(struct pool *p, const struct pool_shape *shape)          \
	{                                                                               \
		return open_allocator(p, shape, &(allocator));                          \
	}                                                                               \
	static const struct pool_contestant name##_contestant = {                       \
		who, open_##name, close_allocator, { &single, NULL, NULL, NULL }, NULL, \
	};                                                                              \
	const struct pool_library pool_##name = {                                       \
		.peer = { who, version, NULL },                                         \
		.start = start_##name,                                                  \
		.contestants = &name##_contestant,                                      \
		.n = 1,                                                                 \
	};

ALLOCATOR(malloc, "malloc", c_library, versions[0])
ALLOCATOR(jemalloc, "jemalloc", jemalloc, versions[1])
ALLOCATOR(mimalloc, "mimalloc", mimalloc, versions[2])
