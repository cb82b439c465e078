/* SPDX-License-Identifier: BSD-2-Clause */
/* The futex calls of the model build; takes the place of src/base/futex.c. */
#include "base/futex.h"

#include "explorer.h"

void fpi_futex_wait(uint32_t *word, uint32_t expected)
{
	ex_futex_wait(word, sizeof(*word), expected, "futex word");
}

void fpi_futex_wake(uint32_t *word, uint32_t n)
{
	ex_futex_wake(word, sizeof(*word), n, "futex word");
}
