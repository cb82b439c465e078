// SPDX-License-Identifier: BSD-2-Clause

// Rings between goroutines: nothing lost, nothing twice, order kept, Close at any moment.

package fp

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// An element of these tests says who made it and which it is of his.
func element(producer, sequence int) uint64 { return uint64(producer)<<32 | uint64(sequence) }

// produce enqueues count elements in bursts of changing length.
func produce(r *Ring, producer, count int) error {
	v := make([]uint64, 37)
	for sent := 0; sent < count; {
		n := 1 + sent%len(v)
		if n > count-sent {
			n = count - sent
		}
		for i := range v[:n] {
			v[i] = element(producer, sent+i)
		}
		for left := v[:n]; len(left) > 0; {
			put, err := r.EnqueueBurst(left)
			if err != nil {
				return err
			}
			if put == 0 {
				idle()
			}
			left = left[put:]
		}
		sent += n
	}
	return nil
}

// consume takes what comes until the end of the stream.
func consume(r *Ring) ([]uint64, error) {
	var all []uint64
	v := make([]uint64, 29)
	for {
		n, err := r.DequeueBurst(v)
		if err != nil {
			if errors.Is(err, ErrPipe) {
				err = nil
			}
			return all, err
		}
		if n == 0 {
			idle()
		}
		all = append(all, v[:n]...)
	}
}

func TestManyGoroutines(t *testing.T) {
	const each = 20000
	forEachKind(t, func(t *testing.T, k kind) {
		r := makeRing(t, k, 100, 0)
		howMany := map[uint32]int{ST: 1, MT: 4}
		np, nc := howMany[k.producer], howMany[k.consumer]
		var makers, takers sync.WaitGroup
		for p := 0; p < np; p++ {
			makers.Add(1)
			go func(p int) {
				defer makers.Done()
				if err := produce(r, p, each); err != nil {
					t.Error("producer:", err)
				}
			}(p)
		}
		taken := make([][]uint64, nc)
		for c := range taken {
			takers.Add(1)
			go func(c int) {
				defer takers.Done()
				var err error
				if taken[c], err = consume(r); err != nil {
					t.Error("consumer:", err)
				}
			}(c)
		}
		makers.Wait()
		if err := r.CloseProducer(); err != nil {
			t.Error(err)
		}
		takers.Wait()

		total := 0
		seen := make([][]bool, np)
		for p := range seen {
			seen[p] = make([]bool, each)
		}
		for c := range taken {
			last := make([]int, np)
			for _, v := range taken[c] {
				p, sequence := int(v>>32), int(v&0xffffffff)
				if seen[p][sequence] {
					t.Fatalf("element %d of producer %d came twice", sequence, p)
				}
				seen[p][sequence] = true
				if sequence < last[p] {
					t.Fatalf("consumer %d: element %d of producer %d after %d", c, sequence, p, last[p])
				}
				last[p] = sequence
				total++
			}
		}
		want(t, "elements that arrived", total, np*each)
	})
}

// What was written before an enqueue is seen after the dequeue; -race would complain if
// the detector had not been told.
func TestAnElementCarriesWhatCameBefore(t *testing.T) {
	forEachKind(t, func(t *testing.T, k kind) {
		r := makeRing(t, k, 4, 0)
		table := make([]int, 2000)
		go func() {
			for i := range table {
				table[i] = i + 1
				for {
					ok, err := r.Enqueue(uint64(i))
					if err != nil {
						t.Error(err)
						return
					}
					if ok {
						break
					}
					idle()
				}
			}
			if err := r.CloseProducer(); err != nil {
				t.Error(err)
			}
		}()
		for {
			i, ok, err := r.Dequeue()
			if err == ErrPipe {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				idle()
			} else if table[i] != int(i)+1 {
				t.Fatal("element", i, "came before what it stands for")
			}
		}
	})
}

// Goroutines hammer on a ring while others close it: each call works or gets ErrClosed.
func TestCloseAtAnyMoment(t *testing.T) {
	for round := 0; round < 20; round++ {
		r, err := NewRing(RingOptions{Capacity: 64})
		if err != nil {
			t.Fatal(err)
		}
		var inside, closers sync.WaitGroup
		var started atomic.Int32
		calls := []func(v []uint64) error{
			func(v []uint64) error { _, err := r.EnqueueBurst(v); return err },
			func(v []uint64) error { _, err := r.DequeueBurst(v); return err },
			func(v []uint64) error { _, err := r.Stats(); return err },
			func(v []uint64) error { _, _, err := r.Dequeue(); return err },
			func(v []uint64) error {
				s, err := r.ReserveEnqueue(3, 0)
				if err == nil && s.Len() > 0 {
					err = s.Commit(s.Len())
				}
				return err
			},
		}
		for _, call := range calls {
			inside.Add(1)
			go func(call func([]uint64) error) {
				defer inside.Done()
				v := make([]uint64, 16)
				started.Add(1)
				for {
					err := call(v)
					if err == ErrClosed {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			}(call)
		}
		for started.Load() < int32(len(calls)) {
			idle()
		}
		for i := 0; i < 3; i++ {
			closers.Add(1)
			go func() {
				defer closers.Done()
				err := r.Close()
				for err == ErrBusy { // a span was open just then
					idle()
					err = r.Close()
				}
				if err != nil {
					t.Error("Close:", err)
				}
			}()
		}
		closers.Wait()
		inside.Wait()
	}
}

// A Close that is refused disturbs nobody: calls wait for the verdict and go on.
func TestARefusedCloseIsNotSeen(t *testing.T) {
	r := makeRing(t, kind{}, 64, 0)
	s, err := r.ReserveEnqueue(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var wait sync.WaitGroup
	for i := 0; i < 3; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for !stop.Load() {
				if _, err := r.EnqueueBurst(upTo(1, 1)); err != nil {
					t.Error(err)
					return
				}
				if _, err := r.Count(); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	for i := 0; i < 100; i++ {
		wantErr(t, "Close with a span open", r.Close(), ErrBusy)
		idle()
	}
	stop.Store(true)
	wait.Wait()
	if err := s.Commit(1); err != nil {
		t.Error(err)
	}
}

func TestCheckedFindsTwoSpansUsers(t *testing.T) {
	r, err := NewRing(RingOptions{Capacity: 4, Producer: ST, Flags: Checked})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.ReserveEnqueue(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.EnqueueBurst(upTo(1, 1))
	wantErr(t, "EnqueueBurst with a span open", err, ErrBusy)
	if err := s.Commit(1); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// The net: a ring that nobody closed gives its name back when the collector finds it.
func TestTheNetUnderForgottenRings(t *testing.T) {
	func() {
		if _, err := NewRing(RingOptions{Capacity: 4, Name: "go.forgotten"}); err != nil {
			t.Fatal(err)
		}
	}()
	for {
		runtime.GC()
		r, err := NewRing(RingOptions{Capacity: 4, Name: "go.forgotten"})
		if err == nil {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		wantErr(t, "NewRing", err, ErrExist)
		idle()
	}
}

func TestRingsComeAndGo(t *testing.T) {
	for i := 0; i < 10000; i++ {
		r, err := NewRing(RingOptions{Capacity: 16})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
