# SPDX-License-Identifier: BSD-2-Clause
"""Ring, the Python object over an fp_ring.

Every method is one call into _glue.c, which releases the GIL and guards against other threads.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import threading
import weakref
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._args import burst, encoded, flags, nanoseconds, u32
from ._errors import RING, WAKEUP, RingClosed, invalid
from ._handle import Named, NamedKind
from ._libfp import ffi, lib
from ._span import Span, shaped
from ._wait import in_chunks, patient
from ._wakeup import Wakeup

if TYPE_CHECKING:
    from ._args import Readable, Writable

MT: int = lib.LIBFP_MT
ST: int = lib.LIBFP_ST

# The sides of a ring, for calls that concern one.
PRODUCER: int = lib.LIBFP_RING_PRODUCER
CONSUMER: int = lib.LIBFP_RING_CONSUMER

_SYNCS = {"mt": MT, "st": ST}
_SIDES = {"producer": PRODUCER, "consumer": CONSUMER}

# The path of a burst: bound once, because at this speed a look-up counts.
_CHARS = ffi.typeof("char[]")
_U64 = ffi.typeof("uint64_t *")
_from_buffer = ffi.from_buffer
_new = ffi.new
_enqueue = lib.glue_enqueue
_enqueue_bulk = lib.glue_enqueue_bulk
_dequeue = lib.glue_dequeue
_dequeue_bulk = lib.glue_dequeue_bulk
_put = lib.glue_put
_take = lib.glue_take
_failure = RING.failure

# What the Python objects on one ring share, by the ring's address.
_guards: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

# Held to read or change which wake-ups a ring is bound to.
_binding = threading.Lock()


@dataclass(frozen=True)
class RingStats:
    """fp_ring_stats; exact when no call is in progress."""

    enqueued: int
    dequeued: int
    refused_full: int
    refused_empty: int
    voided: int
    high_water: int
    count: int
    unpublished: int
    void_pending: int
    blocked_since_ns: int
    blocked_by: int
    counted: bool  # refused_full, refused_empty and high_water are kept (stats=True)
    blocked: bool  # the head element is claimed but not published


def _sync(value: int | str, what: str) -> int:
    if not isinstance(value, str):
        return u32(value, what)
    try:
        return _SYNCS[value]
    except KeyError:
        raise invalid(f"{what} is {value!r}, not 'mt' or 'st'") from None


def _side(side: int | str) -> int:
    number = _SIDES.get(side, -1) if isinstance(side, str) else side
    if number not in (PRODUCER, CONSUMER):
        raise invalid(f"the side is {side!r}, not 'producer' or 'consumer'")
    return number


class Ring(Named):
    """A bounded FIFO of `capacity` elements of `elem_size` bytes.

    capacity   1 to 2**30, exactly
    elem_size  a multiple of 4 up to 4096
    producer   who may be on that side at once: MT or "mt" any number of threads, ST or "st" one
    consumer   the same for the other side
    name       for Ring.lookup(), unique in the process; at most 63 bytes
    stats      count refusals and the high-water mark
    checked    detect misuse; a debug mode, slower
    wait       both sides can be waited for
    huge, prefault, numa_node
               hints for the memory

    Buffers are anything with C-contiguous memory: bytes, bytearray, array, memoryview, NumPy
    arrays. Their length must be a whole number of elements (ValueError). A full or empty ring is
    a count or None, never an exception. Use as a context manager destroys the ring at the end.
    """

    __slots__ = ("_guard", "capacity", "elem_size", "producer", "consumer")

    _kind = NamedKind(
        "Ring",
        RING,
        new=functools.partial(ffi.new, "glue_ring *"),
        drop=lib.glue_drop,
        lookup=lib.glue_lookup,
        unref=lib.glue_unref,
        forked=lib.glue_forked,
        name_of=lib.fp_ring_name,
    )

    capacity: int
    elem_size: int
    producer: int
    consumer: int

    def __init__(
        self,
        capacity: int,
        elem_size: int = 8,
        producer: int | str = MT,
        consumer: int | str = MT,
        name: str | None = None,
        stats: bool = False,
        checked: bool = False,
        *,
        wait: bool = False,
        huge: bool = False,
        prefault: bool = False,
        numa_node: int | None = None,
    ) -> None:
        self._begin(
            lib.glue_create,
            encoded(name),
            u32(capacity, "capacity"),
            u32(elem_size, "elem_size"),
            _sync(producer, "producer"),
            _sync(consumer, "consumer"),
            flags(stats, checked, huge, prefault, numa_node)
            | (lib.LIBFP_RING_WAIT if wait else 0),
            u32(numa_node or 0, "numa_node"),
        )

    def _bind(self, core: Any) -> None:
        ring = core.handle
        new = ffi.gc(lib.glue_guard_new() or self._no_memory(), lib.glue_guard_release)
        self._guard = _guards.setdefault(int(ffi.cast("uintptr_t", ring)), new)
        lib.glue_share(core, self._guard)
        self.capacity = lib.fp_ring_capacity(ring)
        self.elem_size = lib.fp_ring_elem_size(ring)
        self.producer = lib.fp_ring_producer_sync(ring)
        self.consumer = lib.fp_ring_consumer_sync(ring)

    # ---- enqueue ----

    def enqueue_burst(self, elems: Readable) -> int:
        """Enqueues as many elements as fit, from the first on. Returns how many."""
        memory = _from_buffer(elems)
        got: int = _enqueue(self._core, memory, len(memory))
        if got < 0:
            del memory
            raise _failure(got)
        return got

    def enqueue_bulk(self, elems: Readable) -> int:
        """Enqueues all elements and returns how many, or none and returns 0."""
        memory = _from_buffer(elems)
        got: int = _enqueue_bulk(self._core, memory, len(memory))
        if got < 0:
            del memory
            raise _failure(got)
        return got

    def enqueue(self, value: int) -> bool:
        """Enqueues one integer (elements of 8 bytes). False: the ring is full."""
        got: int = _put(self._core, value)
        if got < 0:
            raise _failure(got)
        return got == 1

    # ---- dequeue ----

    def dequeue_burst(self, n: int) -> memoryview:
        """Dequeues up to n elements into new memory.

        The memoryview has format "Q" for elements of 8 bytes, "I" for 4, else "B" (bytes, elem_size
        of them per element); numpy.asarray() takes it without a copy.
        """
        # One more than can come, so that libfp counts a refusal as it would for n.
        return self._fetch(_dequeue, min(burst(n), self.capacity + 1))

    def dequeue_bulk(self, n: int) -> memoryview:
        """Dequeues n elements, or none (an empty memoryview), as dequeue_burst()."""
        if burst(n) > self.capacity:
            raise invalid(f"a bulk of {n} from a ring of {self.capacity}")
        return self._fetch(_dequeue_bulk, n)

    def peek(self, n: int) -> memoryview:
        """Copies up to n elements without taking them, as dequeue_burst(). ST consumers only."""
        return self._fetch(lib.glue_peek, min(burst(n), self.capacity))

    def _fetch(self, fetch: Any, n: int) -> memoryview:
        room = bytearray(n * self.elem_size)
        got = fetch(self._core, _from_buffer(_CHARS, room, True), len(room))
        if got < 0:
            raise _failure(got)
        return shaped(memoryview(room)[: got * self.elem_size], self.elem_size)

    def dequeue_into(self, room: Writable) -> int:
        """Dequeues up to as many elements as the buffer holds. Returns how many."""
        memory = _from_buffer(_CHARS, room, True)
        got: int = _dequeue(self._core, memory, len(memory))
        if got < 0:
            del memory
            raise _failure(got)
        return got

    def dequeue_into_bulk(self, room: Writable) -> int:
        """Fills the whole buffer and returns how many elements, or takes none and returns 0."""
        memory = _from_buffer(_CHARS, room, True)
        got: int = _dequeue_bulk(self._core, memory, len(memory))
        if got < 0:
            del memory
            raise _failure(got)
        return got

    def dequeue(self) -> int | None:
        """Dequeues one integer (elements of 8 bytes). None: the ring is empty."""
        value = _new(_U64)
        got = _take(self._core, value)
        if got < 0:
            raise _failure(got)
        return value[0] if got else None

    # ---- waiting ----
    #
    # On the main thread Ctrl-C ends a wait within 50 ms, see _wait.py.

    def dequeue_wait(self, n: int, min: int = 1, timeout: float | None = None) -> memoryview:
        """Waits for `min` elements, and dequeues up to n, as dequeue_burst().

        An empty memoryview: `timeout` seconds are over, and nothing was taken. What is left in a
        closed ring comes at once. min=0 does not wait. Raises Interrupted if interrupt() ended the wait, NotSupported
        without Ring(wait=True) or a bound Wakeup. All calls that wait do.
        """
        room = bytearray((self.capacity if n > self.capacity else burst(n)) * self.elem_size)
        got = self._dequeue_wait(room, min, timeout)
        return shaped(memoryview(room)[: got * self.elem_size], self.elem_size)

    def dequeue_into_wait(self, room: Writable, min: int = 1, timeout: float | None = None) -> int:
        """Waits for `min` elements, and dequeues up to as many as the buffer holds.

        Returns how many; 0: `timeout` seconds are over.
        """
        return self._dequeue_wait(room, min, timeout)

    def _dequeue_wait(self, room: Writable, least: int, timeout: float | None) -> int:
        memory = _from_buffer(_CHARS, room, True)
        timeout = self._check_least(least, len(memory), timeout)
        try:
            return self._wait(CONSUMER, timeout, lib.glue_dequeue_wait, memory, len(memory), least)
        finally:
            del memory  # a traceback must not keep the buffer

    def enqueue_wait(self, elems: Readable, min: int = 1, timeout: float | None = None) -> int:
        """Waits for room for `min` elements, and enqueues as many as fit, from the first on.

        Returns how many; 0: `timeout` seconds are over.
        """
        memory = _from_buffer(elems)
        timeout = self._check_least(min, len(memory), timeout)
        try:
            return self._wait(PRODUCER, timeout, lib.glue_enqueue_wait, memory, len(memory), min)
        finally:
            del memory

    def wait_readable(self, timeout: float | None = None) -> bool:
        """Waits until there is an element. False: `timeout` seconds are over.

        Takes nothing: another consumer may be faster.
        """
        return self._wait(CONSUMER, timeout, lib.glue_wait, CONSUMER) == 1

    def wait_writable(self, timeout: float | None = None) -> bool:
        """Waits until there is a free slot. False: `timeout` seconds are over."""
        return self._wait(PRODUCER, timeout, lib.glue_wait, PRODUCER) == 1

    def _check_least(self, least: int, length: int, timeout: float | None) -> float | None:
        """Returns the time-out: 0 if there is nothing to wait for."""
        if not 0 <= least <= self.capacity or least * self.elem_size > length:
            n = length // self.elem_size
            raise invalid(f"min is {least}, of {n} elements and a ring of {self.capacity}")
        return timeout if least else 0

    def _wait(self, side: int, timeout: float | None, wait: Any, *arguments: Any) -> int:
        timeout_ns = nanoseconds(timeout)
        if in_chunks(timeout_ns):
            call = functools.partial(wait, self._core, *arguments)
            got: int = patient(call, timeout_ns, lambda: self._interrupts(side))
        else:
            got = wait(self._core, *arguments, timeout_ns)
        if got < 0:
            raise _failure(got)
        return got

    def _interrupts(self, side: int) -> int:
        with _binding:
            return self._call(lib.glue_interrupts, side)

    def interrupt(self, side: int | str) -> None:
        """Ends the waits in progress on one side ("producer", "consumer") with Interrupted."""
        self._call(lib.glue_interrupt, _side(side))

    def set_wakeup(self, side: int | str, wakeup: Wakeup | None) -> None:
        """Binds a side to a wake-up, which is signalled when something may have become possible.

        For the consumer an element came, for the producer a slot was freed, for both the ring was
        closed. Several rings and sides may share one. None unbinds. No other thread may use the
        ring meanwhile: RingBusy, if one of Python is inside a call.
        """
        number = _side(side)
        if wakeup is not None and not wakeup._core.handle:
            raise WAKEUP.failure(lib.GLUE_DESTROYED)
        before = self._wakeup(number)
        with _binding:
            self._call(lib.glue_set_wakeup, number, wakeup._core if wakeup else ffi.NULL)
        if before is not None:
            before.signal()  # tasks that wait for the ring turn to the new one

    def wakeup(self, side: int | str) -> Wakeup | None:
        """The wake-up that Python code bound to a side."""
        return self._wakeup(_side(side))

    def _wakeup(self, side: int) -> Wakeup | None:
        with _binding:
            core = lib.glue_get_wakeup(self._core, side)
        return Wakeup._of(core) if core else None

    # ---- asyncio ----

    async def readable(self) -> None:
        """Waits until there is an element, while other tasks run; for a side with a Wakeup.

        All rings whose tasks run in one event loop may share one Wakeup; rings of different
        loops cannot. Raises RingClosed when everything was taken, and Interrupted.
        """
        await self._ready(CONSUMER)

    async def writable(self) -> None:
        """Waits until there is a free slot, as readable()."""
        await self._ready(PRODUCER)

    async def _ready(self, side: int) -> None:
        def is_ready() -> bool:
            return self._wait(side, 0, lib.glue_wait, side) == 1

        while not is_ready():
            wakeup = self._wakeup(side)
            if wakeup is None:
                raise RING.error(errno.ENXIO, "tasks wait for a side that has a Wakeup: set_wakeup")
            await wakeup.until(lambda: is_ready() or self._wakeup(side) is not wakeup)

    async def bursts(self, n: int) -> AsyncIterator[memoryview]:
        """`async for view in ring.bursts(n)`: up to n elements at a time, until it is closed.

        Other tasks run once per burst.
        """
        while True:
            try:
                view = self.dequeue_burst(n)
                if not view:
                    await self.readable()
                    continue
            except RingClosed:
                return
            yield view
            await asyncio.sleep(0)

    # ---- spans ----

    def reserve(self, n: int, bulk: bool = False) -> Span:
        """Up to n free slots to be written in place (bulk: n or none)."""
        return self._reserve(lib.GLUE_PRODUCER, n, bulk, False)

    def reserve_dequeue(self, n: int, bulk: bool = False) -> Span:
        """Up to n elements to be read in place (bulk: n or none)."""
        return self._reserve(lib.GLUE_CONSUMER, n, bulk, self.consumer == MT)

    def _reserve(self, side: int, n: int, bulk: bool, takes_all: bool) -> Span:
        raw = _new("fp_ring_span *")
        flags = lib.LIBFP_RING_BULK if bulk else 0
        got = lib.glue_reserve(self._core, side, burst(n), flags, raw)
        if got < 0:
            raise _failure(got)
        return Span(self, self._core, side, raw, got if takes_all else 0)

    # ---- life ----

    def close(self) -> None:
        """Ends the producing side: enqueues raise RingClosed, dequeues once all was taken."""
        self._look(lib.glue_close)

    def reset(self) -> None:
        """Makes the ring empty and open, its counters 0. No other thread may be inside."""
        self._look(lib.glue_reset)

    def destroy(self) -> None:
        """Frees the ring; using it afterwards raises RingDestroyed. Again does nothing.

        Raises RingBusy, and frees nothing, while references by lookup() or spans are out or
        another thread is inside a call. A ring nobody refers to is freed without it.
        """
        address = int(ffi.cast("uintptr_t", self._core.handle))
        bound = [self._wakeup(side) for side in (PRODUCER, CONSUMER)]
        if self._ended(lib.glue_destroy):
            _guards.pop(address, None)
        for wakeup in bound:
            if wakeup is not None:
                wakeup.signal()  # tasks that wait for the ring look, and find it destroyed

    # ---- inspection ----

    @property
    def count(self) -> int:
        """Slots in use."""
        return self._look(lib.glue_count)

    @property
    def free_count(self) -> int:
        """Slots not in use."""
        return self._look(lib.glue_free_count)

    @property
    def is_full(self) -> bool:
        return self._look(lib.glue_is_full) == 1

    @property
    def is_empty(self) -> bool:
        return self._look(lib.glue_is_empty) == 1

    @property
    def is_closed(self) -> bool:
        """Whether close() was called; elements may still be inside."""
        return self._look(lib.glue_is_closed) == 1

    @property
    def stats(self) -> RingStats:
        return self._read(
            RingStats,
            "fp_ring_stats *",
            lib.glue_get_stats,
            counted=lib.LIBFP_RING_STATS_COUNTED,
            blocked=lib.LIBFP_RING_STATS_BLOCKED,
        )

    def _about(self) -> str:
        sides = ["MT", "ST"]
        return (
            f"{self.capacity} elements of {self.elem_size} bytes, "
            f"producer {sides[self.producer]}, consumer {sides[self.consumer]}"
        )
