# SPDX-License-Identifier: BSD-2-Clause
"""TimerWheel, the Python object over an fp_timer_wheel.

Timers are ids, and bursts of them arrays of ids: there is no Python object per timer. They have no
callbacks, so that no thread that polls enters the interpreter; polls fill records (_record.py).
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import functools
import operator
import threading
import weakref
from typing import TYPE_CHECKING, Any

from ._args import burst, encoded, flags, integers, nanoseconds, u32
from ._errors import WAKEUP, WHEEL, WheelBusy, invalid
from ._handle import Named, NamedKind
from ._libfp import ffi, lib
from ._record import POLICIES, RECORD_SIZE, TimerInfo, TimerRecord, WheelStats, timer_info
from ._service import Service
from ._wait import in_chunks, patient, repeated
from ._wakeup import Wakeup

if TYPE_CHECKING:
    from ._args import Readable, Writable

# The path of arms and polls: bound once, because at this speed a look-up counts.
_CHARS = ffi.typeof("char[]")
_WORDS = ffi.typeof("uint64_t[]")
_RESULTS = ffi.typeof("int32_t[]")
_WORD = ffi.typeof("uint64_t *")
_NULL = ffi.NULL
_from_buffer = ffi.from_buffer
_new = ffi.new
_arm = lib.glue_timer_arm
_touch = lib.glue_timer_touch
_cancel = lib.glue_timer_cancel
_poll = lib.glue_wheel_poll
_failure = WHEEL.failure

_BUSY_PAUSE = 0.001  # seconds, before a task tries to poll again

# What the Python objects on one wheel share, by the wheel's address.
_guards: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

# Held to read or change the wake-up that a wheel is bound to, and to make its service or end it.
_binding = threading.Lock()


def _words(buffer: Any, what: str, writable: bool = False) -> Any:
    """A buffer of 8-byte integers as C takes it, without a copy."""
    if integers(buffer, what) != 8:
        raise TypeError(f"{what} are integers of 8 bytes, not of 4")
    return _from_buffer(_WORDS, buffer, writable)


def _results(buffer: Any, n: int) -> Any:
    if buffer is None:
        return _NULL
    if integers(buffer, "results") != 4:
        raise TypeError("results are integers of 4 bytes, not of 8")
    room = _from_buffer(_RESULTS, buffer, True)
    if len(room) != n:
        raise ValueError(f"{len(room)} results for {n} timers")
    return room


class TimerWheel(Named):
    """Timers that any thread arms and cancels, and one thread at a time polls.

    max_timers  how many can exist; None: as `capacity`
    name        for TimerWheel.lookup(), unique in the process; at most 63 bytes
    stats       count arms and cancels
    tick_ns     nanoseconds in a tick, for now(), ticks_from_ns(), wait() and service(); polls are
                given the time in ticks, whatever these are
    start_tick  the time before the first poll; None: now()
    capacity    timers expected: `prefault` touches the memory of these; None: 65536, or max_timers
                if that is less
    wait        with a wake-up of its own, for wait()
    huge, prefault, numa_node
                hints for the memory

    Ticks are integers from 0 to 2**64 - 1. Any thread may make any call. Use as a context manager
    destroys the wheel at the end.
    """

    __slots__ = ("_guard", "_service", "tick_ns")

    _kind = NamedKind(
        "TimerWheel",
        WHEEL,
        new=functools.partial(ffi.new, "glue_wheel *"),
        drop=lib.glue_wheel_drop,
        lookup=lib.glue_wheel_lookup,
        unref=lib.glue_wheel_unref,
        forked=lib.glue_wheel_forked,
        name_of=lib.fp_timer_wheel_name,
    )

    tick_ns: int
    _service: Service | None

    def __init__(
        self,
        max_timers: int | None = None,
        name: str | None = None,
        stats: bool = False,
        *,
        tick_ns: int = lib.LIBFP_WHEEL_TICK_NS_DEFAULT,
        start_tick: int | None = None,
        capacity: int | None = None,
        wait: bool = False,
        huge: bool = False,
        prefault: bool = False,
        numa_node: int | None = None,
    ) -> None:
        if 0 in (max_timers, capacity, tick_ns):
            raise invalid("max_timers, capacity and tick_ns are at least 1")
        if capacity is None and max_timers is not None:
            capacity = min(max_timers, lib.LIBFP_WHEEL_TIMERS_DEFAULT)
        opts = ffi.new("fp_timer_wheel_opts *")
        lib.fp_timer_wheel_opts_init(opts, ffi.sizeof("fp_timer_wheel_opts"))
        raw = _NULL if name is None else ffi.new("char[]", encoded(name))
        opts.name = raw  # which stays until the call
        opts.flags = flags(stats, False, huge, prefault, numa_node)
        opts.flags |= lib.LIBFP_WHEEL_WAIT if wait else 0
        opts.tick_ns = tick_ns
        opts.capacity = u32(capacity or 0, "capacity")
        opts.max_timers = u32(max_timers or 0, "max_timers")
        opts.numa_node = u32(numa_node or 0, "numa_node")
        if start_tick is not None:
            opts.flags |= lib.LIBFP_WHEEL_START_AT
            opts.start_tick = start_tick
        self._begin(lib.glue_wheel_create, opts)

    def _bind(self, core: Any) -> None:
        new = ffi.gc(lib.glue_wheel_guard_new() or self._no_memory(), lib.glue_wheel_guard_release)
        self._guard = _guards.setdefault(int(ffi.cast("uintptr_t", core.handle)), new)
        lib.glue_wheel_share(core, self._guard)
        self._service = None
        self.tick_ns = lib.fp_timer_wheel_tick_ns(core.handle)

    # ---- timers ----

    def create_timer(self, user: int = 0) -> int:
        """Makes a timer, which is not armed, and returns its id. `user` comes back in records.

        NoMemory: max_timers exist; those destroyed count until the poll that comes by them.
        """
        made = _new(_WORD)
        self._call(lib.glue_timer_create, user, made)
        timer: int = made[0]
        return timer

    def create_bulk(self, users: int | Readable) -> memoryview:
        """Makes n timers, or one for each `user` of a buffer of 8-byte integers.

        The ids come in new memory (format "Q"): fewer than n if max_timers are reached.
        """
        if isinstance(users, int):
            n, given = burst(users), _NULL
        else:
            given = _words(users, "users")
            n = len(given)
        room = bytearray(8 * n)
        got = lib.glue_timer_create_bulk(self._core, given, _from_buffer(_WORDS, room, True), n)
        del given  # a traceback must not keep the buffer
        if got < 0:
            raise _failure(got)
        return memoryview(room)[: 8 * got].cast("Q")

    def destroy_timer(self, timer: int) -> bool:
        """Cancels a timer and makes its id stale. Returns whether it was armed.

        NoSuchTimer: it was destroyed before, or is not of this wheel. All calls with an id do.
        """
        return self._call(lib.glue_timer_destroy, timer) == 1

    def destroy_bulk(self, timers: Readable, results: Writable | None = None) -> int:
        """Destroys timers, and returns how many were. A bad id does not stop the rest.

        timers   a buffer of 8-byte integers: array("Q"), NumPy's "u8", create_bulk()'s
        results  None, or a buffer of as many 4-byte integers, array("i") or NumPy's "i4": for each
                 timer what destroy_timer() returns, or a negative errno

        So do the other calls that take many.
        """
        return self._many(lib.glue_timer_destroy_bulk, timers, results)

    def arm(self, timer: int, expiry_tick: int) -> bool:
        """Arms a timer to fire once, or moves it. Returns whether it was armed.

        What is not after the last poll fires in the next one.
        """
        got: int = _arm(self._core, timer, expiry_tick)
        if got < 0:
            raise _failure(got)
        return got == 1

    def arm_bulk(
        self, timers: Readable, expiry_ticks: Readable, results: Writable | None = None
    ) -> int:
        """Arms timers, each for its expiry; as destroy_bulk(). Returns how many were."""
        return self._many_at(lib.glue_timer_arm_bulk, timers, expiry_ticks, results)

    def arm_periodic(
        self, timer: int, first_tick: int, period_ticks: int, policy: str = "skip"
    ) -> bool:
        """Arms a timer to fire at first_tick, and every period_ticks from there on.

        policy  what becomes of periods that no poll came for in time: "skip": the last one fires;
                "coalesce": the first one fires for all; "catch_up": each fires

        Returns whether it was armed.
        """
        if policy not in POLICIES:
            raise invalid(f"policy is {policy!r}, not 'skip', 'coalesce' or 'catch_up'")
        call = lib.glue_timer_arm_periodic
        return self._call(call, timer, first_tick, period_ticks, POLICIES[policy]) == 1

    def touch(self, timer: int, expiry_tick: int) -> bool:
        """Moves an armed timer to expiry_tick unless it expires later already.

        Returns whether it is armed; if not it stays so.
        """
        got: int = _touch(self._core, timer, expiry_tick)
        if got < 0:
            raise _failure(got)
        return got == 1

    def touch_bulk(
        self, timers: Readable, expiry_ticks: Readable, results: Writable | None = None
    ) -> int:
        """Touches timers; as destroy_bulk(). Returns how many of them are armed."""
        return self._many_at(lib.glue_timer_touch_bulk, timers, expiry_ticks, results)

    def cancel(self, timer: int) -> bool:
        """Disarms a timer. True: it was armed and will not fire; False: it was not, or has fired.

        StillRunning is for timers of C code: it is disarmed, and its callback runs.
        """
        got: int = _cancel(self._core, timer)
        if got < 0:
            raise _failure(got)
        return got == 1

    def cancel_bulk(self, timers: Readable, results: Writable | None = None) -> int:
        """Cancels timers; as destroy_bulk(). Returns how many were armed and will not fire."""
        return self._many(lib.glue_timer_cancel_bulk, timers, results)

    def cancel_sync(self, timer: int, timeout: float | None = None) -> bool:
        """Cancels a timer of C code, and waits until its callback does not run.

        Raises TimedOut after `timeout` seconds: it is disarmed, its callback still runs.
        """
        call = functools.partial(lib.glue_timer_cancel_sync, self._core, operator.index(timer))
        got = repeated(call, nanoseconds(timeout))
        if got < 0:
            raise _failure(got)
        return got == 1

    def cancel_all(self) -> int:
        """Cancels every timer that is armed, and returns how many were."""
        return self._look(lib.glue_wheel_cancel_all)

    def is_pending(self, timer: int) -> bool:
        """Whether a timer is armed."""
        return self._call(lib.glue_timer_is_pending, timer) == 1

    def remaining(self, timer: int, now_tick: int) -> int | None:
        """How many ticks an armed timer still has, 0 if it is due. None: it is not armed."""
        return self._tick(lib.glue_timer_remaining, timer, now_tick)

    def timers(self) -> list[TimerInfo]:
        """All timers, in no stated order; those that come or go meanwhile may be missing."""
        room, count = _new("fp_timer_info[]", 0), self._call(lib.glue_wheel_timers, _NULL, 0)
        while count > len(room):
            room = _new("fp_timer_info[]", count)
            count = self._call(lib.glue_wheel_timers, room, len(room))
        return [timer_info(raw) for raw in room[0:count]]

    def _many(self, call: Any, timers: Any, results: Any) -> int:
        ids = _words(timers, "timers")
        got: int = call(self._core, ids, len(ids), _results(results, len(ids)))
        del ids
        if got < 0:
            raise _failure(got)
        return got

    def _many_at(self, call: Any, timers: Any, expiry_ticks: Any, results: Any) -> int:
        ids, at = _words(timers, "timers"), _words(expiry_ticks, "expiry_ticks")
        n = len(ids)
        if len(at) != n:
            raise ValueError(f"{len(at)} expiry ticks for {n} timers")
        got: int = call(self._core, ids, at, n, _results(results, n))
        del ids, at
        if got < 0:
            raise _failure(got)
        return got

    def _tick(self, call: Any, *arguments: int) -> int | None:
        """What call fills in, if it returns 1."""
        tick = _new(_WORD)
        got = self._call(call, *arguments, tick)
        return tick[0] if got else None

    # ---- polling ----

    def poll_burst(self, now_tick: int, n: int = 256) -> ctypes.Array[TimerRecord]:
        """Fires up to n timers that are due, in order of expiry, into new memory.

        An array of TimerRecord; numpy.asarray() takes it without a copy. A timer in it has fired:
        to cancel it comes too late. Raises WheelBusy if another thread polls, or the one that did
        so last arms at this moment: poll again.
        """
        room = bytearray(RECORD_SIZE * burst(n))
        got = _poll(self._core, now_tick, _from_buffer(_CHARS, room, True), len(room))
        if got < 0:
            raise _failure(got)
        records: ctypes.Array[TimerRecord] = (TimerRecord * got).from_buffer(room)
        return records

    def poll_into(self, now_tick: int, records: Writable) -> int:
        """Fires as many timers as a buffer has room for, as poll_burst(). Returns how many.

        The buffer: (libfp.TimerRecord * n)(), numpy.empty(n, libfp.TimerRecord), or any of 32 bytes
        for each.
        """
        memory = _from_buffer(_CHARS, records, True)
        got: int = _poll(self._core, now_tick, memory, len(memory))
        if got < 0:
            del memory
            raise _failure(got)
        return got

    async def expired(self, n: int = 256) -> ctypes.Array[TimerRecord]:
        """Waits for timers to be due by the clock, while other tasks run; then as poll_burst().

        For a wheel with a Wakeup (set_wakeup()), by which other threads tell of what they arm; all
        wheels and rings whose tasks run in one event loop may share one. Raises Interrupted.
        """
        while True:
            try:
                records = self.poll_burst(self.now(), n)
            except WheelBusy:  # another thread arms, or takes its turn
                await asyncio.sleep(_BUSY_PAUSE)
                continue
            if len(records):
                return records
            await self._until_due()

    async def _until_due(self) -> None:
        """Until next_expiry has come, or is another."""
        wakeup = self.wakeup
        if wakeup is None:
            raise WHEEL.failure(-errno.ENXIO)
        planned = self.next_expiry
        delay = None
        if planned is not None:
            delay = max(0, planned - self.now()) * self.tick_ns / 1e9
        await wakeup._poller.wait(
            lambda: self.next_expiry != planned or self.wakeup is not wakeup, delay
        )

    # ---- time ----

    def now(self) -> int:
        """The tick of the monotonic clock."""
        tick = _new(_WORD)
        self._call(lib.glue_wheel_now, tick)
        now: int = tick[0]
        return now

    def ticks_from_ns(self, ns: int) -> int:
        """A span of nanoseconds in ticks, rounded up."""
        ticks = _new(_WORD)
        self._call(lib.glue_wheel_ticks, ns, ticks)
        span: int = ticks[0]
        return span

    @property
    def next_expiry(self) -> int | None:
        """The tick before which a poll has nothing to do; 0: poll at once. None: nothing is armed.

        It may be earlier than the first expiry, and does not tell of timers for tick 2**64 - 1.
        """
        return self._tick(lib.glue_wheel_next)

    # ---- waiting ----

    def wait(self, timeout: float | None = None) -> bool:
        """Sleeps until the next expiry by the clock, or until one is armed before it. Poll then.

        False: `timeout` seconds are over. Raises Interrupted, and NotSupported without
        TimerWheel(wait=True) or a bound Wakeup. On the main thread Ctrl-C ends it within 50 ms.
        """
        timeout_ns = nanoseconds(timeout)
        call = functools.partial(lib.glue_wheel_wait, self._core)
        if in_chunks(timeout_ns):
            got = patient(call, timeout_ns, self._interrupts)
        else:
            got = call(timeout_ns)
        if got < 0:
            raise _failure(got)
        return got == 1

    def _interrupts(self) -> int:
        with _binding:
            return self._look(lib.glue_wheel_interrupts)

    def interrupt(self) -> None:
        """Ends the waits in progress with Interrupted; on a bound Wakeup also the other waits."""
        self._look(lib.glue_wheel_interrupt)

    def set_wakeup(self, wakeup: Wakeup | None) -> None:
        """Binds the wheel to a wake-up, signalled when a timer is armed before the next expiry.

        Several wheels and rings may share one. None unbinds. Raises WheelBusy if a thread is inside
        a call, or service() was called.
        """
        if wakeup is not None and not wakeup._core.handle:
            raise WAKEUP.failure(lib.GLUE_DESTROYED)
        before = self.wakeup
        with _binding:
            self._call(lib.glue_wheel_set_wakeup, wakeup._core if wakeup else _NULL)
        if before is not None:
            before.signal()  # tasks that wait for the wheel turn to the new one

    @property
    def wakeup(self) -> Wakeup | None:
        """The wake-up that Python code bound it to."""
        with _binding:
            core = lib.glue_wheel_wakeup(self._core)
        return Wakeup._of(core) if core else None

    def service(self) -> Service:
        """The service that polls this wheel by the clock, on a core that sleeps until it is due.

        For wheels with timers of C code: it runs their callbacks, and what fires of Python's is
        counted but not delivered. Map and start it. It ends with the wheel; nobody can destroy it.
        Raises WheelBusy if a wake-up is bound, or a thread is inside a call.
        """
        with _binding:
            if self._service is None:
                self._service = Service._lent(self._make_service, self._core)
            return self._service

    @staticmethod
    def _make_service(core: Any, out: Any) -> int:
        failed: int = lib.glue_wheel_service(core, out)
        if failed:
            raise _failure(failed)
        return 0

    # ---- life ----

    def destroy(self) -> None:
        """Frees the wheel with all its timers; using it afterwards raises WheelDestroyed.

        Again does nothing. Raises WheelBusy, and frees nothing, while another thread is inside a
        call, references by lookup() are out, or its service is mapped. A wheel nobody refers to,
        nor to its service, is freed without it.
        """
        address = int(ffi.cast("uintptr_t", self._core.handle))
        bound = self.wakeup
        if self._ended(lib.glue_wheel_destroy):
            _guards.pop(address, None)
        if bound is not None:
            bound.signal()  # tasks that wait for the wheel look, and find it destroyed

    def _end(self, end: Any) -> int:
        with _binding:
            service = self._service
            return int(end(self._core, service._core if service else _NULL))

    # ---- inspection ----

    @property
    def count(self) -> int:
        """How many timers are armed. Looks at every timer."""
        return self._look(lib.glue_wheel_count)

    @property
    def stats(self) -> WheelStats:
        return self._read(
            WheelStats,
            "fp_timer_wheel_stats *",
            lib.glue_wheel_get_stats,
            counted=lib.LIBFP_WHEEL_STATS_COUNTED,
        )

    def reset_stats(self) -> None:
        self._look(lib.glue_wheel_reset_stats)

    def _about(self) -> str:
        return f"ticks of {self.tick_ns} ns"
