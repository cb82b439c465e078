# SPDX-License-Identifier: BSD-2-Clause
"""Buffers of every kind, in and out."""

import array
import ctypes
import mmap

import pytest
from libfp import Ring

try:
    import numpy
except ImportError:
    numpy = None

WORDS = [1, 2**63, 3, 4]


def shared():
    room = mmap.mmap(-1, 32)
    room[:] = array.array("Q", WORDS).tobytes()
    return room


SOURCES = {
    "bytes": lambda: array.array("Q", WORDS).tobytes(),
    "bytearray": lambda: bytearray(array.array("Q", WORDS).tobytes()),
    "array": lambda: array.array("Q", WORDS),
    "array of bytes": lambda: array.array("B", array.array("Q", WORDS).tobytes()),
    "memoryview": lambda: memoryview(array.array("Q", WORDS)),
    "memoryview slice": lambda: memoryview(array.array("Q", [9, *WORDS, 9]))[1:5],
    "memoryview 2-d": lambda: memoryview(array.array("Q", WORDS)).cast("B").cast("Q", (2, 2)),
    "ctypes": lambda: (ctypes.c_uint64 * 4)(*WORDS),
    "mmap": shared,
}
if numpy:
    SOURCES.update({
        "numpy": lambda: numpy.array(WORDS, dtype="u8"),
        "numpy 2-d": lambda: numpy.array(WORDS, dtype="u8").reshape(2, 2),
        "numpy record": lambda: numpy.array([(1, 2**63), (3, 4)], dtype=[("a", "u8"), ("b", "u8")]),
        "numpy slice": lambda: numpy.array([9, *WORDS, 9], dtype="u8")[1:5],
        "numpy bytes": lambda: numpy.array(WORDS, dtype="u8").view("u1"),
    })


@pytest.mark.parametrize("kind", SOURCES)
def test_in(kind):
    with Ring(8) as ring:
        assert ring.enqueue_burst(SOURCES[kind]()) == 4
        assert ring.enqueue_bulk(SOURCES[kind]()) == 4
        assert ring.dequeue_burst(8).tolist() == WORDS * 2


@pytest.mark.parametrize("kind", [k for k in SOURCES if k != "bytes"])
def test_out(kind):
    with Ring(8) as ring:
        room = SOURCES[kind]()
        for value in (5, 6):
            ring.enqueue(value)
        assert ring.dequeue_into_bulk(room) == 0
        assert ring.dequeue_into(room) == 2
        assert bytes(memoryview(room))[:32] == array.array("Q", [5, 6, 3, 4]).tobytes()
        ring.enqueue_burst(array.array("Q", [7, 8, 9, 10]))
        assert ring.dequeue_into_bulk(room) == 4
        assert bytes(memoryview(room)) == array.array("Q", [7, 8, 9, 10]).tobytes()


@pytest.mark.parametrize("size", [1, 7, 9, 31])
def test_length_must_be_a_whole_number_of_elements(size):
    with Ring(8) as ring:
        ring.enqueue(1)
        for call in (ring.enqueue_burst, ring.enqueue_bulk, ring.dequeue_into,
                     ring.dequeue_into_bulk):
            with pytest.raises(ValueError, match="whole number of elements"):
                call(bytearray(size))
        assert ring.count == 1


def test_read_only_room_is_refused():
    rooms = [bytes(8), memoryview(bytes(8)), memoryview(bytearray(8)).toreadonly()]
    if numpy:
        fixed = numpy.zeros(1, dtype="u8")
        fixed.flags.writeable = False
        rooms.append(fixed)
    with Ring(8) as ring:
        ring.enqueue(1)
        for room in rooms:
            for call in (ring.dequeue_into, ring.dequeue_into_bulk):
                with pytest.raises((BufferError, ValueError)):
                    call(room)
        assert ring.count == 1


def test_gaps_in_memory_are_refused():
    gaps = [memoryview(array.array("Q", range(8)))[::2]]
    if numpy:
        gaps += [numpy.arange(8, dtype="u8")[::2], numpy.zeros((4, 2), dtype="u8").T,
                 numpy.asfortranarray(numpy.zeros((2, 2), dtype="u8"))]
    with Ring(8) as ring:
        ring.enqueue(1)
        for gap in gaps:
            for call in (ring.enqueue_burst, ring.enqueue_bulk, ring.dequeue_into,
                         ring.dequeue_into_bulk):
                with pytest.raises((BufferError, ValueError)):
                    call(gap)
        assert ring.count == 1


@pytest.mark.parametrize("wrong", [None, 8, "text", [1, 2], object()])
def test_what_is_no_buffer_is_refused(wrong):
    with Ring(8) as ring:
        for call in (ring.enqueue_burst, ring.enqueue_bulk, ring.dequeue_into,
                     ring.dequeue_into_bulk):
            with pytest.raises(TypeError):
                call(wrong)


def test_a_buffer_is_let_go_after_the_call():
    room = bytearray(16)
    with Ring(1) as ring:
        ring.enqueue_burst(room)
        room.append(0)
        with pytest.raises(ValueError):
            ring.enqueue_burst(room)
        del room[-1]  # BufferError if somebody still held it
        ring.dequeue_into(room)
        room.append(0)
        ring.close()
        del room[-1]
        try:
            ring.dequeue_into(room)
        except BrokenPipeError:
            room.append(0)  # also while the exception is handled


def test_views_outlive_the_ring():
    with Ring(8) as ring:
        ring.enqueue_burst(array.array("Q", WORDS))
        view = ring.dequeue_burst(8)
    assert view.tolist() == WORDS
    view[0] = 7
    assert view.tolist() == [7, *WORDS[1:]]


@pytest.mark.skipif(not numpy, reason="NumPy is not installed")
def test_numpy_takes_a_burst_without_a_copy():
    with Ring(8) as ring:
        ring.enqueue_burst(numpy.array(WORDS, dtype="u8"))
        view = ring.dequeue_burst(8)
        values = numpy.asarray(view)
        assert values.dtype == numpy.uint64 and values.tolist() == WORDS
        values[0] = 9
        assert view[0] == 9


def test_numpy_is_not_imported(python):
    assert python("import sys, libfp\nprint('numpy' in sys.modules)") == "False\n"
