# SPDX-License-Identifier: BSD-2-Clause
"""Exceptions: every status code of libfp is an FpError with that errno.

Each is also the standard exception that a Python programmer would expect, so `except ValueError`
or `except BrokenPipeError` work as usual.
"""

from __future__ import annotations

import errno

from ._libfp import ffi, lib


class FpError(OSError):
    """A call that libfp refused; `errno` has the code. Nothing was changed."""


class InvalidArgument(FpError, ValueError):
    """An argument that can never be right (EINVAL, E2BIG, ENAMETOOLONG)."""


class RingDestroyed(FpError, ValueError):
    """The ring was destroyed, or its reference given back (EBADF)."""


class RingClosed(FpError, BrokenPipeError):
    """The producing side has ended; when dequeuing: and everything was taken (EPIPE)."""


class RingBusy(FpError):
    """Another thread, a span or a reference is in the way (EBUSY)."""


class TryAgain(FpError, BlockingIOError):
    """A bulk span that a void slot divides: take it without bulk (EAGAIN)."""


class NameTaken(FpError, FileExistsError):
    """A ring of that name exists (EEXIST)."""


class NotFound(FpError, FileNotFoundError):
    """No ring of that name (ENOENT)."""


class NotSupported(FpError):
    """Not possible with this ring, or newer than this library (EOPNOTSUPP)."""


class NoMemory(FpError, MemoryError):
    """Not enough memory (ENOMEM)."""


class WrongProcess(FpError, ChildProcessError):
    """At the fork another thread was inside the ring; a child can only destroy it (ECHILD)."""


_CLASSES: dict[int, type[FpError]] = {
    errno.EINVAL: InvalidArgument,
    errno.E2BIG: InvalidArgument,
    errno.ENAMETOOLONG: InvalidArgument,
    errno.EBADF: RingDestroyed,
    errno.EPIPE: RingClosed,
    errno.EBUSY: RingBusy,
    errno.EAGAIN: TryAgain,
    errno.EEXIST: NameTaken,
    errno.ENOENT: NotFound,
    errno.EOPNOTSUPP: NotSupported,
    errno.ENOMEM: NoMemory,
    errno.ECHILD: WrongProcess,
}

_GATES: dict[int, tuple[int, str]] = {
    lib.GLUE_DESTROYED: (errno.EBADF, "the ring was destroyed, or its reference given back"),
    lib.GLUE_SIDE_BUSY: (errno.EBUSY, "another thread is inside this ST side"),
    lib.GLUE_IN_USE: (errno.EBUSY, "a thread is inside a call on the ring"),
    lib.GLUE_ENDING: (errno.EBUSY, "a thread is inside destroy, reset or unref"),
    lib.GLUE_NO_INT: (errno.EINVAL, "integers need elements of 8 bytes; use the burst calls"),
    lib.GLUE_TORN: (errno.ECHILD, "at the fork another thread was inside the ring"),
}


def error(code: int, text: str = "") -> FpError:
    """The exception for an errno value, which may be negative."""
    code = abs(code)
    text = text or ffi.string(lib.fp_strerror(code)).decode()
    return _CLASSES.get(code, FpError)(code, text)


def failure(code: int) -> Exception:
    """The exception for what a function of _glue.c returned just now on this thread."""
    if code in _GATES:
        return error(*_GATES[code])
    if code == lib.GLUE_SIZE:
        return ValueError("the buffer is not a whole number of elements")
    return error(code, ffi.string(lib.glue_reason()).decode(errors="replace"))
