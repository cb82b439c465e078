// SPDX-License-Identifier: BSD-2-Clause

// Services: create, start, stop, map. What runs them is in service_core.go, how C calls
// their functions in service_call.go.

package fp

// #include "service_shim.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"
)

// firstWait is how long a call that waits for a function does so inside C: after it the
// library's log names who is still inside.
const firstWait = 20 * time.Millisecond

// ServiceOptions says what NewService makes: Run or Address has no default.
type ServiceOptions struct {
	// Run does a little work and tells whether there was any: a core that finds none goes
	// to sleep. An error is counted, and the service goes on. It runs on a core's thread:
	// it may block, which keeps the other services of the core waiting, but not call
	// runtime.Goexit (t.FailNow).
	Run func() (worked bool, err error)

	Address unsafe.Pointer // an fp_service_run_fn of C, instead of Run
	User    unsafe.Pointer // its argument: memory that is not Go's
	Name    string         // for LookupService, in this process and in any language; "": none
	Flags   uint32         // ServiceMTSafe, ServiceWakeable, ServiceNotReady
	Cycles  uint32         // ServiceCyclesOff, ServiceCyclesSampled, ServiceCyclesExact
}

// Service is a function that service cores call in turn. Make one with NewService; do not
// copy it.
//
// Calls from inside a service do not wait for functions to return: Stop, SetReady, Unmap and
// Close return ErrInProgress there.
type Service struct {
	handle

	service  *C.fpgo_service // never changes; the handle says whether it is still alive
	function *function       // nil: C's, or found
	found    bool            // a reference by lookup: Close gives it back
	owner    *Wheel          // whose it is; its handle is in the place of the service's own
	runs     atomic.Int64    // RunOnce, which is not inside the gates; of an owner: there
}

// NewService makes a service, which is not started and mapped to no core. Errors:
// ErrInvalid (neither Run nor Address, or both), ErrNotSupported (a flag that the library
// does not know, or a library of another version), ErrNameTooLong, ErrExist, ErrNoMemory.
func NewService(options ServiceOptions) (*Service, error) {
	if errVersion != nil {
		return nil, errVersion
	}
	if (options.Run == nil) == (options.Address == nil) {
		return nil, fmt.Errorf("fp: a service has either Run or Address: %w", ErrInvalid)
	}
	s := new(Service)
	err := create("service", options.Name, func(name *C.char) (code C.int) {
		if options.Run == nil {
			s.service, code = newNative(name, options.Address, options.User, options.Flags,
				options.Cycles)
			return code
		}
		s.function = &function{run: options.Run, name: options.Name,
			shared: options.Flags&ServiceMTSafe != 0}
		code = newFunction(name, s.function, options.Flags, options.Cycles)
		s.service = s.function.service
		return code
	})
	if err != nil {
		return nil, err
	}
	return s.join(), nil
}

// LookupService finds a service by its name, whoever made it, and takes a reference: the
// service cannot be freed before this Service is closed. Errors: ErrNotExist, ErrInvalid.
func LookupService(name string) (*Service, error) {
	var made C.fpgo_made_service
	err := lookup("service", name, func(name *C.char) C.int {
		made = C.fpgo_service_lookup(name)
		return made.code
	})
	if err != nil {
		return nil, err
	}
	return foundService(made.service), nil
}

func foundService(service *C.fpgo_service) *Service {
	return (&Service{service: service, found: true}).join()
}

// join gives the Service its handle.
func (s *Service) join() *Service {
	service, f, found := s.service, s.function, s.found
	hold(s, &s.handle, C.fpgo_service_name(service), func() error {
		return releaseService(service, f, found, 0) // a mapped one stays
	})
	return s
}

func releaseService(service *C.fpgo_service, f *function, found bool, flags uint32) error {
	if err := status(C.fpgo_service_release(service, truth(found), C.uint32_t(flags))); err != nil {
		return err
	}
	if f != nil {
		f.handle.Delete()
	}
	return nil
}

// ListServices lists the services of the process, named or not, oldest first, with a
// reference to each: close them all.
func ListServices() ([]*Service, error) {
	if errVersion != nil {
		return nil, errVersion
	}
	return listServices(nil)
}

// listServices lists those of a core; nil: all.
func listServices(core *C.fpgo_core) ([]*Service, error) {
	for room := C.int64_t(16); ; {
		list := make([]*C.fpgo_service, room)
		n := C.fpgo_service_list(core, &list[0], C.uint32_t(room))
		if n < 0 {
			return nil, Errno(-n)
		}
		if n > room { // as many as now, if they do not grow meanwhile
			for _, service := range list {
				C.fpgo_service_release(service, 1, 0)
			}
			room = n
			continue
		}
		services := make([]*Service, n)
		for i := range services {
			services[i] = foundService(list[i])
		}
		return services, nil
	}
}

// held is the handle.
func (s *Service) held() *handle {
	if s == nil {
		return nil
	}
	if s.owner != nil {
		return &s.owner.handle
	}
	return &s.handle
}

// Close stops the service for good, unmaps it, waits until nobody is inside its function,
// and frees it. For a service from LookupService it gives back the reference instead.
// Later calls return ErrClosed. Closing again, or closing a nil or zero Service, does
// nothing. With Stop first, the wait can have an end.
//
// ErrBusy: references by lookup are out, or rings are bound to its wake-up. The service
// lives on then, and is as it was. ErrInProgress: called inside a service: another
// goroutine closes it, when that is possible. ErrNotSupported: it belongs to a wheel.
func (s *Service) Close() error {
	if s == nil || !s.made {
		return nil
	}
	if s.owner != nil {
		return ErrNotSupported
	}
	if inService() {
		go s.close()
		return ErrInProgress
	}
	return s.close()
}

func (s *Service) close() error {
	for {
		err := end(s, &s.handle, func() error {
			if s.runs.Load() > 0 {
				return ErrTimeout
			}
			return releaseService(s.service, s.function, s.found, ServiceForce)
		})
		if !errors.Is(err, ErrTimeout) {
			raceLeft(s.function)
			return err
		}
		if s.found {
			_ = pause(context.Background()) // RunOnce of this Service alone is waited for
		} else if err := s.Stop(context.Background()); err != nil && err != ErrClosed {
			return err
		}
	}
}

// Name is the name given at create, "" if there is none.
func (s *Service) Name() string {
	if s == nil {
		return ""
	}
	return s.name
}

// Handle is the fp_service * for C code of yours; nil if the service is nil or closed. The
// caller keeps the Service reachable (runtime.KeepAlive) and open while C uses the handle.
func (s *Service) Handle() unsafe.Pointer {
	return s.held().pointer(func() unsafe.Pointer { return unsafe.Pointer(s.service) })
}

// Err is the first error that Run returned, or the panic that has stopped the service (a
// *ServicePanic); nil: none, or a function of C.
func (s *Service) Err() error {
	if s == nil || s.function == nil {
		return nil
	}
	s.function.mutex.Lock()
	defer s.function.mutex.Unlock()
	return s.function.err
}

// do is a call that returns a status.
func (s *Service) do(call func() C.int) error {
	_, err := s.held().ask(func() int64 { return int64(call()) })
	return err
}

// Start opens the application's gate: cores to which the service is mapped call it from
// their next loop on. Starting again does nothing. ErrBusy: another goroutine or thread
// waits in its Stop, Unmap or Close.
func (s *Service) Start() error {
	return s.do(func() C.int {
		raceReach(s.function)
		return C.fpgo_service_start(s.service)
	})
}

// Stop shuts the application's gate and waits until no thread is inside the function.
// Errors: that of the context: it is stopped, but a thread is still inside;
// ErrInProgress: called inside a service.
func (s *Service) Stop(ctx context.Context) error {
	return s.shut(ctx, func(timeout C.uint64_t) C.int { return C.fpgo_service_stop(s.service, timeout) })
}

// SetReady opens or shuts the component's gate, which is open unless the service was made
// with ServiceNotReady. To shut it waits as Stop does.
func (s *Service) SetReady(ctx context.Context, ready bool) error {
	return s.shut(ctx, func(timeout C.uint64_t) C.int {
		raceReach(s.function)
		return C.fpgo_service_set_ready(s.service, C.uint32_t(truth(ready)), timeout)
	})
}

// shut makes a call that shuts a gate and waits for nobody to be inside: first in C, then
// without a thread.
func (s *Service) shut(ctx context.Context, call func(timeout C.uint64_t) C.int) error {
	err := s.do(func() C.int { return call(C.uint64_t(timeLeft(ctx, firstWait))) })
	for err == ErrTimeout {
		if err = pause(ctx); err == nil {
			var active bool
			if active, err = s.IsActive(); err == nil && active {
				err = ErrTimeout
			}
		}
	}
	if err == nil {
		raceLeft(s.function)
	}
	return err
}

// timeLeft is the time until the context ends, at most limit.
func timeLeft(ctx context.Context, limit time.Duration) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	if at, ok := ctx.Deadline(); ok && time.Until(at) < limit {
		if left := time.Until(at); left > 0 {
			return left
		}
		return 0
	}
	return limit
}

// pause sleeps for a moment; the error of the context, if that is over.
func pause(ctx context.Context) error {
	timer := time.NewTimer(time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// IsRunnable tells whether cores may call it: ready, started, and mapped to a core at
// least.
func (s *Service) IsRunnable() (bool, error) {
	return s.held().tell(func() C.int { return C.fpgo_service_is_runnable(s.service) })
}

// IsActive tells whether a thread may be inside its function. Once it is false after a
// stop, it stays false.
func (s *Service) IsActive() (bool, error) {
	return s.held().tell(func() C.int { return C.fpgo_service_is_active(s.service) })
}

// with is a call on a service and a core.
func (s *Service) with(core *ServiceCore, call func() C.int) error {
	return s.do(func() C.int {
		if err := core.held().look(); err != nil {
			return -C.int(err.(Errno))
		}
		defer core.leave()
		return call()
	})
}

// Map maps the service to a core, which calls it, once it is runnable, from its next loop
// on. The core need not run yet. ErrBusy as Start.
func (s *Service) Map(core *ServiceCore) error {
	return s.with(core, func() C.int {
		raceReach(s.function)
		return C.fpgo_service_map(s.service, core.core)
	})
}

// Unmap ends a mapping and waits if that core is inside the function. Errors: that of the
// context: it is unmapped, but the core is still inside; ErrInProgress: called inside a
// service.
func (s *Service) Unmap(ctx context.Context, core *ServiceCore) error {
	for wait := firstWait; ; {
		err := s.with(core, func() C.int {
			return C.fpgo_service_unmap(s.service, core.core, C.uint64_t(timeLeft(ctx, wait)))
		})
		if err == nil {
			raceLeft(s.function)
		}
		if err != ErrTimeout {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
		if wait < time.Second { // every round is a line in the log
			wait *= 2
		}
	}
}

// IsMapped tells whether the service is mapped to a core.
func (s *Service) IsMapped(core *ServiceCore) (mapped bool, err error) {
	err = s.with(core, func() C.int {
		code := C.fpgo_service_is_mapped(s.service, core.core)
		mapped = code == 1
		return code
	})
	return mapped, err
}

// RunOnce runs the function once, here, and returns what it returned. The service need
// not be mapped. ErrBusy: it is not ServiceMTSafe, and a thread is inside. ErrShutdown: it
// is not ready or not started. A panic of Run becomes a *ServicePanic.
func (s *Service) RunOnce() (worked bool, err error) {
	if err := s.held().look(); err != nil {
		return false, err
	}
	runs := &s.runs
	if s.owner != nil {
		runs = &s.owner.runs
	}
	runs.Add(1) // the function may call what the gate would keep out
	s.held().leave()
	defer runs.Add(-1)
	raceReach(s.function)
	code, result, caller := runOnce(s.service)
	raceLeft(s.function)
	switch {
	case code < 0:
		return false, Errno(-code)
	case caller.fell != nil:
		return false, caller.fell
	case caller.err != nil:
		return false, caller.err
	case Errno(-result) == ErrAgain:
		return false, nil
	case result < 0:
		return false, Errno(-result)
	}
	return true, nil
}

// Wakeup is the wake-up of the service, which wakes the cores to which it is mapped: bind
// the service's rings to it (Ring.SetWakeup), or signal it. Nobody can wait on it, and it
// is closed with the service. nil: the service is nil or closed.
func (s *Service) Wakeup() *Wakeup {
	return ownedWakeup(s.held(), func() unsafe.Pointer {
		return unsafe.Pointer(C.fpgo_service_wakeup(s.service))
	})
}

// SetDeadline says when the service wants to be called at the latest. It stays until it is
// set anew; the zero Time: none. It wakes cores that sleep longer.
func (s *Service) SetDeadline(at time.Time) error {
	in := time.Duration(-1)
	if !at.IsZero() {
		if in = time.Until(at); in < 0 {
			in = 0
		}
	}
	return s.do(func() C.int { return C.fpgo_service_set_deadline(s.service, C.int64_t(in)) })
}

// ServiceStats are the counters of a service, over all cores to which it was ever mapped.
type ServiceStats struct {
	Flags         uint32 // ServiceIsReady, ServiceIsStarted, ServiceIsActive
	Calls         uint64 // of the function, on cores and by RunOnce
	Idle          uint64 // of these, without work
	Errors        uint64 // of these, that returned an error
	Busy          uint64 // times a core found it inside elsewhere and went on
	Cycles        uint64 // clock ticks inside the function, idle calls included
	Longest       uint64 // ticks of the longest call (ServiceCyclesExact)
	CycleHz       uint64 // ticks per second; 0: cycles are off
	Cores         uint64 // mapped cores
	InsideSinceNS uint64 // CLOCK_MONOTONIC of when a call that still runs was first seen by Stats
	DeadlineNS    uint64 // CLOCK_MONOTONIC; 0: none
}

// Stats reads the counters.
func (s *Service) Stats() (ServiceStats, error) {
	var c C.fp_service_stats
	err := s.held().read(func() C.uint32_t {
		c = C.fpgo_service_stats(s.service)
		return c.size
	})
	if err != nil {
		return ServiceStats{}, err
	}
	return ServiceStats{
		Flags:         uint32(c.flags),
		Calls:         uint64(c.calls),
		Idle:          uint64(c.idle),
		Errors:        uint64(c.errors),
		Busy:          uint64(c.busy),
		Cycles:        uint64(c.cycles),
		Longest:       uint64(c.longest),
		CycleHz:       uint64(c.cycle_hz),
		Cores:         uint64(c.cores),
		InsideSinceNS: uint64(c.inside_since_ns),
		DeadlineNS:    uint64(c.deadline_ns),
	}, nil
}

// ResetStats makes the counters zero, on all cores.
func (s *Service) ResetStats() error {
	return s.do(func() C.int { return C.fpgo_service_reset_stats(s.service) })
}

// ServiceMapStats are the counters of a service on one core, since they were last mapped
// to each other.
type ServiceMapStats struct {
	Calls, Idle, Errors, Busy, Cycles uint64 // as in ServiceStats
}

// MapStats reads the counters of the service on one core. ErrNotExist: they are not mapped
// to each other.
func (s *Service) MapStats(core *ServiceCore) (ServiceMapStats, error) {
	var c C.fp_service_map_stats
	err := s.with(core, func() C.int { return C.fpgo_service_map_stats(s.service, core.core, &c) })
	if err != nil {
		return ServiceMapStats{}, err
	}
	return ServiceMapStats{uint64(c.calls), uint64(c.idle), uint64(c.errors), uint64(c.busy),
		uint64(c.cycles)}, nil
}
