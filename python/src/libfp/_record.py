# SPDX-License-Identifier: BSD-2-Clause
"""What polls and lists of a timer wheel deliver.

TimerRecord is one definition for everybody: a ctypes structure, so arrays of it need no NumPy, and
NumPy takes it for a dtype (numpy.dtype(libfp.TimerRecord)) and its arrays without a copy.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._libfp import ffi, lib

POLICIES: dict[str, int] = {
    "skip": lib.LIBFP_TIMER_SKIP,
    "coalesce": lib.LIBFP_TIMER_COALESCE,
    "catch_up": lib.LIBFP_TIMER_CATCH_UP,
}
_POLICY_NAMES = {number: name for name, number in POLICIES.items()}


class TimerRecord(ctypes.Structure):
    """A timer that has fired: fp_timer_record."""

    _fields_ = [
        ("id", ctypes.c_uint64),
        ("user", ctypes.c_uint64),
        ("expiry_tick", ctypes.c_uint64),  # what it was armed for
        ("overruns", ctypes.c_uint32),  # periods that are not delivered, or wait to be
        ("flags", ctypes.c_uint32),
    ]

    if TYPE_CHECKING:
        id: int
        user: int
        expiry_tick: int
        overruns: int
        flags: int

    @property
    def is_periodic(self) -> bool:
        return bool(self.flags & lib.LIBFP_TIMER_IS_PERIODIC)

    def __repr__(self) -> str:
        late = f", {self.overruns} overruns" if self.overruns else ""
        return f"<libfp.TimerRecord {self.id:#x}: user {self.user}, tick {self.expiry_tick}{late}>"


RECORD_SIZE = ctypes.sizeof(TimerRecord)
assert ffi.sizeof("fp_timer_record") == RECORD_SIZE


@dataclass(frozen=True)
class TimerInfo:
    """fp_timer_info: a timer, as TimerWheel.timers() lists it."""

    id: int
    user: int
    expiry_tick: int | None  # None: it is not armed
    period_ticks: int | None  # None: it is not periodic
    policy: str | None  # if periodic: "skip", "coalesce" or "catch_up"


def timer_info(raw: Any) -> TimerInfo:
    """From a C fp_timer_info."""
    periodic = raw.flags & lib.LIBFP_TIMER_IS_PERIODIC
    return TimerInfo(
        raw.id,
        raw.user,
        raw.expiry_tick if raw.flags & lib.LIBFP_TIMER_IS_ARMED else None,
        raw.period_ticks if periodic else None,
        _POLICY_NAMES[raw.policy] if periodic else None,
    )


@dataclass(frozen=True)
class WheelStats:
    """fp_timer_wheel_stats; exact while no other call runs."""

    timers: int
    max_timers: int
    arms: int
    rearms: int
    cancelled: int
    fired: int
    expired: int
    overruns: int
    late_max: int
    polls: int
    entries_moved: int
    entries_moved_max: int
    memory: int
    memory_used: int
    counted: bool  # arms, rearms and cancelled are kept (stats=True)
