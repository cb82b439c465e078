/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is due soon, in order of (expiry, stamp): the run and two lists.
 *
 * Run         A sorted array of FPI_RUN_MAX. A slot of few entries goes here when it is
 *             opened, whatever its level, instead of coming down level by level: most
 *             timers are moved once. It may thus hold what expires only later.
 * Lists       Sorted chains of chunks, for what does not fit: LIST_TICK are the entries of
 *             the tick being fired, LIST_LATE what was armed for the past. Entries stay
 *             where the timer's `at` says; one that is taken away leaves a hole.
 *
 * Order       Slots lose it (a hole is filled with the last entry), and a lazy re-arm would
 *             in any structure. So every arming has a stamp, a counter of its thread, and
 *             equal expiries are sorted by it: exact for timers armed by one thread. What
 *             is sorted already, the common case, costs one pass. A sort reads stamps that
 *             other threads may be writing: one that is wrong by then is found out when the
 *             timer is locked to be fired (timer_poll.c), its entry differs from its record.
 *
 * Source: merge sort of lists by a binary counter, as D. E. Knuth, TAOCP 3, 5.2.4, describes.
 */
#include "timer/timer_internal.h"

#define RUN_SLOT_MAX (FPI_RUN_CHUNKS * FPI_CHUNK_ENTRIES)
#define NUMBER_BITS 8 /* of RUN_SLOT_MAX */
#define BUCKET_BITS 6
#define SORT_BINS 32 /* 2^32 chunks */

FPI_INLINE int key_before(const struct fpi_key *a, const struct fpi_key *b)
{
	return a->exp != b->exp ? a->exp < b->exp : a->stamp < b->stamp;
}

/* ---- the run ---- */

/*
 * Sorts numbers below 2^bits: into buckets by their highest bits, which puts those of a slot
 * nearly where they belong, then by insertion.
 */
static void sort_numbers(uint64_t *to, const uint64_t *from, uint32_t n, uint32_t bits)
{
	uint32_t shift = bits > BUCKET_BITS ? bits - BUCKET_BITS : 0, sum = 0;
	uint8_t at[1u << BUCKET_BITS] = { 0 };

	for (uint32_t i = 0; i < n; i++)
		at[from[i] >> shift]++;
	for (uint32_t i = 0; i < 1u << BUCKET_BITS; i++) {
		uint32_t count = at[i];

		at[i] = (uint8_t)sum;
		sum += count;
	}
	for (uint32_t i = 0; i < n; i++)
		to[at[from[i] >> shift]++] = from[i];
	for (uint32_t i = 1; i < n; i++) {
		uint64_t x = to[i];
		uint32_t place = i;

		for (; place && x < to[place - 1]; place--)
			to[place] = to[place - 1];
		to[place] = x;
	}
}

/*
 * Sorts keys. What decides is packed into one word with the key's number: expiries of a
 * slot differ in 56 bits at most, those of the past are sorted by insertion if they do not.
 * Stamps are looked at only where expiries are equal.
 */
static void sort_keys(struct fpi_key *to, const struct fpi_key *key, uint32_t n)
{
	uint64_t packed[RUN_SLOT_MAX], order[RUN_SLOT_MAX], first = key[0].exp,
							    last = first;

	for (uint32_t i = 1; i < n; i++) {
		first = key[i].exp < first ? key[i].exp : first;
		last = key[i].exp > last ? key[i].exp : last;
	}
	if (FPI_LIKELY((last - first) >> (64 - NUMBER_BITS) == 0)) {
		for (uint32_t i = 0; i < n; i++)
			packed[i] = (key[i].exp - first) << NUMBER_BITS | i;
		sort_numbers(
			order, packed, n,
			64 - (uint32_t)__builtin_clzll((last - first) << NUMBER_BITS |
						       (RUN_SLOT_MAX - 1)));
	} else {
		for (uint32_t i = 0; i < n; i++)
			order[i] = i;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct fpi_key *k = &key[order[i] % (1u << NUMBER_BITS)];
		uint32_t at = i;

		for (; at && FPI_UNLIKELY(key_before(k, &to[at - 1])); at--)
			to[at] = to[at - 1];
		to[at] = *k;
	}
}

/* Merges n sorted keys into the run, from its end, where the earliest is. */
static void merge_into_run(fp_timer_wheel *w, const struct fpi_key *key, uint32_t n)
{
	uint32_t old = w->run_count, to = old + n;

	w->run_count = to;
	for (uint32_t i = 0; i < n;) {
		if (old && key_before(&w->run[old - 1], &key[i]))
			w->run[--to] = w->run[--old];
		else
			w->run[--to] = key[i++];
	}
}

int fpi_due_run(fp_timer_wheel *w, struct fpi_slot *slot)
{
	struct fpi_key key[RUN_SLOT_MAX], in_order[RUN_SLOT_MAX];
	uint32_t n = 0, sorted = 1;

	for (uint32_t c = slot->head; c; c = w->chunks[c].next)
		n += w->chunks[c].count;
	if (n > RUN_SLOT_MAX || n > FPI_RUN_MAX - w->run_count)
		return 0;
	n = 0;
	while (slot->head) {
		const struct fpi_chunk *c = &w->chunks[slot->head];
		uint32_t chunk = slot->head;

		for (uint32_t i = 0; i < c->count; i++) {
			fpi_prefetch_write(&w->records[c->entry[i].index]);
			key[n].exp = c->entry[i].exp;
			key[n++].index = c->entry[i].index;
		}
		slot->head = c->next;
		fpi_chunk_put(w, chunk);
	}
	for (uint32_t i = 0; i < n; i++) {
		struct fpi_timer *t = &w->records[key[i].index];

		t->slot = FPI_SLOT_RUN;
		key[i].stamp = fpi_timer_stamp(t);
		sorted &= i == 0 || key_before(&key[i - 1], &key[i]);
	}
	if (!sorted)
		sort_keys(in_order, key, n);
	merge_into_run(w, sorted ? key : in_order, n);
	w->handled += n;
	return 1;
}

void fpi_due_run_remove(fp_timer_wheel *w, uint32_t index)
{
	uint32_t at = 0;

	while (w->run[at].index != index)
		at++;
	w->run_count--;
	for (; at < w->run_count; at++)
		w->run[at] = w->run[at + 1];
}

/* ---- lists ---- */

/*
 * The stamp that was noted in an entry, of which it keeps the lower half. That of the record
 * is the same, or a later one of the thread that armed it anew.
 */
FPI_INLINE uint64_t noted_stamp(const fp_timer_wheel *w, const struct fpi_entry *e)
{
	uint64_t now = fpi_timer_stamp(&w->records[e->index]);
	uint64_t noted = (now & ~(uint64_t)UINT32_MAX) | e->check;

	return noted > now ? noted - UINT32_MAX - 1 : noted;
}

/* noted: they are in lists, in the order of the stamps that were noted. */
FPI_INLINE int entry_before(const fp_timer_wheel *w, const struct fpi_entry *a,
			    const struct fpi_entry *b, int noted)
{
	if (a->exp != b->exp)
		return a->exp < b->exp;
	if (noted)
		return noted_stamp(w, a) < noted_stamp(w, b);
	return fpi_timer_stamp(&w->records[a->index]) <
	       fpi_timer_stamp(&w->records[b->index]);
}

static void sort_chunk(const fp_timer_wheel *w, struct fpi_chunk *c)
{
	for (uint32_t i = 1; i < c->count; i++) {
		struct fpi_entry e = c->entry[i];
		uint32_t at = i;

		for (; at && entry_before(w, &e, &c->entry[at - 1], 0); at--)
			c->entry[at] = c->entry[at - 1];
		c->entry[at] = e;
	}
}

/* A chain that is read from its front and freed on the way. */
struct reader {
	uint32_t chunk, place;
};

/* The next entry that is no hole, or NULL. */
static const struct fpi_entry *look(fp_timer_wheel *w, struct reader *r)
{
	while (r->chunk) {
		struct fpi_chunk *c = &w->chunks[r->chunk];
		uint32_t done = r->chunk;

		while (r->place < c->count && c->entry[r->place].index == FPI_ENTRY_NONE)
			r->place++;
		if (r->place < c->count)
			return &c->entry[r->place];
		r->chunk = c->next;
		r->place = 0;
		fpi_chunk_put(w, done);
	}
	return NULL;
}

/* A chain that is written at its end. */
struct writer {
	uint32_t head, tail;
};

static void append(fp_timer_wheel *w, struct writer *to, const struct fpi_entry *e)
{
	struct fpi_entry copy = *e;
	struct fpi_chunk *c = &w->chunks[to->tail];

	if (!to->tail || c->count == FPI_CHUNK_ENTRIES) {
		uint32_t chunk = fpi_chunk_get(w);

		if (to->tail)
			c->next = chunk;
		else
			to->head = chunk;
		to->tail = chunk;
		c = &w->chunks[chunk];
		c->next = 0;
	}
	c->entry[c->count++] = copy;
}

/* a from a_place on. noted: see entry_before(). */
static uint32_t merge_chains(fp_timer_wheel *w, uint32_t a, uint32_t b, uint32_t a_place,
			     int noted)
{
	struct reader ra = { a, a_place }, rb = { b, 0 };
	struct writer to = { 0, 0 };
	const struct fpi_entry *ea = look(w, &ra), *eb = look(w, &rb);

	while (ea || eb) {
		if (!ea || (eb && entry_before(w, eb, ea, noted))) {
			append(w, &to, eb);
			rb.place++;
			eb = look(w, &rb);
		} else {
			append(w, &to, ea);
			ra.place++;
			ea = look(w, &ra);
		}
	}
	return to.head;
}

/* Oldest chunk first, each sorted. Returns whether the whole is. */
static int prepare(fp_timer_wheel *w, uint32_t *head)
{
	uint32_t reversed = 0, c = *head;
	int sorted = 1;

	while (c) {
		struct fpi_chunk *chunk = &w->chunks[c];
		uint32_t next = chunk->next;

		for (uint32_t i = 0; i < chunk->count; i++)
			fpi_prefetch_write(&w->records[chunk->entry[i].index]);
		sort_chunk(w, chunk);
		if (reversed)
			sorted &= entry_before(w, &chunk->entry[chunk->count - 1],
					       &w->chunks[reversed].entry[0], 0);
		chunk->next = reversed;
		reversed = c;
		c = next;
	}
	*head = reversed;
	return sorted;
}

static uint32_t sort_chain(fp_timer_wheel *w, uint32_t head)
{
	uint32_t bin[SORT_BINS] = { 0 }, result = 0;

	if (prepare(w, &head))
		return head;
	while (head) {
		uint32_t chunk = head, i = 0;

		head = w->chunks[chunk].next;
		w->chunks[chunk].next = 0;
		for (; bin[i]; i++) {
			chunk = merge_chains(w, bin[i], chunk, 0, 0);
			bin[i] = 0;
		}
		bin[i] = chunk;
	}
	for (uint32_t i = 0; i < SORT_BINS; i++)
		if (bin[i])
			result = result ? merge_chains(w, bin[i], result, 0, 0) : bin[i];
	return result;
}

/* Notes of which arming the entries of a chain are. */
static void note_stamps(fp_timer_wheel *w, uint32_t head)
{
	for (uint32_t c = head; c; c = w->chunks[c].next) {
		struct fpi_chunk *chunk = &w->chunks[c];

		for (uint32_t i = 0; i < chunk->count; i++)
			chunk->entry[i].check = (uint32_t)fpi_timer_stamp(
				&w->records[chunk->entry[i].index]);
		w->handled += chunk->count;
	}
}

/* Tells the timers of a list where they are. */
static void settle(fp_timer_wheel *w, uint32_t which)
{
	for (uint32_t c = w->list[which].head; c; c = w->chunks[c].next) {
		struct fpi_chunk *chunk = &w->chunks[c];

		for (uint32_t i = 0; i < chunk->count; i++) {
			struct fpi_timer *t = &w->records[chunk->entry[i].index];

			t->at = c << FPI_CHUNK_BITS | i;
			t->slot = FPI_SLOT_LIST + which;
		}
	}
}

/* Adds a sorted chain to a list. */
static void add_chain(fp_timer_wheel *w, uint32_t which, uint32_t head)
{
	struct fpi_list *list = &w->list[which];

	if (list->head)
		head = merge_chains(w, list->head, head, list->place, 1);
	list->head = head;
	list->place = 0;
	settle(w, which);
}

void fpi_due_list(fp_timer_wheel *w, uint32_t which, struct fpi_slot *slot)
{
	uint32_t head = sort_chain(w, slot->head);

	note_stamps(w, head);
	add_chain(w, which, head);
}

/*
 * Makes room in a full run: half of it, the later one, goes back into slots, or into a list
 * if it is due already.
 */
static FPI_COLD void make_room(fp_timer_wheel *w)
{
	struct writer due = { 0, 0 };
	uint32_t half = FPI_RUN_MAX / 2;

	for (uint32_t i = half; i-- > 0;) {
		const struct fpi_key *key = &w->run[i];
		struct fpi_entry e = { key->exp, key->index, (uint32_t)key->stamp };

		if (key->exp > w->cur)
			fpi_wheel_put_back(w, key->index, key->exp);
		else
			append(w, &due, &e);
	}
	w->run_count -= half;
	for (uint32_t i = 0; i < w->run_count; i++)
		w->run[i] = w->run[i + half];
	if (due.head)
		add_chain(w, FPI_LIST_LATE, due.head);
}

void fpi_due_run_one(fp_timer_wheel *w, uint32_t index, uint64_t exp)
{
	struct fpi_timer *t = &w->records[index];
	struct fpi_key key = { exp, 0, index };

	if (w->run_count == FPI_RUN_MAX)
		make_room(w);
	key.stamp = fpi_timer_stamp(t);
	t->slot = FPI_SLOT_RUN;
	merge_into_run(w, &key, 1);
}

/* ---- the first ---- */

/* The first entry of a list, without its stamp. */
static const struct fpi_entry *first_of(fp_timer_wheel *w, uint32_t which)
{
	struct reader r = { w->list[which].head, w->list[which].place };
	const struct fpi_entry *e = look(w, &r);

	w->list[which].head = r.chunk;
	w->list[which].place = r.place;
	return e;
}

static FPI_NOINLINE int peek_lists(fp_timer_wheel *w, struct fpi_key *key, uint32_t *from,
				   int found)
{
	for (uint32_t which = 0; which < FPI_LISTS; which++) {
		const struct fpi_entry *e = first_of(w, which);
		struct fpi_key k;

		if (!e)
			continue;
		k = (struct fpi_key){ e->exp, noted_stamp(w, e), e->index };
		if (!found || key_before(&k, key)) {
			*key = k;
			*from = FPI_SLOT_LIST + which;
			found = 1;
		}
	}
	return found;
}

int fpi_due_peek(fp_timer_wheel *w, struct fpi_key *key, uint32_t *from)
{
	int found = w->run_count != 0;

	if (found) {
		*key = w->run[w->run_count - 1];
		*from = FPI_SLOT_RUN;
	}
	return FPI_UNLIKELY(fpi_due_lists(w)) ? peek_lists(w, key, from, found) : found;
}

void fpi_due_take(fp_timer_wheel *w, uint32_t from)
{
	if (from == FPI_SLOT_RUN)
		w->run_count--;
	else
		w->list[from - FPI_SLOT_LIST].place++;
}
