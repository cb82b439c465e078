/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The wheel: where entries are, and how they come down as time passes.
 *
 * Levels      Level L has slots of 256^L ticks. An entry whose expiry is d ticks ahead of
 *             `cur` is in level floor(log256 d), slot (expiry >> 8L) mod 512. A level has
 *             two turns' worth of slots, 512 for the 256 that such distances need, so that
 *             the entries of a slot still fit one level down while the clock is in the
 *             slot before it: they can be moved ahead of time, a chunk at a poll, and no
 *             poll has to move a million.
 * Events      The next thing to happen is the start of the first occupied slot of some
 *             level (`first`, found by a circular search of the bitmap from `cur`): its
 *             entries go one or more levels down, or into the run if they are few
 *             (timer_due.c). Slots that start at one tick are opened from the highest
 *             level down, so that all entries of a tick are together when the first fires.
 * Chunks      A slot is a chain of chunks of 31 entries, of which only the first may be
 *             partly filled: a removed entry is replaced by the last one of that chunk.
 *             Chunk 0 is always full and stands at the end of every chain, so that adding
 *             an entry has one branch. A timer has at most one entry, hence chunks can be
 *             counted beforehand (fpi_wheel_chunks_for()) and arming cannot fail.
 * Lazy        An entry may be earlier than its timer's expiry, or its timer not armed: it
 *             is looked at when it is reached, then moved or dropped. Re-arming for later
 *             and cancelling touch only the record.
 * Migration   A slot of more than FPI_CHUNKS_AT_ONCE chunks is moved down while the clock
 *             is in the slot before, at an even pace. Each step is an event in `next`: a
 *             poll between two steps is one comparison, and a sleeper wakes for them.
 * Late        What is armed for `cur` or earlier is in a slot of its own that the next
 *             poll takes up first; a callback that arms itself for now is not fired again
 *             by the poll that runs it.
 *
 * Only who has the wheel is here. `cur` is the tick up to which all slots have been opened;
 * inside a poll it is the tick being fired. Every entry of a slot is at `cur` or later, of
 * levels above 0 in a slot that starts after `cur`.
 *
 * Source: G. Varghese, T. Lauck (1987); bitmaps as in W. Ahern's timeout.c (2013). The
 * double window and the migration are this library's.
 */
#include "timer/timer_internal.h"
#include "timer/timer_slot.h"

#define MIGRATE_CHUNKS_MAX 16 /* of one slot in one poll */
#define PREFETCH_AHEAD 8

FPI_INLINE struct fpi_chunk *chunk_at(fp_timer_wheel *w, uint32_t chunk)
{
	return &w->chunks[chunk];
}

FPI_INLINE uint64_t slot_width(uint32_t level)
{
	return 1ull << FPI_LEVEL_BITS * level;
}

/* When the first chunk of a slot is to be moved ahead, given that it has enough of them. */
FPI_INLINE uint64_t migration_start(uint32_t level, uint64_t start)
{
	return start > slot_width(level) ? start - slot_width(level) : 0;
}

/* ---- chunks ---- */

/*
 * Every full chunk has 31 entries, every slot one that is not; the lists may have holes, at
 * most as many as there are timers each, and sorting takes a few more.
 */
uint64_t fpi_wheel_chunks_for(uint64_t timers)
{
	uint64_t partly = timers < FPI_WHEEL_SLOTS ? timers : FPI_WHEEL_SLOTS;

	return (1 + FPI_LISTS) * (timers / FPI_CHUNK_ENTRIES + 1) + partly + 64;
}

uint32_t fpi_chunk_get(fp_timer_wheel *w)
{
	uint32_t chunk = w->chunk_free;

	if (chunk) {
		w->chunk_free = chunk_at(w, chunk)->next;
	} else {
		chunk = w->chunk_high++;
		FPI_STORE(&w->chunks_used, chunk, FPI_RELAXED);
	}
	chunk_at(w, chunk)->count = 0;
	return chunk;
}

void fpi_chunk_put(fp_timer_wheel *w, uint32_t chunk)
{
	chunk_at(w, chunk)->next = w->chunk_free;
	w->chunk_free = chunk;
}

void fpi_wheel_init(fp_timer_wheel *w)
{
	chunk_at(w, 0)->count = FPI_CHUNK_ENTRIES;
	w->chunk_high = 1;
	w->event_level = FPI_WHEEL_LEVELS;
	w->event_tick = UINT64_MAX;
	for (uint32_t level = 0; level < FPI_WHEEL_LEVELS; level++)
		w->first[level] = UINT64_MAX;
}

/* ---- slots ---- */

static void occupy(fp_timer_wheel *w, uint32_t s)
{
	uint32_t level = s / FPI_LEVEL_SLOTS, word = s % FPI_LEVEL_SLOTS / 64;

	w->occupied[level][word] |= 1ull << s % 64;
	w->occupied_words[level] |= 1u << word;
	w->event_stale = 1;
}

static void vacate(fp_timer_wheel *w, uint32_t s)
{
	uint32_t level = s / FPI_LEVEL_SLOTS, word = s % FPI_LEVEL_SLOTS / 64;

	w->occupied[level][word] &= ~(1ull << s % 64);
	if (!w->occupied[level][word])
		w->occupied_words[level] &= ~(1u << word);
	w->dirty |= 1u << level;
	w->event_stale = 1;
}

FPI_NOINLINE void fpi_slot_grow(fp_timer_wheel *w, uint32_t s, uint64_t exp)
{
	struct fpi_slot *slot = &w->slots[s];
	uint32_t chunk = fpi_chunk_get(w), level = s / FPI_LEVEL_SLOTS;
	uint64_t start, next = FPI_LOAD(&w->next, FPI_RELAXED);

	chunk_at(w, chunk)->next = slot->head;
	slot->head = chunk;
	slot->chunks++;
	if (s == FPI_SLOT_LATE)
		return;
	if (slot->chunks == 1)
		occupy(w, s);
	if (slot->chunks != FPI_CHUNKS_AT_ONCE + 1 || level == 0)
		return;
	/* It has become large: a poll is to come for the first step. */
	start = migration_start(level, exp & ~(slot_width(level) - 1));
	if (start < next)
		FPI_STORE(&w->next, start, FPI_RELAXED);
}

/* Takes the chain out of a slot. */
static struct fpi_slot slot_empty(fp_timer_wheel *w, uint32_t s)
{
	struct fpi_slot chain = w->slots[s];

	w->slots[s] = (struct fpi_slot){ 0, 0 };
	if (s < FPI_SLOT_LATE)
		vacate(w, s);
	return chain;
}

uint64_t fpi_wheel_insert(fp_timer_wheel *w, uint32_t index, uint64_t exp)
{
	return fpi_slot_insert(w, index, exp);
}

void fpi_wheel_reinsert(fp_timer_wheel *w, uint32_t index, uint64_t exp)
{
	if (exp > w->cur) {
		fpi_wheel_insert(w, index, exp);
		return;
	}
	FPI_PLAIN_STORE(&w->records[index].entry_exp, exp);
	fpi_due_run_one(w, index, exp);
}

void fpi_wheel_put_back(fp_timer_wheel *w, uint32_t index, uint64_t exp)
{
	fpi_slot_place(w, index, exp, FPI_WHEEL_LEVELS - 1);
}

void fpi_wheel_remove(fp_timer_wheel *w, uint32_t index)
{
	struct fpi_timer *t = &w->records[index];
	struct fpi_chunk *from = chunk_at(w, t->at >> FPI_CHUNK_BITS), *first;
	struct fpi_entry *hole = &from->entry[t->at % (1u << FPI_CHUNK_BITS)];
	struct fpi_slot *slot;
	uint32_t head;

	if (t->slot == FPI_SLOT_RUN) {
		fpi_due_run_remove(w, index);
		return;
	}
	if (t->slot >= FPI_SLOT_LIST) {
		hole->index = FPI_ENTRY_NONE;
		return;
	}
	slot = &w->slots[t->slot];
	head = slot->head;
	first = chunk_at(w, head);
	*hole = first->entry[--first->count];
	w->records[hole->index].at = t->at;
	if (first->count)
		return;
	slot->head = first->next;
	fpi_chunk_put(w, head);
	if (--slot->chunks == 0 && t->slot < FPI_SLOT_LATE)
		vacate(w, t->slot);
}

/* ---- events ---- */

/* The start of the first occupied slot of a level. */
static uint64_t find_first(const fp_timer_wheel *w, uint32_t level)
{
	uint64_t here = w->cur >> FPI_LEVEL_BITS * level;
	uint32_t begin = (uint32_t)here % FPI_LEVEL_SLOTS, word = begin / 64, ahead, at;
	uint32_t words = w->occupied_words[level];
	uint64_t bits = w->occupied[level][word] & UINT64_MAX << begin % 64;

	if (!words)
		return UINT64_MAX;
	if (!bits) {
		/* The words after this one, round to this one again. */
		uint32_t turned = (words >> word | words << (FPI_LEVEL_WORDS - word)) &
				  ((1u << FPI_LEVEL_WORDS) - 1) & ~1u;

		if (turned)
			word = (word + (uint32_t)__builtin_ctz(turned)) % FPI_LEVEL_WORDS;
		bits = w->occupied[level][word];
	}
	at = word * 64 + (uint32_t)__builtin_ctzll(bits);
	ahead = (at - begin) % FPI_LEVEL_SLOTS;
	return (here + ahead) << FPI_LEVEL_BITS * level;
}

void fpi_wheel_find_event(fp_timer_wheel *w)
{
	w->event_tick = UINT64_MAX;
	w->event_level = FPI_WHEEL_LEVELS;
	for (uint32_t level = 0; level < FPI_WHEEL_LEVELS; level++) {
		if (w->dirty & 1u << level)
			w->first[level] = find_first(w, level);
		/* At one tick the highest level first: its entries may be of that tick. */
		if (w->occupied_words[level] && w->first[level] <= w->event_tick) {
			w->event_tick = w->first[level];
			w->event_level = level;
		}
	}
	w->dirty = 0;
	w->event_stale = 0;
}

/* Moves the entries of one chunk into `highest` or lower, and frees it. */
static void move_chunk(fp_timer_wheel *w, uint32_t chunk, uint32_t highest)
{
	const struct fpi_chunk *c = chunk_at(w, chunk);
	uint32_t n = c->count;

	for (uint32_t i = 0; i < n && i < PREFETCH_AHEAD; i++)
		fpi_prefetch_write(&w->records[c->entry[i].index].at);
	for (uint32_t i = 0; i < n; i++) {
		if (i + PREFETCH_AHEAD < n)
			fpi_prefetch_write(
				&w->records[c->entry[i + PREFETCH_AHEAD].index].at);
		fpi_slot_place(w, c->entry[i].index, c->entry[i].exp, highest);
	}
	w->handled += n;
	fpi_chunk_put(w, chunk);
}

FPI_INLINE uint32_t slot_of(uint32_t level, uint64_t start)
{
	return level * FPI_LEVEL_SLOTS +
	       (uint32_t)(start >> FPI_LEVEL_BITS * level) % FPI_LEVEL_SLOTS;
}

void fpi_wheel_open(fp_timer_wheel *w)
{
	uint32_t level = w->event_level;
	struct fpi_slot chain;

	w->cur = w->event_tick;
	chain = slot_empty(w, slot_of(level, w->event_tick));
	if (chain.chunks <= FPI_RUN_CHUNKS && fpi_due_run(w, &chain))
		return;
	if (level == 0) {
		fpi_due_list(w, FPI_LIST_TICK, &chain);
		return;
	}
	while (chain.head) {
		uint32_t next = chunk_at(w, chain.head)->next;

		move_chunk(w, chain.head, level - 1);
		chain.head = next;
	}
}

/* ---- migration ---- */

/* When the first slot of a level has to be moved on, or UINT64_MAX. */
static uint64_t next_step(fp_timer_wheel *w, uint32_t level)
{
	uint64_t first = w->first[level];

	if (!w->occupied_words[level] ||
	    w->slots[slot_of(level, first)].chunks <= FPI_CHUNKS_AT_ONCE)
		return UINT64_MAX;
	if (w->step_first[level] != first) {
		w->step_first[level] = first;
		w->step_tick[level] = migration_start(level, first);
	}
	return w->step_tick[level];
}

static void migrate_level(fp_timer_wheel *w, uint32_t level, uint64_t now)
{
	struct fpi_slot *slot = &w->slots[slot_of(level, w->first[level])];
	uint64_t left = w->first[level] - now; /* before its first entry */
	uint64_t behind = now - w->step_tick[level];
	uint64_t pace = left / slot->chunks + 1;
	uint64_t n = 1 + behind / pace;

	if (n > MIGRATE_CHUNKS_MAX)
		n = MIGRATE_CHUNKS_MAX;
	for (; n && slot->chunks > FPI_CHUNKS_AT_ONCE; n--) {
		uint32_t chunk = slot->head;

		slot->head = chunk_at(w, chunk)->next;
		slot->chunks--;
		move_chunk(w, chunk, level - 1);
	}
	w->step_tick[level] = now + left / slot->chunks + 1;
}

void fpi_wheel_migrate(fp_timer_wheel *w, uint64_t now)
{
	if (w->event_stale)
		fpi_wheel_find_event(w);
	for (uint32_t level = 1; level < FPI_WHEEL_LEVELS; level++) {
		uint64_t step = next_step(w, level);

		if (step <= now && step != UINT64_MAX)
			migrate_level(w, level, now);
	}
}

uint64_t fpi_wheel_next(fp_timer_wheel *w)
{
	uint64_t next;
	struct fpi_key key;
	uint32_t from;

	if (w->slots[FPI_SLOT_LATE].head)
		return 0;
	if (w->event_stale)
		fpi_wheel_find_event(w);
	next = w->event_tick;
	if (fpi_due_peek(w, &key, &from) && key.exp < next)
		next = key.exp;
	for (uint32_t level = 1; level < FPI_WHEEL_LEVELS; level++) {
		uint64_t step = next_step(w, level);

		if (step < next)
			next = step;
	}
	return next;
}
