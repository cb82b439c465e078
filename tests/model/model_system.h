/* SPDX-License-Identifier: BSD-2-Clause */
/* What scenarios have to do with model_system.c. */
#ifndef MODEL_SYSTEM_H
#define MODEL_SYSTEM_H

#include <stdint.h>
#include <time.h>

/* The kernel, or a filter, has no membarrier. */
extern int model_membarrier_fails;

/* What services take for the time; NULL: it stands still. */
extern struct timespec (*model_clock)(void);

/* The eventfd: there is one. */
extern uint64_t model_eventfd_count;
/* poll(): until it can be read. */
void model_poll(void);

#endif
