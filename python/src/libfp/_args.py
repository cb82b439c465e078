# SPDX-License-Identifier: BSD-2-Clause
"""Arguments: checked and brought into the form that C takes."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Protocol, Union

from ._errors import invalid
from ._libfp import ffi, lib

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

    class _Array(Protocol):
        """NumPy arrays and their like."""

        @property
        def __array_interface__(self) -> dict[str, Any]: ...

    # Anything with C-contiguous memory.
    Readable = Union[ReadableBuffer, _Array]
    Writable = Union[WriteableBuffer, _Array]

_BURST_MAX = 2**31 - 1
FOREVER: int = lib.LIBFP_FOREVER
_LONG = 1e9  # seconds: 30 years

# Formats of integers of 4 or 8 bytes in this machine's order.
_INTEGERS = frozenset(order + code for order in ("", "@", "=", "<") for code in "iIlLqQnN")


def u32(value: int, what: str) -> int:
    value = operator.index(value)
    if not 0 <= value < 2**32:
        raise invalid(f"{what} is {value}, not an unsigned 32-bit number")
    return value


def burst(n: int) -> int:
    n = operator.index(n)
    if not 0 <= n <= _BURST_MAX:
        raise invalid(f"n is {n}, not 0 to {_BURST_MAX}")
    return n


def integers(buffer: Any, what: str) -> int:
    """Bytes of each integer in a buffer: 4 or 8."""
    view = memoryview(buffer)
    if view.format in _INTEGERS:
        return view.itemsize
    wrong = view.format
    del view  # not to be held by the traceback
    raise TypeError(f"{what} are integers of 4 or 8 bytes, not of format {wrong!r}")


def encoded(name: str | None) -> Any:
    if name is None:
        return ffi.NULL
    raw = name.encode()
    if b"\0" in raw:
        raise invalid("a name cannot hold a NUL")
    return raw


def flags(stats: bool, checked: bool, huge: bool, prefault: bool, numa_node: int | None) -> int:
    """The option flags that all objects of libfp share."""
    bits: int = 0
    for wanted, bit in (
        (stats, lib.LIBFP_STATS),
        (checked, lib.LIBFP_CHECKED),
        (huge, lib.LIBFP_MEM_HUGE),
        (prefault, lib.LIBFP_MEM_PREFAULT),
        (numa_node is not None, lib.LIBFP_MEM_NODE),
    ):
        bits |= bit if wanted else 0
    return bits


def nanoseconds(timeout: float | None) -> int:
    """A time-out in seconds as C takes it: rounded up, None is without limit."""
    if timeout is None:
        return FOREVER
    if not timeout >= 0:
        raise invalid(f"a time-out of {timeout} seconds")
    return math.ceil(timeout * 1e9) if timeout < _LONG else FOREVER
