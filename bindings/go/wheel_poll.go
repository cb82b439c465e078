// SPDX-License-Identifier: BSD-2-Clause

// Polls: what fires timers.
//
// The library has one thread poll at a time, and its arms work on the wheel itself; a poll
// that finds the wheel taken is refused. A goroutine changes threads: one that polls may
// find that another one, on the thread where it polled last, is arming at this moment. That
// takes some instructions, so polls of Go come back to it before they say ErrBusy.

package fp

// #include "timer_shim.h"
import "C"

import (
	"math"
	"runtime"
	"time"
	"unsafe"
)

// Expired is a timer that has fired: a fp_timer_record, which C fills in place.
type Expired struct {
	ID       TimerID
	User     uint64 // as given to Create; of a timer of C: its argument
	Expiry   uint64 // the tick that it was armed for
	Overruns uint32 // periods that are not delivered, or wait to be (ArmPeriodic)
	Flags    uint32 // TimerIsPeriodic
}

// What C fills is laid out alike, or this does not compile.
const (
	_ = -(unsafe.Sizeof(Expired{}) ^ unsafe.Sizeof(C.fp_timer_record{}))
	_ = -(unsafe.Offsetof(Expired{}.User) ^ unsafe.Offsetof(C.fp_timer_record{}.user))
	_ = -(unsafe.Offsetof(Expired{}.Expiry) ^ unsafe.Offsetof(C.fp_timer_record{}.expiry_tick))
	_ = -(unsafe.Offsetof(Expired{}.Overruns) ^ unsafe.Offsetof(C.fp_timer_record{}.overruns))
	_ = -(unsafe.Offsetof(Expired{}.Flags) ^ unsafe.Offsetof(C.fp_timer_record{}.flags))

	_ = -(unsafe.Sizeof(TimerInfo{}) ^ unsafe.Sizeof(C.fp_timer_info{}))
	_ = -(unsafe.Offsetof(TimerInfo{}.User) ^ unsafe.Offsetof(C.fp_timer_info{}.user))
	_ = -(unsafe.Offsetof(TimerInfo{}.Expiry) ^ unsafe.Offsetof(C.fp_timer_info{}.expiry_tick))
	_ = -(unsafe.Offsetof(TimerInfo{}.Period) ^ unsafe.Offsetof(C.fp_timer_info{}.period_ticks))
	_ = -(unsafe.Offsetof(TimerInfo{}.Flags) ^ unsafe.Offsetof(C.fp_timer_info{}.flags))
	_ = -(unsafe.Offsetof(TimerInfo{}.Policy) ^ unsafe.Offsetof(C.fp_timer_info{}.policy))
)

// PollBurst fills expired with timers that are due at the tick now, in order of expiry, and
// tells how many: if as many as there is room for, the rest is due in the next poll. A now
// that is earlier than in the last poll fires nothing. Callbacks of C do not run: their
// timers fill records, too.
//
// A timer whose record was filled has fired: Cancel afterwards tells false, though the
// caller of PollBurst may still be at work on the record. What a goroutine did before it
// armed a timer is seen by the one that gets its record.
//
// ErrBusy: another goroutine or thread polls.
func (w *Wheel) PollBurst(now uint64, expired []Expired) (int, error) {
	if w == nil || !w.made {
		return 0, ErrInvalid
	}
	gate := &w.gates.side[consumers]
	if !gate.enter() {
		return 0, ErrClosed
	}
	records, room := recordsOf(expired)
	n := C.fpgo_wheel_poll_burst(w.wheel, C.uint64_t(now), records, room)
	for r := (retry{}); Errno(-n) == ErrBusy && r.again(w); {
		n = C.fpgo_wheel_poll_burst(w.wheel, C.uint64_t(now), records, room)
	}
	raceExpired(w, expired, int(n))
	gate.leave()
	return counted(int64(n))
}

func recordsOf(expired []Expired) (*C.fp_timer_record, C.uint32_t) {
	n := len(expired)
	if n == 0 {
		return nil, 0
	}
	if n > math.MaxInt32 {
		n = math.MaxInt32
	}
	return (*C.fp_timer_record)(unsafe.Pointer(&expired[0])), C.uint32_t(n)
}

// Poll fires up to max timers that are due at the tick now by running their callbacks, which
// timers of C have. A timer of Go has none, and counts as fired: nothing more is told of it.
// ErrBusy: another goroutine or thread polls, or this is inside such a callback.
func (w *Wheel) Poll(now uint64, max uint32) (int, error) {
	if err := w.enterRun(); err != nil {
		return 0, err
	}
	defer w.runs.Add(-1)
	n := C.fpgo_wheel_poll(w.wheel, C.uint64_t(now), C.uint32_t(max))
	for r := (retry{}); Errno(-n) == ErrBusy && r.again(w); {
		n = C.fpgo_wheel_poll(w.wheel, C.uint64_t(now), C.uint32_t(max))
	}
	return counted(int64(n))
}

// PollMany is Poll of several wheels as one: it fires in order of expiry over all of them,
// and for one tick in the order of wheels. ErrBusy: another goroutine or thread polls one of
// them, or one is there twice; nothing has fired.
func PollMany(now uint64, max uint32, wheels ...*Wheel) (int, error) {
	list := make([]*C.fpgo_wheel, len(wheels)+1) // one more: the address of the first
	for i, w := range wheels {
		if err := w.enterRun(); err != nil {
			return 0, err
		}
		defer w.runs.Add(-1)
		list[i] = w.wheel
	}
	poll := func() C.int64_t {
		return C.fpgo_wheel_poll_many(&list[0], C.uint32_t(len(wheels)), C.uint64_t(now),
			C.uint32_t(max))
	}
	n := poll()
	for r := (retry{}); Errno(-n) == ErrBusy && r.again(wheels...); {
		n = poll()
	}
	return counted(int64(n))
}

// enterRun lets a call in that may run functions of C, and counts it in runs: they may call
// what a gate would keep out.
func (w *Wheel) enterRun() error {
	if err := w.held().look(); err != nil {
		return err
	}
	w.runs.Add(1)
	w.leave()
	return nil
}

// retry is a poll that has found a wheel taken.
type retry struct {
	rounds int
	until  time.Time
}

// again waits a little and tells whether to poll again: not if another goroutine polls.
func (r *retry) again(wheels ...*Wheel) bool {
	for _, w := range wheels {
		if w.gates.side[consumers].inside.Load()+w.runs.Load() > 1 {
			return false
		}
	}
	if r.rounds++; r.rounds == 1 {
		r.until = time.Now().Add(firstWait) // another language may poll: not for ever
	}
	if r.rounds < 100 {
		runtime.Gosched()
	} else {
		time.Sleep(20 * time.Microsecond)
	}
	return time.Now().Before(r.until)
}
