# SPDX-License-Identifier: BSD-2-Clause
"""Fast-path rings, pools, wake-ups, services and timers.

    ring = libfp.Ring(1024)
    ring.enqueue_burst(array.array("Q", range(100)))
    view = ring.dequeue_burst(32)

    pool = libfp.Pool(1024, object_size=2048)
    with pool.get() as block:
        block.view[:5] = b"hello"

    wheel = libfp.TimerWheel()
    wheel.arm(wheel.create_timer(user=7), wheel.now() + wheel.ticks_from_ns(10**6))

The same objects as in C: the docstrings say what is Python's, libfp/ring.h, mempool.h, wakeup.h,
service.h and timer.h have the rest.
"""

from __future__ import annotations

from ._block import Block
from ._core import CoreStats, ServiceCore
from ._errors import (
    FpError,
    Interrupted,
    InvalidArgument,
    NameTaken,
    NoMemory,
    NoSuchObject,
    NoSuchTimer,
    NotFound,
    NotInUse,
    NotRunnable,
    NotSupported,
    Overwritten,
    PoolBusy,
    PoolDestroyed,
    RingBusy,
    RingClosed,
    RingDestroyed,
    ServiceBusy,
    ServiceDestroyed,
    StillRunning,
    TimedOut,
    TryAgain,
    WakeupBusy,
    WakeupDestroyed,
    WheelBusy,
    WheelDestroyed,
    WrongProcess,
)
from ._info import FEATURES, __version__, library_path
from ._pool import Leak, Pool, PoolStats
from ._record import TimerInfo, TimerRecord, WheelStats
from ._ring import CONSUMER, MT, PRODUCER, ST, Ring, RingStats
from ._service import MapStats, Service, ServiceStats
from ._span import Span
from ._timer import TimerWheel
from ._wakeup import Key, Wakeup, WakeupStats

__all__ = [
    "CONSUMER",
    "FEATURES",
    "MT",
    "PRODUCER",
    "ST",
    "Block",
    "CoreStats",
    "FpError",
    "Interrupted",
    "InvalidArgument",
    "Key",
    "Leak",
    "MapStats",
    "NameTaken",
    "NoMemory",
    "NoSuchObject",
    "NoSuchTimer",
    "NotFound",
    "NotInUse",
    "NotRunnable",
    "NotSupported",
    "Overwritten",
    "Pool",
    "PoolBusy",
    "PoolDestroyed",
    "PoolStats",
    "Ring",
    "RingBusy",
    "RingClosed",
    "RingDestroyed",
    "RingStats",
    "Service",
    "ServiceBusy",
    "ServiceCore",
    "ServiceDestroyed",
    "ServiceStats",
    "Span",
    "StillRunning",
    "TimedOut",
    "TimerInfo",
    "TimerRecord",
    "TimerWheel",
    "TryAgain",
    "Wakeup",
    "WakeupBusy",
    "WakeupDestroyed",
    "WakeupStats",
    "WheelBusy",
    "WheelDestroyed",
    "WheelStats",
    "WrongProcess",
    "__version__",
    "library_path",
]
