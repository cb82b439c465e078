// SPDX-License-Identifier: BSD-2-Clause

// The ring from Go, Go's buffered channel, and timers of a wheel, for the comparison of
// languages.
//
// A worker of conduct.py, on the core that is its argument: it says what it can measure,
// then does one slice for each line "CASE UNITS" that it reads, and answers "NS DONE
// SWITCHES". One goroutine puts n elements in and takes n out, or arms n timers and polls
// n records.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"libfp/fp"
)

const (
	capacity = 1024
	burstMax = 1024
)

type kase struct {
	Who   string `json:"who"`
	Mode  string `json:"mode"`
	Burst int    `json:"burst"`
	work  func(units int) int
}

var source, target [burstMax]uint64

func ringBursts(ring *fp.Ring, burst int) func(int) int {
	put, take := source[:burst], target[:burst]
	return func(units int) int {
		done := 0
		for i := 0; i < units; i += burst {
			ring.EnqueueBurst(put)
			n, _ := ring.DequeueBurst(take)
			done += n
		}
		return done
	}
}

func ringSingles(ring *fp.Ring) func(int) int {
	return func(units int) int {
		done := 0
		for i := 0; i < units; i++ {
			ring.Enqueue(uint64(i))
			if _, ok, _ := ring.Dequeue(); ok {
				done++
			}
		}
		return done
	}
}

func channel(burst int) func(int) int {
	c := make(chan uint64, capacity)
	put, take := source[:burst], target[:burst]
	return func(units int) int {
		done := 0
		for i := 0; i < units; i += burst {
			for _, v := range put {
				c <- v
			}
			for k := range take {
				take[k] = <-c
				done++
			}
		}
		return done
	}
}

// timers arms a burst for the next 64 ticks, and polls when they are over.
func timers(wheel *fp.Wheel, burst int) func(int) int {
	const spread = 64
	ids, err := wheel.CreateBulk(source[:burst])
	if err != nil {
		fail(err)
	}
	expiries, expired := make([]uint64, burst), make([]fp.Expired, burst)
	now := uint64(0)
	return func(units int) int {
		done := 0
		for i := 0; i < units; i += burst {
			for k := range expiries {
				expiries[k] = now + 1 + uint64(k)%spread
			}
			wheel.ArmBulk(ids, expiries, nil)
			now += spread
			n, _ := wheel.PollBurst(now, expired)
			done += n
		}
		return done
	}
}

func cases() []kase {
	bursts := []int{1, 32, 256, burstMax}
	var table []kase
	for _, mode := range []string{"ST", "MT"} {
		side := uint32(fp.MT)
		if mode == "ST" {
			side = fp.ST
		}
		ring, err := fp.NewRing(fp.RingOptions{Capacity: capacity, Producer: side, Consumer: side})
		if err != nil {
			fail(err)
		}
		for _, burst := range bursts {
			table = append(table, kase{"Go", mode, burst, ringBursts(ring, burst)})
		}
		table = append(table, kase{"Go, single calls", mode, 1, ringSingles(ring)})
	}
	for _, burst := range bursts {
		table = append(table, kase{"Go channel", "-", burst, channel(burst)})
	}
	for _, burst := range bursts {
		wheel, err := fp.NewWheel(fp.WheelOptions{Flags: fp.WheelStartAt})
		if err != nil {
			fail(err)
		}
		table = append(table, kase{"Go timers", "-", burst, timers(wheel, burst)})
	}
	return table
}

func switches() int64 {
	const rusageThread = 1
	var usage syscall.Rusage
	if syscall.Getrusage(rusageThread, &usage) != nil {
		return 0
	}
	return usage.Nivcsw
}

type cpuSet [16]uint64

func (set *cpuSet) call(number uintptr, thread int) {
	_, _, errno := syscall.RawSyscall(number, uintptr(thread), unsafe.Sizeof(*set),
		uintptr(unsafe.Pointer(set)))
	if errno != 0 {
		fail(errno)
	}
}

// pin keeps this thread on one core, and the threads that the runtime has for itself on
// the others: on the same core they would interrupt every slice.
func pin(cpu int) {
	var others cpuSet
	others.call(syscall.SYS_SCHED_GETAFFINITY, 0)
	others[cpu/64] &^= 1 << (cpu % 64)
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		fail(err)
	}
	if others != (cpuSet{}) {
		for _, entry := range threads {
			thread, _ := strconv.Atoi(entry.Name())
			others.call(syscall.SYS_SCHED_SETAFFINITY, thread)
		}
	}
	var one cpuSet
	one[cpu/64] = 1 << (cpu % 64)
	one.call(syscall.SYS_SCHED_SETAFFINITY, 0)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench: the worker of Go:", err)
	os.Exit(1)
}

func main() {
	runtime.LockOSThread()
	cpu, err := strconv.Atoi(os.Args[len(os.Args)-1])
	if err != nil {
		fail(err)
	}
	pin(cpu)
	debug.SetGCPercent(-1) // nothing is allocated in a slice
	table := cases()
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"version": runtime.Version(), "cases": table})
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var number, units int
		if _, err := fmt.Sscan(in.Text(), &number, &units); err != nil {
			fail(err)
		}
		work := table[number].work
		work(units / 8)
		before := switches()
		start := time.Now()
		done := work(units)
		ns := time.Since(start).Nanoseconds()
		fmt.Println(ns, done, switches()-before)
	}
}
