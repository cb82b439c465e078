// SPDX-License-Identifier: BSD-2-Clause

// How goroutines sleep until C signals, without a thread each.
//
// A bell is where the goroutines sleep that wait for one wake-up; it rings when the
// wake-up is signalled. What hears the signal is a source: the descriptor of the wake-up,
// which Go's poller watches (descriptor), or, where the wake-up is not Go's, one thread
// that waits in C for all of them (thread).
//
// A goroutine that finds nothing to do
//
//	enters the bell, which arms the source unless it is armed: a signal will be heard
//	looks once more
//	sleeps on its channel
//	leaves
//
// One arm is for all: whoever enters an armed bell looks after an arm too, and the signal
// that its look has missed is the one that the source hears.
//
// Whom to wake. A bell that serves one side of one ring (private) wakes the goroutine
// that sleeps longest, for what is there may be enough for one only, and a thousand that
// look in vain cost more than they should. The bell is not armed then, although others
// sleep. So whoever was woken sees to it: it looks, and enters again, or leaves for good
// and calls handOn, which arms for the others, and wakes the next one if there is
// something for it. A goroutine that one element may not satisfy says so, and everybody
// is woken then, as on a bell that serves several objects.

package fp

// #include "wakeup_shim.h"
import "C"

import (
	"errors"
	"os"
	"sync"
	"time"
)

// pollLimit is the longest sleep where signals may be missed (WakeupModePoll).
const pollLimit = 10 * time.Millisecond

// source hears signals for a bell. All is called with the bell locked.
type source interface {
	// arm has the next signal call bell.ring once. What was made before it is seen after it.
	arm(b *bell) error
	// interrupts counts what ends waits before their time.
	interrupts() uint64
	// stop is for good.
	stop()
}

// bell is where goroutines sleep.
type bell struct {
	mutex    sync.Mutex
	source   source
	private  bool // all who sleep here wait for one side of one ring, or for one wheel
	armed    bool
	stopped  bool
	rings    uint64 // how often it rang
	first    *sleeper
	last     *sleeper
	sleeping int
	greedy   int    // of those, who may need more than one element
	prepared int    // Wakeup.Prepare without its Cancel or Wait
	heard    uint64 // interrupts that woke everybody
	calls    int    // of a thread's: that may come here; of the ring's waits
}

// sleeper is one goroutine at a bell.
type sleeper struct {
	wake       chan struct{} // holds one
	greedy     bool
	queued     bool
	prev, next *sleeper
}

var sleepers = sync.Pool{New: func() any { return &sleeper{wake: make(chan struct{}, 1)} }}

// newSleeper is one that is at no bell; done gives it back.
func newSleeper(greedy bool) *sleeper {
	s := sleepers.Get().(*sleeper)
	s.greedy = greedy
	return s
}

func (s *sleeper) done() { sleepers.Put(s) }

// enter has the next ring wake the sleeper. Whoever has entered leaves.
func (b *bell) enter(s *sleeper) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if err := b.arm(); err != nil {
		return err
	}
	b.push(s)
	return nil
}

// arm sees to it that the next signal is heard.
func (b *bell) arm() error {
	if b.stopped {
		return ErrClosed
	}
	if b.armed {
		return nil
	}
	if err := b.source.arm(b); err != nil {
		return err
	}
	b.armed = true
	b.hear()
	return nil
}

// hear wakes everybody if there was an interrupt: it concerns all, whoever was woken.
func (b *bell) hear() {
	if n := b.source.interrupts(); n != b.heard {
		b.heard = n
		b.wakeAll()
	}
}

// leave tells whether the sleeper was woken; it is at no bell then.
func (b *bell) leave(s *sleeper) (woken bool) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if s.queued {
		b.remove(s)
		return false
	}
	select {
	case <-s.wake:
	default: // was received
	}
	return true
}

// handOn is for who was woken and will not enter again. ready tells whether there is
// something for another one; an error is, too.
func (b *bell) handOn(ready func() bool) {
	b.mutex.Lock()
	others := b.private && b.first != nil && b.arm() == nil
	b.mutex.Unlock()
	if others && ready() {
		b.mutex.Lock()
		b.wakeSome()
		b.mutex.Unlock()
	}
}

// ring is a signal that the source has heard; the bell is locked.
func (b *bell) ring() {
	b.armed = false
	b.rings++
	b.hear()
	b.wakeSome()
}

// ringAll is for something that C does not signal.
func (b *bell) ringAll() {
	b.mutex.Lock()
	b.wakeAll()
	b.mutex.Unlock()
}

// interrupts is what interrupted compares with.
func (b *bell) interrupts() uint64 {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.stopped {
		return 0
	}
	return b.source.interrupts()
}

func (b *bell) interrupted(since uint64) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return !b.stopped && b.source.interrupts() != since
}

// stop is the end of the bell, unless end fails; sleepers wake.
func (b *bell) stop(end func() error) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if err := end(); err != nil {
		return err
	}
	b.stopped = true
	b.source.stop()
	b.wakeAll()
	return nil
}

// ---- the queue; the bell is locked ----

func (b *bell) push(s *sleeper) {
	s.queued, s.prev, s.next = true, b.last, nil
	if b.last != nil {
		b.last.next = s
	} else {
		b.first = s
	}
	b.last = s
	b.sleeping++
	if s.greedy {
		b.greedy++
	}
}

func (b *bell) remove(s *sleeper) {
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		b.first = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		b.last = s.prev
	}
	s.queued, s.prev, s.next = false, nil, nil
	b.sleeping--
	if s.greedy {
		b.greedy--
	}
}

func (b *bell) wakeOne() {
	if s := b.first; s != nil {
		b.remove(s)
		s.wake <- struct{}{}
	}
}

// wakeSome wakes one, if that is enough.
func (b *bell) wakeSome() {
	if b.private && b.greedy == 0 {
		b.wakeOne()
	} else {
		b.wakeAll()
	}
}

func (b *bell) wakeAll() {
	for b.first != nil {
		b.wakeOne()
	}
}

// ---- the descriptor of a wake-up ----

// descriptor is the source that costs no thread: a goroutine reads it, and sleeps in Go's
// poller meanwhile. It does not keep the Wakeup from the garbage collector.
type descriptor struct {
	wakeup *C.fpgo_wakeup
	polls  bool     // signals may be missed
	file   *os.File // nil: nobody has slept yet
	lent   bool     // Wakeup.FD gave it away
}

// newBell makes a wake-up and its bell.
func newBell(flags uint32, private bool) (*bell, *C.fpgo_wakeup, error) {
	made := C.fpgo_wakeup_create(C.uint32_t(flags))
	if made.code < 0 {
		return nil, nil, Errno(-made.code)
	}
	d := &descriptor{
		wakeup: made.wakeup,
		polls:  C.fpgo_wakeup_mode(made.wakeup) == WakeupModePoll,
	}
	return &bell{source: d, private: private}, made.wakeup, nil
}

func (d *descriptor) arm(b *bell) error {
	if d.lent {
		return ErrBusy
	}
	if d.file == nil {
		if err := d.open(); err != nil {
			return err
		}
		go d.listen(b, d.file)
	}
	if d.polls {
		_ = d.file.SetReadDeadline(time.Now().Add(pollLimit)) // open has tried it
	}
	return status(C.fpgo_wakeup_arm(d.wakeup))
}

// open makes a file that Go's poller watches: that of the wake-up is not Go's to close.
func (d *descriptor) open() error {
	fd := C.fpgo_wakeup_dup(d.wakeup)
	if fd < 0 {
		return Errno(-fd)
	}
	file := os.NewFile(uintptr(fd), "wake-up")
	if err := file.SetReadDeadline(time.Time{}); err != nil {
		_ = file.Close()
		return ErrTooManyFiles // the poller refused it
	}
	d.file = file
	return nil
}

// listen rings the bell whenever the descriptor was written, or the limit is over.
func (d *descriptor) listen(b *bell, file *os.File) {
	var count [8]byte
	for {
		_, err := file.Read(count[:])
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return // closed
		}
		b.mutex.Lock()
		if b.stopped {
			b.mutex.Unlock()
			return
		}
		if err != nil {
			_ = file.SetReadDeadline(time.Time{})
		}
		C.fpgo_wakeup_clear(d.wakeup)
		b.ring()
		b.mutex.Unlock()
	}
}

func (d *descriptor) interrupts() uint64 {
	return uint64(C.fpgo_wakeup_stats(d.wakeup).interrupts)
}

func (d *descriptor) stop() {
	if d.file != nil {
		_ = d.file.Close()
	}
}

// ---- a wake-up that is not Go's ----

// blockFor is how long the thread waits in C at a time, and Close of the object for it.
const blockFor = 5 * time.Millisecond

// thread is the source for an object whose wake-up Go cannot have: one that another language
// made to be waited for, or bound to something. A goroutine waits in C, which takes a
// thread of the system, as long as anybody sleeps at the bell.
type thread struct {
	gate     *gate                          // of the side
	block    func(timeout C.uint64_t) C.int // waits in C; 0: there was nothing
	canceled uint64
}

func (t *thread) arm(b *bell) error {
	go t.listen(b)
	return nil
}

// listen waits until the side is ready or something is wrong, which the sleepers find out.
func (t *thread) listen(b *bell) {
	for {
		if !t.gate.enter() {
			return // Close wakes them
		}
		code := t.block(C.uint64_t(blockFor))
		t.gate.leave()
		b.mutex.Lock()
		switch {
		case b.first == nil:
			b.armed = false
		case Errno(-code) == ErrCanceled:
			t.canceled++
			b.ring()
		case code != 0:
			b.ring()
		}
		armed := b.armed
		b.mutex.Unlock()
		if !armed {
			return
		}
	}
}

func (t *thread) interrupts() uint64 { return t.canceled }

func (t *thread) stop() {}
