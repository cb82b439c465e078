// SPDX-License-Identifier: BSD-2-Clause

// What objects that can be waited for have in common: which wake-up each side of an object
// signals, and at which bell the goroutines sleep that wait for it. bell.go says how they
// sleep; what for is in ring_wait.go and wheel_wait.go.

package fp

// #include "wakeup_shim.h"
import "C"

import (
	"sync"
	"time"
	"unsafe"
)

const (
	spinFor = 50 * time.Microsecond // about what one sleep costs both sides
	lookFor = time.Millisecond      // how long one sleeps whom nobody wakes
)

// waits is what is known about the wake-ups of an object, by all that Go has of its handle.
type waits struct {
	users int // of the handle; of the table
	bind  func(side int, wakeup *C.fpgo_wakeup) error
	mutex sync.Mutex
	side  [2]struct { // a wheel has one
		own   *bell   // of Go: signalled unless another one is bound
		bound *Wakeup // SetWakeup; nil: none
		calls int     // that wait
		lent  bool    // C signals something else for good
	}
}

// waitsOf has an entry for each object that Go has and can wait for, so that two of one
// handle meet.
var waitsOf = struct {
	sync.Mutex
	table map[unsafe.Pointer]*waits
}{table: map[unsafe.Pointer]*waits{}}

// joinWaits is for who has a new handle. bind has C signal a wake-up; it holds nothing
// that leads to the object of Go.
func joinWaits(object unsafe.Pointer, bind func(side int, wakeup *C.fpgo_wakeup) error) *waits {
	waitsOf.Lock()
	defer waitsOf.Unlock()
	w := waitsOf.table[object]
	if w == nil {
		w = &waits{bind: bind}
		waitsOf.table[object] = w
	}
	w.users++
	return w
}

// release frees the object or gives back its reference, within the table's lock: the
// address may be that of another one at once.
func (w *waits) release(object unsafe.Pointer, free func() error) error {
	waitsOf.Lock()
	defer waitsOf.Unlock()
	if err := free(); err != nil {
		return err
	}
	if w.users--; w.users == 0 {
		delete(waitsOf.table, object)
		w.endOwn()
	}
	return nil
}

// makeOwn binds a wake-up of Go to a side: whose descriptor Go has.
func (w *waits) makeOwn(side int) error {
	b, wakeup, err := newBell(0, true)
	if err != nil {
		return err
	}
	w.side[side].own = b
	return w.bind(side, wakeup)
}

// endOwn ends what makeOwn has made, when the object is gone.
func (w *waits) endOwn() {
	for side := range w.side {
		if b := w.side[side].own; b != nil {
			d := b.source.(*descriptor)
			_ = b.stop(func() error { return status(C.fpgo_wakeup_destroy(d.wakeup)) })
		}
	}
}

// waiting is the part of an object that can be waited for.
type waiting struct {
	waits   *waits   // of the handle
	threads [2]*bell // of each side, where the wake-up is not Go's; nil: not needed yet
}

// wakeAll is for Close: the sleepers find the object closed.
func (o *waiting) wakeAll() {
	w := o.waits
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for side := range w.side {
		for _, b := range []*bell{w.side[side].own, w.side[side].bound.bellOf(), o.threads[side]} {
			if b != nil {
				b.ringAll()
			}
		}
	}
}

// begin is the bell at which a call on a side waits until it calls over; listen makes one
// with a thread, where no other will do.
func (o *waiting) begin(side int, listen func() *bell) *bell {
	w := o.waits
	w.mutex.Lock()
	defer w.mutex.Unlock()
	s := &w.side[side]
	s.calls++
	if b := s.bound.bellOf(); b != nil && !s.bound.isLent() {
		return b
	}
	if s.bound == nil && s.own != nil {
		return s.own
	}
	if o.threads[side] == nil {
		o.threads[side] = listen()
	}
	o.threads[side].calls++
	return o.threads[side]
}

// over is the end of a call that waited. A bell that holds the object does not stay in it:
// a finalizer would wait for ever.
func (o *waiting) over(side int, b *bell) {
	w := o.waits
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.side[side].calls--
	if b == o.threads[side] {
		if b.calls--; b.calls == 0 {
			o.threads[side] = nil
		}
	}
}

// bindTo is SetWakeup of an object, while no other call is inside.
func (w *waits) bindTo(side int, wakeup *Wakeup) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	s := &w.side[side]
	if s.calls > 0 {
		return ErrBusy
	}
	var c *C.fpgo_wakeup
	if wakeup != nil {
		if err := wakeup.held().look(); err != nil {
			return err
		}
		defer wakeup.held().leave()
		c = wakeup.wakeup
	} else if s.own != nil {
		c = s.own.source.(*descriptor).wakeup
	}
	if err := w.bind(side, c); err != nil {
		return err
	}
	s.bound = wakeup
	return nil
}

// lend has C bind something else to a side, which has to have nothing bound then. If that
// succeeds, the side keeps it; its own wake-up stays idle.
func (w *waits) lend(side int, bind func() error) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	s := &w.side[side]
	if s.calls > 0 {
		return ErrBusy
	}
	if s.own == nil || s.bound != nil || s.lent {
		return bind()
	}
	if err := w.bind(side, nil); err != nil {
		return err
	}
	if err := bind(); err != nil {
		_ = w.bind(side, s.own.source.(*descriptor).wakeup)
		return err
	}
	s.lent = true
	return nil
}
