# SPDX-License-Identifier: BSD-2-Clause
"""Blocks: objects of a pool in use, and who can reach their memory.

A block's view is the pool's memory. Once the block is put that memory belongs to others, so no
view of it may be left. The view that the block handed out is released, after which it raises
ValueError. Slices and NumPy arrays made from it cannot be taken away from their owner: as long as
one exists, put raises BufferError and the object stays in use.

How we know: every view, slice and array keeps the buffer object alive that they were made from,
that keeps a pointer alive (a "pin"), and the pointer's destructor tells the block. The destructor
also holds block and pool, so that memory which somebody can reach is neither put nor freed.
"""

from __future__ import annotations

import errno
import functools
import itertools
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from ._errors import POOL
from ._libfp import ffi, lib

if TYPE_CHECKING:
    from ._pool import Pool

_numbers = itertools.count()


def pinned(pool: Pool, block: Block | None, address: int) -> Any:
    """A pointer that counts as a pin of the pool, and of the block, until it is collected."""
    number = next(_numbers)
    pool._pins.add(number)
    if block is not None:
        block._pins.add(number)
    pointer = ffi.cast("char *", address)
    return ffi.gc(pointer, functools.partial(_unpin, pool, block, number))


def _unpin(pool: Pool, block: Block | None, number: int, _pointer: Any) -> None:
    pool._pins.discard(number)
    if block is not None:
        block._pins.discard(number)
        if block._orphan:
            block._forget()


class Block:
    """An object in use; made by Pool.get(), Pool.get_bulk() and Pool.adopt().

    A context manager: leaving it puts the block, if that was not done. A block that nobody
    refers to any more, nor to memory of it, is put.
    """

    __slots__ = ("index", "_pool", "_open", "_pins", "_view", "_orphan", "__weakref__")

    index: int  # 0 to capacity - 1: what other languages and rings know the object by

    _give = lib.glue_pool_give  # still here when modules are taken down

    def __init__(self, pool: Pool, index: int) -> None:
        self.index = index
        self._pool = pool
        self._open = [True]  # popping it decides between two puts
        self._pins: set[int] = set()
        self._view: weakref.ref[memoryview] | None = None
        self._orphan = False

    @property
    def view(self) -> memoryview:
        """The object's bytes, writable; dead once the block is put.

        Its first contents are what the last user left, or zeroes; see checked=True. Keep it in
        a variable where speed counts: while it lives it is handed out again.
        """
        view = self._live_view()
        if view is None:
            pool = self._pool
            pin = pinned(pool, self, pool.base + self.index * pool.stride)
            view = memoryview(ffi.buffer(pin, pool.object_size))
            del pin
            self._view = weakref.ref(view)
        # A put or destroy on another thread saw the pin, or we see that it came.
        if self._open and self._pool._open:
            return view
        del view
        raise self._pool._gone() if self._open else self._gone()

    def _live_view(self) -> memoryview | None:
        """The view that was handed out, if its owner neither dropped nor released it."""
        view = None if self._view is None else self._view()
        try:
            return view if view is not None and view.nbytes else None
        except ValueError:
            return None

    @property
    def is_open(self) -> bool:
        """Whether the object is still this block's: not put, not detached."""
        return bool(self._open)

    def detach(self) -> int:
        """Ends the block and returns its index; the object stays in use.

        For indexes that go elsewhere, say through a ring: whoever gets one puts it
        (Pool.put_indexes()) or makes a block of it again (Pool.adopt()). Raises BufferError as
        Pool.put() does.
        """
        self._end()
        return self.index

    def _gone(self) -> Exception:
        return POOL.error(errno.EALREADY, f"block {self.index} was put or detached")

    def _end(self) -> None:
        """Makes this thread the one that puts; undone by _reopen()."""
        try:
            self._open.pop()
        except IndexError:
            raise self._gone() from None
        view = self._live_view()
        if view is not None:
            try:
                view.release()
            except BufferError:
                pass  # the pin of who uses it remains
            del view
        if self._pins:
            self._reopen()
            raise BufferError(f"slices or arrays made from the view of block {self.index} "
                              "still exist")  # fmt: skip

    def _reopen(self) -> None:
        self._open.append(True)

    def _forget(self) -> None:
        """Puts it, now or when the last pin goes; nobody can be told of an error."""
        self._orphan = True
        if self._pins:
            return
        try:
            self._open.pop()
        except IndexError:
            return
        self._give(self._pool._core, self.index)

    def __del__(self) -> None:
        self._forget()

    def __enter__(self) -> Block:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._open:
            return
        try:
            self._pool.put(self)
        except BufferError:
            if kind is None:
                raise
            # Views in the traceback keep it: it is put with the last of them.

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Block belongs to its pool: it cannot be copied or pickled")

    def __repr__(self) -> str:
        gone = "" if self._open else ", put or detached"
        return f"<libfp.Block {self.index} of {self._pool!r}{gone}>"
