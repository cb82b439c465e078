# SPDX-License-Identifier: BSD-2-Clause
"""Service, the Python object over an fp_service; its cores are in _core.py.

A service's function is either Python's or C's. A Python function runs only on threads that Python
lent: inside ServiceCore.run() and Service.run_once(). libfp knows it by a number; _functions keeps
it until libfp says that it will never be called again (_glue_service.c).
"""

from __future__ import annotations

import errno
import functools
import itertools
import operator
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._args import encoded, nanoseconds
from ._errors import SERVICE, invalid
from ._handle import Named, NamedKind
from ._libfp import ffi, lib
from ._wait import repeated
from ._wakeup import Wakeup

if TYPE_CHECKING:
    from ._core import ServiceCore

_CYCLES = {
    "off": lib.LIBFP_SERVICE_CYCLES_OFF,
    "sampled": lib.LIBFP_SERVICE_CYCLES_SAMPLED,
    "exact": lib.LIBFP_SERVICE_CYCLES_EXACT,
}

_functions: dict[int, Callable[[], object]] = {}
_numbers = itertools.count(1)
_reaping = threading.Lock()

# The services with a Python function, and all that this process made in Python, by address.
python_services: dict[int, int] = {}
known: weakref.WeakValueDictionary[int, Service] = weakref.WeakValueDictionary()


@dataclass(frozen=True)
class ServiceStats:
    """fp_service_stats."""

    calls: int
    idle: int
    errors: int
    busy: int
    cycles: int
    longest: int
    cycle_hz: int
    cores: int
    inside_since_ns: int
    deadline_ns: int
    ready: bool
    started: bool
    active: bool


@dataclass(frozen=True)
class MapStats:
    """fp_service_map_stats: one service on one core."""

    calls: int
    idle: int
    errors: int
    busy: int
    cycles: int


# ---- calls from C ----


class Lent:
    """What a call that lent this thread has to raise at its end, or to stop."""

    __slots__ = ("error", "stop")

    _thread = threading.local()

    def __init__(self, stop: Callable[[], object]) -> None:
        self.error: BaseException | None = None
        self.stop = stop

    @classmethod
    def calls(cls) -> list[Lent]:
        """Those that this thread is inside of, the innermost last."""
        try:
            found: list[Lent] = cls._thread.calls
        except AttributeError:
            found = cls._thread.calls = []
        return found

    def __enter__(self) -> Lent:
        self.calls().append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        self.calls().remove(self)


def _failed(kind: Any, error: BaseException, traceback: Any) -> None:
    """A function raised: the first exception is kept, and one like KeyboardInterrupt ends the run."""
    lent = Lent.calls()[-1]
    if lent.error is None:
        lent.error = error.with_traceback(traceback)
    if not isinstance(error, Exception):
        lent.stop()


def _call_python(number: int) -> int:
    return 0 if _functions[number]() else -errno.EAGAIN


ffi.def_extern("glue_call_python", error=-errno.EIO, onerror=_failed)(_call_python)


def _reap() -> None:
    """Forgets the functions that libfp has released."""
    with _reaping:
        while True:
            number = lib.glue_service_reap()
            if not number:
                return
            _functions.pop(number, None)


def in_time(call: Callable[[int], int], timeout: float | None) -> bool:
    """An order that waits for threads, and can be given again to wait on. call takes ns.

    Returns whether it is carried out; False: not waited for, inside a service.
    """
    got = repeated(call, nanoseconds(timeout))
    if got and got != -errno.EINPROGRESS:
        raise SERVICE.failure(got)
    return not got


# ---- services ----


class Service(Named):
    """A function that cores call in turn.

    fn        a Python function without arguments, which returns whether it has worked; it runs on
              threads that Python lends, see ServiceCore.run()
    address   instead: a C function int32_t (*)(void *user), which cores call on any thread. Not
              one that enters the interpreter, such as a ctypes callback
    user      its argument
    name      for Service.lookup(), unique in the process; at most 63 bytes
    mt_safe   may run on several threads at once
    wakeable  somebody signals its `wakeup`, or it needs no calls without a deadline
    ready     False: created with the component's gate shut
    cycles    "off", "sampled" or "exact"

    What fn raises counts as an error, and the service goes on; the first such exception is raised
    by run() at its end, or by run_once(). Use as a context manager stops it for good at the end.
    """

    __slots__ = ("_number", "_cores", "_owner")

    _kind = NamedKind(
        "Service",
        SERVICE,
        new=functools.partial(ffi.new, "glue_service *"),
        drop=lib.glue_service_drop,
        lookup=lib.glue_service_lookup,
        unref=lib.glue_service_unref,
        forked=lib.glue_service_forked,
        name_of=lib.fp_service_name,
    )

    _number: int  # of its Python function; 0: none, or not of this object
    _cores: weakref.WeakSet[ServiceCore]  # that keep it
    _owner: Any  # set if it is another object's: the core of that

    def __init__(
        self,
        fn: Callable[[], object] | None = None,
        *,
        address: int | None = None,
        user: int = 0,
        name: str | None = None,
        mt_safe: bool = False,
        wakeable: bool = False,
        ready: bool = True,
        cycles: str = "off",
    ) -> None:
        if (fn is None) == (address is None):
            raise invalid("a service has either a Python function or an address")
        if fn is not None and not callable(fn):
            raise TypeError("fn is not callable")
        if cycles not in _CYCLES:
            raise invalid(f"cycles is {cycles!r}, not 'off', 'sampled' or 'exact'")
        _reap()
        bits = 0
        for wanted, bit in (
            (mt_safe, lib.LIBFP_SERVICE_MT_SAFE),
            (wakeable, lib.LIBFP_SERVICE_WAKEABLE),
            (not ready, lib.LIBFP_SERVICE_NOT_READY),
        ):
            bits |= bit if wanted else 0
        number = next(_numbers) if fn is not None else 0
        if fn is not None:
            _functions[number] = fn
        self._number = number
        try:
            self._begin(
                lib.glue_service_create,
                encoded(name),
                bits,
                _CYCLES[cycles],
                number,
                operator.index(address or 0),
                operator.index(user),
            )
        except BaseException:
            _functions.pop(number, None)
            raise

    def _bind(self, core: Any) -> None:
        self._cores = weakref.WeakSet()
        if self._lookup:
            self._number = 0
            return
        known[self.handle] = self
        if self._number:
            python_services[self.handle] = self._number

    @classmethod
    def _adopted(cls, pointer: Any) -> Service:
        self = cls.__new__(cls)
        self._begin(lib.glue_service_adopt, pointer)
        return self

    @classmethod
    def _lent(cls, make: Any, owner: Any) -> Service:
        """The service of another object, whose core `owner` it keeps; make takes both cores."""
        self = cls.__new__(cls)
        self._number = 0
        self._owner = owner
        self._begin(make, owner)
        return self

    @classmethod
    def all(cls) -> list[Service]:
        """The services of the process, oldest first, each as by lookup()."""
        return [cls._adopted(pointer) for pointer in listed("fp_service *[]", lib.fp_service_list)]

    @property
    def is_python(self) -> bool:
        """Whether its function is Python's: not for a core with a thread of its own."""
        _reap()
        number = python_services.get(self.handle)
        return number is not None and number in _functions

    # ---- gates ----

    def start(self) -> None:
        """Opens the application's gate: mapped cores call it from their next loop on."""
        self._look(lib.glue_service_start)

    def stop(self, timeout: float | None = None) -> bool:
        """Shuts the application's gate and waits until no thread is inside the function.

        False: called inside a service, so it was not waited for; see is_active. Raises TimedOut
        after `timeout` seconds: it is stopped, a thread is still inside.
        """
        return in_time(functools.partial(lib.glue_service_stop, self._core), timeout)

    def set_ready(self, ready: bool, timeout: float | None = None) -> bool:
        """Opens or shuts the component's gate. Shutting waits as stop() does."""
        call = functools.partial(lib.glue_service_set_ready, self._core, bool(ready))
        return in_time(call, timeout)

    @property
    def is_runnable(self) -> bool:
        """Whether cores may call it: ready, started, and mapped to one at least."""
        return self._look(lib.glue_service_is_runnable) == 1

    @property
    def is_active(self) -> bool:
        """Whether a thread may be inside its function. Once False after a stop, it stays so."""
        return self._look(lib.glue_service_is_active) == 1

    # ---- mapping ----

    def map(self, core: ServiceCore) -> None:
        """The core calls it, once it is runnable, from its next loop on. The core keeps it.

        A Python function is refused (NotSupported) by a core that runs on a thread of its own.
        """
        if self.is_python and core._is_native:
            raise core._refusal(self)
        self._call(lib.glue_service_map, core._core)
        core._keep(self)

    def unmap(self, core: ServiceCore, timeout: float | None = None) -> bool:
        """Ends a mapping, and waits if that core is inside the function; as stop()."""
        call = functools.partial(lib.glue_service_unmap, self._core, core._core)
        done = in_time(call, timeout)
        core._forget(self)
        return done

    def is_mapped(self, core: ServiceCore) -> bool:
        return self._call(lib.glue_service_is_mapped, core._core) == 1

    # ---- running ----

    def run_once(self) -> bool:
        """Runs the function once on this thread. Returns whether it has worked.

        Raises what the function raised; for an error of a C function FpError; NotRunnable;
        ServiceBusy if another thread is inside and it is not mt_safe.
        """
        result = ffi.new("int32_t *")
        with Lent(lambda: None) as lent:
            self._call(lib.glue_service_run_once, result)
        if lent.error is not None:
            raise lent.error
        if result[0] < 0 and result[0] != -errno.EAGAIN:
            raise SERVICE.error(result[0])
        return bool(result[0] >= 0)

    @property
    def wakeup(self) -> Wakeup:
        """Wakes the cores that it is mapped to: to signal, and to bind rings to.

        It lives as long as the service. Nobody can wait on it.
        """
        return owned_wakeup(self._core)

    def set_deadline(self, at: float | None) -> None:
        """When it wants to be called at the latest, in seconds of time.monotonic(); None: never.

        It stays until it is set anew.
        """
        self._call(lib.glue_service_set_deadline, 0 if at is None else max(1, nanoseconds(at)))

    # ---- life and inspection ----

    def destroy(self, force: bool = True, timeout: float | None = None) -> bool:
        """Unmaps it, stops it for good, waits until no thread is inside, and frees it.

        False: called inside a service; libfp does it once no thread is inside. Raises ServiceBusy,
        and changes nothing, while rings are bound to its wake-up, references by lookup() are out,
        or, with force=False, it is mapped. Raises TimedOut after `timeout` seconds: it is stopped
        and unmapped, call again. Again it does nothing. The service of a wheel ends with that
        (NotSupported).
        """
        address = int(ffi.cast("uintptr_t", self._core.handle))
        flags = lib.LIBFP_SERVICE_FORCE if force else 0

        def end(ns: int) -> int:
            return self._end(lambda core: lib.glue_service_destroy(core, flags, ns))

        if not address:
            return True
        done = in_time(end, timeout)
        python_services.pop(address, None)
        known.pop(address, None)
        for core in list(self._cores):
            core._forget(self)
        _reap()
        return done

    @property
    def stats(self) -> ServiceStats:
        return self._read(
            ServiceStats,
            "fp_service_stats *",
            lib.glue_service_get_stats,
            ready=lib.LIBFP_SERVICE_IS_READY,
            started=lib.LIBFP_SERVICE_IS_STARTED,
            active=lib.LIBFP_SERVICE_IS_ACTIVE,
        )

    def reset_stats(self) -> None:
        self._look(lib.glue_service_reset_stats)

    def map_stats(self, core: ServiceCore) -> MapStats:
        """The counters on one core, since they were last mapped to each other."""

        def read(mine: Any, io: Any) -> int:
            return int(lib.glue_service_get_map_stats(mine, core._core, io))

        return self._read(MapStats, "fp_service_map_stats *", read)

    def _about(self) -> str:
        if not self._core.handle:
            return "service"
        return "Python function" if self.is_python else "C function"


def owned_wakeup(core: Any) -> Wakeup:
    """The Wakeup of a service or a core, whose glue has its own reference to it."""
    if not core.handle:
        raise SERVICE.failure(lib.GLUE_DESTROYED)
    return Wakeup._of(lib.glue_wakeup_keep(core.wake))


def listed(kind: str, call: Callable[[Any, int], int]) -> list[Any]:
    """The pointers of a list, each with a reference."""
    room, n = 0, call(ffi.NULL, 0)
    while n > room:
        room = n + 8  # some may come meanwhile
        pointers = ffi.new(kind, room)
        n = call(pointers, room)
        if n > room:  # give back, and ask again
            give = lib.fp_service_unref if "core" not in kind else lib.fp_service_core_unref
            for pointer in pointers:
                give(pointer)
        elif n >= 0:
            return list(pointers[0:n])
    if n < 0:
        raise SERVICE.failure(n)
    return []
