# SPDX-License-Identifier: BSD-2-Clause
"""TimerWheel: timers one by one and in bursts, records, arguments, life. Time is the test's count."""

import array
import ctypes
import errno
import gc
import pickle
import struct
import threading

import libfp
import pytest
from libfp import TimerRecord, TimerWheel

LAST = 2**64 - 1


@pytest.fixture
def wheel():
    with TimerWheel(1000, stats=True, start_tick=0) as made:
        yield made


def users(records):
    return [record.user for record in records]


def words(*values):
    return array.array("Q", values)


# ---- one by one ----


def test_a_timer_fires_once_and_never_early(wheel):
    timer = wheel.create_timer(user=7)
    assert timer > 0 and not wheel.is_pending(timer) and wheel.next_expiry is None
    assert wheel.arm(timer, 100) is False
    assert wheel.is_pending(timer) and wheel.count == 1 and wheel.next_expiry <= 100
    assert len(wheel.poll_burst(99)) == 0
    records = wheel.poll_burst(100)
    assert len(records) == 1 and isinstance(records[0], TimerRecord)
    fired = records[0]
    assert (fired.id, fired.user, fired.expiry_tick, fired.overruns) == (timer, 7, 100, 0)
    assert not fired.is_periodic
    assert len(wheel.poll_burst(LAST)) == 0 and wheel.count == 0
    assert not wheel.is_pending(timer) and wheel.remaining(timer, 0) is None


def test_arm_moves_an_armed_timer(wheel):
    timer = wheel.create_timer()
    wheel.arm(timer, 100)
    assert wheel.arm(timer, 50) is True
    assert [r.expiry_tick for r in wheel.poll_burst(50)] == [50]
    wheel.arm(timer, 60)
    assert wheel.arm(timer, 70) is True
    assert len(wheel.poll_burst(69)) == 0 and len(wheel.poll_burst(70)) == 1


def test_what_is_past_fires_in_the_next_poll(wheel):
    timer = wheel.create_timer()
    wheel.poll_burst(1000)
    wheel.arm(timer, 3)
    assert [r.expiry_tick for r in wheel.poll_burst(1000)] == [3]
    assert len(wheel.poll_burst(999)) == 0  # time does not go back


def test_touch(wheel):
    timer = wheel.create_timer()
    assert wheel.touch(timer, 100) is False and wheel.count == 0
    wheel.arm(timer, 100)
    assert wheel.touch(timer, 300) is True
    assert wheel.touch(timer, 200) is True
    assert wheel.remaining(timer, 0) == 300
    assert len(wheel.poll_burst(299)) == 0
    assert [r.expiry_tick for r in wheel.poll_burst(300)] == [300]


def test_cancel(wheel):
    timer = wheel.create_timer()
    assert wheel.cancel(timer) is False
    wheel.arm(timer, 5)
    assert wheel.cancel(timer) is True and wheel.cancel(timer) is False
    wheel.arm(timer, 6)
    assert wheel.cancel_sync(timer) is True and wheel.cancel_sync(timer, 0) is False
    assert len(wheel.poll_burst(10)) == 0
    wheel.arm(timer, 11)
    assert len(wheel.poll_burst(11)) == 1
    assert wheel.cancel(timer) is False  # it has fired


def test_destroy_a_timer(wheel):
    timer, other = wheel.create_bulk(2)
    wheel.arm(timer, 5)
    assert wheel.destroy_timer(timer) is True and wheel.destroy_timer(other) is False
    for call in (lambda: wheel.arm(timer, 1), lambda: wheel.touch(timer, 1),
                 lambda: wheel.cancel(timer), lambda: wheel.cancel_sync(timer),
                 lambda: wheel.destroy_timer(timer), lambda: wheel.is_pending(timer),
                 lambda: wheel.remaining(timer, 0), lambda: wheel.arm_periodic(timer, 1, 1),
                 lambda: wheel.arm(0, 1), lambda: wheel.arm(LAST, 1)):
        with pytest.raises(libfp.NoSuchTimer) as caught:
            call()
        assert caught.value.errno == errno.ESTALE and isinstance(caught.value, ValueError)
    assert len(wheel.poll_burst(10)) == 0


def test_remaining(wheel):
    timer = wheel.create_timer()
    wheel.arm(timer, 100)
    assert wheel.remaining(timer, 30) == 70 and wheel.remaining(timer, 200) == 0


def test_ticks_of_any_size(wheel):
    timer = wheel.create_timer(user=LAST)
    for tick in (2**32, 2**63, LAST):
        wheel.arm(timer, tick)
        assert len(wheel.poll_burst(tick - 1)) == 0
        assert [(r.user, r.expiry_tick) for r in wheel.poll_burst(tick)] == [(LAST, tick)]


@pytest.mark.parametrize("call", [
    lambda w, t: w.arm(t, -1), lambda w, t: w.arm(t, LAST + 1), lambda w, t: w.arm(-1, 1),
    lambda w, t: w.poll_burst(-1), lambda w, t: w.create_timer(-1), lambda w, t: w.touch(t, -1),
    lambda w, t: w.remaining(t, -1), lambda w, t: w.ticks_from_ns(-1)])
def test_no_64_bit_number(wheel, call):
    timer = wheel.create_timer()
    with pytest.raises(OverflowError):
        call(wheel, timer)


# ---- periods ----


def test_periodic(wheel):
    timer = wheel.create_timer()
    assert wheel.arm_periodic(timer, 10, 10) is False
    for tick in (10, 20, 30):
        assert len(wheel.poll_burst(tick - 1)) == 0
        record, = wheel.poll_burst(tick)
        assert record.is_periodic and record.expiry_tick == tick
    assert wheel.is_pending(timer)
    assert wheel.arm(timer, 35) is True  # not periodic any more
    record, = wheel.poll_burst(100)
    assert not record.is_periodic and not wheel.is_pending(timer)


@pytest.mark.parametrize(("policy", "wanted"), [
    ("skip", [(40, 3)]), ("coalesce", [(10, 3)]),
    ("catch_up", [(10, 3), (20, 2), (30, 1), (40, 0)])])
def test_periods_that_were_missed(wheel, policy, wanted):
    timer = wheel.create_timer()
    wheel.arm_periodic(timer, 10, 10, policy)
    assert [(r.expiry_tick, r.overruns) for r in wheel.poll_burst(45)] == wanted
    assert wheel.remaining(timer, 45) == 5
    assert [(r.expiry_tick, r.overruns) for r in wheel.poll_burst(50)] == [(50, 0)]
    assert wheel.timers()[0] == libfp.TimerInfo(timer, 0, 60, 10, policy)


def test_bad_periods(wheel):
    timer = wheel.create_timer()
    with pytest.raises(libfp.InvalidArgument):
        wheel.arm_periodic(timer, 1, 0)
    with pytest.raises(libfp.InvalidArgument, match="'skip', 'coalesce' or 'catch_up'"):
        wheel.arm_periodic(timer, 1, 1, "never")
    assert wheel.count == 0


# ---- bursts ----


def test_many(wheel):
    timers = wheel.create_bulk(words(*range(100)))
    assert timers.format == "Q" and len(set(timers)) == 100
    expiries = words(*(1000 - user for user in range(100)))
    results = array.array("i", [-1]) * 100
    assert wheel.arm_bulk(timers, expiries, results) == 100 and set(results) == {0}
    assert wheel.arm_bulk(timers, expiries, results) == 100 and set(results) == {1}
    assert wheel.touch_bulk(timers[:10], words(*[2000] * 10)) == 10
    assert wheel.cancel_bulk(timers[10:20], memoryview(results)[:10]) == 10
    fired = wheel.poll_burst(1999)
    assert users(fired) == list(range(99, 19, -1))
    assert users(wheel.poll_burst(2000)) == list(range(10))
    assert wheel.destroy_bulk(timers) == 100
    assert wheel.destroy_bulk(timers) == 0


def test_one_bad_id_does_not_stop_the_rest(wheel):
    timers = wheel.create_bulk(3)
    wheel.destroy_timer(timers[1])
    results = array.array("i", bytes(12))
    for wanted, call in (
        ([0, -errno.ESTALE, 0], lambda: wheel.arm_bulk(timers, words(1, 2, 3), results)),
        ([1, -errno.ESTALE, 1], lambda: wheel.touch_bulk(timers, words(1, 2, 3), results)),
        ([1, -errno.ESTALE, 1], lambda: wheel.cancel_bulk(timers, results)),
        ([0, -errno.ESTALE, 0], lambda: wheel.destroy_bulk(timers, results))):
        assert call() == 2 and results.tolist() == wanted
    assert wheel.cancel_bulk(words()) == 0 and wheel.arm_bulk(words(), words()) == 0


def test_n_of_those_due(wheel):
    timers = wheel.create_bulk(10)
    wheel.arm_bulk(timers, words(*range(10)))
    assert len(wheel.poll_burst(9, 0)) == 0
    assert [r.expiry_tick for r in wheel.poll_burst(9, 4)] == [0, 1, 2, 3]
    assert [r.expiry_tick for r in wheel.poll_burst(9, 100)] == list(range(4, 10))
    with pytest.raises(libfp.InvalidArgument):
        wheel.poll_burst(9, -1)


@pytest.mark.parametrize("make", [
    lambda: (TimerRecord * 8)(), lambda: bytearray(256), lambda: words(*[0] * 32)],
    ids=["records", "bytes", "words"])
def test_records_into_a_buffer(wheel, make):
    timers = wheel.create_bulk(words(*range(100, 112)))
    wheel.arm_bulk(timers, words(*range(12)))
    room = make()
    for wanted in (8, 4, 0):
        assert wheel.poll_into(50, room) == wanted
    fields = list(struct.iter_unpack("=QQQII", memoryview(room).cast("B")))
    assert [field[1:] for field in fields[:4]] == [(108 + i, 8 + i, 0, 0) for i in range(4)]
    assert [field[0] for field in fields[:4]] == timers[8:].tolist()


def test_records_stay_when_the_wheel_goes():
    wheel = TimerWheel(8, start_tick=0)
    wheel.arm(wheel.create_timer(5), 1)
    records = wheel.poll_burst(1)
    wheel.destroy()
    del wheel
    gc.collect()
    assert repr(list(records)).endswith(": user 5, tick 1>]")


def test_numpy(wheel):
    np = pytest.importorskip("numpy")
    dtype = np.dtype(TimerRecord)
    assert dtype.itemsize == 32 and dtype.names == (
        "id", "user", "expiry_tick", "overruns", "flags")
    timers = np.asarray(wheel.create_bulk(np.arange(50, dtype="u8")))
    assert timers.dtype == np.uint64
    results = np.empty(50, "i4")
    assert wheel.arm_bulk(timers, np.arange(50)[::-1].copy(), results) == 50  # signed ones too
    assert not results.any()
    batch = np.empty(20, TimerRecord)
    assert wheel.poll_into(100, batch) == 20
    assert (batch["user"] == np.arange(49, 29, -1)).all() and (batch["id"] == timers[batch["user"]]).all()
    rest = np.asarray(wheel.poll_burst(100))
    assert rest.dtype == dtype and (rest["expiry_tick"] == np.arange(20, 50)).all()
    with pytest.raises((ValueError, BufferError)):
        wheel.cancel_bulk(timers[::2])
    assert wheel.cancel_bulk(timers[::2].copy()) == 0


WRONG = {
    "4-byte ids": (lambda w, t: w.cancel_bulk(array.array("I", [1])), TypeError),
    "bytes for ids": (lambda w, t: w.cancel_bulk(bytes(8)), TypeError),
    "floats for expiries": (lambda w, t: w.arm_bulk(t, array.array("d", [0.0] * 4)), TypeError),
    "a list": (lambda w, t: w.cancel_bulk([1, 2]), TypeError),
    "8-byte results": (lambda w, t: w.cancel_bulk(t, words(0, 0, 0, 0)), TypeError),
    "other lengths": (lambda w, t: w.arm_bulk(t, words(1, 2)), ValueError),
    "too few results": (lambda w, t: w.cancel_bulk(t, array.array("i", [0])), ValueError),
    "read-only results": (lambda w, t: w.cancel_bulk(t, memoryview(bytes(16)).cast("i")),
                          (ValueError, BufferError, TypeError)),
    "read-only records": (lambda w, t: w.poll_into(0, bytes(64)),
                          (ValueError, BufferError, TypeError)),
    "part of a record": (lambda w, t: w.poll_into(0, bytearray(33)), ValueError),
    "not aligned": (lambda w, t: w.cancel_bulk(memoryview(bytearray(12))[4:].cast("Q")),
                    libfp.InvalidArgument),
    "records not aligned": (lambda w, t: w.poll_into(0, memoryview(bytearray(36))[4:]),
                            libfp.InvalidArgument),
    "a negative number": (lambda w, t: w.create_bulk(-1), libfp.InvalidArgument),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_buffers_change_nothing(wheel, what):
    timers = wheel.create_bulk(4)
    wheel.arm_bulk(timers, words(1, 2, 3, 4))
    call, error = WRONG[what]
    with pytest.raises(error):
        call(wheel, timers)
    assert wheel.count == 4 and [r.expiry_tick for r in wheel.poll_burst(4)] == [1, 2, 3, 4]


def test_a_refusal_does_not_keep_the_buffer():
    """A traceback that is kept must not hinder who wants to resize."""
    gone = TimerWheel(8)
    gone.destroy()
    room, ids, at = bytearray(64), words(1, 2), words(3, 4)
    kept = []
    for call in (lambda: gone.poll_into(0, room), lambda: gone.cancel_bulk(ids),
                 lambda: gone.arm_bulk(ids, at), lambda: gone.create_bulk(ids)):
        with pytest.raises(libfp.WheelDestroyed) as caught:
            call()
        kept.append(caught)
    room.extend(b"more")
    ids.append(3)
    at.append(5)


def test_max_timers():
    with TimerWheel(4, start_tick=0) as wheel:
        timers = wheel.create_bulk(3)
        assert len(wheel.create_bulk(3)) == 1 and len(wheel.create_bulk(3)) == 0
        with pytest.raises(libfp.NoMemory):
            wheel.create_timer()
        wheel.destroy_timer(timers[0])
        wheel.poll_burst(1)
        assert wheel.create_timer() not in timers
        assert wheel.stats.max_timers == 4


# ---- all timers ----


def test_cancel_all_and_timers(wheel):
    timers = wheel.create_bulk(words(*range(5)))
    assert wheel.cancel_all() == 0
    wheel.arm_bulk(timers[:3], words(7, 8, 9))
    infos = {info.user: info for info in wheel.timers()}
    assert infos[0] == libfp.TimerInfo(timers[0], 0, 7, None, None)
    assert infos[4] == libfp.TimerInfo(timers[4], 4, None, None, None)
    assert len(infos) == 5 and wheel.count == 3
    assert wheel.cancel_all() == 3 and wheel.count == 0
    assert all(info.expiry_tick is None for info in wheel.timers())
    wheel.destroy_bulk(timers)
    assert wheel.timers() == []


def test_stats(wheel):
    timers = wheel.create_bulk(4)
    wheel.arm_bulk(timers, words(1, 2, 3, 4))
    wheel.arm(timers[3], 5)
    wheel.cancel(timers[0])
    wheel.poll_burst(13)
    stats = wheel.stats
    assert (stats.timers, stats.arms, stats.rearms, stats.cancelled) == (4, 4, 1, 1)
    assert (stats.fired, stats.expired, stats.overruns, stats.late_max) == (3, 3, 0, 11)
    assert stats.counted and 0 < stats.memory_used <= stats.memory
    wheel.reset_stats()
    assert (wheel.stats.fired, wheel.stats.arms, wheel.stats.timers) == (0, 0, 4)
    with TimerWheel(8) as plain:
        assert not plain.stats.counted


# ---- clock ----


def test_clock():
    with TimerWheel(8, tick_ns=10**6) as wheel:
        assert wheel.tick_ns == 10**6
        assert [wheel.ticks_from_ns(ns) for ns in (0, 1, 10**6, 10**6 + 1)] == [0, 1, 1, 2]
        before = wheel.now()
        assert before <= wheel.now()
        wheel.arm(wheel.create_timer(), before)
        assert len(wheel.poll_burst(wheel.now())) == 1
    with TimerWheel(8) as wheel:
        assert wheel.tick_ns == 1000


# ---- options and life ----


@pytest.mark.parametrize("options", [
    {}, {"max_timers": 1}, {"capacity": 1}, {"capacity": 10, "max_timers": 2**20},
    {"max_timers": 2**20}, {"prefault": True, "max_timers": 100}, {"huge": True},
    {"numa_node": 0}, {"wait": True}, {"start_tick": LAST}, {"tick_ns": 1}, {"stats": True}])
def test_options(options):
    with TimerWheel(**options) as wheel:
        timer = wheel.create_timer()
        wheel.arm(timer, LAST)
        assert wheel.poll_burst(LAST)[0].id == timer
        wanted = options.get("max_timers") or options.get("capacity") or 65536
        assert wheel.stats.max_timers == wanted


@pytest.mark.parametrize("options", [
    {"max_timers": 0}, {"capacity": 0}, {"tick_ns": 0}, {"max_timers": 2**28 + 1},
    {"max_timers": 5, "capacity": 6}, {"max_timers": -1}, {"name": "x" * 64}, {"name": "a\0b"}])
def test_bad_options(options):
    with pytest.raises(libfp.InvalidArgument):
        TimerWheel(**options)


def test_names_and_references():
    with TimerWheel(8, "wheel", start_tick=0) as wheel:
        assert wheel.name == "wheel" and "'wheel'" in repr(wheel)
        with pytest.raises(libfp.NameTaken):
            TimerWheel(8, "wheel")
        with TimerWheel.lookup("wheel") as same:
            assert same.handle == wheel.handle and same.tick_ns == wheel.tick_ns
            timer = same.create_timer(3)
            same.arm(timer, 1)
            with pytest.raises(libfp.WheelBusy):
                wheel.destroy()
        with pytest.raises(libfp.WheelDestroyed):
            same.arm(timer, 2)
        assert users(wheel.poll_burst(1)) == [3]
        with pytest.raises(libfp.InvalidArgument):
            wheel.unref()
    with pytest.raises(libfp.NotFound):
        TimerWheel.lookup("wheel")


def test_use_after_destroy():
    wheel = TimerWheel(8)
    timer = wheel.create_timer()
    wheel.destroy()
    wheel.destroy()
    assert repr(wheel) == "<libfp.TimerWheel: ticks of 1000 ns, destroyed>"
    for call in (wheel.create_timer, wheel.now, wheel.timers, wheel.cancel_all, wheel.wait,
                 wheel.interrupt, wheel.service, wheel.reset_stats, lambda: wheel.create_bulk(1),
                 lambda: wheel.arm(timer, 1), lambda: wheel.touch(timer, 1),
                 lambda: wheel.cancel(timer), lambda: wheel.cancel_sync(timer),
                 lambda: wheel.destroy_timer(timer), lambda: wheel.poll_burst(1),
                 lambda: wheel.poll_into(1, bytearray(32)), lambda: wheel.next_expiry,
                 lambda: wheel.count, lambda: wheel.stats, lambda: wheel.handle,
                 lambda: wheel.set_wakeup(None), lambda: wheel.arm_bulk(words(1), words(1))):
        with pytest.raises(libfp.WheelDestroyed) as caught:
            call()
        assert caught.value.errno == errno.EBADF


def test_no_copies(wheel):
    with pytest.raises(TypeError, match="TimerWheel belongs to its process"):
        pickle.dumps(wheel)


def test_forgotten_wheels_free_their_names():
    TimerWheel(8, "forgotten").create_timer()
    gc.collect()
    with TimerWheel(8, "forgotten"):
        pass


# ---- timers of C ----


@pytest.fixture
def c():
    """libfp's own functions, for what only C code does."""
    library = ctypes.CDLL(libfp.library_path())
    if not hasattr(library, "fp_timer_create"):
        pytest.skip("the library is bundled: its functions are not for others")
    return library


def test_a_callback_of_c_that_runs(wheel, c):
    """What cancel and destroy say of a timer of C. This callback enters the interpreter, which is
    this test's affair: the package makes none."""
    running, go_on = threading.Event(), threading.Event()

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    def callback(_wheel, _record, _user):
        running.set()
        go_on.wait()

    made = ctypes.c_uint64()
    assert c.fp_timer_create(ctypes.c_void_p(wheel.handle), callback, None,
                             ctypes.byref(made)) == 0
    timer = made.value
    wheel.arm(timer, 1)
    thread = threading.Thread(target=lambda: c.fp_timer_wheel_poll(
        ctypes.c_void_p(wheel.handle), ctypes.c_uint64(1), 1))
    thread.start()
    running.wait()
    try:
        for call in (wheel.cancel, wheel.destroy_timer):
            with pytest.raises(libfp.StillRunning) as caught:
                call(timer)
            assert caught.value.errno == errno.EINPROGRESS
        with pytest.raises(libfp.TimedOut):
            wheel.cancel_sync(timer, 0.001)
        with pytest.raises(libfp.WheelBusy):
            wheel.poll_burst(1)
    finally:
        go_on.set()
    with pytest.raises(libfp.NoSuchTimer):  # it was destroyed, and does not run any more
        wheel.cancel_sync(timer)
    thread.join()
