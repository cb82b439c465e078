# SPDX-License-Identifier: BSD-2-Clause
"""Any sequence of calls against collections.deque."""

from collections import deque

import libfp
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

COUNTS = st.integers(0, 12)


class RingMachine(RuleBasedStateMachine):
    """One thread, so that "full" and "empty" are exact."""

    @initialize(capacity=st.integers(1, 9), size=st.sampled_from([4, 8, 12]),
                producer=st.sampled_from(["mt", "st"]), consumer=st.sampled_from(["mt", "st"]),
                checked=st.booleans(), stats=st.booleans())
    def start(self, capacity, size, producer, consumer, checked, stats):
        self.ring = libfp.Ring(capacity, size, producer, consumer, checked=checked, stats=stats)
        self.model = deque()
        self.voids = False  # slots that consumers have not passed: counts are not the model's
        self.closed = False
        self.sent = 0

    def make(self, n):
        """n elements that were not there before."""
        size = self.ring.elem_size
        self.sent += n
        return [i.to_bytes(size, "little") for i in range(self.sent - n, self.sent)]

    def split(self, data):
        size = self.ring.elem_size
        return [bytes(data[i:i + size]) for i in range(0, len(data), size)]

    def take(self, n):
        return [self.model.popleft() for _ in range(n)]

    def at_the_end(self, call):
        """A dequeue from a closed ring that has nothing left."""
        try:
            got = call()
        except libfp.RingClosed:
            return True
        assert not got, got
        return False

    @property
    def free(self):
        return self.ring.free_count if self.voids else self.ring.capacity - len(self.model)

    @precondition(lambda self: not self.closed)
    @rule(n=COUNTS)
    def enqueue_burst(self, n):
        elems, free = self.make(n), self.free
        got = self.ring.enqueue_burst(b"".join(elems))
        assert got == min(n, free) or self.voids
        self.model.extend(elems[:got])

    @precondition(lambda self: not self.closed)
    @rule(n=COUNTS)
    def enqueue_bulk(self, n):
        elems, free = self.make(n), self.free
        try:
            got = self.ring.enqueue_bulk(b"".join(elems))
        except libfp.InvalidArgument:
            assert n > self.ring.capacity
            return
        assert got == (n if n <= free else 0) or self.voids and got in (0, n)
        self.model.extend(elems[:got])

    @precondition(lambda self: not self.closed and self.ring.elem_size == 8)
    @rule()
    def enqueue(self):
        (elem,), free = self.make(1), self.free
        taken = self.ring.enqueue(int.from_bytes(elem, "little"))
        assert taken == (free > 0) or self.voids
        self.model.extend([elem] * taken)

    @precondition(lambda self: not self.closed)
    @rule(n=COUNTS, k=COUNTS, bulk=st.booleans())
    def reserve(self, n, k, bulk):
        free = self.free
        try:
            span = self.ring.reserve(n, bulk)
        except libfp.InvalidArgument:
            assert bulk and n > self.ring.capacity
            return
        with span:
            fits = n if n <= free else 0 if bulk else free
            assert len(span) == fits or self.voids
            assert sum(v.nbytes for v in span.views) == len(span) * self.ring.elem_size
            elems = self.make(len(span))
            data = b"".join(elems)
            for view in span.views:
                with view.cast("B") as raw:
                    raw[:] = data[:len(raw)]
                    data = data[len(raw):]
            k = min(k, len(span))
            assert span.commit(k) == k
        self.model.extend(elems[:k])
        self.voids |= k < len(elems) and self.ring.producer == libfp.MT

    @rule(n=COUNTS)
    def dequeue_burst(self, n):
        before = len(self.model)
        if not before:
            assert self.at_the_end(lambda: self.ring.dequeue_burst(n).nbytes) == (
                self.closed and n > 0)
            return
        got = self.split(self.ring.dequeue_burst(n).cast("B"))
        assert len(got) == min(n, before)
        assert got == self.take(len(got))

    @rule(n=COUNTS, bulk=st.booleans())
    def dequeue_into(self, n, bulk):
        room = bytearray(b"\xff" * (n * self.ring.elem_size))
        before = len(self.model)
        call = self.ring.dequeue_into_bulk if bulk else self.ring.dequeue_into
        try:
            got = call(room)
        except libfp.InvalidArgument:
            assert bulk and n > self.ring.capacity
            return
        except libfp.RingClosed:
            assert self.closed and (before < n if bulk else not before)
            return
        assert got == (min(n, before) if not bulk else n if n <= before else 0)
        elems = self.split(room)
        assert elems[:got] == self.take(got)
        assert all(set(elem) == {255} for elem in elems[got:])

    @precondition(lambda self: self.ring.elem_size == 8)
    @rule()
    def dequeue(self):
        if not self.model:
            assert self.at_the_end(self.ring.dequeue) == self.closed
        else:
            assert self.ring.dequeue().to_bytes(8, "little") == self.model.popleft()

    @rule(n=COUNTS, k=COUNTS)
    def reserve_dequeue(self, n, k):
        if not self.model:
            assert self.at_the_end(lambda: len(self.ring.reserve_dequeue(n))) == (
                self.closed and n > 0)
            return
        with self.ring.reserve_dequeue(n) as span:
            assert len(span) == min(n, len(self.model)) or self.voids
            found = [e for v in span.views for e in self.split(v.tobytes())]
            assert found == list(self.model)[:len(span)]
            k = len(span) if self.ring.consumer == libfp.MT else min(k, len(span))
            assert span.commit(k) == k
        self.take(k)

    @precondition(lambda self: self.ring.consumer == libfp.ST)
    @rule(n=COUNTS)
    def peek(self, n):
        if not self.model:
            assert self.at_the_end(lambda: self.ring.peek(n).nbytes) == (self.closed and n > 0)
            return
        found = self.split(self.ring.peek(n).cast("B"))
        assert found == list(self.model)[:len(found)]
        assert len(found) == min(n, len(self.model)) or self.voids

    @rule()
    def counts(self):
        ring = self.ring
        assert ring.count + ring.free_count == ring.capacity
        assert ring.count >= len(self.model)
        assert ring.count == len(self.model) or self.voids
        assert ring.is_closed == self.closed
        assert ring.stats.enqueued - ring.stats.dequeued == len(self.model)

    @rule()
    def reset(self):
        self.ring.reset()
        self.model.clear()
        self.voids = self.closed = False

    @precondition(lambda self: len(self.model) > 3)
    @rule()
    def close(self):
        self.ring.close()
        self.closed = True

    def teardown(self):
        if hasattr(self, "ring"):
            self.ring.destroy()


TestRing = RingMachine.TestCase
