// SPDX-License-Identifier: BSD-2-Clause

// Wake-ups: event counts that goroutines sleep on, and that rings and services signal.

package fp

// #include "wakeup_shim.h"
import "C"

import (
	"context"
	"fmt"
	"unsafe"
)

// WakeupOptions says what NewWakeup makes.
type WakeupOptions struct {
	Flags uint32 // WakeupFence
}

// Wakeup is an event count: what a goroutine sleeps on until something was made for it, at
// no cost to whoever makes it while nobody sleeps. Make one with NewWakeup; do not copy it.
//
//	for !work() {
//		key, err := w.Prepare()
//		...
//		if work() {
//			w.Cancel(key)
//			break
//		}
//		err = w.Wait(ctx, key)
//		...
//	}
//
// Whoever makes work calls Signal afterwards; a ring does so itself once the wake-up is
// bound to it (Ring.SetWakeup). Goroutines that wait take no thread of the system.
type Wakeup struct {
	handle

	wakeup *C.fpgo_wakeup // never changes; the handle says whether it is still alive
	bell   *bell
	owner  *handle // of the service or core that it belongs to, in the place of its own
}

// WaitKey is what Prepare gives to Cancel and Wait.
type WaitKey struct {
	rings, interrupts uint64
}

// NewWakeup makes a wake-up. Errors: ErrNotSupported (a flag that the library does not
// know, or a library of another version), ErrNoMemory. The first one of the process, or
// the first ring made with RingWait, takes some 10 to 30 ms, while the kernel registers
// the process.
func NewWakeup(options WakeupOptions) (*Wakeup, error) {
	if errVersion != nil {
		return nil, errVersion
	}
	b, wakeup, err := newBell(options.Flags, false)
	if err != nil {
		return nil, fmt.Errorf("fp: the library refused the wake-up: %w", err)
	}
	w := &Wakeup{wakeup: wakeup, bell: b}
	hold(w, &w.handle, nil, func() error { return endWakeup(b, wakeup) })
	return w, nil
}

// endWakeup destroys a wake-up that nobody waits on, and ends its bell.
func endWakeup(b *bell, wakeup *C.fpgo_wakeup) error {
	return b.stop(func() error {
		if b.sleeping > 0 || b.prepared > 0 {
			return ErrBusy
		}
		return status(C.fpgo_wakeup_destroy(wakeup))
	})
}

// ownedWakeup is the wake-up of a service or a core; nil: it is not there.
func ownedWakeup(owner *handle, get func() unsafe.Pointer) *Wakeup {
	wakeup := (*C.fpgo_wakeup)(owner.pointer(get))
	if wakeup == nil {
		return nil
	}
	w := &Wakeup{wakeup: wakeup, bell: &bell{source: &descriptor{wakeup: wakeup}}, owner: owner}
	w.made = true
	return w
}

// held is the handle.
func (w *Wakeup) held() *handle {
	if w == nil {
		return nil
	}
	if w.owner != nil {
		return w.owner
	}
	return &w.handle
}

// bellOf is the bell; nil of a nil Wakeup.
func (w *Wakeup) bellOf() *bell {
	if w == nil {
		return nil
	}
	return w.bell
}

// isLent tells whether somebody else sleeps on the descriptor.
func (w *Wakeup) isLent() bool {
	w.bell.mutex.Lock()
	defer w.bell.mutex.Unlock()
	return w.bell.source.(*descriptor).lent
}

// Close frees the wake-up. Calls that other goroutines are inside finish first; later ones
// return ErrClosed. Closing again, or closing a nil or zero Wakeup, does nothing.
//
// ErrBusy: a ring is bound to it, or somebody waits on it. It lives on then, and is as it
// was. ErrNotSupported: it belongs to a service or a service core.
func (w *Wakeup) Close() error {
	if w != nil && w.owner != nil {
		return ErrNotSupported
	}
	return end(w, w.held(), func() error { return endWakeup(w.bell, w.wakeup) })
}

// Mode is WakeupModeMembarrier, WakeupModeFence or WakeupModePoll.
func (w *Wakeup) Mode() (int, error) {
	return w.held().ask(func() int64 { return int64(C.fpgo_wakeup_mode(w.wakeup)) })
}

// ---- sleeping ----

// Prepare announces that the caller is about to sleep. A signal that comes after it ends
// the wait with this key; what was made before it is seen by a look after it. It is
// followed by one Cancel or one Wait. Errors: ErrBusy: the descriptor was given to somebody
// else (FD); ErrTooManyFiles; ErrNotSupported: it belongs to a service or a service core.
func (w *Wakeup) Prepare() (WaitKey, error) {
	if err := w.held().look(); err != nil {
		return WaitKey{}, err
	}
	defer w.held().leave()
	b := w.bell
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if err := b.arm(); err != nil {
		return WaitKey{}, err
	}
	b.prepared++
	return WaitKey{b.rings, b.source.interrupts()}, nil
}

// Cancel takes the announcement back. ErrInvalid: nobody has prepared.
func (w *Wakeup) Cancel(WaitKey) error {
	if w == nil || !w.made {
		return ErrInvalid
	}
	return w.bell.take()
}

// take is the end of a Prepare.
func (b *bell) take() error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.stopped {
		return ErrClosed
	}
	if b.prepared == 0 {
		return ErrInvalid
	}
	b.prepared--
	return nil
}

// Wait sleeps until a signal or an interrupt that came after the Prepare of this key, or
// until the context is done, whose error it returns then. It may return nil though nothing
// happened: look, and wait again. ErrCanceled: Interrupt was called. ErrInvalid: nobody has
// prepared. The key is used up, whatever is returned.
func (w *Wakeup) Wait(ctx context.Context, key WaitKey) error {
	if w == nil || !w.made {
		return ErrInvalid
	}
	b := w.bell
	s := newSleeper(true)
	defer s.done()
	asleep, err := b.enterAfter(key, s)
	if asleep {
		select {
		case <-s.wake:
		case <-ctx.Done():
			err = ctx.Err()
		}
		b.leave(s)
		if err == nil && b.interrupted(key.interrupts) {
			err = ErrCanceled
		}
	} else if err == nil {
		err = ctx.Err()
	}
	raceWoken(w)
	return err
}

// enterAfter is enter for who has prepared; false: it need not sleep.
func (b *bell) enterAfter(key WaitKey, s *sleeper) (bool, error) {
	if err := b.take(); err != nil {
		return false, err
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	switch {
	case b.stopped:
		return false, ErrClosed
	case b.source.interrupts() != key.interrupts:
		return false, ErrCanceled
	case b.rings != key.rings:
		return false, nil
	}
	b.push(s)
	return true, nil
}

// ---- signalling ----

// Signal wakes everybody who waits, in all languages, and tells whether there was anybody.
// Call it after making what the sleepers wait for; rings that are bound call it themselves.
func (w *Wakeup) Signal() (bool, error) {
	if w == nil {
		return false, ErrInvalid
	}
	gate := &w.held().gates.side[producers]
	if !gate.enter() {
		return false, ErrClosed
	}
	raceSignal(w)
	code := C.fpgo_wakeup_signal(w.wakeup)
	gate.leave()
	n, err := counted(int64(code))
	return n == 1, err
}

// Interrupt ends every wait that was prepared before, in all languages, with ErrCanceled,
// and also the waits of rings that are bound. Later waits are not affected.
func (w *Wakeup) Interrupt() error {
	_, err := w.held().ask(func() int64 { return int64(C.fpgo_wakeup_interrupt(w.wakeup)) })
	return err
}

// ---- the descriptor ----

// FD is a descriptor for C code or an event loop of yours: it becomes readable when a
// signal comes while it is armed. Do not close it, and do not read it: Clear does. From
// then on it is yours: Prepare returns ErrBusy, and goroutines that wait for a ring bound
// to this wake-up share a thread instead. ErrBusy: goroutines have slept on it before.
// ErrTooManyFiles: no descriptors are left.
func (w *Wakeup) FD() (int, error) {
	return w.held().ask(func() int64 {
		b := w.bell
		b.mutex.Lock()
		defer b.mutex.Unlock()
		d := b.source.(*descriptor)
		if d.file != nil {
			return -int64(ErrBusy)
		}
		fd := C.fpgo_wakeup_fd(w.wakeup)
		d.lent = fd >= 0
		return int64(fd)
	})
}

// Arm announces that the caller is about to sleep on the descriptor: the next signal writes
// it, once. Look at the objects after this call and before polling; in WakeupModePoll poll
// for at most 10 ms. One goroutine at a time arms, polls and clears. ErrNoWakeup: FD was
// never called.
func (w *Wakeup) Arm() error {
	_, err := w.descriptor(func() C.int { return C.fpgo_wakeup_arm(w.wakeup) })
	return err
}

// Clear ends an Arm: it makes the descriptor unreadable again, and tells whether a signal
// had come. Look at the objects after it. ErrNoWakeup: FD was never called.
func (w *Wakeup) Clear() (bool, error) {
	n, err := w.descriptor(func() C.int { return C.fpgo_wakeup_clear(w.wakeup) })
	return n == 1, err
}

// descriptor makes a call of who has called FD.
func (w *Wakeup) descriptor(call func() C.int) (int, error) {
	return w.held().ask(func() int64 {
		b := w.bell
		b.mutex.Lock()
		defer b.mutex.Unlock()
		if !b.source.(*descriptor).lent {
			return -int64(ErrNoWakeup)
		}
		return int64(call())
	})
}

// Handle is the fp_wakeup * for C code of yours; nil if the wake-up is nil or closed. The
// caller keeps the Wakeup reachable (runtime.KeepAlive) and open while C uses the handle.
func (w *Wakeup) Handle() unsafe.Pointer {
	return w.held().pointer(func() unsafe.Pointer { return unsafe.Pointer(w.wakeup) })
}

// WakeupStats are the counters of a wake-up. Goroutines sleep on its descriptor: of them
// Waiting and FDWrites tell, the other counters are those of threads that wait in C.
type WakeupStats struct {
	Flags         uint32
	Waiting       uint64 // threads and goroutines that wait, now
	Bound         uint64 // objects that signal it, now
	Sleeps        uint64 // times a thread went to sleep in the kernel
	Wakes         uint64 // of these, ended by a signal
	Spurious      uint64 // of these, ended without signal, time-out or interrupt
	FallbackPolls uint64 // of these, ended by the limit of WakeupModePoll
	FDWrites      uint64 // times the descriptor was written
	Interrupts    uint64 // calls of Interrupt
}

// Stats reads the counters.
func (w *Wakeup) Stats() (WakeupStats, error) {
	var s C.fp_wakeup_stats
	here := 0
	err := w.held().read(func() C.uint32_t {
		s = C.fpgo_wakeup_stats(w.wakeup)
		w.bell.mutex.Lock()
		here = w.bell.sleeping + w.bell.prepared
		w.bell.mutex.Unlock()
		return s.size
	})
	if err != nil {
		return WakeupStats{}, err
	}
	return WakeupStats{
		Flags:         uint32(s.flags),
		Waiting:       uint64(s.waiting) + uint64(here),
		Bound:         uint64(s.bound),
		Sleeps:        uint64(s.sleeps),
		Wakes:         uint64(s.wakes),
		Spurious:      uint64(s.spurious),
		FallbackPolls: uint64(s.fallback_polls),
		FDWrites:      uint64(s.fd_writes),
		Interrupts:    uint64(s.interrupts),
	}, nil
}
