/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hash table of flows: the flows stand in one dense array, an index with linear
 * probing finds them. Growing moves indexes and reallocates the array, so memory
 * per flow stays near sizeof(struct flow) and a report just walks the array.
 */
#include "flow_table.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 1024 /* flows; a power of two */

int flow_table_init(struct flow_table *t)
{
	memset(t, 0, sizeof(*t));
	t->flows = malloc(FIRST_ROOM * sizeof(*t->flows));
	t->slots = calloc(FIRST_ROOM * 2, sizeof(*t->slots));
	if (!t->flows || !t->slots) {
		flow_table_free(t);
		return -1;
	}
	t->room = FIRST_ROOM;
	t->mask = FIRST_ROOM * 2 - 1;
	return 0;
}

void flow_table_free(struct flow_table *t)
{
	free(t->flows);
	free(t->slots);
	memset(t, 0, sizeof(*t));
}

/* The slot that holds the key, or the free one where it belongs. */
static uint32_t *find_slot(const struct flow_table *t, uint64_t hash,
			   const struct flow_key *key)
{
	size_t i = hash & t->mask;

	for (;; i = (i + 1) & t->mask) {
		const struct flow *f;

		if (!t->slots[i])
			return &t->slots[i];
		f = &t->flows[t->slots[i] - 1];
		if (f->hash == hash && !memcmp(&f->key, key, sizeof(*key)))
			return &t->slots[i];
	}
}

/* Twice the room; the index stays at most half full. */
static int grow(struct flow_table *t)
{
	size_t room = t->room * 2;
	struct flow *flows;
	uint32_t *slots;

	if (room > UINT32_MAX)
		return -1;
	flows = realloc(t->flows, room * sizeof(*flows));
	if (!flows)
		return -1;
	t->flows = flows;
	slots = calloc(room * 2, sizeof(*slots));
	if (!slots)
		return -1;
	free(t->slots);
	t->slots = slots;
	t->mask = room * 2 - 1;
	t->room = room;
	for (size_t i = 0; i < t->count; i++)
		*find_slot(t, flows[i].hash, &flows[i].key) = (uint32_t)(i + 1);
	return 0;
}

int flow_table_add(struct flow_table *t, const struct frame *frame, uint64_t time_ns,
		   uint32_t length)
{
	uint32_t *slot = find_slot(t, frame->hash, &frame->key);
	struct flow *f;

	if (!*slot) {
		if (t->count == t->room) {
			if (grow(t))
				return -1;
			slot = find_slot(t, frame->hash, &frame->key);
		}
		f = &t->flows[t->count++];
		memset(f, 0, sizeof(*f));
		f->key = frame->key;
		f->hash = frame->hash;
		f->first_ns = time_ns;
		f->last_ns = time_ns;
		f->a = frame->from;
		*slot = (uint32_t)t->count;
	}
	f = &t->flows[*slot - 1];
	if (time_ns < f->first_ns)
		f->first_ns = time_ns;
	if (time_ns > f->last_ns)
		f->last_ns = time_ns;
	f->packets[frame->from]++;
	f->bytes[frame->from] += length;
	f->tcp_flags |= frame->tcp_flags;
	return 0;
}
