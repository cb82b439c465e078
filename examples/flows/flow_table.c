/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hash table of flows: the flows have places in one array, an index with linear probing
 * finds them. Growing moves indexes and reallocates the array, so memory per flow stays
 * near sizeof(struct flow) and a report just walks the array. The place of a flow that has
 * ended is used again.
 *
 * Ageing: each place has a timer, made with it, whose `user` is the number of the place.
 * A flow's first packet arms it, each further one only touches it: that moves no entry of
 * the wheel, so a busy flow costs the wheel nothing until it pauses. The wheel's time is
 * the capture's clock in nanoseconds; no clock is read. Timers are touched, and the wheel
 * is polled, for a burst of packets, so a packet may come before the poll that ends its
 * flow: flow_table_add() compares, and the result does not depend on when anybody polls.
 */
#include "flow_table.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 1024 /* flows; a power of two */
#define AGEING_MAX \
	(1u << 24) /* flows that can age at one time: address space, see README */

static int make_wheel(struct flow_table *t)
{
	fp_timer_wheel_opts opts = LIBFP_TIMER_WHEEL_OPTS_INIT;

	opts.flags = LIBFP_WHEEL_START_AT; /* tick 0, whatever the clock says */
	opts.tick_ns = 1;
	opts.capacity = FIRST_ROOM;
	opts.max_timers = AGEING_MAX;
	return fp_timer_wheel_create(&opts, &t->wheel);
}

int flow_table_init(struct flow_table *t, uint64_t timeout_ns)
{
	memset(t, 0, sizeof(*t));
	t->timeout_ns = timeout_ns;
	t->flows = malloc(FIRST_ROOM * sizeof(*t->flows));
	t->slots = calloc(FIRST_ROOM * 2, sizeof(*t->slots));
	if (!t->flows || !t->slots || (timeout_ns && make_wheel(t))) {
		flow_table_free(t);
		return -1;
	}
	t->room = FIRST_ROOM;
	t->mask = FIRST_ROOM * 2 - 1;
	return 0;
}

void flow_table_free(struct flow_table *t)
{
	fp_timer_wheel_destroy(t->wheel); /* with its timers */
	flow_list_free(&t->ended);
	free(t->flows);
	free(t->slots);
	memset(t, 0, sizeof(*t));
}

int flow_list_reserve(struct flow_list *list, size_t n)
{
	size_t room = list->room ? list->room : 64;
	struct flow *flows;

	while (room < list->count + n)
		room *= 2;
	if (room == list->room)
		return 0;
	flows = realloc(list->flows, room * sizeof(*flows));
	if (!flows)
		return -1;
	list->flows = flows;
	list->room = room;
	return 0;
}

void flow_list_free(struct flow_list *list)
{
	free(list->flows);
	memset(list, 0, sizeof(*list));
}

/* ---- the index ---- */

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

/*
 * Frees a slot. What was put behind it because it was taken moves up, unless that would
 * be in front of where its search begins.
 */
static void free_slot(struct flow_table *t, const uint32_t *slot)
{
	size_t hole = (size_t)(slot - t->slots);

	for (size_t i = (hole + 1) & t->mask; t->slots[i]; i = (i + 1) & t->mask) {
		size_t from = t->flows[t->slots[i] - 1].hash & t->mask;

		if (((i - from) & t->mask) < ((i - hole) & t->mask))
			continue;
		t->slots[hole] = t->slots[i];
		hole = i;
	}
	t->slots[hole] = 0;
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
	for (size_t i = 0; i < t->places; i++) /* all live, or none would be needed */
		*find_slot(t, flows[i].hash, &flows[i].key) = (uint32_t)(i + 1);
	return 0;
}

/* ---- flows ---- */

/* A place for a flow, with a timer if flows age; NULL: out of memory. */
static struct flow *take_place(struct flow_table *t)
{
	struct flow *f;

	if (t->free) {
		f = &t->flows[t->free - 1];
		t->free = f->next_free;
		return f;
	}
	if (t->places == t->room && grow(t))
		return NULL;
	f = &t->flows[t->places];
	memset(f, 0, sizeof(*f));
	if (t->wheel &&
	    fp_timer_create(t->wheel, NULL, (void *)(uintptr_t)t->places, &f->timer))
		return NULL;
	t->places++;
	return f;
}

static void begin_flow(struct flow *f, const struct frame *frame, uint64_t time_ns)
{
	const struct flow fresh = {
		.key = frame->key,
		.hash = frame->hash,
		.first_ns = time_ns,
		.last_ns = time_ns,
		.timer = f->timer,
		.a = frame->from,
		.live = 1,
	};

	*f = fresh;
}

static int has_ended(const struct flow *f, uint64_t clock_ns)
{
	return f->end_ns <= clock_ns && f->end_ns != FLOW_NEVER;
}

static int add_to_ended(struct flow_table *t, const struct flow *f)
{
	if (flow_list_reserve(&t->ended, 1))
		return -1;
	t->ended.flows[t->ended.count++] = *f;
	return 0;
}

/* A timer that has been armed again since for later, as another flow's, stays as it is. */
static void touch_alive(struct flow_table *t)
{
	fp_timer_touch_bulk(t->wheel, t->alive.timers, t->alive.ends, t->alive.count,
			    NULL);
	t->alive.count = 0;
}

static void set_end(struct flow_table *t, struct flow *f, uint64_t clock_ns, int fresh)
{
	f->end_ns = FLOW_NEVER;
	if (!t->wheel)
		return;
	if (clock_ns < FLOW_NEVER - t->timeout_ns)
		f->end_ns = clock_ns + t->timeout_ns;
	if (fresh) {
		fp_timer_arm(t->wheel, f->timer, f->end_ns);
		return;
	}
	t->alive.timers[t->alive.count] = f->timer;
	t->alive.ends[t->alive.count] = f->end_ns;
	if (++t->alive.count == FLOW_BURST)
		touch_alive(t);
}

int flow_table_add(struct flow_table *t, const struct frame *frame, uint64_t time_ns,
		   uint64_t clock_ns, uint32_t length)
{
	uint32_t *slot = find_slot(t, frame->hash, &frame->key);
	struct flow *f = *slot ? &t->flows[*slot - 1] : NULL;
	int fresh = !f || has_ended(f, clock_ns);

	if (f && fresh && add_to_ended(t, f))
		return -1;
	if (!f) {
		f = take_place(t);
		if (!f)
			return -1;
		slot = find_slot(t, frame->hash,
				 &frame->key); /* the index may be another */
		*slot = (uint32_t)(f - t->flows) + 1;
	}
	if (fresh)
		begin_flow(f, frame, time_ns);
	if (time_ns < f->first_ns)
		f->first_ns = time_ns;
	if (time_ns > f->last_ns)
		f->last_ns = time_ns;
	f->packets[frame->from]++;
	f->bytes[frame->from] += length;
	f->tcp_flags |= frame->tcp_flags;
	set_end(t, f, clock_ns, fresh);
	return 0;
}

/* The timer of a place has fired, so the next flow there has to arm it. */
static int end_flow(struct flow_table *t, uint64_t place)
{
	struct flow *f = &t->flows[place];

	if (add_to_ended(t, f))
		return -1;
	free_slot(t, find_slot(t, f->hash, &f->key));
	f->live = 0;
	f->next_free = t->free;
	t->free = (uint32_t)place + 1;
	return 0;
}

int flow_table_age(struct flow_table *t, uint64_t clock_ns)
{
	fp_timer_record records[FLOW_BURST];
	int32_t n;

	if (!t->wheel)
		return 0;
	touch_alive(t);
	do {
		n = fp_timer_wheel_poll_burst(t->wheel, clock_ns, records, FLOW_BURST);
		for (int32_t i = 0; i < n; i++) {
			uint64_t place = records[i].user;

			/* FLOW_NEVER is a tick like any other to the wheel. */
			if (has_ended(&t->flows[place], clock_ns) && end_flow(t, place))
				return -1;
		}
	} while (n == FLOW_BURST);
	return 0;
}
