// SPDX-License-Identifier: BSD-2-Clause

// Waiting for wheels: never too early, woken by what is armed, and every way to end it.

package fp

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func makeWaitingWheel(t testing.TB) *Wheel {
	t.Helper()
	return makeWheel(t, WheelOptions{Flags: WheelWait})
}

// inAnHour is a tick of the clock.
func inAnHour(t testing.TB, w *Wheel) uint64 {
	t.Helper()
	now, err := w.Now()
	if err != nil {
		t.Fatal(err)
	}
	return now + w.TicksFrom(time.Hour)
}

// waitFor waits in the background until there is something to poll for.
func waitFor(ctx context.Context, w *Wheel) chan error {
	done := make(chan error, 1)
	go func() {
		for {
			err := w.Wait(ctx)
			if left, _ := w.left(); err != nil || left == 0 {
				done <- err
				return
			}
		}
	}()
	return done
}

// pollNow takes in what was armed.
func pollNow(t testing.TB, w *Wheel) {
	t.Helper()
	now, err := w.Now()
	if err != nil {
		t.Fatal(err)
	}
	poll(t, w, now)
}

// fired waits and polls by the clock until a timer fires.
func fired(t testing.TB, w *Wheel) Expired {
	t.Helper()
	one := make([]Expired, 1)
	for {
		if err := w.Wait(bg); err != nil {
			t.Fatal("Wait:", err)
		}
		now, _ := w.Now()
		n, err := w.PollBurst(now, one)
		if err != nil {
			t.Fatal("PollBurst:", err)
		}
		if n == 1 {
			if one[0].Expiry > now {
				t.Fatal("too early by", one[0].Expiry-now)
			}
			return one[0]
		}
	}
}

func TestWaitForATimer(t *testing.T) {
	w := makeWaitingWheel(t)
	id := makeTimer(t, w, 0)
	for _, span := range []time.Duration{0, 10 * time.Microsecond, 300 * time.Microsecond,
		2 * time.Millisecond, 20 * time.Millisecond} {
		now, _ := w.Now()
		w.Arm(id, now+w.TicksFrom(span))
		want(t, "fired", fired(t, w).ID, id)
	}
	wantErr(t, "nothing is armed", w.Wait(later(t)), context.DeadlineExceeded)
	w.Arm(id, inAnHour(t, w))
	pollNow(t, w)
	wantErr(t, "in an hour", w.Wait(later(t)), context.DeadlineExceeded)
	over, cancel := context.WithCancel(bg)
	done := waitFor(over, w)
	asleepAt(t, &w.waiting, 0, 1)
	cancel()
	wantErr(t, "cancelled", <-done, context.Canceled)
	wantErr(t, "over before", w.Wait(over), context.Canceled)
	w.Arm(id, 1)
	wantErr(t, "long ago, and over before", w.Wait(over), nil)
	wantErr(t, "long ago", w.Wait(bg), nil)
	want(t, "fired", fired(t, w).ID, id)
}

// Whoever sleeps hears of what is armed for earlier, by whatever goroutine.
func TestAnEarlierTimerEndsAWait(t *testing.T) {
	w := makeWaitingWheel(t)
	far, near := makeTimer(t, w, 0), makeTimer(t, w, 0)
	for round := 0; round < 50; round++ {
		if round%2 == 0 {
			w.Arm(far, inAnHour(t, w))
		}
		pollNow(t, w)
		done := waitFor(bg, w)
		if round%3 == 0 {
			asleepAt(t, &w.waiting, 0, 1)
		}
		now, _ := w.Now()
		w.Arm(near, now)
		wantErr(t, "Wait", <-done, nil)
		want(t, "fired", fired(t, w).ID, near)
		w.Cancel(far)
	}
}

func TestEverybodyWhoWaitsIsWoken(t *testing.T) {
	w := makeWaitingWheel(t)
	id := makeTimer(t, w, 0)
	before := threads(t)
	var all sync.WaitGroup
	for i := 0; i < many; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			wantErr(t, "Wait", w.Wait(bg), nil)
		}()
	}
	asleepAt(t, &w.waiting, 0, many)
	if n := threads(t); n > before+fewThreads {
		t.Errorf("%d goroutines wait with %d threads", many, n)
	}
	w.Arm(id, 1)
	all.Wait()
}

func TestInterruptsOfAWheel(t *testing.T) {
	w := makeWaitingWheel(t)
	wantErr(t, "nobody waits", w.Interrupt(), nil)
	wantErr(t, "a later wait", w.Wait(later(t)), context.DeadlineExceeded)
	first, second := waitFor(bg, w), waitFor(bg, w)
	asleepAt(t, &w.waiting, 0, 2)
	wantErr(t, "Interrupt", w.Interrupt(), nil)
	wantErr(t, "the first", <-first, ErrCanceled)
	wantErr(t, "the second", <-second, ErrCanceled)
	done := waitFor(bg, w)
	asleepAt(t, &w.waiting, 0, 1)
	w.Arm(makeTimer(t, w, 0), 1)
	wantErr(t, "after it", <-done, nil)
}

func TestCloseWhileAnotherWaits(t *testing.T) {
	w, err := NewWheel(WheelOptions{Flags: WheelWait})
	if err != nil {
		t.Fatal(err)
	}
	w.Arm(makeTimer(t, w, 0), inAnHour(t, w))
	pollNow(t, w)
	first, second := waitFor(bg, w), waitFor(bg, w)
	asleepAt(t, &w.waiting, 0, 2)
	wantErr(t, "Close", w.Close(), nil)
	wantErr(t, "the first", <-first, ErrClosed)
	wantErr(t, "the second", <-second, ErrClosed)
}

func TestNothingToSleepOn(t *testing.T) {
	w := makeWheel(t, WheelOptions{})
	wantErr(t, "Wait", w.Wait(bg), ErrNoWakeup)
	wantErr(t, "Interrupt", w.Interrupt(), ErrNoWakeup)
}

func TestABoundWakeup(t *testing.T) {
	u := makeWakeup(t, 0)
	for _, flags := range []uint32{0, WheelWait} {
		w := makeWheel(t, WheelOptions{Flags: flags})
		id := makeTimer(t, w, 0)
		wantErr(t, "SetWakeup", w.SetWakeup(u), nil)
		wantErr(t, "Close of a wake-up that is bound", u.Close(), ErrBusy)
		done := waitFor(bg, w)
		asleepAt(t, &w.waiting, 0, 1)
		wantErr(t, "SetWakeup with somebody asleep", w.SetWakeup(nil), ErrBusy)
		_, err := w.Service()
		wantErr(t, "Service with somebody asleep", err, ErrBusy)
		w.Arm(id, 1)
		wantErr(t, "Wait", <-done, nil)
		w.Cancel(id)
		pollNow(t, w)

		// One goroutine sleeps for a ring and the wheel.
		r := makeRing(t, kind{MT, MT}, 4, 8)
		r.SetWakeup(RingConsumer, u)
		for _, call := range []func(){func() { w.Arm(id, 2) }, func() { r.Enqueue(1) }} {
			heard(t, u)
			key, err := u.Prepare()
			wantErr(t, "Prepare", err, nil)
			call()
			wantErr(t, "Wait", u.Wait(bg, key), nil)
		}
		r.SetWakeup(RingConsumer, nil)
		wantErr(t, "unbound", w.SetWakeup(nil), nil)
		w.Cancel(id)
		pollNow(t, w)
		if flags == 0 {
			wantErr(t, "Wait", w.Wait(bg), ErrNoWakeup)
		} else {
			wantErr(t, "Wait on its own again", w.Wait(later(t)), context.DeadlineExceeded)
		}
		_, err = u.Mode()
		wantErr(t, "the wake-up", err, nil)
	}
	closed := makeWakeup(t, 0)
	closed.Close()
	w := makeWheel(t, WheelOptions{})
	wantErr(t, "a closed wake-up", w.SetWakeup(closed), ErrClosed)
	wantErr(t, "a zero wake-up", w.SetWakeup(&Wakeup{}), ErrInvalid)
}

// A wheel that another language made has a wake-up that Go does not know, or it was given
// to somebody else: goroutines wait with a thread.
func TestWaitsForAWheelWithAThread(t *testing.T) {
	lent := makeWakeup(t, 0)
	if _, err := lent.FD(); err != nil {
		t.Fatal(err)
	}
	for name, prepare := range map[string]func(w *Wheel){
		"a lent descriptor": func(w *Wheel) { wantErr(t, "SetWakeup", w.SetWakeup(lent), nil) },
		"another language": func(w *Wheel) {
			b := w.waits.side[0].own
			w.waits.side[0].own = nil // as if C had made it
			t.Cleanup(func() { w.waits.side[0].own = b })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := makeWaitingWheel(t)
			prepare(w)
			id := makeTimer(t, w, 0)
			w.Arm(id, inAnHour(t, w))
			pollNow(t, w)
			for round := 0; round < 5; round++ {
				first, second := waitFor(bg, w), waitFor(bg, w)
				asleepAt(t, &w.waiting, 0, 2)
				w.Arm(id, 1)
				wantErr(t, "the first", <-first, nil)
				wantErr(t, "the second", <-second, nil)
				want(t, "fired", fired(t, w).ID, id)
			}
			wantErr(t, "nothing", w.Wait(later(t)), context.DeadlineExceeded)
			now, _ := w.Now()
			w.Arm(id, now+w.TicksFrom(3*time.Millisecond))
			want(t, "fired", fired(t, w).ID, id)
			done := waitFor(bg, w)
			asleepAt(t, &w.waiting, 0, 1)
			until(t, "the interrupt", func() bool { // between two waits of the thread it is missed
				w.Interrupt()
				return len(done) == 1
			})
			wantErr(t, "interrupted", <-done, ErrCanceled)
			done = waitFor(bg, w)
			asleepAt(t, &w.waiting, 0, 1)
			wantErr(t, "Close", w.Close(), nil)
			wantErr(t, "closed", <-done, ErrClosed)
		})
	}
}

func TestTwoWheelsOfOneHandle(t *testing.T) {
	made := makeWheel(t, WheelOptions{Flags: WheelWait, Name: "go.two.wheels"})
	found, err := LookupWheel("go.two.wheels")
	if err != nil {
		t.Fatal(err)
	}
	id := makeTimer(t, made, 0)
	done := waitFor(bg, found)
	asleepAt(t, &found.waiting, 0, 1)
	wantErr(t, "SetWakeup", made.SetWakeup(nil), ErrBusy)
	wantErr(t, "Close", made.Close(), ErrBusy)
	made.Arm(id, 1)
	wantErr(t, "Wait", <-done, nil)
	want(t, "fired", fired(t, found).ID, id)
	done = waitFor(bg, found)
	asleepAt(t, &made.waiting, 0, 1)
	wantErr(t, "Close", found.Close(), nil)
	wantErr(t, "Wait", <-done, ErrClosed)
}

// ---- the service of a wheel ----

func TestACorePollsAWheel(t *testing.T) {
	for _, flags := range []uint32{0, WheelWait} {
		w, c := makeWheel(t, WheelOptions{Flags: flags}), makeCore(t)
		id := makeTimer(t, w, 0)
		s, err := w.Service()
		if err != nil {
			t.Fatal(err)
		}
		again, err := w.Service()
		wantErr(t, "Service again", err, nil)
		want(t, "Service again", again.Handle(), s.Handle())
		wantErr(t, "Wait", w.Wait(bg), ErrNotSupported)
		wantErr(t, "Interrupt", w.Interrupt(), ErrNotSupported)
		wantErr(t, "SetWakeup", w.SetWakeup(makeWakeup(t, 0)), ErrBusy)
		wantErr(t, "Close of the service", s.Close(), ErrNotSupported)
		want(t, "Name", s.Name(), "")
		wantErr(t, "Err", s.Err(), nil)
		_, err = s.RunOnce()
		wantErr(t, "RunOnce before Start", err, ErrShutdown)
		wantErr(t, "Start", s.Start(), nil)
		w.Arm(id, 1)
		worked, err := s.RunOnce()
		yes(t, "RunOnce", worked, err, true)
		worked, err = s.RunOnce()
		yes(t, "RunOnce", worked, err, false)

		wantErr(t, "Map", s.Map(c), nil)
		wantErr(t, "Close with its service mapped", w.Close(), ErrBusy)
		done := make(chan error, 1)
		ctx, cancel := context.WithCancel(bg)
		go func() { done <- c.Run(ctx) }()
		for _, span := range []time.Duration{0, time.Millisecond} {
			until(t, "sleep", func() bool { s, _ := c.Stats(); return s.State == ServiceCoreAsleep })
			now, _ := w.Now()
			w.Arm(id, now+w.TicksFrom(span))
			until(t, "the core", func() bool { p, _ := w.IsPending(id); return !p })
		}
		cancel()
		wantErr(t, "Run", <-done, context.Canceled)
		wantErr(t, "Unmap", s.Unmap(bg, c), nil)
		wantErr(t, "Close", w.Close(), nil)
		wantErr(t, "a call after Close", s.Start(), ErrClosed)
		_, err = s.RunOnce()
		wantErr(t, "RunOnce after Close", err, ErrClosed)
		if s.Handle() != nil || s.Wakeup() != nil {
			t.Error("the service of a closed wheel has a Handle")
		}
	}
	u := makeWakeup(t, 0)
	for _, flags := range []uint32{0, WheelWait} {
		w := makeWheel(t, WheelOptions{Flags: flags})
		w.SetWakeup(u)
		_, err := w.Service()
		wantErr(t, "Service with a wake-up bound", err, ErrBusy)
		w.SetWakeup(nil)
		_, err = w.Service()
		wantErr(t, "Service", err, nil)
	}
}

// ---- many ----

// Goroutines arm, touch and cancel while one polls, and none stays on a thread: every
// timer that was not cancelled fires, once for each arming, and never early.
func TestGoroutinesArmWhileOnePolls(t *testing.T) {
	rounds := 3000
	if raceEnabled || testing.Short() {
		rounds = 500
	}
	const armers, each = 4, 16
	w := makeWheel(t, WheelOptions{Flags: WheelWait, Name: "go.wheel.many"})
	ids := makeTimers(t, w, armers*each)
	var armed, cancelled, left atomic.Int64
	written := make([]uint64, len(ids)) // what a goroutine did before it armed is seen by who polls
	handled := make([]atomic.Int64, len(ids))
	left.Store(armers)
	for a := 0; a < armers; a++ {
		go func(from int) {
			defer left.Add(-1)
			var fires [each]int64 // armings that were not cancelled
			for i, left := 0, rounds; left > 0; i++ {
				at := i % each
				if handled[from+at].Load() == fires[at] { // nobody is at work on its record
					written[from+at]++
					now, _ := w.Now()
					if moved, err := w.Arm(ids[from+at], now+uint64(i%5)*20); moved || err != nil {
						t.Error("Arm:", moved, err)
					}
					armed.Add(1)
					fires[at]++
					left--
				} else if i%97 == 0 {
					was, err := w.Cancel(ids[from+at])
					wantErr(t, "Cancel", err, nil)
					if was {
						cancelled.Add(1)
						fires[at]--
					}
				} else if i%each == 0 {
					idle()
				}
			}
		}(a * each)
	}
	seen, total := uint64(0), int64(0)
	expired := make([]Expired, 7)
	for {
		done := left.Load() == 0
		now, _ := w.Now()
		n, err := w.PollBurst(now, expired)
		if err != nil {
			t.Fatal("PollBurst:", err)
		}
		for _, e := range expired[:n] {
			if e.Expiry > now || e.ID != ids[e.User] {
				t.Errorf("at %d: %+v", now, e)
			}
			seen += written[e.User]
			handled[e.User].Add(1)
		}
		total += int64(n)
		if done && armed.Load() == cancelled.Load()+total {
			break
		}
		if n == 0 {
			ctx, cancel := context.WithTimeout(bg, 5*time.Millisecond)
			if err := w.Wait(ctx); err != nil {
				wantErr(t, "Wait", err, context.DeadlineExceeded)
			}
			cancel()
		}
	}
	if total == 0 || seen == 0 {
		t.Error("nothing has fired")
	}
	t.Logf("%d armed, %d cancelled, %d fired", armed.Load(), cancelled.Load(), total)
}

// Polls go from goroutine to goroutine; one at a time gets in.
func TestPollsAreHandedOver(t *testing.T) {
	w := makeWheel(t, WheelOptions{})
	const timers = 2000
	ids := makeTimers(t, w, timers)
	stop := make(chan struct{})
	var others sync.WaitGroup
	for a := 0; a < 2; a++ {
		others.Add(1)
		go func(mine []TimerID) {
			defer others.Done()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				w.Arm(mine[i%len(mine)], 1<<62) // works on the wheel, wherever this thread polled
				idle()
			}
		}(ids[a*timers/4:][:timers/4])
	}
	mine := ids[timers/2:]
	count := 0
	for now := uint64(1); now < 200; now++ {
		_, err := w.ArmBulk(mine[:5], []uint64{now, now, now, now, now}, nil)
		wantErr(t, "ArmBulk", err, nil)
		done := make(chan int)
		go func() {
			expired := make([]Expired, 8)
			n, err := w.PollBurst(now, expired)
			wantErr(t, "PollBurst of the only one who polls", err, nil)
			done <- n
		}()
		count += <-done
	}
	close(stop)
	others.Wait()
	want(t, "fired", count, 5*199)
}

// A poll that finds the wheel taken comes back, but not for ever, and not if somebody polls.
func TestAPollComesBack(t *testing.T) {
	w := makeWheel(t, WheelOptions{})
	gate := &w.gates.side[consumers]
	gate.enter()
	defer gate.leave()
	var r retry
	want(t, "alone", r.again(w), true)
	want(t, "alone", r.again(w), true)
	gate.enter()
	want(t, "beside PollBurst", r.again(w), false)
	gate.leave()
	w.runs.Add(1)
	want(t, "beside Poll", r.again(makeWheel(t, WheelOptions{}), w), false)
	w.runs.Add(-1)
	until(t, "the end", func() bool { return !r.again(w) })
}

// A call that runs functions of C is not inside the gates: what would wait for it is refused.
func TestBesideAPollThatRunsCallbacks(t *testing.T) {
	w := makeWheel(t, WheelOptions{Flags: WheelWait})
	wantErr(t, "enterRun", w.enterRun(), nil)
	wantErr(t, "Close", w.Close(), ErrBusy)
	wantErr(t, "SetWakeup", w.SetWakeup(nil), ErrBusy)
	_, err := w.Service()
	wantErr(t, "Service", err, ErrBusy)
	makeTimer(t, w, 0) // other calls are let in
	w.runs.Add(-1)
	wantErr(t, "SetWakeup", w.SetWakeup(nil), nil)
}

// Close comes beside calls of every kind.
func TestCloseBesideCallsOfAWheel(t *testing.T) {
	for round := 0; round < 20; round++ {
		w, err := NewWheel(WheelOptions{Flags: WheelWait, Capacity: 64})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for _, call := range []func() error{
			func() error { _, err := w.Create(1); return err },
			func() error { _, err := w.Arm(1, 1); return err },
			func() error { _, err := w.PollBurst(1, make([]Expired, 4)); return err },
			func() error { _, err := w.Poll(1, 4); return err },
			func() error {
				ctx, cancel := context.WithTimeout(bg, time.Millisecond)
				defer cancel()
				return w.Wait(ctx)
			},
			func() error { _, err := w.CancelSync(bg, 1); return err },
			func() error { return w.ForEach(func(TimerInfo) bool { return true }) },
			func() error { return w.SetWakeup(nil) },
		} {
			all.Add(1)
			go func(call func() error) {
				defer all.Done()
				for call() != ErrClosed {
					idle()
				}
			}(call)
		}
		time.Sleep(time.Duration(round%4) * time.Millisecond)
		until(t, "Close", func() bool { return w.Close() == nil }) // ErrBusy beside Poll
		all.Wait()
	}
}
