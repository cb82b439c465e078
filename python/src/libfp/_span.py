# SPDX-License-Identifier: BSD-2-Clause
"""Spans: slots of a ring that are read or written in place.

A span's memoryviews are the ring's memory. Once the span is committed that memory belongs to
others, so no view of it may be left. The views that the span handed out are released, after which
they raise ValueError. Slices and NumPy arrays made from them cannot be taken away from their
owner: as long as one exists, commit raises BufferError and changes nothing.

How we know: every view, slice and array keeps the buffer object alive that they were made from,
that keeps a pointer alive (a "pin"), and the pointer's destructor tells the lease. The lease also
holds the ring, so that memory which somebody can reach is never freed.
"""

from __future__ import annotations

import functools
import itertools
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._errors import RING, InvalidArgument, invalid
from ._libfp import ffi, lib

if TYPE_CHECKING:
    from ._ring import Ring

_FORMATS = {4: "I", 8: "Q"}


def shaped(view: memoryview, elem_size: int) -> memoryview:
    """Integers where the elements have the size of one, else bytes."""
    code = _FORMATS.get(elem_size)
    return view.cast(code) if code else view


class _Lease:
    """A reservation, as long as it is open or somebody can reach its memory."""

    __slots__ = ("ring", "core", "side", "raw", "given_up", "pins", "orphan", "_commit")

    _numbers = itertools.count()

    def __init__(self, ring: Ring, core: Any, side: int, raw: Any, given_up: int) -> None:
        self.ring = ring
        self.core = core
        self.side = side
        self.raw = raw
        self.given_up = given_up  # how many to commit if nobody says
        self.pins: set[int] = set()
        self.orphan = False
        self._commit = lib.glue_commit  # still here when modules are taken down

    def pin(self, pointer: Any) -> Any:
        """A pointer that counts as a pin until it is collected."""
        number = next(self._numbers)
        self.pins.add(number)
        return ffi.gc(pointer, functools.partial(self._unpin, number))

    def _unpin(self, number: int, _pointer: Any) -> None:
        self.pins.discard(number)
        if self.orphan and not self.pins:
            self.give_up()

    def commit(self, k: int) -> int:
        got: int = self._commit(self.core, self.side, self.raw, k)
        return got

    def give_up(self) -> None:
        """Ends it now, or when the last view goes."""
        self.orphan = bool(self.pins)
        if not self.orphan:
            self.commit(self.given_up)


class Span:
    """Reserved slots; made by Ring.reserve() and Ring.reserve_dequeue().

    A context manager: leaving it commits what was not committed, all of it. With an exception
    nothing is committed: slots to write are given up, elements to read stay in the ring (on an MT
    consumer side they cannot stay, and are taken). A span that is forgotten ends like that too.
    """

    __slots__ = ("_count", "_elem_size", "_leases", "_views")

    def __init__(self, ring: Ring, core: Any, side: int, raw: Any, given_up: int) -> None:
        self._count: int = raw.n1 + raw.n2
        self._elem_size = ring.elem_size
        # The lease while it is open; popping it decides between two commits.
        self._leases: list[_Lease] = []
        self._views: tuple[memoryview, ...] | None = None
        if self._count:
            self._leases.append(_Lease(ring, core, side, raw, given_up))

    def __len__(self) -> int:
        """How many elements were reserved; 0: there is nothing to commit."""
        return self._count

    @property
    def views(self) -> tuple[memoryview, ...]:
        """The slots in order: no, one or two memoryviews (two where the ring wraps).

        Their format is that of Ring.dequeue_burst(). Those of elements to read are read-only.
        """
        if self._views is None:
            self._views = tuple(self._make_views())
        return self._views

    def _make_views(self) -> Any:
        if not self._count:
            return
        lease = self._lease()
        for pointer, n in ((lease.raw.ptr1, lease.raw.n1), (lease.raw.ptr2, lease.raw.n2)):
            if n:
                pinned = lease.pin(pointer)
                self._lease()  # a commit on another thread saw the pin, or we see the commit
                memory = ffi.buffer(pinned, n * self._elem_size)
                view = shaped(memoryview(memory), self._elem_size)
                yield view if lease.side == lib.GLUE_PRODUCER else view.toreadonly()

    def _lease(self) -> _Lease:
        try:
            return self._leases[0]
        except IndexError:
            raise invalid("the span was committed") from None

    def _release_views(self) -> None:
        views, self._views = self._views, None
        for view in views or ():
            try:
                view.release()
            except BufferError:
                pass  # the pin of who uses it remains

    def commit(self, k: int | None = None) -> int:
        """Publishes or takes the first k elements (default: all), gives up the rest. Once.

        Raises BufferError, and leaves the span open, while slices or NumPy arrays made from
        `views` exist; get new `views` then.
        """
        if k is None:
            k = self._count
        if not self._count and k == 0:
            return 0
        lease = self._lease()
        if not 0 <= k <= self._count:
            raise invalid(f"k is {k}, not 0 to {self._count}")
        if lease.given_up and k != self._count:
            raise invalid("an MT consumer commits all that it reserved")
        try:
            self._leases.remove(lease)
        except ValueError:
            raise invalid("the span was committed") from None
        self._release_views()
        if lease.pins:
            self._leases.append(lease)
            raise BufferError("slices or arrays made from the span's views still exist")
        got = lease.commit(k)
        if got < 0:
            failed = RING.failure(got)
            if not isinstance(failed, (BrokenPipeError, InvalidArgument)):
                self._leases.append(lease)  # refused: it is still open
            raise failed
        return got

    def _give_up(self) -> None:
        self._release_views()
        try:
            lease = self._leases.pop()
        except IndexError:
            return
        lease.give_up()

    def __enter__(self) -> Span:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._give_up()
        elif self._leases:
            self.commit()

    def __del__(self) -> None:
        self._give_up()
