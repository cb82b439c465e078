// SPDX-License-Identifier: BSD-2-Clause

// Package fp drives libfp from Go: rings, bounded FIFO queues that carry bursts of
// fixed-size elements between goroutines, and between Go and any other language in the
// same process; pools of fixed-size objects, in memory that all of them see and the
// garbage collector does not; wake-ups, to sleep until a ring has something; services,
// functions that cores call in turn; and timer wheels.
//
// A call into C costs some tens of nanoseconds whatever it carries, so bursts are the
// unit: at 256 elements a call costs less per element than anything a channel can do.
// Single-element calls exist for what is rare.
//
// # Elements
//
// A [Ring] carries uint64 values, or elements of any size as bytes; a [RingOf] carries
// values of a Go type without pointers. Elements are copied. Go pointers cannot travel:
// the garbage collector does not look into C memory. Pass an index into a table that Go
// holds, or that of an object of a pool.
//
// # Objects
//
// A [Pool] gives its objects as values of [Block], which know when they are dead, or as
// bare indexes, a burst per call, which is what a ring carries. Nobody else uses an object
// between its get and its put. The goroutines of a pool share one cache, or have a [Cache]
// each.
//
// # Waiting
//
// A ring made with the flag RingWait, or with a [Wakeup] bound to it, can be waited for, until
// a context ends. Goroutines that wait take no thread of the system.
//
// # Services
//
// A [ServiceCore] calls the functions of the [Service] values that are mapped to it, on a
// thread of its own or on a goroutine's, and sleeps when none has work.
//
// # Timers
//
// A [Wheel] holds timers that any goroutine arms and cancels. One polls it with the time, of
// a clock or of what it reads, and gets what has fired as records of [Expired], a burst per
// call; it may sleep until the next one is due.
//
// # Results
//
// Full and empty are counts, not errors: a call that finds no room or nothing to take
// returns 0 and a nil error. (Get, which has no count to return, says ErrAgain.) Every
// error matches one of the Err constants with errors.Is, and the syscall.Errno of the same
// number:
//
//	errors.Is(err, fp.ErrPipe) // closed by its producers and drained
//	errors.Is(err, syscall.EPIPE)
//
// A call that fails changes nothing. Methods of a nil or zero value return ErrInvalid. The
// bytes of an object that is not there are no error but a panic, as with a slice.
//
// # Goroutines
//
// An MT side may be driven by any number of goroutines at once, an ST side by one at a
// time, wherever it runs; a hand-over between goroutines needs something that orders the
// two (a channel, a mutex, a WaitGroup). A ring made with the flag Checked finds out when
// that was not so and returns ErrBusy. Pools and Caches are for any number of goroutines at
// once, and so are wheels, but for their polls: one at a time. The race detector knows that
// what was done before an enqueue is seen after the dequeue of its elements, what was done
// before a put after the next get, and what was done before a timer was armed after the poll
// that gives its record.
//
// # Lifetime
//
// CloseProducer ends the stream: consumers get the rest, then ErrPipe. Close frees the
// object; it may come while other goroutines are inside calls. Close every one: what
// becomes unreachable is freed by the garbage collector, but that is a net, and it may come
// late or never.
package fp

/*
#cgo pkg-config: libfp
#include "shim.h"
*/
import "C"

import "fmt"

// Version is that of the running library, for example "0.9.0".
func Version() string {
	return C.GoString(C.fp_version_string())
}

// Features tells what the running library offers on this machine: Feature constants.
func Features() uint64 {
	return uint64(C.fp_features())
}

// errVersion is why the running library cannot be used; nil: it can.
var errVersion = checkVersion(uint32(C.fp_version_number()))

// checkVersion compares with the headers that this package was made for. Before 1.0 every
// minor may break the ABI.
func checkVersion(number uint32) error {
	major, minor := int(number>>16), int(number>>8&0xff)
	if major == VersionMajor && (minor == VersionMinor || major > 0 && minor > VersionMinor) {
		return nil
	}
	return fmt.Errorf("fp: this package needs libfp %d.%d, the library that runs is %d.%d: %w",
		VersionMajor, VersionMinor, major, minor, ErrNotSupported)
}
