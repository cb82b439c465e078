// SPDX-License-Identifier: BSD-2-Clause

// Waiting for rings: every call and error, who is woken by what, and that no wake is lost.

package fp

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
)

func makeWaitingRing(t testing.TB, k kind, capacity int) *Ring {
	t.Helper()
	r, err := NewRing(RingOptions{Capacity: capacity, Producer: k.producer,
		Consumer: k.consumer, Flags: RingWait})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close at the end: %v", err)
		}
	})
	return r
}

// asleep waits until n goroutines sleep for a side.
func asleep(t testing.TB, r *Ring, side, n int) {
	t.Helper()
	asleepAt(t, &r.waiting, side, n)
}

func asleepAt(t testing.TB, o *waiting, side, n int) {
	t.Helper()
	until(t, "sleepers", func() bool {
		o.waits.mutex.Lock()
		defer o.waits.mutex.Unlock()
		s := &o.waits.side[side]
		for _, b := range []*bell{s.own, s.bound.bellOf(), o.threads[side]} {
			if b != nil {
				b.mutex.Lock()
				sleeping := b.sleeping
				b.mutex.Unlock()
				if sleeping == n {
					return true
				}
			}
		}
		return false
	})
}

type taken struct {
	n   int
	err error
}

// inBackground makes a call that waits.
func inBackground(call func() (int, error)) chan taken {
	done := make(chan taken, 1)
	go func() {
		n, err := call()
		done <- taken{n, err}
	}()
	return done
}

func TestWaitsForElements(t *testing.T) {
	forEachKind(t, func(t *testing.T, k kind) {
		r, v := makeWaitingRing(t, k, 8), make([]uint64, 8)
		for round := uint64(0); round < 20; round++ {
			done := inBackground(func() (int, error) { return r.DequeueWait(bg, v, 1) })
			if round%2 == 0 {
				asleep(t, r, consumers, 1)
			}
			r.EnqueueBurst([]uint64{round})
			want(t, "DequeueWait", <-done, taken{1, nil})
			want(t, "element", v[0], round)
		}
		r.EnqueueBurst(upTo(1, 5))
		n, err := r.DequeueWait(bg, v, 1)
		moved(t, "without waiting", n, err, 5)
	})
}

func TestWaitsForRoom(t *testing.T) {
	forEachKind(t, func(t *testing.T, k kind) {
		r, v := makeWaitingRing(t, k, 4), make([]uint64, 4)
		for round := 0; round < 10; round++ {
			n, err := r.EnqueueWait(bg, upTo(0, 4), 4)
			moved(t, "into the empty ring", n, err, 4)
			done := inBackground(func() (int, error) { return r.EnqueueWait(bg, upTo(4, 3), 1) })
			asleep(t, r, producers, 1)
			n, err = r.DequeueBurst(v[:1])
			moved(t, "Dequeue", n, err, 1)
			want(t, "EnqueueWait", <-done, taken{1, nil})
			n, err = r.DequeueBurst(v)
			moved(t, "Dequeue", n, err, 4)
			want(t, "in order", v, upTo(1, 4))
		}
	})
}

func TestWaitsForSeveralTogether(t *testing.T) {
	forEachKind(t, func(t *testing.T, k kind) {
		r, v := makeWaitingRing(t, k, 8), make([]uint64, 8)
		done := inBackground(func() (int, error) { return r.DequeueWait(bg, v, 3) })
		for i := uint64(0); i < 3; i++ {
			asleep(t, r, consumers, 1)
			r.EnqueueBurst([]uint64{i})
		}
		want(t, "DequeueWait of 3", <-done, taken{3, nil})
		r.EnqueueBurst(upTo(0, 8))
		done = inBackground(func() (int, error) { return r.EnqueueWait(bg, upTo(8, 4), 2) })
		for i := 0; i < 2; i++ {
			asleep(t, r, producers, 1)
			r.DequeueBurst(v[:1])
		}
		want(t, "EnqueueWait of 2", <-done, taken{2, nil})
	})
}

// One that needs two sleeps before one that needs one: the one must not be forgotten.
func TestWaitersThatNeedSeveralDoNotHideOthers(t *testing.T) {
	r := makeWaitingRing(t, kind{MT, MT}, 8)
	two := inBackground(func() (int, error) { return r.DequeueWait(bg, make([]uint64, 2), 2) })
	asleep(t, r, consumers, 1)
	one := inBackground(func() (int, error) { return r.DequeueWait(bg, make([]uint64, 1), 1) })
	asleep(t, r, consumers, 2)
	r.EnqueueBurst(upTo(0, 1))
	want(t, "who needs one", <-one, taken{1, nil})
	r.EnqueueBurst(upTo(0, 2))
	want(t, "who needs two", <-two, taken{2, nil})
}

func TestWaitReadableAndWritable(t *testing.T) {
	forEachKind(t, func(t *testing.T, k kind) {
		r, v := makeWaitingRing(t, k, 2), make([]uint64, 2)
		wantErr(t, "an empty ring", r.WaitWritable(bg), nil)
		wantErr(t, "an empty ring", r.WaitReadable(later(t)), context.DeadlineExceeded)
		done := inBackground(func() (int, error) { return 0, r.WaitReadable(bg) })
		asleep(t, r, consumers, 1)
		r.EnqueueBurst(v)
		want(t, "WaitReadable", <-done, taken{0, nil})
		wantErr(t, "a full ring", r.WaitReadable(bg), nil)
		wantErr(t, "a full ring", r.WaitWritable(later(t)), context.DeadlineExceeded)
		done = inBackground(func() (int, error) { return 0, r.WaitWritable(bg) })
		asleep(t, r, producers, 1)
		r.DequeueBurst(v[:1])
		want(t, "WaitWritable", <-done, taken{0, nil})
		if k.consumer == MT {
			first := inBackground(func() (int, error) { return 0, r.WaitReadable(bg) })
			second := inBackground(func() (int, error) { return 0, r.WaitReadable(bg) })
			r.EnqueueBurst(v)
			want(t, "both", <-first, taken{0, nil})
			want(t, "both", <-second, taken{0, nil})
		}
		r.CloseProducer()
		wantErr(t, "closed", r.WaitWritable(bg), ErrPipe)
		r.DequeueBurst(v)
		wantErr(t, "closed and drained", r.WaitReadable(bg), ErrPipe)
	})
}

func TestBytesAndTypesWait(t *testing.T) {
	bytes, err := NewRing(RingOptions{Capacity: 4, ElemSize: 12, Flags: RingWait})
	if err != nil {
		t.Fatal(err)
	}
	defer bytes.Close()
	p := make([]byte, 24)
	done := inBackground(func() (int, error) { return bytes.DequeueBytesWait(bg, p, 2) })
	n, err := bytes.EnqueueBytesWait(bg, []byte("first recordsecond rec.."), 2)
	moved(t, "EnqueueBytesWait", n, err, 2)
	want(t, "DequeueBytesWait", <-done, taken{2, nil})
	want(t, "bytes", string(p), "first recordsecond rec..")
	_, err = bytes.DequeueBytesWait(bg, p[:13], 1)
	wantErr(t, "part of an element", err, ErrInvalid)

	points, err := NewRingOf[point](RingOptions{Capacity: 4, Flags: RingWait})
	if err != nil {
		t.Fatal(err)
	}
	defer points.Close()
	v := make([]point, 2)
	done = inBackground(func() (int, error) { return points.DequeueWait(bg, v, 1) })
	n, err = points.EnqueueWait(bg, []point{{X: 1}}, 1)
	moved(t, "EnqueueWait", n, err, 1)
	want(t, "DequeueWait", <-done, taken{1, nil})
	want(t, "value", v[0], point{X: 1})
}

func TestWaitsThatCannotBe(t *testing.T) {
	r, v := makeWaitingRing(t, kind{MT, MT}, 4), make([]uint64, 8)
	for _, c := range []struct{ n, min int }{{2, 3}, {2, -1}, {8, 5}} {
		_, err := r.DequeueWait(bg, v[:c.n], c.min)
		wantErr(t, "DequeueWait", err, ErrInvalid)
		_, err = r.EnqueueWait(bg, v[:c.n], c.min)
		wantErr(t, "EnqueueWait", err, ErrInvalid)
	}
	n, err := r.DequeueWait(bg, v, 0)
	moved(t, "at least none", n, err, 0)
	n, err = r.DequeueWait(bg, nil, 0)
	moved(t, "of none", n, err, 0)
	_, err = r.DequeueBytesWait(bg, make([]byte, 4), 0)
	wantErr(t, "half an element", err, ErrInvalid)

	plain := makeRing(t, kind{MT, MT}, 4, 8)
	_, err = plain.DequeueWait(bg, v, 1)
	wantErr(t, "a plain ring", err, ErrNoWakeup)
	_, err = plain.EnqueueWait(bg, v, 1)
	wantErr(t, "a plain ring", err, ErrNoWakeup)
	wantErr(t, "a plain ring", plain.WaitReadable(bg), ErrNoWakeup)
	wantErr(t, "a plain ring", plain.Interrupt(RingConsumer), ErrNoWakeup)
	wantErr(t, "no such side", r.Interrupt(2), ErrInvalid)
	wantErr(t, "no such side", r.SetWakeup(2, nil), ErrInvalid)

	closed := makeWaitingRing(t, kind{MT, MT}, 4)
	closed.Close()
	for _, r := range []*Ring{nil, {}, closed} {
		wanted := ErrInvalid
		if r != nil && r.made {
			wanted = ErrClosed
		}
		_, err = r.DequeueWait(bg, v[:1], 1)
		wantErr(t, "DequeueWait", err, wanted)
		_, err = r.EnqueueBytesWait(bg, make([]byte, 8), 1)
		wantErr(t, "EnqueueBytesWait", err, wanted)
		wantErr(t, "WaitReadable", r.WaitReadable(bg), wanted)
		wantErr(t, "WaitWritable", r.WaitWritable(bg), wanted)
		wantErr(t, "SetWakeup", r.SetWakeup(RingProducer, nil), wanted)
		wantErr(t, "Interrupt", r.Interrupt(RingProducer), wanted)
	}
}

func TestContextsEndWaits(t *testing.T) {
	r, v := makeWaitingRing(t, kind{MT, MT}, 4), make([]uint64, 4)
	cancelled, cancel := context.WithCancel(bg)
	cancel()
	r.EnqueueBurst(v[:1])
	_, err := r.DequeueWait(cancelled, v, 1)
	wantErr(t, "cancelled before", err, context.Canceled)
	_, err = r.EnqueueWait(cancelled, v, 1)
	wantErr(t, "cancelled before", err, context.Canceled)
	wantErr(t, "cancelled before", r.WaitReadable(cancelled), context.Canceled)
	n, err := r.DequeueWait(bg, v, 1)
	moved(t, "what was there", n, err, 1)

	_, err = r.DequeueWait(later(t), v, 1)
	wantErr(t, "nothing came", err, context.DeadlineExceeded)
	ctx, cancel := context.WithCancel(bg)
	done := inBackground(func() (int, error) { return r.DequeueWait(ctx, v, 1) })
	asleep(t, r, consumers, 1)
	cancel()
	want(t, "cancelled asleep", <-done, taken{0, context.Canceled})
	r.EnqueueBurst(v[:2])
	n, err = r.DequeueWait(bg, v, 1)
	moved(t, "the ring lives on", n, err, 2)
}

// Who was woken, and leaves because of its context, leaves the wake to another.
func TestAWakeIsNotLostWithItsContext(t *testing.T) {
	r := makeWaitingRing(t, kind{MT, MT}, 64)
	for round := 0; round < 300; round++ {
		ctx, cancel := context.WithCancel(bg)
		first := inBackground(func() (int, error) { return r.DequeueWait(ctx, make([]uint64, 1), 1) })
		asleep(t, r, consumers, 1)
		second := inBackground(func() (int, error) { return r.DequeueWait(bg, make([]uint64, 1), 1) })
		asleep(t, r, consumers, 2)
		go cancel()
		r.Enqueue(1)
		one := <-first
		if one.n == 1 {
			r.Enqueue(1)
		}
		want(t, "the other", <-second, taken{1, nil})
	}
}

func TestInterruptOfARing(t *testing.T) {
	r := makeWaitingRing(t, kind{MT, MT}, 4)
	for round := 0; round < 5; round++ {
		var done []chan taken
		for i := 0; i < 10; i++ {
			min := 1 + i*round%2
			done = append(done, inBackground(func() (int, error) {
				return r.DequeueWait(bg, make([]uint64, 4), min)
			}))
		}
		asleep(t, r, consumers, 10)
		wantErr(t, "the other side", r.Interrupt(RingProducer), nil)
		wantErr(t, "Interrupt", r.Interrupt(RingConsumer), nil)
		for i := range done {
			want(t, "a wait", <-done[i], taken{0, ErrCanceled})
		}
		_, err := r.DequeueWait(later(t), make([]uint64, 1), 1)
		wantErr(t, "a later wait", err, context.DeadlineExceeded)
	}
}

func TestCloseProducerEndsWaits(t *testing.T) {
	forEachKind(t, func(t *testing.T, k kind) {
		r := makeWaitingRing(t, k, 4)
		n := 1
		if k.consumer == MT {
			n = 10
		}
		var done []chan taken
		for i := 0; i < n; i++ {
			done = append(done, inBackground(func() (int, error) {
				return r.DequeueWait(bg, make([]uint64, 1), 1)
			}))
		}
		asleep(t, r, consumers, n)
		r.CloseProducer()
		for i := range done {
			want(t, "consumer", <-done[i], taken{0, ErrPipe})
		}
	})
	r := makeWaitingRing(t, kind{MT, MT}, 4)
	r.EnqueueBurst(upTo(0, 4))
	producer := inBackground(func() (int, error) { return r.EnqueueWait(bg, upTo(0, 1), 1) })
	asleep(t, r, producers, 1)
	r.CloseProducer()
	want(t, "producer", <-producer, taken{0, ErrPipe})
	v := make([]uint64, 8)
	n, err := r.DequeueWait(bg, v[:4], 3)
	moved(t, "the rest", n, err, 4)
}

// The last element of a closed ring is claimed but not published, and another consumer
// takes it: all who wait hear of the end.
func TestClosedAndDrainedByAnother(t *testing.T) {
	for round := 0; round < 100; round++ {
		r := makeWaitingRing(t, kind{MT, MT}, 4)
		span, err := r.ReserveEnqueue(1, 0)
		if err != nil {
			t.Fatal(err)
		}
		var done []chan taken
		for i := 0; i < 4; i++ {
			done = append(done, inBackground(func() (int, error) {
				return r.DequeueWait(bg, make([]uint64, 2), 1+round%2)
			}))
		}
		asleep(t, r, consumers, 4)
		r.CloseProducer()
		asleep(t, r, consumers, 4)
		got := 0
		last := inBackground(func() (int, error) { return 0, span.Commit(round / 2 % 2) })
		for err == nil {
			var n int
			n, err = r.DequeueBurst(make([]uint64, 1))
			got += n
		}
		want(t, "Commit", <-last, taken{0, nil})
		for i := range done {
			one := <-done[i]
			if got += one.n; one.n == 0 {
				wantErr(t, "the end", one.err, ErrPipe)
			}
		}
		want(t, "elements", got, round/2%2)
	}
}

func TestCloseEndsWaits(t *testing.T) {
	r := makeWaitingRing(t, kind{MT, MT}, 4)
	var done []chan taken
	for i := 0; i < 10; i++ {
		done = append(done, inBackground(func() (int, error) {
			return r.DequeueWait(bg, make([]uint64, 1), 1)
		}))
	}
	asleep(t, r, consumers, 10)
	wantErr(t, "Close", r.Close(), nil)
	for i := range done {
		want(t, "a wait", <-done[i], taken{0, ErrClosed})
	}
}

// ---- wake-ups of the user ----

func TestOneWakeupForSeveralRings(t *testing.T) {
	w := makeWakeup(t, 0)
	a, b := makeRing(t, kind{MT, MT}, 4, 8), makeRing(t, kind{MT, MT}, 4, 8)
	for _, r := range []*Ring{a, b} {
		wantErr(t, "SetWakeup", r.SetWakeup(RingConsumer, w), nil)
	}
	s, _ := w.Stats()
	want(t, "bound", s.Bound, uint64(2))
	wantErr(t, "Close", w.Close(), ErrBusy)
	for _, r := range []*Ring{a, b, b, a} {
		key := prepare(t, w)
		r := r
		go r.Enqueue(1)
		wantErr(t, "the wake-up", w.Wait(bg, key), nil)
		n, err := r.DequeueWait(bg, make([]uint64, 1), 1)
		moved(t, "the ring", n, err, 1)
	}
	first := inBackground(func() (int, error) { return a.DequeueWait(bg, make([]uint64, 1), 1) })
	asleep(t, a, consumers, 1)
	second := inBackground(func() (int, error) { return b.DequeueWait(bg, make([]uint64, 1), 1) })
	asleep(t, b, consumers, 2)
	wantErr(t, "SetWakeup while somebody waits", a.SetWakeup(RingConsumer, nil), ErrBusy)
	b.Enqueue(1)
	want(t, "b", <-second, taken{1, nil})
	a.Enqueue(1)
	want(t, "a", <-first, taken{1, nil})
	first = inBackground(func() (int, error) { return a.DequeueWait(bg, make([]uint64, 1), 1) })
	asleep(t, a, consumers, 1)
	w.Interrupt()
	want(t, "interrupted", <-first, taken{0, ErrCanceled})
	first = inBackground(func() (int, error) { return a.DequeueWait(bg, make([]uint64, 1), 1) })
	asleep(t, a, consumers, 1)
	a.Close()
	want(t, "closed", <-first, taken{0, ErrClosed})
	wantErr(t, "unbind", b.SetWakeup(RingConsumer, nil), nil)
	_, err := b.DequeueWait(bg, make([]uint64, 1), 1)
	wantErr(t, "nothing to wait on", err, ErrNoWakeup)
}

func TestAWaitingRingGetsItsOwnAgain(t *testing.T) {
	w, r := makeWakeup(t, 0), makeWaitingRing(t, kind{MT, MT}, 4)
	for _, wakeup := range []*Wakeup{w, nil, w, nil} {
		wantErr(t, "SetWakeup", r.SetWakeup(RingConsumer, wakeup), nil)
		done := inBackground(func() (int, error) { return r.DequeueWait(bg, make([]uint64, 1), 1) })
		asleep(t, r, consumers, 1)
		r.Enqueue(1)
		want(t, "DequeueWait", <-done, taken{1, nil})
	}
	closed := makeWakeup(t, 0)
	closed.Close()
	wantErr(t, "a closed wake-up", r.SetWakeup(RingConsumer, closed), ErrClosed)
	wantErr(t, "a zero wake-up", r.SetWakeup(RingConsumer, &Wakeup{}), ErrInvalid)
}

// The descriptor is somebody else's: goroutines wait with a thread.
func TestWaitsBesideTheDescriptor(t *testing.T) {
	w, r := makeWakeup(t, 0), makeRing(t, kind{MT, MT}, 4, 8)
	wantErr(t, "SetWakeup", r.SetWakeup(RingConsumer, w), nil)
	if _, err := w.FD(); err != nil {
		t.Fatal(err)
	}
	waitsWithAThread(t, r)
}

// A ring that another language made has a wake-up that Go does not know.
func TestWaitsForARingOfAnotherLanguage(t *testing.T) {
	r := makeWaitingRing(t, kind{MT, MT}, 4)
	for side := range r.waits.side { // as if C had made it
		b := r.waits.side[side].own
		r.waits.side[side].own = nil
		defer func(side int) { r.waits.side[side].own = b }(side)
	}
	waitsWithAThread(t, r)
	first := inBackground(func() (int, error) { return r.DequeueWait(bg, make([]uint64, 1), 1) })
	asleep(t, r, consumers, 1)
	wantErr(t, "Close", r.Close(), nil)
	want(t, "closed", <-first, taken{0, ErrClosed})
}

func waitsWithAThread(t *testing.T, r *Ring) {
	t.Helper()
	for round := 0; round < 10; round++ {
		var done []chan taken
		for i := 0; i < 4; i++ {
			done = append(done, inBackground(func() (int, error) {
				return r.DequeueWait(bg, make([]uint64, 1), 1)
			}))
		}
		asleep(t, r, consumers, 4)
		r.EnqueueBurst(upTo(0, 4))
		for i := range done {
			want(t, "DequeueWait", <-done[i], taken{1, nil})
		}
	}
	done := inBackground(func() (int, error) { return r.DequeueWait(bg, make([]uint64, 3), 3) })
	for i := uint64(0); i < 3; i++ {
		time.Sleep(time.Millisecond)
		r.Enqueue(i)
	}
	want(t, "three", <-done, taken{3, nil})
	_, err := r.DequeueWait(later(t), make([]uint64, 1), 1)
	wantErr(t, "nothing", err, context.DeadlineExceeded)
	done = inBackground(func() (int, error) { return r.DequeueWait(bg, make([]uint64, 1), 1) })
	asleep(t, r, consumers, 1)
	until(t, "the interrupt", func() bool { // between two waits of the thread it is missed
		r.Interrupt(RingConsumer)
		return len(done) == 1
	})
	want(t, "interrupted", <-done, taken{0, ErrCanceled})
}

func TestTwoRingsOfOneHandle(t *testing.T) {
	made, err := NewRing(RingOptions{Capacity: 4, Flags: RingWait, Name: "go-two-waits"})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	found, err := LookupRing("go-two-waits")
	if err != nil {
		t.Fatal(err)
	}
	done := inBackground(func() (int, error) { return found.DequeueWait(bg, make([]uint64, 1), 1) })
	asleep(t, made, consumers, 1)
	wantErr(t, "SetWakeup", made.SetWakeup(RingConsumer, nil), ErrBusy)
	wantErr(t, "Close", made.Close(), ErrBusy)
	made.Enqueue(1)
	want(t, "DequeueWait", <-done, taken{1, nil})
	done = inBackground(func() (int, error) { return found.DequeueWait(bg, make([]uint64, 1), 1) })
	asleep(t, made, consumers, 1)
	wantErr(t, "Close", found.Close(), nil)
	want(t, "DequeueWait", <-done, taken{0, ErrClosed})
}

// Rings that nobody closes take their wake-ups along.
func TestWaitingRingsAreCollected(t *testing.T) {
	before, known := runtime.NumGoroutine(), len(waitsOf.table)
	for i := 0; i < 20; i++ {
		r, err := NewRing(RingOptions{Capacity: 4, Flags: RingWait})
		if err != nil {
			t.Fatal(err)
		}
		r.WaitReadable(later(t))
	}
	until(t, "the garbage collector", func() bool {
		runtime.GC()
		waitsOf.Lock()
		defer waitsOf.Unlock()
		return runtime.NumGoroutine() <= before && len(waitsOf.table) <= known
	})
}

// ---- many ----

// No wake is lost and no element: producers and consumers wait for each other in a ring
// that is nearly always full or empty.
func TestNoWakeIsLost(t *testing.T) {
	rounds := 2000
	if raceEnabled || testing.Short() {
		rounds = 500
	}
	for _, capacity := range []int{1, 3} {
		r := makeWaitingRing(t, kind{MT, MT}, capacity)
		var from, to sync.WaitGroup
		var sum [3]uint64
		for p := 0; p < 3; p++ {
			from.Add(1)
			go func() {
				defer from.Done()
				for i := 1; i <= rounds; i++ {
					if _, err := r.EnqueueWait(bg, []uint64{uint64(i)}, 1); err != nil {
						t.Error("EnqueueWait:", err)
					}
					if i%7 == 0 {
						time.Sleep(time.Duration(i%3) * 50 * time.Microsecond)
					}
				}
			}()
		}
		for c := range sum {
			to.Add(1)
			go func(c int) {
				defer to.Done()
				v := make([]uint64, 2)
				for {
					n, err := r.DequeueWait(bg, v, 1)
					if err != nil {
						wantErr(t, "DequeueWait", err, ErrPipe)
						return
					}
					for _, x := range v[:n] {
						sum[c] += x
					}
				}
			}(c)
		}
		from.Wait()
		r.CloseProducer()
		to.Wait()
		want(t, "sum", sum[0]+sum[1]+sum[2], uint64(3*rounds*(rounds+1)/2))
	}
}
