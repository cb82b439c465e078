# SPDX-License-Identifier: BSD-2-Clause
"""Waits of asyncio tasks: one descriptor per wake-up, however many tasks and rings.

A wake-up has one arm, so one loop at a time may poll it; the Poller of the wake-up holds the waits
of that loop. While it has some, the wake-up's descriptor is a reader of the loop, and it is armed
whenever a task is not known to be ready: arm, look again, let the loop poll, clear, look again.
"""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from ._errors import WAKEUP

if TYPE_CHECKING:
    from ._wakeup import Wakeup

_POLL = 0.01  # seconds: the limit of mode "poll"


class _Wait:
    __slots__ = ("ready", "future", "interrupts")

    def __init__(
        self, ready: Callable[[], object], future: asyncio.Future[None], interrupts: int
    ) -> None:
        self.ready = ready
        self.future = future
        self.interrupts = interrupts  # how many there had been when it began

    def end(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


class Poller:
    """The waits of one event loop on one wake-up."""

    __slots__ = ("_wakeup", "_loop", "_waits", "_reading", "_armed", "_timer", "_lock")

    def __init__(self, wakeup: Wakeup) -> None:
        self._wakeup = wakeup
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waits: list[_Wait] = []
        self._reading = -1  # the descriptor, while the loop reads it
        self._armed = False
        self._timer: asyncio.TimerHandle | None = None
        self._lock = threading.Lock()

    @property
    def is_busy(self) -> bool:
        return bool(self._waits) and not (self._loop is None or self._loop.is_closed())

    async def wait(self, ready: Callable[[], object], delay: float | None = None) -> None:
        """Returns once ready() is true; calls it now and after every signal.

        delay: returns after so many seconds in any case.
        """
        if ready():
            return
        wait = self._join(ready)
        timer = None
        if delay is not None:
            timer = asyncio.get_running_loop().call_later(delay, wait.end)
        try:
            self._begin()
            await wait.future
        finally:
            if timer is not None:
                timer.cancel()
            self._drop(wait)

    def _join(self, ready: Callable[[], object]) -> _Wait:
        loop = asyncio.get_running_loop()
        wait = _Wait(ready, loop.create_future(), self._wakeup._interrupts())
        with self._lock:
            if loop is not self._loop:
                if self.is_busy:
                    raise WAKEUP.error(errno.EBUSY, "tasks of another event loop wait on it")
                self._loop = loop
                self._waits, self._reading, self._armed = [], -1, False
            self._waits.append(wait)
        return wait

    def _drop(self, wait: _Wait) -> None:
        if wait not in self._waits:
            return  # its loop was closed without it, and another loop came
        self._waits.remove(wait)
        if not self._waits and self._loop is not None and not self._loop.is_closed():
            self._end(self._loop)

    def _begin(self) -> None:
        assert self._loop is not None
        if self._reading < 0:
            fd = self._wakeup.fileno()
            self._loop.add_reader(fd, self._wake)
            self._reading = fd
        self._arm()
        self._look()

    def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        """The last wait is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._reading >= 0:
            loop.remove_reader(self._reading)
            self._reading = -1
        if self._armed:
            self._armed = False
            self._wakeup.clear()

    def _arm(self) -> None:
        if self._armed:
            return
        self._wakeup.arm()
        self._armed = True
        if self._wakeup.mode == "poll" and self._loop is not None:
            self._timer = self._loop.call_later(_POLL, self._wake)

    def _wake(self) -> None:
        """The descriptor is readable, or the limit of mode "poll" is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._wakeup.clear()
        self._armed = False
        if self._look():
            self._arm()
            self._look()

    def _look(self) -> bool:
        """Ends the waits that are ready. Returns whether others are left."""
        interrupts, left = self._wakeup._interrupts(), False
        for wait in self._waits:
            if wait.future.done():
                continue
            try:
                if wait.ready():
                    wait.end()
                elif wait.interrupts != interrupts:
                    wait.future.set_exception(self._wakeup._interrupted())
                else:
                    left = True
            except Exception as failed:  # of ready(): it is the task's
                wait.future.set_exception(failed)
        return left
