# SPDX-License-Identifier: BSD-2-Clause
"""Wheels in an event loop: `await wheel.expired()`, other threads that arm, cancellation, ends."""

import array
import asyncio
import threading

import libfp
import pytest
from libfp import Ring, TimerWheel, Wakeup

HOUR = 3600 * 10**9


@pytest.fixture
def wakeup():
    with Wakeup() as made:
        yield made


@pytest.fixture
def wheel(wakeup):
    with TimerWheel(1000) as made:
        made.set_wakeup(wakeup)
        yield made
        made.set_wakeup(None)


def arm(wheel, ns, user=0):
    timer = wheel.create_timer(user)
    wheel.arm(timer, wheel.now() + wheel.ticks_from_ns(ns))
    return timer


def users(records):
    return [record.user for record in records]


async def pause(n=10):
    """Lets the other tasks run until they wait."""
    for _ in range(n):
        await asyncio.sleep(0)


def test_what_is_due_comes_at_once(wheel):
    async def main():
        for user in range(5):
            arm(wheel, 0, user)
        assert users(await wheel.expired(3)) == [0, 1, 2]
        assert users(await wheel.expired()) == [3, 4]
        assert wheel.wakeup.stats.fd_writes == 0

    asyncio.run(main())


def test_the_loop_sleeps_until_the_next_expiry(wheel):
    async def main():
        for user, ns in enumerate((6 * 10**6, 2 * 10**6, HOUR)):
            arm(wheel, ns, user)
        assert users(await wheel.expired(1)) == [1]
        record, = await wheel.expired(1)
        assert record.user == 0 and wheel.now() >= record.expiry_tick
        assert wheel.wakeup.stats.fd_writes == 0

    asyncio.run(main())


def test_periodic(wheel):
    async def main():
        timer = wheel.create_timer()
        start, period = wheel.now(), wheel.ticks_from_ns(10**6)
        wheel.arm_periodic(timer, start + period, period, "catch_up")
        ticks = []
        while len(ticks) < 5:
            ticks += [r.expiry_tick for r in await wheel.expired()]
        assert ticks[:5] == [start + i * period for i in range(1, 6)]

    asyncio.run(main())


@pytest.mark.parametrize("before", [None, HOUR], ids=["nothing armed", "armed for later"])
def test_an_earlier_arm_of_a_task(wheel, before):
    async def main():
        if before:
            arm(wheel, before)
        task = asyncio.create_task(wheel.expired())
        await pause()
        assert not task.done()
        arm(wheel, 0, user=7)
        assert users(await task) == [7]

    asyncio.run(main())


def test_an_earlier_arm_of_a_thread(wheel):
    async def main():
        loop = asyncio.get_running_loop()
        arm(wheel, HOUR)
        for user in range(100):
            armed = loop.run_in_executor(None, arm, wheel, 0, user)
            assert users(await wheel.expired()) == [user]
            await armed

    asyncio.run(main())


def test_cancelled_and_timed_out(wheel):
    """The wheel and the wake-up can be used, and nothing is lost, afterwards."""
    async def main():
        arm(wheel, HOUR)
        task = asyncio.create_task(wheel.expired())
        await pause()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(wheel.expired(), 0.002)
        assert not wheel.wakeup._poller.is_busy
        arm(wheel, 0, user=3)
        assert users(await asyncio.wait_for(wheel.expired(), 60)) == [3]

    asyncio.run(main())


def test_two_tasks_share_what_fires(wheel):
    async def main():
        tasks = [asyncio.create_task(wheel.expired(1)) for _ in range(2)]
        await pause()
        for user in range(2):
            arm(wheel, 10**6, user)
        got = await asyncio.gather(*tasks)
        assert sorted(users(got[0]) + users(got[1])) == [0, 1]

    asyncio.run(main())


def test_two_wheels_and_a_ring_share_one_wakeup(wheel, wakeup):
    async def main():
        with TimerWheel(8, tick_ns=10**6) as other, Ring(8) as ring:
            other.set_wakeup(wakeup)
            ring.set_wakeup("consumer", wakeup)
            tasks = [asyncio.create_task(call()) for call in (
                wheel.expired, other.expired, ring.readable)]
            await pause()
            assert not any(task.done() for task in tasks)
            arm(other, 0, user=5)
            assert users(await tasks[1]) == [5]
            await pause()
            assert not tasks[0].done() and not tasks[2].done()
            ring.enqueue(1)
            await tasks[2]
            arm(wheel, 10**6, user=6)
            assert users(await tasks[0]) == [6]

    asyncio.run(main())


def test_interrupt(wheel):
    async def main():
        task = asyncio.create_task(wheel.expired())
        await pause()
        wheel.interrupt()
        with pytest.raises(libfp.Interrupted):
            await task
        assert not task.cancelled()

    asyncio.run(main())


def test_destroy_ends_the_wait(wakeup):
    async def main():
        wheel = TimerWheel(8)
        wheel.set_wakeup(wakeup)
        task = asyncio.create_task(wheel.expired())
        await pause()
        wheel.destroy()
        with pytest.raises(libfp.WheelDestroyed):
            await task

    asyncio.run(main())


def test_bound_to_another_wakeup_meanwhile(wheel):
    async def main():
        with Wakeup() as other:
            task = asyncio.create_task(wheel.expired())
            await pause()
            wheel.set_wakeup(other)
            await pause()
            assert other._poller.is_busy
            arm(wheel, 0)
            await task
            wheel.set_wakeup(None)
            with pytest.raises(libfp.NotSupported, match="bind a Wakeup"):
                await wheel.expired()

    asyncio.run(main())


def test_busy_is_not_the_end(wheel, monkeypatch):
    """Another thread polls, or arms, at that moment: it is tried again."""
    busy = [libfp.WheelBusy(16, "busy")] * 3
    poll = TimerWheel.poll_burst

    def sometimes(self, *arguments):
        if busy:
            raise busy.pop()
        return poll(self, *arguments)

    async def main():
        arm(wheel, 0, user=4)
        monkeypatch.setattr(TimerWheel, "poll_burst", sometimes)
        assert users(await wheel.expired()) == [4] and not busy

    asyncio.run(main())


def test_two_loops_on_one_wheel(wheel):
    started, refused = threading.Event(), threading.Event()

    async def first():
        task = asyncio.create_task(wheel.expired())
        await pause()
        started.set()
        await task

    def other():
        started.wait()
        try:
            with pytest.raises(libfp.WakeupBusy, match="another event loop"):
                asyncio.run(wheel.expired())
        finally:
            refused.set()
            arm(wheel, 0)

    thread = threading.Thread(target=other)
    thread.start()
    asyncio.run(first())
    thread.join()
    assert refused.is_set()
    arm(wheel, 10**6)
    asyncio.run(wheel.expired())  # one loop after another


def test_a_loop_that_was_closed_under_a_task(wheel):
    loop = asyncio.new_event_loop()
    task = loop.create_task(wheel.expired())
    loop.run_until_complete(pause())
    loop.close()
    arm(wheel, 10**6)
    assert len(asyncio.run(wheel.expired())) == 1
    task._log_destroy_pending = False


def test_many_expiries(wheel):
    n = 300

    async def main():
        timers = wheel.create_bulk(array.array("Q", range(n)))
        now = wheel.now()
        at = array.array("Q", [now + i * wheel.ticks_from_ns(20_000) for i in range(n)])
        assert wheel.arm_bulk(timers, at) == n
        got = []
        while len(got) < n:
            got += users(await wheel.expired(16))
        assert got == list(range(n))

    asyncio.run(main())


def test_exit_with_tasks(python):
    python("""
import asyncio
import libfp
async def main():
    global wheel, wakeup
    wakeup, wheel = libfp.Wakeup(), libfp.TimerWheel(8)
    wheel.set_wakeup(wakeup)
    wheel.arm(wheel.create_timer(), wheel.now() + wheel.ticks_from_ns(3600 * 10**9))
    task = asyncio.create_task(wheel.expired())
    await asyncio.sleep(0)
asyncio.run(main())
assert wakeup.stats.waiting == 0
""")
