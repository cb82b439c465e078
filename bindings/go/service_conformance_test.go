// SPDX-License-Identifier: BSD-2-Clause

// The conformance script of services and cores.

package fp

import (
	"context"
	"encoding/json"
	"runtime"
	"sync/atomic"
	"time"
)

// scripted is what a service calls: it returns what the script says, in turn.
type scripted struct {
	calls   atomic.Int64
	returns []any
}

func (s *scripted) run() (worked bool, err error) {
	call := int(s.calls.Add(1)) - 1
	if call >= len(s.returns) {
		call = len(s.returns) - 1
	}
	name, isError := s.returns[call].(string)
	if !isError {
		return true, nil
	}
	for number, text := range errnoNames {
		if text == name && number != ErrAgain {
			return false, number
		}
	}
	return false, nil // -EAGAIN
}

type servicePlayer struct {
	flags     uint32
	services  map[string]*Service
	cores     map[string]*ServiceCore
	functions map[string]*scripted
}

func newServicePlayer(k kind) player {
	p := &servicePlayer{services: map[string]*Service{}, cores: map[string]*ServiceCore{},
		functions: map[string]*scripted{}}
	if k.producer == MT {
		p.flags = ServiceMTSafe
	}
	return p
}

func (p *servicePlayer) open() int { return len(p.services) + len(p.cores) }

func (p *servicePlayer) end() {
	for _, c := range p.cores {
		_ = c.Stop(context.Background())
		_ = c.Close()
	}
	for _, s := range p.services {
		_ = s.Close()
	}
}

func (p *servicePlayer) create(f fields, name string) error {
	function := &scripted{returns: []any{0}}
	f.take("returns", &function.returns)
	p.functions[name] = function
	cycles := map[string]uint32{"off": ServiceCyclesOff, "sampled": ServiceCyclesSampled,
		"exact": ServiceCyclesExact}[f.text("cycles", "off")]
	s, err := NewService(ServiceOptions{
		Run:    function.run,
		Name:   f.text("name", ""),
		Cycles: cycles,
		Flags: p.flags | flag(f.yes("wakeable"), ServiceWakeable) |
			flag(f.yes("not_ready"), ServiceNotReady),
	})
	if err == nil {
		p.services[name] = s
	}
	return err
}

// without is a call that needs no service; false: it is none of them.
func (p *servicePlayer) without(do, name string, f fields) (got any, found bool) {
	switch do {
	case "create":
		return result(0, p.create(f, name)), true
	case "lookup":
		s, err := LookupService(f.text("name", ""))
		if err == nil {
			p.services[name] = s
		}
		return result(0, err), true
	case "calls":
		return int(p.functions[name].calls.Load()), true
	case "await_calls":
		for n := int64(f.number("n", 1)); p.functions[name].calls.Load() < n; {
			runtime.Gosched()
		}
		return 0, true
	}
	return nil, false
}

// runOnce compares what the function returned: that it has worked is all that Go is told.
func (p *servicePlayer) runOnce(s *Service, f fields) error {
	worked, err := s.RunOnce()
	var raw json.RawMessage
	if !f.take("result", &raw) {
		return err
	}
	var name string
	if json.Unmarshal(raw, &name) != nil {
		name = ""
	}
	got := ""
	if err != nil {
		got = errnoNames[err.(Errno)]
	} else if !worked {
		got = "-EAGAIN"
	}
	if got != name {
		panic("the function's result is " + got)
	}
	return nil
}

// onCore makes a call of a core.
func (p *servicePlayer) onCore(do, name string, f fields) (o outcome) {
	switch do {
	case "core_create":
		idle := map[string]uint32{"sleep": ServiceCoreSleep, "yield": ServiceCoreYield,
			"spin": ServiceCoreSpin}[f.text("idle", "sleep")]
		c, err := NewServiceCore(ServiceCoreOptions{Name: f.text("name", ""), Idle: idle})
		if err == nil {
			p.cores[name] = c
		}
		return outcome{expect: result(0, err)}
	case "core_lookup":
		c, err := LookupServiceCore(f.text("name", ""))
		if err == nil {
			p.cores[name] = c
		}
		return outcome{expect: result(0, err)}
	}
	c := p.cores[name]
	if c == nil {
		panic("no core " + name)
	}
	var err error
	switch do {
	case "core_destroy", "core_unref":
		if err = c.Close(); err == nil {
			delete(p.cores, name)
		}
	case "core_name":
		if o.expect = any(c.Name()); c.Name() == "" {
			o.expect = nil
		}
		return o
	case "core_start":
		err = c.Start()
	case "core_stop":
		ctx, cancel := f.context()
		defer cancel()
		err = c.Stop(ctx)
	case "core_run": // one loop, for which Go needs no error
		if err = c.RunLoop(); err == nil {
			err = ErrTimeout
		}
	case "core_stats":
		var s ServiceCoreStats
		s, err = c.Stats()
		o.fields = map[string]uint64{"state": uint64(s.State), "loops": s.Loops,
			"idle_loops": s.IdleLoops, "cycle_hz": s.CycleHz, "sleeps": s.Sleeps,
			"naps": s.Naps, "wakes": s.Wakes, "services": s.Services,
			"thread_id": uint64(s.ThreadID)}
	case "core_reset_stats":
		err = c.ResetStats()
	default:
		panic("unknown call " + do)
	}
	o.expect = result(0, err)
	return o
}

// call makes the call of a step and says what came of it.
func (p *servicePlayer) call(do string, f fields) (o outcome) {
	name, core := f.text("service", "s"), f.text("core", "c")
	if got, found := p.without(do, name, f); found {
		o.expect = got
		return o
	}
	if len(do) > 5 && do[:5] == "core_" {
		return p.onCore(do, core, f)
	}
	s, c := p.services[name], p.cores[core]
	if s == nil {
		panic("no service " + name)
	}
	ctx, cancel := f.context()
	defer cancel()
	var yes bool
	var err error
	switch do {
	case "destroy", "unref":
		f.yes("force") // Close always does
		if err = s.Close(); err == nil {
			delete(p.services, name)
		}
	case "name":
		if o.expect = any(s.Name()); s.Name() == "" {
			o.expect = nil
		}
		return o
	case "set_ready":
		err = s.SetReady(ctx, f.number("ready", 0) == 1)
	case "start":
		err = s.Start()
	case "stop":
		err = s.Stop(ctx)
	case "map":
		err = s.Map(c)
	case "unmap":
		err = s.Unmap(ctx, c)
	case "is_mapped":
		yes, err = s.IsMapped(c)
	case "is_runnable":
		yes, err = s.IsRunnable()
	case "is_active":
		yes, err = s.IsActive()
	case "run_once":
		err = p.runOnce(s, f)
	case "set_deadline":
		var at time.Time
		if f.number("deadline", 0) != 0 {
			at = time.Now()
		}
		err = s.SetDeadline(at)
	case "stats":
		var st ServiceStats
		st, err = s.Stats()
		o.fields = map[string]uint64{"flags": uint64(st.Flags), "calls": st.Calls,
			"idle": st.Idle, "errors": st.Errors, "busy": st.Busy, "cycles": st.Cycles,
			"longest": st.Longest, "cycle_hz": st.CycleHz, "cores": st.Cores,
			"deadline_ns": st.DeadlineNS}
	case "map_stats":
		var st ServiceMapStats
		st, err = s.MapStats(c)
		o.fields = map[string]uint64{"calls": st.Calls, "idle": st.Idle, "errors": st.Errors,
			"busy": st.Busy, "cycles": st.Cycles}
	case "reset_stats":
		err = s.ResetStats()
	default:
		panic("unknown call " + do)
	}
	o.expect = result(number(yes), err)
	return o
}
