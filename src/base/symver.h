/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two versions of one exported function, for the day when its meaning has to
 * change: programs linked before keep the old one, programs linked from then on
 * get the new one.
 *
 *     LIBFP_SYMVER(fpi_ring_count_0_9, fp_ring_count, "LIBFP_0.9")
 *     int64_t fpi_ring_count_0_9(const fp_ring *ring) { ... as it was ... }
 *
 *     LIBFP_DEFAULT_SYMVER(fpi_ring_count_1_2, fp_ring_count, "LIBFP_1.2")
 *     int64_t fpi_ring_count_1_2(const fp_ring *ring) { ... as it is ... }
 *
 * Each macro stands after a prototype of the implementation and before its body,
 * at file scope, without a semicolon. The version script must name the
 * function in both nodes. The implementation has a name of its own and is not
 * static.
 *
 * Three ways, because none works everywhere:
 *   gcc     the attribute. A `.symver` in an asm statement gets lost, or lands in
 *           another partition than its function, under link-time optimisation.
 *   clang   the asm statement: it ignores the attribute (as of 14).
 *   static  no versions exist in an archive, so the newest implementation is the
 *           function (an alias) and the old one is nobody's.
 *
 * FPI_SHARED is defined where the shared library is compiled.
 */
#ifndef FPI_BASE_SYMVER_H
#define FPI_BASE_SYMVER_H

/* What is versioned is exported, though -fvisibility=hidden would hide it. */
#define FPI_VERSIONED used, visibility("default")

#if !defined(FPI_SHARED)

#define LIBFP_SYMVER(impl, name, node) extern __typeof__(impl) impl;
#define LIBFP_DEFAULT_SYMVER(impl, name, node) \
	extern __typeof__(impl) name __attribute__((alias(#impl), visibility("default")));

#elif defined(__clang__)

#define LIBFP_SYMVER(impl, name, node)                               \
	extern __typeof__(impl) impl __attribute__((FPI_VERSIONED)); \
	__asm__(".symver " #impl "," #name "@" node);
#define LIBFP_DEFAULT_SYMVER(impl, name, node)                       \
	extern __typeof__(impl) impl __attribute__((FPI_VERSIONED)); \
	__asm__(".symver " #impl "," #name "@@" node);

#else

#define LIBFP_SYMVER(impl, name, node) \
	extern __typeof__(impl) impl   \
		__attribute__((FPI_VERSIONED, symver(#name "@" node)));
#define LIBFP_DEFAULT_SYMVER(impl, name, node) \
	extern __typeof__(impl) impl           \
		__attribute__((FPI_VERSIONED, symver(#name "@@" node)));

#endif

#endif
