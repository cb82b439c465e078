# SPDX-License-Identifier: BSD-2-Clause
"""Long waits, and Ctrl-C.

libfp's waits are not ended by signals, and Python runs signal handlers on its main thread, between
two calls. So the main thread waits in chunks: a KeyboardInterrupt comes after CHUNK at the latest.
Other threads wait in one call. An interrupt() that falls between two chunks is found by its count.
"""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable

from ._args import FOREVER

CHUNK = 50_000_000  # ns


def in_chunks(timeout_ns: int) -> bool:
    """Whether a wait of that length has to be cut."""
    return timeout_ns > CHUNK and threading.get_ident() == threading.main_thread().ident


class Deadline:
    """How much of a time-out is left."""

    __slots__ = ("_at",)

    def __init__(self, timeout_ns: int) -> None:
        self._at = None if timeout_ns == FOREVER else time.monotonic_ns() + timeout_ns

    def left(self) -> int:
        """In ns; FOREVER stays that."""
        return FOREVER if self._at is None else max(0, self._at - time.monotonic_ns())


def patient(wait: Callable[[int], int], timeout_ns: int, interrupts: Callable[[], int]) -> int:
    """Calls wait, which takes ns and returns 0 on time-out, until it returns something else.

    Returns that, or 0 when the time is over, or -ECANCELED.
    """
    deadline, before = Deadline(timeout_ns), interrupts()
    while True:
        left = deadline.left()
        got = wait(min(left, CHUNK))
        if got or left <= CHUNK:
            return got
        if interrupts() != before:
            return -errno.ECANCELED


def repeated(call: Callable[[int], int], timeout_ns: int) -> int:
    """Gives an order that takes ns and can be given again to wait on, until it is carried out.

    Returns what it returned last: -ETIMEDOUT when the time is over.
    """
    if not in_chunks(timeout_ns):
        return call(timeout_ns)
    deadline = Deadline(timeout_ns)
    while True:
        left = deadline.left()
        got = call(min(left, CHUNK))
        if got != -errno.ETIMEDOUT or left <= CHUNK:
            return got
