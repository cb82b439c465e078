// SPDX-License-Identifier: BSD-2-Clause

// How C calls the function of a service that is written in Go, and what becomes of its
// errors and panics.
//
// The function runs on the thread of whoever runs the service: a core that a goroutine
// runs (ServiceCore.Run), a core with a thread of its own, RunOnce. What that caller is to
// learn, it leaves a place for in a variable of its thread: a call into C stays on its
// thread until it returns, and so do the calls back into Go. A panic ends here: C frames
// are between it and its caller.

package fp

/*
#include "service_shim.h"

extern int32_t fpgoServiceRun(uintptr_t function, uintptr_t caller);

// Of this thread: the caller's place, and how many functions of Go it is inside.
static __thread uintptr_t fpgo_caller;
static __thread int fpgo_depth;

static int32_t fpgo_service_entry(void *user)
{
	int32_t result;

	fpgo_depth++;
	result = fpgoServiceRun((uintptr_t)user, fpgo_caller);
	fpgo_depth--;
	return result;
}

static int fpgo_inside(void) { return fpgo_depth > 0; }

static fpgo_made_service fpgo_service_create_go(const char *name, uintptr_t function,
						uint32_t flags, uint32_t cycles)
{
	return fpgo_service_create(name, fpgo_service_entry, (void *)function, flags, cycles);
}

static fpgo_made_service fpgo_service_create_c(const char *name, void *run, void *user,
					       uint32_t flags, uint32_t cycles)
{
	return fpgo_service_create(name, (fp_service_run_fn)run, user, flags, cycles);
}

static int fpgo_core_run(fpgo_core *core, uint64_t timeout_ns, uintptr_t caller)
{
	uintptr_t outer = fpgo_caller;
	int code;

	fpgo_caller = caller;
	code = fp_service_core_run((fp_service_core *)core, timeout_ns);
	fpgo_caller = outer;
	return code;
}

typedef struct fpgo_once {
	int code;
	int32_t result;
} fpgo_once;

static fpgo_once fpgo_service_run_once(fpgo_service *service, uintptr_t caller)
{
	fpgo_once once = { 0, 0 };
	uintptr_t outer = fpgo_caller;

	fpgo_caller = caller;
	once.code = fp_service_run_once((fp_service *)service, 0, &once.result);
	fpgo_caller = outer;
	return once;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"runtime/debug"
	"sync"
	"syscall"
	"unsafe"
)

// ServicePanic is the error that a panic of a service's function becomes.
type ServicePanic struct {
	Service string // its name
	Value   any    // of the panic
	Stack   []byte // where it was
}

func (p *ServicePanic) Error() string {
	return fmt.Sprintf("fp: panic in service %q: %v\n\n%s", p.Service, p.Value, p.Stack)
}

// Unwrap is the value, if it is an error.
func (p *ServicePanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// function is what C calls. It does not lead to its Service, so that one which nobody
// closes can be collected.
type function struct {
	run     func() (bool, error)
	name    string
	shared  bool // may run on several threads at once
	service *C.fpgo_service
	handle  cgo.Handle // C's reference to it
	mutex   sync.Mutex
	err     error // the first
	// What the race detector is told: entered holds what came before start, map and
	// run-once, left what the function did.
	entered, left byte
}

// caller is what who runs services in Go learns of them.
type caller struct {
	core *C.fpgo_core  // that it runs; nil: RunOnce
	err  error         // of the function: RunOnce
	fell *ServicePanic // the first
}

// newFunction makes a service whose function is Go's.
func newFunction(name *C.char, f *function, flags, cycles uint32) C.int {
	f.handle = cgo.NewHandle(f)
	made := C.fpgo_service_create_go(name, C.uintptr_t(f.handle), C.uint32_t(flags),
		C.uint32_t(cycles))
	if made.code < 0 {
		f.handle.Delete()
	}
	f.service = made.service
	return made.code
}

// newNative makes a service whose function is C's.
func newNative(name *C.char, run, user unsafe.Pointer, flags, cycles uint32) (*C.fpgo_service, C.int) {
	made := C.fpgo_service_create_c(name, run, user, C.uint32_t(flags), C.uint32_t(cycles))
	return made.service, made.code
}

// inService tells whether the goroutine is inside the function of a service.
func inService() bool { return C.fpgo_inside() != 0 }

// runCore runs the loop of a core.
func runCore(core *C.fpgo_core, timeout uint64) (C.int, *caller) {
	c := &caller{core: core}
	place := cgo.NewHandle(c)
	defer place.Delete()
	return C.fpgo_core_run(core, C.uint64_t(timeout), C.uintptr_t(place)), c
}

// runOnce runs the function of a service.
func runOnce(service *C.fpgo_service) (C.int, int32, *caller) {
	c := new(caller)
	place := cgo.NewHandle(c)
	defer place.Delete()
	once := C.fpgo_service_run_once(service, C.uintptr_t(place))
	return once.code, int32(once.result), c
}

// call is one run.
func (f *function) call(place uintptr) (code int32) {
	raceEnterService(f)
	defer func() {
		if value := recover(); value != nil {
			code = f.fall(value, place)
		}
		raceLeaveService(f)
	}()
	worked, err := f.run()
	switch {
	case errors.Is(err, ErrAgain) || err == nil && !worked:
		return -int32(syscall.EAGAIN)
	case err == nil:
		return 0
	}
	f.failed(err)
	if place != 0 {
		cgo.Handle(place).Value().(*caller).err = err
	}
	var number Errno
	if errors.As(err, &number) && number > 0 {
		return -int32(number)
	}
	return -int32(syscall.EIO)
}

// failed keeps the first error.
func (f *function) failed(err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.err == nil {
		f.err = err
	}
}

// fall is the end of a run that panicked: nobody runs the service any more, and the core
// that a goroutine runs stops, to tell it.
func (f *function) fall(value any, place uintptr) int32 {
	p := &ServicePanic{f.name, value, debug.Stack()}
	f.failed(p)
	C.fpgo_service_stop(f.service, 0) // inside a service it does not wait
	if place != 0 {
		c := cgo.Handle(place).Value().(*caller)
		if c.fell == nil {
			c.fell = p
		}
		if c.core != nil {
			C.fpgo_core_stop(c.core, 0)
		}
	}
	return -int32(syscall.EIO)
}
