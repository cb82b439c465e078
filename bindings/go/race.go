// SPDX-License-Identifier: BSD-2-Clause

//go:build race

// What the race detector cannot see for itself, because it happens in C: which Go memory
// a call reads or writes, and that what came before an enqueue comes before what follows
// the dequeue, and the same of a put and the next get, a signal and the end of a wait, an
// arming and its record. The second is told for the whole ring, pool, wake-up or wheel and
// not for single elements, so that a race may be missed, but none is reported that is not
// there.

package fp

import (
	"runtime"
	"unsafe"
)

func raceRelease(r *Ring) {
	runtime.RaceReleaseMerge(unsafe.Pointer(&r.elemSize))
}

func raceAcquire(r *Ring) {
	runtime.RaceAcquire(unsafe.Pointer(&r.elemSize))
}

func raceEnqueue(r *Ring, p unsafe.Pointer, n int) {
	if n > 0 {
		runtime.RaceReadRange(p, n*r.elemSize)
	}
	raceRelease(r)
}

func raceDequeue(r *Ring, p unsafe.Pointer, n int) {
	raceAcquire(r)
	if n > 0 {
		runtime.RaceWriteRange(p, n*r.elemSize)
	}
}

func racePut(p *Pool, indexes []uint32) {
	if len(indexes) > 0 {
		runtime.RaceReadRange(unsafe.Pointer(&indexes[0]), 4*len(indexes))
	}
	runtime.RaceReleaseMerge(unsafe.Pointer(&p.stride))
}

func raceGet(p *Pool, indexes []uint32) {
	runtime.RaceAcquire(unsafe.Pointer(&p.stride))
	if len(indexes) > 0 {
		runtime.RaceWriteRange(unsafe.Pointer(&indexes[0]), 4*len(indexes))
	}
}

func raceSignal(w *Wakeup) {
	runtime.RaceReleaseMerge(unsafe.Pointer(&w.wakeup))
}

func raceWoken(w *Wakeup) {
	runtime.RaceAcquire(unsafe.Pointer(&w.wakeup))
}

// Calls about a timer lock it, so they come one after the other; a record comes after the
// arming that it tells of.
func raceArm(w *Wheel) {
	runtime.RaceAcquire(unsafe.Pointer(&w.tickNS))
	runtime.RaceReleaseMerge(unsafe.Pointer(&w.tickNS))
}

func raceCancel(w *Wheel) { raceArm(w) }

func raceTable(ids []TimerID, numbers []uint64) {
	if len(ids) > 0 {
		runtime.RaceReadRange(unsafe.Pointer(&ids[0]), 8*len(ids))
	}
	if len(numbers) > 0 {
		runtime.RaceReadRange(unsafe.Pointer(&numbers[0]), 8*len(numbers))
	}
}

func raceResults(results []TimerResult) {
	if len(results) > 0 {
		runtime.RaceWriteRange(unsafe.Pointer(&results[0]), 4*len(results))
	}
}

func raceExpired(w *Wheel, expired []Expired, n int) {
	if n > 0 {
		runtime.RaceAcquire(unsafe.Pointer(&w.tickNS))
		runtime.RaceWriteRange(unsafe.Pointer(&expired[0]), n*int(unsafe.Sizeof(expired[0])))
	}
}

// raceReach comes before what lets cores call a service, raceLeft after what has waited
// for its function. Runs of a serialised service come one after the other.
func raceReach(f *function) {
	if f != nil {
		runtime.RaceReleaseMerge(unsafe.Pointer(&f.entered))
	}
}

func raceLeft(f *function) {
	if f != nil {
		runtime.RaceAcquire(unsafe.Pointer(&f.left))
	}
}

func raceEnterService(f *function) {
	runtime.RaceAcquire(unsafe.Pointer(&f.entered))
	if !f.shared {
		runtime.RaceAcquire(unsafe.Pointer(&f.left))
	}
}

func raceLeaveService(f *function) {
	runtime.RaceReleaseMerge(unsafe.Pointer(&f.left))
}
