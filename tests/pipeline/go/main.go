// SPDX-License-Identifier: BSD-2-Clause

// Go fills a ring, a worker thread in C transforms, Go drains: one process.
//
// Ten million elements from one goroutine to another. Every element is compared with what
// it must be, in order, and the sum of all with the sum that is known (../pipeline.py
// carries the same numbers).
package main

// #cgo pkg-config: libfp
// #cgo CFLAGS: -I${SRCDIR}/../../../examples/pipeline
// #cgo LDFLAGS: -lfp_stages
// #include <stages.h>
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"libfp/fp"
)

const (
	elements = 10_000_000
	checksum = 0xfdfa3b49159fd2c5
	burst    = 1024
)

// mix is STAGE_MIX.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func fail(doing string, err error) {
	fmt.Fprintf(os.Stderr, "pipeline: %s: %v\n", doing, err)
	os.Exit(1)
}

func newRing() *fp.Ring {
	ring, err := fp.NewRing(fp.RingOptions{Capacity: 4096, Producer: fp.ST, Consumer: fp.ST})
	if err != nil {
		fail("a ring", err)
	}
	return ring
}

// fill puts 0, 1, 2, ... into the ring and closes it.
func fill(ring *fp.Ring) {
	var numbers [burst]uint64
	for first := uint64(0); first < elements; {
		n := 0
		for ; n < burst && first+uint64(n) < elements; n++ {
			numbers[n] = first + uint64(n)
		}
		got, err := ring.EnqueueBurst(numbers[:n])
		if err != nil {
			fail("enqueue", err)
		}
		if got == 0 {
			runtime.Gosched()
		}
		first += uint64(got)
	}
	if err := ring.CloseProducer(); err != nil {
		fail("close", err)
	}
}

// drain takes all there is and checks it; it returns the sum.
func drain(ring *fp.Ring) (sum uint64) {
	var numbers [burst]uint64
	next := uint64(0)
	for {
		got, err := ring.DequeueBurst(numbers[:])
		if errors.Is(err, fp.ErrPipe) {
			break
		}
		if err != nil {
			fail("dequeue", err)
		}
		if got == 0 {
			runtime.Gosched()
		}
		for _, v := range numbers[:got] {
			if v != mix(next) {
				fail("check", fmt.Errorf("element %d is %#x, not %#x", next, v, mix(next)))
			}
			next++
			sum += v
		}
	}
	if next != elements {
		fail("check", fmt.Errorf("%d elements came out", next))
	}
	return sum
}

func main() {
	inbox, outbox := newRing(), newRing()
	var stage *C.stage
	failed := C.stage_start((*C.fp_ring)(inbox.Handle()), (*C.fp_ring)(outbox.Handle()),
		C.STAGE_MIX, &stage)
	if failed != 0 {
		fail("stage_start", syscall.Errno(-failed))
	}
	go fill(inbox)
	sum := drain(outbox)
	var carried C.uint64_t
	if failed := C.stage_stop(stage, &carried); failed != 0 {
		fail("stage_stop", syscall.Errno(-failed))
	}
	if carried != elements || sum != checksum {
		fail("check", fmt.Errorf("%d carried, checksum %#x, which must be %#x", carried, sum,
			uint64(checksum)))
	}
	for _, ring := range []*fp.Ring{inbox, outbox} {
		if err := ring.Close(); err != nil {
			fail("close", err)
		}
	}
	fmt.Printf("%s: %d elements through C and back, checksum %#016x\n", runtime.Version(),
		elements, sum)
}
