# SPDX-License-Identifier: BSD-2-Clause
"""Rings that are waited for: time-outs, min and n, interrupts, closing, streams of threads."""

import array
import threading

import libfp
import pytest
from libfp import Ring, Wakeup

FOREVER = 600  # seconds: a wait that is to be ended


@pytest.fixture(params=["wait", "bound"])
def ring(request, sides):
    """A ring of 8 with room to wait on both sides, both ways of having it."""
    if request.param == "wait":
        with Ring(8, **sides, wait=True) as made:
            yield made
    else:
        with Wakeup() as wakeup, Ring(8, **sides) as made:
            made.set_wakeup("producer", wakeup)
            made.set_wakeup("consumer", wakeup)
            yield made


def words(*values):
    return array.array("Q", values)


class Thread(threading.Thread):
    """Runs a function; join() returns what it returned, or raises what it raised."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.target, self.result, self.error = target, None, None
        self.start()

    def run(self):
        try:
            self.result = self.target()
        except Exception as error:  # it is raised by join()
            self.error = error

    def join(self, timeout=None):
        super().join(timeout)
        if self.error:
            raise self.error
        return self.result


def test_nothing_in_time(ring):
    for timeout in (0, 0.0, 0.002):
        assert ring.wait_readable(timeout) is False
        assert len(ring.dequeue_wait(4, timeout=timeout)) == 0
        assert ring.dequeue_into_wait(bytearray(8), timeout=timeout) == 0
    assert ring.enqueue_wait(bytes(64), timeout=0) == 8
    for timeout in (0, 0.0, 0.002):
        assert ring.wait_writable(timeout) is False
        assert ring.enqueue_wait(bytes(8), timeout=timeout) == 0


def test_what_is_there_comes_at_once(ring):
    assert ring.wait_writable()
    assert ring.enqueue_wait(words(1, 2, 3)) == 3
    assert ring.wait_readable()
    assert ring.dequeue_wait(2).tolist() == [1, 2]
    room = words(0, 0)
    assert ring.dequeue_into_wait(room) == 1 and room[0] == 3


def test_min_and_n(ring):
    ring.enqueue_wait(words(*range(6)))
    assert ring.enqueue_wait(words(6, 7, 8), min=3, timeout=0) == 0
    assert ring.enqueue_wait(words(6, 7, 8), min=2, timeout=0) == 2
    assert ring.dequeue_wait(100, min=3, timeout=0).tolist() == list(range(8))
    ring.enqueue(9)
    assert len(ring.dequeue_wait(4, min=2, timeout=0)) == 0
    assert ring.dequeue_wait(4, min=0).tolist() == [9]
    assert len(ring.dequeue_wait(4, min=0)) == 0


@pytest.mark.parametrize("call", [
    lambda r: r.dequeue_wait(4, min=5), lambda r: r.dequeue_wait(100, min=9),
    lambda r: r.dequeue_wait(4, min=-1), lambda r: r.dequeue_wait(-1),
    lambda r: r.enqueue_wait(bytes(8), min=2), lambda r: r.enqueue_wait(b""),
    lambda r: r.wait_readable(-1), lambda r: r.dequeue_wait(1, timeout=-1),
    lambda r: r.interrupt("both"), lambda r: r.interrupt(2), lambda r: r.set_wakeup(-1, None),
])
def test_bad_arguments(ring, call):
    with pytest.raises(libfp.InvalidArgument):
        call(ring)
    assert ring.is_empty


def test_a_part_of_an_element(ring):
    for call in (ring.enqueue_wait, ring.dequeue_into_wait):
        with pytest.raises(ValueError, match="whole number"):
            call(bytearray(9))


def test_a_waiting_consumer_gets_what_comes(ring):
    thread = Thread(lambda: ring.dequeue_wait(4, timeout=FOREVER).tolist())
    assert ring.enqueue_wait(words(7)) == 1
    assert thread.join() == [7]
    thread = Thread(lambda: ring.dequeue_wait(4, min=3, timeout=FOREVER).tolist())
    for value in range(3):
        ring.enqueue(value)
    assert thread.join() == [0, 1, 2]


def test_a_waiting_producer_gets_room(ring):
    ring.enqueue_wait(bytes(64))
    thread = Thread(lambda: ring.enqueue_wait(words(1, 2), min=2, timeout=FOREVER))
    assert len(ring.dequeue_wait(1)) == 1
    assert len(ring.dequeue_wait(1)) == 1
    assert thread.join() == 2


def inside(ring, side):
    """Returns once a thread is inside a call on that side."""
    while not ring._core.gates[side].word:
        pass


def test_close_wakes_consumers(ring):
    thread = Thread(lambda: ring.wait_readable(FOREVER))
    inside(ring, 1)
    ring.close()
    with pytest.raises(libfp.RingClosed):
        thread.join()
    with pytest.raises(libfp.RingClosed):
        ring.dequeue_wait(4)


def test_what_is_left_in_a_closed_ring_comes_below_min(ring):
    ring.enqueue(5)
    ring.close()
    assert ring.dequeue_wait(4, min=4).tolist() == [5]
    with pytest.raises(libfp.RingClosed):
        ring.dequeue_wait(4, min=4)
    with pytest.raises(libfp.RingClosed):
        ring.wait_writable()


@pytest.mark.parametrize("side", ["producer", "consumer"])
def test_interrupt(ring, side):
    number = ("producer", "consumer").index(side)
    ring.enqueue_wait(bytes(64))
    if side == "consumer":
        ring.dequeue_burst(8)
    ring.interrupt(side)  # nobody waits: nothing
    thread = Thread(lambda: ring.dequeue_wait(4, timeout=FOREVER) if number else
                    ring.enqueue_wait(bytes(8), timeout=FOREVER))
    while thread.is_alive():
        ring.interrupt(side)
    with pytest.raises(libfp.Interrupted):
        thread.join()


@pytest.mark.parametrize("bound", [False, True])
def test_an_interrupt_between_two_chunks_of_the_main_thread_is_found(monkeypatch, bound):
    monkeypatch.setattr("libfp._wait.CHUNK", 1000)
    with Wakeup() as wakeup, Ring(8, wait=True) as ring:
        if bound:
            ring.set_wakeup("consumer", wakeup)
        for _ in range(50):
            thread = Thread(lambda: (inside(ring, 1), ring.interrupt("consumer")))
            with pytest.raises(libfp.Interrupted):
                ring.wait_readable(FOREVER)
            thread.join()
        if bound:
            thread = Thread(lambda: (inside(ring, 1), wakeup.interrupt()))
            with pytest.raises(libfp.Interrupted):
                ring.dequeue_wait(4)
            thread.join()
        assert not ring.wait_readable(0.01)


def test_a_ring_that_nobody_can_wait_for(sides):
    with Ring(8, **sides) as ring:
        for call in (ring.wait_readable, ring.wait_writable, lambda: ring.dequeue_wait(1),
                     lambda: ring.enqueue_wait(bytes(8)), lambda: ring.wait_readable(0),
                     lambda: ring.interrupt("consumer")):
            with pytest.raises(libfp.NotSupported, match="wait=True"):
                call()
        assert ring.wakeup("consumer") is None


def test_destroy_beside_a_wait_is_refused(ring):
    thread = Thread(lambda: ring.wait_readable(FOREVER))
    inside(ring, 1)
    for call in (ring.destroy, lambda: ring.set_wakeup("consumer", None)):
        with pytest.raises(libfp.RingBusy, match="inside a call"):
            call()
    ring.enqueue(1)
    assert thread.join()


def test_bind_and_unbind():
    with Wakeup() as one, Wakeup() as two, Ring(8) as ring:
        ring.set_wakeup("consumer", one)
        assert ring.wakeup("consumer") is one and ring.wakeup("producer") is None
        ring.set_wakeup("consumer", two)
        assert (one.stats.bound, two.stats.bound) == (0, 1)
        ring.set_wakeup("consumer", None)
        assert ring.wakeup("consumer") is None and two.stats.bound == 0
        with pytest.raises(libfp.NotSupported):
            ring.wait_readable(0)


def test_the_binding_is_seen_through_every_object_of_the_ring():
    with Wakeup() as wakeup, Ring(8, name="bound") as ring:
        with Ring.lookup("bound") as same:
            same.set_wakeup("consumer", wakeup)
        assert ring.wakeup("consumer") is wakeup
        ring.enqueue(1)
        assert ring.wait_readable(0)
        with pytest.raises(libfp.WakeupBusy):
            wakeup.destroy()


def test_a_wakeup_as_a_set_of_rings():
    """A thread that sleeps for several rings at once."""
    with Wakeup() as wakeup, Ring(8) as one, Ring(8) as two:
        for ring in (one, two):
            ring.set_wakeup("consumer", wakeup)
        thread = Thread(lambda: wakeup.wait_for(lambda: one.count + two.count == 2))
        one.enqueue(1)
        two.enqueue(2)
        assert thread.join()


PER_PRODUCER = 3000


@pytest.mark.parametrize("capacity", [1, 64])
def test_stream(sides, capacity):
    """Producers and consumers that only ever wait."""
    producers = 2 if sides["producer"] == "mt" else 1
    consumers = 2 if sides["consumer"] == "mt" else 1
    n = PER_PRODUCER if capacity > 1 else 200
    with Ring(capacity, **sides, wait=True) as ring:

        def produce(who):
            left = memoryview(words(*(who << 32 | i for i in range(n))))
            while left:
                left = left[ring.enqueue_wait(left[:32]):]

        def consume():
            got = []
            while True:
                try:
                    got.extend(ring.dequeue_wait(32))
                except libfp.RingClosed:
                    return got

        sinks = [Thread(consume) for _ in range(consumers)]
        for thread in [Thread(lambda w=w: produce(w)) for w in range(producers)]:
            thread.join()
        ring.close()
        got = [sink.join() for sink in sinks]
    assert sorted(v for values in got for v in values) == [
        who << 32 | i for who in range(producers) for i in range(n)]
