# SPDX-License-Identifier: BSD-2-Clause
"""Python fills a ring, a worker thread in C transforms, Python drains: one process.

usage: pipeline.py libfp_stages.so

Ten million elements with NumPy arrays and as many with array.array. Every element is
compared with what it must be, in order, and the sum of all with the sum that is known
(go/main.go carries the same numbers).
"""

import array
import ctypes
import errno
import sys
import time

import libfp

try:
    import numpy
except ImportError:
    numpy = None

CHUNK = 65536  # elements that are made and checked at a time
BURST = 1024
ELEMENTS = 10_000_000
INVERT, MIX = 1, 2  # STAGE_INVERT, STAGE_MIX
WORD = 2**64


class Stage:
    """The worker of libfp_stages between two rings."""

    def __init__(self, library, inbox, outbox, kind):
        self.library, self.stage = library, ctypes.c_void_p()
        self.rings = inbox, outbox  # they must outlive the worker
        failed = library.stage_start(ctypes.c_void_p(inbox.handle),
                                     ctypes.c_void_p(outbox.handle), ctypes.c_uint32(kind),
                                     ctypes.byref(self.stage))
        if failed:
            raise OSError(-failed, "stage_start")

    def stop(self):
        """Ends it; returns how many elements it has carried."""
        carried = ctypes.c_uint64()
        failed = self.library.stage_stop(self.stage, ctypes.byref(carried))
        if failed:
            raise OSError(-failed, "stage_stop")
        return carried.value


# ---- buffers: how they are made, and what must come out ----

class NumpyBuffers:
    kind = MIX
    checksum = 0xfdfa3b49159fd2c5

    @staticmethod
    def numbers(first, n):
        return numpy.arange(first, first + n, dtype=numpy.uint64)

    @classmethod
    def expected(cls, first, n):
        x = cls.numbers(first, n)
        x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xbf58476d1ce4e5b9)
        x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94d049bb133111eb)
        return x ^ (x >> numpy.uint64(31))

    @staticmethod
    def room(n):
        return numpy.zeros(n, dtype=numpy.uint64)

    @staticmethod
    def total(buffer):
        return int(buffer.sum())

    @staticmethod
    def same(a, b):
        return bool((a == b).all())


class ArrayBuffers:
    kind = INVERT
    checksum = (-ELEMENTS - ELEMENTS * (ELEMENTS - 1) // 2) % WORD

    @staticmethod
    def numbers(first, n):
        return array.array("Q", range(first, first + n))

    @staticmethod
    def expected(first, n):
        return array.array("Q", range(WORD - 1 - first, WORD - 1 - first - n, -1))

    @staticmethod
    def room(n):
        return array.array("Q", bytes(8 * n))

    @staticmethod
    def total(buffer):
        return sum(buffer)

    @staticmethod
    def same(a, b):
        return a == b


# ---- the pipeline ----

class Feed:
    """Puts 0, 1, 2, ... into a ring, a burst at a time, and closes it at the end."""

    def __init__(self, ring, buffers):
        self.ring, self.buffers = ring, buffers
        self.made = 0
        self.left = memoryview(b"").cast("Q")

    def push(self):
        """Returns how many elements went in."""
        if not self.left:
            n = min(CHUNK, ELEMENTS - self.made)
            if n == 0:
                self.ring.close()
                return 0
            self.left = memoryview(self.buffers.numbers(self.made, n))
            self.made += n
        got = self.ring.enqueue_burst(self.left[:BURST])
        self.left = self.left[got:]
        return got


def drain(ring, buffers, idle):
    """Takes all there is and checks it; idle() is called when there is nothing."""
    taken = total = 0
    while taken < ELEMENTS:
        n = min(CHUNK, ELEMENTS - taken)
        room = buffers.room(n)
        view, filled = memoryview(room), 0
        while filled < n:
            got = ring.dequeue_into(view[filled:])
            filled += got
            if got == 0:
                idle()
        view.release()
        if not buffers.same(room, buffers.expected(taken, n)):
            sys.exit(f"pipeline: elements {taken} to {taken + n} are not what they must be")
        total += buffers.total(room)
        taken += n
    return total % WORD


def ends(ring):
    """Whether the ring is closed and drained."""
    while True:
        try:
            if ring.dequeue_into(bytearray(8)):
                return False  # more than was put in
        except libfp.RingClosed as error:
            return error.errno == errno.EPIPE
        time.sleep(0)


def carry(library, buffers):
    inbox = libfp.Ring(4096, producer="st", consumer="st")
    outbox = libfp.Ring(4096, producer="st", consumer="st")
    stage = Stage(library, inbox, outbox, buffers.kind)
    feed = Feed(inbox, buffers)

    def idle():
        if not feed.push():
            time.sleep(0)

    total = drain(outbox, buffers, idle)
    feed.push()  # closes
    if not ends(outbox):
        sys.exit("pipeline: something came out that was not put in")
    carried = stage.stop()
    inbox.destroy()
    outbox.destroy()
    if carried != ELEMENTS or total != buffers.checksum:
        sys.exit(f"pipeline: {carried} of {ELEMENTS} carried, checksum {total:#x}, which "
                 f"must be {buffers.checksum:#x}")
    print(f"{buffers.__name__}: {carried} elements through C and back, checksum {total:#018x}")


def main():
    library = ctypes.CDLL(sys.argv[1])
    if numpy:
        carry(library, NumpyBuffers)
    else:
        print("no NumPy (Debian: python3-numpy): only with array.array")
    carry(library, ArrayBuffers)


if __name__ == "__main__":
    main()
