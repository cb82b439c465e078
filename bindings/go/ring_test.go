// SPDX-License-Identifier: BSD-2-Clause

// Rings from one goroutine: every call, every error, every boundary.

package fp

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"strings"
	"syscall"
	"testing"
)

func TestBurstsAroundTheWrap(t *testing.T) {
	forEachKind(t, func(t *testing.T, k kind) {
		r := makeRing(t, k, 5, 0)
		next, oldest := uint64(1), uint64(1)
		for round := 0; round < 40; round++ {
			n, err := r.EnqueueBurst(upTo(next, round%7))
			want := round % 7
			if room := 5 - int(next-oldest); want > room {
				want = room
			}
			moved(t, "EnqueueBurst", n, err, want)
			next += uint64(n)
			out := make([]uint64, round%4)
			n, err = r.DequeueBurst(out)
			if held := int(next - oldest); len(out) > held {
				out = out[:held]
			}
			moved(t, "DequeueBurst", n, err, len(out))
			for i, v := range out {
				if v != oldest+uint64(i) {
					t.Fatalf("round %d: element %d, want %d", round, v, oldest+uint64(i))
				}
			}
			oldest += uint64(n)
		}
	})
}

func TestBulksAreAllOrNothing(t *testing.T) {
	forEachKind(t, func(t *testing.T, k kind) {
		r := makeRing(t, k, 4, 0)
		n, err := r.EnqueueBulk(upTo(1, 3))
		moved(t, "EnqueueBulk of 3", n, err, 3)
		n, err = r.EnqueueBulk(upTo(4, 2))
		moved(t, "EnqueueBulk of 2 with room for 1", n, err, 0)
		n, err = r.DequeueBulk(make([]uint64, 4))
		moved(t, "DequeueBulk of 4 of 3", n, err, 0)
		out := make([]uint64, 3)
		n, err = r.DequeueBulk(out)
		moved(t, "DequeueBulk", n, err, 3)
		want(t, "elements", out, upTo(1, 3))
		_, err = r.EnqueueBulk(upTo(1, 5))
		wantErr(t, "EnqueueBulk beyond the capacity", err, ErrInvalid)
		_, err = r.DequeueBulk(make([]uint64, 5))
		wantErr(t, "DequeueBulk beyond the capacity", err, ErrInvalid)
	})
}

func TestSingles(t *testing.T) {
	forEachKind(t, func(t *testing.T, k kind) {
		r := makeRing(t, k, 1, 0)
		if _, ok, err := r.Dequeue(); ok || err != nil {
			t.Error("Dequeue of nothing:", ok, err)
		}
		if ok, err := r.Enqueue(math.MaxUint64); !ok || err != nil {
			t.Error("Enqueue:", ok, err)
		}
		if ok, err := r.Enqueue(2); ok || err != nil {
			t.Error("Enqueue to a full ring:", ok, err)
		}
		if v, ok, err := r.Dequeue(); v != math.MaxUint64 || !ok || err != nil {
			t.Error("Dequeue:", v, ok, err)
		}
	})
}

func TestBytesOfAnyElementSize(t *testing.T) {
	for _, size := range []int{4, 8, 12, 20, 64, 4096} {
		r := makeRing(t, kind{}, 3, size)
		in := make([]byte, 4*size)
		for i := range in {
			in[i] = byte(i * 7)
		}
		n, err := r.EnqueueBytesBurst(in)
		moved(t, "EnqueueBytesBurst", n, err, 3)
		out := make([]byte, 4*size)
		n, err = r.DequeueBytesBurst(out)
		moved(t, "DequeueBytesBurst", n, err, 3)
		if !bytes.Equal(in[:3*size], out[:3*size]) {
			t.Errorf("elements of %d bytes came out changed", size)
		}
		n, err = r.EnqueueBytesBulk(in[:2*size])
		moved(t, "EnqueueBytesBulk", n, err, 2)
		n, err = r.DequeueBytesBulk(out[:3*size])
		moved(t, "DequeueBytesBulk", n, err, 0)
		n, err = r.DequeueBytesBulk(out[:2*size])
		moved(t, "DequeueBytesBulk", n, err, 2)

		_, err = r.EnqueueBytesBurst(in[:size+1])
		wantErr(t, "part of an element", err, ErrInvalid)
		_, err = r.DequeueBytesBulk(out[:size-1])
		wantErr(t, "part of an element", err, ErrInvalid)
		if count, err := r.Count(); count != 0 || err != nil {
			t.Error("a refused call changed the ring:", count, err)
		}
		if size != 8 {
			_, err = r.EnqueueBurst(upTo(1, 1))
			wantErr(t, "EnqueueBurst of uint64", err, ErrInvalid)
			_, err = r.DequeueBulk(upTo(1, 1))
			wantErr(t, "DequeueBulk of uint64", err, ErrInvalid)
			_, err = r.Enqueue(1)
			wantErr(t, "Enqueue of uint64", err, ErrInvalid)
			_, _, err = r.Dequeue()
			wantErr(t, "Dequeue of uint64", err, ErrInvalid)
		}
	}
}

func TestNothingToMove(t *testing.T) {
	r := makeRing(t, kind{}, 4, 0)
	for name, call := range map[string]func() (int, error){
		"EnqueueBurst":      func() (int, error) { return r.EnqueueBurst(nil) },
		"EnqueueBulk":       func() (int, error) { return r.EnqueueBulk([]uint64{}) },
		"DequeueBurst":      func() (int, error) { return r.DequeueBurst(nil) },
		"DequeueBulk":       func() (int, error) { return r.DequeueBulk(make([]uint64, 0, 9)) },
		"EnqueueBytesBurst": func() (int, error) { return r.EnqueueBytesBurst(nil) },
		"EnqueueBytesBulk":  func() (int, error) { return r.EnqueueBytesBulk(nil) },
		"DequeueBytesBurst": func() (int, error) { return r.DequeueBytesBurst([]byte{}) },
		"DequeueBytesBulk":  func() (int, error) { return r.DequeueBytesBulk(nil) },
	} {
		if n, err := call(); n != 0 || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

func TestPeek(t *testing.T) {
	r := makeRing(t, kind{MT, ST}, 4, 0)
	n, err := r.EnqueueBurst(upTo(1, 3))
	moved(t, "EnqueueBurst", n, err, 3)
	out := make([]uint64, 4)
	n, err = r.Peek(out)
	moved(t, "Peek", n, err, 3)
	want(t, "elements", out[:3], upTo(1, 3))
	n, err = r.PeekBytes(make([]byte, 16))
	moved(t, "PeekBytes", n, err, 2)
	if count, _ := r.Count(); count != 3 {
		t.Error("Peek took something, count is", count)
	}
	_, err = makeRing(t, kind{ST, MT}, 4, 0).Peek(out)
	wantErr(t, "Peek on an MT side", err, ErrNotSupported)
	_, err = makeRing(t, kind{ST, MT}, 4, 0).PeekBytes(nil)
	wantErr(t, "PeekBytes on an MT side", err, ErrNotSupported)
}

func TestCloseProducerDeliversTheRest(t *testing.T) {
	forEachKind(t, func(t *testing.T, k kind) {
		r := makeRing(t, k, 4, 0)
		n, err := r.EnqueueBurst(upTo(1, 3))
		moved(t, "EnqueueBurst", n, err, 3)
		for i := 0; i < 2; i++ {
			if err := r.CloseProducer(); err != nil {
				t.Error("CloseProducer:", err)
			}
		}
		if closed, err := r.IsProducerClosed(); !closed || err != nil {
			t.Error("IsProducerClosed:", closed, err)
		}
		_, err = r.EnqueueBurst(upTo(4, 1))
		wantErr(t, "EnqueueBurst", err, ErrPipe)
		_, err = r.Enqueue(4)
		wantErr(t, "Enqueue", err, ErrPipe)
		_, err = r.DequeueBulk(make([]uint64, 4))
		wantErr(t, "DequeueBulk of more than remains", err, ErrPipe)
		n, err = r.DequeueBurst(make([]uint64, 4))
		moved(t, "DequeueBurst", n, err, 3)
		_, err = r.DequeueBurst(make([]uint64, 4))
		wantErr(t, "DequeueBurst of a drained ring", err, ErrPipe)
		_, _, err = r.Dequeue()
		wantErr(t, "Dequeue of a drained ring", err, syscall.EPIPE)

		if err := r.Reset(); err != nil {
			t.Error("Reset:", err)
		}
		n, err = r.EnqueueBurst(upTo(1, 5))
		moved(t, "EnqueueBurst after Reset", n, err, 4)
	})
}

func TestWhatARingSaysAboutItself(t *testing.T) {
	r, err := NewRing(RingOptions{Capacity: 3, ElemSize: 12, Producer: ST, Name: "go.self",
		Flags: Stats})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "Capacity", r.Capacity(), 3)
	want(t, "ElemSize", r.ElemSize(), 12)
	want(t, "Producer", r.Producer(), uint32(ST))
	want(t, "Consumer", r.Consumer(), uint32(MT))
	want(t, "Name", r.Name(), "go.self")
	if empty, err := r.IsEmpty(); !empty || err != nil {
		t.Error("IsEmpty:", empty, err)
	}
	n, err := r.EnqueueBytesBurst(make([]byte, 48))
	moved(t, "EnqueueBytesBurst", n, err, 3)
	if full, err := r.IsFull(); !full || err != nil {
		t.Error("IsFull:", full, err)
	}
	n, err = r.DequeueBytesBurst(make([]byte, 12))
	moved(t, "DequeueBytesBurst", n, err, 1)
	n, err = r.Count()
	moved(t, "Count", n, err, 2)
	n, err = r.FreeCount()
	moved(t, "FreeCount", n, err, 1)
	stats, err := r.Stats()
	if err != nil {
		t.Fatal(err)
	}
	want(t, "Stats", stats, RingStats{Flags: RingStatsCounted, Enqueued: 3, Dequeued: 1,
		RefusedFull: 1, HighWater: 3, Count: 2})
	if r.Handle() == nil {
		t.Error("no Handle")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if r.Handle() != nil {
		t.Error("a closed ring has a Handle")
	}
	want(t, "Capacity of a closed ring", r.Capacity(), 3)
}

func TestOptionsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		options RingOptions
		err     error
	}{
		{RingOptions{}, ErrInvalid},
		{RingOptions{Capacity: -1}, ErrInvalid},
		{RingOptions{Capacity: RingCapacityMax + 1}, ErrInvalid},
		{RingOptions{Capacity: 1, ElemSize: 2}, ErrInvalid},
		{RingOptions{Capacity: 1, ElemSize: 10}, ErrInvalid},
		{RingOptions{Capacity: 1, ElemSize: -4}, ErrInvalid},
		{RingOptions{Capacity: 1, ElemSize: RingElemMax + 4}, ErrInvalid},
		{RingOptions{Capacity: 1, Producer: 2}, ErrNotSupported},
		{RingOptions{Capacity: 1, Consumer: 77}, ErrNotSupported},
		{RingOptions{Capacity: 1, Flags: 1 << 31}, ErrNotSupported},
		{RingOptions{Capacity: 1, Name: strings.Repeat("x", NameMax+1)}, ErrNameTooLong},
		{RingOptions{Capacity: 1, Name: "a\x00b"}, ErrInvalid},
	} {
		r, err := NewRing(c.options)
		if r != nil || !errors.Is(err, c.err) {
			t.Errorf("%+v: %v, %v; want %v", c.options, r, err, c.err)
		}
	}
	for _, options := range []RingOptions{
		{Capacity: 1, Name: strings.Repeat("x", NameMax)},
		{Capacity: 1000, Flags: MemHuge | MemPrefault | MemNode},
	} {
		r, err := NewRing(options)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestNamesAndReferences(t *testing.T) {
	options := RingOptions{Capacity: 4, Name: "go.shared"}
	r, err := NewRing(options)
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewRing(options)
	wantErr(t, "a name that is taken", err, fs.ErrExist)
	_, err = LookupRing("go.nobody")
	wantErr(t, "a name that nothing has", err, ErrNotExist)
	_, err = LookupRing("go\x00shared")
	wantErr(t, "a name with a zero byte", err, ErrInvalid)

	found, err := LookupRing("go.shared")
	if err != nil {
		t.Fatal(err)
	}
	n, err := found.EnqueueBurst(upTo(1, 2))
	moved(t, "EnqueueBurst by reference", n, err, 2)
	wantErr(t, "Close with a reference out", r.Close(), ErrBusy)
	n, err = r.DequeueBurst(make([]uint64, 1))
	moved(t, "DequeueBurst after a refused Close", n, err, 1)

	span, err := found.ReserveDequeue(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	wantErr(t, "Close of a reference with a span open", found.Close(), ErrBusy)
	if err := span.Commit(1); err != nil {
		t.Error(err)
	}
	for i := 0; i < 2; i++ {
		if err := found.Close(); err != nil {
			t.Error("Close of a reference:", err)
		}
	}
	_, err = found.Count()
	wantErr(t, "Count by a closed reference", err, ErrClosed)
	if err := r.Close(); err != nil {
		t.Error("Close:", err)
	}
	_, err = LookupRing("go.shared")
	wantErr(t, "the name of a closed ring", err, ErrNotExist)
}

// everyCall is every method that a ring can refuse.
func everyCall(r *Ring) map[string]error {
	errs := map[string]error{}
	_, errs["EnqueueBurst"] = r.EnqueueBurst(upTo(1, 1))
	_, errs["EnqueueBulk"] = r.EnqueueBulk(upTo(1, 1))
	_, errs["DequeueBurst"] = r.DequeueBurst(upTo(1, 1))
	_, errs["DequeueBulk"] = r.DequeueBulk(upTo(1, 1))
	_, errs["Peek"] = r.Peek(upTo(1, 1))
	_, errs["Enqueue"] = r.Enqueue(1)
	_, _, errs["Dequeue"] = r.Dequeue()
	_, errs["EnqueueBytesBurst"] = r.EnqueueBytesBurst(make([]byte, 8))
	_, errs["EnqueueBytesBulk"] = r.EnqueueBytesBulk(nil)
	_, errs["DequeueBytesBurst"] = r.DequeueBytesBurst(make([]byte, 8))
	_, errs["DequeueBytesBulk"] = r.DequeueBytesBulk(nil)
	_, errs["PeekBytes"] = r.PeekBytes(nil)
	_, errs["ReserveEnqueue"] = r.ReserveEnqueue(1, 0)
	_, errs["ReserveDequeue"] = r.ReserveDequeue(1, 0)
	_, errs["Count"] = r.Count()
	_, errs["FreeCount"] = r.FreeCount()
	_, errs["IsFull"] = r.IsFull()
	_, errs["IsEmpty"] = r.IsEmpty()
	_, errs["IsProducerClosed"] = r.IsProducerClosed()
	_, errs["Stats"] = r.Stats()
	errs["CloseProducer"] = r.CloseProducer()
	errs["Reset"] = r.Reset()
	return errs
}

func TestNilAndZeroRings(t *testing.T) {
	for name, r := range map[string]*Ring{"nil": nil, "zero": new(Ring)} {
		for call, err := range everyCall(r) {
			wantErr(t, call+" of a "+name+" Ring", err, ErrInvalid)
		}
		if err := r.Close(); err != nil {
			t.Errorf("Close of a %s Ring: %v", name, err)
		}
		if r.Handle() != nil || r.Capacity() != 0 || r.ElemSize() != 0 || r.Name() != "" ||
			r.Producer() != MT || r.Consumer() != MT {
			t.Errorf("a %s Ring has properties", name)
		}
	}
	var span *Span
	wantErr(t, "Commit of a nil Span", span.Commit(0), ErrInvalid)
	want(t, "Len of a nil Span", span.Len(), 0)
	wantErr(t, "Commit of a zero Span", new(Span).Commit(0), ErrInvalid)
	var of *RingOf[uint64]
	_, err := of.EnqueueBurst(nil)
	wantErr(t, "EnqueueBurst of a nil RingOf", err, ErrInvalid)
	_, err = of.Enqueue(1)
	wantErr(t, "Enqueue of a nil RingOf", err, ErrInvalid)
	_, _, err = of.Dequeue()
	wantErr(t, "Dequeue of a nil RingOf", err, ErrInvalid)
	_, err = of.ReserveEnqueue(1, 0)
	wantErr(t, "ReserveEnqueue of a nil RingOf", err, ErrInvalid)
	wantErr(t, "CloseProducer of a nil RingOf", of.CloseProducer(), ErrInvalid)
	_, err = AsRingOf[uint64](nil)
	wantErr(t, "AsRingOf nil", err, ErrInvalid)
}

func TestEveryCallAfterClose(t *testing.T) {
	forEachKind(t, func(t *testing.T, k kind) {
		r := makeRing(t, k, 4, 0)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		for call, err := range everyCall(r) {
			if err != ErrClosed {
				t.Errorf("%s after Close: %v", call, err)
			}
		}
	})
}

func TestMoreThanAnyCallMoves(t *testing.T) {
	r := makeRing(t, kind{}, 4, 4)
	// 2^31 elements that nobody may touch.
	large, err := syscall.Mmap(-1, 0, 4<<31, syscall.PROT_NONE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(large)
	for name, call := range map[string]func() error{
		"too many bytes": func() error {
			_, err := r.EnqueueBytesBurst(large)
			return err
		},
		"too large a span": func() error {
			_, err := r.ReserveEnqueue(math.MaxInt32+1, 0)
			return err
		},
		"a negative span": func() error {
			_, err := r.ReserveDequeue(-1, 0)
			return err
		},
	} {
		wantErr(t, name, call(), ErrInvalid)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		err    Errno
		number syscall.Errno
		text   string
	}{
		{ErrInvalid, syscall.EINVAL, "EINVAL"},
		{ErrPipe, syscall.EPIPE, "EPIPE"},
		{ErrBusy, syscall.EBUSY, "EBUSY"},
		{ErrAgain, syscall.EAGAIN, "EAGAIN"},
		{ErrExist, syscall.EEXIST, "EEXIST"},
		{ErrNotExist, syscall.ENOENT, "ENOENT"},
		{ErrNameTooLong, syscall.ENAMETOOLONG, "ENAMETOOLONG"},
		{ErrNoMemory, syscall.ENOMEM, "ENOMEM"},
		{ErrNotSupported, syscall.EOPNOTSUPP, "EOPNOTSUPP"},
		{ErrFault, syscall.EFAULT, "EFAULT"},
		{ErrAlready, syscall.EALREADY, "EALREADY"},
		{ErrUnclean, syscall.EUCLEAN, "EUCLEAN"},
		{ErrStale, syscall.ESTALE, "ESTALE"},
		{ErrClosed, syscall.EBADF, "closed"},
	} {
		if !errors.Is(c.err, c.number) || !errors.Is(c.err, c.err) {
			t.Errorf("%v is not %v", c.err, c.number)
		}
		if errors.Is(c.err, syscall.EDOM) || errors.Is(c.err, Errno(syscall.EDOM)) {
			t.Errorf("%v is everything", c.err)
		}
		if text := c.err.Error(); !strings.HasPrefix(text, "fp: ") || !strings.Contains(text, c.text) {
			t.Errorf("text of %d: %q", int(c.err), text)
		}
	}
	wantErr(t, "ErrExist", ErrExist, fs.ErrExist)
	wantErr(t, "ErrNotExist", ErrNotExist, fs.ErrNotExist)
	wantErr(t, "ErrClosed", ErrClosed, fs.ErrClosed)
	if errors.Is(ErrPipe, fs.ErrClosed) {
		t.Error("ErrPipe is fs.ErrClosed")
	}
}
