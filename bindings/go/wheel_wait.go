// SPDX-License-Identifier: BSD-2-Clause

// Sleeping until a wheel has work: bell.go says how goroutines sleep. A wheel has one side,
// and everybody who waits is woken: who polls for all the others is not known.

package fp

// #include "timer_shim.h"
import "C"

import (
	"context"
	"math"
	"runtime"
	"time"
)

// never is the time until the next expiry when nothing is armed.
const never = time.Duration(math.MaxInt64)

// SetWakeup binds the wheel to a wake-up: from now on it is signalled whenever a timer is
// armed for earlier than the wheel's next expiry was. Rings and wheels may share one. nil
// unbinds; a wheel made with WheelWait then has its own again.
//
// The wake-up cannot be closed before it is unbound or the wheel is closed. That is the
// library's wheel: one that LookupWheel found may outlive the Wheel. No other language may
// be inside a call on the wheel meanwhile. ErrBusy: somebody waits, a poll that runs
// functions of C is in progress, or the wheel has a Service.
func (w *Wheel) SetWakeup(wakeup *Wakeup) error {
	return w.held().alone(func() error {
		if w.runs.Load() > 0 {
			return ErrBusy
		}
		return w.waits.bindTo(0, wakeup)
	})
}

// Wait sleeps until a poll has something to do: until the next expiry on the monotonic
// clock, or until another goroutine or thread arms what the next poll has to take in. Poll
// then: it may be that nothing is due yet. A wake-up that is bound ends the wait also when
// it is signalled for another reason. A goroutine that waits takes no thread of the system,
// unless another language made the wheel; Go wakes it up to a millisecond late.
//
// Errors: that of the context, when it is done: then Wait looks, and does not sleep;
// ErrCanceled after Interrupt; ErrNoWakeup if the wheel has neither WheelWait nor a wake-up;
// ErrNotSupported if it has a Service; ErrClosed if it is closed meanwhile.
func (w *Wheel) Wait(ctx context.Context) error {
	if w == nil || !w.made {
		return ErrInvalid
	}
	left, err := w.left()
	if left == 0 || err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b := w.begin(0, w.listener)
	defer w.over(0, b)
	interrupts := b.interrupts()

	for until := time.Now().Add(spinFor); left <= spinFor && time.Now().Before(until); {
		runtime.Gosched()
		if left, err = w.left(); left == 0 || err != nil {
			return err
		}
	}
	s := newSleeper(true) // everybody is to be woken
	defer s.done()
	for {
		again, err := w.sleep(ctx, b, s, interrupts)
		if !again || err != nil {
			return err
		}
	}
}

// sleep enters the bell, looks, sleeps and leaves; again: there was no reason to wake.
func (w *Wheel) sleep(ctx context.Context, b *bell, s *sleeper, interrupts uint64) (again bool, err error) {
	if err := b.enter(s); err != nil {
		return false, err
	}
	left, err := w.leftUnless(b, interrupts)
	if left == 0 || err != nil {
		b.leave(s)
		return false, err
	}
	var due <-chan time.Time
	if left != never {
		timer := time.NewTimer(left)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-s.wake:
	case <-due:
	case <-ctx.Done():
		b.leave(s)
		return false, ctx.Err()
	}
	b.leave(s)
	left, err = w.leftUnless(b, interrupts)
	return left > 0 && b.private, err
}

// leftUnless is left, but for an interrupt.
func (w *Wheel) leftUnless(b *bell, interrupts uint64) (time.Duration, error) {
	left, err := w.left()
	if left > 0 && err == nil && b.interrupted(interrupts) {
		err = ErrCanceled
	}
	return left, err
}

// left is the time until a poll has something to do.
func (w *Wheel) left() (time.Duration, error) {
	if !w.gates.side[others].enter() {
		return 0, ErrClosed
	}
	ns := C.fpgo_wheel_left(w.wheel)
	w.leave()
	if ns < 0 {
		return 0, Errno(-ns)
	}
	return time.Duration(ns), nil
}

// listener is a bell whose source is a thread.
func (w *Wheel) listener() *bell {
	block := func(timeout C.uint64_t) C.int { return C.fpgo_wheel_block(w.wheel, timeout) }
	return &bell{source: &thread{gate: &w.gates.side[others], block: block}}
}

// Interrupt ends the waits in progress, of all languages, with ErrCanceled; later ones are
// not affected. Who waits on a wake-up that is bound is interrupted with them. ErrNoWakeup:
// nobody can wait.
func (w *Wheel) Interrupt() error {
	_, err := w.held().ask(func() int64 { return int64(C.fpgo_wheel_interrupt(w.wheel)) })
	return err
}

// Service is the service that polls the wheel by the monotonic clock, as Poll does, and
// announces its next expiry, so that a service core sleeps until then: for wheels whose
// timers have callbacks of C. The first call makes it: not started, mapped to no core, and
// woken by what is armed. It is the wheel's, and closed with it: its Close returns
// ErrNotSupported. From then on Wait does, too.
//
// ErrBusy: a wake-up is bound, somebody waits, or a poll that runs functions of C is in
// progress.
func (w *Wheel) Service() (*Service, error) {
	var made C.fpgo_made_service
	err := w.held().alone(func() error {
		if w.runs.Load() > 0 {
			return ErrBusy
		}
		return w.waits.lend(0, func() error {
			made = C.fpgo_wheel_service(w.wheel)
			return status(made.code)
		})
	})
	if err != nil {
		return nil, err
	}
	s := &Service{service: made.service, owner: w}
	s.made = true
	return s, nil
}
