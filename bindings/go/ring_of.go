// SPDX-License-Identifier: BSD-2-Clause

// Rings of a Go type.

package fp

// #include "shim.h"
import "C"

import (
	"fmt"
	"reflect"
	"unsafe"
)

// RingOf is a ring whose elements are values of T: a type of fixed size without pointers
// (numbers, arrays and structs of them), of a multiple of 4 bytes up to RingElemMax. A
// value travels as it lies in memory, so C and other languages see the struct that the
// same fields make there.
type RingOf[T any] struct {
	// All of it: the two are converted into each other, but only here, where T is checked.
	ring Ring
}

// NewRingOf makes a ring of T. ElemSize of the options is 0 or the size of T. Errors:
// ErrInvalid if T cannot travel, and those of NewRing.
func NewRingOf[T any](options RingOptions) (*RingOf[T], error) {
	size, err := elemSizeOf[T]()
	if err != nil {
		return nil, err
	}
	if options.ElemSize != 0 && options.ElemSize != size {
		return nil, fmt.Errorf("fp: ElemSize is %d, %v has %d bytes: %w", options.ElemSize,
			typeOf[T](), size, ErrInvalid)
	}
	options.ElemSize = size
	ring, err := NewRing(options)
	if err != nil {
		return nil, err
	}
	return (*RingOf[T])(unsafe.Pointer(ring)), nil
}

// AsRingOf gives an existing ring, for example one from LookupRing, the type T. Errors:
// ErrInvalid if T cannot travel or has another size than the elements.
func AsRingOf[T any](ring *Ring) (*RingOf[T], error) {
	size, err := elemSizeOf[T]()
	if err != nil {
		return nil, err
	}
	if ring.ElemSize() != size {
		return nil, fmt.Errorf("fp: %v has %d bytes, the elements of the ring %d: %w",
			typeOf[T](), size, ring.ElemSize(), ErrInvalid)
	}
	return (*RingOf[T])(unsafe.Pointer(ring)), nil
}

func typeOf[T any]() reflect.Type {
	return reflect.TypeOf((*T)(nil)).Elem()
}

// elemSizeOf is the size of T, if T can travel.
func elemSizeOf[T any]() (int, error) {
	t := typeOf[T]()
	if what := pointerIn(t); what != "" {
		return 0, fmt.Errorf("fp: %v cannot travel through a ring, it holds a %s: %w", t, what,
			ErrInvalid)
	}
	size := int(t.Size())
	if size < 4 || size > RingElemMax || size%4 != 0 {
		return 0, fmt.Errorf("fp: %v has %d bytes, not a multiple of 4 from 4 to %d: %w", t, size,
			RingElemMax, ErrInvalid)
	}
	return size, nil
}

// pointerIn names what in t the garbage collector would have to follow; "": nothing.
func pointerIn(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Array:
		return pointerIn(t.Elem())
	case reflect.Struct:
		for i := 0; i < t.NumField(); i++ {
			if what := pointerIn(t.Field(i).Type); what != "" {
				return what + " in " + t.Field(i).Name
			}
		}
		return ""
	case reflect.Pointer, reflect.UnsafePointer, reflect.Slice, reflect.String, reflect.Map,
		reflect.Chan, reflect.Func, reflect.Interface:
		return t.Kind().String()
	}
	return ""
}

// Ring is the same ring without its type, for everything that does not depend on T.
func (r *RingOf[T]) Ring() *Ring { return (*Ring)(unsafe.Pointer(r)) }

// Close is Ring.Close.
func (r *RingOf[T]) Close() error { return r.Ring().Close() }

// CloseProducer is Ring.CloseProducer.
func (r *RingOf[T]) CloseProducer() error { return r.Ring().CloseProducer() }

// of is the ring and where v lies, if n = len(v) elements may move.
func (r *RingOf[T]) of(v []T) (*Ring, *C.uint8_t, error) {
	ring := r.Ring()
	size := int(unsafe.Sizeof(*new(T)))
	if !ring.fits(size, len(v)) {
		return nil, nil, ring.misfit(size, len(v))
	}
	if len(v) == 0 {
		return ring, nil, nil
	}
	return ring, (*C.uint8_t)(unsafe.Pointer(&v[0])), nil
}

// EnqueueBurst is Ring.EnqueueBurst.
func (r *RingOf[T]) EnqueueBurst(v []T) (int, error) {
	ring, p, err := r.of(v)
	if err != nil {
		return 0, err
	}
	return ring.enqueue(p, len(v), burst)
}

// EnqueueBulk is Ring.EnqueueBulk.
func (r *RingOf[T]) EnqueueBulk(v []T) (int, error) {
	ring, p, err := r.of(v)
	if err != nil {
		return 0, err
	}
	return ring.enqueue(p, len(v), bulk)
}

// DequeueBurst is Ring.DequeueBurst.
func (r *RingOf[T]) DequeueBurst(v []T) (int, error) {
	ring, p, err := r.of(v)
	if err != nil {
		return 0, err
	}
	return ring.dequeue(p, len(v), burst)
}

// DequeueBulk is Ring.DequeueBulk.
func (r *RingOf[T]) DequeueBulk(v []T) (int, error) {
	ring, p, err := r.of(v)
	if err != nil {
		return 0, err
	}
	return ring.dequeue(p, len(v), bulk)
}

// Peek is Ring.Peek.
func (r *RingOf[T]) Peek(v []T) (int, error) {
	ring, p, err := r.of(v)
	if err != nil {
		return 0, err
	}
	return ring.peek(p, len(v))
}

// one is a place for one element that C may read and write; a variable of the call would
// move to the heap for it, each time anew.
func (r *RingOf[T]) one() *[1]T {
	if place, ok := r.ring.spare.Get().(*[1]T); ok {
		return place
	}
	return new([1]T)
}

// Enqueue is Ring.Enqueue.
func (r *RingOf[T]) Enqueue(v T) (bool, error) {
	if r == nil {
		return false, ErrInvalid
	}
	place := r.one()
	place[0] = v
	n, err := r.EnqueueBurst(place[:])
	r.ring.spare.Put(place)
	return n == 1, err
}

// Dequeue is Ring.Dequeue.
func (r *RingOf[T]) Dequeue() (v T, ok bool, err error) {
	if r == nil {
		return v, false, ErrInvalid
	}
	place := r.one()
	n, err := r.DequeueBurst(place[:])
	if n == 1 {
		v = place[0]
	}
	r.ring.spare.Put(place)
	return v, n == 1, err
}

// SpanOf is a Span of a RingOf.
type SpanOf[T any] struct {
	span Span // all of it, as in RingOf
}

// ReserveEnqueue is Ring.ReserveEnqueue.
func (r *RingOf[T]) ReserveEnqueue(n int, flags uint32) (*SpanOf[T], error) {
	s := new(Span)
	err := s.reserve((*Ring)(unsafe.Pointer(r)), n, flags, producers)
	return (*SpanOf[T])(unsafe.Pointer(s)), err
}

// ReserveDequeue is Ring.ReserveDequeue.
func (r *RingOf[T]) ReserveDequeue(n int, flags uint32) (*SpanOf[T], error) {
	s := new(Span)
	err := s.reserve((*Ring)(unsafe.Pointer(r)), n, flags, consumers)
	return (*SpanOf[T])(unsafe.Pointer(s)), err
}

func (s *SpanOf[T]) plain() *Span { return (*Span)(unsafe.Pointer(s)) }

// Len is Span.Len.
func (s *SpanOf[T]) Len() int { return s.plain().Len() }

// Slices are the two pieces; nil after Commit.
func (s *SpanOf[T]) Slices() (first, second []T) {
	if s.Len() == 0 {
		return nil, nil
	}
	return slots[T](s.plain(), 1)
}

// Commit is Span.Commit.
func (s *SpanOf[T]) Commit(k int) error { return s.plain().Commit(k) }
