# SPDX-License-Identifier: BSD-2-Clause
"""Spans: in place, once, and dead afterwards, whatever was made from their views."""

import array
import errno
import gc

import libfp
import pytest
from libfp import Ring

try:
    import numpy
except ImportError:
    numpy = None


def fill(span, first):
    """Writes first, first + 1, ... into all of a span."""
    for view in span.views:
        for i in range(len(view)):
            view[i] = first + i
        first += len(view)


def taken(span):
    return [value for view in span.views for value in view]


def test_write_and_read_in_place(sides):
    with Ring(8, **sides) as ring:
        with ring.reserve(5) as span:
            assert len(span) == 5
            fill(span, 10)
        with ring.reserve_dequeue(9) as span:
            assert len(span) == 5
            assert taken(span) == [10, 11, 12, 13, 14]
        assert ring.is_empty
        with ring.reserve(8) as span:  # wraps
            assert [len(v) for v in span.views] == [3, 5]
            fill(span, 0)
        assert ring.dequeue_burst(8).tolist() == list(range(8))


def test_formats(sides):
    for size, code, shape in ((4, "I", 2), (8, "Q", 2), (12, "B", 24)):
        with Ring(4, size, **sides) as ring:
            with ring.reserve(2) as span:
                (view,) = span.views
                assert (view.format, len(view), view.readonly) == (code, shape, False)
            with ring.reserve_dequeue(2) as span:
                (view,) = span.views
                assert (view.format, len(view), view.readonly) == (code, shape, True)


def test_full_and_empty_give_an_empty_span(sides):
    with Ring(2, **sides) as ring:
        for span in (ring.reserve_dequeue(1), ring.reserve_dequeue(2, bulk=True),
                     ring.reserve(0)):
            with span:
                assert len(span) == 0 and span.views == ()
                assert span.commit() == 0
                with pytest.raises(libfp.InvalidArgument):
                    span.commit(1)
        ring.enqueue(1)
        assert len(ring.reserve(2, bulk=True)) == 0
        for call in (ring.reserve, ring.reserve_dequeue):
            with pytest.raises(libfp.InvalidArgument):
                call(3, bulk=True)


def test_commit_of_fewer(sides):
    with Ring(8, stats=True, **sides) as ring:
        with ring.reserve(5) as span:
            fill(span, 1)
            assert span.commit(2) == 2
        ring.enqueue(9)
        assert ring.stats.voided == (3 if sides["producer"] == "mt" else 0)
        assert [ring.dequeue() for _ in range(4)] == [1, 2, 9, None]


def test_reading_fewer_leaves_the_rest_on_an_st_side():
    with Ring(8, consumer="st") as ring:
        ring.enqueue_burst(array.array("Q", [1, 2, 3]))
        with ring.reserve_dequeue(3) as span:
            assert span.commit(1) == 1
        assert ring.dequeue_burst(8).tolist() == [2, 3]


def test_reading_fewer_is_refused_on_an_mt_side():
    with Ring(8, consumer="mt") as ring:
        ring.enqueue_burst(array.array("Q", [1, 2, 3]))
        with ring.reserve_dequeue(3) as span:
            with pytest.raises(libfp.InvalidArgument):
                span.commit(1)
            assert taken(span) == [1, 2, 3]  # nothing was changed


@pytest.mark.parametrize("k", [-1, 4, 2**32])
def test_commit_out_of_range_changes_nothing(sides, k):
    with Ring(8, **sides) as ring:
        with ring.reserve(3) as span:
            view = span.views[0]
            with pytest.raises(libfp.InvalidArgument):
                span.commit(k)
            view[0] = 1
        assert ring.count == 3


def test_a_span_is_committed_once(sides):
    with Ring(8, **sides) as ring:
        with ring.reserve(3) as span:
            span.commit()
            for call in (span.commit, lambda: span.commit(1), lambda: span.views):
                with pytest.raises(ValueError) as caught:
                    call()
                assert caught.value.errno == errno.EINVAL
        assert ring.count == 3


def test_views_of_a_committed_span_are_dead(sides):
    with Ring(8, **sides) as ring:
        with ring.reserve(8) as span:
            written = span.views
        with ring.reserve_dequeue(8) as span:
            read = span.views
        for view in written + read:
            for use in (lambda v=view: v[0], lambda v=view: v.tolist(), lambda v=view: v[1:],
                        lambda v=view: memoryview(v), lambda v=view: bytes(v)):
                with pytest.raises(ValueError):
                    use()
        with pytest.raises(ValueError):
            written[0][0] = 1


def makers():
    yield "slice", lambda view: view[1:2]
    yield "memoryview", memoryview
    yield "cast", lambda view: view.cast("B")
    if numpy:
        yield "array", numpy.asarray
        yield "array of a slice", lambda view: numpy.asarray(view[1:])
        yield "slice of an array", lambda view: numpy.asarray(view)[1:2]
        yield "frombuffer", lambda view: numpy.frombuffer(view, dtype="u1")


@pytest.mark.parametrize("make", [m for _, m in makers()], ids=[n for n, _ in makers()])
def test_what_was_made_from_a_view_holds_up_the_commit(sides, make):
    ring = Ring(8, **sides)
    span = ring.reserve(4)
    made = make(span.views[0])
    with pytest.raises(BufferError, match="still exist"):
        span.commit()
    with pytest.raises(libfp.RingBusy):
        ring.destroy()
    assert bytes(made) is not None  # its memory is there
    fill(span, 5)  # new views
    del made
    assert span.commit() == 4
    assert ring.dequeue_burst(4).tolist() == [5, 6, 7, 8]
    ring.destroy()


def test_leaving_with_an_array_alive_says_so(sides):
    with Ring(8, **sides) as ring:
        with pytest.raises(BufferError):
            with ring.reserve(4) as span:
                kept = span.views[0][1:]
        del kept
        assert span.commit() == 4


def test_an_exception_commits_nothing(sides):
    with Ring(8, **sides) as ring:
        with pytest.raises(ZeroDivisionError):
            with ring.reserve(4) as span:
                fill(span, 1)
                1 / 0
        assert ring.dequeue() is None
        ring.enqueue_burst(array.array("Q", [1, 2]))
        with pytest.raises(ZeroDivisionError):
            with ring.reserve_dequeue(2):
                1 / 0
        left = [] if sides["consumer"] == "mt" else [1, 2]
        assert ring.dequeue_burst(4).tolist() == left


def test_an_exception_with_a_view_alive_gives_up_when_it_goes(sides):
    with Ring(8, **sides) as ring:
        kept = []
        with pytest.raises(ZeroDivisionError):
            with ring.reserve(4) as span:
                kept.append(span.views[0][1:])
                1 / 0
        with pytest.raises(libfp.RingBusy):
            ring.destroy()
        kept[0][0] = 1
        kept.clear()
        ring.enqueue(6)
        assert ring.dequeue() == 6


def test_a_forgotten_span_is_given_up(sides):
    with Ring(8, **sides) as ring:
        ring.reserve(4)
        assert ring.enqueue(3) and ring.dequeue() == 3


def test_views_keep_the_ring_alive(sides):
    ring = Ring(1 << 16, **sides)
    span = ring.reserve(1 << 16)
    view = span.views[0][:]
    del ring, span
    gc.collect()
    for i in range(0, len(view), 512):  # a crash if the memory had been freed
        view[i] = i
    assert view[512] == 512


def test_ring_with_an_open_span_is_not_destroyed(sides):
    ring = Ring(8, **sides)
    span = ring.reserve(2)
    for call in (ring.destroy, ring.reset):
        with pytest.raises(libfp.RingBusy):
            call()
    span.commit()
    ring.reset()
    assert ring.is_empty
    ring.destroy()
    with pytest.raises(ValueError):
        span.commit()


def test_exception_leaves_ring_and_span_together():
    with pytest.raises(ZeroDivisionError):
        with Ring(8) as ring:
            span = ring.reserve(2)
            1 / 0
    span.commit()
    ring.destroy()


def test_several_open_spans_on_an_mt_side():
    with Ring(8) as ring:
        first, second = ring.reserve(2), ring.reserve(2)
        fill(second, 3)
        second.commit()
        assert ring.dequeue() is None and ring.stats.blocked
        fill(first, 1)
        first.commit()
        assert ring.dequeue_burst(8).tolist() == [1, 2, 3, 4]


def test_one_open_span_on_an_st_side():
    with Ring(8, producer="st", consumer="st") as ring:
        with ring.reserve(2):
            with pytest.raises(libfp.InvalidArgument):
                ring.reserve(2)
        with ring.reserve_dequeue(1):
            with pytest.raises(libfp.InvalidArgument):
                ring.reserve_dequeue(1)


def test_close_with_a_span_open(sides):
    with Ring(8, **sides) as ring:
        span = ring.reserve(2)
        fill(span, 1)
        ring.close()
        if sides["producer"] == "mt":
            assert span.commit() == 2
            assert ring.dequeue_burst(4).tolist() == [1, 2]
        else:
            with pytest.raises(libfp.RingClosed):
                span.commit()
        with pytest.raises(ValueError):
            span.commit()
        with pytest.raises(libfp.RingClosed):
            ring.dequeue()


def test_bulk_divided_by_a_void_slot():
    with Ring(8) as ring:
        ring.enqueue(1)
        with ring.reserve(2) as span:
            span.commit(0)
        ring.enqueue(2)
        with pytest.raises(libfp.TryAgain) as caught:
            ring.reserve_dequeue(2, bulk=True)
        assert isinstance(caught.value, BlockingIOError) and caught.value.errno == errno.EAGAIN
        assert ring.dequeue_burst(8).tolist() == [1, 2]


def test_commit_beside_a_thread_that_asks_for_views(sides):
    """Either the other thread gets no view, or there is no commit."""
    with Ring(8, **sides) as ring:
        span = ring.reserve(4)
        lease = span._leases.pop()  # as while another thread is inside commit
        with pytest.raises(libfp.InvalidArgument):
            span.views
        with pytest.raises(libfp.InvalidArgument):
            span.commit()
        span._leases.append(lease)
        assert len(span.views[0]) == 4 and span.commit() == 4


def test_a_refused_commit_leaves_the_span_open(sides):
    with Ring(8, **sides) as ring:
        span = ring.reserve(4)
        for gate in ring._core.gates:
            gate.word |= 0x80000000  # as while another thread is inside destroy
        with pytest.raises(libfp.RingBusy):
            span.commit()
        for gate in ring._core.gates:
            gate.word &= 0x7FFFFFFF
        fill(span, 1)
        assert span.commit() == 4


def test_misuse_found_by_a_checked_ring_says_who():
    with Ring(8, producer="st", checked=True) as ring:
        with ring.reserve(4) as span:
            with pytest.raises(libfp.RingBusy, match="thread"):
                ring.enqueue(1)
            span.commit(0)
