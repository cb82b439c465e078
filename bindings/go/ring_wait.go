// SPDX-License-Identifier: BSD-2-Clause

// Waiting for rings. bell.go says how goroutines sleep, waits.go where; here is what they
// sleep for.

package fp

// #include "wakeup_shim.h"
import "C"

import (
	"context"
	"fmt"
	"runtime"
	"time"
	"unsafe"
)

// SetWakeup binds a side, RingProducer or RingConsumer, to a wake-up: it is signalled
// whenever something may have become possible there. For the consumers an element came,
// for the producers a slot was freed, for both the ring was closed. Rings and sides may
// share one: then whoever waits on it waits for all of them. nil unbinds; a ring made with
// RingWait then has its own again.
//
// The wake-up cannot be closed before it is unbound or the ring is closed. That is the
// library's ring: one that LookupRing found may outlive the Ring. No other language may be
// inside a call on the ring meanwhile. ErrBusy: somebody waits on this side.
func (r *Ring) SetWakeup(side uint32, wakeup *Wakeup) error {
	if side > RingConsumer {
		return ErrInvalid
	}
	return r.held().alone(func() error { return r.waits.bindTo(int(side), wakeup) })
}

// Interrupt ends the waits in progress on a side, of all languages, with ErrCanceled;
// later ones are not affected. Who waits on a wake-up that is bound to this side is
// interrupted with them. ErrNoWakeup: nobody can wait on it.
func (r *Ring) Interrupt(side uint32) error {
	if err := r.held().look(); err != nil {
		return err
	}
	defer r.leave()
	return status(C.fpgo_interrupt(r.ring, C.uint32_t(side)))
}

// ---- one wait ----

// ready tells whether a side has something for another call, an error too.
func (r *Ring) ready(side int) bool {
	n, err := r.tryReady(side)
	return n != 0 || err != nil
}

func (r *Ring) tryReady(side int) (int, error) {
	if !r.gates.side[side].enter() {
		return 0, ErrClosed
	}
	code := C.fpgo_ring_ready(r.ring, C.uint32_t(side))
	raceAcquire(r)
	r.gates.side[side].leave()
	return counted(int64(code))
}

func (r *Ring) tryEnqueue(p *C.uint8_t, min, n int) (int, error) {
	if !r.gates.side[producers].enter() {
		return 0, ErrClosed
	}
	raceEnqueue(r, unsafe.Pointer(p), n)
	got := C.fpgo_enqueue_try(r.ring, p, C.uint32_t(min), C.uint32_t(n))
	r.gates.side[producers].leave()
	return counted(int64(got))
}

func (r *Ring) tryDequeue(p *C.uint8_t, min, n int) (int, error) {
	if !r.gates.side[consumers].enter() {
		return 0, ErrClosed
	}
	got := C.fpgo_dequeue_try(r.ring, p, C.uint32_t(min), C.uint32_t(n))
	raceDequeue(r, unsafe.Pointer(p), int(got))
	r.gates.side[consumers].leave()
	return counted(int64(got))
}

// listener is a bell whose source is a thread.
func (r *Ring) listener(side int) *bell {
	block := func(timeout C.uint64_t) C.int {
		return C.fpgo_ring_block(r.ring, C.uint32_t(side), timeout)
	}
	return &bell{source: &thread{gate: &r.gates.side[side], block: block}, private: true}
}

// wait is the rest of a call whose first try got nothing: it tries again until it gets
// something, or an error. greedy: one element may not be enough.
func (r *Ring) wait(ctx context.Context, side int, greedy bool, try func() (int, error)) (int, error) {
	b := r.begin(side, func() *bell { return r.listener(side) })
	defer r.over(side, b)
	interrupts := b.interrupts()

	for until := time.Now().Add(spinFor); time.Now().Before(until); {
		runtime.Gosched()
		if n, err := try(); n != 0 || err != nil {
			return n, err
		}
	}
	s := newSleeper(greedy)
	defer s.done()
	for slept := false; ; {
		n, woken, err := r.sleep(ctx, b, s, interrupts, try)
		slept = slept || woken
		if n != 0 || err != nil {
			if slept {
				b.handOn(func() bool { return r.ready(side) })
			}
			return n, err
		}
	}
}

// sleep enters the bell, looks, sleeps and leaves; 0 and nil: it is to be called again.
func (r *Ring) sleep(ctx context.Context, b *bell, s *sleeper, interrupts uint64,
	try func() (int, error)) (n int, woken bool, err error) {
	if err := b.enter(s); err != nil {
		return 0, false, err
	}
	n, err = try()
	if n == 0 && err == nil && b.interrupted(interrupts) {
		err = ErrCanceled
	}
	if n != 0 || err != nil {
		return n, b.leave(s), err
	}
	var limit <-chan time.Time
	if _, ok := b.source.(*thread); ok && s.greedy { // the thread hears of one element only
		timer := time.NewTimer(lookFor)
		defer timer.Stop()
		limit = timer.C
	}
	select {
	case <-s.wake:
	case <-limit:
	case <-ctx.Done():
		return 0, b.leave(s), ctx.Err()
	}
	return 0, b.leave(s), nil
}

// waitFor is a wait for a side, without moving anything.
func (r *Ring) waitFor(ctx context.Context, side int) error {
	if r == nil || !r.made {
		return ErrInvalid
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	n, err := r.tryReady(side)
	if n == 0 && err == nil {
		_, err = r.wait(ctx, side, false, func() (int, error) { return r.tryReady(side) })
	}
	return err
}

// enqueueWait is every waiting call of the producer side; p has n elements.
func (r *Ring) enqueueWait(ctx context.Context, p *C.uint8_t, min, n int) (int, error) {
	if err := mayWait(ctx, min, n); err != nil {
		return 0, err
	}
	got, err := r.tryEnqueue(p, min, n)
	if got != 0 || err != nil || min == 0 {
		return got, err
	}
	return r.wait(ctx, producers, min > 1, func() (int, error) { return r.tryEnqueue(p, min, n) })
}

// dequeueWait is every waiting call of the consumer side; p has room for n elements.
func (r *Ring) dequeueWait(ctx context.Context, p *C.uint8_t, min, n int) (int, error) {
	if err := mayWait(ctx, min, n); err != nil {
		return 0, err
	}
	got, err := r.tryDequeue(p, min, n)
	if got != 0 || err != nil || min == 0 {
		return got, err
	}
	return r.wait(ctx, consumers, min > 1, func() (int, error) { return r.tryDequeue(p, min, n) })
}

func mayWait(ctx context.Context, min, n int) error {
	if min < 0 || min > n {
		return fmt.Errorf("fp: at least %d of %d elements: %w", min, n, ErrInvalid)
	}
	return ctx.Err()
}

// ---- the calls ----

// WaitReadable waits until a dequeue would find something. It takes nothing: another
// consumer may be faster. Errors as DequeueWait.
func (r *Ring) WaitReadable(ctx context.Context) error { return r.waitFor(ctx, consumers) }

// WaitWritable waits until an enqueue would find a free slot. It takes nothing: another
// producer may be faster. Errors as EnqueueWait.
func (r *Ring) WaitWritable(ctx context.Context) error { return r.waitFor(ctx, producers) }

// EnqueueWait enqueues at least the first min and up to len(v) elements, as many as fit,
// and waits for room for min, which it puts in together. min is 1 to len(v), at most the
// capacity; with 0 it does not wait. It returns how many were taken: none, if there is an
// error.
//
// Errors: that of the context, when it is done; ErrPipe after CloseProducer; ErrCanceled
// after Interrupt; ErrNoWakeup if the ring has neither RingWait nor a wake-up bound to
// this side; ErrClosed if the ring is closed meanwhile; those of EnqueueBurst.
func (r *Ring) EnqueueWait(ctx context.Context, v []uint64, min int) (int, error) {
	if !r.fits(8, len(v)) {
		return 0, r.misfit(8, len(v))
	}
	return r.enqueueWait(ctx, words(v), min, len(v))
}

// DequeueWait takes at least min and up to len(v) elements, as many as there are, and
// waits for min, which it takes together. From a ring closed by its producers it takes
// what is left, also below min. min is 1 to len(v), at most the capacity; with 0 it does
// not wait. It returns how many were taken: none, if there is an error.
//
// Errors: that of the context, when it is done; ErrPipe when the producing side is closed
// and all is taken; ErrCanceled after Interrupt; ErrNoWakeup if the ring has neither
// RingWait nor a wake-up bound to this side; ErrClosed if the ring is closed meanwhile;
// those of DequeueBurst.
func (r *Ring) DequeueWait(ctx context.Context, v []uint64, min int) (int, error) {
	if !r.fits(8, len(v)) {
		return 0, r.misfit(8, len(v))
	}
	return r.dequeueWait(ctx, words(v), min, len(v))
}

// EnqueueBytesWait is EnqueueWait for elements of any size, as EnqueueBytesBurst.
func (r *Ring) EnqueueBytesWait(ctx context.Context, p []byte, min int) (int, error) {
	first, n, err := r.elems(p)
	if err != nil {
		return 0, err
	}
	return r.enqueueWait(ctx, first, min, n)
}

// DequeueBytesWait is DequeueWait for elements of any size, as DequeueBytesBurst.
func (r *Ring) DequeueBytesWait(ctx context.Context, p []byte, min int) (int, error) {
	first, n, err := r.elems(p)
	if err != nil {
		return 0, err
	}
	return r.dequeueWait(ctx, first, min, n)
}

// EnqueueWait is Ring.EnqueueWait.
func (r *RingOf[T]) EnqueueWait(ctx context.Context, v []T, min int) (int, error) {
	ring, p, err := r.of(v)
	if err != nil {
		return 0, err
	}
	return ring.enqueueWait(ctx, p, min, len(v))
}

// DequeueWait is Ring.DequeueWait.
func (r *RingOf[T]) DequeueWait(ctx context.Context, v []T, min int) (int, error) {
	ring, p, err := r.of(v)
	if err != nil {
		return 0, err
	}
	return ring.dequeueWait(ctx, p, min, len(v))
}
