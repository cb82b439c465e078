/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that is not linked to libfp: it loads the library named by its
 * argument, looks up what it needs and uses it. The headers give it the types.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <libfp.h>

static void *library;

/* ISO C has no cast from void * to a function pointer; copying is what POSIX says. */
static int find(const char *name, void *function, size_t size)
{
	void *symbol = dlsym(library, name);

	if (!symbol)
		fprintf(stderr, "%s\n", dlerror());
	memcpy(function, &symbol, size);
	return symbol != NULL;
}

#define FIND(function) find("fp_" #function, (void *)&(function), sizeof(function))

#define EXPECT(cond)                                                               \
	do {                                                                       \
		if (!(cond)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			return 1;                                                  \
		}                                                                  \
	} while (0)

int main(int argc, char **argv)
{
	uint32_t (*version_number)(void);
	int (*ring_opts_init)(fp_ring_opts *, uint32_t);
	int (*ring_create)(const fp_ring_opts *, fp_ring **);
	int (*ring_destroy)(fp_ring *);
	int32_t (*ring_enqueue_burst)(fp_ring *, const void *, uint32_t, uint32_t *);
	int32_t (*ring_dequeue_burst)(fp_ring *, void *, uint32_t, uint32_t *);
	const uint64_t in[4] = { 1, 2, 3, 4 };
	uint64_t out[4] = { 0 };
	fp_ring_opts opts;
	fp_ring *ring = NULL;

	EXPECT(argc == 2);
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	EXPECT(FIND(version_number) && FIND(ring_opts_init) && FIND(ring_create));
	EXPECT(FIND(ring_destroy) && FIND(ring_enqueue_burst) &&
	       FIND(ring_dequeue_burst));

	EXPECT(version_number() == LIBFP_VERSION_NUMBER);
	EXPECT(ring_opts_init(&opts, sizeof(opts)) == 0);
	opts.capacity = 4;
	EXPECT(ring_create(&opts, &ring) == 0);
	EXPECT(ring_enqueue_burst(ring, in, 4, NULL) == 4);
	EXPECT(ring_dequeue_burst(ring, out, 4, NULL) == 4);
	EXPECT(memcmp(in, out, sizeof(in)) == 0);
	EXPECT(ring_destroy(ring) == 0);

	/* -z nodelete: unloading is accepted and does nothing. */
	EXPECT(dlclose(library) == 0);
	EXPECT(version_number() == LIBFP_VERSION_NUMBER);
	return 0;
}
