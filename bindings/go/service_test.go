// SPDX-License-Identifier: BSD-2-Clause

// Services and cores: every method and error, and what a function of Go may do inside.

package fp

import (
	"context"
	"debug/elf"
	"errors"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

func makeService(t testing.TB, flags uint32, run func() (bool, error)) *Service {
	t.Helper()
	s, err := NewService(ServiceOptions{Run: run, Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close at the end: %v", err)
		}
	})
	return s
}

func makeCore(t testing.TB) *ServiceCore {
	t.Helper()
	c, err := NewServiceCore(ServiceCoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(bg); err != ErrAlready {
			wantErr(t, "Stop at the end", err, nil)
		}
		until(t, "Close of the core", func() bool { return c.Close() != ErrBusy })
	})
	return c
}

// started maps a service to a core and starts it.
func started(t testing.TB, s *Service, c *ServiceCore) {
	t.Helper()
	wantErr(t, "Map", s.Map(c), nil)
	wantErr(t, "Start", s.Start(), nil)
}

// eachWay runs a test with a core on a thread of its own, and on a goroutine's. stop ends
// the core and returns what Run has returned.
func eachWay(t *testing.T, test func(t *testing.T, c *ServiceCore, start func() (stop func() error))) {
	t.Run("own thread", func(t *testing.T) {
		c := makeCore(t)
		test(t, c, func() func() error {
			wantErr(t, "Start", c.Start(), nil)
			return func() error {
				wantErr(t, "Stop", c.Stop(bg), nil)
				return nil
			}
		})
	})
	t.Run("goroutine", func(t *testing.T) {
		c := makeCore(t)
		test(t, c, func() func() error {
			done := make(chan error, 1)
			go func() { done <- c.Run(bg) }()
			until(t, "Run", func() bool {
				s, _ := c.Stats()
				return s.State != ServiceCoreStopped || len(done) == 1
			})
			return func() error {
				if err := c.Stop(bg); err != ErrAlready {
					wantErr(t, "Stop", err, nil)
				}
				return <-done
			}
		})
	})
}

func TestAFunctionOfGoIsCalled(t *testing.T) {
	eachWay(t, func(t *testing.T, c *ServiceCore, start func() func() error) {
		calls := 0 // no atomic: after Stop nobody is inside
		s := makeService(t, 0, func() (bool, error) {
			calls++
			return calls%2 == 0, nil
		})
		started(t, s, c)
		for round := 0; round < 3; round++ {
			stop := start()
			until(t, "calls", func() bool { n, _ := s.Stats(); return n.Calls > uint64(100*round+100) })
			wantErr(t, "Stop", s.Stop(bg), nil)
			before := calls
			runtime.Gosched()
			want(t, "calls after Stop", calls, before)
			stats, _ := s.Stats()
			want(t, "counted", stats.Calls, uint64(calls))
			want(t, "idle", stats.Idle, uint64((calls+1)/2))
			wantErr(t, "Start", s.Start(), nil)
			wantErr(t, "the loop", stop(), nil)
		}
		m, err := s.MapStats(c)
		wantErr(t, "MapStats", err, nil)
		want(t, "on this core", m.Calls, uint64(calls))
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	c := makeCore(t)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	wantErr(t, "cancelled before", c.Run(ctx), context.Canceled)
	for round := 0; round < 50; round++ {
		ctx, cancel := context.WithCancel(bg)
		go cancel() // perhaps before the loop has begun
		wantErr(t, "Run", c.Run(ctx), context.Canceled)
	}
	wantErr(t, "a deadline", c.Run(later(t)), context.DeadlineExceeded)
	wantErr(t, "the core lives on", c.RunLoop(), nil)
}

func TestOneLoop(t *testing.T) {
	c, calls := makeCore(t), 0
	s := makeService(t, 0, func() (bool, error) { calls++; return true, nil })
	started(t, s, c)
	for i := 1; i < 4; i++ {
		wantErr(t, "RunLoop", c.RunLoop(), nil)
		want(t, "calls", calls, i)
	}
	wantErr(t, "Stop of a core that does not run", c.Stop(bg), ErrAlready)
}

func TestACoreRunsOnce(t *testing.T) {
	eachWay(t, func(t *testing.T, c *ServiceCore, start func() func() error) {
		stop := start()
		wantErr(t, "Start", c.Start(), ErrAlready)
		wantErr(t, "Run", c.Run(bg), ErrAlready)
		wantErr(t, "RunLoop", c.RunLoop(), ErrAlready)
		wantErr(t, "Close", c.Close(), ErrBusy)
		wantErr(t, "SetCPUs", c.SetCPUs(0), ErrBusy)
		stop()
		wantErr(t, "SetCPUs", c.SetCPUs(0, 1), nil)
		wantErr(t, "SetCPUs", c.SetCPUs(), nil)
		wantErr(t, "no such CPU", c.SetCPUs(ServiceCoreCPUMax+1), ErrInvalid)
	})
}

func TestErrorsOfAFunction(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		worked bool
		err    error
	}{{true, nil}, {false, nil}, {false, boom}, {true, ErrBusy}, {false, ErrAgain}} {
		s := makeService(t, 0, func() (bool, error) { return c.worked, c.err })
		s.Start()
		worked, err := s.RunOnce()
		if c.err == ErrAgain {
			c.err = nil
		}
		want(t, "worked", worked, c.worked && c.err == nil)
		wantErr(t, "RunOnce", err, c.err)
		wantErr(t, "Err", s.Err(), c.err)
		stats, _ := s.Stats()
		want(t, "errors", stats.Errors == 1, c.err != nil)
		want(t, "idle", stats.Idle == 1, c.err == nil && !c.worked)
	}
}

func TestAPanicStopsTheServiceAndIsAnError(t *testing.T) {
	eachWay(t, func(t *testing.T, c *ServiceCore, start func() func() error) {
		calls, others := 0, uint64(0)
		s := makeService(t, 0, func() (bool, error) {
			if calls++; calls == 3 {
				panic(errors.New("the third"))
			}
			return true, nil
		})
		other := makeService(t, 0, func() (bool, error) { atomic.AddUint64(&others, 1); return true, nil })
		started(t, s, c)
		started(t, other, c)
		stop := start()
		until(t, "the panic", func() bool { return s.Err() != nil })
		seen := atomic.LoadUint64(&others)
		if strings.HasSuffix(t.Name(), "goroutine") {
			until(t, "the end of Run", func() bool {
				n, _ := c.Stats()
				return n.State == ServiceCoreStopped
			})
		} else {
			until(t, "the other", func() bool { return atomic.LoadUint64(&others) > seen })
		}
		var fell *ServicePanic
		if err := stop(); err != nil { // a goroutine's
			if !errors.As(err, &fell) {
				t.Fatal("Run:", err)
			}
		} else if !errors.As(s.Err(), &fell) {
			t.Fatal("Err:", s.Err())
		}
		want(t, "value", errors.Unwrap(fell).Error(), "the third")
		if !regexp.MustCompile(`TestAPanicStops`).Match(fell.Stack) {
			t.Errorf("stack: %s", fell.Stack)
		}
		runnable, _ := s.IsRunnable()
		want(t, "runnable", runnable, false)
		want(t, "calls", calls, 3)
		wantErr(t, "the core goes on", c.RunLoop(), nil)
		want(t, "calls", calls, 3)
		wantErr(t, "started again", s.Start(), nil)
		wantErr(t, "the core goes on", c.RunLoop(), nil)
		want(t, "calls", calls, 4)
	})
	s := makeService(t, 0, func() (bool, error) { panic("in RunOnce") })
	s.Start()
	_, err := s.RunOnce()
	var fell *ServicePanic
	if !errors.As(err, &fell) || fell.Value != "in RunOnce" || errors.Unwrap(fell) != nil {
		t.Error("RunOnce:", err)
	}
	_, err = s.RunOnce()
	wantErr(t, "it is stopped", err, ErrShutdown)
}

func TestWhoWaitsForAFunction(t *testing.T) {
	eachWay(t, func(t *testing.T, c *ServiceCore, start func() func() error) {
		inside, leave := make(chan bool), make(chan bool)
		s := makeService(t, 0, func() (bool, error) {
			inside <- true
			<-leave
			return true, nil
		})
		started(t, s, c)
		stop := start()
		<-inside
		_, err := s.RunOnce()
		wantErr(t, "RunOnce beside it", err, ErrBusy)
		wantErr(t, "Stop", s.Stop(later(t)), context.DeadlineExceeded)
		wantErr(t, "Unmap", s.Unmap(later(t), c), context.DeadlineExceeded)
		wantErr(t, "SetReady", s.SetReady(later(t), false), context.DeadlineExceeded)
		wantErr(t, "Stop of the core", c.Stop(later(t)), context.DeadlineExceeded)
		cancelled, cancel := context.WithCancel(bg)
		cancel()
		wantErr(t, "Stop", s.Stop(cancelled), context.Canceled)
		active, _ := s.IsActive()
		want(t, "active", active, true)
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		leave <- true
		wantErr(t, "Close", <-closed, nil)
		stop2 := make(chan error)
		go func() { stop2 <- stopped(c) }()
		wantErr(t, "Stop", <-stop2, nil)
		_ = stop
	})
}

// stopped ends a core that was told to stop before.
func stopped(c *ServiceCore) error {
	if err := c.Stop(bg); err != ErrAlready {
		return err
	}
	return nil
}

func TestInsideAFunction(t *testing.T) {
	eachWay(t, func(t *testing.T, c *ServiceCore, start func() func() error) {
		var s, other *Service
		errs := map[string]error{}
		ran, done := false, make(chan bool)
		other = makeService(t, 0, func() (bool, error) { ran = true; return true, nil })
		other.Start()
		s = makeService(t, 0, func() (bool, error) {
			errs["SetDeadline"] = s.SetDeadline(time.Now())
			_, errs["Stats"] = s.Stats()
			_, errs["RunOnce"] = other.RunOnce()
			errs["Run"] = c.Run(bg)
			_, errs["StartDefaults"] = StartDefaults(c)
			errs["Map"] = other.Map(c)
			errs["Unmap"] = s.Unmap(bg, c)
			errs["Stop"] = s.Stop(bg)
			errs["SetReady"] = s.SetReady(bg, false)
			errs["Stop of the core"] = c.Stop(bg)
			errs["Close of the core"] = c.Close()
			errs["Close"] = s.Close()
			close(done)
			return true, nil
		})
		started(t, s, c)
		stop := start()
		<-done
		stop2 := make(chan error, 1)
		go func() { stop2 <- stopped(c) }()
		wantErr(t, "Stop", <-stop2, nil)
		_ = stop
		until(t, "Close", func() bool { _, err := s.Stats(); return err == ErrClosed })
		want(t, "ran", ran, true)
		wantErr(t, "close of the other", other.Close(), nil)
		for what, wanted := range map[string]error{"SetDeadline": nil, "Stats": nil, "RunOnce": nil,
			"Run": ErrDeadlock, "StartDefaults": ErrDeadlock, "Map": nil, "Unmap": ErrInProgress,
			"Stop": ErrInProgress, "SetReady": ErrInProgress, "Stop of the core": ErrInProgress,
			"Close of the core": ErrBusy, "Close": ErrInProgress} {
			wantErr(t, what, errs[what], wanted)
		}
	})
}

// Close waits for a function that makes calls on its own service meanwhile.
func TestCloseBesideItsFunction(t *testing.T) {
	eachWay(t, func(t *testing.T, c *ServiceCore, start func() func() error) {
		stop := start()
		for round := 0; round < 20; round++ {
			var s *Service
			s, err := NewService(ServiceOptions{Run: func() (bool, error) {
				s.SetDeadline(time.Now())
				s.Stats()
				c.Stats()
				return true, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			started(t, s, c)
			if round%2 == 0 {
				until(t, "a call", func() bool { n, _ := s.Stats(); return n.Calls > 0 })
			}
			wantErr(t, "Close", s.Close(), nil)
		}
		stop()
	})
}

func TestARingWakesACore(t *testing.T) {
	eachWay(t, func(t *testing.T, c *ServiceCore, start func() func() error) {
		r, sum := makeRing(t, kind{MT, MT}, 64, 8), uint64(0)
		v := make([]uint64, 8)
		s := makeService(t, 0, func() (bool, error) {
			n, err := r.DequeueBurst(v)
			for _, x := range v[:n] {
				atomic.AddUint64(&sum, x)
			}
			return n > 0, err
		})
		w := s.Wakeup()
		wantErr(t, "SetWakeup", r.SetWakeup(RingConsumer, w), nil)
		started(t, s, c)
		stop := start()
		for i := uint64(1); i < 6; i++ {
			until(t, "sleep", func() bool { n, _ := c.Stats(); return n.State == ServiceCoreAsleep })
			r.Enqueue(i)
			until(t, "the element", func() bool { return atomic.LoadUint64(&sum) == i*(i+1)/2 })
		}
		wantErr(t, "Close of the service", s.Close(), ErrBusy)
		wantErr(t, "Close of its wake-up", w.Close(), ErrNotSupported)
		_, err := w.Prepare()
		wantErr(t, "Prepare", err, ErrNotSupported)
		_, err = w.Signal()
		wantErr(t, "Signal", err, nil)
		_, err = c.Wakeup().Signal()
		wantErr(t, "Signal of the core", err, nil)
		_, err = r.DequeueWait(bg, v, 1)
		wantErr(t, "DequeueWait", err, ErrNotSupported)
		wantErr(t, "unbind", r.SetWakeup(RingConsumer, nil), nil)
		stop()
		wantErr(t, "Close", s.Close(), nil)
		_, err = w.Signal()
		wantErr(t, "Signal after Close", err, ErrClosed)
	})
}

func TestDeadlines(t *testing.T) {
	c := makeCore(t)
	var calls uint64
	s := makeService(t, ServiceWakeable, func() (bool, error) {
		atomic.AddUint64(&calls, 1)
		return false, nil
	})
	started(t, s, c)
	wantErr(t, "Start", c.Start(), nil)
	for round := 0; round < 3; round++ {
		until(t, "sleep", func() bool { n, _ := c.Stats(); return n.State == ServiceCoreAsleep })
		before := atomic.LoadUint64(&calls)
		wantErr(t, "SetDeadline", s.SetDeadline(time.Now().Add(2*time.Millisecond)), nil)
		until(t, "the call", func() bool { return atomic.LoadUint64(&calls) > before })
		stats, _ := s.Stats()
		if stats.DeadlineNS == 0 {
			t.Error("no deadline")
		}
		s.SetDeadline(time.Time{})
		stats, _ = s.Stats()
		want(t, "deadline", stats.DeadlineNS, uint64(0))
	}
}

func TestNamesOfServices(t *testing.T) {
	s, err := NewService(ServiceOptions{Name: "go-service", Run: func() (bool, error) { return true, nil }})
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewServiceCore(ServiceCoreOptions{Name: "go-core"})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "name", s.Name()+" "+c.Name(), "go-service go-core")
	_, err = NewService(ServiceOptions{Name: "go-service", Run: func() (bool, error) { return true, nil }})
	wantErr(t, "the same name", err, ErrExist)
	_, err = NewServiceCore(ServiceCoreOptions{Name: "go-core"})
	wantErr(t, "the same name", err, ErrExist)
	_, err = LookupService("go-none")
	wantErr(t, "LookupService", err, ErrNotExist)
	_, err = LookupServiceCore("go-none")
	wantErr(t, "LookupServiceCore", err, ErrNotExist)
	foundS, err := LookupService("go-service")
	wantErr(t, "LookupService", err, nil)
	foundC, err := LookupServiceCore("go-core")
	wantErr(t, "LookupServiceCore", err, nil)
	wantErr(t, "Map", foundS.Map(foundC), nil)
	mapped, _ := s.IsMapped(c)
	want(t, "mapped", mapped, true)
	wantErr(t, "Start", foundS.Start(), nil)
	worked, err := foundS.RunOnce()
	want(t, "worked", worked, true)
	wantErr(t, "RunOnce", err, nil)
	wantErr(t, "Close", s.Close(), ErrBusy)
	wantErr(t, "Close", c.Close(), ErrBusy)
	wantErr(t, "it lives on", s.Start(), nil)

	all, err := ListServices()
	wantErr(t, "ListServices", err, nil)
	ofCore, err := c.Services()
	wantErr(t, "Services", err, nil)
	want(t, "services of the core", len(ofCore), 1)
	cores, err := ListServiceCores()
	wantErr(t, "ListServiceCores", err, nil)
	names := ""
	for _, s := range append(all, ofCore...) {
		names += s.Name() + " "
		wantErr(t, "Close", s.Close(), nil)
	}
	for _, c := range cores {
		names += c.Name()
		wantErr(t, "Close", c.Close(), nil)
	}
	want(t, "names", names, "go-service go-service go-core")
	wantErr(t, "Close", foundS.Close(), nil)
	wantErr(t, "Close", foundC.Close(), nil)
	wantErr(t, "Close", c.Close(), nil)
	wantErr(t, "Close", s.Close(), nil)
}

func TestManyServicesAreListed(t *testing.T) {
	c := makeCore(t)
	for i := 0; i < 50; i++ {
		wantErr(t, "Map", makeService(t, 0, func() (bool, error) { return true, nil }).Map(c), nil)
	}
	all, err := c.Services()
	wantErr(t, "Services", err, nil)
	want(t, "services", len(all), 50)
	for _, s := range all {
		wantErr(t, "Close", s.Close(), nil)
	}
}

func TestDefaults(t *testing.T) {
	a, b := makeCore(t), makeCore(t)
	var calls uint64
	for i := 0; i < 4; i++ {
		makeService(t, 0, func() (bool, error) { atomic.AddUint64(&calls, 1); return true, nil })
	}
	n, err := StartDefaults(a, b)
	moved(t, "StartDefaults", n, err, 4)
	until(t, "calls", func() bool { return atomic.LoadUint64(&calls) > 100 })
	for _, c := range []*ServiceCore{a, b} {
		s, _ := c.Stats()
		want(t, "services", s.Services, uint64(2))
		wantErr(t, "ResetStats", c.ResetStats(), nil)
	}
	_, err = StartDefaults()
	wantErr(t, "no cores", err, ErrInvalid)
	_, err = StartDefaults(a, nil)
	wantErr(t, "no core", err, ErrInvalid)
}

// symbol is the address of a function of the library, which C code of a user would have.
func symbol(t *testing.T, name string) unsafe.Pointer {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^([0-9a-f]+)-\S+ \S+ 0+ .* (/\S*libfp\.so\S*)$`).FindSubmatch(maps)
	if found == nil {
		t.Skip("libfp.so is not mapped: linked statically")
	}
	base, err := strconv.ParseUint(string(found[1]), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(string(found[2]))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == name {
			address := uintptr(base + s.Value)
			return *(*unsafe.Pointer)(unsafe.Pointer(&address))
		}
	}
	t.Fatal("no symbol ", name)
	return nil
}

// A function of the library that takes a pointer stands for one of the user's.
func TestAFunctionOfC(t *testing.T) {
	r := makeRing(t, kind{MT, MT}, 4, 8)
	s, err := NewService(ServiceOptions{Address: symbol(t, "fp_ring_close"), User: r.Handle()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := makeCore(t)
	started(t, s, c)
	wantErr(t, "Start", c.Start(), nil)
	until(t, "a call", func() bool { closed, _ := r.IsProducerClosed(); return closed })
	wantErr(t, "Stop", s.Stop(bg), nil)
	wantErr(t, "Start", s.Start(), nil)
	until(t, "RunOnce", func() bool { worked, err := s.RunOnce(); return worked && err == nil })
	wantErr(t, "Err", s.Err(), nil)
}

func TestServicesThatCannotBe(t *testing.T) {
	run := func() (bool, error) { return true, nil }
	_, err := NewService(ServiceOptions{})
	wantErr(t, "no function", err, ErrInvalid)
	_, err = NewService(ServiceOptions{Run: run, Address: unsafe.Pointer(t)})
	wantErr(t, "two functions", err, ErrInvalid)
	_, err = NewService(ServiceOptions{Run: run, Flags: 1 << 30})
	wantErr(t, "an unknown flag", err, ErrNotSupported)
	_, err = NewService(ServiceOptions{Run: run, Cycles: 7})
	wantErr(t, "unknown cycles", err, ErrNotSupported)
	_, err = NewServiceCore(ServiceCoreOptions{Idle: 9})
	wantErr(t, "an unknown idle value", err, ErrNotSupported)
	_, err = NewServiceCore(ServiceCoreOptions{Spin: -1})
	wantErr(t, "a negative time", err, ErrInvalid)
	c, err := NewServiceCore(ServiceCoreOptions{Flags: ServiceCoreNapNS | ServiceCoreSpinNS,
		LateMargin: time.Microsecond, MaxSleep: time.Second, Unwakeable: time.Millisecond,
		StackSize: 1 << 20, Idle: ServiceCoreYield})
	wantErr(t, "all options", err, nil)
	wantErr(t, "RunLoop", c.RunLoop(), nil)
	s := makeService(t, ServiceNotReady, run)
	s.Start()
	_, err = s.RunOnce()
	wantErr(t, "not ready", err, ErrShutdown)
	wantErr(t, "SetReady", s.SetReady(bg, true), nil)
	_, err = s.RunOnce()
	wantErr(t, "RunOnce", err, nil)
	_, err = s.MapStats(c)
	wantErr(t, "not mapped", err, ErrNotExist)
	wantErr(t, "ResetStats", s.ResetStats(), nil)

	closedS := makeService(t, 0, run)
	closedS.Close()
	c.Close()
	for _, s := range []*Service{nil, {}, closedS} {
		wanted := ErrInvalid
		if s != nil && s.made {
			wanted = ErrClosed
		}
		wantErr(t, "Start", s.Start(), wanted)
		wantErr(t, "Stop", s.Stop(bg), wanted)
		wantErr(t, "SetReady", s.SetReady(bg, true), wanted)
		wantErr(t, "Map", s.Map(c), wanted)
		wantErr(t, "Unmap", s.Unmap(bg, c), wanted)
		wantErr(t, "SetDeadline", s.SetDeadline(time.Now()), wanted)
		wantErr(t, "ResetStats", s.ResetStats(), wanted)
		_, err = s.RunOnce()
		wantErr(t, "RunOnce", err, wanted)
		_, err = s.Stats()
		wantErr(t, "Stats", err, wanted)
		_, err = s.IsActive()
		wantErr(t, "IsActive", err, wanted)
		_, err = s.IsRunnable()
		wantErr(t, "IsRunnable", err, wanted)
		_, err = s.IsMapped(c)
		wantErr(t, "IsMapped", err, wanted)
		_, err = s.MapStats(c)
		wantErr(t, "MapStats", err, wanted)
		want(t, "Wakeup", s.Wakeup(), (*Wakeup)(nil))
		want(t, "Handle", s.Handle(), nil)
		wantErr(t, "Err", s.Err(), nil)
		wantErr(t, "Close", s.Close(), nil)
	}
	for _, c := range []*ServiceCore{nil, {}, c} {
		wanted := ErrInvalid
		if c != nil && c.made {
			wanted = ErrClosed
		}
		wantErr(t, "Start", c.Start(), wanted)
		wantErr(t, "Stop", c.Stop(bg), wanted)
		wantErr(t, "Run", c.Run(bg), wanted)
		wantErr(t, "RunLoop", c.RunLoop(), wanted)
		wantErr(t, "SetCPUs", c.SetCPUs(1), wanted)
		wantErr(t, "ResetStats", c.ResetStats(), wanted)
		_, err = c.Stats()
		wantErr(t, "Stats", err, wanted)
		_, err = c.Services()
		wantErr(t, "Services", err, wanted)
		wantErr(t, "Map", s.Map(c), wanted)
		_, err = StartDefaults(c)
		wantErr(t, "StartDefaults", err, wanted)
		want(t, "Wakeup", c.Wakeup(), (*Wakeup)(nil))
		want(t, "Handle", c.Handle(), nil)
		wantErr(t, "Close", c.Close(), nil)
	}
}

// A service that nobody closes is collected, with what its function holds; one that is
// mapped stays.
func TestServicesAreCollected(t *testing.T) {
	var collected uint64
	for i := 0; i < 20; i++ {
		held := new([64]byte)
		runtime.SetFinalizer(held, func(*[64]byte) { atomic.AddUint64(&collected, 1) })
		if _, err := NewService(ServiceOptions{Run: func() (bool, error) { return held[0] > 0, nil }}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the garbage collector", func() bool {
		runtime.GC()
		return atomic.LoadUint64(&collected) == 20
	})
}

// Serialised services on several cores of both kinds and RunOnce, started, stopped, mapped
// and unmapped meanwhile: one at a time, none after Stop, and all are counted.
func TestChurn(t *testing.T) {
	rounds := 300
	if raceEnabled || testing.Short() {
		rounds = 60
	}
	native, lent := makeCore(t), makeCore(t)
	ctx, cancel := context.WithCancel(bg)
	done := make(chan error)
	go func() { done <- lent.Run(ctx) }()
	wantErr(t, "Start", native.Start(), nil)
	var all sync.WaitGroup
	for g := 0; g < 3; g++ {
		all.Add(1)
		go func() {
			defer all.Done()
			calls := uint64(0) // the race detector looks, too
			s, err := NewService(ServiceOptions{Run: func() (bool, error) { calls++; return calls%3 > 0, nil }})
			if err != nil {
				t.Error(err)
				return
			}
			for i := 0; i < rounds; i++ {
				wantErr(t, "Map", s.Map(native), nil)
				wantErr(t, "Map", s.Map(lent), nil)
				wantErr(t, "Start", s.Start(), nil)
				if _, err := s.RunOnce(); err != nil && err != ErrBusy {
					t.Error("RunOnce:", err)
				}
				if i%3 == 0 {
					wantErr(t, "Unmap", s.Unmap(bg, []*ServiceCore{native, lent}[i%2]), nil)
				}
				wantErr(t, "Stop", s.Stop(bg), nil)
				stats, _ := s.Stats()
				want(t, "calls", stats.Calls, calls)
			}
			wantErr(t, "Close", s.Close(), nil)
		}()
	}
	all.Wait()
	cancel()
	wantErr(t, "Run", <-done, context.Canceled)
}
