// SPDX-License-Identifier: BSD-2-Clause

// Rings of a Go type: what may travel, and that it arrives.

package fp

import (
	"strings"
	"testing"
	"unsafe"
)

type point struct {
	X, Y  float64
	Label [3]byte
	Kind  uint16
	_     [3]byte
}

func makeRingOf[T any](t *testing.T, capacity int) *RingOf[T] {
	t.Helper()
	r, err := NewRingOf[T](RingOptions{Capacity: capacity, Producer: ST, Consumer: ST})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error("Close:", err)
		}
	})
	return r
}

func points(n int) []point {
	p := make([]point, n)
	for i := range p {
		p[i] = point{X: float64(i), Y: -1, Label: [3]byte{'a', 'b', byte(i)}, Kind: uint16(i)}
	}
	return p
}

func TestRingOfStructs(t *testing.T) {
	r := makeRingOf[point](t, 5)
	want(t, "ElemSize", r.Ring().ElemSize(), int(unsafe.Sizeof(point{})))
	for round := 0; round < 5; round++ { // around the wrap
		in, out := points(4), make([]point, 6)
		n, err := r.EnqueueBurst(in)
		moved(t, "EnqueueBurst", n, err, 4)
		n, err = r.Peek(out[:1])
		moved(t, "Peek", n, err, 1)
		n, err = r.DequeueBurst(out)
		moved(t, "DequeueBurst", n, err, 4)
		want(t, "elements", out[:4], in)

		n, err = r.EnqueueBulk(in[:3])
		moved(t, "EnqueueBulk", n, err, 3)
		n, err = r.DequeueBulk(out[:4])
		moved(t, "DequeueBulk of more than there is", n, err, 0)
		n, err = r.DequeueBulk(out[:3])
		moved(t, "DequeueBulk", n, err, 3)
		want(t, "elements", out[:3], in[:3])

		if ok, err := r.Enqueue(in[3]); !ok || err != nil {
			t.Fatal("Enqueue:", ok, err)
		}
		if p, ok, err := r.Dequeue(); p != in[3] || !ok || err != nil {
			t.Fatal("Dequeue:", p, ok, err)
		}
		if p, ok, err := r.Dequeue(); p != (point{}) || ok || err != nil {
			t.Fatal("Dequeue of nothing:", p, ok, err)
		}
	}
	if err := r.CloseProducer(); err != nil {
		t.Error(err)
	}
	_, err := r.Enqueue(point{})
	wantErr(t, "Enqueue after CloseProducer", err, ErrPipe)
	_, _, err = r.Dequeue()
	wantErr(t, "Dequeue of a drained ring", err, ErrPipe)
	n, err := makeRingOf[point](t, 1).EnqueueBurst(nil)
	moved(t, "EnqueueBurst of nothing", n, err, 0)
}

func TestSpansOfStructs(t *testing.T) {
	r := makeRingOf[point](t, 5)
	in := points(4)
	for round := 0; round < 5; round++ {
		s, err := r.ReserveEnqueue(4, RingBulk)
		if s.Len() != 4 || err != nil {
			t.Fatal("ReserveEnqueue:", s.Len(), err)
		}
		first, second := s.Slices()
		copy(second, in[copy(first, in):])
		if err := s.Commit(4); err != nil {
			t.Fatal("Commit:", err)
		}
		if first, second := s.Slices(); first != nil || second != nil {
			t.Error("a committed span has slices")
		}
		s, err = r.ReserveDequeue(9, 0)
		if s.Len() != 4 || err != nil {
			t.Fatal("ReserveDequeue:", s.Len(), err)
		}
		first, second = s.Slices()
		want(t, "elements", append(append([]point{}, first...), second...), in)
		if err := s.Commit(4); err != nil {
			t.Fatal("Commit:", err)
		}
		wantErr(t, "Commit again", s.Commit(4), ErrInvalid)
	}
}

// refused is why NewRingOf does not take T.
func refused[T any](t *testing.T, because string) {
	t.Helper()
	r, err := NewRingOf[T](RingOptions{Capacity: 1})
	wantErr(t, "NewRingOf "+because, err, ErrInvalid)
	if r != nil || err == nil || !strings.Contains(err.Error(), because) {
		t.Errorf("%v, %v; want an error that says %q", r, err, because)
	}
}

func TestTypesThatCannotTravel(t *testing.T) {
	refused[*int](t, "ptr")
	refused[unsafe.Pointer](t, "unsafe.Pointer")
	refused[[]byte](t, "slice")
	refused[string](t, "string")
	refused[map[int]int](t, "map")
	refused[chan int](t, "chan")
	refused[func()](t, "func")
	refused[any](t, "interface")
	refused[error](t, "interface")
	refused[[2]string](t, "string")
	refused[struct{ A [1]struct{ B *int } }](t, "ptr in B in A")
	refused[struct{}](t, "0 bytes")
	refused[[0]*int](t, "ptr")
	refused[uint16](t, "2 bytes")
	refused[[6]byte](t, "6 bytes")
	refused[[RingElemMax + 4]byte](t, "4100 bytes")
}

func TestTypesThatTravel(t *testing.T) {
	makeRingOf[int32](t, 1)
	makeRingOf[uintptr](t, 1)
	makeRingOf[complex128](t, 1)
	makeRingOf[[3]float32](t, 1)
	makeRingOf[[RingElemMax]byte](t, 1)
	makeRingOf[struct {
		A bool
		B int64
	}](t, 1)
}

func TestTheTypeOfAnExistingRing(t *testing.T) {
	r := makeRing(t, kind{}, 4, 8)
	typed, err := AsRingOf[[2]uint32](r)
	if err != nil {
		t.Fatal(err)
	}
	if typed.Ring() != r {
		t.Error("not the same ring")
	}
	if ok, err := typed.Enqueue([2]uint32{7, 0}); !ok || err != nil {
		t.Error("Enqueue:", ok, err)
	}
	if v, ok, err := r.Dequeue(); v != 7 || !ok || err != nil {
		t.Error("Dequeue:", v, ok, err)
	}
	_, err = AsRingOf[uint32](r)
	wantErr(t, "a type of another size", err, ErrInvalid)
	_, err = AsRingOf[*int](r)
	wantErr(t, "a pointer", err, ErrInvalid)
	_, err = NewRingOf[uint64](RingOptions{Capacity: 1, ElemSize: 4})
	wantErr(t, "ElemSize of another type", err, ErrInvalid)
}
