/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread-local memory of the library; see thread_slot.h. A file of its own, so
 * that who links the log from the archive does not get the slots with it.
 */
#include "base/thread_slot.h"

/* UINT32_MAX is no generation: the first call goes the slow way. */
FPI_THREAD_LOCAL struct fpi_thread fpi_thread = {
	.generation = UINT32_MAX,
	.id_generation = UINT32_MAX,
	.slot = FPI_NO_SLOT,
};
