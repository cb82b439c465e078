/* SPDX-License-Identifier: BSD-2-Clause */
/* service_callbacks.c - what the services of the bench do; see service_contestant.h. */
#include "service_contestant.h"

#include <errno.h>

/*
 * A store that misses: each service writes its own line of 64 bytes, another one at each
 * call, in 2 MiB that all share - more than a core's own caches have, but not more than
 * its neighbours leave it of the last one.
 */
#define LINE 64u
#define LINES (2u * 1024 * 1024 / LINE)
#define STRIDE 33u  /* lines; odd, so that all are visited; not what is fetched ahead */
#define APART 1033u /* lines between two services: not all in one set of a cache */

static _Alignas(4096) unsigned char memory[LINES * LINE];

struct user {
	_Alignas(128) uint32_t line;
};

static struct user users[SERVICES_MAX];

void *service_user(uint32_t i)
{
	users[i].line = i * APART % LINES;
	return &users[i];
}

int32_t service_empty(void *user)
{
	(void)user;
	return 0;
}

int32_t service_no_work(void *user)
{
	(void)user;
	return -EAGAIN;
}

int32_t service_store(void *user)
{
	struct user *u = user;

	u->line = (u->line + STRIDE) % LINES;
	((volatile unsigned char *)memory)[u->line * LINE] = 1;
	return 0;
}

int32_t service_10_us(void *user)
{
	(void)user;
	service_spin(10000);
	return 0;
}

int32_t service_20_us(void *user)
{
	(void)user;
	service_spin(20000);
	return 0;
}
