# SPDX-License-Identifier: BSD-2-Clause
"""Wakeup, the Python object over an fp_wakeup, and the keys of its waits.

A Wakeup made by Python code owns its fp_wakeup. Others are made by _of(), for the wake-up that a
ring is bound to or that a service has; the weak dictionary sees to it that one glue_wakeup has one
Wakeup at a time, for that is where the event loop's waits are (_loop.py).
"""

from __future__ import annotations

import errno
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ._args import nanoseconds
from ._errors import WAKEUP, Interrupted
from ._handle import Handle, Kind
from ._libfp import ffi, lib
from ._loop import Poller
from ._wait import CHUNK, Deadline, in_chunks

_MODES = {
    lib.LIBFP_WAKEUP_MODE_MEMBARRIER: "membarrier",
    lib.LIBFP_WAKEUP_MODE_FENCE: "fence",
    lib.LIBFP_WAKEUP_MODE_POLL: "poll",
}

_wakeups: weakref.WeakValueDictionary[int, Wakeup] = weakref.WeakValueDictionary()


@dataclass(frozen=True)
class WakeupStats:
    """fp_wakeup_stats."""

    waiting: int
    bound: int
    sleeps: int
    wakes: int
    spurious: int
    fallback_polls: int
    fd_writes: int
    interrupts: int


class Key:
    """The announcement that prepare() made: for one wait() or cancel().

    A context manager: leaving it cancels what was not used. So does forgetting it.
    """

    __slots__ = ("_core",)

    def __init__(self, wakeup: Any) -> None:
        self._core = ffi.gc(ffi.new("glue_key *"), lib.glue_key_drop)
        failed = lib.glue_wakeup_prepare(wakeup, self._core)
        if failed:
            raise WAKEUP.failure(failed)

    @property
    def is_used(self) -> bool:
        return not self._core.held

    def __enter__(self) -> Key:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        lib.glue_wakeup_cancel(self._core)


class Wakeup(Handle):
    """Sleeping until something happens: an event count that rings and services signal.

    fence  signals contain a memory fence, and sleepers use no membarrier

    The calls that wait release the GIL. On the main thread Ctrl-C ends them within 50 ms. Use as a
    context manager destroys the wake-up at the end.
    """

    __slots__ = ("_poller",)

    _kind = Kind(
        "Wakeup",
        WAKEUP,
        new=lib.glue_wakeup_new,
        drop=lib.glue_wakeup_release,
        forked=lib.glue_wakeup_forked,
    )

    def __init__(self, fence: bool = False) -> None:
        self._begin(lib.glue_wakeup_create, lib.LIBFP_WAKEUP_FENCE if fence else 0)

    def _bind(self, core: Any) -> None:
        self._poller = Poller(self)
        _wakeups[int(ffi.cast("uintptr_t", core))] = self

    @classmethod
    def _of(cls, core: Any) -> Wakeup:
        """The object over a glue_wakeup, of which the caller gives a reference away."""
        core = ffi.gc(core, lib.glue_wakeup_release)
        found = _wakeups.get(int(ffi.cast("uintptr_t", core)))
        if found is None:
            found = cls.__new__(cls)
            found._own(core)
        return found

    # ---- sleeping ----

    def prepare(self) -> Key:
        """Announces that the caller is about to sleep. Look at what is waited for after it.

        A signal that comes from now on ends the wait with this key.
        """
        return Key(self._core)

    def cancel(self, key: Key) -> None:
        """Takes the announcement back."""
        failed = lib.glue_wakeup_cancel(key._core)
        if failed:
            raise WAKEUP.failure(failed)

    def wait(self, key: Key, timeout: float | None = None) -> bool:
        """Sleeps until a signal that came after prepare(); uses the key up.

        False: `timeout` seconds are over. True may be for nothing: look, and wait again. Raises
        Interrupted if interrupt() was called.
        """
        if key._core.wakeup != self._core:
            raise WAKEUP.error(errno.EINVAL, "the key is of another wake-up")
        timeout_ns = nanoseconds(timeout)
        if in_chunks(timeout_ns):
            got = self._wait_in_chunks(key, timeout_ns)
        else:
            got = lib.glue_wakeup_wait(key._core, timeout_ns, 0)
        if got and got != -errno.ETIMEDOUT:
            raise WAKEUP.failure(got)
        return not got

    def _wait_in_chunks(self, key: Key, timeout_ns: int) -> int:
        deadline = Deadline(timeout_ns)
        with key:  # what is left of it when Ctrl-C comes is cancelled
            while True:
                left = deadline.left()
                more = left > CHUNK
                got: int = lib.glue_wakeup_wait(key._core, min(left, CHUNK), more)
                # Not held: no new key could be made; for the caller, to look and wait again.
                if more and got == -errno.ETIMEDOUT and key.is_used:
                    return 0
                if not more or got != -errno.ETIMEDOUT:
                    return got

    def wait_for(self, predicate: Callable[[], object], timeout: float | None = None) -> bool:
        """Sleeps until predicate() is true; calls it at the beginning and after every signal.

        False: `timeout` seconds are over, and it is still false.
        """
        deadline = Deadline(nanoseconds(timeout))
        while not predicate():
            with self.prepare() as key:
                if predicate():
                    break
                left = deadline.left()
                if not self.wait(key, None if timeout is None else left / 1e9):
                    return bool(predicate())
        return True

    async def until(self, predicate: Callable[[], object]) -> None:
        """wait_for() for asyncio: other tasks run meanwhile."""
        await self._poller.wait(predicate)

    # ---- signalling ----

    def signal(self) -> bool:
        """Wakes all that wait. Call it after making what they wait for; bound rings do it.

        Returns whether somebody was waiting.
        """
        return self._look(lib.glue_wakeup_signal) == 1

    def interrupt(self) -> None:
        """Ends every wait in progress with Interrupted, those of bound rings too."""
        self._look(lib.glue_wakeup_interrupt)

    # ---- descriptor ----

    def fileno(self) -> int:
        """The descriptor that a signal makes readable while it is armed; for select and the like.

        One thread at a time arms, looks, polls and clears. Do not read or close it.
        """
        return self._look(lib.glue_wakeup_fd)

    def arm(self) -> None:
        """The next signal writes the descriptor. Look after this call and before polling.

        In mode "poll", poll for at most 10 ms.
        """
        self._look(lib.glue_wakeup_arm)

    def clear(self) -> bool:
        """Ends an arm; the descriptor is not readable then. Returns whether a signal came."""
        return self._look(lib.glue_wakeup_clear) == 1

    # ---- life and inspection ----

    def destroy(self) -> None:
        """Frees the wake-up and closes its descriptor. Again does nothing.

        Raises WakeupBusy, and frees nothing, while a ring is bound to it or somebody waits. A
        wake-up nobody refers to is freed without it, once no ring is bound to it.
        """
        if self._poller.is_busy:
            raise WAKEUP.error(errno.EBUSY, "tasks of an event loop wait on it")
        self._ended(lib.glue_wakeup_destroy)

    @property
    def mode(self) -> str:
        """How it keeps its promise: "membarrier", "fence" or "poll"."""
        return _MODES[self._look(lib.glue_wakeup_mode)]

    @property
    def stats(self) -> WakeupStats:
        return self._read(WakeupStats, "fp_wakeup_stats *", lib.glue_wakeup_get_stats)

    def _interrupts(self) -> int:
        return self._look(lib.glue_wakeup_interrupts)

    def _interrupted(self) -> Interrupted:
        return Interrupted(errno.ECANCELED, "the wait was interrupted")

    def _about(self) -> str:
        return f"mode {self.mode}" if self._core.handle else "wake-up"
