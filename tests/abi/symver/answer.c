/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two versions of fp_symver_answer(), compiled into a test build of the
 * library. ANSWER_FIRST builds the library as it was before the second version;
 * ANSWER_FORGOTTEN one that does not keep the first, which is the break.
 */
#include "answer.h"

#include "base/symver.h"

int fpi_symver_answer_first(void);
int fpi_symver_answer_second(void);

#if defined(ANSWER_FIRST)
LIBFP_DEFAULT_SYMVER(fpi_symver_answer_first, fp_symver_answer, "LIBFP_0.9")
#elif !defined(ANSWER_FORGOTTEN)
LIBFP_SYMVER(fpi_symver_answer_first, fp_symver_answer, "LIBFP_0.9")
#endif

#if !defined(ANSWER_FIRST)
LIBFP_DEFAULT_SYMVER(fpi_symver_answer_second, fp_symver_answer, "LIBFP_NEXT")
#endif

int fpi_symver_answer_first(void)
{
	return 1;
}

int fpi_symver_answer_second(void)
{
	return 2;
}
