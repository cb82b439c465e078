# SPDX-License-Identifier: BSD-2-Clause
"""Rings and wake-ups in an event loop: one descriptor for many tasks, cancellation, ends."""

import array
import asyncio
import threading

import libfp
import pytest
from libfp import Ring, Wakeup


@pytest.fixture(params=[False, True], ids=["default", "fence"])
def wakeup(request):
    with Wakeup(fence=request.param) as made:
        yield made
        assert made.stats.waiting == 0 and not made._poller.is_busy


@pytest.fixture
def ring(wakeup, sides):
    with Ring(8, **sides) as made:
        made.set_wakeup("producer", wakeup)
        made.set_wakeup("consumer", wakeup)
        yield made


async def pause(n=5):
    """Lets the other tasks run until they wait."""
    for _ in range(n):
        await asyncio.sleep(0)


def test_ready_at_once(ring):
    async def main():
        await ring.writable()
        ring.enqueue(1)
        await ring.readable()
        assert ring.wakeup("consumer").stats.fd_writes == 0

    asyncio.run(main())


def test_readable_and_writable(ring):
    async def main():
        task = asyncio.create_task(ring.readable())
        await pause()
        assert not task.done()
        ring.enqueue_burst(bytes(64))
        await task
        task = asyncio.create_task(ring.writable())
        await pause()
        assert not task.done()
        ring.dequeue()
        await task

    asyncio.run(main())


def test_a_thread_wakes_the_loop(ring):
    async def main():
        loop = asyncio.get_running_loop()
        for value in range(100):
            sent = loop.run_in_executor(None, ring.enqueue, value)
            await ring.readable()
            assert ring.dequeue() == value and await sent

    asyncio.run(main())


def test_many_tasks_share_one_descriptor(wakeup):
    async def main():
        rings = [Ring(8) for _ in range(20)]
        for ring in rings:
            ring.set_wakeup("consumer", wakeup)
        tasks = [asyncio.create_task(ring.readable()) for ring in rings]
        await pause()
        written = wakeup.stats.fd_writes
        for ring in rings[:10]:
            ring.enqueue(1)
        assert wakeup.stats.fd_writes == written + 1
        await asyncio.gather(*tasks[:10])
        await pause()
        assert not any(task.done() for task in tasks[10:])
        for ring in rings[10:]:
            ring.enqueue(1)
        await asyncio.gather(*tasks[10:])
        for ring in rings:
            ring.destroy()

    asyncio.run(main())


def test_cancelled_and_timed_out(ring):
    """The ring and the wake-up can be used, and destroyed, afterwards."""
    async def main():
        task = asyncio.create_task(ring.readable())
        await pause()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(ring.readable(), 0.002)
        ring.enqueue(1)
        await asyncio.wait_for(ring.readable(), 60)

    asyncio.run(main())


def test_one_of_two_is_cancelled(ring):
    async def main():
        tasks = [asyncio.create_task(ring.readable()) for _ in range(2)]
        await pause()
        tasks[0].cancel()
        await pause()
        ring.enqueue(1)
        await tasks[1]

    asyncio.run(main())


def test_interrupt_is_not_a_cancelled_task(ring):
    async def main():
        for interrupt in (lambda: ring.interrupt("consumer"), ring.wakeup("consumer").interrupt):
            task = asyncio.create_task(ring.readable())
            await pause()
            interrupt()
            with pytest.raises(libfp.Interrupted):
                await task
            assert not task.cancelled()

    asyncio.run(main())


def test_close_and_destroy_end_the_waits(wakeup):
    async def main():
        ring = Ring(8)
        ring.set_wakeup("consumer", wakeup)
        task = asyncio.create_task(ring.readable())
        await pause()
        ring.close()
        with pytest.raises(libfp.RingClosed):
            await task
        ring.reset()
        task = asyncio.create_task(ring.readable())
        await pause()
        ring.destroy()
        with pytest.raises(libfp.RingDestroyed):
            await task

    asyncio.run(main())


def test_bound_to_another_wakeup_meanwhile(ring):
    async def main():
        with Wakeup() as other:
            task = asyncio.create_task(ring.readable())
            await pause()
            ring.set_wakeup("consumer", other)
            await pause()
            assert other._poller.is_busy
            with pytest.raises(libfp.WakeupBusy, match="tasks"):
                other.destroy()
            ring.enqueue(1)
            await task
            ring.set_wakeup("consumer", None)

    asyncio.run(main())


def test_a_ring_without_a_wakeup():
    async def main():
        for wait in (False, True):
            with Ring(8, wait=wait) as ring, pytest.raises(libfp.NotSupported):
                await ring.readable()

    asyncio.run(main())


def test_two_loops_on_one_wakeup(ring):
    started, refused = threading.Event(), threading.Event()

    async def first():
        task = asyncio.create_task(ring.readable())
        await pause()
        started.set()
        await task

    def other():
        started.wait()
        try:
            with pytest.raises(libfp.WakeupBusy, match="another event loop"):
                asyncio.run(ring.wakeup("consumer").until(lambda: False))
        finally:
            refused.set()
            ring.enqueue(1)

    thread = threading.Thread(target=other)
    thread.start()
    asyncio.run(first())
    thread.join()
    assert refused.is_set()
    asyncio.run(ring.readable())  # one loop after another


def test_a_loop_that_was_closed_under_a_task(ring):
    loop = asyncio.new_event_loop()
    task = loop.create_task(ring.readable())
    loop.run_until_complete(pause())
    loop.close()
    ring.enqueue(1)
    asyncio.run(ring.readable())
    task._log_destroy_pending = False


def test_until(wakeup):
    async def main():
        with Ring(8) as one, Ring(8) as two:
            for ring in (one, two):
                ring.set_wakeup("consumer", wakeup)
            task = asyncio.create_task(wakeup.until(lambda: one.count and two.count))
            await pause()
            one.enqueue(1)
            await pause(20)
            assert not task.done()
            two.enqueue(2)
            await task
        task = asyncio.create_task(wakeup.until(lambda: wakeup.stats.bound or 1 // 0))
        with pytest.raises(ZeroDivisionError):
            await task

    asyncio.run(main())


def test_an_exception_of_a_predicate_is_its_tasks(ring):
    async def main():
        box = [False]

        def predicate():
            if box[0]:
                raise KeyError("mine")

        bad = asyncio.create_task(ring.wakeup("consumer").until(predicate))
        good = asyncio.create_task(ring.readable())
        await pause()
        box[0] = True
        ring.enqueue(1)
        await good
        with pytest.raises(KeyError, match="mine"):
            await bad

    asyncio.run(main())


def test_mode_poll_looks_every_10_ms(monkeypatch):
    """What a machine without membarrier has; here without any signal."""
    async def main():
        with Wakeup() as wakeup:
            monkeypatch.setattr(Wakeup, "mode", "poll")
            looks = []
            await wakeup.until(lambda: looks.append(1) or len(looks) > 5)
        with pytest.raises(libfp.WakeupDestroyed):
            wakeup.signal()

    asyncio.run(main())


def test_bursts(ring):
    n = 5000

    def produce():
        left = memoryview(array.array("Q", range(n)))
        while left:
            left = left[ring.enqueue_wait(left[:32]):]
        ring.close()

    async def main():
        sent = asyncio.get_running_loop().run_in_executor(None, produce)
        got = []
        async for view in ring.bursts(32):
            got.extend(view)
        await sent
        return got

    assert asyncio.run(main()) == list(range(n))


def test_bursts_let_other_tasks_run():
    async def main():
        with Ring(8) as ring:
            ring.enqueue_burst(bytes(64))
            task = asyncio.create_task(pause(3))
            bursts = ring.bursts(1)
            for _ in range(6):
                await bursts.__anext__()
            assert task.done()
            await bursts.aclose()

    asyncio.run(main())


def test_exit_with_tasks(python):
    python("""
import asyncio
import libfp
async def main():
    global ring, wakeup
    wakeup, ring = libfp.Wakeup(), libfp.Ring(8)
    ring.set_wakeup("consumer", wakeup)
    task = asyncio.create_task(ring.readable())
    await asyncio.sleep(0)
asyncio.run(main())
assert wakeup.stats.waiting == 0
""")


def test_control_c(python):
    python("""
import asyncio, os, signal, threading
import libfp
async def main():
    wakeup, ring = libfp.Wakeup(), libfp.Ring(8)
    ring.set_wakeup("consumer", wakeup)
    threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
    await ring.readable()
try:
    asyncio.run(main())
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("it ended without one")
""")
