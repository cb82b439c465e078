# SPDX-License-Identifier: BSD-2-Clause
"""`python -m libfp`: what is installed here, and whether it works. Exit code 0: it does."""

from __future__ import annotations

import sys
from array import array

from . import (
    FEATURES,
    MT,
    ST,
    Pool,
    Ring,
    RingClosed,
    TimerWheel,
    __version__,
    _libfp,
    library_path,
)
from ._info import HEADERS


def expect(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise RuntimeError(f"{what}: {found!r}, not {wanted!r}")


def check_ring(producer: int, consumer: int) -> None:
    """Elements through every way in and out of one kind of ring, and the end of the stream."""
    sent = bytes(range(40)) * 8
    with Ring(40, producer=producer, consumer=consumer) as ring:
        expect("enqueue_burst", ring.enqueue_burst(sent + sent), 40)
        expect("dequeue_bulk", ring.dequeue_bulk(30).tobytes(), sent[:240])
        with ring.reserve(20) as span:
            for view in span.views:
                view[:] = memoryview(bytes(view.nbytes)).cast("Q")
        expect("reserve", len(span), 20)
        expect("enqueue", ring.enqueue(7), True)
        ring.close()
        room = bytearray(240)
        expect("dequeue_into", ring.dequeue_into(room), 30)
        expect("elements", bytes(room), sent[240:] + bytes(160))
        expect("dequeue", ring.dequeue(), 7)
        try:
            ring.dequeue()
        except RingClosed:
            return
        raise RuntimeError("dequeue: a closed and drained ring did not say so")


def check_pool(checked: bool) -> None:
    """All objects of a pool out and in again, as blocks and as indexes."""
    with Pool(40, 24, checked=checked) as pool:
        blocks = pool.get_bulk(40)
        expect("get_bulk", len({block.index for block in blocks}), 40)
        for block in blocks:
            block.view[:] = bytes([block.index]) * 24
        expect("view", [b.view[23] for b in blocks], [b.index for b in blocks])
        expect("get", pool.get(), None)
        pool.put(blocks.pop())
        expect("in_use", pool.in_use, 39)
        expect("put_bulk", pool.put_bulk(blocks), 39)
        indexes = pool.get_indexes(40)
        expect("get_indexes", sorted(indexes), list(range(40)))
        expect("put_indexes", pool.put_indexes(indexes), 40)
        pool.audit()


def check_wheel() -> None:
    """Timers in bursts: armed, cancelled, and fired in order."""
    with TimerWheel(100, start_tick=0) as wheel:
        timers = wheel.create_bulk(array("Q", range(100)))
        expiries = array("Q", range(1000, 0, -10))
        expect("arm_bulk", wheel.arm_bulk(timers, expiries), 100)
        expect("cancel_bulk", wheel.cancel_bulk(timers[:50]), 50)
        expect("poll_burst", [r.user for r in wheel.poll_burst(400)], list(range(99, 59, -1)))
        expect("count", wheel.count, 10)
        expect("destroy_bulk", wheel.destroy_bulk(timers), 100)
        expect("poll_burst", len(wheel.poll_burst(2000)), 0)


def main() -> int:
    path = library_path()
    bundled = path == _libfp.__file__
    print(f"libfp {__version__} (package built for {HEADERS})")
    print(f"features:  {', '.join(sorted(FEATURES))}")
    print(f"library:   {path}{' (bundled)' if bundled else ''}")
    print(f"extension: {_libfp.__file__}")
    try:
        for producer in (MT, ST):
            for consumer in (MT, ST):
                check_ring(producer, consumer)
        for checked in (False, True):
            check_pool(checked)
        check_wheel()
    except Exception as failed:  # whatever it is, it is the answer
        print(f"self-check: failed: {type(failed).__name__}: {failed}")
        return 1
    print("self-check: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
