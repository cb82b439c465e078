// SPDX-License-Identifier: BSD-2-Clause

// Why Close may be called while other goroutines are inside calls.
//
// A gate counts the calls that are inside C; there is one for each side of a ring, and one
// for what belongs to no side, so that producers and consumers do not share a cache line.
// (Of a wheel who arms is one side, and who polls the other.)
// (Get and put of a pool have the lock of their cache instead: pool_cache.go.)
// To shut a gate is to add a large negative number: from then on whoever enters sees a
// count below 1, steps back and waits for the verdict, and the closer waits until only its
// own number is left. Calls into the library do not block, so both waits are short.
//
// Go's atomics are sequentially consistent: a closer that has seen the last call leave
// also sees everything which that call did.

package fp

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const shut = -1 << 62

// gate counts the calls inside; below 0 it is shut.
type gate struct {
	inside atomic.Int64
	closed atomic.Bool // for good: whoever waits need not any more
	_      [112]byte
}

// enter lets a call in; false: closed for good. Whoever was let in calls leave.
func (g *gate) enter() bool {
	return g.inside.Add(1) > 0 || g.wait()
}

// leave ends a call. It comes after the last use of what the gate protects, and keeps the
// gate's owner reachable until then.
func (g *gate) leave() {
	g.inside.Add(-1)
}

// wait is for a call that came to a gate that was shut: it may open again.
func (g *gate) wait() bool {
	for {
		g.inside.Add(-1)
		for g.inside.Load() < 0 {
			if g.closed.Load() {
				return false
			}
			runtime.Gosched()
		}
		if g.inside.Add(1) > 0 {
			return true
		}
	}
}

const (
	producers = iota // enqueue, spans of that side, CloseProducer; what is done to a timer
	consumers        // dequeue, peek, spans of that side; PollBurst
	others           // what looks at the ring, pool or wheel
	sides
)

// gates are those of one object.
type gates struct {
	_     [128]byte
	side  [sides]gate
	mutex sync.Mutex // held by who shuts them
}

// alone runs action while no call is inside and none can come in. If last is set and the
// action succeeds, the gates stay shut and every later call gets ErrClosed.
func (g *gates) alone(last bool, action func() error) error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.side[others].closed.Load() {
		return ErrClosed
	}
	for i := range g.side {
		g.side[i].inside.Add(shut)
	}
	for i := range g.side {
		for round := 0; g.side[i].inside.Load() != shut; round++ {
			if round < 100 {
				runtime.Gosched()
			} else {
				time.Sleep(20 * time.Microsecond)
			}
		}
	}
	err := action()
	over := last && err == nil
	for i := range g.side {
		if over {
			g.side[i].closed.Store(true)
		} else {
			g.side[i].inside.Add(-shut)
		}
	}
	return err
}
