# SPDX-License-Identifier: BSD-2-Clause
"""Pool, the Python object over an fp_mempool.

Every method is one call into _glue_pool.c, which releases the GIL and lets one thread at a time in.
"""

from __future__ import annotations

import errno
import functools
import operator
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._args import burst, encoded, flags, integers, u32
from ._block import Block, pinned
from ._errors import POOL, PoolBusy, invalid
from ._handle import Named, NamedKind
from ._libfp import ffi, lib

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    from ._args import Readable, Writable

# The path of a get and a put: bound once, because at this speed a look-up counts.
_CHARS = ffi.typeof("char[]")
_from_buffer = ffi.from_buffer
_new = ffi.new
_take = lib.glue_pool_take
_give = lib.glue_pool_give
_get = lib.glue_pool_get
_put = lib.glue_pool_put
_NONE_LEFT = lib.GLUE_NONE_LEFT
_failure = POOL.failure


@dataclass(frozen=True)
class PoolStats:
    """fp_mempool_stats; exact when no call is in progress."""

    capacity: int
    available: int
    in_use: int
    in_depot: int
    in_own_cache: int  # of this thread's code in C; Pool.cached says what this object holds
    in_other_caches: int
    in_explicit_caches: int  # those of Python objects among them
    thread_caches: int
    explicit_caches: int
    gets: int
    objects_got: int
    puts: int
    objects_put: int
    failures: int
    cache_hits: int
    depot_exchanges: int
    misuses: int
    counted: bool  # gets to depot_exchanges are kept (stats=True)


@dataclass(frozen=True)
class Leak:
    """An object in use, as Pool.leaks() lists it."""

    index: int
    thread: int  # kernel id (threading.get_native_id()) of the thread that got it
    tag: int  # of Pool.set_tag(); 0: none
    since_ns: int  # time.monotonic_ns() of the get
    age_ns: int


def _drop(core: Any, drop: Any = lib.glue_pool_drop, warn: Any = warnings.warn) -> None:
    """The pool and all that was made from it are gone."""
    in_use = drop(core)
    if in_use:
        warn(f"a libfp.Pool was dropped with {in_use} objects in use: its memory stays",
             ResourceWarning)  # fmt: skip


class Pool(Named):
    """`count` objects of `object_size` bytes in one block of memory.

    count        1 to 2**31 - 1
    object_size  1 and up
    name         for Pool.lookup(), unique in the process; at most 63 bytes
    stats        count calls
    checked      detect misuse, list leaks; a debug mode, slower
    align        of each object: a power of two up to 4096
    cache_size   objects that this Python object keeps at hand, and each C thread for itself; None:
                 an eighth of the pool, at most 512
    huge, prefault, numa_node
                 hints for the memory

    Any thread may get and put. Those that share one Python object take turns; objects at hand in
    one are out of reach for C code and for other Python objects on the same pool until flush().
    An exhausted pool is None, an empty list or 0, never an exception. Use as a context manager
    destroys the pool at the end.
    """

    __slots__ = ("_open", "_pins", "capacity", "object_size", "stride", "base", "cache_size")

    _kind = NamedKind(
        "Pool",
        POOL,
        new=functools.partial(ffi.new, "glue_pool *"),
        drop=_drop,
        lookup=lib.glue_pool_lookup,
        unref=lib.glue_pool_unref,
        forked=lib.glue_pool_forked,
        name_of=lib.fp_mempool_name,
    )

    capacity: int
    object_size: int
    stride: int  # bytes from one object to the next
    base: int  # address of object 0; the memory is gone after destroy()
    cache_size: int  # objects that each C thread keeps for itself at most; 0: none

    def __init__(
        self,
        count: int,
        object_size: int,
        name: str | None = None,
        stats: bool = False,
        checked: bool = False,
        *,
        align: int = 8,
        cache_size: int | None = None,
        huge: bool = False,
        prefault: bool = False,
        numa_node: int | None = None,
    ) -> None:
        if cache_size == 0 or align == 0:
            raise invalid("cache_size and align are at least 1")
        self._begin(
            lib.glue_pool_create,
            encoded(name),
            u32(count, "count"),
            u32(object_size, "object_size"),
            u32(align, "align"),
            u32(cache_size or 0, "cache_size"),
            flags(stats, checked, huge, prefault, numa_node),
            u32(numa_node or 0, "numa_node"),
        )

    def _bind(self, core: Any) -> None:
        pool = core.handle
        self._open = [True]  # taken out while somebody destroys
        self._pins: set[int] = set()
        self.capacity = lib.fp_mempool_capacity(pool)
        self.object_size = lib.fp_mempool_object_size(pool)
        self.stride = lib.fp_mempool_stride(pool)
        self.cache_size = lib.fp_mempool_cache_size(pool)
        self.base = int(ffi.cast("uintptr_t", lib.fp_mempool_base(pool)))

    # ---- blocks ----

    def get(self) -> Block | None:
        """Gets one object, the most recently put first. None: there is none."""
        index = _take(self._core)
        if index < 0:
            if index == _NONE_LEFT:
                return None
            raise _failure(index)
        return Block(self, index)

    def put(self, block: Block) -> None:
        """Puts the block's object back; its view is dead afterwards.

        Raises BufferError, and leaves the object in use, while slices or NumPy arrays made from
        the view exist; get a new `view` then. NotInUse: it was put before.
        """
        self._owns(block)
        block._end()
        failed = _give(self._core, block.index)
        if failed:
            refused = _failure(failed)
            if failed != -errno.EALREADY:
                block._reopen()
            raise refused

    def get_bulk(self, n: int) -> list[Block]:
        """Gets n blocks, or none (an empty list)."""
        return [Block(self, index) for index in self.get_indexes(n)]

    def put_bulk(self, blocks: Iterable[Block]) -> int:
        """Puts all blocks and returns how many; with an exception, as for put(), none."""
        ended: list[Block] = []
        try:
            for block in blocks:
                self._owns(block)
                block._end()
                ended.append(block)
            room = _new("uint32_t[]", [block.index for block in ended])
            put: int = _put(self._core, room, len(ended), 4)
            if put < 0:
                raise _failure(put)
        except BaseException:
            for block in ended:
                block._reopen()
            raise
        return put

    def adopt(self, index: int) -> Block:
        """A block for an object in use that only this index stands for; see Block.detach()."""
        index = operator.index(index)
        self.address_of(index)
        return Block(self, index)

    def _owns(self, block: Block) -> None:
        if not isinstance(block, Block):
            raise TypeError(f"not a Block but a {type(block).__name__}")
        pool = block._pool
        if pool is not self and (pool.base, pool.stride) != (self.base, self.stride):
            raise POOL.error(errno.EFAULT, "a block of another pool")

    # ---- indexes ----

    def get_indexes(self, n: int) -> memoryview:
        """Gets n objects, or none (an empty memoryview), as indexes in new memory (format "I")."""
        if burst(n) > self.capacity:
            raise invalid(f"{n} objects of a pool of {self.capacity}")
        room = bytearray(4 * n)
        got = _get(self._core, _from_buffer(_CHARS, room, True), n, 4)
        if got < 0:
            raise _failure(got)
        return memoryview(room)[: 4 * got].cast("I")

    def get_indexes_into(self, room: Writable) -> int:
        """Fills a buffer of 4- or 8-byte integers and returns how many, or gets none: 0."""
        width = integers(room, "indexes")
        memory = _from_buffer(_CHARS, room, True)
        got: int = _get(self._core, memory, len(memory) // width, width)
        if got < 0:
            del memory
            raise _failure(got)
        return got

    def put_indexes(self, indexes: Readable) -> int:
        """Puts the objects with these indexes, all of them, and returns how many.

        The buffer holds 4- or 8-byte integers. One that is no index puts none (NoSuchObject).
        Only a checked pool finds those that are not in use; any other trusts you, as in C.
        """
        width = integers(indexes, "indexes")
        memory = _from_buffer(indexes)
        put: int = _put(self._core, memory, len(memory) // width, width)
        if put < 0:
            del memory
            raise _failure(put)
        return put

    # ---- the whole memory ----

    def array(self, dtype: numpy.typing.DTypeLike = "u1") -> numpy.ndarray[Any, Any]:
        """All objects as a NumPy array without a copy: array[block.index] is the object.

        One element per object if dtype has the object's size, else a row of as many as fit in
        exactly. While the array or a slice of it exists the pool is not destroyed (PoolBusy). What
        you write to an object that is not in use, nobody else expects.
        """
        import numpy

        wanted = numpy.dtype(dtype)
        if not wanted.itemsize or self.object_size % wanted.itemsize:
            raise ValueError(f"objects of {self.object_size} bytes are no whole number of {wanted}")
        if wanted.hasobject:
            raise ValueError("a pool cannot hold references to Python objects")
        columns = self.object_size // wanted.itemsize
        pin = pinned(self, None, self.base)
        if not self._open:  # a destroy on another thread saw the pin, or we see the destroy
            del pin
            raise self._gone()
        return numpy.ndarray(
            (self.capacity,) if columns == 1 else (self.capacity, columns),
            wanted,
            ffi.buffer(pin, (self.capacity - 1) * self.stride + self.object_size),
            0,
            (self.stride,) if columns == 1 else (self.stride, wanted.itemsize),
        )

    def address_of(self, index: int) -> int:
        """The address of an object, for C code."""
        index = operator.index(index)
        if not 0 <= index < self.capacity:
            raise POOL.error(errno.EFAULT, f"{index} is no index of a pool of {self.capacity}")
        return self.base + index * self.stride

    def index_of(self, address: int) -> int:
        """The index of the object at this address, from C code; NoSuchObject: none starts there."""
        return self._call(lib.glue_pool_index, address)

    def contains(self, address: int) -> bool:
        """Whether an address is inside an object of this pool."""
        return self._call(lib.glue_pool_contains, address) == 1

    # ---- objects at hand ----

    def flush(self) -> int:
        """Makes the objects at hand here available to everybody. Returns how many."""
        return self._look(lib.glue_pool_flush)

    def reclaim(self) -> int:
        """Flushes, and asks C threads to do so at their next call. Returns what they still hold."""
        return self._look(lib.glue_pool_reclaim)

    @property
    def cached(self) -> int:
        """Objects at hand in this Python object."""
        return self._look(lib.glue_pool_cached)

    # ---- life ----

    def destroy(self) -> None:
        """Frees the pool; using it afterwards raises PoolDestroyed. Again does nothing.

        Raises PoolBusy, and frees nothing, while objects are in use (the exception's `in_use`
        says how many), arrays over its memory exist, or references by lookup() are out. A pool
        nobody refers to, nor to any block or array of it, is freed without it.
        """
        if self._lookup and self._core.handle:
            raise POOL.error(errno.EBUSY, "this object has a reference from lookup(): unref() it")
        in_use = _new("int64_t *")
        try:
            self._ended(lambda core: lib.glue_pool_destroy(core, in_use))
        except PoolBusy as refused:
            refused.in_use = refused.in_use or in_use[0]
            raise

    def _end(self, end: Any) -> int:
        """Calls end unless somebody can reach the memory, and sees to it that nobody will."""
        try:
            self._open.pop()
        except IndexError:
            refused = self._gone()
            if isinstance(refused, PoolBusy):
                raise refused from None
            return int(lib.GLUE_DESTROYED)
        failed: int = 1
        try:
            if self._pins:
                busy = PoolBusy(errno.EBUSY, "views of blocks, or arrays over the pool, exist")
                busy.in_use = max(0, lib.glue_pool_in_use_count(self._core))
                raise busy
            failed = end(self._core)
        finally:
            if failed:
                self._open.append(True)
        return failed

    def _gone(self) -> Exception:
        if self._core.handle:
            return POOL.error(errno.EBUSY, "another thread is inside destroy or unref")
        return _failure(lib.GLUE_DESTROYED)

    # ---- inspection ----

    def audit(self) -> None:
        """Checks the whole pool; Overwritten if something is wrong. C must not use it meanwhile."""
        self._look(lib.glue_pool_audit)

    def set_tag(self, index: int, tag: int) -> None:
        """Notes a number with an object in use, for leaks(). Checked pools only."""
        self._call(lib.glue_pool_set_tag, index, tag)

    def leaks(self) -> list[Leak]:
        """The objects in use, in order of index: who got them and when. Checked pools only."""
        room, count = _new("fp_mempool_leak[]", 0), self._call(lib.glue_pool_leaks, ffi.NULL, 0)
        while count > len(room):
            room = _new("fp_mempool_leak[]", count)
            count = self._call(lib.glue_pool_leaks, room, len(room))
        return [Leak(k.index, k.thread, k.tag, k.since_ns, k.age_ns) for k in room[0:count]]

    @property
    def available(self) -> int:
        """Objects not in use, wherever they are."""
        return self._look(lib.glue_pool_avail_count)

    @property
    def in_use(self) -> int:
        """Objects in use."""
        return self._look(lib.glue_pool_in_use_count)

    @property
    def is_full(self) -> bool:
        """Whether all objects are available."""
        return self._look(lib.glue_pool_is_full) == 1

    @property
    def is_empty(self) -> bool:
        """Whether all objects are in use."""
        return self._look(lib.glue_pool_is_empty) == 1

    @property
    def memory(self) -> int:
        """Bytes that the pool occupies, objects included."""
        return self._look(lib.glue_pool_memory)

    @property
    def stats(self) -> PoolStats:
        return self._read(
            PoolStats,
            "fp_mempool_stats *",
            lib.glue_pool_get_stats,
            counted=lib.LIBFP_POOL_STATS_COUNTED,
        )

    def _about(self) -> str:
        return f"{self.capacity} objects of {self.object_size} bytes"
