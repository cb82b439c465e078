# SPDX-License-Identifier: BSD-2-Clause
"""Fast-path rings: bounded FIFO queues that carry bursts of fixed-size elements.

    ring = libfp.Ring(1024)
    ring.enqueue_burst(array.array("Q", range(100)))
    view = ring.dequeue_burst(32)

The same rings as in C: the docstrings say what is Python's, libfp/ring.h has the rest.
"""

from __future__ import annotations

from ._errors import (
    FpError,
    InvalidArgument,
    NameTaken,
    NoMemory,
    NotFound,
    NotSupported,
    RingBusy,
    RingClosed,
    RingDestroyed,
    TryAgain,
    WrongProcess,
)
from ._info import FEATURES, __version__, library_path
from ._ring import MT, ST, Ring, RingStats
from ._span import Span

__all__ = [
    "FEATURES",
    "MT",
    "ST",
    "FpError",
    "InvalidArgument",
    "NameTaken",
    "NoMemory",
    "NotFound",
    "NotSupported",
    "Ring",
    "RingBusy",
    "RingClosed",
    "RingDestroyed",
    "RingStats",
    "Span",
    "TryAgain",
    "WrongProcess",
    "__version__",
    "library_path",
]
