# SPDX-License-Identifier: BSD-2-Clause
"""Blocks, their views, arrays over the pool: what is dead when, and what holds up what."""

import errno
import gc
import threading

import libfp
import pytest
from libfp import Pool, _libfp

try:
    import numpy
except ImportError:
    numpy = None

needs_numpy = pytest.mark.skipif(not numpy, reason="NumPy is not installed")


def test_a_view_is_the_objects_memory(pools):
    with Pool(4, 100, **pools) as pool:
        with pool.get() as block:
            view = block.view
            assert (view.format, len(view), view.readonly, view.contiguous) == (
                "B", 100, False, True)
            view[:5] = b"hello"
            assert bytes(block.view[:5]) == b"hello" and block.view is view
            address = int(_libfp.ffi.cast("uintptr_t", _libfp.ffi.from_buffer(view)))
            assert address == pool.address_of(block.index)
        with pool.get() as again:
            assert again.index == block.index
            kept = b"\xdb" if pools.get("checked") else b"h"  # a checked pool poisons
            assert bytes(again.view[:1]) == kept


def test_objects_do_not_overlap(pools):
    with Pool(9, 13, **pools) as pool:
        blocks = pool.get_bulk(9)
        for block in blocks:
            block.view[:] = bytes([block.index]) * 13
        assert all(bytes(b.view) == bytes([b.index]) * 13 for b in blocks)
        pool.put_bulk(blocks)


@pytest.mark.parametrize("end", ["put", "put_bulk", "with", "detach"])
def test_the_view_of_a_block_that_ended_is_dead(pools, end):
    with Pool(4, 8, **pools) as pool:
        block = pool.get()
        view = block.view
        if end == "put":
            pool.put(block)
        elif end == "put_bulk":
            pool.put_bulk([block])
        elif end == "detach":
            pool.put_indexes(memoryview(bytes([block.detach(), 0, 0, 0])).cast("I"))
        else:
            with block:
                pass
        for use in (lambda: view[0], view.tolist, lambda: view[1:], lambda: memoryview(view),
                    lambda: bytes(view)):
            with pytest.raises(ValueError):
                use()
        with pytest.raises(ValueError):
            view[0] = 1
        for call in (lambda: block.view, lambda: pool.put(block), lambda: pool.put_bulk([block]),
                     block.detach):
            with pytest.raises(libfp.NotInUse, match="was put or detached") as caught:
                call()
            assert isinstance(caught.value, ValueError) and caught.value.errno == errno.EALREADY
        with block:  # nothing to do at its end
            pass
        assert pool.is_full and not block.is_open


def makers():
    yield "slice", lambda view: view[1:2]
    yield "memoryview", memoryview
    yield "cast", lambda view: view.cast("Q")
    if numpy:
        yield "array", numpy.asarray
        yield "array of a slice", lambda view: numpy.asarray(view[1:])
        yield "slice of an array", lambda view: numpy.asarray(view)[1:2]
        yield "frombuffer", lambda view: numpy.frombuffer(view, dtype="u8")


@pytest.mark.parametrize("make", [m for _, m in makers()], ids=[n for n, _ in makers()])
def test_what_was_made_from_a_view_holds_up_the_put(pools, make):
    pool = Pool(4, 8, **pools)
    block = pool.get()
    made = make(block.view)
    for call in (lambda: pool.put(block), lambda: pool.put_bulk([block]), block.detach):
        with pytest.raises(BufferError, match="still exist"):
            call()
    with pytest.raises(libfp.PoolBusy) as caught:
        pool.destroy()
    assert caught.value.in_use == 1
    assert block.is_open and len(bytes(made)) > 0 and pool.in_use == 1
    block.view[:] = b"12345678"  # a new view
    del made
    pool.put(block)
    pool.destroy()


def test_a_view_released_by_its_user():
    with Pool(4, 8) as pool, pool.get() as block:
        with block.view as view:
            view[0] = 1
        assert block.view[0] == 1


def test_leaving_with_a_slice_alive_says_so():
    with Pool(4, 8) as pool:
        with pytest.raises(BufferError):
            with pool.get() as block:
                kept = block.view[1:]
        del kept
        pool.put(block)


def test_an_exception_with_a_slice_alive_puts_when_it_goes():
    with Pool(4, 8) as pool:
        kept = []
        with pytest.raises(ZeroDivisionError):
            with pool.get() as block:
                kept.append(block.view[1:])
                1 / 0
        del block
        assert pool.in_use == 1
        kept[0][0] = 1
        kept.clear()
        gc.collect()
        assert pool.is_full


def test_a_bulk_with_one_bad_block_puts_none(pools):
    with Pool(8, 8, **pools) as pool, Pool(8, 8) as other:
        blocks = pool.get_bulk(3)
        done = pool.get()
        pool.put(done)
        slice_of = blocks[2].view[1:]
        foreign = other.get()
        for bad, cls in ((done, libfp.NotInUse), (blocks[0], libfp.NotInUse),
                         (blocks[2], BufferError), (foreign, libfp.NoSuchObject),
                         (7, TypeError)):
            with pytest.raises(cls):
                pool.put_bulk([blocks[0], blocks[1], bad])
            assert pool.in_use == 3 and all(b.is_open for b in blocks)
        with pytest.raises(ZeroDivisionError):
            pool.put_bulk(b if b is not blocks[2] else 1 / 0 for b in blocks)
        with pytest.raises(libfp.NoSuchObject):
            pool.put(foreign)
        with pytest.raises(TypeError):
            pool.put(3)
        other.put(foreign)
        del slice_of
        assert pool.put_bulk(blocks) == 3


# ---- forgotten ----

def test_a_forgotten_block_is_put(pools):
    with Pool(4, 8, **pools) as pool:
        pool.get()
        block = pool.get()
        view = block.view
        del block
        assert pool.in_use == 1  # the view is somebody's
        view[0] = 1
        del view
        assert pool.is_full


def test_blocks_in_a_cycle_are_put():
    with Pool(4, 8) as pool:

        class Holder:
            pass

        for with_view in (False, True):
            holder = Holder()
            holder.me, holder.block = holder, pool.get()
            if with_view:
                holder.part = holder.block.view[1:]
            del holder
            gc.collect()
            assert pool.is_full


def test_views_keep_the_pool_alive():
    pool = Pool(1 << 14, 64)
    view = pool.get().view[:]
    del pool
    gc.collect()
    view[:] = bytes(64)  # a crash if the memory had been freed
    assert bytes(view) == bytes(64)


def test_a_detached_block_is_not_put():
    with Pool(4, 8) as pool:
        block = pool.get()
        block.view[:3] = b"abc"
        index = block.detach()
        del block
        assert pool.in_use == 1
        with pool.adopt(index) as again:
            assert bytes(again.view[:3]) == b"abc"
        assert pool.is_full


def test_memory_is_not_freed_under_a_view_whatever_is_put():
    """An index put behind the back of its block: wrong, but nothing is freed."""
    pool = Pool(4, 8)
    block = pool.get()
    view = block.view
    pool.put_indexes(memoryview(bytes([block.index, 0, 0, 0])).cast("I"))
    with pytest.raises(libfp.PoolBusy, match="views of blocks") as caught:
        pool.destroy()
    assert caught.value.in_use == 0
    view[0] = 1
    pool.adopt(pool.get().detach())  # in use again
    del view
    block.detach()
    pool.destroy()


def test_unref_waits_for_views():
    with Pool(4, 8, "looked up") as pool:
        other = Pool.lookup("looked up")
        block = other.get()
        view = block.view
        with pytest.raises(libfp.PoolBusy, match="views of blocks"):
            other.unref()
        view[0] = 1
        del view
        other.unref()
        with pytest.raises(libfp.PoolDestroyed):
            block.view
        with pytest.raises(libfp.PoolDestroyed):
            other.put(block)
        pool.put(block)


# ---- the whole pool ----

@needs_numpy
def test_array_of_the_whole_pool(pools):
    with Pool(6, 16, **pools) as pool:
        blocks = pool.get_bulk(6)
        for block in blocks:
            block.view[:] = bytes([block.index + 1]) * 16
        for dtype, shape in (("u1", (6, 16)), ("u4", (6, 4)), ("u8", (6, 2)), ("S16", (6,)),
                             ([("a", "u8"), ("b", "u4"), ("c", "u4")], (6,))):
            objects = pool.array(dtype)
            assert objects.shape == shape and objects.strides[0] == pool.stride
            assert objects.flags.writeable
            for i in range(6):
                assert objects[i].tobytes() == bytes([i + 1]) * 16
        objects["a"] = numpy.arange(6)
        assert all(b.view.cast("Q")[0] == b.index for b in blocks)
        del objects
        pool.put_bulk(blocks)
        pool.audit()  # guards lie between the objects of a checked pool


@needs_numpy
def test_array_by_index():
    record = numpy.dtype([("time", "u8"), ("length", "u4")])
    with Pool(100, record.itemsize, align=64) as pool:
        packets = pool.array(record)
        mine = numpy.empty(10, "u4")
        assert pool.get_indexes_into(mine) == 10
        packets["length"][mine] = 5
        assert packets[mine]["length"].sum() == packets["length"].sum() == 50
        del packets
        pool.put_indexes(mine)


@needs_numpy
def test_array_of_what_does_not_fit():
    with Pool(4, 12) as pool:
        for wrong in ("u8", "S24", "V0", "O", [("a", "O"), ("b", "u4")]):
            with pytest.raises(ValueError):
                pool.array(wrong)
        with pytest.raises(TypeError):
            pool.array("no such type")


@needs_numpy
def test_an_array_keeps_the_pool_from_being_destroyed():
    pool = Pool(4, 8)
    part = pool.array("u8")[1:2]
    with pytest.raises(libfp.PoolBusy, match="arrays over the pool") as caught:
        pool.destroy()
    assert caught.value.in_use == 0
    pool.put(pool.get())  # it is open still
    del part
    pool.destroy()
    big = Pool(1 << 14, 64).array()
    gc.collect()
    big[:] = 7  # a crash if the memory had been freed
    assert big[-1, -1] == 7


# ---- beside other threads ----

def test_put_beside_a_thread_that_asks_for_the_view():
    """Either the other thread gets no view, or there is no put."""
    with Pool(4, 8) as pool:
        block = pool.get()
        block._open.pop()  # as while another thread is inside put
        for call in (lambda: block.view, lambda: pool.put(block)):
            with pytest.raises(libfp.NotInUse):
                call()
        block._open.append(True)
        assert len(block.view) == 8
        pool.put(block)


def test_destroy_beside_a_thread_that_asks_for_memory():
    with Pool(4, 8) as pool:
        block = pool.get()
        pool._open.pop()  # as while another thread is inside destroy
        calls = [lambda: block.view, pool.destroy]
        if numpy:
            calls.append(pool.array)
        for call in calls:
            with pytest.raises(libfp.PoolBusy, match="inside destroy"):
                call()
        pool._open.append(True)
        assert not pool._pins
        pool.put(block)


def test_of_two_threads_one_puts():
    with Pool(64, 8) as pool:
        for _ in range(50):
            block, refused = pool.get(), []
            ready = threading.Barrier(2)

            def put():
                ready.wait()
                try:
                    pool.put(block)
                except libfp.NotInUse as late:
                    refused.append(late)

            threads = [threading.Thread(target=put) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(refused) == 1 and pool.is_full


# ---- checked pools ----

def test_a_checked_pool_finds_an_index_put_twice():
    with Pool(4, 8, checked=True) as pool:
        index = pool.get_indexes(1)
        pool.put_indexes(index)
        with pytest.raises(libfp.NotInUse, match="not in use"):
            pool.put_indexes(index)
        assert pool.stats.misuses == 1
        block = pool.get()
        pool.put_indexes(memoryview(bytes([block.index, 0, 0, 0])).cast("I"))
        with pytest.raises(libfp.NotInUse, match="not in use"):
            pool.put(block)
        assert not block.is_open and pool.is_full


def write_beyond(pool, index):
    end = _libfp.ffi.cast("char *", pool.address_of(index) + pool.object_size)
    end[0] = b"x"


def test_a_checked_pool_finds_writes_beyond_an_object():
    with Pool(4, 8, checked=True) as pool:
        block = pool.get()
        write_beyond(pool, block.index)
        with pytest.raises(libfp.Overwritten, match="beyond its ends"):
            pool.put(block)
        assert block.is_open  # still the caller's, and mended
        pool.put(block)


def test_a_checked_pool_finds_writes_after_the_put():
    with Pool(4, 8, checked=True) as pool:
        with pool.get() as block:
            pass
        _libfp.ffi.cast("char *", pool.address_of(block.index))[0] = b"x"
        with pytest.raises(libfp.Overwritten):
            pool.audit()
        with pytest.raises(libfp.Overwritten, match="after it was put"):
            pool.get()
        assert pool.is_full
        pool.audit()
        pool.put(pool.get())


def test_leaks():
    with Pool(8, 8, checked=True) as pool:
        assert pool.leaks() == []
        blocks = pool.get_bulk(3)
        pool.set_tag(blocks[1].index, 77)
        leaks = pool.leaks()
        assert [leak.index for leak in leaks] == sorted(b.index for b in blocks)
        tags = {leak.index: leak.tag for leak in leaks}
        assert tags.pop(blocks[1].index) == 77 and set(tags.values()) == {0}
        assert {leak.thread for leak in leaks} == {threading.get_native_id()}
        assert all(leak.since_ns > 0 and leak.age_ns >= 0 for leak in leaks)
        gone = blocks.pop()
        pool.put(gone)
        with pytest.raises(libfp.NotInUse):
            pool.set_tag(gone.index, 1)
        for wrong in (8, 2**40):
            with pytest.raises(libfp.NoSuchObject):
                pool.set_tag(wrong, 1)
        pool.put_bulk(blocks)
    with Pool(8, 8) as pool:
        for call in (pool.leaks, lambda: pool.set_tag(0, 1)):
            with pytest.raises(libfp.NotSupported):
                call()
