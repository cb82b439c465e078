# SPDX-License-Identifier: BSD-2-Clause
"""Every method of Ring: results, limits, errors."""

import array
import copy
import errno
import gc
import pickle

import libfp
import pytest
from libfp import MT, ST, Ring, _libfp


def u64(*values):
    return b"".join(v.to_bytes(8, "little") for v in values)


def test_burst_takes_what_fits_and_gives_what_is_there(sides):
    with Ring(5, **sides) as ring:
        assert ring.enqueue_burst(u64(1, 2, 3)) == 3
        assert ring.enqueue_burst(u64(4, 5, 6, 7)) == 2
        assert ring.enqueue_burst(u64(8)) == 0
        assert ring.is_full and not ring.is_empty
        assert ring.dequeue_burst(3).tolist() == [1, 2, 3]
        room = bytearray(8 * 10)
        assert ring.dequeue_into(room) == 2
        assert room[:16] == u64(4, 5) and not any(room[16:])
        assert ring.dequeue_burst(3).tolist() == []
        assert ring.dequeue_into(room) == 0
        assert ring.is_empty


def test_bulk_is_all_or_nothing(sides):
    with Ring(5, **sides) as ring:
        assert ring.enqueue_bulk(u64(1, 2, 3)) == 3
        assert ring.enqueue_bulk(u64(4, 5, 6)) == 0
        assert ring.dequeue_bulk(4).tolist() == []
        assert ring.dequeue_into_bulk(bytearray(32)) == 0
        assert ring.dequeue_bulk(2).tolist() == [1, 2]
        room = bytearray(8)
        assert ring.dequeue_into_bulk(room) == 1 and room == u64(3)
        for call in (lambda: ring.enqueue_bulk(bytes(48)), lambda: ring.dequeue_bulk(6),
                     lambda: ring.dequeue_into_bulk(bytearray(48))):
            with pytest.raises(libfp.InvalidArgument) as caught:
                call()
            assert caught.value.errno == errno.EINVAL
        assert ring.is_empty


def test_single_integers(sides):
    with Ring(2, **sides) as ring:
        assert ring.dequeue() is None
        assert ring.enqueue(0) is True
        assert ring.enqueue(2**64 - 1) is True
        assert ring.enqueue(3) is False
        assert ring.dequeue() == 0
        assert ring.dequeue() == 2**64 - 1
        for wrong in (-1, 2**64):
            with pytest.raises(OverflowError):
                ring.enqueue(wrong)
        for wrong in (1.5, "1", None):
            with pytest.raises(TypeError):
                ring.enqueue(wrong)
        assert ring.is_empty


def test_elements_of_four_bytes(sides):
    with Ring(4, 4, **sides) as ring:
        assert ring.enqueue_burst(array.array("I", [7, 2**32 - 1])) == 2
        view = ring.dequeue_burst(4)
        assert view.format == "I" and view.tolist() == [7, 2**32 - 1]


@pytest.mark.parametrize("size", [12, 64, 4096])
def test_records(sides, size):
    with Ring(3, size, **sides) as ring:
        record = bytes(i % 251 for i in range(size))
        assert ring.enqueue_burst(record * 2) == 2
        view = ring.dequeue_burst(9)
        assert view.format == "B" and view.tobytes() == record * 2


@pytest.mark.parametrize("size", [4, 12])
def test_integers_need_elements_of_eight_bytes(size):
    with Ring(3, size) as ring:
        for call in (lambda: ring.enqueue(1), ring.dequeue):
            with pytest.raises(libfp.InvalidArgument, match="8 bytes") as caught:
                call()
            assert caught.value.errno == errno.EINVAL


@pytest.mark.parametrize("n", [-1, 2**31, 2**40])
def test_counts_out_of_range(n):
    with Ring(4, consumer="st") as ring:
        ring.enqueue(1)
        for call in (ring.dequeue_burst, ring.dequeue_bulk, ring.peek, ring.reserve,
                     ring.reserve_dequeue):
            with pytest.raises(libfp.InvalidArgument):
                call(n)
            with pytest.raises(TypeError):
                call(1.0)
        assert ring.count == 1


def test_nothing_moves_nothing(sides):
    with Ring(4, **sides) as ring:
        assert ring.enqueue_burst(b"") == ring.enqueue_bulk(b"") == 0
        assert ring.dequeue_burst(0).tolist() == ring.dequeue_bulk(0).tolist() == []
        assert ring.dequeue_into(bytearray()) == ring.dequeue_into_bulk(bytearray()) == 0
        assert len(ring.reserve(0)) == len(ring.reserve_dequeue(0)) == 0


def test_peek_takes_nothing():
    with Ring(4, consumer="st") as ring:
        ring.enqueue_burst(u64(1, 2, 3))
        assert ring.peek(2).tolist() == [1, 2]
        assert ring.peek(9).tolist() == [1, 2, 3] == ring.dequeue_burst(9).tolist()
    with Ring(4, consumer="mt") as ring:
        with pytest.raises(libfp.NotSupported) as caught:
            ring.peek(1)
        assert caught.value.errno == errno.EOPNOTSUPP


def test_close_ends_the_stream(sides):
    with Ring(8, **sides) as ring:
        ring.enqueue_burst(u64(1, 2, 3))
        assert not ring.is_closed
        ring.close()
        ring.close()
        assert ring.is_closed
        for call in (lambda: ring.enqueue(4), lambda: ring.enqueue_burst(u64(4)),
                     lambda: ring.enqueue_bulk(u64(4)), lambda: ring.reserve(1)):
            with pytest.raises(libfp.RingClosed):
                call()
        with pytest.raises(BrokenPipeError):
            ring.dequeue_bulk(4)  # fewer are left
        assert ring.dequeue_burst(9).tolist() == [1, 2, 3]
        for call in (ring.dequeue, lambda: ring.dequeue_burst(1),
                     lambda: ring.dequeue_into(bytearray(8)), lambda: ring.reserve_dequeue(1)):
            with pytest.raises(libfp.RingClosed) as caught:
                call()
            assert caught.value.errno == errno.EPIPE
        ring.reset()
        assert not ring.is_closed and ring.enqueue(1)


@pytest.mark.parametrize("arguments, cls, code", [
    ((0,), ValueError, errno.EINVAL),
    ((2**30 + 1,), ValueError, errno.EINVAL),
    ((-1,), ValueError, errno.EINVAL),
    ((2**32,), ValueError, errno.EINVAL),
    ((8, 6), ValueError, errno.EINVAL),
    ((8, 4100), ValueError, errno.EINVAL),
    ((8, 8, 2), libfp.NotSupported, errno.EOPNOTSUPP),
    ((8, 8, 0, 2), libfp.NotSupported, errno.EOPNOTSUPP),
    ((8, 8, "both"), ValueError, errno.EINVAL),
    ((8, 8, 0, 0, ""), ValueError, errno.EINVAL),
    ((8, 8, 0, 0, "a\0b"), ValueError, errno.EINVAL),
    ((8, 8, 0, 0, "n" * 64), ValueError, errno.ENAMETOOLONG),
])
def test_refused_arguments(arguments, cls, code):
    with pytest.raises(libfp.FpError) as caught:
        Ring(*arguments)
    assert isinstance(caught.value, cls) and caught.value.errno == code


def test_the_reason_of_a_refusal_is_in_the_exception():
    with pytest.raises(libfp.FpError, match="capacity 0 is not 1 to 1073741824"):
        Ring(0)
    with Ring(1) as ring:
        ring.close()
        with pytest.raises(libfp.RingClosed, match="EPIPE"):
            ring.enqueue(1)  # and not the reason from before


@pytest.mark.parametrize("wrong", ["8", 8.0, None])
def test_a_capacity_must_be_an_integer(wrong):
    with pytest.raises(TypeError):
        Ring(wrong)


def test_properties():
    ring = Ring(1000, 12, "st", MT, "shape", stats=True)
    assert (ring.capacity, ring.elem_size, ring.producer, ring.consumer) == (1000, 12, ST, MT)
    assert ring.name == "shape" and "'shape'" in repr(ring) and "1000" in repr(ring)
    assert (ring.count, ring.free_count) == (0, 1000)
    ring.enqueue_burst(bytes(120))
    assert (ring.count, ring.free_count) == (10, 990)
    assert ring.handle > 0
    ring.destroy()
    assert "destroyed" in repr(ring) and ring.capacity == 1000


def test_an_open_ring_is_true_even_if_empty():
    with Ring(1) as ring:
        assert ring


def test_memory_hints():
    with Ring(100, huge=True, prefault=True, numa_node=0) as ring:
        assert ring.enqueue(1) and ring.dequeue() == 1


def test_statistics(sides):
    with Ring(3, stats=True, **sides) as ring:
        ring.enqueue_burst(bytes(8 * 4))
        ring.dequeue_burst(5)
        stats = ring.stats
        assert stats.counted and not stats.blocked
        assert (stats.enqueued, stats.dequeued, stats.voided, stats.count) == (3, 3, 0, 0)
        assert (stats.refused_full, stats.refused_empty, stats.high_water) == (1, 1, 3)
    with Ring(3) as ring:
        assert not ring.stats.counted


def test_names_and_references():
    with Ring(4, name="ring") as ring:
        with pytest.raises(libfp.NameTaken) as caught:
            Ring(4, name="ring")
        assert isinstance(caught.value, FileExistsError)
        with Ring.lookup("ring") as same:
            assert same.handle == ring.handle and same.capacity == 4
            same.enqueue(5)
            assert ring.dequeue() == 5
            for one in (ring, same):
                with pytest.raises(libfp.RingBusy) as caught:
                    one.destroy()
                assert caught.value.errno == errno.EBUSY
        with pytest.raises(libfp.RingDestroyed):
            same.enqueue(1)
        with pytest.raises(libfp.RingDestroyed):
            same.unref()
        with pytest.raises(libfp.InvalidArgument):
            ring.unref()
        Ring.lookup("ring")  # forgotten: the reference comes back
    for name in ("ring", ""):
        with pytest.raises(libfp.NotFound) as caught:
            Ring.lookup(name)
        assert isinstance(caught.value, FileNotFoundError)


def raw_lookup(name):
    """A reference as C code takes it."""
    out = _libfp.ffi.new("fp_ring **")
    assert _libfp.lib.fp_ring_lookup(name, out) == 0
    return out[0]


def test_ring_made_by_c():
    ffi, lib = _libfp.ffi, _libfp.lib
    name = ffi.new("char[]", b"made by C")
    opts, out = ffi.new("fp_ring_opts *"), ffi.new("fp_ring **")
    assert lib.fp_ring_opts_init(opts, ffi.sizeof("fp_ring_opts")) == 0
    opts.name, opts.capacity, opts.elem_size = name, 5, 8
    assert lib.fp_ring_create(opts, out) == 0
    with Ring.lookup("made by C") as ring:
        assert ring.handle == int(ffi.cast("uintptr_t", out[0])) and ring.capacity == 5
        assert lib.fp_ring_enqueue_u64(out[0], 7) == 1
        assert ring.dequeue() == 7
        with pytest.raises(libfp.RingBusy):
            ring.destroy()
        assert lib.fp_ring_destroy(out[0]) == -errno.EBUSY
    assert lib.fp_ring_destroy(out[0]) == 0


def test_ring_that_c_holds_outlives_its_python_object():
    ring = Ring(8, name="held")
    handle = raw_lookup(b"held")
    del ring
    gc.collect()
    assert _libfp.lib.fp_ring_enqueue_u64(handle, 3) == 1
    with Ring.lookup("held") as again:
        assert again.dequeue() == 3
    assert _libfp.lib.fp_ring_unref(handle) == 0
    assert _libfp.lib.fp_ring_destroy(handle) == 0


def test_destroyed_ring_raises_everywhere():
    ring = Ring(4, consumer="st", name="gone")
    ring.enqueue(1)
    ring.destroy()
    ring.destroy()
    for call in (lambda: ring.enqueue(1), lambda: ring.enqueue_burst(u64(1)),
                 lambda: ring.enqueue_bulk(u64(1)), ring.dequeue, lambda: ring.dequeue_burst(1),
                 lambda: ring.dequeue_bulk(1), lambda: ring.dequeue_into(bytearray(8)),
                 lambda: ring.dequeue_into_bulk(bytearray(8)), lambda: ring.peek(1),
                 lambda: ring.reserve(1), lambda: ring.reserve_dequeue(1), ring.close, ring.reset,
                 *(lambda n=n: getattr(ring, n) for n in ("handle", "count", "free_count",
                                                          "is_full", "is_empty", "is_closed",
                                                          "stats"))):
        with pytest.raises(libfp.RingDestroyed) as caught:
            call()
        assert isinstance(caught.value, ValueError) and caught.value.errno == errno.EBADF
    Ring(4, name="gone").destroy()


def test_context_manager_passes_the_exception_on():
    with pytest.raises(ZeroDivisionError):
        with Ring(4) as ring:
            1 / 0
    with pytest.raises(libfp.RingDestroyed):
        ring.dequeue()


def test_no_copies():
    with Ring(4) as ring:
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot be copied or pickled"):
                way(ring)


def test_a_half_made_ring_is_collected_quietly():
    ring = Ring.__new__(Ring)
    with pytest.raises(AttributeError):
        ring.enqueue(1)
    del ring


def test_checked_ring_works(sides):
    with Ring(4, checked=True, **sides) as ring:
        ring.enqueue_burst(u64(1, 2))
        with ring.reserve(2) as span:
            span.views[0][0] = 3
        assert ring.dequeue_burst(3).tolist() == [1, 2, 3]
