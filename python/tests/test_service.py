# SPDX-License-Identifier: BSD-2-Clause
"""Services: Python functions on lent threads, C functions on cores of libfp, gates, mapping, ends."""

import ctypes
import gc
import pickle
import threading
import time

import libfp
import pytest
from libfp import Ring, Service, ServiceCore

LIBC = ctypes.CDLL(None)


def address_of(function):
    return ctypes.cast(function, ctypes.c_void_p).value


# int32_t (*)(void *): returns how long the string at `user` is; 0 or more is "worked".
STRLEN = address_of(LIBC.strlen)
TEXT = ctypes.create_string_buffer(b"text")
USER = ctypes.addressof(TEXT)


@pytest.fixture
def core():
    with ServiceCore() as made:
        yield made


def native(**options):
    return Service(address=STRLEN, user=USER, **options)


def mapped(core, fn, **options):
    service = Service(fn, **options)
    service.start()
    service.map(core)
    return service


# ---- Python functions ----


def test_a_function_says_whether_it_worked(core):
    answers = [True, False, 1, None, "text", 0]
    with mapped(core, lambda: answers[mine.stats.calls % 6]) as mine:
        for _ in range(6):
            assert core.run(0) is False
        stats = mine.stats
        assert (stats.calls, stats.idle, stats.errors, stats.cores) == (6, 3, 0, 1)
        assert stats.ready and stats.started and not stats.active
        assert mine.map_stats(core).calls == 6
        mine.reset_stats()
        assert mine.stats.calls == 0
        assert core.stats.loops == 6
        core.reset_stats()
        assert core.stats.loops == 0


def test_it_runs_on_the_thread_that_was_lent(core):
    seen = []
    with mapped(core, lambda: seen.append(threading.get_ident())):
        thread = threading.Thread(target=lambda: (core.run(0), seen.append(threading.get_ident())))
        thread.start()
        thread.join()
    assert len(seen) == 2 and seen[0] == seen[1] != threading.get_ident()


def test_stop_from_inside_and_from_outside(core):
    calls = []
    with mapped(core, lambda: calls.append(core.stop()), wakeable=True):
        assert core.run() is True
        assert calls == [False]  # not waited for
    assert core.stop() is True  # it does not run

    running = threading.Event()
    with mapped(core, running.set):
        found = []
        thread = threading.Thread(target=lambda: found.append(core.run()))
        thread.start()
        running.wait()
        assert core.stop() is True
        thread.join()
        assert found == [True] and core.stats.state == "stopped"


def test_stop_between_two_slices_of_the_main_thread(monkeypatch, core):
    monkeypatch.setattr("libfp._core.CHUNK", 1000)
    monkeypatch.setattr("libfp._wait.CHUNK", 1000)
    for _ in range(30):
        running, stopped = threading.Event(), []
        with mapped(core, running.set):
            thread = threading.Thread(target=lambda: (running.wait(), stopped.append(core.stop())))
            thread.start()
            assert core.run(600) is True
            thread.join()
            assert stopped == [True]


def test_the_time_is_over(core):
    assert core.run(0) is False
    assert core.run(0.002) is False
    with pytest.raises(libfp.InvalidArgument):
        core.run(-1)


def test_the_first_exception_is_raised_at_the_end(core):
    calls = []

    def fail():
        calls.append(1)
        if len(calls) == 5:
            core.stop()
        raise KeyError(len(calls))

    with mapped(core, fail) as service:
        with pytest.raises(KeyError) as raised:
            core.run()
        assert raised.value.args == (1,) and raised.traceback[-1].name == "fail"
        assert service.stats.errors == service.stats.calls == 5
    assert len(calls) == 5


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_no_exception_ends_the_run(core, error):
    def fail():
        raise error

    with mapped(core, fail) as service:
        with pytest.raises(error):
            core.run()
        assert service.stats.calls == 1


def test_run_once(core):
    answers = [True, False]
    with Service(lambda: answers.pop(0)) as service:
        with pytest.raises(libfp.NotRunnable):
            service.run_once()
        service.start()
        assert service.run_once() is True and service.run_once() is False
        with pytest.raises(IndexError):
            service.run_once()
        assert service.stats.errors == 1


def test_run_once_inside_another_service(core):
    with Service(lambda: 1 // 0) as inner:
        inner.start()
        found = []

        def outer():
            try:
                inner.run_once()
            except ZeroDivisionError:
                found.append(True)

        with mapped(core, outer):
            core.run(0)
        assert found == [True] and inner.stats.errors == 1


def test_a_serialised_service_is_busy(core):
    inside, leave = threading.Event(), threading.Event()
    with mapped(core, lambda: (inside.set(), leave.wait())) as service:
        thread = threading.Thread(target=core.run, args=(0,))
        thread.start()
        inside.wait()
        assert service.is_active
        with pytest.raises(libfp.ServiceBusy):
            service.run_once()
        for wait in (service.stop, lambda t: service.set_ready(False, t),
                     lambda t: service.unmap(core, t)):
            with pytest.raises(libfp.TimedOut) as late:
                wait(0.001)
            assert isinstance(late.value, TimeoutError)
        with pytest.raises(libfp.ServiceBusy, match="runs"):
            core.run(0)
        with pytest.raises(libfp.ServiceBusy):
            core.destroy()
        leave.set()
        assert service.stop() is True and not service.is_active
        thread.join()


def test_mt_safe_runs_on_two_threads(core):
    both = threading.Barrier(2)
    with ServiceCore() as other, mapped(core, both.wait, mt_safe=True) as service:
        service.map(other)
        threads = [threading.Thread(target=c.run, args=(0,)) for c in (core, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert service.stats.calls == 2


# ---- C functions, on threads of libfp ----


def test_a_native_core(core):
    with native(name="length", cycles="exact") as service:
        service.start()
        service.map(core)
        assert service.is_runnable and service.is_mapped(core) and not service.is_python
        core.start()
        while service.stats.calls < 100:
            pass
        assert core.stats.thread_id > 0 and core.stats.state in ("running", "asleep")
        with pytest.raises(libfp.ServiceBusy):
            core.start()
        with pytest.raises(libfp.ServiceBusy):
            core.destroy()
        assert core.stop() and core.stats.state == "stopped"
        assert service.stats.cycle_hz > 0 and service.stats.errors == 0
        assert service.run_once() is True


def test_a_native_function_also_runs_on_a_lent_thread(core):
    with native() as service:
        service.start()
        service.map(core)
        core.run(0)
        assert service.stats.calls == 1


def test_a_native_core_refuses_a_python_function(core):
    with mapped(core, lambda: None, name="mine") as service:
        assert service.is_python
        with pytest.raises(libfp.NotSupported, match="'mine' has a Python function"):
            core.start()
        service.unmap(core)
        core.start()
        with pytest.raises(libfp.NotSupported, match="run()"):
            service.map(core)
        with Service.lookup("mine") as same, pytest.raises(libfp.NotSupported):
            same.map(core)
        assert service.stats.calls == 0


def test_what_c_maps_to_a_native_core_never_enters_the_interpreter(core):
    """Past the refusals: the service answers with an error, and the function is not called."""
    calls = []
    with Service(lambda: calls.append(1)) as service:
        service.start()
        libfp._libfp.lib.glue_service_map(service._core, core._core)
        libfp._libfp.lib.glue_core_start(core._core)
        while service.stats.errors < 10:
            pass
        core.stop()
        assert calls == []


def test_start_defaults(core):
    with native() as one, native() as two, ServiceCore() as other:
        assert ServiceCore.start_defaults([core, other]) == 2
        assert one.is_mapped(core) and two.is_mapped(other)
        while not (one.stats.calls and two.stats.calls):
            pass
        with Service(lambda: None):
            with pytest.raises(libfp.NotSupported):
                ServiceCore.start_defaults([core])
        core.stop()
        other.stop()


# ---- gates, lists, names ----


def test_two_gates(core):
    with Service(lambda: True, ready=False) as service:
        service.map(core)
        service.start()
        assert not service.is_runnable
        core.run(0)
        assert service.stats.calls == 0
        assert service.set_ready(True) and service.is_runnable
        core.run(0)
        assert service.stop() and not service.is_runnable
        core.run(0)
        assert service.stats.calls == 1
        assert service.set_ready(False)


def test_names_and_lists(core):
    with Service(lambda: None, name="a") as a, native(name="b") as b:
        with pytest.raises(libfp.NameTaken):
            Service(lambda: None, name="a")
        with pytest.raises(libfp.NotFound):
            Service.lookup("c")
        a.map(core)
        b.map(core)
        assert [s.name for s in core.services()] == ["a", "b"]
        assert [s.name for s in Service.all() if s.name in ("a", "b")] == ["a", "b"]
        with Service.lookup("b") as same:
            assert same.handle == b.handle
            with pytest.raises(libfp.ServiceBusy):
                b.destroy()
        assert "Python function" in repr(a) and "C function" in repr(b)
    with ServiceCore(name="named") as named, ServiceCore.lookup("named") as same:
        assert same.handle == named.handle
        assert "named" in [c.name for c in ServiceCore.all()]
    assert repr(named).endswith("destroyed>")


def test_wakeup_and_rings(core):
    with Ring(8) as ring:
        got = []

        def drain():
            view = ring.dequeue_burst(8)
            got.extend(view)
            if 99 in got:
                core.stop()
            return len(view)

        with mapped(core, drain) as service:
            wakeup = service.wakeup
            assert service.wakeup is wakeup
            ring.set_wakeup("consumer", wakeup)
            thread = threading.Thread(target=core.run)
            thread.start()
            for value in (1, 2, 99):
                ring.enqueue(value)
            thread.join()
            assert got == [1, 2, 99]
            with pytest.raises(libfp.ServiceBusy):
                service.destroy()
            for call in (wakeup.prepare, wakeup.fileno, wakeup.interrupt, wakeup.destroy,
                         lambda: ring.wait_readable(0)):
                with pytest.raises(libfp.NotSupported):
                    call()
            ring.set_wakeup("consumer", None)
        with pytest.raises(libfp.WakeupDestroyed):
            wakeup.signal()
    assert core.wakeup.signal() in (True, False)


def test_deadline(core):
    due = []
    with mapped(core, lambda: due.append(time.monotonic()) or core.stop(), wakeable=True) as mine:
        mine.set_deadline(time.monotonic() + 0.01)
        assert mine.stats.deadline_ns > 0
        core.run()
        mine.set_deadline(None)
        assert mine.stats.deadline_ns == 0


@pytest.mark.parametrize("options", [
    {"idle": "yield"}, {"idle": "spin"}, {"policy": "other", "priority": 1}, {"policy": "batch"},
    {"spin": 0, "nap": 0, "late_margin": 1e-5, "max_sleep": 0.01, "unwakeable": 0.001},
    {"stack_size": 1 << 20}, {"cpu": 0}, {"name": "a core with a long name"}])
def test_core_options(options):
    with ServiceCore(**options) as core, native() as service:
        service.start()
        service.map(core)
        core.start()
        while not service.stats.calls:
            pass
        core.stop()
        core.set_cpus([0])
        core.set_cpus([])


@pytest.mark.parametrize("make", [
    lambda: Service(), lambda: Service(print, address=1), lambda: Service(print, cycles="all"),
    lambda: ServiceCore(idle="no"), lambda: ServiceCore(policy="best"),
    lambda: ServiceCore(policy="fifo", priority=0), lambda: ServiceCore(cpu=5000),
    lambda: ServiceCore(spin=-1), lambda: Service(address=0)])
def test_bad_options(make):
    with pytest.raises(libfp.InvalidArgument):
        make()


def test_not_callable():
    with pytest.raises(TypeError):
        Service("text")


# ---- ends ----


def test_destroy(core):
    service = mapped(core, lambda: None)
    with pytest.raises(libfp.ServiceBusy):
        service.destroy(force=False)
    assert service.destroy() is True
    assert service.destroy() is True
    assert core.services() == [] and core.stats.services == 0
    for call in (service.start, service.stop, service.run_once, lambda: service.stats,
                 lambda: service.wakeup, lambda: service.map(core), lambda: service.is_python):
        with pytest.raises(libfp.ServiceDestroyed):
            call()
    core.destroy()
    core.destroy()
    for call in (core.start, core.run, core.stop, lambda: core.stats, core.services):
        with pytest.raises(libfp.ServiceDestroyed):
            call()


def test_destroy_from_inside(core):
    """Deferred: the function is forgotten once libfp has let go of it."""
    class Function:
        def __call__(self):
            done.append(box.pop().destroy())

    done, box = [], []
    box.append(mapped(core, Function()))
    core.run(0)
    assert done == [False]
    core.run(0)
    assert core.services() == []
    with Service(lambda: None):
        gc.collect()
        assert not any(isinstance(o, Function) for o in gc.get_objects())


def test_functions_are_forgotten(core):
    class Function:
        def __call__(self):
            pass

    service = mapped(core, Function())
    service.destroy()
    mapped(core, Function())  # kept by the core
    gc.collect()
    assert sum(isinstance(o, Function) for o in gc.get_objects()) == 1
    core.run(0)
    core.destroy()
    gc.collect()
    Service(lambda: None).destroy()
    assert not any(isinstance(o, Function) for o in gc.get_objects())


def test_no_copies(core):
    with pytest.raises(TypeError):
        pickle.dumps(core)


CONTROL_C = """
import os, signal, threading
import libfp
core = libfp.ServiceCore()
started = threading.Event()
{service}
service.start()
service.map(core)
def interrupt():
    while not service.stats.calls:
        pass
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    core.run()
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("it ended without one")
service.destroy()
core.destroy()
"""

NATIVE = """
import ctypes
text = ctypes.create_string_buffer(b"text")
address = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p).value
service = libfp.Service(address=address, user=ctypes.addressof(text){})
"""


@pytest.mark.parametrize("service", [
    "service = libfp.Service(lambda: True)", "service = libfp.Service(lambda: False)",
    "service = libfp.Service(lambda: False, wakeable=True)", NATIVE.format("")],
    ids=["works", "idle", "asleep", "native"])
def test_control_c(python, service):
    python(CONTROL_C.format(service=service))


@pytest.mark.parametrize("what", {
    "native core": NATIVE.format("") + """
core = libfp.ServiceCore()
service.start(); service.map(core); core.start()
while not service.stats.calls: pass""",
    "native core that is forgotten": NATIVE.format("") + """
core = libfp.ServiceCore()
service.start(); service.map(core); core.start()
del core, service""",
    "native core that sleeps": NATIVE.format(", wakeable=True, ready=False") + """
core = libfp.ServiceCore(spin=0, nap=0)
service.start(); service.map(core); core.start()
while core.stats.state != "asleep": pass""",
    "daemon thread in run": """
import threading
core = libfp.ServiceCore()
running = threading.Event()
service = libfp.Service(running.set)
service.start(); service.map(core)
threading.Thread(target=core.run, daemon=True).start()
running.wait()""",
    "function that refers to its service": """
core = libfp.ServiceCore()
service = libfp.Service(lambda: service.stats)
service.start(); service.map(core); core.run(0)""",
    "never started": "core = libfp.ServiceCore(); s = libfp.Service(print); s.map(core)",
    "exit inside a function": """
import sys
core = libfp.ServiceCore()
service = libfp.Service(sys.exit)
service.start(); service.map(core); core.run()""",
}.items(), ids=lambda item: item[0])
def test_exit(python, what):
    python("import libfp\n" + what[1] + "\n")


def test_child_of_a_fork_may_only_destroy(python):
    python("""
import os
import libfp
core, service = libfp.ServiceCore(), libfp.Service(lambda: True)
service.start()
service.map(core)
child = os.fork()
if child == 0:
    for call in (service.start, service.stop, service.run_once, lambda: core.run(0), core.start):
        try:
            call()
        except libfp.WrongProcess:
            pass
        else:
            raise AssertionError("used")
    service.destroy()
    core.destroy()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
core.run(0)
assert service.stats.calls == 1
service.destroy()
core.destroy()
""")
