// SPDX-License-Identifier: BSD-2-Clause

// Timers: what is done to one, or to a table of them. Any goroutine may make any of these
// calls at any moment, also about the same timer.

package fp

// #include "timer_shim.h"
import "C"

import (
	"context"
	"fmt"
	"math"
	"unsafe"
)

// TimerID names a timer of a wheel, never 0. One that was destroyed, or is of another
// wheel, is refused with ErrStale, also when the memory of the timer serves a later one.
type TimerID uint64

// TimerResult is what a call about several timers did to one of them: 1, 0, or below 0 an
// error.
type TimerResult int32

// Err is the error; nil: there is none.
func (r TimerResult) Err() error {
	if r < 0 {
		return Errno(-r)
	}
	return nil
}

// enter lets a call about a timer in; nil: it may go on, and leaves that gate.
func (w *Wheel) enter() error {
	if w == nil || !w.made {
		return ErrInvalid
	}
	if !w.gates.side[producers].enter() {
		return ErrClosed
	}
	return nil
}

// did is the end of a call that says yes (1) or no.
func (w *Wheel) did(code C.int) (bool, error) {
	w.gates.side[producers].leave()
	n, err := counted(int64(code))
	return n == 1, err
}

// ---- make and destroy ----

// Create makes a timer, which is not armed. user is in the record of each time that it
// fires: an index into a table of yours, for example. ErrNoMemory: MaxTimers exist; those
// destroyed count until the poll that comes by them.
func (w *Wheel) Create(user uint64) (TimerID, error) {
	if err := w.enter(); err != nil {
		return 0, err
	}
	made := C.fpgo_timer_create(w.wheel, C.uint64_t(user))
	w.gates.side[producers].leave()
	return TimerID(made.value), status(made.code)
}

// CreateBulk makes a timer for each user, or as many of the first ones as MaxTimers allows.
func (w *Wheel) CreateBulk(users []uint64) ([]TimerID, error) {
	ids := make([]TimerID, len(users))
	if err := w.enterBulk(ids, users, nil); err != nil {
		return nil, err
	}
	made := C.fpgo_timer_create_bulk(w.wheel, numbersOf(users), idsOf(ids), C.uint32_t(len(ids)))
	w.gates.side[producers].leave()
	n, err := counted(int64(made))
	return ids[:n], err
}

// Destroy cancels a timer and makes its id stale. It tells whether the timer was armed, and
// will not fire. Errors: ErrStale; ErrInProgress: the timer is C's, and its callback runs;
// it is destroyed, and CancelSync waits for that callback.
func (w *Wheel) Destroy(id TimerID) (armed bool, err error) {
	if err := w.enter(); err != nil {
		return false, err
	}
	code := C.fpgo_timer_destroy(w.wheel, C.uint64_t(id))
	raceCancel(w)
	return w.did(code)
}

// DestroyBulk destroys timers, and tells how many. One bad id does not stop the rest:
// results receives what Destroy would say of each; it may be nil.
func (w *Wheel) DestroyBulk(ids []TimerID, results []TimerResult) (int, error) {
	if err := w.enterBulk(ids, nil, results); err != nil {
		return 0, err
	}
	n := C.fpgo_timer_destroy_bulk(w.wheel, idsOf(ids), C.uint32_t(len(ids)), resultsOf(results))
	raceCancel(w)
	return w.didBulk(n, results)
}

// ---- arm ----

// Arm arms a timer to fire once, or moves it if it is armed; moved tells which. A periodic
// timer is not periodic any more. An expiry that is not after the last poll fires in the
// next one. ErrStale: no such timer.
func (w *Wheel) Arm(id TimerID, expiry uint64) (moved bool, err error) {
	if err := w.enter(); err != nil {
		return false, err
	}
	raceArm(w)
	return w.did(C.fpgo_timer_arm(w.wheel, C.uint64_t(id), C.uint64_t(expiry)))
}

// ArmBulk arms timers, each for the expiry of the same place, and tells how many. One bad id
// does not stop the rest: results receives 0, 1 (it was moved) or an error for each; it may
// be nil. ErrInvalid: the slices differ in length, and nothing was armed.
func (w *Wheel) ArmBulk(ids []TimerID, expiries []uint64, results []TimerResult) (int, error) {
	if len(ids) != len(expiries) {
		return 0, w.uneven(len(ids), len(expiries))
	}
	if err := w.enterBulk(ids, expiries, results); err != nil {
		return 0, err
	}
	raceArm(w)
	n := C.fpgo_timer_arm_bulk(w.wheel, idsOf(ids), numbersOf(expiries), C.uint32_t(len(ids)),
		resultsOf(results))
	return w.didBulk(n, results)
}

// ArmPeriodic arms a timer to fire at the tick first and then every period, counted from
// first however late polls are. It stays armed until it is cancelled. The policy says what
// becomes of periods that no poll came for in time: TimerSkip: of those that are due the
// last one fires; TimerCoalesce: the first one, for all; TimerCatchUp: each. Errors:
// ErrStale; ErrInvalid: the period is 0; ErrNotSupported: an unknown policy.
func (w *Wheel) ArmPeriodic(id TimerID, first, period uint64, policy uint32) (moved bool, err error) {
	if err := w.enter(); err != nil {
		return false, err
	}
	raceArm(w)
	return w.did(C.fpgo_timer_arm_periodic(w.wheel, C.uint64_t(id), C.uint64_t(first),
		C.uint64_t(period), C.uint32_t(policy)))
}

// Touch moves an armed timer to expiry unless it expires later already: a sign of life, at
// a fraction of the cost of Arm. One that is not armed stays so, which armed tells.
// ErrStale: no such timer.
func (w *Wheel) Touch(id TimerID, expiry uint64) (armed bool, err error) {
	if err := w.enter(); err != nil {
		return false, err
	}
	raceArm(w)
	return w.did(C.fpgo_timer_touch(w.wheel, C.uint64_t(id), C.uint64_t(expiry)))
}

// TouchBulk touches timers as ArmBulk arms them, and tells how many of them are armed;
// results receives 1, 0 or an error for each.
func (w *Wheel) TouchBulk(ids []TimerID, expiries []uint64, results []TimerResult) (int, error) {
	if len(ids) != len(expiries) {
		return 0, w.uneven(len(ids), len(expiries))
	}
	if err := w.enterBulk(ids, expiries, results); err != nil {
		return 0, err
	}
	raceArm(w)
	n := C.fpgo_timer_touch_bulk(w.wheel, idsOf(ids), numbersOf(expiries), C.uint32_t(len(ids)),
		resultsOf(results))
	return w.didBulk(n, results)
}

// ---- cancel ----

// Cancel disarms a timer, and tells whether it was armed: then it will not fire. false: it
// was not armed, or has fired, though the goroutine that polls may still be at work on its
// record. Errors: ErrStale; ErrInProgress: the timer is C's, and its callback runs.
func (w *Wheel) Cancel(id TimerID) (armed bool, err error) {
	if err := w.enter(); err != nil {
		return false, err
	}
	code := C.fpgo_timer_cancel(w.wheel, C.uint64_t(id))
	raceCancel(w)
	return w.did(code)
}

// CancelBulk cancels timers, and tells how many will not fire. One bad id does not stop the
// rest: results receives what Cancel would say of each; it may be nil.
func (w *Wheel) CancelBulk(ids []TimerID, results []TimerResult) (int, error) {
	if err := w.enterBulk(ids, nil, results); err != nil {
		return 0, err
	}
	n := C.fpgo_timer_cancel_bulk(w.wheel, idsOf(ids), C.uint32_t(len(ids)), resultsOf(results))
	raceCancel(w)
	return w.didBulk(n, results)
}

// CancelSync cancels a timer, and if it is C's waits until its callback does not run; with
// the id of a destroyed timer it only waits. It tells whether the timer was armed; false
// also if the callback has armed it and was waited for. Errors: that of the context: it is
// disarmed, but its callback still runs; ErrStale: no such timer (any more), and its
// callback does not run; ErrDeadlock: called inside that callback.
func (w *Wheel) CancelSync(ctx context.Context, id TimerID) (armed bool, err error) {
	for {
		armed, err = w.cancelFor(ctx, id)
		if err != ErrTimeout {
			return armed, err
		}
		if err := pause(ctx); err != nil {
			return false, err
		}
	}
}

// cancelFor waits in C, for a short time: other goroutines may want its thread.
func (w *Wheel) cancelFor(ctx context.Context, id TimerID) (bool, error) {
	if err := w.enter(); err != nil {
		return false, err
	}
	code := C.fpgo_timer_cancel_sync(w.wheel, C.uint64_t(id), C.uint64_t(timeLeft(ctx, firstWait)))
	raceCancel(w)
	return w.did(code)
}

// ---- ask ----

// IsPending tells whether a timer is armed. ErrStale: no such timer.
func (w *Wheel) IsPending(id TimerID) (bool, error) {
	if err := w.enter(); err != nil {
		return false, err
	}
	return w.did(C.fpgo_timer_is_pending(w.wheel, C.uint64_t(id)))
}

// Remaining is how many ticks an armed timer still has, 0 if it is due; false: it is not
// armed. ErrStale: no such timer.
func (w *Wheel) Remaining(id TimerID, now uint64) (ticks uint64, armed bool, err error) {
	if err := w.enter(); err != nil {
		return 0, false, err
	}
	left := C.fpgo_timer_remaining(w.wheel, C.uint64_t(id), C.uint64_t(now))
	armed, err = w.did(left.code)
	return uint64(left.value), armed, err
}

// ---- tables ----

// enterBulk is enter for a call about several timers.
func (w *Wheel) enterBulk(ids []TimerID, numbers []uint64, results []TimerResult) error {
	if results != nil && len(results) != len(ids) {
		return w.uneven(len(ids), len(results))
	}
	if err := w.enter(); err != nil {
		return err
	}
	if len(ids) > math.MaxInt32 {
		w.gates.side[producers].leave()
		return ErrInvalid
	}
	raceTable(ids, numbers)
	return nil
}

func (w *Wheel) didBulk(n C.int32_t, results []TimerResult) (int, error) {
	raceResults(results)
	w.gates.side[producers].leave()
	return counted(int64(n))
}

// uneven is the error of slices that do not belong together.
func (w *Wheel) uneven(ids, others int) error {
	if w == nil || !w.made {
		return ErrInvalid
	}
	return fmt.Errorf("fp: %d timers, but a slice of %d: %w", ids, others, ErrInvalid)
}

// What C sees of a slice; nil: it is empty.

func numbersOf(v []uint64) *C.uint64_t {
	if len(v) == 0 {
		return nil
	}
	return (*C.uint64_t)(unsafe.Pointer(&v[0]))
}

func idsOf(ids []TimerID) *C.uint64_t {
	if len(ids) == 0 {
		return nil
	}
	return (*C.uint64_t)(unsafe.Pointer(&ids[0]))
}

func resultsOf(results []TimerResult) *C.int32_t {
	if len(results) == 0 {
		return nil
	}
	return (*C.int32_t)(unsafe.Pointer(&results[0]))
}
