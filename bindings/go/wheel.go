// SPDX-License-Identifier: BSD-2-Clause

// Timer wheels: create, close, inspect. What is done to a timer is in timer.go, what fires
// them in wheel_poll.go, how to sleep until then in wheel_wait.go.

package fp

// #include "timer_shim.h"
import "C"

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"
	"unsafe"
)

// WheelOptions says what NewWheel makes; all has a default.
type WheelOptions struct {
	TickNS    uint64 // length of a tick in nanoseconds, for who wants the clock; 0: WheelTickNSDefault
	Start     uint64 // the tick before the first poll, with WheelStartAt; without: now
	Capacity  int    // timers expected: MemPrefault touches memory for these; 0: 65536, or MaxTimers if less
	MaxTimers int    // up to WheelTimersMax: address space is reserved for them; 0: Capacity
	Name      string // for LookupWheel, in this process and in any language; "": none
	Flags     uint32 // WheelStartAt, WheelWait, Stats, MemHuge, MemPrefault, MemNode
	NUMANode  uint32 // with MemNode
}

// Wheel holds timers, which any goroutine arms and cancels, and one at a time polls. It
// knows no clock: time is the tick that its poll is given. Make one with NewWheel; do not
// copy it.
type Wheel struct {
	handle
	waiting

	wheel  *C.fpgo_wheel // never changes; the handle says whether it is still alive
	tickNS uint64
	found  bool         // a reference by LookupWheel: Close gives it back
	runs   atomic.Int64 // calls that run functions of C, which are not inside the gates
}

// NewWheel makes a wheel without timers. Errors: ErrInvalid (a value out of range),
// ErrNotSupported (a flag that the library does not know, or a library of another version),
// ErrNameTooLong, ErrExist, ErrNoMemory. With WheelWait the first one of a process takes as
// long as the first wake-up does (NewWakeup).
func NewWheel(options WheelOptions) (*Wheel, error) {
	if errVersion != nil {
		return nil, errVersion
	}
	if err := within("wheel",
		limit{"Capacity", options.Capacity, 0, WheelTimersMax},
		limit{"MaxTimers", options.MaxTimers, 0, WheelTimersMax},
	); err != nil {
		return nil, err
	}
	var made C.fpgo_made_wheel
	err := create("wheel", options.Name, func(name *C.char) C.int {
		made = C.fpgo_wheel_create(name, C.uint64_t(options.TickNS), C.uint64_t(options.Start),
			C.uint32_t(options.Capacity), C.uint32_t(options.MaxTimers),
			C.uint32_t(options.Flags), C.uint32_t(options.NUMANode))
		return made.code
	})
	if err != nil {
		return nil, err
	}
	w := newWheel(made.wheel, false)
	if options.TickNS > math.MaxInt64 { // more than C tells
		w.tickNS = options.TickNS
	}
	if options.Flags&WheelWait != 0 {
		if err := w.waits.makeOwn(0); err != nil {
			_ = w.Close()
			return nil, fmt.Errorf("fp: no wake-up for the wheel: %w", err)
		}
	}
	return w, nil
}

// LookupWheel finds a wheel by its name, whoever made it, and takes a reference: the wheel
// cannot be freed before this Wheel is closed. Errors: ErrNotExist, ErrInvalid.
func LookupWheel(name string) (*Wheel, error) {
	var made C.fpgo_made_wheel
	err := lookup("wheel", name, func(name *C.char) C.int {
		made = C.fpgo_wheel_lookup(name)
		return made.code
	})
	if err != nil {
		return nil, err
	}
	return newWheel(made.wheel, true), nil
}

func newWheel(wheel *C.fpgo_wheel, found bool) *Wheel {
	w := &Wheel{wheel: wheel, tickNS: uint64(C.fpgo_wheel_tick_ns(wheel)), found: found}
	w.waits = joinWaits(unsafe.Pointer(wheel), func(_ int, wakeup *C.fpgo_wakeup) error {
		return status(C.fpgo_wheel_set_wakeup(wheel, wakeup))
	})
	known := w.waits
	hold(w, &w.handle, C.fpgo_wheel_name(wheel), func() error {
		return releaseWheel(known, wheel, found)
	})
	return w
}

func releaseWheel(known *waits, wheel *C.fpgo_wheel, found bool) error {
	return known.release(unsafe.Pointer(wheel), func() error {
		return status(C.fpgo_wheel_release(wheel, truth(found)))
	})
}

// held is the handle.
func (w *Wheel) held() *handle {
	if w == nil {
		return nil
	}
	return &w.handle
}

// Close frees the wheel with all its timers, armed or not, and its Service. For a wheel
// from LookupWheel it gives back the reference instead, and timers stay. Calls that other
// goroutines are inside finish first, waits end; later ones return ErrClosed. Closing
// again, or closing a nil or zero Wheel, does nothing.
//
// ErrBusy: a poll that runs functions of C is in progress, references by lookup remain, a
// thread of another language waits, or its service is mapped or inside a call. The wheel
// lives on then, and is as it was.
func (w *Wheel) Close() error {
	return end(w, w.held(), func() error {
		if w.runs.Load() > 0 {
			return ErrBusy
		}
		if err := releaseWheel(w.waits, w.wheel, w.found); err != nil {
			return err
		}
		w.wakeAll()
		return nil
	})
}

// Name is the name given at create, "" if there is none.
func (w *Wheel) Name() string { return w.held().named() }

// Handle is the fp_timer_wheel * for C code of yours; nil if the wheel is nil or closed.
// The caller keeps the Wheel reachable (runtime.KeepAlive) and open while C uses the
// handle.
func (w *Wheel) Handle() unsafe.Pointer {
	return w.held().pointer(func() unsafe.Pointer { return unsafe.Pointer(w.wheel) })
}

// ---- time ----

// TickNS is the length of a tick in nanoseconds; 0 for a nil or zero Wheel.
func (w *Wheel) TickNS() uint64 {
	if w == nil {
		return 0
	}
	return w.tickNS
}

// TicksFrom is a span of time in ticks, rounded up, so that now + ticks is never early; 0
// for less than none, and for a nil or zero Wheel.
func (w *Wheel) TicksFrom(span time.Duration) uint64 {
	if span <= 0 {
		return 0
	}
	return w.ticks(uint64(span))
}

func (w *Wheel) ticks(ns uint64) uint64 {
	if w.TickNS() == 0 || ns == 0 {
		return 0
	}
	return (ns-1)/w.tickNS + 1
}

// Now is the tick of the monotonic clock.
func (w *Wheel) Now() (uint64, error) {
	tick, _, err := w.tick(func() C.fpgo_tick { return C.fpgo_wheel_now(w.wheel) })
	return tick, err
}

// NextExpiry is the tick before which a poll has nothing to do, 0: poll at once; false:
// nothing is armed. No timer expires before it, but it may be earlier than the first
// expiry, because the wheel moves entries on the way there. What other goroutines arm
// meanwhile may be missing.
func (w *Wheel) NextExpiry() (tick uint64, ok bool, err error) {
	return w.tick(func() C.fpgo_tick { return C.fpgo_wheel_next_expiry(w.wheel) })
}

// tick is a question whose answer has 64 bits.
func (w *Wheel) tick(question func() C.fpgo_tick) (value uint64, ok bool, err error) {
	n, err := w.held().ask(func() int64 {
		answer := question()
		value = uint64(answer.value)
		return int64(answer.code)
	})
	return value, n == 1, err
}

// ---- all timers ----

// Count is the number of armed timers, exact while no other call runs. It looks at every
// timer.
func (w *Wheel) Count() (int, error) {
	return w.held().ask(func() int64 { return int64(C.fpgo_wheel_count(w.wheel)) })
}

// CancelAll cancels every timer that is armed when it begins, and tells how many; what is
// armed meanwhile may be cancelled or not.
func (w *Wheel) CancelAll() (int, error) {
	return w.held().ask(func() int64 {
		n := C.fpgo_wheel_cancel_all(w.wheel)
		raceCancel(w)
		return int64(n)
	})
}

// TimerInfo is one timer, as ForEach shows it.
type TimerInfo struct {
	ID     TimerID
	User   uint64 // as given to Create; of a timer of C: its argument
	Expiry uint64 // tick; if armed
	Period uint64 // ticks; if periodic
	Flags  uint32 // TimerIsArmed, TimerIsPeriodic
	Policy uint32 // if periodic: TimerSkip, TimerCoalesce or TimerCatchUp
}

// ForEach shows every timer as it is when the call begins, in no stated order, until show
// returns false. show may make any call. Timers that come or go meanwhile may be shown or
// not.
func (w *Wheel) ForEach(show func(timer TimerInfo) (more bool)) error {
	timers, err := w.list()
	for _, timer := range timers {
		if !show(timer) {
			break
		}
	}
	return err
}

// list is a copy of all timers.
func (w *Wheel) list() ([]TimerInfo, error) {
	if err := w.held().look(); err != nil {
		return nil, err
	}
	defer w.leave()
	for room := int64(C.fpgo_wheel_stats(w.wheel).timers) + 1; ; {
		timers := make([]TimerInfo, room)
		n := int64(C.fpgo_wheel_timers(w.wheel, (*C.fp_timer_info)(unsafe.Pointer(&timers[0])),
			C.uint64_t(room)))
		if n < 0 {
			return nil, Errno(-n)
		}
		if n > room { // as many as now, if they do not grow meanwhile
			room = n
			continue
		}
		return timers[:n], nil
	}
}

// ---- counters ----

// WheelStats are the counters of a wheel.
type WheelStats struct {
	Flags           uint32 // WheelStatsCounted
	Timers          uint64 // that exist, destroyed ones not yet recycled included
	MaxTimers       uint64
	Arms            uint64 // of timers that were not armed (flag Stats, as the next two)
	Rearms          uint64 // of timers that were
	Cancelled       uint64 // by Cancel, Destroy and CancelAll
	Fired           uint64 // records filled, and callbacks run
	Expired         uint64 // of these, after which the timer was not armed any more
	Overruns        uint64 // periods that were not delivered
	LateMax         uint64 // ticks between an expiry and the poll that fired it, at most
	Polls           uint64 // that had something to do
	EntriesMoved    uint64 // within the wheel, by polls
	EntriesMovedMax uint64 // by one poll that fired nothing, at most
	Memory          uint64 // bytes reserved
	MemoryUsed      uint64 // of these, in use at most so far
}

// Stats reads the counters, exactly while no other call runs.
func (w *Wheel) Stats() (WheelStats, error) {
	var s C.fp_timer_wheel_stats
	err := w.held().read(func() C.uint32_t {
		s = C.fpgo_wheel_stats(w.wheel)
		return s.size
	})
	if err != nil {
		return WheelStats{}, err
	}
	return WheelStats{
		Flags:           uint32(s.flags),
		Timers:          uint64(s.timers),
		MaxTimers:       uint64(s.max_timers),
		Arms:            uint64(s.arms),
		Rearms:          uint64(s.rearms),
		Cancelled:       uint64(s.cancelled),
		Fired:           uint64(s.fired),
		Expired:         uint64(s.expired),
		Overruns:        uint64(s.overruns),
		LateMax:         uint64(s.late_max),
		Polls:           uint64(s.polls),
		EntriesMoved:    uint64(s.entries_moved),
		EntriesMovedMax: uint64(s.entries_moved_max),
		Memory:          uint64(s.memory),
		MemoryUsed:      uint64(s.memory_used),
	}, nil
}

// ResetStats makes the counters zero.
func (w *Wheel) ResetStats() error {
	_, err := w.held().ask(func() int64 { return int64(C.fpgo_wheel_reset_stats(w.wheel)) })
	return err
}
