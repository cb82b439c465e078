// SPDX-License-Identifier: BSD-2-Clause

// The errors of the package: status codes of the library as values.

package fp

// #include "shim.h"
import "C"

import (
	"io/fs"
	"syscall"
)

// Errno is a status code of the library: a positive errno value.
type Errno int

// What the calls of this package return, plain or wrapped in a text that says more.
const (
	ErrInvalid      = Errno(syscall.EINVAL)       // a bad argument, or a nil or zero object
	ErrPipe         = Errno(syscall.EPIPE)        // closed by CloseProducer; dequeue: and drained
	ErrBusy         = Errno(syscall.EBUSY)        // something is still in use, or (Checked) misuse
	ErrAgain        = Errno(syscall.EAGAIN)       // no object at the moment; a void slot divides a bulk span
	ErrExist        = Errno(syscall.EEXIST)       // the name is taken
	ErrNotExist     = Errno(syscall.ENOENT)       // nothing has this name
	ErrNameTooLong  = Errno(syscall.ENAMETOOLONG) // more than NameMax bytes
	ErrNoMemory     = Errno(syscall.ENOMEM)       // the allocator has none
	ErrNotSupported = Errno(syscall.EOPNOTSUPP)   // not with this library, or not on this kind of side
	ErrFault        = Errno(syscall.EFAULT)       // not an object of this pool
	ErrAlready      = Errno(syscall.EALREADY)     // the object was put before; the core runs, or does not
	ErrUnclean      = Errno(syscall.EUCLEAN)      // memory was overwritten (Checked, Audit)
	ErrNoWakeup     = Errno(syscall.ENXIO)        // nothing to wait on: RingWait, WheelWait, SetWakeup, FD
	ErrCanceled     = Errno(syscall.ECANCELED)    // a wait that Interrupt has ended
	ErrTimeout      = Errno(syscall.ETIMEDOUT)    // the time is over; calls with a context return its error
	ErrInProgress   = Errno(syscall.EINPROGRESS)  // inside a service, or a callback runs: not waited for
	ErrShutdown     = Errno(syscall.ESHUTDOWN)    // the service is not ready or not started
	ErrDeadlock     = Errno(syscall.EDEADLK)      // not inside a service, or the callback
	ErrStale        = Errno(syscall.ESTALE)       // no such timer: destroyed, or of another wheel
	ErrTooManyFiles = Errno(syscall.EMFILE)       // no descriptors are left
	ErrClosed       = Errno(syscall.EBADF)        // a call after Close; only this package returns it
)

// Error is the library's name for the code, for example "fp: EPIPE: closed and drained".
func (e Errno) Error() string {
	if e == ErrClosed {
		return "fp: use of a closed object"
	}
	return "fp: " + C.GoString(C.fp_strerror(C.int(e)))
}

// Is reports whether target is the syscall.Errno of the same number, or one of the
// classes of io/fs that this number belongs to.
func (e Errno) Is(target error) bool {
	if number, ok := target.(syscall.Errno); ok {
		return syscall.Errno(e) == number
	}
	if e == ErrClosed && target == fs.ErrClosed {
		return true
	}
	return syscall.Errno(e).Is(target)
}
