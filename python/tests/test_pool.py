# SPDX-License-Identifier: BSD-2-Clause
"""Every method of Pool: results, limits, errors."""

import array
import copy
import errno
import gc
import pickle
import threading
import time
import warnings

import libfp
import pytest
from libfp import Pool, _libfp

try:
    import numpy
except ImportError:
    numpy = None

ffi, lib = _libfp.ffi, _libfp.lib


def u32(*values):
    return array.array("I", values)


def u64(*values):
    return array.array("Q", values)


def test_get_until_there_is_none(pools):
    with Pool(5, 16, **pools) as pool:
        blocks = [pool.get() for _ in range(5)]
        assert sorted(block.index for block in blocks) == [0, 1, 2, 3, 4]
        assert pool.get() is None and pool.is_empty and not pool.is_full
        assert (pool.available, pool.in_use) == (0, 5)
        for block in blocks:
            pool.put(block)
        assert pool.is_full and (pool.available, pool.in_use) == (5, 0)


def test_what_was_put_last_comes_first(pools):
    with Pool(64, 8, **{**pools, "cache_size": 16}) as pool:
        first, second = pool.get_bulk(2)
        pool.put(first)
        pool.put(second)
        with pool.get() as one, pool.get() as two:
            assert (one.index, two.index) == (second.index, first.index)
        kept = pool.get_indexes(4).tolist()
        pool.put_indexes(u32(*kept))
        assert pool.get_indexes(4).tolist() == kept[::-1]
        pool.put_indexes(u32(*kept))


def test_bulk_is_all_or_nothing(pools):
    with Pool(6, 8, **pools) as pool:
        blocks = pool.get_bulk(4)
        assert len(blocks) == 4 and len({b.index for b in blocks}) == 4
        assert pool.get_bulk(3) == [] and pool.in_use == 4
        assert pool.get_indexes(3).tolist() == [] and pool.get_indexes_into(u64(0, 0, 0)) == 0
        more = pool.get_bulk(2)
        assert pool.put_bulk(blocks + more) == 6
        assert pool.is_full
        assert pool.put_bulk([]) == 0 and pool.get_bulk(0) == []
        assert pool.put_bulk(b for b in pool.get_bulk(6)) == 6


def test_a_pool_of_one_object_of_one_byte(pools):
    with Pool(1, 1, **pools) as pool:
        with pool.get() as block:
            assert block.index == 0 and len(block.view) == 1 and pool.get() is None
        assert pool.get_indexes(1).tolist() == [0]
        assert pool.put_indexes(u64(0)) == 1


@pytest.mark.parametrize("n", [511, 512, 513, 3000])
def test_many_at_once(n):
    """Around what the extension keeps on the stack."""
    with Pool(3000, 8, cache_size=100) as pool:
        indexes = pool.get_indexes(n)
        assert len(set(indexes)) == n == pool.in_use
        assert pool.put_indexes(indexes) == n and pool.is_full
        pool.audit()


def kinds():
    yield "array I", lambda *v: u32(*v)
    yield "array Q", lambda *v: u64(*v)
    yield "array l", lambda *v: array.array("l", v)
    yield "memoryview", lambda *v: memoryview(u64(*v))
    yield "slice", lambda *v: memoryview(u32(9, *v, 9))[1:-1]
    yield "misaligned", lambda *v: memoryview(
        bytearray(b"x" + u64(*v).tobytes()))[1:].cast("Q")
    if numpy:
        yield "numpy u4", lambda *v: numpy.array(v, dtype="u4")
        yield "numpy u8", lambda *v: numpy.array(v, dtype="u8")
        yield "numpy i8", lambda *v: numpy.array(v, dtype="i8")


@pytest.mark.parametrize("make", [m for _, m in kinds()], ids=[n for n, _ in kinds()])
def test_index_buffers(make):
    with Pool(8, 8) as pool:
        room = make(7, 7, 7)
        assert pool.get_indexes_into(room) == 3
        got = [int(i) for i in room]
        assert len(set(got)) == 3 and max(got) < 8
        assert pool.put_indexes(room) == 3 and pool.is_full
        assert pool.put_indexes(make()[:0]) == 0 and pool.get_indexes_into(make()[:0]) == 0


def test_buffers_that_hold_no_indexes_are_refused():
    wrong = [bytearray(8), array.array("d", [1.0]), array.array("H", [1]), [1], None, 7]
    if numpy:
        wrong += [numpy.zeros(2, "f4"), numpy.zeros(2, ">u4"), numpy.zeros(2, "u2")]
    with Pool(8, 8) as pool:
        for room in wrong:
            for call in (pool.get_indexes_into, pool.put_indexes):
                with pytest.raises(TypeError):
                    call(room)
        gaps = memoryview(u32(*range(8)))[::2]
        for call in (pool.get_indexes_into, pool.put_indexes):
            with pytest.raises((BufferError, ValueError)):
                call(gaps)
        with pytest.raises((BufferError, ValueError)):
            pool.get_indexes_into(memoryview(u32(0)).toreadonly())
        assert pool.is_full


def test_a_buffer_of_indexes_is_let_go_after_the_call():
    room = u32(0, 0)
    with Pool(2, 8) as pool:
        pool.get_indexes_into(room)
        room.append(9)  # BufferError if somebody still held it
        try:
            pool.put_indexes(room)
        except libfp.InvalidArgument:
            room.pop()  # also while the exception is handled
        assert pool.put_indexes(room) == 2


def test_an_index_out_of_range_puts_none(pools):
    with Pool(4, 8, **pools) as pool:
        indexes = pool.get_indexes(3).tolist()
        for wrong in (u32(indexes[0], 4), u64(indexes[0], 2**63), array.array("q", [-1])):
            with pytest.raises(libfp.NoSuchObject) as caught:
                pool.put_indexes(wrong)
            assert isinstance(caught.value, ValueError) and caught.value.errno == errno.EFAULT
        assert pool.in_use == 3
        pool.put_indexes(u32(*indexes))


@pytest.mark.parametrize("n", [-1, 5, 2**31, 2**40])
def test_counts_out_of_range(n):
    with Pool(4, 8) as pool:
        for call in (pool.get_bulk, pool.get_indexes):
            with pytest.raises(libfp.InvalidArgument):
                call(n)
            with pytest.raises(TypeError):
                call(1.0)
        for call in (pool.get_indexes_into, pool.put_indexes):
            with pytest.raises(libfp.InvalidArgument):
                call(u32(0, 0, 0, 0, 0))


@pytest.mark.parametrize("arguments, options, cls, code", [
    ((0, 8), {}, ValueError, errno.EINVAL),
    ((2**31, 8), {}, ValueError, errno.EINVAL),
    ((-1, 8), {}, ValueError, errno.EINVAL),
    ((2**32, 8), {}, ValueError, errno.EINVAL),
    ((8, 0), {}, ValueError, errno.EINVAL),
    ((8, -1), {}, ValueError, errno.EINVAL),
    ((8, 8), {"align": 3}, ValueError, errno.EINVAL),
    ((8, 8), {"align": 8192}, ValueError, errno.EINVAL),
    ((8, 8), {"align": 0}, ValueError, errno.EINVAL),
    ((8, 8), {"cache_size": 0}, ValueError, errno.EINVAL),
    ((8, 8), {"cache_size": 9}, ValueError, errno.EINVAL),
    ((8, 8, ""), {}, ValueError, errno.EINVAL),
    ((8, 8, "a\0b"), {}, ValueError, errno.EINVAL),
    ((8, 8, "n" * 64), {}, ValueError, errno.ENAMETOOLONG),
    ((2**31 - 1, 2**32 - 1), {}, MemoryError, errno.ENOMEM),
])
def test_refused_arguments(arguments, options, cls, code):
    with pytest.raises(libfp.FpError) as caught:
        Pool(*arguments, **options)
    assert isinstance(caught.value, cls) and caught.value.errno == code


@pytest.mark.parametrize("wrong", ["8", 8.0, None])
def test_sizes_must_be_integers(wrong):
    for arguments in ((wrong, 8), (8, wrong)):
        with pytest.raises(TypeError):
            Pool(*arguments)


def test_the_reason_of_a_refusal_is_in_the_exception():
    with pytest.raises(libfp.FpError, match="align 3 is no power of two"):
        Pool(8, 8, align=3)


def test_properties():
    pool = Pool(100, 20, "shape", align=64, cache_size=32)
    assert (pool.capacity, pool.object_size, pool.stride) == (100, 20, 64)
    assert pool.base % 64 == 0 and pool.handle > 0 and pool.cache_size == 32
    assert pool.memory >= 6400
    assert pool.name == "shape" and "'shape'" in repr(pool) and "100" in repr(pool)
    block = pool.get()
    assert f"Block {block.index}" in repr(block) and block.is_open
    pool.put(block)
    assert "put" in repr(block) and not block.is_open
    pool.destroy()
    assert "destroyed" in repr(pool) and pool.capacity == 100
    with Pool(7, 8) as small:
        assert small.cache_size == 0  # too small for caches of threads; ours still works
        small.put(small.get())


def test_a_pool_and_a_block_are_true():
    with Pool(1, 1) as pool, pool.get() as block:
        assert pool and block


def test_memory_hints():
    with Pool(100, 8, huge=True, prefault=True, numa_node=0) as pool:
        pool.put(pool.get())


def test_addresses():
    with Pool(4, 10) as pool:
        for index in range(4):
            address = pool.address_of(index)
            assert address == pool.base + index * pool.stride
            assert pool.index_of(address) == index
            assert pool.contains(address) and pool.contains(address + 9)
            assert not pool.contains(address + 10)
            with pytest.raises(libfp.NoSuchObject):
                pool.index_of(address + 1)
        for index in (-1, 4):
            with pytest.raises(libfp.NoSuchObject):
                pool.address_of(index)
            with pytest.raises(libfp.NoSuchObject):
                pool.adopt(index)
        for call in (pool.address_of, pool.adopt):
            with pytest.raises(TypeError):
                call(1.5)
        assert not pool.contains(0)


def test_objects_at_hand():
    with Pool(64, 8, cache_size=16) as pool:
        assert pool.cached == pool.flush() == 0
        pool.put(pool.get())
        held = pool.cached
        assert 0 < held <= 16 and pool.stats.in_explicit_caches == held
        assert pool.flush() == held and pool.cached == 0
        pool.put(pool.get())
        assert pool.reclaim() == 0 and pool.cached == 0
        assert pool.stats.in_depot == 64


def test_objects_at_hand_are_out_of_reach_for_others():
    with Pool(8, 8, "shared", cache_size=8) as pool, Pool.lookup("shared") as other:
        pool.put_bulk(pool.get_bulk(8))
        assert pool.cached == 8
        assert other.get() is None and other.available == 8
        pool.flush()
        assert other.put_bulk(other.get_bulk(8)) == 8
        other.flush()


def test_statistics():
    with Pool(64, 8, stats=True, cache_size=16) as pool:
        pool.put_bulk(pool.get_bulk(3))
        pool.put(pool.get())
        kept = pool.get_bulk(60)
        assert pool.get_bulk(5) == []
        stats = pool.stats
        assert stats.counted and stats.capacity == 64
        assert (stats.available, stats.in_use) == (4, 60)
        assert (stats.gets, stats.objects_got, stats.failures) == (3, 64, 1)
        assert (stats.puts, stats.objects_put) == (2, 4)
        assert stats.cache_hits + stats.depot_exchanges == 5
        assert stats.explicit_caches == 1 and stats.misuses == 0
        assert stats.thread_caches == 0  # Python leaves those of libfp alone
        assert stats.in_depot + stats.in_explicit_caches == 4
        pool.put_bulk(kept)
    with Pool(3, 8) as pool:
        assert not pool.stats.counted


def test_names_and_references():
    with Pool(4, 8, name="pool") as pool:
        with pytest.raises(FileExistsError):
            Pool(4, 8, name="pool")
        with Pool.lookup("pool") as same:
            assert same.handle == pool.handle and same.capacity == 4 and same.object_size == 8
            block = same.get()
            pool.put(block)  # either object of one pool will do
            for one in (pool, same):
                with pytest.raises(libfp.PoolBusy) as caught:
                    one.destroy()
                assert caught.value.errno == errno.EBUSY
        for call in (same.get, same.unref, lambda: same.stats):
            with pytest.raises(libfp.PoolDestroyed):
                call()
        same.destroy()  # gone already
        with pytest.raises(libfp.InvalidArgument):
            pool.unref()
        Pool.lookup("pool")  # forgotten: the reference comes back
    for name in ("pool", ""):
        with pytest.raises(libfp.NotFound) as caught:
            Pool.lookup(name)
        assert isinstance(caught.value, FileNotFoundError)


def test_a_ring_and_a_pool_may_share_a_name():
    with Pool(4, 8, name="both"), libfp.Ring(4, name="both"):
        assert Pool.lookup("both").capacity == libfp.Ring.lookup("both").capacity == 4


def test_destroy_says_how_many_are_in_use():
    pool = Pool(100, 8)
    blocks, indexes = pool.get_bulk(3), pool.get_indexes(4)
    for in_use, give in ((7, lambda: pool.put_bulk(blocks)),
                         (4, lambda: pool.put_indexes(indexes))):
        with pytest.raises(libfp.PoolBusy, match=f"{in_use} objects are in use") as caught:
            pool.destroy()
        assert caught.value.in_use == in_use and caught.value.errno == errno.EBUSY
        give()
    pool.destroy()


def test_leaving_with_objects_in_use_says_so():
    with pytest.raises(libfp.PoolBusy) as caught:
        with Pool(8, 8) as pool:
            kept = pool.get()
    assert caught.value.in_use == 1
    pool.put(kept)
    pool.destroy()


def test_exception_leaves_pool_and_block_together():
    with pytest.raises(ZeroDivisionError):
        with Pool(8, 8) as pool:
            block = pool.get()
            1 / 0
    block.view[0] = 1
    pool.put(block)
    pool.destroy()


def test_context_manager_passes_the_exception_on():
    with pytest.raises(ZeroDivisionError):
        with Pool(4, 8) as pool, pool.get():
            1 / 0
    with pytest.raises(libfp.PoolDestroyed):
        pool.get()


def test_destroyed_pool_raises_everywhere():
    pool = Pool(4, 8, name="gone")
    block = pool.get()
    pool.put(block)
    pool.destroy()
    pool.destroy()
    for call in (pool.get, lambda: pool.get_bulk(1), lambda: pool.get_indexes(1),
                 lambda: pool.get_indexes_into(u32(0)), lambda: pool.put_indexes(u32(0)),
                 lambda: pool.put_bulk([]), pool.flush, pool.reclaim, pool.audit, pool.leaks,
                 lambda: pool.set_tag(0, 1), lambda: pool.index_of(1), lambda: pool.contains(1),
                 lambda: pool.adopt(0).view, lambda: pool.put(pool.adopt(0)),
                 *(lambda n=n: getattr(pool, n) for n in (
                     "handle", "available", "in_use", "is_full", "is_empty", "cached", "memory",
                     "stats"))):
        with pytest.raises(libfp.PoolDestroyed) as caught:
            call()
        assert isinstance(caught.value, ValueError) and caught.value.errno == errno.EBADF
    with pytest.raises(libfp.NotInUse):
        pool.put(block)
    if numpy:
        with pytest.raises(libfp.PoolDestroyed):
            pool.array()
    Pool(4, 8, name="gone").destroy()


def test_no_copies():
    with Pool(4, 8) as pool, pool.get() as block:
        for one in (pool, block):
            for way in (copy.copy, copy.deepcopy, pickle.dumps):
                with pytest.raises(TypeError, match="cannot be copied or pickled"):
                    way(one)


def test_made_and_destroyed_again_and_again():
    for _ in range(200):
        with Pool(64, 64) as pool:
            pool.put(pool.get())


# ---- beside C ----

def pool_of_c(name, count, size):
    opts, out = ffi.new("fp_mempool_opts *"), ffi.new("fp_mempool **")
    assert lib.fp_mempool_opts_init(opts, ffi.sizeof("fp_mempool_opts")) == 0
    opts.name, opts.count, opts.object_size, opts.cache_size = name, count, size, 2
    assert lib.fp_mempool_create(opts, out) == 0
    return out[0]


def test_pool_made_by_c():
    name = ffi.new("char[]", b"made by C")
    raw = pool_of_c(name, 8, 16)
    with Pool.lookup("made by C") as pool:
        assert pool.handle == int(ffi.cast("uintptr_t", raw)) and pool.capacity == 8
        found = lib.fp_mempool_get(raw)
        index = pool.index_of(int(ffi.cast("uintptr_t", found)))
        ffi.buffer(found, 16)[:5] = b"hello"
        with pool.adopt(index) as block:  # C hands an object over
            assert bytes(block.view[:5]) == b"hello"
        mine = pool.get().detach()  # and takes one
        assert lib.fp_mempool_put(raw, ffi.cast("void *", pool.address_of(mine))) == 0
        assert pool.is_full and pool.stats.in_own_cache > 0 and pool.stats.thread_caches == 1
        with pytest.raises(libfp.PoolBusy):
            pool.destroy()
        assert lib.fp_mempool_destroy(raw) == -errno.EBUSY
    assert lib.fp_mempool_destroy(raw) == 0


def test_reclaim_says_what_threads_of_c_hold():
    with Pool(8, 8, "asked", cache_size=8) as pool:
        raw = pool._core.handle
        held, go_on = threading.Event(), threading.Event()

        def work():
            assert lib.fp_mempool_put(raw, lib.fp_mempool_get(raw)) == 0
            held.set()
            go_on.wait()

        thread = threading.Thread(target=work)
        thread.start()
        held.wait()
        assert pool.reclaim() == pool.stats.in_other_caches > 0
        assert pool.get_bulk(8) == []
        go_on.set()
        thread.join()
        while pool.stats.in_other_caches:  # the thread is gone for Python, not yet for the kernel
            time.sleep(0.001)
        assert pool.put_bulk(pool.get_bulk(8)) == 8


def test_pool_that_c_holds_outlives_its_python_object():
    pool = Pool(8, 8, name="held")
    index = pool.get().detach()
    out = ffi.new("fp_mempool **")
    assert lib.fp_mempool_lookup(b"held", out) == 0
    with pytest.warns(ResourceWarning):
        del pool
        gc.collect()
    with Pool.lookup("held") as again:
        assert again.stats.explicit_caches == 0  # that of the first object has gone with it
        again.put(again.adopt(index))
    assert lib.fp_mempool_unref(out[0]) == 0
    assert lib.fp_mempool_destroy(out[0]) == 0


def test_pool_dropped_with_indexes_out_warns():
    pool = Pool(8, 8)
    pool.get_indexes(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del pool
        gc.collect()
    assert [w.category for w in caught] == [ResourceWarning]
    assert "3 objects in use" in str(caught[0].message)
