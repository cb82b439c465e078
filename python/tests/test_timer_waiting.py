# SPDX-License-Identifier: BSD-2-Clause
"""Wheels that are waited for, by thread and by service core; threads, fork and exit."""

import array
import gc
import threading

import libfp
import pytest
from libfp import Service, ServiceCore, TimerWheel, Wakeup

FOREVER = 600  # seconds: a wait that is to be ended
HOUR = 3600 * 10**9


@pytest.fixture(params=["wait", "bound"])
def wheel(request):
    """A wheel by the clock that can be waited for, both ways of having it."""
    if request.param == "wait":
        with TimerWheel(1000, wait=True) as made:
            yield made
    else:
        with Wakeup() as wakeup, TimerWheel(1000) as made:
            made.set_wakeup(wakeup)
            yield made


def later(wheel, ns):
    return wheel.now() + wheel.ticks_from_ns(ns)


def thread_of(target):
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


def test_nothing_in_time(wheel):
    assert wheel.wait(0) is False and wheel.wait(0.002) is False
    wheel.arm(wheel.create_timer(), later(wheel, HOUR))
    wheel.poll_burst(wheel.now())
    assert wheel.wait(0.002) is False


def test_what_is_due_ends_the_wait(wheel):
    timer = wheel.create_timer(user=3)
    wheel.poll_burst(wheel.now())
    wheel.arm(timer, later(wheel, 3 * 10**6))
    got = []
    while not got:
        assert wheel.wait(FOREVER) is True
        got = [r.user for r in wheel.poll_burst(wheel.now())]
    assert got == [3]


def test_an_earlier_arm_ends_the_wait(wheel):
    far, near = wheel.create_bulk(2)
    wheel.arm(far, later(wheel, HOUR))
    wheel.poll_burst(wheel.now())
    got = []

    def poll():
        while not got:
            wheel.wait(FOREVER)
            got.extend(r.id for r in wheel.poll_burst(wheel.now()))

    thread = thread_of(poll)
    while wheel.wakeup and not wheel.wakeup.stats.waiting:
        pass
    wheel.arm(near, wheel.now())
    thread.join()
    assert got == [near]


def test_interrupt(wheel):
    raised = threading.Event()

    def wait():
        with pytest.raises(libfp.Interrupted):
            wheel.wait(FOREVER)
        raised.set()

    thread = thread_of(wait)
    while not raised.wait(0.001):  # until it falls inside the wait
        wheel.interrupt()
    thread.join()


def test_interrupt_between_two_slices_of_the_main_thread(wheel, monkeypatch):
    """It is called while no slice sleeps, and found all the same."""
    calls = []

    def wait(core, timeout_ns):
        calls.append(timeout_ns)
        if len(calls) == 2:
            wheel.interrupt()
        return 0

    monkeypatch.setattr(libfp._timer, "lib", Replaced(libfp._timer.lib, glue_wheel_wait=wait))
    with pytest.raises(libfp.Interrupted):
        wheel.wait(FOREVER)
    assert len(calls) == 2


class Replaced:
    """An object with other members in some places."""

    def __init__(self, real, **others):
        self.__dict__.update(others)
        self.real = real

    def __getattr__(self, name):
        return getattr(self.real, name)


def test_no_wakeup_and_no_wait():
    with TimerWheel(8) as wheel:
        for call in (wheel.wait, wheel.interrupt):
            with pytest.raises(libfp.NotSupported, match="wait=True"):
                call()
        with pytest.raises(libfp.InvalidArgument):
            wheel.wait(-1)


# ---- wake-ups ----


def test_an_arm_signals_only_if_it_is_earlier():
    with Wakeup() as wakeup, TimerWheel(8, start_tick=0) as wheel:
        assert wheel.wakeup is None
        wheel.set_wakeup(wakeup)
        assert wheel.wakeup is wakeup and wakeup.stats.bound == 1
        one, two = wheel.create_bulk(2)

        def signals(tick):
            with wakeup.prepare() as key:
                wheel.arm(two, tick)
                return wakeup.wait(key, 0)

        wheel.arm(one, 10**9)
        assert signals(10**10) is False and signals(10) is True
        with pytest.raises(libfp.WakeupBusy):
            wakeup.destroy()
        wheel.set_wakeup(None)
        assert wheel.wakeup is None and wakeup.stats.bound == 0


def test_a_wheel_keeps_its_wakeup():
    wakeup, wheel = Wakeup(), TimerWheel(8, "kept")
    wheel.set_wakeup(wakeup)
    with TimerWheel.lookup("kept") as same:
        assert same.wakeup is wakeup
    del wakeup
    gc.collect()
    assert wheel.wakeup.stats.bound == 1
    other = Wakeup()
    wheel.set_wakeup(other)
    assert wheel.wakeup is other
    wheel.destroy()
    assert other.stats.bound == 0
    with pytest.raises(libfp.WakeupDestroyed):
        other.destroy()
        with TimerWheel(8) as again:
            again.set_wakeup(other)


def test_busy_while_a_thread_waits():
    with Wakeup() as wakeup, TimerWheel(8) as wheel:
        wheel.set_wakeup(wakeup)
        thread = thread_of(lambda: pytest.raises(libfp.Interrupted, wheel.wait))
        while not wakeup.stats.waiting:
            pass
        for call in (wheel.destroy, wheel.service, lambda: wheel.set_wakeup(None)):
            with pytest.raises(libfp.WheelBusy, match="inside a call"):
                call()
        assert wheel.wakeup is wakeup
        while thread.is_alive():  # at `waiting` it may not have begun
            wheel.interrupt()
        thread.join()


# ---- threads ----


def test_threads_arm_and_one_polls(wheel):
    """Every arm of other threads is fired, once each, while the wheel is polled."""
    threads, each = 3, 300
    timers = wheel.create_bulk(array.array("Q", range(threads * each)))

    def arm(first):
        for timer in timers[first:first + each]:
            wheel.arm(timer, wheel.now())

    running = [thread_of(lambda first=i * each: arm(first)) for i in range(threads)]
    got = []
    while len(got) < threads * each:
        wheel.wait(FOREVER)
        got += [r.user for r in wheel.poll_burst(wheel.now(), 64)]
    for thread in running:
        thread.join()
    assert sorted(got) == list(range(threads * each)) and wheel.count == 0


def test_polling_goes_from_thread_to_thread():
    with TimerWheel(8, start_tick=0) as wheel:
        timer = wheel.create_timer()
        for turn in range(1, 20):
            wheel.arm(timer, turn)
            got = []
            thread_of(lambda got=got, turn=turn: got.extend(wheel.poll_burst(turn))).join()
            assert [r.expiry_tick for r in got] == [turn]


# ---- service ----


def test_service_on_a_native_core():
    with TimerWheel(1000) as wheel, ServiceCore() as core:
        service = wheel.service()
        assert wheel.service() is service and not service.is_python
        service.map(core)
        service.start()
        core.start()
        timers = wheel.create_bulk(100)
        wheel.arm_bulk(timers, array.array("Q", [later(wheel, 10**6)] * 100))
        while wheel.stats.fired < 100:
            pass
        with pytest.raises(libfp.WheelBusy):
            wheel.destroy()
        core.stop()
        service.unmap(core)


def test_service_on_a_lent_thread():
    with TimerWheel(1000) as wheel, ServiceCore() as core:
        service = wheel.service()
        service.start()
        service.map(core)
        wheel.arm(wheel.create_timer(), wheel.now())
        core.run(0)
        assert wheel.stats.fired == 1 and service.stats.calls >= 1
        service.unmap(core)
        assert service.is_mapped(core) is False


def test_the_service_is_the_wheels():
    wheel = TimerWheel(8, wait=True)
    service = wheel.service()
    wakeup = service.wakeup
    for call in (service.destroy, lambda: service.destroy(force=False)):
        with pytest.raises(libfp.NotSupported, match="it is a wheel's"):
            call()
    with pytest.raises(libfp.InvalidArgument):
        service.unref()
    with pytest.raises(libfp.NotSupported), service:
        pass
    for call in (wheel.wait, wheel.interrupt):
        with pytest.raises(libfp.NotSupported):
            call()
    with Wakeup() as other, pytest.raises(libfp.WheelBusy):
        wheel.set_wakeup(other)
    wheel.destroy()
    for call in (service.start, service.run_once, lambda: service.stats, lambda: service.wakeup,
                 lambda: service.handle):
        with pytest.raises(libfp.ServiceDestroyed):
            call()
    with pytest.raises(libfp.WakeupDestroyed):
        wakeup.signal()
    assert service.destroy() is True


def test_no_service_for_a_bound_wheel():
    with Wakeup() as wakeup, TimerWheel(8) as wheel:
        wheel.set_wakeup(wakeup)
        with pytest.raises(libfp.WheelBusy):
            wheel.service()


def test_a_service_keeps_its_wheel():
    with ServiceCore() as core:
        service = TimerWheel(8, "kept").service()
        service.start()
        service.map(core)
        del service
        gc.collect()
        with TimerWheel.lookup("kept") as wheel:
            wheel.arm(wheel.create_timer(), wheel.now())
            core.run(0)
            assert wheel.stats.fired == 1
    gc.collect()
    with pytest.raises(libfp.NotFound):
        TimerWheel.lookup("kept")


def test_all_that_is_forgotten_together_is_freed():
    core, wheel = ServiceCore(), TimerWheel(8, "forgotten")
    wheel.service().map(core)
    assert len(Service.all()) >= 1
    gc.collect()
    del wheel, core  # the core is the last to refer to the wheel
    gc.collect()
    with TimerWheel(8, "forgotten"):
        pass


# ---- processes ----


def test_child_of_a_fork_may_only_destroy(python):
    python("""
import os
import libfp
wheel, wakeup, bound = libfp.TimerWheel(8, "x", wait=True), libfp.Wakeup(), libfp.TimerWheel(8)
bound.set_wakeup(wakeup)
served = libfp.TimerWheel(8)
service = served.service()
same = libfp.TimerWheel.lookup("x")
timer = wheel.create_timer()
wheel.arm(timer, wheel.now())
child = os.fork()
if child == 0:
    for call in (wheel.create_timer, lambda: wheel.arm(timer, 1), lambda: wheel.cancel(timer),
                 lambda: wheel.poll_burst(1), wheel.wait, wheel.interrupt, wheel.cancel_all,
                 wheel.timers, wheel.service, lambda: wheel.set_wakeup(None), wheel.now,
                 lambda: wheel.create_bulk(1), service.start, lambda: wheel.cancel_sync(timer),
                 lambda: same.arm(timer, 1)):
        try:
            call()
        except libfp.WrongProcess:
            pass
        else:
            raise AssertionError("used")
    same.unref()
    for each in (wheel, bound, served, wakeup):
        each.destroy()
    with libfp.TimerWheel(8, "x") as mine:
        mine.arm(mine.create_timer(), 1)
        assert len(mine.poll_burst(mine.now())) == 1
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert len(wheel.poll_burst(wheel.now())) == 1
same.unref()
""")


def test_fork_beside_threads_that_work(python):
    python("""
import os, threading
import libfp
wheel = libfp.TimerWheel(1000)
timers = wheel.create_bulk(100)
stop = False
def arm():
    while not stop:
        for timer in timers:
            wheel.arm(timer, wheel.now())
def poll():
    while not stop:
        try:
            wheel.poll_burst(wheel.now())
        except libfp.WheelBusy:
            pass
threads = [threading.Thread(target=target) for target in (arm, arm, poll)]
for thread in threads:
    thread.start()
for _ in range(10):
    child = os.fork()
    if child == 0:
        try:
            wheel.count
        except libfp.WrongProcess:
            wheel.destroy()
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
stop = True
for thread in threads:
    thread.join()
""")


@pytest.mark.parametrize("what", {
    "wheel with timers": "w = libfp.TimerWheel(8); w.arm(w.create_timer(), 1)",
    "reference alone": "w = libfp.TimerWheel(8, 'x'); s = libfp.TimerWheel.lookup('x'); del w",
    "records": "w = libfp.TimerWheel(8); w.arm(w.create_timer(), 1); r = w.poll_burst(w.now())",
    "service": "w = libfp.TimerWheel(8); s = w.service(); k = s.wakeup; del w",
    "mapped service": "w = libfp.TimerWheel(8); c = libfp.ServiceCore(); w.service().map(c)",
    "bound": "k = libfp.Wakeup(); w = libfp.TimerWheel(8); w.set_wakeup(k)",
    "native core that polls": """
w = libfp.TimerWheel(1000); c = libfp.ServiceCore(); s = w.service()
s.map(c); s.start(); c.start()
timers = w.create_bulk(100)
for timer in timers: w.arm_periodic(timer, 1, 1000)
while w.stats.fired < 1000: pass""",
    "native core that sleeps": """
w = libfp.TimerWheel(1000); c = libfp.ServiceCore(spin=0, nap=0); s = w.service()
s.map(c); s.start(); c.start()
w.arm(w.create_timer(), w.now() + w.ticks_from_ns(3600 * 10**9))
while c.stats.state != "asleep": pass
del w, s""",
    "thread that waits": """
import threading
w = libfp.TimerWheel(8, wait=True)
threading.Thread(target=w.wait, daemon=True).start()""",
    "cycle": """
import gc; gc.disable()
class Holder: pass
h = Holder(); h.me = h; h.w = libfp.TimerWheel(8); h.s = h.w.service(); h.c = libfp.ServiceCore()
h.s.map(h.c); del h""",
    "exit inside": "with libfp.TimerWheel(8) as w: w.create_timer(); raise SystemExit",
}.items(), ids=lambda item: item[0])
def test_exit(python, what):
    python("import libfp\n" + what[1] + "\n")


def test_control_c(python):
    python("""
import os, signal, threading
import libfp
wheel = libfp.TimerWheel(8, wait=True)
wheel.arm(wheel.create_timer(), wheel.now() + wheel.ticks_from_ns(3600 * 10**9))
threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while True:
        wheel.wait()
        wheel.poll_burst(wheel.now())
except KeyboardInterrupt:
    pass
""")
