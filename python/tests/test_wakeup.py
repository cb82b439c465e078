# SPDX-License-Identifier: BSD-2-Clause
"""Wakeup: keys, signals, interrupts, the descriptor, life, and Ctrl-C."""

import gc
import pickle
import select
import threading

import libfp
import pytest
from libfp import Ring, Wakeup


@pytest.fixture(params=[False, True], ids=["default", "fence"])
def wakeup(request):
    with Wakeup(fence=request.param) as w:
        yield w


def waited_for(w, n=1):
    """Returns once n threads wait: what comes from now on ends their waits."""
    while w.stats.waiting < n:
        pass


def test_modes():
    with Wakeup() as plain, Wakeup(fence=True) as fenced:
        assert plain.mode in ("membarrier", "poll") and fenced.mode == "fence"
        assert repr(fenced) == "<libfp.Wakeup: mode fence>"
    assert repr(plain).endswith(", destroyed>")


def test_signal_after_prepare_ends_the_wait(wakeup):
    assert not wakeup.signal()  # nobody waits
    key = wakeup.prepare()
    assert wakeup.stats.waiting == 1 and not key.is_used
    assert wakeup.signal()
    assert wakeup.wait(key) and key.is_used
    assert wakeup.stats.waiting == 0


def test_signal_before_prepare_does_not(wakeup):
    wakeup.signal()
    assert not wakeup.wait(wakeup.prepare(), 0)
    assert not wakeup.wait(wakeup.prepare(), 0.001)


def test_signal_wakes_every_thread(wakeup):
    woken = []
    threads = [threading.Thread(target=lambda: woken.append(wakeup.wait(wakeup.prepare())))
               for _ in range(3)]
    for thread in threads:
        thread.start()
    waited_for(wakeup, 3)
    assert wakeup.stats.waiting == 3 and wakeup.signal()
    for thread in threads:
        thread.join()
    assert woken == [True] * 3


def test_a_key_is_for_one_use(wakeup):
    key = wakeup.prepare()
    wakeup.cancel(key)
    for use in (wakeup.cancel, wakeup.wait):
        with pytest.raises(libfp.InvalidArgument, match="was used"):
            use(key)
    assert wakeup.stats.waiting == 0


def test_a_key_that_is_not_used_is_cancelled(wakeup):
    with wakeup.prepare() as key:
        assert wakeup.stats.waiting == 1
    assert key.is_used and wakeup.stats.waiting == 0
    with wakeup.prepare() as key:
        wakeup.wait(key, 0)
    key = wakeup.prepare()
    del key
    gc.collect()
    assert wakeup.stats.waiting == 0


def test_a_key_of_another_wakeup(wakeup):
    with Wakeup() as other, other.prepare() as key:
        with pytest.raises(libfp.InvalidArgument, match="of another"):
            wakeup.wait(key)


def test_interrupt(wakeup):
    key = wakeup.prepare()
    wakeup.interrupt()
    with pytest.raises(libfp.Interrupted) as interrupted:
        wakeup.wait(key)
    assert not isinstance(interrupted.value, TimeoutError) and wakeup.stats.interrupts == 1
    assert not wakeup.wait(wakeup.prepare(), 0)  # later waits are not affected


def test_interrupt_wakes_a_thread(wakeup):
    found = []

    def wait():
        try:
            wakeup.wait(wakeup.prepare())
        except libfp.Interrupted:
            found.append(True)

    thread = threading.Thread(target=wait)
    thread.start()
    waited_for(wakeup)
    wakeup.interrupt()
    thread.join()
    assert found == [True]


def test_wait_for(wakeup):
    box = []
    thread = threading.Thread(target=lambda: (waited_for(wakeup), box.append(1), wakeup.signal()))
    thread.start()
    assert wakeup.wait_for(lambda: box)
    thread.join()
    assert not wakeup.wait_for(lambda: False, 0.002)
    assert wakeup.wait_for(lambda: True, 0)
    with pytest.raises(ZeroDivisionError):
        wakeup.wait_for(lambda: 1 // 0)
    assert wakeup.stats.waiting == 0


@pytest.mark.parametrize("timeout", [-1, -0.001, float("nan")])
def test_bad_timeouts(wakeup, timeout):
    with wakeup.prepare() as key, pytest.raises(libfp.InvalidArgument, match="time-out"):
        wakeup.wait(key, timeout)


@pytest.mark.parametrize("timeout", [None, float("inf"), 1e300, 10**12])
def test_long_timeouts(wakeup, timeout):
    key = wakeup.prepare()
    wakeup.signal()
    assert wakeup.wait(key, timeout)


def test_the_main_thread_waits_in_chunks_without_losing_a_signal(monkeypatch, wakeup):
    """A chunk of nothing: there is a gap between any two bytecodes."""
    monkeypatch.setattr("libfp._wakeup.CHUNK", 1000)
    monkeypatch.setattr("libfp._wait.CHUNK", 1000)
    for _ in range(300):
        key = wakeup.prepare()
        thread = threading.Thread(target=wakeup.signal)
        thread.start()
        assert wakeup.wait(key, 60)
        thread.join()
    key = wakeup.prepare()
    thread = threading.Thread(target=wakeup.interrupt)
    thread.start()
    with pytest.raises(libfp.Interrupted):
        wakeup.wait(key, 60)
    thread.join()
    assert not wakeup.wait(wakeup.prepare(), 0.01)
    assert wakeup.stats.waiting == 0


# ---- descriptor ----


def test_the_descriptor_is_written_once_per_arm(wakeup):
    fd = wakeup.fileno()
    assert wakeup.fileno() == fd
    poll = select.poll()
    poll.register(wakeup, select.POLLIN)
    wakeup.signal()
    assert poll.poll(0) == []  # not armed
    for _ in range(3):
        wakeup.arm()
        assert poll.poll(0) == []
        for _ in range(5):
            wakeup.signal()
        assert poll.poll(0) == [(fd, select.POLLIN)]
        assert wakeup.clear()
        assert poll.poll(0) == []
        wakeup.arm()
        assert not wakeup.clear()
    assert wakeup.stats.fd_writes == 3


def test_arm_needs_the_descriptor(wakeup):
    for call in (wakeup.arm, wakeup.clear):
        with pytest.raises(libfp.NotSupported, match="fileno"):
            call()


def test_several_rings_in_one_select(wakeup):
    with Ring(8) as one, Ring(8) as two:
        for ring in (one, two):
            ring.set_wakeup("consumer", wakeup)
        wakeup.fileno()
        wakeup.arm()
        two.enqueue(5)
        assert select.select([wakeup], [], [], 60)[0] == [wakeup]
        wakeup.clear()
        assert one.dequeue() is None and two.dequeue() == 5


# ---- life ----


def test_destroy_is_refused_while_bound_or_waited_for(wakeup):
    key = wakeup.prepare()
    with pytest.raises(libfp.WakeupBusy, match="a thread waits"):
        wakeup.destroy()
    wakeup.cancel(key)
    with Ring(8) as ring:
        ring.set_wakeup(libfp.CONSUMER, wakeup)
        with pytest.raises(libfp.WakeupBusy, match="bound"):
            wakeup.destroy()
        assert wakeup.stats.bound == 1
    assert wakeup.stats.bound == 0


def test_destroy_beside_a_call_is_refused(wakeup):
    wakeup._core.gate.word += 1  # as while another thread is inside
    with pytest.raises(libfp.WakeupBusy, match="inside a call"):
        wakeup.destroy()
    wakeup._core.gate.word -= 1


def test_after_destroy():
    wakeup = Wakeup()
    key = wakeup.prepare()
    wakeup.cancel(key)
    wakeup.destroy()
    wakeup.destroy()
    for call in (wakeup.prepare, wakeup.signal, wakeup.interrupt, wakeup.fileno, wakeup.arm,
                 wakeup.clear, lambda: wakeup.stats, lambda: wakeup.handle):
        with pytest.raises(libfp.WakeupDestroyed):
            call()
    with Ring(8) as ring, pytest.raises(libfp.WakeupDestroyed):
        ring.set_wakeup("consumer", wakeup)


def test_a_ring_keeps_its_wakeup():
    with Ring(8) as ring:
        ring.set_wakeup("consumer", Wakeup())
        gc.collect()
        assert ring.wakeup("consumer").stats.bound == 1
        assert ring.wakeup("consumer") is ring.wakeup(libfp.CONSUMER)
        assert ring.enqueue(1) and ring.wait_readable(0)


def test_cycles_end_the_ring_first():
    """The order in which a cycle is taken apart does not leave a wake-up behind."""
    for _ in range(20):
        with Wakeup() as wakeup:
            fd = wakeup.fileno()
        holder = {"ring": Ring(8), "wakeup": Wakeup()}
        assert holder["wakeup"].fileno() == fd  # that of the last round is free again
        holder["ring"].set_wakeup("producer", holder["wakeup"])
        holder["me"] = holder
        del holder
        gc.collect()


def test_no_copies(wakeup):
    with pytest.raises(TypeError, match="belongs to its process"):
        pickle.dumps(wakeup)


def test_handle_is_the_object_of_c(wakeup):
    assert wakeup.handle % 64 == 0


# ---- processes ----


def test_child_of_a_fork_may_only_destroy(python):
    python("""
import os
import libfp
wakeup, ring = libfp.Wakeup(), libfp.Ring(8, wait=True)
key = wakeup.prepare()
wakeup.fileno()
child = os.fork()
if child == 0:
    assert not wakeup.signal()
    for call in (wakeup.prepare, wakeup.interrupt, wakeup.arm, wakeup.fileno, ring.wait_readable,
                 lambda: wakeup.wait(key), lambda: ring.set_wakeup("consumer", None)):
        try:
            call()
        except libfp.WrongProcess:
            pass
        else:
            raise AssertionError("used")
    assert ring.enqueue(1) and ring.dequeue() == 1
    wakeup.destroy()
    ring.destroy()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert wakeup.signal() and wakeup.wait(key)
wakeup.destroy()
""")


WAITS = {
    "wait": ("w.stats.waiting", "w.wait(w.prepare())"),
    "wait_for": ("w.stats.waiting", "w.wait_for(lambda: False)"),
    "readable": ("w.stats.waiting", "bound.wait_readable()"),
    "readable, time-out": ("w.stats.waiting", "bound.wait_readable(1000)"),
    "dequeue": ("w.stats.waiting", "bound.dequeue_wait(8)"),
    "enqueue": ("True", "full.enqueue_wait(bytes(8))"),
    "writable": ("True", "full.wait_writable()"),
}


@pytest.mark.parametrize("what", WAITS)
def test_control_c(python, what):
    """Whenever it comes, before the wait or in it, it ends it."""
    ready, wait = WAITS[what]
    python(f"""
import os, signal, threading
import libfp
w, bound, full = libfp.Wakeup(), libfp.Ring(8), libfp.Ring(1, wait=True)
bound.set_wakeup("consumer", w)
full.enqueue(1)
def interrupt():
    while not {ready}:
        pass
    os.kill(os.getpid(), signal.SIGINT)
thread = threading.Thread(target=interrupt)
try:
    thread.start()
    {wait}
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("it ended without one")
thread.join()
assert w.stats.waiting == 0
bound.destroy()
w.destroy()
""")


@pytest.mark.parametrize("what", {
    "wakeup": "w = libfp.Wakeup()",
    "key": "w = libfp.Wakeup(); key = w.prepare()",
    "bound": "w = libfp.Wakeup(); r = libfp.Ring(8); r.set_wakeup('consumer', w)",
    "bound and forgotten": "r = libfp.Ring(8); r.set_wakeup('consumer', libfp.Wakeup())",
    "thread that sleeps": """
import threading
w = libfp.Wakeup()
threading.Thread(target=lambda: w.wait(w.prepare()), daemon=True).start()
while not w.stats.waiting: pass""",
    "thread that waits for a ring": """
import threading
r = libfp.Ring(8, wait=True)
started = threading.Event()
threading.Thread(target=lambda: (started.set(), r.dequeue_wait(8)), daemon=True).start()
started.wait()""",
}.items(), ids=lambda item: item[0])
def test_exit(python, what):
    python("import libfp\n" + what[1] + "\n")
