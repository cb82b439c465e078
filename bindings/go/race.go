// SPDX-License-Identifier: BSD-2-Clause

//go:build race

// What the race detector cannot see for itself, because it happens in C: which Go memory
// a call reads or writes, and that what came before an enqueue comes before what follows
// the dequeue. The second is told for the whole ring and not for single elements, so that
// a race may be missed, but none is reported that is not there.

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
