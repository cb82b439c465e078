/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What looks at a timer without changing it, or at all of them. No count of armed timers
 * is kept, because every arm would pay for it: who wants one looks at the words.
 */
#include <errno.h>

#include "timer/timer_internal.h"

/* How many records have ever been used. */
static uint32_t made(const fp_timer_wheel *w)
{
	return FPI_LOAD(&w->made, FPI_RELAXED);
}

/* The word of an id; 0: stale. */
static uint64_t word_of(const fp_timer_wheel *w, uint64_t id)
{
	uint64_t index = id & w->index_mask, word;

	if (index >= w->max_timers)
		return 0;
	word = FPI_LOAD(&w->records[index].word, FPI_RELAXED);
	return fpi_timer_is(w, id, word) ? word : 0;
}

int fp_timer_is_pending(const fp_timer_wheel *wheel, uint64_t id)
{
	uint64_t word;

	if (!wheel)
		return -EINVAL;
	word = word_of(wheel, id);
	return word ? (word & FPI_TIMER_ARMED) != 0 : -ESTALE;
}

int fp_timer_remaining(fp_timer_wheel *wheel, uint64_t id, uint64_t now_tick,
		       uint64_t *ticks)
{
	struct fpi_timer *t;
	uint64_t word, exp;

	if (!wheel || !ticks)
		return -EINVAL;
	if (!word_of(wheel, id))
		return -ESTALE;
	t = &wheel->records[id & wheel->index_mask];
	word = fpi_timer_lock(t);
	exp = FPI_LOAD(&t->exp, FPI_RELAXED);
	fpi_timer_unlock(t, word);
	if (!fpi_timer_is(wheel, id, word))
		return -ESTALE;
	if (!(word & FPI_TIMER_ARMED))
		return 0;
	*ticks = exp > now_tick ? exp - now_tick : 0;
	return 1;
}

int64_t fp_timer_wheel_count(const fp_timer_wheel *wheel)
{
	int64_t armed = 0;

	if (!wheel)
		return -EINVAL;
	for (uint32_t i = 0, n = made(wheel); i < n; i++)
		armed += (FPI_LOAD(&wheel->records[i].word, FPI_RELAXED) &
			  FPI_TIMER_ARMED) != 0;
	return armed;
}

int64_t fp_timer_wheel_cancel_all(fp_timer_wheel *wheel)
{
	int64_t cancelled = 0;
	int err = fpi_wheel_check(wheel);

	if (err)
		return err;
	for (uint32_t i = 0, n = made(wheel); i < n; i++) {
		int was;

		if (!(FPI_LOAD(&wheel->records[i].word, FPI_RELAXED) & FPI_TIMER_ARMED))
			continue;
		fpi_timer_cancel_at(wheel, i, &was);
		cancelled += was;
	}
	return cancelled;
}

/* A copy of what a timer is. Returns 0: it is none. */
static int read_info(fp_timer_wheel *w, uint32_t index, fp_timer_info *info)
{
	struct fpi_timer *t = &w->records[index];
	uint64_t word;

	if (!(FPI_LOAD(&t->word, FPI_RELAXED) & FPI_TIMER_LIVE))
		return 0;
	word = fpi_timer_lock(t);
	*info = (fp_timer_info){ .id = fpi_timer_id(w, index, word),
				 .user = (uint64_t)(uintptr_t)t->user };
	if (word & FPI_TIMER_ARMED) {
		info->flags |= LIBFP_TIMER_IS_ARMED;
		info->expiry_tick = FPI_LOAD(&t->exp, FPI_RELAXED);
	}
	if (word & FPI_TIMER_PERIODIC) {
		info->flags |= LIBFP_TIMER_IS_PERIODIC;
		info->period_ticks = w->periods[index].ticks;
		info->policy =
			(uint32_t)((word & FPI_TIMER_POLICY) >> FPI_TIMER_POLICY_SHIFT);
	}
	fpi_timer_unlock(t, word);
	return (word & (FPI_TIMER_LIVE | FPI_TIMER_DEAD)) == FPI_TIMER_LIVE;
}

int fp_timer_wheel_for_each(fp_timer_wheel *wheel, fp_timer_info_fn fn, void *user)
{
	int err = fpi_wheel_check(wheel);

	if (err || !fn)
		return err ? err : -EINVAL;
	for (uint32_t i = 0, n = made(wheel); i < n; i++) {
		fp_timer_info info;
		int rc = read_info(wheel, i, &info) ? fn(&info, user) : 0;

		if (rc)
			return rc;
	}
	return 0;
}

int fp_timer_wheel_next_expiry(const fp_timer_wheel *wheel, uint64_t *tick)
{
	uint64_t next;

	if (!wheel || !tick)
		return -EINVAL;
	next = fpi_wheel_work_tick(wheel);
	if (next == UINT64_MAX)
		return 0;
	*tick = next;
	return 1;
}
