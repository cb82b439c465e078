// SPDX-License-Identifier: BSD-2-Clause

// What a call costs: no allocation, which is a test, and the time, which is a benchmark:
//
//	go test -bench . -run -
//
// ns/elem is for an element that is enqueued and dequeued, or an object that is got and put,
// by one goroutine; of waits, for an element that wakes another one; of timers, for one that is
// armed and fires.

package fp

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestCallsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	r := makeRing(t, kind{ST, ST}, 64, 0)
	of := makeRingOf[point](t, 64)
	waiting, w := makeWaitingRing(t, kind{ST, ST}, 64), makeWakeup(t, 0)
	v, p, b := make([]uint64, 32), make([]point, 32), make([]byte, 256)
	pool := makePool(t, PoolOptions{Count: 100, ObjectSize: 64})
	cache, err := pool.NewCache()
	if err != nil {
		t.Fatal(err)
	}
	blocks, indexes, tooMany := make([]Block, 32), make([]uint32, 32), make([]uint32, 101)
	wheel := makeWheel(t, WheelOptions{Flags: Stats})
	timers, ticks, expired := makeTimers(t, wheel, 32), upTo(1, 32), make([]Expired, 32)
	results := make([]TimerResult, 32)
	calls := map[string]func(){
		"bursts":         func() { r.EnqueueBurst(v); r.DequeueBurst(v) },
		"bulks":          func() { r.EnqueueBulk(v); r.DequeueBulk(v) },
		"bytes":          func() { r.EnqueueBytesBurst(b); r.PeekBytes(b); r.DequeueBytesBurst(b) },
		"singles":        func() { r.Enqueue(1); r.Dequeue() },
		"questions":      func() { r.Count(); r.IsFull(); r.Stats() },
		"waits":          func() { waiting.EnqueueWait(bg, v, 1); waiting.DequeueWait(bg, v, 32) },
		"wake-ups":       func() { key, _ := w.Prepare(); w.Signal(); w.Cancel(key) },
		"refusals":       func() { r.DequeueBurst(v) },
		"bursts of T":    func() { of.EnqueueBurst(p); of.DequeueBurst(p) },
		"singles of T":   func() { of.Enqueue(point{}); of.Dequeue() },
		"spans":          func() { inPlace(r) },
		"the closed end": func() { closedEnd(r) },
		"objects":        func() { b, _ := pool.Get(); b.Bytes(); b.Index(); pool.Put(b) },
		"blocks":         func() { cache.GetBulk(blocks); cache.PutBulk(blocks) },
		"indexes":        func() { cache.GetIndexes(indexes); pool.PutIndexes(indexes) },
		"of the pool":    func() { pool.InUse(); pool.Stats(); cache.Count(); cache.Flush() },
		"timers": func() {
			wheel.ArmBulk(timers, ticks, results)
			wheel.TouchBulk(timers, ticks, nil)
			wheel.CancelBulk(timers[:4], nil)
			wheel.PollBurst(1<<40, expired)
		},
		"single timers": func() {
			wheel.Arm(timers[0], 1<<50)
			wheel.Touch(timers[0], 1<<51)
			wheel.Remaining(timers[0], 1)
			wheel.IsPending(timers[0])
			wheel.Cancel(timers[0])
			timer, _ := wheel.Create(1)
			wheel.Destroy(timer)
			wheel.Poll(1<<41, 1)
		},
		"of the wheel": func() { wheel.Now(); wheel.NextExpiry(); wheel.Count(); wheel.Stats() },
		"no objects":   func() { pool.GetIndexes(tooMany); pool.PutIndexes(nil) },
	}
	if sinceGo124 { // older compilers do not inline what would leave these on the stack
		calls["spans of T"] = func() { inPlaceOf(of) }
		calls["a buffer on the stack"] = func() {
			var v [32]uint64
			r.EnqueueBurst(v[:])
			r.DequeueBurst(v[:])
		}
		calls["indexes on the stack"] = func() {
			var v [8]uint32
			cache.GetIndexes(v[:])
			cache.PutIndexes(v[:])
		}
		calls["records on the stack"] = func() {
			var v [8]Expired
			wheel.PollBurst(1<<42, v[:])
		}
	}
	for name, call := range calls {
		if n := testing.AllocsPerRun(100, call); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func inPlace(r *Ring) {
	if s, _ := r.ReserveEnqueue(8, 0); s.Len() > 0 {
		s.Uint64s()
		s.Commit(8)
	}
	if s, _ := r.ReserveDequeue(8, 0); s.Len() > 0 {
		s.Bytes()
		s.Commit(8)
	}
}

func inPlaceOf(r *RingOf[point]) {
	if s, _ := r.ReserveEnqueue(8, 0); s.Len() > 0 {
		s.Slices()
		s.Commit(8)
	}
	if s, _ := r.ReserveDequeue(8, 0); s.Len() > 0 {
		s.Slices()
		s.Commit(8)
	}
}

func closedEnd(r *Ring) {
	r.CloseProducer()
	r.Enqueue(1)
	r.Dequeue()
	r.Reset()
}

var sizes = []int{1, 32, 256, 1024}

func perElement(b *testing.B, n int, pair func()) {
	b.ReportAllocs()
	b.ResetTimer()
	start := time.Now()
	for i := 0; i < b.N; i++ {
		pair()
	}
	b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(b.N)/float64(n), "ns/elem")
}

func BenchmarkBurst(b *testing.B) {
	for _, k := range []kind{{ST, ST}, {MT, MT}} {
		for _, n := range sizes {
			b.Run(fmt.Sprint(k, "/", n), func(b *testing.B) {
				r, v := makeRing(b, k, 1024, 0), make([]uint64, n)
				perElement(b, n, func() { r.EnqueueBurst(v); r.DequeueBurst(v) })
			})
		}
	}
}

func BenchmarkSingle(b *testing.B) {
	for _, k := range []kind{{ST, ST}, {MT, MT}} {
		b.Run(k.String(), func(b *testing.B) {
			r := makeRing(b, k, 1024, 0)
			perElement(b, 1, func() { r.Enqueue(1); r.Dequeue() })
		})
	}
}

// A round trip between two goroutines that sleep in between.
func BenchmarkWait(b *testing.B) {
	there, back := makeWaitingRing(b, kind{ST, ST}, 4), makeWaitingRing(b, kind{ST, ST}, 4)
	go func() {
		for v := make([]uint64, 1); ; back.Enqueue(v[0]) {
			if _, err := there.DequeueWait(bg, v, 1); err != nil {
				return
			}
		}
	}()
	v := make([]uint64, 1)
	perElement(b, 2, func() {
		there.Enqueue(1)
		back.DequeueWait(bg, v, 1)
	})
	there.CloseProducer()
}

// A call of a function of Go by a core: on a goroutine's thread, and on its own.
func BenchmarkService(b *testing.B) {
	for _, lent := range []bool{true, false} {
		b.Run(map[bool]string{true: "goroutine", false: "own thread"}[lent], func(b *testing.B) {
			done, left := make(chan bool, 1), b.N
			s := makeService(b, 0, func() (bool, error) {
				if left--; left == 0 {
					done <- true
				}
				return true, nil
			})
			c := makeCore(b)
			s.Map(c)
			if lent {
				go c.Run(bg)
			} else {
				c.Start()
			}
			until(b, "the core", func() bool { n, _ := c.Stats(); return n.Loops > 0 })
			b.ResetTimer()
			s.Start()
			<-done
			b.StopTimer()
			s.Stop(bg)
			c.Stop(bg)
		})
	}
}

func BenchmarkSpan(b *testing.B) {
	r := makeRing(b, kind{ST, ST}, 1024, 0)
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			perElement(b, n, func() {
				in, _ := r.ReserveEnqueue(n, 0)
				in.Commit(n)
				out, _ := r.ReserveDequeue(n, 0)
				out.Commit(n)
			})
		})
	}
}

func BenchmarkChannel(b *testing.B) {
	c := make(chan uint64, 1024)
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			perElement(b, n, func() {
				for i := 0; i < n; i++ {
					c <- uint64(i)
				}
				for i := 0; i < n; i++ {
					<-c
				}
			})
		})
	}
}

func BenchmarkPool(b *testing.B) {
	p := makePool(b, PoolOptions{Count: 4096, ObjectSize: 64, CacheSize: 2048})
	c, err := p.NewCache()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("single", func(b *testing.B) {
		perElement(b, 1, func() {
			block, _ := c.Get()
			c.Put(block)
		})
	})
	for _, n := range sizes {
		b.Run(fmt.Sprint("blocks/", n), func(b *testing.B) {
			v := make([]Block, n)
			perElement(b, n, func() { c.GetBulk(v); c.PutBulk(v) })
		})
		b.Run(fmt.Sprint("indexes/", n), func(b *testing.B) {
			v := make([]uint32, n)
			perElement(b, n, func() { c.GetIndexes(v); c.PutIndexes(v) })
		})
	}
}

// What Go has: memory that is kept, of the same size.
func BenchmarkSyncPool(b *testing.B) {
	pool := sync.Pool{New: func() any { return new([64]byte) }}
	perElement(b, 1, func() { pool.Put(pool.Get()) })
}

// A timer that is armed and fires.
func BenchmarkTimer(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := makeWheel(b, WheelOptions{})
			ids, expiries, expired := makeTimers(b, w, n), make([]uint64, n), make([]Expired, n)
			now := uint64(0)
			perElement(b, n, func() {
				for i := range expiries {
					expiries[i] = now + 1 + uint64(i)%16
				}
				w.ArmBulk(ids, expiries, nil)
				now += 16
				w.PollBurst(now, expired)
			})
		})
	}
}

// What Go has: a timer for each, which is started and stopped.
func BenchmarkGoTimer(b *testing.B) {
	timer := time.AfterFunc(time.Hour, func() {})
	perElement(b, 1, func() { timer.Reset(time.Hour) })
	timer.Stop()
}
