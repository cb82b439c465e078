// SPDX-License-Identifier: BSD-2-Clause

// Spans: slots of a ring that are written or read in place.

package fp

// #include "shim.h"
import "C"

import (
	"math"
	"unsafe"
)

// Span is a run of slots of a ring, to be written (ReserveEnqueue) or read
// (ReserveDequeue) in place and then committed, once, by any goroutine. Because a ring is
// a circle it comes in two pieces; the second is often empty.
//
// The slices are memory of the ring: they must not be used after Commit, which hands the
// slots to the other side, nor may they be given to anything that keeps them. A span left
// open blocks what stands behind it and keeps the ring from being closed. Do not copy a
// Span.
type Span struct {
	ring  *Ring
	first *C.uint8_t
	other *C.uint8_t
	token C.uint64_t
	n1    C.uint32_t
	n2    C.uint32_t
	side  int
}

// ReserveEnqueue reserves up to n free slots; with the flag RingBulk all n or none. The
// span may be empty (Len is 0): then there is nothing to commit. On an ST producer side one
// span may be open at a time, and nothing may be enqueued meanwhile. Errors: ErrInvalid
// (also: a span is open on an ST side; a bulk of more than the capacity), ErrPipe.
func (r *Ring) ReserveEnqueue(n int, flags uint32) (*Span, error) {
	s := new(Span) // on the caller's stack: this function is inlined
	err := s.reserve(r, n, flags, producers)
	return s, err
}

// ReserveDequeue reserves up to n elements from the head; with the flag RingBulk n or
// none. Errors as ReserveEnqueue, and ErrAgain: a bulk is there, but void slots divide it
// (take it without RingBulk).
func (r *Ring) ReserveDequeue(n int, flags uint32) (*Span, error) {
	s := new(Span)
	err := s.reserve(r, n, flags, consumers)
	return s, err
}

func (s *Span) reserve(r *Ring, n int, flags uint32, side int) error {
	if r == nil || n < 0 || n > math.MaxInt32 {
		return ErrInvalid
	}
	if !r.gates.side[side].enter() {
		return ErrClosed
	}
	span := C.fpgo_reserve(r.ring, C.uint32_t(n), C.uint32_t(flags), C.int(side))
	raceAcquire(r)
	if r.found && span.got > 0 {
		r.spans.Add(1)
	}
	r.gates.side[side].leave()
	if span.got < 0 {
		return Errno(-span.got)
	}
	if span.got > 0 {
		*s = Span{r, span.ptr1, span.ptr2, span.token, span.n1, span.n2, side}
	}
	return nil
}

// Len is the number of slots in the span; 0 after Commit.
func (s *Span) Len() int {
	if s == nil {
		return 0
	}
	return int(s.n1) + int(s.n2)
}

// Bytes are the two pieces as bytes; nil after Commit.
func (s *Span) Bytes() (first, second []byte) {
	if s.Len() == 0 {
		return nil, nil
	}
	return slots[byte](s, s.ring.elemSize)
}

// Uint64s are the two pieces as numbers; nil after Commit, and on a ring whose elements
// are not 8 bytes.
func (s *Span) Uint64s() (first, second []uint64) {
	if s.Len() == 0 || s.ring.elemSize != 8 {
		return nil, nil
	}
	return slots[uint64](s, 1)
}

// slots views the pieces as perSlot values of T to a slot.
func slots[T any](s *Span, perSlot int) (first, second []T) {
	first = unsafe.Slice((*T)(unsafe.Pointer(s.first)), int(s.n1)*perSlot)
	if s.n2 > 0 {
		second = unsafe.Slice((*T)(unsafe.Pointer(s.other)), int(s.n2)*perSlot)
	}
	return first, second
}

// Commit hands over the first k slots: to the consumers, or back to the producers. The
// rest is given up. On an MT producer side it becomes void slots, which consumers skip; an
// MT consumer commits all it reserved.
//
// Errors: ErrInvalid: k is not allowed, or the span is not open (committed before, or
// empty); ErrPipe: an ST producer side was closed meanwhile, the span is given up;
// ErrClosed.
func (s *Span) Commit(k int) error {
	if s == nil || s.ring == nil || k < 0 || k > s.Len() {
		return ErrInvalid
	}
	r := s.ring
	if !r.gates.side[s.side].enter() {
		return ErrClosed
	}
	raceRelease(r)
	got := C.fpgo_commit(r.ring, s.first, s.other, s.token, s.n1, s.n2, C.uint32_t(k),
		C.int(s.side))
	var err error
	if got < 0 {
		err = Errno(-got)
	}
	over := got >= 0 || err == ErrPipe
	if over && r.found {
		r.spans.Add(-1)
	}
	r.gates.side[s.side].leave()
	if over {
		*s = Span{}
	}
	return err
}
