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


class WakeupDestroyed(FpError, ValueError):
    """The wake-up was destroyed, or the service or core that it belonged to (EBADF)."""


class WakeupBusy(FpError):
    """Rings are bound to it, or threads, keys or an event loop wait on it (EBUSY)."""


class ServiceDestroyed(FpError, ValueError):
    """The service or core was destroyed, or its reference given back (EBADF)."""


class ServiceBusy(FpError):
    """A mapping, a run, a reference or another thread is in the way (EBUSY, EALREADY)."""


class WheelDestroyed(FpError, ValueError):
    """The timer wheel was destroyed, or its reference given back (EBADF)."""


class WheelBusy(FpError):
    """Another thread polls or waits, or a reference or a mapped service is in the way (EBUSY)."""


class NoSuchTimer(FpError, ValueError):
    """No timer of this wheel, or it was destroyed (ESTALE)."""


class StillRunning(FpError, BlockingIOError):
    """The order was carried out, but the timer's callback, C's, runs (EINPROGRESS)."""


class NotRunnable(FpError):
    """The service is not started, or not ready (ESHUTDOWN)."""


class TimedOut(FpError, TimeoutError):
    """What was ordered is not over yet: a thread is still inside the service (ETIMEDOUT)."""


class Interrupted(FpError):
    """The wait was ended by interrupt() (ECANCELED). Nothing was taken."""


class TryAgain(FpError, BlockingIOError):
    """A bulk span that a void slot divides: take it without bulk (EAGAIN)."""


class NameTaken(FpError, FileExistsError):
    """A ring, or a pool, of that name exists (EEXIST)."""


class NotFound(FpError, FileNotFoundError):
    """No ring, or no pool, of that name (ENOENT)."""


class NotSupported(FpError):
    """Not possible with this object (EOPNOTSUPP, ENXIO), or newer than this library."""


class NoMemory(FpError, MemoryError):
    """Not enough memory (ENOMEM)."""


class WrongProcess(FpError, ChildProcessError):
    """What the child of a fork cannot use, only destroy (ECHILD).

    That is a pool, a wake-up or a wheel of its parent, a ring that another thread was inside at the
    fork, and waiting for any ring of its parent.
    """


_CLASSES: dict[int, type[FpError]] = {
    errno.EINVAL: InvalidArgument,
    errno.E2BIG: InvalidArgument,
    errno.ENAMETOOLONG: InvalidArgument,
    errno.EPIPE: RingClosed,
    errno.EAGAIN: TryAgain,
    errno.EEXIST: NameTaken,
    errno.ENOENT: NotFound,
    errno.EOPNOTSUPP: NotSupported,
    errno.ENXIO: NotSupported,
    errno.ECANCELED: Interrupted,
    errno.ETIMEDOUT: TimedOut,
    errno.ESHUTDOWN: NotRunnable,
    errno.ENOMEM: NoMemory,
    errno.ECHILD: WrongProcess,
    errno.EFAULT: NoSuchObject,
    errno.ESTALE: NoSuchTimer,
    errno.EINPROGRESS: StillRunning,
    errno.EALREADY: NotInUse,
    errno.EUCLEAN: Overwritten,
}


def invalid(text: str) -> FpError:
    """The exception for an argument that can never be right."""
    return InvalidArgument(errno.EINVAL, text)


class Failures:
    """The exceptions of a part: two classes of its own, and what its glue refuses by itself."""

    def __init__(
        self,
        destroyed: type[FpError],
        busy: type[FpError],
        refusals: dict[int, tuple[int, str]],
        others: dict[int, type[FpError]] | None = None,
    ) -> None:
        self.busy = busy
        self._classes = {**_CLASSES, errno.EBADF: destroyed, errno.EBUSY: busy, **(others or {})}
        self._refusals = refusals

    def error(self, code: int, text: str = "") -> FpError:
        """The exception for an errno value, which may be negative."""
        code = abs(code)
        text = text or ffi.string(lib.fp_strerror(code)).decode()
        return self._classes.get(code, FpError)(code, text)

    def failure(self, code: int) -> Exception:
        """The exception for what a function of the glue returned just now on this thread."""
        if code in self._refusals:
            return self.error(*self._refusals[code])
        if code == lib.GLUE_SIZE:
            return ValueError("the buffer is not a whole number of elements or records")
        return self.error(code, ffi.string(lib.glue_reason()).decode(errors="replace"))


RING = Failures(
    RingDestroyed,
    RingBusy,
    {
        lib.GLUE_DESTROYED: (errno.EBADF, "the ring was destroyed, or its reference given back"),
        lib.GLUE_SIDE_BUSY: (errno.EBUSY, "another thread is inside this ST side"),
        lib.GLUE_IN_USE: (errno.EBUSY, "a thread is inside a call on the ring"),
        lib.GLUE_ENDING: (errno.EBUSY, "a thread is inside destroy, reset or unref"),
        lib.GLUE_NO_INT: (errno.EINVAL, "integers need elements of 8 bytes; use the burst calls"),
        -errno.ENXIO: (errno.ENXIO, "make the ring with wait=True, or bind a Wakeup to this side"),
        lib.GLUE_TORN: (errno.ECHILD, "at the fork another thread was inside the ring"),
    },
)
POOL = Failures(
    PoolDestroyed,
    PoolBusy,
    {
        lib.GLUE_DESTROYED: (errno.EBADF, "the pool was destroyed, or its reference given back"),
        lib.GLUE_FORKED: (errno.ECHILD, "the pool belongs to the parent process"),
    },
)
WAKEUP = Failures(
    WakeupDestroyed,
    WakeupBusy,
    {
        lib.GLUE_DESTROYED: (errno.EBADF, "the wake-up was destroyed"),
        lib.GLUE_IN_USE: (errno.EBUSY, "a thread is inside a call on the wake-up"),
        lib.GLUE_ENDING: (errno.EBUSY, "a thread is inside destroy"),
        lib.GLUE_KEY_USED: (errno.EINVAL, "the key was used by wait or cancel before"),
        -errno.ENXIO: (errno.ENXIO, "arm and clear come after fileno()"),
    },
)
SERVICE = Failures(
    ServiceDestroyed,
    ServiceBusy,
    {
        lib.GLUE_DESTROYED: (errno.EBADF, "it was destroyed, or its reference given back"),
        lib.GLUE_IN_USE: (errno.EBUSY, "a thread is inside a call on it"),
        lib.GLUE_ENDING: (errno.EBUSY, "a thread is inside destroy or unref"),
        lib.GLUE_NOT_OURS: (errno.EOPNOTSUPP, "it is a wheel's, and ends with the wheel"),
    },
    {errno.EALREADY: ServiceBusy},
)
WHEEL = Failures(
    WheelDestroyed,
    WheelBusy,
    {
        lib.GLUE_DESTROYED: (errno.EBADF, "the wheel was destroyed, or its reference given back"),
        lib.GLUE_IN_USE: (errno.EBUSY, "a thread is inside a call on the wheel or its service"),
        lib.GLUE_ENDING: (errno.EBUSY, "a thread is inside destroy, unref, set_wakeup or service"),
        lib.GLUE_FORKED: (errno.ECHILD, "the wheel belongs to the parent process"),
        lib.GLUE_UNALIGNED: (errno.EINVAL, "a buffer does not start at a multiple of its items"),
        -errno.ESTALE: (errno.ESTALE, "no such timer, or it was destroyed"),
        -errno.ENXIO: (errno.ENXIO, "make the wheel with wait=True, or bind a Wakeup to it"),
    },
)
