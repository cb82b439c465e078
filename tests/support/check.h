/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The test frame of all C tests: one program per subject, a table of named
 * cases. A failed CHECK prints where and why and ends the case; the program's
 * exit status is 1 if any case failed.
 *
 *     static void empty_ring_gives_nothing(void) { CHECK(...); }
 *     int main(int argc, char **argv)
 *     {
 *             static const struct fpt_case cases[] = {
 *                     FPT_CASE(empty_ring_gives_nothing),
 *             };
 *             return fpt_main(argc, argv, cases, FPT_LEN(cases));
 *     }
 *
 * A case that loops over many settings names the one at hand with fpt_where().
 * `program NAME...` runs the named cases only. LIBFP_TEST_SCALE (test, proof)
 * is read by fpt_scale(); LIBFP_TEST_SEED repeats a random run.
 */
#ifndef FPT_CHECK_H
#define FPT_CHECK_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fpt_case {
	const char *name;
	void (*run)(void);
};
#define FPT_CASE(fn)                   \
	{                              \
		.name = #fn, .run = fn \
	}
#define FPT_LEN(a) (sizeof(a) / sizeof((a)[0]))

static _Thread_local jmp_buf *fpt_back; /* set on the thread that runs cases */
static _Thread_local char fpt_place[160];
static int fpt_failures;

/* Says which setting this thread works on, for the report of a failed CHECK. */
__attribute__((format(printf, 1, 2))) static inline void fpt_where(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(fpt_place, sizeof(fpt_place), fmt, args);
	va_end(args);
}

static inline void fpt_fail(const char *file, int line)
{
	fprintf(stderr, "  at %s:%d\n", file, line);
	if (fpt_place[0])
		fprintf(stderr, "  with %s\n", fpt_place);
	__atomic_add_fetch(&fpt_failures, 1, __ATOMIC_RELAXED);
	if (fpt_back)
		longjmp(*fpt_back, 1);
	exit(1); /* a helper thread: the program cannot go on sensibly */
}

#define CHECK(cond)                                               \
	do {                                                      \
		if (!(cond)) {                                    \
			fprintf(stderr, "  FAILED: %s\n", #cond); \
			fpt_fail(__FILE__, __LINE__);             \
		}                                                 \
	} while (0)

/* Both sides as signed 64-bit integers, printed when they differ. */
#define CHECK_EQ(a, b)                                                                   \
	do {                                                                             \
		int64_t a_ = (int64_t)(a), b_ = (int64_t)(b);                            \
		if (a_ != b_) {                                                          \
			fprintf(stderr,                                                  \
				"  FAILED: %s == %s (%" PRId64 " != %" PRId64 ")\n", #a, \
				#b, a_, b_);                                             \
			fpt_fail(__FILE__, __LINE__);                                    \
		}                                                                        \
	} while (0)

/*
 * How much work: `test` for `make test`, more for `make proof`; under an
 * emulator (FPT_EMULATED) a sixteenth, at least 1.
 */
static inline uint64_t fpt_scale(uint64_t test, uint64_t proof)
{
	const char *s = getenv("LIBFP_TEST_SCALE");
	uint64_t work = s && !strcmp(s, "proof") ? proof : test;

#ifdef FPT_EMULATED
	work = work / 16 + 1;
#endif
	return work;
}

/*
 * 1 where a test with one thread may do with a sample: TSan makes such tests
 * 20 times slower and has nothing to find in them.
 */
#if defined(__SANITIZE_THREAD__)
#define FPT_SAMPLE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FPT_SAMPLE 1
#endif
#endif
#ifndef FPT_SAMPLE
#define FPT_SAMPLE 0
#endif

/* xorshift64*; state must not be 0. */
static inline uint64_t fpt_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

/* A seed that is printed, so that a run can be repeated. */
static inline uint64_t fpt_seed(void)
{
	const char *s = getenv("LIBFP_TEST_SEED");
	uint64_t seed = s ? strtoull(s, NULL, 0) : (uint64_t)time(NULL) * 2654435761u + 1;

	printf("  seed: LIBFP_TEST_SEED=%" PRIu64 "\n", seed);
	return seed ? seed : 1;
}

/* A function of its own: longjmp spoils the locals of the one that calls setjmp. */
__attribute__((noinline)) static void fpt_run(const struct fpt_case *c)
{
	jmp_buf back;

	fpt_place[0] = 0;
	fpt_back = &back;
	if (!setjmp(back))
		c->run();
	fpt_back = NULL;
}

static inline int fpt_main(int argc, char **argv, const struct fpt_case *cases, size_t n)
{
	int ran = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < n; i++) {
		int wanted = argc < 2;
		int before = fpt_failures;

		for (int a = 1; a < argc; a++)
			if (!strcmp(argv[a], cases[i].name))
				wanted = 1;
		if (!wanted)
			continue;
		ran++;
		fpt_run(&cases[i]);
		printf("%s %s\n", before == fpt_failures ? "ok    " : "FAILED",
		       cases[i].name);
	}
	if (!ran) {
		fprintf(stderr, "no case of that name\n");
		return 2;
	}
	return fpt_failures ? 1 : 0;
}

#endif
