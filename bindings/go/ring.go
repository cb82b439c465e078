// SPDX-License-Identifier: BSD-2-Clause

// Rings: create, close, inspect. What moves elements is in ring_burst.go and ring_span.go.

package fp

// #include "shim.h"
import "C"

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// RingOptions says what NewRing makes. Only Capacity has no default.
type RingOptions struct {
	Capacity int    // elements: exactly this many, 1 to RingCapacityMax
	ElemSize int    // bytes, a multiple of 4, 4 to RingElemMax; 0: 8, a uint64
	Producer uint32 // MT (the default) or ST: who may enqueue
	Consumer uint32 // MT (the default) or ST: who may dequeue
	Name     string // for LookupRing, in this process and in any language; "": none
	Flags    uint32 // Stats, Checked, MemHuge, MemPrefault, MemNode
	NUMANode uint32 // with MemNode
}

// Ring is a bounded FIFO queue of fixed-size elements. Make one with NewRing; do not copy
// it.
type Ring struct {
	handle   *C.fpgo_ring // never changes; the gates say whether it is still alive
	elemSize int
	capacity int
	name     string
	producer uint32
	consumer uint32
	found    bool         // a reference by LookupRing: Close gives it back
	spans    atomic.Int64 // open ones, where found: the library cannot tell whose they are
	spare    sync.Pool    // elements of RingOf's single calls
	net      net
	gates    gates
}

// NewRing makes a ring. Errors: ErrInvalid (a value out of range), ErrNotSupported (a flag
// or side that the library does not know, or a library of another version),
// ErrNameTooLong, ErrExist, ErrNoMemory.
func NewRing(options RingOptions) (*Ring, error) {
	if errVersion != nil {
		return nil, errVersion
	}
	if options.Capacity < 1 || options.Capacity > RingCapacityMax {
		return nil, fmt.Errorf("fp: a ring of %d elements, not 1 to %d: %w",
			options.Capacity, RingCapacityMax, ErrInvalid)
	}
	if size := options.ElemSize; size < 0 || size > RingElemMax || size%4 != 0 {
		return nil, fmt.Errorf("fp: elements of %d bytes, not a multiple of 4 up to %d: %w",
			size, RingElemMax, ErrInvalid)
	}
	var name *C.char
	if options.Name != "" {
		text, err := terminated(options.Name)
		if err != nil {
			return nil, err
		}
		name = (*C.char)(unsafe.Pointer(&text[0]))
	}
	made := C.fpgo_create(name, C.uint32_t(options.Capacity), C.uint32_t(options.ElemSize),
		C.uint32_t(options.Producer), C.uint32_t(options.Consumer),
		C.uint32_t(options.Flags), C.uint32_t(options.NUMANode))
	if made.code < 0 {
		return nil, fmt.Errorf("fp: the library refused the ring: %w", Errno(-made.code))
	}
	return newRing(made.ring, false), nil
}

// LookupRing finds a ring by its name, whoever made it, and takes a reference: the ring
// cannot be freed before this Ring is closed. Errors: ErrNotExist, ErrInvalid.
func LookupRing(name string) (*Ring, error) {
	if errVersion != nil {
		return nil, errVersion
	}
	text, err := terminated(name)
	if err != nil {
		return nil, err
	}
	made := C.fpgo_lookup((*C.char)(unsafe.Pointer(&text[0])))
	if made.code < 0 {
		return nil, fmt.Errorf("fp: ring %q: %w", name, Errno(-made.code))
	}
	return newRing(made.ring, true), nil
}

// terminated is the string as C wants it.
func terminated(name string) ([]byte, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return nil, fmt.Errorf("fp: a zero byte in the name %q: %w", name, ErrInvalid)
	}
	return append([]byte(name), 0), nil
}

func newRing(handle *C.fpgo_ring, found bool) *Ring {
	r := &Ring{
		handle:   handle,
		elemSize: int(C.fpgo_elem_size(handle)),
		capacity: int(C.fpgo_capacity(handle)),
		name:     C.GoString(C.fpgo_name(handle)),
		producer: uint32(C.fpgo_producer_sync(handle)),
		consumer: uint32(C.fpgo_consumer_sync(handle)),
		found:    found,
	}
	r.net = spread(r, func() {
		_ = release(handle, found) // busy: it stays, as the library says it must
	})
	return r
}

// release gives back what NewRing or LookupRing took.
func release(handle *C.fpgo_ring, found bool) error {
	var code C.int
	if found {
		code = C.fpgo_unref(handle)
	} else {
		code = C.fpgo_destroy(handle)
	}
	if code < 0 {
		return Errno(-code)
	}
	return nil
}

// Close frees the ring; elements still inside are forgotten. For a ring from LookupRing it
// gives back the reference instead. Calls that other goroutines are inside finish first;
// later ones return ErrClosed. Closing again, or closing a nil or zero Ring, does nothing.
//
// ErrBusy: a span is open, or references by lookup remain. The ring lives on then, and is
// as it was.
func (r *Ring) Close() error {
	if r == nil || r.handle == nil {
		return nil
	}
	err := r.gates.alone(true, func() error {
		if r.spans.Load() > 0 {
			return ErrBusy
		}
		if err := release(r.handle, r.found); err != nil {
			return err
		}
		cut(r, r.net)
		return nil
	})
	if err == ErrClosed {
		return nil
	}
	return err
}

// Reset makes the ring empty and open, and its counters zero, when the calls that other
// goroutines are inside have finished. ErrBusy: a span is open.
func (r *Ring) Reset() error {
	if r == nil || r.handle == nil {
		return ErrInvalid
	}
	return r.gates.alone(false, func() error {
		if code := C.fpgo_reset(r.handle); code < 0 {
			return Errno(-code)
		}
		return nil
	})
}

// CloseProducer ends the producing side: an enqueue that has returned n is delivered before
// any consumer gets ErrPipe, later ones return ErrPipe. On an ST side it is for the
// producing goroutine. Calling it again does nothing.
func (r *Ring) CloseProducer() error {
	if r == nil {
		return ErrInvalid
	}
	if !r.gates.side[producers].enter() {
		return ErrClosed
	}
	raceRelease(r)
	code := C.fpgo_close(r.handle)
	r.gates.side[producers].leave()
	if code < 0 {
		return Errno(-code)
	}
	return nil
}

// ask is one question about the ring.
func (r *Ring) ask(question func(*C.fpgo_ring) int64) (int, error) {
	if r == nil {
		return 0, ErrInvalid
	}
	if !r.gates.side[others].enter() {
		return 0, ErrClosed
	}
	answer := question(r.handle)
	r.gates.side[others].leave()
	if answer < 0 {
		return 0, Errno(-answer)
	}
	return int(answer), nil
}

// Count is the number of slots in use: elements, and slots that are reserved. Like the
// other answers of this kind it is of the moment of the call.
func (r *Ring) Count() (int, error) {
	return r.ask(func(ring *C.fpgo_ring) int64 { return int64(C.fpgo_count(ring)) })
}

// FreeCount is the capacity less Count.
func (r *Ring) FreeCount() (int, error) {
	return r.ask(func(ring *C.fpgo_ring) int64 { return int64(C.fpgo_free_count(ring)) })
}

// IsFull tells whether all slots are in use.
func (r *Ring) IsFull() (bool, error) {
	n, err := r.ask(func(ring *C.fpgo_ring) int64 { return int64(C.fpgo_is_full(ring)) })
	return n == 1, err
}

// IsEmpty tells whether no slot is in use.
func (r *Ring) IsEmpty() (bool, error) {
	n, err := r.ask(func(ring *C.fpgo_ring) int64 { return int64(C.fpgo_is_empty(ring)) })
	return n == 1, err
}

// IsProducerClosed tells whether CloseProducer was called; elements may still be inside.
func (r *Ring) IsProducerClosed() (bool, error) {
	n, err := r.ask(func(ring *C.fpgo_ring) int64 { return int64(C.fpgo_is_closed(ring)) })
	return n == 1, err
}

// Capacity is what was asked for at create; 0 for a nil or zero Ring.
func (r *Ring) Capacity() int {
	if r == nil {
		return 0
	}
	return r.capacity
}

// ElemSize is the number of bytes of an element; 0 for a nil or zero Ring.
func (r *Ring) ElemSize() int {
	if r == nil {
		return 0
	}
	return r.elemSize
}

// Producer is MT or ST: who may enqueue.
func (r *Ring) Producer() uint32 {
	if r == nil {
		return MT
	}
	return r.producer
}

// Consumer is MT or ST: who may dequeue.
func (r *Ring) Consumer() uint32 {
	if r == nil {
		return MT
	}
	return r.consumer
}

// Name is the name given at create, "" if there is none.
func (r *Ring) Name() string {
	if r == nil {
		return ""
	}
	return r.name
}

// Handle is the fp_ring * for C code of yours; nil if the ring is nil or closed. The
// caller keeps the Ring reachable (runtime.KeepAlive) and open while C uses the handle.
func (r *Ring) Handle() unsafe.Pointer {
	if r == nil || !r.gates.side[others].enter() {
		return nil
	}
	handle := unsafe.Pointer(r.handle)
	r.gates.side[others].leave()
	return handle
}

// RingStats are the counters of a ring, exact when no call is in progress.
type RingStats struct {
	Flags          uint32 // RingStatsCounted, RingStatsBlocked
	Enqueued       uint64 // elements since create or Reset
	Dequeued       uint64 // elements
	RefusedFull    uint64 // calls that got fewer than they wanted (flag Stats)
	RefusedEmpty   uint64 // the same on the consumer side (flag Stats)
	Voided         uint64 // slots that commits of fewer than reserved gave up
	HighWater      uint64 // most slots in use at the end of an enqueue (flag Stats)
	Count          uint64 // slots in use
	Unpublished    uint64 // of Count: claimed by producers or their spans
	VoidPending    uint64 // of Count: voided, not passed by consumers yet
	BlockedSinceNS uint64 // CLOCK_MONOTONIC of when a call first saw the head blocked
	BlockedBy      int64  // thread that holds the head (flag Checked)
}

// Stats reads the counters.
func (r *Ring) Stats() (RingStats, error) {
	if r == nil {
		return RingStats{}, ErrInvalid
	}
	if !r.gates.side[others].enter() {
		return RingStats{}, ErrClosed
	}
	s := C.fpgo_stats(r.handle)
	r.gates.side[others].leave()
	if s.size == 0 {
		return RingStats{}, ErrInvalid
	}
	return RingStats{
		Flags:          uint32(s.flags),
		Enqueued:       uint64(s.enqueued),
		Dequeued:       uint64(s.dequeued),
		RefusedFull:    uint64(s.refused_full),
		RefusedEmpty:   uint64(s.refused_empty),
		Voided:         uint64(s.voided),
		HighWater:      uint64(s.high_water),
		Count:          uint64(s.count),
		Unpublished:    uint64(s.unpublished),
		VoidPending:    uint64(s.void_pending),
		BlockedSinceNS: uint64(s.blocked_since_ns),
		BlockedBy:      int64(s.blocked_by),
	}, nil
}

// fits tells whether a call on elements of size bytes may move n of them.
func (r *Ring) fits(size, n int) bool {
	return r != nil && r.elemSize == size && n <= math.MaxInt32
}

// misfit says why not.
func (r *Ring) misfit(size, n int) error {
	switch {
	case r == nil || r.handle == nil:
		return ErrInvalid
	case r.elemSize != size:
		return fmt.Errorf("fp: elements of %d bytes for a ring of elements of %d: %w",
			size, r.elemSize, ErrInvalid)
	}
	return fmt.Errorf("fp: %d elements in one call, more than %d: %w", n, math.MaxInt32,
		ErrInvalid)
}
