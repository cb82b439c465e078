// SPDX-License-Identifier: BSD-2-Clause

// Spans: in place, around the wrap, and everything that may be wrong with them.

package fp

import (
	"testing"
)

// fill writes first, first+1, ... into a span.
func fill(s *Span, first uint64) {
	a, b := s.Uint64s()
	for _, piece := range [][]uint64{a, b} {
		for i := range piece {
			piece[i] = first
			first++
		}
	}
}

func contents(s *Span) []uint64 {
	a, b := s.Uint64s()
	return append(append([]uint64{}, a...), b...)
}

func reserve(t *testing.T, what string, want int) func(*Span, error) *Span {
	return func(s *Span, err error) *Span {
		t.Helper()
		if s.Len() != want || err != nil {
			t.Fatalf("%s: %d, %v; want %d", what, s.Len(), err, want)
		}
		return s
	}
}

func commit(t *testing.T, s *Span, k int) {
	t.Helper()
	if err := s.Commit(k); err != nil {
		t.Fatal("Commit:", err)
	}
}

func TestSpansAroundTheWrap(t *testing.T) {
	forEachKind(t, func(t *testing.T, k kind) {
		r := makeRing(t, k, 5, 0)
		wraps := 0
		for next := uint64(1); next < 100; next += 3 {
			in := reserve(t, "ReserveEnqueue", 3)(r.ReserveEnqueue(3, 0))
			if _, second := in.Uint64s(); len(second) > 0 {
				wraps++
			}
			fill(in, next)
			commit(t, in, 3)
			out := reserve(t, "ReserveDequeue", 3)(r.ReserveDequeue(9, 0))
			want(t, "contents", contents(out), upTo(next, 3))
			commit(t, out, 3)
		}
		if wraps == 0 {
			t.Error("no span had two pieces")
		}
	})
}

func TestASpanIsCommittedOnce(t *testing.T) {
	forEachKind(t, func(t *testing.T, k kind) {
		r := makeRing(t, k, 4, 0)
		s := reserve(t, "ReserveEnqueue", 2)(r.ReserveEnqueue(2, 0))
		wantErr(t, "Commit of too many", s.Commit(3), ErrInvalid)
		wantErr(t, "Commit of -1", s.Commit(-1), ErrInvalid)
		copied := *s
		fill(s, 1)
		commit(t, s, 2)
		wantErr(t, "Commit again", s.Commit(2), ErrInvalid)
		wantErr(t, "Commit of a copy", copied.Commit(2), ErrInvalid)
		want(t, "Len after Commit", s.Len(), 0)
		a, b := s.Uint64s()
		c, d := s.Bytes()
		if a != nil || b != nil || c != nil || d != nil {
			t.Error("a committed span has slices")
		}
		n, err := r.Count()
		moved(t, "Count", n, err, 2)
	})
}

func TestACommitOfFewer(t *testing.T) {
	forEachKind(t, func(t *testing.T, k kind) {
		r := makeRing(t, k, 8, 0)
		s := reserve(t, "ReserveEnqueue", 4)(r.ReserveEnqueue(4, RingBulk))
		fill(s, 1)
		commit(t, s, 2)
		n, err := r.EnqueueBurst(upTo(3, 2))
		moved(t, "EnqueueBurst", n, err, 2)
		out := make([]uint64, 8)
		if k.producer == MT { // void slots divide the four
			_, err := r.ReserveDequeue(4, RingBulk)
			wantErr(t, "a bulk that is divided", err, ErrAgain)
			stats, err := r.Stats()
			if stats.Voided != 2 || stats.VoidPending != 2 || stats.Count != 6 || err != nil {
				t.Errorf("Stats: %+v, %v", stats, err)
			}
		}
		n, err = r.DequeueBurst(out)
		moved(t, "DequeueBurst", n, err, 4)
		want(t, "elements", out[:4], upTo(1, 4))

		n, err = r.EnqueueBurst(upTo(1, 3))
		moved(t, "EnqueueBurst", n, err, 3)
		s = reserve(t, "ReserveDequeue", 3)(r.ReserveDequeue(3, 0))
		if k.consumer == MT {
			wantErr(t, "a commit of fewer by an MT consumer", s.Commit(1), ErrInvalid)
			commit(t, s, 3)
			return
		}
		commit(t, s, 1)
		n, err = r.DequeueBurst(out)
		moved(t, "DequeueBurst of what was given up", n, err, 2)
		want(t, "elements", out[:2], upTo(2, 2))
	})
}

func TestSpansOfNothing(t *testing.T) {
	forEachKind(t, func(t *testing.T, k kind) {
		r := makeRing(t, k, 2, 0)
		s := reserve(t, "ReserveDequeue", 0)(r.ReserveDequeue(2, 0))
		wantErr(t, "Commit of an empty span", s.Commit(0), ErrInvalid)
		reserve(t, "ReserveEnqueue of 0", 0)(r.ReserveEnqueue(0, 0))
		n, err := r.EnqueueBurst(upTo(1, 2))
		moved(t, "EnqueueBurst", n, err, 2)
		reserve(t, "ReserveEnqueue of a full ring", 0)(r.ReserveEnqueue(1, 0))
		reserve(t, "ReserveDequeue", 0)(r.ReserveDequeue(0, RingBulk))
		_, err = r.ReserveEnqueue(3, RingBulk)
		wantErr(t, "a bulk beyond the capacity", err, ErrInvalid)
		_, err = r.ReserveEnqueue(1, 8)
		wantErr(t, "an unknown flag", err, ErrNotSupported)
		if err := r.CloseProducer(); err != nil {
			t.Error(err)
		}
		_, err = r.ReserveEnqueue(1, 0)
		wantErr(t, "ReserveEnqueue after CloseProducer", err, ErrPipe)
	})
}

func TestOneSpanAtATimeOnAnSTSide(t *testing.T) {
	r := makeRing(t, kind{ST, ST}, 4, 0)
	s := reserve(t, "ReserveEnqueue", 1)(r.ReserveEnqueue(1, 0))
	_, err := r.ReserveEnqueue(1, 0)
	wantErr(t, "a second span", err, ErrInvalid)
	commit(t, s, 0)
	s = reserve(t, "ReserveEnqueue", 1)(r.ReserveEnqueue(1, 0))
	if err := r.CloseProducer(); err != nil {
		t.Error(err)
	}
	wantErr(t, "Commit after CloseProducer", s.Commit(1), ErrPipe)
	want(t, "Len of a span that was given up", s.Len(), 0)
}

func TestManySpansAtATimeOnMTSides(t *testing.T) {
	r := makeRing(t, kind{MT, MT}, 8, 0)
	first := reserve(t, "ReserveEnqueue", 2)(r.ReserveEnqueue(2, 0))
	second := reserve(t, "ReserveEnqueue", 2)(r.ReserveEnqueue(2, 0))
	fill(first, 1)
	fill(second, 3)
	if err := r.CloseProducer(); err != nil {
		t.Error(err)
	}
	commit(t, second, 2) // in any order, after CloseProducer, from any goroutine
	reserve(t, "ReserveDequeue behind an open span", 0)(r.ReserveDequeue(4, 0))
	stats, err := r.Stats()
	if stats.Flags&RingStatsBlocked == 0 || stats.Unpublished != 2 || err != nil {
		t.Errorf("Stats: %+v, %v", stats, err)
	}
	done := make(chan error)
	go func() { done <- first.Commit(2) }()
	if err := <-done; err != nil {
		t.Error(err)
	}
	out := reserve(t, "ReserveDequeue", 4)(r.ReserveDequeue(9, 0))
	want(t, "contents", contents(out), upTo(1, 4))
	commit(t, out, 4)
	_, err = r.ReserveDequeue(1, 0)
	wantErr(t, "ReserveDequeue of a drained ring", err, ErrPipe)
}

func TestAnOpenSpanKeepsTheRing(t *testing.T) {
	forEachKind(t, func(t *testing.T, k kind) {
		r := makeRing(t, k, 4, 4)
		s := reserve(t, "ReserveEnqueue", 3)(r.ReserveEnqueue(3, 0))
		wantErr(t, "Close with a span open", r.Close(), ErrBusy)
		wantErr(t, "Reset with a span open", r.Reset(), ErrBusy)
		a, b := s.Bytes()
		if len(a)+len(b) != 12 {
			t.Error("bytes of the span:", len(a), len(b))
		}
		if x, y := s.Uint64s(); x != nil || y != nil {
			t.Error("elements of 4 bytes as uint64")
		}
		copy(a, "abcdefghijkl")
		commit(t, s, 3)
		out := make([]byte, 12)
		n, err := r.DequeueBytesBurst(out)
		moved(t, "DequeueBytesBurst", n, err, 3)
		want(t, "elements", string(out), "abcdefghijkl")
	})
}
