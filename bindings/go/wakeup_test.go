// SPDX-License-Identifier: BSD-2-Clause

// Wake-ups by themselves: every method, every error, both ways to sleep on one.

package fp

import (
	"context"
	"errors"
	"runtime"
	"syscall"
	"testing"
	"time"
)

var bg = context.Background()

func makeWakeup(t testing.TB, flags uint32) *Wakeup {
	t.Helper()
	w, err := NewWakeup(WakeupOptions{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("Close at the end: %v", err)
		}
	})
	return w
}

// forEachMode runs a test with a wake-up of each way to keep its promise.
func forEachMode(t *testing.T, test func(t *testing.T, w *Wakeup)) {
	for name, flags := range map[string]uint32{"membarrier": 0, "fence": WakeupFence} {
		t.Run(name, func(t *testing.T) { test(t, makeWakeup(t, flags)) })
	}
}

func prepare(t testing.TB, w *Wakeup) WaitKey {
	t.Helper()
	key, err := w.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// later is a context that ends soon, for waits that must not be over before.
func later(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(bg, 20*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// until waits for what another goroutine does.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for i := 0; !done(); i++ {
		if i == 20000 {
			t.Fatal("waited in vain for:", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func waitersOf(t testing.TB, w *Wakeup) uint64 {
	t.Helper()
	s, err := w.Stats()
	if err != nil {
		t.Fatal(err)
	}
	return s.Waiting
}

// heard returns when the signal that was made has woken whom it wakes: nothing comes of it
// any more.
func heard(t testing.TB, w *Wakeup) {
	t.Helper()
	until(t, "the signal", func() bool {
		w.bell.mutex.Lock()
		defer w.bell.mutex.Unlock()
		return !w.bell.armed
	})
}

func TestWakeupModes(t *testing.T) {
	mode, err := makeWakeup(t, WakeupFence).Mode()
	want(t, "mode", mode, WakeupModeFence)
	wantErr(t, "Mode", err, nil)
	mode, _ = makeWakeup(t, 0).Mode()
	if mode != WakeupModeMembarrier && mode != WakeupModePoll {
		t.Error("mode", mode)
	}
	_, err = NewWakeup(WakeupOptions{Flags: 1 << 30})
	wantErr(t, "an unknown flag", err, ErrNotSupported)
}

func TestSignalEndsAWait(t *testing.T) {
	forEachMode(t, func(t *testing.T, w *Wakeup) {
		somebody, err := w.Signal()
		want(t, "nobody waits", somebody, false)
		wantErr(t, "Signal", err, nil)
		for round := 0; round < 50; round++ {
			key := prepare(t, w)
			if round%2 == 0 { // the wait has begun, or has not
				runtime.Gosched()
			}
			go func() {
				if somebody, err := w.Signal(); !somebody || err != nil {
					t.Errorf("Signal: %v, %v", somebody, err)
				}
			}()
			wantErr(t, "Wait", w.Wait(bg, key), nil)
		}
		want(t, "waiting", waitersOf(t, w), uint64(0))
	})
}

func TestSignalBeforeTheWait(t *testing.T) {
	forEachMode(t, func(t *testing.T, w *Wakeup) {
		key := prepare(t, w)
		w.Signal()
		wantErr(t, "Wait", w.Wait(bg, key), nil)
	})
}

func TestSignalWakesAll(t *testing.T) {
	forEachMode(t, func(t *testing.T, w *Wakeup) {
		done := make(chan error)
		for i := 0; i < 20; i++ {
			key := prepare(t, w)
			go func() { done <- w.Wait(bg, key) }()
		}
		w.Signal()
		for i := 0; i < 20; i++ {
			wantErr(t, "Wait", <-done, nil)
		}
	})
}

func TestWaitUntilTheContextEnds(t *testing.T) {
	forEachMode(t, func(t *testing.T, w *Wakeup) {
		wantErr(t, "no signal", w.Wait(later(t), prepare(t, w)), context.DeadlineExceeded)
		ctx, cancel := context.WithCancel(bg)
		cancel()
		wantErr(t, "cancelled before", w.Wait(ctx, prepare(t, w)), context.Canceled)
		key := prepare(t, w)
		w.Signal()
		heard(t, w)
		wantErr(t, "cancelled and signalled", w.Wait(ctx, key), context.Canceled)
		want(t, "waiting", waitersOf(t, w), uint64(0))
	})
}

func TestCancelAndMisuse(t *testing.T) {
	w := makeWakeup(t, 0)
	wantErr(t, "Cancel without Prepare", w.Cancel(WaitKey{}), ErrInvalid)
	wantErr(t, "Wait without Prepare", w.Wait(bg, WaitKey{}), ErrInvalid)
	key := prepare(t, w)
	want(t, "waiting", waitersOf(t, w), uint64(1))
	wantErr(t, "Close", w.Close(), ErrBusy)
	wantErr(t, "Cancel", w.Cancel(key), nil)
	wantErr(t, "Cancel twice", w.Cancel(key), ErrInvalid)
	want(t, "waiting", waitersOf(t, w), uint64(0))
}

func TestInterruptEndsWaitsInProgressOnly(t *testing.T) {
	forEachMode(t, func(t *testing.T, w *Wakeup) {
		wantErr(t, "Interrupt", w.Interrupt(), nil)
		wantErr(t, "a later wait", w.Wait(later(t), prepare(t, w)), context.DeadlineExceeded)
		key := prepare(t, w)
		w.Interrupt()
		wantErr(t, "between prepare and wait", w.Wait(bg, key), ErrCanceled)
		heard(t, w)
		done := make(chan error)
		for i := 0; i < 10; i++ {
			key := prepare(t, w)
			go func() { done <- w.Wait(bg, key) }()
		}
		until(t, "sleepers", func() bool {
			w.bell.mutex.Lock()
			defer w.bell.mutex.Unlock()
			return w.bell.sleeping == 10
		})
		w.Interrupt()
		for i := 0; i < 10; i++ {
			wantErr(t, "during", <-done, ErrCanceled)
		}
		s, _ := w.Stats()
		want(t, "interrupts", s.Interrupts, uint64(3))
	})
}

// A wake-up whose signals may be missed looks again after 10 ms.
func TestWaitWhereSignalsMayBeMissed(t *testing.T) {
	w := makeWakeup(t, 0)
	w.bell.source.(*descriptor).polls = true
	for i := 0; i < 3; i++ {
		wantErr(t, "Wait ends without a signal", w.Wait(bg, prepare(t, w)), nil)
	}
	key := prepare(t, w)
	w.Signal()
	wantErr(t, "and with one", w.Wait(bg, key), nil)
}

func TestDescriptor(t *testing.T) {
	forEachMode(t, func(t *testing.T, w *Wakeup) {
		wantErr(t, "Arm before FD", w.Arm(), ErrNoWakeup)
		_, err := w.Clear()
		wantErr(t, "Clear before FD", err, ErrNoWakeup)
		fd, err := w.FD()
		wantErr(t, "FD", err, nil)
		again, _ := w.FD()
		want(t, "the same descriptor", again, fd)
		_, err = w.Prepare()
		wantErr(t, "Prepare", err, ErrBusy)

		readable := func() bool {
			events := make([]syscall.EpollEvent, 1)
			epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
			if err != nil {
				t.Fatal(err)
			}
			defer syscall.Close(epoll)
			event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
			if err := syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, fd, &event); err != nil {
				t.Fatal(err)
			}
			n, _ := syscall.EpollWait(epoll, events, 0)
			return n == 1
		}
		w.Signal()
		want(t, "not armed", readable(), false)
		wantErr(t, "Arm", w.Arm(), nil)
		want(t, "armed", readable(), false)
		w.Signal()
		w.Signal()
		want(t, "signalled", readable(), true)
		came, err := w.Clear()
		want(t, "Clear", came, true)
		wantErr(t, "Clear", err, nil)
		want(t, "cleared", readable(), false)
		w.Arm()
		came, _ = w.Clear()
		want(t, "Clear without a signal", came, false)
		s, _ := w.Stats()
		want(t, "writes", s.FDWrites, uint64(1))
	})
	w := makeWakeup(t, 0)
	w.Cancel(prepare(t, w))
	_, err := w.FD()
	wantErr(t, "FD of what goroutines sleep on", err, ErrBusy)
	wantErr(t, "Arm", w.Arm(), ErrNoWakeup)
}

func TestNoDescriptorsLeft(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	w := makeWakeup(t, 0)
	none := limit
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, err := w.Prepare()
	_, errFD := w.FD()
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "Prepare", err, ErrTooManyFiles)
	wantErr(t, "FD", errFD, ErrTooManyFiles)
	w.Cancel(prepare(t, w))
}

func TestWakeupAfterClose(t *testing.T) {
	w := makeWakeup(t, 0)
	key := prepare(t, w)
	w.Cancel(key)
	wantErr(t, "Close", w.Close(), nil)
	wantErr(t, "Close again", w.Close(), nil)
	for _, w := range []*Wakeup{w, nil, {}} {
		wanted := ErrInvalid
		if w != nil && w.made {
			wanted = ErrClosed
		}
		_, err := w.Prepare()
		wantErr(t, "Prepare", err, wanted)
		wantErr(t, "Cancel", w.Cancel(key), wanted)
		wantErr(t, "Wait", w.Wait(bg, key), wanted)
		_, err = w.Signal()
		wantErr(t, "Signal", err, wanted)
		wantErr(t, "Interrupt", w.Interrupt(), wanted)
		_, err = w.FD()
		wantErr(t, "FD", err, wanted)
		wantErr(t, "Arm", w.Arm(), wanted)
		_, err = w.Clear()
		wantErr(t, "Clear", err, wanted)
		_, err = w.Mode()
		wantErr(t, "Mode", err, wanted)
		_, err = w.Stats()
		wantErr(t, "Stats", err, wanted)
		if w.Handle() != nil {
			t.Error("Handle")
		}
		wantErr(t, "Close", w.Close(), nil)
	}
}

// A wake-up that nobody closes does not keep its goroutine and its descriptors.
func TestWakeupsAreCollected(t *testing.T) {
	before := runtime.NumGoroutine()
	for i := 0; i < 20; i++ {
		w, err := NewWakeup(WakeupOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.Cancel(prepare(t, w))
	}
	until(t, "the garbage collector", func() bool {
		runtime.GC()
		return runtime.NumGoroutine() <= before
	})
}

func TestErrnosOfWaits(t *testing.T) {
	for err, number := range map[error]syscall.Errno{
		ErrNoWakeup: syscall.ENXIO, ErrCanceled: syscall.ECANCELED,
		ErrTooManyFiles: syscall.EMFILE,
	} {
		if !errors.Is(err, number) {
			t.Error(err, "is not", number)
		}
	}
}
