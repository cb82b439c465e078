# SPDX-License-Identifier: BSD-2-Clause
"""Any sequence of calls on a timer wheel against a model: a dict of what is armed, sorted by each poll.

One thread, so that the order among equals is exact: that of arming. A touch that moves arms anew.
"""

import array
import errno
import itertools

import libfp
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

LAST = 2**64 - 1
MAX = 40
# Ahead of now: mostly soon, and at the places where a wheel changes levels.
AHEAD = st.one_of(st.integers(0, 300), st.sampled_from(
    [step + d for k in (8, 9, 16, 24, 32, 48, 63) for step in [2**k] for d in (-1, 0, 1)]))
PICK = st.integers(0, 2**16)


class Timer:
    """What the model knows of one: expiry None is not armed, period 0 is not periodic.

    owed: periods that were skipped, and that the next record tells of.
    """

    def __init__(self, user):
        self.user, self.expiry, self.order = user, None, 0
        self.period, self.policy, self.owed = 0, "", 0


class WheelMachine(RuleBasedStateMachine):
    @initialize(start=st.sampled_from([0, 1, 255, 256, 2**32 - 1, 2**63]), stats=st.booleans())
    def start(self, start, stats):
        self.wheel = libfp.TimerWheel(MAX, start_tick=start, stats=stats)
        self.now = start
        self.timers, self.ended = {}, []
        self.orders, self.users = itertools.count(1), itertools.count()
        self.fired = 0

    # ---- the model ----

    def at(self, ahead, back=False):
        return max(0, self.now - ahead) if back else min(LAST, self.now + ahead)

    def chosen(self, which):
        ids = list(self.timers)
        return ids[which % len(ids)]

    def armed(self):
        return {i: t for i, t in self.timers.items() if t.expiry is not None}

    def model_arm(self, timer, expiry):
        t = self.timers[timer]
        was = t.expiry is not None
        t.expiry, t.order, t.period, t.owed = expiry, next(self.orders), 0, 0
        return was

    def model_touch(self, timer, expiry):
        t = self.timers[timer]
        if t.expiry is None:
            return False
        if expiry > t.expiry:
            t.expiry, t.order = expiry, next(self.orders)
        return True

    # ---- making and ending ----

    @rule(n=st.integers(1, 8), bulk=st.booleans())
    def create(self, n, bulk):
        room = MAX - len(self.timers)
        if bulk:
            given = array.array("Q", itertools.islice(self.users, n))
            made = self.wheel.create_bulk(given)
            assert len(made) <= n and (len(made) == n or room < n + len(self.ended))
        elif room:
            given = [next(self.users)]
            try:
                made = [self.wheel.create_timer(given[0])]
            except libfp.NoMemory:
                made = []
        else:
            return
        assert not set(made) & (set(self.timers) | set(self.ended)) and 0 not in made
        self.timers.update((i, Timer(user)) for i, user in zip(made, given))

    @precondition(lambda self: self.timers)
    @rule(which=PICK, n=st.integers(1, 5), bulk=st.booleans())
    def destroy(self, which, n, bulk):
        ids = list(self.timers)[which % len(self.timers):][:n if bulk else 1]
        was = [self.timers.pop(i).expiry is not None for i in ids]
        if bulk:
            results = array.array("i", [9] * (len(ids) + 1))
            again = array.array("Q", [*ids, ids[0]])
            assert self.wheel.destroy_bulk(again, results) == len(ids)
            assert results.tolist() == [*was, -errno.ESTALE]
        else:
            assert self.wheel.destroy_timer(ids[0]) == was[0]
        self.ended = (self.ended + ids)[-20:]

    # ---- arming ----

    @precondition(lambda self: self.timers)
    @rule(which=PICK, ahead=AHEAD, back=st.sampled_from([False, False, False, True]))
    def arm(self, which, ahead, back):
        timer, expiry = self.chosen(which), self.at(ahead, back)
        assert self.wheel.arm(timer, expiry) == self.model_arm(timer, expiry)

    @precondition(lambda self: self.timers)
    @rule(which=PICK)
    def arm_again_for_the_same(self, which):
        timer = self.chosen(which)
        expiry = self.timers[timer].expiry
        if expiry is not None:
            assert self.wheel.arm(timer, expiry) is True
            self.model_arm(timer, expiry)

    @precondition(lambda self: self.timers)
    @rule(aheads=st.lists(AHEAD, min_size=1, max_size=20), which=PICK, touch=st.booleans(),
          stale=st.booleans())
    def many(self, aheads, which, touch, stale):
        ids = [self.chosen(which + i) for i in range(len(aheads))]
        at = array.array("Q", [self.at(ahead) for ahead in aheads])
        model = self.model_touch if touch else self.model_arm
        wanted = [int(model(i, expiry)) for i, expiry in zip(ids, at)]
        if stale and self.ended:
            ids.insert(0, self.ended[-1])
            at.insert(0, self.now)
            wanted.insert(0, -errno.ESTALE)
        call = self.wheel.touch_bulk if touch else self.wheel.arm_bulk
        results = array.array("i", [9]) * len(ids)
        done = [w > 0 if touch else w >= 0 for w in wanted]
        assert call(array.array("Q", ids), at, results) == sum(done)
        assert results.tolist() == wanted

    @precondition(lambda self: self.timers)
    @rule(which=PICK, ahead=AHEAD, period=AHEAD,
          policy=st.sampled_from(["skip", "coalesce", "catch_up"]))
    def arm_periodic(self, which, ahead, period, policy):
        timer, first = self.chosen(which), self.at(ahead)
        period = max(1, period)
        assert self.wheel.arm_periodic(timer, first, period, policy) == self.model_arm(timer, first)
        self.timers[timer].period, self.timers[timer].policy = period, policy

    @precondition(lambda self: self.timers)
    @rule(which=PICK, ahead=AHEAD)
    def touch(self, which, ahead):
        timer, expiry = self.chosen(which), self.at(ahead)
        if not self.timers[timer].period or self.timers[timer].expiry is None:
            assert self.wheel.touch(timer, expiry) == self.model_touch(timer, expiry)

    @precondition(lambda self: self.timers)
    @rule(which=PICK, n=st.integers(1, 10), how=st.sampled_from(["one", "sync", "many"]))
    def cancel(self, which, n, how):
        ids = list(self.timers)[which % len(self.timers):][:n if how == "many" else 1]
        was = [self.timers[i].expiry is not None for i in ids]
        for i in ids:
            self.timers[i].expiry = None
        if how == "many":
            assert self.wheel.cancel_bulk(array.array("Q", ids)) == sum(was)
        else:
            call = self.wheel.cancel if how == "one" else self.wheel.cancel_sync
            assert call(ids[0]) == was[0]

    @rule(sometimes=st.integers(0, 9))
    def cancel_all(self, sometimes):
        if not sometimes:
            assert self.wheel.cancel_all() == len(self.armed())
            for t in self.timers.values():
                t.expiry = None

    # ---- polling ----

    def expire(self, now, n):
        """What a poll delivers: (id, user, expiry, overruns, periodic) in order."""
        out = []
        while len(out) < n:
            due = [(t.expiry, t.order, i) for i, t in self.armed().items() if t.expiry <= now]
            if not due:
                break
            expiry, _, i = min(due)
            t = self.timers[i]
            missed = (now - expiry) // t.period if t.period else 0
            if missed and t.policy == "skip":  # it fires later, where its last period is in order
                t.expiry, t.owed = expiry + missed * t.period, t.owed + missed
                continue
            overruns, t.owed = missed + t.owed, 0
            out.append((i, t.user, expiry, min(overruns, 2**32 - 1), bool(t.period)))
            following = expiry + t.period * (1 if t.policy == "catch_up" else missed + 1)
            t.expiry = following if t.period and following <= LAST else None
        return out

    @rule(ahead=st.one_of(st.integers(0, 40), AHEAD), n=st.sampled_from([0, 1, 3, 64]),
          into=st.booleans())
    def poll(self, ahead, n, into):
        # Catching up with small periods over a long time would take as many records.
        smallest = min([t.period for t in self.armed().values() if t.policy == "catch_up" and
                        t.period], default=LAST)
        now = self.at(min(ahead, 20 * smallest))
        upcoming = self.wheel.next_expiry
        if into:
            room = (libfp.TimerRecord * n)()
            records = room[:self.wheel.poll_into(now, room)]
        else:
            records = self.wheel.poll_burst(now, n)
        if n:
            self.now = now
        got = [(r.id, r.user, r.expiry_tick, r.overruns, r.is_periodic) for r in records]
        wanted = self.expire(now, n)
        assert got == wanted
        if got and got[0][2] < LAST:  # next_expiry does not tell of the last tick
            assert upcoming <= now
        self.fired += len(got)

    # ---- looking ----

    @rule(which=PICK)
    def look(self, which):
        armed = self.armed()
        assert self.wheel.count == len(armed)
        soonest = min((t.expiry for t in armed.values()), default=None)
        upcoming = self.wheel.next_expiry
        if soonest is not None and soonest < LAST:
            assert upcoming <= max(soonest, self.now)
        assert {info.id: (info.user, info.expiry_tick) for info in self.wheel.timers()} == {
            i: (t.user, t.expiry) for i, t in self.timers.items()}
        assert self.wheel.stats.fired == self.fired
        if self.timers:
            timer = self.chosen(which)
            expiry = self.timers[timer].expiry
            left = None if expiry is None else max(0, expiry - self.now)
            assert self.wheel.is_pending(timer) == (expiry is not None)
            assert self.wheel.remaining(timer, self.now) == left
        for timer in self.ended:
            with pytest.raises(libfp.NoSuchTimer):
                self.wheel.arm(timer, self.now)

    def teardown(self):
        if hasattr(self, "wheel"):
            self.wheel.destroy()


TestWheel = WheelMachine.TestCase
