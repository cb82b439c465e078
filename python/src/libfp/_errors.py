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


class PoolDestroyed(FpError, ValueError):
    """The pool was destroyed, or its reference given back (EBADF)."""


class PoolBusy(FpError):
    """Objects in use, arrays, a reference or another thread are in the way (EBUSY)."""

    in_use: int = 0  # how many objects were in use, if destroy() was refused


class NoSuchObject(FpError, ValueError):
    """Not an object of this pool (EFAULT)."""


class NotInUse(FpError, ValueError):
    """The object was put already (EALREADY)."""


class Overwritten(FpError):
    """An object was written to beyond its ends, or after its put; or a pool is damaged (EUCLEAN)."""


class TryAgain(FpError, BlockingIOError):
    """A bulk span that a void slot divides: take it without bulk (EAGAIN)."""


class NameTaken(FpError, FileExistsError):
    """A ring, or a pool, of that name exists (EEXIST)."""


class NotFound(FpError, FileNotFoundError):
    """No ring, or no pool, of that name (ENOENT)."""


class NotSupported(FpError):
    """Not possible with this object, or newer than this library (EOPNOTSUPP)."""


class NoMemory(FpError, MemoryError):
    """Not enough memory (ENOMEM)."""


class WrongProcess(FpError, ChildProcessError):
    """What the child of a fork cannot use, only destroy (ECHILD).

    That is a pool of its parent, or a ring that another thread was inside at the fork.
    """


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
    errno.EFAULT: NoSuchObject,
    errno.EALREADY: NotInUse,
    errno.EUCLEAN: Overwritten,
}
_POOL_CLASSES = {**_CLASSES, errno.EBADF: PoolDestroyed, errno.EBUSY: PoolBusy}

_GATES: dict[int, tuple[int, str]] = {
    lib.GLUE_DESTROYED: (errno.EBADF, "the ring was destroyed, or its reference given back"),
    lib.GLUE_SIDE_BUSY: (errno.EBUSY, "another thread is inside this ST side"),
    lib.GLUE_IN_USE: (errno.EBUSY, "a thread is inside a call on the ring"),
    lib.GLUE_ENDING: (errno.EBUSY, "a thread is inside destroy, reset or unref"),
    lib.GLUE_NO_INT: (errno.EINVAL, "integers need elements of 8 bytes; use the burst calls"),
    lib.GLUE_TORN: (errno.ECHILD, "at the fork another thread was inside the ring"),
}
_POOL_GATES: dict[int, tuple[int, str]] = {
    lib.GLUE_DESTROYED: (errno.EBADF, "the pool was destroyed, or its reference given back"),
    lib.GLUE_FORKED: (errno.ECHILD, "the pool belongs to the parent process"),
}


def error(code: int, text: str = "") -> FpError:
    """The exception for an errno value, which may be negative."""
    return _make(_CLASSES, code, text)


def pool_error(code: int, text: str = "") -> FpError:
    """The same for a pool."""
    return _make(_POOL_CLASSES, code, text)


def _make(classes: dict[int, type[FpError]], code: int, text: str) -> FpError:
    code = abs(code)
    text = text or ffi.string(lib.fp_strerror(code)).decode()
    return classes.get(code, FpError)(code, text)


def _reason() -> str:
    reason: str = ffi.string(lib.glue_reason()).decode(errors="replace")
    return reason


def failure(code: int) -> Exception:
    """The exception for what a function of _glue.c returned just now on this thread."""
    if code in _GATES:
        return error(*_GATES[code])
    if code == lib.GLUE_SIZE:
        return ValueError("the buffer is not a whole number of elements")
    return error(code, _reason())


def pool_failure(code: int) -> FpError:
    """The exception for what a function of _glue_pool.c returned just now on this thread."""
    if code in _POOL_GATES:
        return pool_error(*_POOL_GATES[code])
    return pool_error(code, _reason())
