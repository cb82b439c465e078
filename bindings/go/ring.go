// SPDX-License-Identifier: BSD-2-Clause

// Rings: create, close, inspect. What moves elements is in ring_burst.go and ring_span.go.

package fp

// #include "wakeup_shim.h"
import "C"

import (
	"fmt"
	"math"
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
	Flags    uint32 // Stats, Checked, RingWait, MemHuge, MemPrefault, MemNode
	NUMANode uint32 // with MemNode
}

// Ring is a bounded FIFO queue of fixed-size elements. Make one with NewRing; do not copy
// it.
type Ring struct {
	handle
	waiting

	ring     *C.fpgo_ring // never changes; the handle says whether it is still alive
	elemSize int
	capacity int
	producer uint32
	consumer uint32
	found    bool         // a reference by LookupRing: Close gives it back
	spans    atomic.Int64 // open ones, where found: the library cannot tell whose they are
	spare    sync.Pool    // elements of RingOf's single calls
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
	var made C.fpgo_made
	err := create("ring", options.Name, func(name *C.char) C.int {
		made = C.fpgo_create(name, C.uint32_t(options.Capacity), C.uint32_t(options.ElemSize),
			C.uint32_t(options.Producer), C.uint32_t(options.Consumer),
			C.uint32_t(options.Flags), C.uint32_t(options.NUMANode))
		return made.code
	})
	if err != nil {
		return nil, err
	}
	r := newRing(made.ring, false)
	if options.Flags&RingWait != 0 {
		for side := producers; side <= consumers; side++ {
			if err := r.waits.makeOwn(side); err != nil {
				_ = r.Close()
				return nil, fmt.Errorf("fp: no wake-up for the ring: %w", err)
			}
		}
	}
	return r, nil
}

// LookupRing finds a ring by its name, whoever made it, and takes a reference: the ring
// cannot be freed before this Ring is closed. Errors: ErrNotExist, ErrInvalid.
func LookupRing(name string) (*Ring, error) {
	var made C.fpgo_made
	err := lookup("ring", name, func(name *C.char) C.int {
		made = C.fpgo_lookup(name)
		return made.code
	})
	if err != nil {
		return nil, err
	}
	return newRing(made.ring, true), nil
}

func newRing(ring *C.fpgo_ring, found bool) *Ring {
	r := &Ring{
		ring:     ring,
		elemSize: int(C.fpgo_elem_size(ring)),
		capacity: int(C.fpgo_capacity(ring)),
		producer: uint32(C.fpgo_producer_sync(ring)),
		consumer: uint32(C.fpgo_consumer_sync(ring)),
		found:    found,
	}
	r.waits = joinWaits(unsafe.Pointer(ring), func(side int, wakeup *C.fpgo_wakeup) error {
		return status(C.fpgo_set_wakeup(ring, C.uint32_t(side), wakeup))
	})
	known := r.waits
	hold(r, &r.handle, C.fpgo_name(ring), func() error { return releaseRing(known, ring, found) })
	return r
}

func releaseRing(known *waits, ring *C.fpgo_ring, found bool) error {
	return known.release(unsafe.Pointer(ring), func() error {
		return status(C.fpgo_release(ring, truth(found)))
	})
}

// held is the handle.
func (r *Ring) held() *handle {
	if r == nil {
		return nil
	}
	return &r.handle
}

// Close frees the ring; elements still inside are forgotten. For a ring from LookupRing it
// gives back the reference instead. Calls that other goroutines are inside finish first;
// later ones return ErrClosed. Closing again, or closing a nil or zero Ring, does nothing.
//
// ErrBusy: a span is open, or references by lookup remain. The ring lives on then, and is
// as it was.
func (r *Ring) Close() error {
	return end(r, r.held(), func() error {
		if r.spans.Load() > 0 {
			return ErrBusy
		}
		if err := releaseRing(r.waits, r.ring, r.found); err != nil {
			return err
		}
		r.wakeAll()
		return nil
	})
}

// Reset makes the ring empty and open, and its counters zero, when the calls that other
// goroutines are inside have finished. ErrBusy: a span is open.
func (r *Ring) Reset() error {
	return r.held().alone(func() error { return status(C.fpgo_reset(r.ring)) })
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
	code := C.fpgo_close(r.ring)
	r.gates.side[producers].leave()
	return status(code)
}

// Count is the number of slots in use: elements, and slots that are reserved. Like the
// other answers of this kind it is of the moment of the call.
func (r *Ring) Count() (int, error) {
	return r.held().ask(func() int64 { return int64(C.fpgo_count(r.ring)) })
}

// FreeCount is the capacity less Count.
func (r *Ring) FreeCount() (int, error) {
	return r.held().ask(func() int64 { return int64(C.fpgo_free_count(r.ring)) })
}

// IsFull tells whether all slots are in use.
func (r *Ring) IsFull() (bool, error) {
	return r.held().tell(func() C.int { return C.fpgo_is_full(r.ring) })
}

// IsEmpty tells whether no slot is in use.
func (r *Ring) IsEmpty() (bool, error) {
	return r.held().tell(func() C.int { return C.fpgo_is_empty(r.ring) })
}

// IsProducerClosed tells whether CloseProducer was called; elements may still be inside.
func (r *Ring) IsProducerClosed() (bool, error) {
	return r.held().tell(func() C.int { return C.fpgo_is_closed(r.ring) })
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
func (r *Ring) Name() string { return r.held().named() }

// Handle is the fp_ring * for C code of yours; nil if the ring is nil or closed. The
// caller keeps the Ring reachable (runtime.KeepAlive) and open while C uses the handle.
func (r *Ring) Handle() unsafe.Pointer {
	return r.held().pointer(func() unsafe.Pointer { return unsafe.Pointer(r.ring) })
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
	var s C.fp_ring_stats
	err := r.held().read(func() C.uint32_t {
		s = C.fpgo_stats(r.ring)
		return s.size
	})
	if err != nil {
		return RingStats{}, err
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
	case r == nil || !r.made:
		return ErrInvalid
	case r.elemSize != size:
		return fmt.Errorf("fp: elements of %d bytes for a ring of elements of %d: %w",
			size, r.elemSize, ErrInvalid)
	}
	return fmt.Errorf("fp: %d elements in one call, more than %d: %w", n, math.MaxInt32,
		ErrInvalid)
}
