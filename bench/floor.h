/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * floor.h - what calling a shared library costs at all: exported functions
 * of a library of their own, with the parameters of the single-object calls of
 * the ring and of the mempool, that do nothing.
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int32_t bench_floor_enqueue(void *ring, uint64_t object);
int32_t bench_floor_dequeue(void *ring, uint64_t *object);
void *bench_floor_get(void *pool);
int bench_floor_put(void *pool, void *object);

#ifdef __cplusplus
}
#endif

#endif
