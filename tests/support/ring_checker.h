/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The checker of the ring stress tests.
 *
 * Every element carries its producer, a sequence number and a checksum over
 * all of its bytes, so a torn, stale or invented element shows at once. Each
 * consumer sees the elements of one producer with growing numbers. Loss and
 * duplication show at the end, by comparing what was delivered with what was
 * accepted: number of elements and the sum of a 64-bit hash of each, which for
 * multisets that differ agrees with probability 2^-64. No counter of the ring
 * is trusted.
 */
#ifndef FPT_RING_CHECKER_H
#define FPT_RING_CHECKER_H

#include "ring_test.h"

#define RC_PRODUCERS 128

/* What passed one thread. */
struct rc_tally {
	uint64_t count;
	uint64_t hash;
};

struct rc_consumer {
	struct rc_tally tally;
	uint64_t next[RC_PRODUCERS]; /* the smallest number that may come */
};

static inline uint64_t rc_mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

/* The first 8 bytes: producer 8 bits, number 40 bits, checksum 16 bits. */
static inline uint64_t rc_head(uint32_t producer, uint64_t number)
{
	uint64_t id = (uint64_t)producer << 40 | number;

	return id << 16 | (rc_mix(id) & 0xffff);
}

/* Makes element `number` of a producer; size >= 8. */
static inline void rc_make(void *elem, uint32_t size, uint32_t producer, uint64_t number)
{
	uint64_t head = rc_head(producer, number);
	unsigned char *p = elem;

	memcpy(p, &head, 8);
	for (uint32_t w = 8; w < size; w += 4) {
		uint32_t x = rt_word(head, w);

		memcpy(p + w, &x, 4);
	}
}

static inline void rc_count(struct rc_tally *t, uint32_t producer, uint64_t number)
{
	t->count++;
	t->hash += rc_mix(rc_head(producer, number));
}

/* An element has arrived: whole, known, and in order. */
static inline void rc_take(struct rc_consumer *c, const void *elem, uint32_t size)
{
	const unsigned char *p = elem;
	uint32_t producer;
	uint64_t head, number;

	memcpy(&head, p, 8);
	producer = (uint32_t)(head >> 56);
	number = head >> 16 & ((1ull << 40) - 1);
	CHECK_EQ(head, rc_head(producer, number));
	for (uint32_t w = 8; w < size; w += 4) {
		uint32_t x = rt_word(head, w);

		CHECK(!memcmp(p + w, &x, 4));
	}
	CHECK(producer < RC_PRODUCERS);
	CHECK(number >= c->next[producer]);
	c->next[producer] = number + 1;
	rc_count(&c->tally, producer, number);
}

static inline void rc_add(struct rc_tally *sum, const struct rc_tally *t)
{
	sum->count += t->count;
	sum->hash += t->hash;
}

/* Nothing lost, nothing invented, nothing twice. */
static inline void rc_conserved(const struct rc_tally *accepted,
				const struct rc_tally *delivered)
{
	CHECK_EQ(delivered->count, accepted->count);
	CHECK_EQ(delivered->hash, accepted->hash);
}

#endif
