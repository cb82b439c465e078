// SPDX-License-Identifier: BSD-2-Clause

// Service cores: threads that run services, the library's own or a goroutine's.

package fp

// #include "service_shim.h"
import "C"

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// ServiceCoreOptions says what NewServiceCore makes; all has a default. CPU, Policy,
// Priority and StackSize are for its own thread (Start).
type ServiceCoreOptions struct {
	Name       string        // for LookupServiceCore, in any language; "": none
	Flags      uint32        // ServiceCoreSpinNS, ServiceCoreNapNS, ServiceCorePin
	CPU        uint32        // with ServiceCorePin; for several see SetCPUs
	Policy     uint32        // ServiceCorePolicyNone, ...; best effort, see Stats
	Priority   int32         // of the policy; else a nice value
	Idle       uint32        // ServiceCoreSleep, ServiceCoreYield, ServiceCoreSpin
	Spin       time.Duration // without work before the first nap; 0: 50 us, unless ServiceCoreSpinNS
	Nap        time.Duration // of the first sleep; 0: 100 us, unless ServiceCoreNapNS
	LateMargin time.Duration // wakes so long before a deadline and spins
	MaxSleep   time.Duration // 0: no limit
	Unwakeable time.Duration // limit of a sleep while a service that nobody wakes is mapped; 0: 1 ms
	StackSize  int           // bytes; 0: the system's default
}

// ServiceCore calls the services mapped to it in turn, and sleeps when none has work: on a
// thread of its own (Start), or on that of a goroutine (Run). Make one with
// NewServiceCore; do not copy it.
type ServiceCore struct {
	handle

	core  *C.fpgo_core // never changes; the handle says whether it is still alive
	found bool         // a reference by lookup: Close gives it back
	runs  atomic.Int64 // Run and RunLoop, which are not inside the gates
}

// NewServiceCore makes a core, which does not run yet. Errors: ErrInvalid (a value out of
// range), ErrNotSupported (a flag, policy or idle value that the library does not know, or
// a library of another version), ErrNameTooLong, ErrExist, ErrNoMemory. The first core,
// Wakeup or ring made with RingWait of a process takes some 10 to 30 ms.
func NewServiceCore(options ServiceCoreOptions) (*ServiceCore, error) {
	if errVersion != nil {
		return nil, errVersion
	}
	const longest = int(^uint(0) >> 1)
	if err := within("service core",
		limit{"Spin", int(options.Spin), 0, longest},
		limit{"Nap", int(options.Nap), 0, longest},
		limit{"LateMargin", int(options.LateMargin), 0, longest},
		limit{"MaxSleep", int(options.MaxSleep), 0, longest},
		limit{"Unwakeable", int(options.Unwakeable), 0, longest},
		limit{"StackSize", options.StackSize, 0, longest},
	); err != nil {
		return nil, err
	}
	opts := C.fp_service_core_opts{
		flags:          C.uint32_t(options.Flags),
		cpu:            C.uint32_t(options.CPU),
		policy:         C.uint32_t(options.Policy),
		priority:       C.int32_t(options.Priority),
		idle:           C.uint32_t(options.Idle),
		spin_ns:        C.uint64_t(options.Spin),
		nap_ns:         C.uint64_t(options.Nap),
		late_margin_ns: C.uint64_t(options.LateMargin),
		max_sleep_ns:   C.uint64_t(options.MaxSleep),
		unwakeable_ns:  C.uint64_t(options.Unwakeable),
		stack_size:     C.uint64_t(options.StackSize),
	}
	var made C.fpgo_made_core
	err := create("service core", options.Name, func(name *C.char) C.int {
		made = C.fpgo_core_create(name, &opts)
		return made.code
	})
	if err != nil {
		return nil, err
	}
	return newServiceCore(made.core, false), nil
}

// LookupServiceCore finds a core by its name, whoever made it, and takes a reference: the
// core cannot be freed before this ServiceCore is closed. Errors: ErrNotExist, ErrInvalid.
func LookupServiceCore(name string) (*ServiceCore, error) {
	var made C.fpgo_made_core
	err := lookup("service core", name, func(name *C.char) C.int {
		made = C.fpgo_core_lookup(name)
		return made.code
	})
	if err != nil {
		return nil, err
	}
	return newServiceCore(made.core, true), nil
}

func newServiceCore(core *C.fpgo_core, found bool) *ServiceCore {
	c := &ServiceCore{core: core, found: found}
	hold(c, &c.handle, C.fpgo_core_name(core), func() error {
		return status(C.fpgo_core_release(core, truth(found))) // a running one stays
	})
	return c
}

// ListServiceCores lists the cores of the process, named or not, oldest first, with a
// reference to each: close them all.
func ListServiceCores() ([]*ServiceCore, error) {
	if errVersion != nil {
		return nil, errVersion
	}
	for room := C.int64_t(16); ; {
		list := make([]*C.fpgo_core, room)
		n := C.fpgo_core_list(&list[0], C.uint32_t(room))
		if n < 0 {
			return nil, Errno(-n)
		}
		if n > room { // as many as now, if they do not grow meanwhile
			for _, core := range list {
				C.fpgo_core_release(core, 1)
			}
			room = n
			continue
		}
		cores := make([]*ServiceCore, n)
		for i := range cores {
			cores[i] = newServiceCore(list[i], true)
		}
		return cores, nil
	}
}

// StartDefaults maps every service that is mapped to no core to one of the cores, in turn,
// and starts all services and all cores that do not run, each with a thread of its own. It
// returns how many services were mapped. ErrDeadlock: called inside a service.
func StartDefaults(cores ...*ServiceCore) (int, error) {
	list := make([]*C.fpgo_core, len(cores))
	for i, core := range cores {
		if err := core.held().look(); err != nil {
			return 0, err
		}
		defer core.leave()
		list[i] = core.core
	}
	if len(list) == 0 {
		return 0, ErrInvalid
	}
	return counted(int64(C.fpgo_start_defaults(&list[0], C.uint32_t(len(list)))))
}

// held is the handle.
func (c *ServiceCore) held() *handle {
	if c == nil {
		return nil
	}
	return &c.handle
}

// do is a call that returns a status.
func (c *ServiceCore) do(call func() C.int) error {
	_, err := c.held().ask(func() int64 { return int64(call()) })
	return err
}

// Close frees the core and ends its mappings. For a core from LookupServiceCore it gives
// back the reference instead. Later calls return ErrClosed. Closing again, or closing a
// nil or zero ServiceCore, does nothing.
//
// ErrBusy: it runs, references by lookup are out, or rings are bound to its wake-up. It
// lives on then, and is as it was.
func (c *ServiceCore) Close() error {
	return end(c, c.held(), func() error {
		if c.runs.Load() > 0 {
			return ErrBusy
		}
		return status(C.fpgo_core_release(c.core, truth(c.found)))
	})
}

// Name is the name given at create, "" if there is none.
func (c *ServiceCore) Name() string { return c.held().named() }

// Handle is the fp_service_core * for C code of yours; nil if the core is nil or closed.
// The caller keeps the ServiceCore reachable (runtime.KeepAlive) and open while C uses it.
func (c *ServiceCore) Handle() unsafe.Pointer {
	return c.held().pointer(func() unsafe.Pointer { return unsafe.Pointer(c.core) })
}

// SetCPUs says on which CPUs the core's own thread runs from its next Start on; none: any.
// ErrBusy: the core runs.
func (c *ServiceCore) SetCPUs(cpus ...uint32) error {
	return c.do(func() C.int {
		if len(cpus) == 0 {
			return C.fpgo_core_set_cpus(c.core, nil, 0)
		}
		return C.fpgo_core_set_cpus(c.core, (*C.uint32_t)(&cpus[0]), C.uint32_t(len(cpus)))
	})
}

// Services lists the services mapped to the core, in the order in which it calls them,
// with a reference to each: close them all.
func (c *ServiceCore) Services() ([]*Service, error) {
	if err := c.held().look(); err != nil {
		return nil, err
	}
	defer c.leave()
	return listServices(c.core)
}

// ---- running ----

// Start gives the core a thread of its own, which runs until Stop. Functions of Go run on
// it as well as those of C. Stop it before the program ends. ErrAlready: it runs. ErrAgain:
// no thread can be made.
func (c *ServiceCore) Start() error {
	return c.do(func() C.int { return C.fpgo_core_start(c.core) })
}

// Stop ends the loop, wherever it runs, and waits for that. Mappings stay, and the core can
// be started again. Errors: that of the context: it is told to stop, but still inside a
// service; ErrAlready: it does not run; ErrInProgress: called inside a service.
func (c *ServiceCore) Stop(ctx context.Context) error {
	err := c.do(func() C.int {
		return C.fpgo_core_stop(c.core, C.uint64_t(timeLeft(ctx, firstWait)))
	})
	for err == ErrTimeout {
		if err = pause(ctx); err == nil {
			var s ServiceCoreStats
			if s, err = c.Stats(); err == nil && s.State == ServiceCoreStopping {
				err = ErrTimeout
			}
		}
	}
	return err
}

// Run runs the core's loop on the goroutine's thread until the context ends, whose error it
// returns, or until Stop: nil. A panic in the function of a service ends it, too: it
// returns a *ServicePanic, and that service is stopped. ErrAlready: it runs elsewhere.
// ErrDeadlock: called inside a service.
func (c *ServiceCore) Run(ctx context.Context) error {
	if c == nil || !c.made {
		return ErrInvalid
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Add(1)
	go func() {
		defer watch.Done()
		select {
		case <-ctx.Done():
			c.stopRun(over)
		case <-over:
		}
	}()
	err := c.run(Forever)
	close(over)
	watch.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// stopRun ends a Run, which has perhaps not begun yet.
func (c *ServiceCore) stopRun(over chan struct{}) {
	for {
		if c.do(func() C.int {
			return C.fpgo_core_stop(c.core, C.uint64_t(firstWait))
		}) != ErrAlready {
			return
		}
		select {
		case <-over:
			return
		case <-time.After(100 * time.Microsecond):
		}
	}
}

// RunLoop runs one loop of the core on the goroutine's thread: it calls each of its
// services once. Errors as Run.
func (c *ServiceCore) RunLoop() error {
	err := c.run(0)
	if err == ErrTimeout {
		return nil
	}
	return err
}

func (c *ServiceCore) run(timeout uint64) error {
	if err := c.held().look(); err != nil {
		return err
	}
	c.runs.Add(1) // functions may call what the gate would keep out
	c.leave()
	defer c.runs.Add(-1)
	code, caller := runCore(c.core, timeout)
	if caller.fell != nil {
		return caller.fell
	}
	return status(code)
}

// Wakeup is the wake-up of the core, which wakes it from its sleep, to call all its
// services once. Nobody can wait on it, and it is closed with the core. nil: the core is
// nil or closed.
func (c *ServiceCore) Wakeup() *Wakeup {
	return ownedWakeup(c.held(), func() unsafe.Pointer {
		return unsafe.Pointer(C.fpgo_core_wakeup(c.core))
	})
}

// ServiceCoreStats are the counters and the state of a core.
type ServiceCoreStats struct {
	Flags      uint32 // ServiceCoreGotCPUs, ServiceCoreGotPolicy, ServiceCoreIsLent
	State      uint32 // ServiceCoreStopped, -Running, -Asleep, -Stopping
	Loops      uint64 // over its services
	IdleLoops  uint64 // of these, without work
	BusyCycles uint64 // clock ticks in loops with work, while a mapped service has cycles on
	IdleCycles uint64 // in loops without work, sleep excluded
	CycleHz    uint64 // ticks per second; 0: cycles were never on
	Sleeps     uint64 // times it went to sleep, naps included
	Naps       uint64 // of these, the short first ones
	Wakes      uint64 // sleeps that a signal ended
	LateWakes  uint64 // sleeps that ended more than 1 ms after a deadline
	Services   uint64 // mapped services
	ThreadID   int64  // kernel's id of the thread in the loop; 0: none
}

// Stats reads the counters.
func (c *ServiceCore) Stats() (ServiceCoreStats, error) {
	var s C.fp_service_core_stats
	err := c.held().read(func() C.uint32_t {
		s = C.fpgo_core_stats(c.core)
		return s.size
	})
	if err != nil {
		return ServiceCoreStats{}, err
	}
	return ServiceCoreStats{
		Flags:      uint32(s.flags),
		State:      uint32(s.state),
		Loops:      uint64(s.loops),
		IdleLoops:  uint64(s.idle_loops),
		BusyCycles: uint64(s.busy_cycles),
		IdleCycles: uint64(s.idle_cycles),
		CycleHz:    uint64(s.cycle_hz),
		Sleeps:     uint64(s.sleeps),
		Naps:       uint64(s.naps),
		Wakes:      uint64(s.wakes),
		LateWakes:  uint64(s.late_wakes),
		Services:   uint64(s.services),
		ThreadID:   int64(s.thread_id),
	}, nil
}

// ResetStats makes the counters of the core zero; those of its services stay.
func (c *ServiceCore) ResetStats() error {
	return c.do(func() C.int { return C.fpgo_core_reset_stats(c.core) })
}
