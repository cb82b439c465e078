# SPDX-License-Identifier: BSD-2-Clause
"""ServiceCore, the Python object over an fp_service_core: a thread that calls services.

A core keeps the services that Python mapped to it, and a core that runs is kept here, until it is
stopped; at the exit of the interpreter all are, before it is taken down.
"""

from __future__ import annotations

import atexit
import errno
import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ._args import encoded, nanoseconds, u32
from ._errors import SERVICE, FpError, invalid
from ._handle import Named, NamedKind
from ._libfp import ffi, lib
from ._service import (
    Lent,
    Service,
    in_time,
    known,
    listed,
    owned_wakeup,
)
from ._wait import CHUNK, Deadline, in_chunks
from ._wakeup import Wakeup

_IDLE = {
    "sleep": lib.LIBFP_SERVICE_CORE_SLEEP,
    "yield": lib.LIBFP_SERVICE_CORE_YIELD,
    "spin": lib.LIBFP_SERVICE_CORE_SPIN,
}
_POLICIES = {
    None: lib.LIBFP_SERVICE_CORE_POLICY_NONE,
    "other": lib.LIBFP_SERVICE_CORE_POLICY_OTHER,
    "fifo": lib.LIBFP_SERVICE_CORE_POLICY_FIFO,
    "rr": lib.LIBFP_SERVICE_CORE_POLICY_RR,
    "batch": lib.LIBFP_SERVICE_CORE_POLICY_BATCH,
    "idle": lib.LIBFP_SERVICE_CORE_POLICY_IDLE,
}
_STATES = {
    lib.LIBFP_SERVICE_CORE_STOPPED: "stopped",
    lib.LIBFP_SERVICE_CORE_RUNNING: "running",
    lib.LIBFP_SERVICE_CORE_ASLEEP: "asleep",
    lib.LIBFP_SERVICE_CORE_STOPPING: "stopping",
}

_EXIT_PATIENCE = 5_000_000_000  # ns

_running: set[ServiceCore] = set()


@dataclass(frozen=True)
class CoreStats:
    """fp_service_core_stats."""

    loops: int
    idle_loops: int
    busy_cycles: int
    idle_cycles: int
    cycle_hz: int
    sleeps: int
    naps: int
    wakes: int
    late_wakes: int
    services: int
    thread_id: int
    state: str  # "stopped", "running", "asleep" or "stopping"
    got_cpus: bool
    got_policy: bool
    is_lent: bool  # the loop runs on a caller's thread: in run()


def _choice(values: dict[Any, int], value: Any, what: str) -> int:
    if value not in values:
        raise invalid(f"{what} is {value!r}, not {' or '.join(map(repr, values))}")
    return values[value]


class ServiceCore(Named):
    """A thread that calls the services mapped to it, one after the other.

    The thread is libfp's own (start(), for services with C functions) or the caller's (run(), for
    all). Between works it spins, naps and sleeps.

    name        for ServiceCore.lookup(), and of its own thread
    cpu         the CPU of its own thread; set_cpus() for several
    policy      "other", "fifo", "rr", "batch" or "idle", with priority; best effort: see stats
    idle        what it does without work: "sleep", "yield" or "spin"
    spin, nap   seconds without work before the first sleep, and the length of that; None: 50 us and
                100 us
    late_margin, max_sleep, unwakeable
                seconds, as in libfp/service.h; None: its defaults
    stack_size  bytes

    Use as a context manager stops and destroys it at the end.
    """

    __slots__ = ("_services",)

    _kind = NamedKind(
        "ServiceCore",
        SERVICE,
        new=functools.partial(ffi.new, "glue_core *"),
        drop=lib.glue_core_drop,
        lookup=lib.glue_core_lookup,
        unref=lib.glue_core_unref,
        forked=lib.glue_core_forked,
        name_of=lib.fp_service_core_name,
    )

    _services: dict[int, Service]  # kept, by address

    _release = ffi.release  # still here when modules are taken down

    def __init__(
        self,
        name: str | None = None,
        *,
        cpu: int | None = None,
        policy: str | None = None,
        priority: int = 0,
        idle: str = "sleep",
        spin: float | None = None,
        nap: float | None = None,
        late_margin: float | None = None,
        max_sleep: float | None = None,
        unwakeable: float | None = None,
        stack_size: int = 0,
    ) -> None:
        opts = ffi.new("fp_service_core_opts *")
        lib.fp_service_core_opts_init(opts, ffi.sizeof("fp_service_core_opts"))
        raw = ffi.NULL if name is None else ffi.new("char[]", encoded(name))
        opts.name = raw  # which stays until the call
        opts.policy = _choice(_POLICIES, policy, "policy")
        opts.priority = priority
        opts.idle = _choice(_IDLE, idle, "idle")
        opts.stack_size = stack_size
        for value, member, flag in (
            (spin, "spin_ns", lib.LIBFP_SERVICE_CORE_SPIN_NS),
            (nap, "nap_ns", lib.LIBFP_SERVICE_CORE_NAP_NS),
            (late_margin, "late_margin_ns", 0),
            (max_sleep, "max_sleep_ns", 0),
            (unwakeable, "unwakeable_ns", 0),
        ):
            if value is not None:
                setattr(opts, member, nanoseconds(value))
                opts.flags |= flag
        if cpu is not None:
            opts.flags |= lib.LIBFP_SERVICE_CORE_PIN
            opts.cpu = u32(cpu, "cpu")
        self._begin(lib.glue_core_create, opts)

    def _bind(self, core: Any) -> None:
        self._services = {}

    def __del__(self) -> None:
        if hasattr(self, "_core"):
            self._release(self._core)  # ends the mappings, before the services go

    @classmethod
    def _adopted(cls, pointer: Any) -> ServiceCore:
        self = cls.__new__(cls)
        self._begin(lib.glue_core_adopt, pointer)
        return self

    @classmethod
    def all(cls) -> list[ServiceCore]:
        """The cores of the process, oldest first, each as by lookup()."""
        found = listed("fp_service_core *[]", lib.fp_service_core_list)
        return [cls._adopted(pointer) for pointer in found]

    # ---- services ----

    def services(self) -> list[Service]:
        """The services mapped to it, in the order of its calls, each as by lookup()."""
        list_services = functools.partial(lib.glue_core_services, self._core)
        return [Service._adopted(pointer) for pointer in listed("fp_service *[]", list_services)]

    def _keep(self, service: Service) -> None:
        self._services[service.handle] = service
        service._cores.add(self)

    def _forget(self, service: Service) -> None:
        for address, kept in list(self._services.items()):
            if kept is service or not kept._core.handle:
                self._services.pop(address, None)
        service._cores.discard(self)

    @property
    def _is_native(self) -> bool:
        stats = self.stats
        return stats.state != "stopped" and not stats.is_lent

    def _refusal(self, service: Service) -> FpError:
        name = f" {service.name!r}" if service.name is not None else ""
        return SERVICE.error(
            errno.EOPNOTSUPP,
            f"service{name} has a Python function, which no thread of libfp can call: "
            "run() its core on a thread of Python",
        )

    # ---- running ----

    def start(self) -> None:
        """Starts a thread of libfp for it. NotSupported if a Python function is mapped to it."""
        for service in self.services():
            if service.is_python:
                raise self._refusal(service)
        if self._core.lent:
            raise SERVICE.error(errno.EALREADY, "it runs on a thread of Python")
        self._look(lib.glue_core_start)
        _running.add(self)

    def stop(self, timeout: float | None = None) -> bool:
        """Ends its loop, wherever it runs, and waits for that. Mappings stay.

        False: called inside a service, so it was not waited for. Raises TimedOut after `timeout`
        seconds: it was told to stop, and is still inside a service.
        """

        def end(ns: int) -> int:
            got = int(lib.glue_core_stop(self._core, ns))
            return 0 if got == -errno.EALREADY else got

        done = in_time(end, timeout)
        if done:
            _running.discard(self)
        return done

    def run(self, timeout: float | None = None) -> bool:
        """Runs its loop on this thread until stop(), or for `timeout` seconds; 0: one loop.

        Returns whether it was stopped. What a Python function raises counts as an error, and the
        service goes on; the first exception is raised here at the end. KeyboardInterrupt and
        SystemExit, which are no Exception, end the loop at once.
        """
        timeout_ns = nanoseconds(timeout)
        with Lent(lambda: lib.glue_core_stop(self._core, 0)) as lent:
            if lib.glue_core_lend(self._core, 1):
                lib.glue_core_lend(self._core, -1)
                raise SERVICE.error(errno.EALREADY, "it runs on another thread of Python")
            _running.add(self)
            try:
                got = self._run(timeout_ns)
            finally:
                lib.glue_core_lend(self._core, -1)
                if not self._is_native:
                    _running.discard(self)
        if lent.error is not None:
            raise lent.error
        if got and got != -errno.ETIMEDOUT:
            raise SERVICE.failure(got)
        return not got

    def _run(self, timeout_ns: int) -> int:
        if not in_chunks(timeout_ns):
            return int(lib.glue_core_run(self._core, timeout_ns))
        deadline, before = Deadline(timeout_ns), self._core.stops
        while True:
            left = deadline.left()
            got = int(lib.glue_core_run(self._core, min(left, CHUNK)))
            if got == -errno.ETIMEDOUT and self._core.stops != before:
                return 0
            if got != -errno.ETIMEDOUT or left <= CHUNK:
                return got

    @staticmethod
    def start_defaults(cores: Iterable[ServiceCore]) -> int:
        """Maps each service that is mapped nowhere to one of the cores, in turn; starts all.

        Returns how many were mapped. NotSupported if one of these has a Python function.
        """
        cores = list(cores)
        for service in list(known.values()):
            if service.is_python and (
                service.stats.cores == 0 or any(service.is_mapped(core) for core in cores)
            ):
                raise cores[0]._refusal(service) if cores else invalid("no cores")
        handles = ffi.new("fp_service_core *[]", [core._core.handle for core in cores])
        got: int = lib.fp_service_start_defaults(handles, len(cores))
        if got < 0:
            raise SERVICE.error(got)
        for core in cores:
            _running.add(core)
            for service in core.services():
                if service.handle in known:
                    core._keep(known[service.handle])
        return got

    def set_cpus(self, cpus: Iterable[int]) -> None:
        """On which CPUs its own thread runs from the next start on; none: any."""
        numbers = [u32(cpu, "cpu") for cpu in cpus]
        self._call(lib.glue_core_set_cpus, ffi.new("uint32_t[]", numbers), len(numbers))

    @property
    def wakeup(self) -> Wakeup:
        """Wakes it from its sleep, to call all its services once; lives as long as the core."""
        return owned_wakeup(self._core)

    # ---- life and inspection ----

    def destroy(self) -> None:
        """Frees a core that does not run, and ends its mappings. Again does nothing.

        Raises ServiceBusy, and changes nothing, if it runs, or references by lookup() are out.
        """
        self._ended(lib.glue_core_destroy)
        _running.discard(self)
        for service in list(self._services.values()):
            self._forget(service)

    def _leave(self) -> None:
        if not self._lookup and self._core.handle:
            self.stop()
        super()._leave()

    @property
    def stats(self) -> CoreStats:
        io = ffi.new("fp_service_core_stats *")
        self._call(lib.glue_core_get_stats, io)
        return CoreStats(
            io.loops,
            io.idle_loops,
            io.busy_cycles,
            io.idle_cycles,
            io.cycle_hz,
            io.sleeps,
            io.naps,
            io.wakes,
            io.late_wakes,
            io.services,
            io.thread_id,
            _STATES.get(io.state, str(io.state)),
            bool(io.flags & lib.LIBFP_SERVICE_CORE_GOT_CPUS),
            bool(io.flags & lib.LIBFP_SERVICE_CORE_GOT_POLICY),
            bool(io.flags & lib.LIBFP_SERVICE_CORE_IS_LENT),
        )

    def reset_stats(self) -> None:
        self._look(lib.glue_core_reset_stats)

    def _about(self) -> str:
        return self.stats.state if self._core.handle else "core"


def _stop_all() -> None:
    """At exit: a thread inside a service must not meet an interpreter that is taken down."""
    for patience in (0, _EXIT_PATIENCE):
        for core in list(_running):
            if core._core.handle:
                lib.glue_core_stop(core._core, patience)


atexit.register(_stop_all)
