# SPDX-License-Identifier: BSD-2-Clause
"""Threads: streams through every kind of ring, guards, destroy beside calls; pools."""

import array
import sys
import threading

import libfp
import pytest
from libfp import Pool, Ring, _libfp

PER_PRODUCER = 20000


@pytest.fixture(autouse=True)
def switches():
    """Threads take turns more often than Python's every 5 ms."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0002)
    yield
    sys.setswitchinterval(before)


def run(*targets):
    """Runs the functions in threads of their own; what one raised is raised here."""
    failed = []

    def guarded(target):
        try:
            target()
        except BaseException as error:  # it must not be lost in a thread
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(t,)) for t in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


@pytest.mark.parametrize("capacity", [1, 100])
def test_stream(sides, capacity):
    producers = 2 if sides["producer"] == "mt" else 1
    consumers = 2 if sides["consumer"] == "mt" else 1
    per_producer = PER_PRODUCER if capacity > 1 else 200
    with Ring(capacity, **sides) as ring:
        running = list(range(producers))
        received = [[] for _ in range(consumers)]

        def produce(who):
            left = memoryview(array.array("Q", (who << 32 | i for i in range(per_producer))))
            while left:
                left = left[ring.enqueue_burst(left[:32]):]
            running.pop()  # list.pop is atomic; who takes the last one closes
            if not running:
                ring.close()

        def consume(into):
            room = array.array("Q", bytes(8 * 32))
            while True:
                try:
                    into.extend(room[:ring.dequeue_into(room)])
                except libfp.RingClosed:
                    return

        run(*(lambda w=w: produce(w) for w in range(producers)),
            *(lambda r=r: consume(r) for r in received))
        assert sorted(v for r in received for v in r) == [
            who << 32 | i for who in range(producers) for i in range(per_producer)]
        for values in received:
            for who in range(producers):
                mine = [v for v in values if v >> 32 == who]
                assert mine == sorted(mine)


def side_calls(ring, side):
    if side == 0:
        return (lambda: ring.enqueue(1), lambda: ring.enqueue_burst(bytes(8)),
                lambda: ring.enqueue_bulk(bytes(8)), lambda: ring.reserve(1), ring.close)
    return (ring.dequeue, lambda: ring.dequeue_burst(1), lambda: ring.dequeue_bulk(1),
            lambda: ring.dequeue_into(bytearray(8)), lambda: ring.reserve_dequeue(1),
            lambda: ring.peek(1))


@pytest.mark.parametrize("side", [0, 1])
def test_second_thread_inside_an_st_side_is_refused(side):
    with Ring(8, producer="st", consumer="st", name="guarded") as ring:
        with Ring.lookup("guarded") as same:  # the guard belongs to the ring
            same._guard.busy[side] = 1  # as while another thread is inside
            for call in side_calls(ring, side):
                with pytest.raises(libfp.RingBusy, match="another thread is inside"):
                    call()
            same._guard.busy[side] = 0
            assert ring.count == 0
            for call in side_calls(ring, side)[:3]:
                call()


def test_another_ring_has_another_guard():
    with Ring(8, producer="st") as ring, Ring(8, producer="st") as other:
        ring._guard.busy[0] = 1
        assert other.enqueue(1)
        ring._guard.busy[0] = 0


@pytest.mark.parametrize("gate", [0, 1, 2])
def test_destroy_beside_a_call_is_refused(sides, gate):
    ring = Ring(8, **sides)
    ring.enqueue(1)
    ring._core.gates[gate].word += 1  # as while another thread is inside
    for call in (ring.destroy, ring.reset):
        with pytest.raises(libfp.RingBusy, match="inside a call"):
            call()
    assert ring.dequeue() == 1 and ring.count == 0
    ring._core.gates[gate].word -= 1
    ring.destroy()


def test_unref_beside_a_call_is_refused():
    with Ring(8, name="looked up"):
        with Ring.lookup("looked up") as ring:
            ring._core.gates[0].word += 1
            with pytest.raises(libfp.RingBusy):
                ring.unref()
            ring._core.gates[0].word -= 1


def test_call_during_destroy_is_refused():
    closed = 0x80000000
    with Ring(8) as ring:
        for gate in ring._core.gates:
            gate.word |= closed
        for call in (lambda: ring.enqueue(1), ring.dequeue, lambda: ring.count):
            with pytest.raises(libfp.RingBusy, match="inside destroy"):
                call()
        for gate in ring._core.gates:
            gate.word &= ~closed


def test_destroy_while_threads_go_on():
    """Until destroy gets its chance each call works; afterwards each says destroyed."""
    for _ in range(20):
        ring = Ring(64)
        started = threading.Barrier(3)

        def work(call):
            started.wait()
            while True:
                try:
                    call()
                except libfp.RingBusy:
                    pass
                except libfp.RingDestroyed:
                    return

        def destroy():
            started.wait()
            while True:
                try:
                    return ring.destroy()
                except libfp.RingBusy:
                    pass

        run(lambda: work(lambda: ring.enqueue_burst(bytes(256))),
            lambda: work(lambda: ring.dequeue_burst(16)), destroy)


def test_reasons_belong_to_the_thread():
    lib, ffi = _libfp.lib, _libfp.ffi
    with pytest.raises(libfp.FpError):
        Ring(0)
    seen = []
    run(lambda: seen.append(ffi.string(lib.glue_reason())))
    assert seen == [b""]
    assert b"capacity 0" in ffi.string(lib.glue_reason())


def test_spans_of_two_threads(sides):
    with Ring(16, **sides) as ring:
        total = 1000

        def produce():
            sent = 0
            while sent < total:
                with ring.reserve(min(7, total - sent)) as span:
                    for view in span.views:
                        view[:] = array.array("Q", range(sent, sent + len(view)))
                        sent += len(view)
            ring.close()

        received = []

        def consume():
            while True:
                try:
                    with ring.reserve_dequeue(5) as span:
                        for view in span.views:
                            received.extend(view)
                except libfp.RingClosed:
                    return

        run(produce, consume)
        assert received == list(range(total))


# ---- pools ----

def test_objects_belong_to_one_thread_at_a_time(pools):
    """Each marks what it gets; nobody finds the mark of another on what is his."""
    with Pool(60, 8, **pools) as pool:
        def work(me):
            mark = bytes([me]) * 8
            for i in range(400):
                blocks = pool.get_bulk(i % 23)
                for block in blocks:
                    block.view[:] = mark
                for block in blocks:
                    assert bytes(block.view) == mark
                if i % 2:
                    pool.put_bulk(blocks)
                else:
                    for block in blocks:
                        pool.put(block)

        run(*(lambda m=m: work(m) for m in range(1, 4)))
        assert pool.is_full
        pool.audit()


def test_calls_that_take_long_do_not_overlap():
    """Without the GIL, on one cache: thousands of objects in each call."""
    with Pool(8192, 8, cache_size=4096) as pool:
        ready = threading.Barrier(3)

        def work():
            room = array.array("I", bytes(4 * 2000))
            ready.wait()
            for i in range(2000):
                assert pool.get_indexes_into(room) == 2000
                if not i % 100:
                    assert len(set(room)) == 2000
                assert pool.put_indexes(room) == 2000

        run(work, work, work)
        assert pool.is_full
        pool.audit()


def test_pipeline_of_indexes(pools):
    """Got here, through a ring, put there."""
    total = 2000
    with Pool(40, 8, **pools) as pool, Ring(32) as ring:
        def produce():
            sent = 0
            while sent < total:
                for block in pool.get_bulk(min(7, total - sent)):
                    block.view.cast("Q")[0] = sent
                    sent += 1
                    index = block.detach()
                    while not ring.enqueue(index):
                        pass
            ring.close()

        received = []

        def consume():
            room = array.array("Q", bytes(8 * 16))
            while True:
                try:
                    n = ring.dequeue_into(room)
                except libfp.RingClosed:
                    return
                for index in room[:n]:
                    with pool.adopt(index) as block:
                        received.append(int.from_bytes(block.view, "little"))

        run(produce, consume)
        assert received == list(range(total)) and pool.is_full


def test_destroy_of_a_pool_while_threads_go_on():
    """Until nothing is in use each call works; afterwards each says destroyed."""
    for _ in range(20):
        pool = Pool(64, 8)
        started = threading.Barrier(3)

        def work():
            started.wait()
            try:
                while True:
                    pool.put_bulk(pool.get_bulk(9))
            except libfp.PoolDestroyed:
                return

        def destroy():
            started.wait()
            while True:
                try:
                    return pool.destroy()
                except libfp.PoolBusy:
                    pass

        run(work, work, destroy)


def test_blocks_forgotten_on_other_threads():
    with Pool(64, 8) as pool:
        def work():
            for _ in range(300):
                kept = [block.view[1:] for block in pool.get_bulk(5)]
                pool.get()
                del kept

        run(work, work, work)
        assert pool.is_full
        pool.audit()
