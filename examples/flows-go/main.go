// SPDX-License-Identifier: BSD-2-Clause

// flows-go reads a packet capture, spreads its packets over goroutines through libfp rings,
// and writes the flow table: the job of examples/flows, in Go.
//
//	flows-go [-w workers] [-o flows.csv] FILE|-
//
// This file has the pipeline: one goroutine reads and parses, and sends each packet's
// record to the worker that the flow's hash chooses, so that both directions of a flow meet
// one worker in input order and no table needs a lock. Records travel by value in bursts,
// through a ring for each worker that has one producer and one consumer.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"libfp/fp"
)

const (
	burst    = 64
	capacity = 1024
)

// worker counts the packets of its share of the flows.
type worker struct {
	ring   *fp.RingOf[record]
	staged []record // the reader's: not yet in the ring
	flows  *table
	err    error
}

// idle waits for the other side of a ring: at first by letting others run, then asleep.
type idle int

func (i *idle) wait() {
	if *i++; *i < 100 {
		runtime.Gosched()
	} else {
		time.Sleep(50 * time.Microsecond)
	}
}

// flush sends what is staged; all of it, so that a record is never lost.
func (w *worker) flush() error {
	var full idle
	for left := w.staged; len(left) > 0; {
		n, err := w.ring.EnqueueBurst(left)
		if err != nil {
			return err
		}
		if left = left[n:]; n == 0 {
			full.wait()
		}
	}
	w.staged = w.staged[:0]
	return nil
}

// fail keeps the first error; the worker goes on, so that the reader is not stopped.
func (w *worker) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// run takes records until the reader has closed the ring and it is empty.
func (w *worker) run() {
	var empty idle
	records := make([]record, burst)
	for {
		n, err := w.ring.DequeueBurst(records)
		if err != nil {
			if !errors.Is(err, fp.ErrPipe) {
				w.fail(err)
			}
			return
		}
		if n == 0 {
			empty.wait()
			continue
		}
		empty = 0
		for i := range records[:n] {
			if err := w.flows.add(&records[i]); err != nil {
				w.fail(err)
			}
		}
		if err := w.flows.age(records[n-1].ClockNS); err != nil {
			w.fail(err)
		}
	}
}

// read hands out all packets of a capture, and tells the clock in the end. What is not IP,
// or malformed, is in no flow.
func read(c *capture, workers []*worker) (clock uint64, err error) {
	for {
		data, when, length, err := c.next()
		if err != nil {
			return clock, err
		}
		if when > clock {
			clock = when
		}
		r, ok := parse(c.link, data)
		if !ok {
			continue
		}
		r.TimeNS, r.ClockNS, r.Length = when, clock, length
		w := workers[r.Key.hash()%uint64(len(workers))]
		if w.staged = append(w.staged, r); len(w.staged) == burst {
			if err := w.flush(); err != nil {
				return clock, err
			}
		}
	}
}

// count runs the pipeline over a capture. The flows are there even if the capture is
// damaged: those of what came before.
func count(c *capture, n int, timeoutNS uint64) ([]*flow, error) {
	var running sync.WaitGroup
	workers := make([]*worker, n)
	for i := range workers {
		ring, err := fp.NewRingOf[record](fp.RingOptions{Capacity: capacity, Producer: fp.ST,
			Consumer: fp.ST})
		if err != nil {
			return nil, err
		}
		defer ring.Close()
		flows, err := newTable(timeoutNS)
		if err != nil {
			return nil, err
		}
		defer flows.close()
		workers[i] = &worker{ring: ring, flows: flows}
	}
	for _, w := range workers {
		running.Add(1)
		go func(w *worker) {
			defer running.Done()
			w.run()
		}(w)
	}
	clock, result := read(c, workers)
	for _, w := range workers {
		if err := w.flush(); err != nil && result == errEnd {
			result = err
		}
		if err := w.ring.CloseProducer(); err != nil && result == errEnd {
			result = err
		}
	}
	running.Wait()
	var flows []*flow
	for _, w := range workers {
		if err := w.flows.age(clock); err != nil {
			w.fail(err)
		}
		flows = append(flows, w.flows.all()...)
		if w.err != nil {
			return nil, w.err
		}
	}
	if result == errEnd {
		result = nil
	}
	return flows, result
}

func fail(status int, format string, args ...any) {
	fmt.Fprintf(os.Stderr, "flows-go: "+format+"\n", args...)
	os.Exit(status)
}

func main() {
	workers := flag.Int("w", 2, "worker goroutines, 1 to 64")
	idle := flag.Duration("idle-timeout", time.Minute,
		"a flow without a packet for so long has ended; 0: none ends before the capture")
	output := flag.String("o", "flows.csv", "the flow table; -: standard output")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: flows-go [-w workers] [-o flows.csv] FILE|-")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 || *idle < 0 || *workers < 1 || *workers > 64 {
		flag.Usage()
		os.Exit(2)
	}
	name := flag.Arg(0)
	c, err := open(name)
	if err != nil {
		fail(2, "%s: %v", name, err)
	}
	flows, damage := count(c, *workers, uint64(*idle))
	if flows == nil && damage != nil && !errors.Is(damage, errDamaged) {
		fail(2, "%v", damage)
	}
	if err := write(*output, flows); err != nil {
		fail(2, "%s: %v", *output, err)
	}
	if damage != nil {
		fail(1, "%s: %v", name, damage)
	}
}
