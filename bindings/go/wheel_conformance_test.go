// SPDX-License-Identifier: BSD-2-Clause

// The conformance script of timer wheels.

package fp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
)

var policyNames = map[string]uint32{"skip": TimerSkip, "coalesce": TimerCoalesce,
	"catch_up": TimerCatchUp}

type wheelPlayer struct {
	wheels  map[string]*Wheel
	timers  map[string]TimerID
	wakeups map[string]*Wakeup
	cores   map[string]*ServiceCore
	service map[*Wheel]*Service
}

// newWheelPlayer makes a player that stays on its thread: of one tick timers fire in the
// order in which one thread armed them.
func newWheelPlayer(kind) player {
	runtime.LockOSThread()
	return &wheelPlayer{map[string]*Wheel{}, map[string]TimerID{}, map[string]*Wakeup{},
		map[string]*ServiceCore{}, map[*Wheel]*Service{}}
}

func (p *wheelPlayer) open() int { return len(p.wheels) + len(p.wakeups) + len(p.cores) }

func (p *wheelPlayer) end() {
	defer runtime.UnlockOSThread()
	for _, c := range p.cores {
		_ = c.Close()
	}
	for _, w := range p.wheels {
		_ = w.Close()
	}
	for _, u := range p.wakeups {
		_ = u.Close()
	}
}

// ---- values of the script ----

// bits is a number of 64 bits, in hexadecimal or by the wheel's clock if it is a string.
func bits(w *Wheel, raw json.RawMessage) uint64 {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		var value uint64
		if err := json.Unmarshal(raw, &value); err != nil {
			panic(err)
		}
		return value
	}
	base, from := 0, uint64(0)
	if strings.HasPrefix(text, "now") {
		from, _ = w.Now()
		if text = strings.TrimPrefix(text[3:], "+"); text == "" {
			return from
		}
		base = 10
	}
	value, err := strconv.ParseUint(text, base, 64)
	if err != nil {
		panic(err)
	}
	return from + value
}

func (f fields) bits(w *Wheel, key string) uint64 {
	var raw json.RawMessage
	if !f.take(key, &raw) {
		return 0
	}
	return bits(w, raw)
}

func (f fields) allBits(w *Wheel, key string) []uint64 {
	var raw []json.RawMessage
	f.take(key, &raw)
	values := make([]uint64, len(raw))
	for i := range raw {
		values[i] = bits(w, raw[i])
	}
	return values
}

// id is the timer of a name; null: 0.
func (p *wheelPlayer) id(f fields) TimerID {
	raw := json.RawMessage(`"t"`)
	f.take("timer", &raw)
	var name *string
	if err := json.Unmarshal(raw, &name); err != nil {
		panic(err)
	}
	return p.named(name)
}

func (p *wheelPlayer) named(name *string) TimerID {
	if name == nil {
		return 0
	}
	id, found := p.timers[*name]
	if !found {
		panic("no timer " + *name)
	}
	return id
}

func (p *wheelPlayer) ids(f fields) []TimerID {
	var names []*string
	f.take("timers", &names)
	ids := make([]TimerID, len(names))
	for i, name := range names {
		ids[i] = p.named(name)
	}
	return ids
}

// ---- what is compared ----

// differs compares what the script gives of a timer with what there is: "" if all is so.
func (p *wheelPlayer) differs(raw json.RawMessage, got map[string]any) string {
	f := fields{}
	if bytes.HasPrefix(raw, []byte(`"`)) {
		f["timer"] = raw
	} else if err := json.Unmarshal(raw, &f); err != nil {
		panic(err)
	}
	for key, raw := range f {
		value, known := got[key]
		if !known {
			panic("unknown key " + key)
		}
		var same bool
		switch value := value.(type) {
		case TimerID:
			var name string
			_ = json.Unmarshal(raw, &name)
			same = p.named(&name) == value
		case uint64:
			same = bits(nil, raw) == value
		default:
			text, err := json.Marshal(value)
			same = err == nil && string(text) == string(raw)
		}
		if !same {
			return fmt.Sprint(key, " is ", value)
		}
	}
	return ""
}

// records compares `out`.
func (p *wheelPlayer) records(expired []Expired) func(f fields) (string, any, any) {
	return func(f fields) (string, any, any) {
		var out []json.RawMessage
		if !f.take("out", &out) {
			return "", nil, nil
		}
		if len(out) != len(expired) {
			return "out", len(out), len(expired)
		}
		for i, e := range expired {
			if problem := p.differs(out[i], map[string]any{"timer": e.ID, "user": e.User,
				"expiry": e.Expiry, "overruns": uint64(e.Overruns),
				"periodic": e.Flags&TimerIsPeriodic != 0}); problem != "" {
				return "out", string(out[i]), problem
			}
		}
		return "", nil, nil
	}
}

// infos compares `infos`, in any order.
func (p *wheelPlayer) infos(shown []TimerInfo) func(f fields) (string, any, any) {
	return func(f fields) (string, any, any) {
		var infos []json.RawMessage
		f.take("infos", &infos)
		if len(infos) != len(shown) {
			return "infos", len(infos), len(shown)
		}
		for _, raw := range infos {
			found := false
			for _, i := range shown {
				policy := ""
				for name, number := range policyNames {
					if number == i.Policy {
						policy = name
					}
				}
				found = found || p.differs(raw, map[string]any{"timer": i.ID, "user": i.User,
					"armed": i.Flags&TimerIsArmed != 0, "expiry": i.Expiry,
					"periodic": i.Flags&TimerIsPeriodic != 0, "period": i.Period,
					"policy": policy}) == ""
			}
			if !found {
				return "infos", string(raw), shown
			}
		}
		return "", nil, nil
	}
}

// results compares `results`.
func results(got []TimerResult) func(f fields) (string, any, any) {
	return func(f fields) (string, any, any) {
		var wanted []any
		if !f.take("results", &wanted) {
			return "", nil, nil
		}
		if len(wanted) != len(got) {
			return "results", wanted, got
		}
		for i, r := range got {
			if is := result(int(r), r.Err()); fmt.Sprint(is) != fmt.Sprint(wanted[i]) {
				return "results", wanted[i], is
			}
		}
		return "", nil, nil
	}
}

// ticks compares a number of 64 bits.
func ticks(key string, got uint64, same func(wanted, got uint64) bool) func(f fields) (string, any, any) {
	return func(f fields) (string, any, any) {
		var raw json.RawMessage
		if f.take(key, &raw) && !same(bits(nil, raw), got) {
			return key, string(raw), got
		}
		return "", nil, nil
	}
}

// ---- calls ----

func (p *wheelPlayer) create(f fields, name string) error {
	var start json.RawMessage
	fromNow := f.take("start", &start) && string(start) == `"now"`
	options := WheelOptions{
		Name:      f.text("name", ""),
		TickNS:    f.bits(nil, "tick_ns"),
		Capacity:  f.number("capacity", 0),
		MaxTimers: f.number("max_timers", 0),
		Flags: flag(f.yes("stats"), Stats) | flag(f.yes("wait"), WheelWait) |
			flag(!fromNow, WheelStartAt),
	}
	if start != nil && !fromNow {
		options.Start = bits(nil, start)
	}
	w, err := NewWheel(options)
	if err == nil {
		p.wheels[name] = w
	}
	return err
}

// without is a call that needs no wheel; false: it is none of them.
func (p *wheelPlayer) without(do, name string, f fields) (got any, found bool) {
	var err error
	switch do {
	case "create":
		err = p.create(f, name)
	case "lookup":
		var w *Wheel
		if w, err = LookupWheel(f.text("name", "")); err == nil {
			p.wheels[name] = w
		}
	case "wakeup_create":
		p.wakeups[f.text("wakeup", "w")], err = NewWakeup(WakeupOptions{})
	case "wakeup_destroy":
		name := f.text("wakeup", "w")
		if err = p.wakeups[name].Close(); err == nil {
			delete(p.wakeups, name)
		}
	case "wakeup_arm":
		w := p.wakeups[f.text("wakeup", "w")]
		if _, err = w.FD(); err == nil {
			err = w.Arm()
		}
	case "wakeup_clear":
		yes, err := p.wakeups[f.text("wakeup", "w")].Clear()
		return result(number(yes), err), true
	case "core_create":
		p.cores[f.text("core", "c")], err = NewServiceCore(ServiceCoreOptions{})
	case "core_run": // one loop, for which Go needs no error
		if err = p.cores[f.text("core", "c")].RunLoop(); err == nil {
			err = ErrTimeout
		}
	case "core_destroy":
		name := f.text("core", "c")
		if err = p.cores[name].Close(); err == nil {
			delete(p.cores, name)
		}
	case "poll_many":
		var names []string
		f.take("wheels", &names)
		wheels := make([]*Wheel, len(names))
		for i, name := range names {
			wheels[i] = p.wheels[name]
		}
		n, err := PollMany(f.bits(nil, "now"), uint32(f.number("max", WheelNoLimit)), wheels...)
		return result(n, err), true
	default:
		return nil, false
	}
	return result(0, err), true
}

// onTimer makes a call about one timer; false: it is none of them.
func (p *wheelPlayer) onTimer(do string, w *Wheel, f fields) (o outcome, found bool) {
	if do == "timer_create" {
		id, err := w.Create(f.bits(w, "user"))
		if name := f.text("timer", "t"); err == nil {
			p.timers[name] = id
		}
		return outcome{expect: result(0, err)}, true
	}
	var yes bool
	var err error
	switch do {
	case "timer_destroy":
		yes, err = w.Destroy(p.id(f))
	case "cancel":
		yes, err = w.Cancel(p.id(f))
	case "cancel_sync":
		ctx, cancel := f.context()
		defer cancel()
		yes, err = w.CancelSync(ctx, p.id(f))
	case "is_pending":
		yes, err = w.IsPending(p.id(f))
	case "arm":
		yes, err = w.Arm(p.id(f), f.bits(w, "expiry"))
	case "arm_periodic":
		policy, found := policyNames[f.text("policy", "")]
		if !found {
			panic("no such policy")
		}
		yes, err = w.ArmPeriodic(p.id(f), f.bits(w, "first"), f.bits(w, "period"), policy)
	case "touch":
		yes, err = w.Touch(p.id(f), f.bits(w, "expiry"))
	case "remaining":
		var left uint64
		left, yes, err = w.Remaining(p.id(f), f.bits(w, "now"))
		o.check = ticks("ticks", left, func(wanted, got uint64) bool { return wanted == got })
	default:
		return o, false
	}
	o.expect = result(number(yes), err)
	return o, true
}

// onTable makes a call about several timers; false: it is none of them.
func (p *wheelPlayer) onTable(do string, w *Wheel, f fields) (o outcome, found bool) {
	if do == "timer_create_bulk" {
		var names []string
		f.take("timers", &names)
		users := f.allBits(w, "users")
		if len(users) == 0 {
			users = make([]uint64, len(names))
		}
		ids, err := w.CreateBulk(users)
		for i, id := range ids {
			p.timers[names[i]] = id
		}
		return outcome{expect: result(len(ids), err)}, true
	}
	var call func(ids []TimerID, results []TimerResult) (int, error)
	switch do {
	case "timer_destroy_bulk":
		call = w.DestroyBulk
	case "cancel_bulk":
		call = w.CancelBulk
	case "arm_bulk", "touch_bulk":
		expiries := f.allBits(w, "expiries")
		call = func(ids []TimerID, results []TimerResult) (int, error) {
			if do == "arm_bulk" {
				return w.ArmBulk(ids, expiries, results)
			}
			return w.TouchBulk(ids, expiries, results)
		}
	default:
		return o, false
	}
	ids := p.ids(f)
	got := make([]TimerResult, len(ids))
	n, err := call(ids, got)
	return outcome{expect: result(n, err), check: results(got)}, true
}

// onService makes a call of the wheel's service; false: it is none of them.
func (p *wheelPlayer) onService(do string, w *Wheel, f fields) (o outcome, found bool) {
	var err error
	switch do {
	case "service":
		var s *Service
		if s, err = w.Service(); err == nil {
			if known := p.service[w]; known != nil && known.Handle() != s.Handle() {
				panic("another service")
			}
			p.service[w] = s
		}
	case "service_map":
		err = p.service[w].Map(p.cores[f.text("core", "c")])
	case "service_start":
		err = p.service[w].Start()
	default:
		return o, false
	}
	return outcome{expect: result(0, err)}, true
}

// awaitFired waits and polls by the clock until timers fire.
func awaitFired(w *Wheel) (int, error) {
	expired := make([]Expired, 16)
	for {
		if err := w.Wait(context.Background()); err != nil {
			return 0, err
		}
		now, _ := w.Now()
		if n, err := w.PollBurst(now, expired); n > 0 || err != nil {
			return n, err
		}
	}
}

// call makes the call of a step and says what came of it.
func (p *wheelPlayer) call(do string, f fields) (o outcome) {
	name := f.text("wheel", "w")
	if got, found := p.without(do, name, f); found {
		o.expect = got
		return o
	}
	w := p.wheels[name]
	if w == nil {
		panic("no wheel " + name)
	}
	for _, on := range []func(string, *Wheel, fields) (outcome, bool){p.onTimer, p.onTable,
		p.onService} {
		if o, found := on(do, w, f); found {
			return o
		}
	}
	var n int
	var err error
	switch do {
	case "destroy", "unref":
		if err = w.Close(); err == nil {
			delete(p.wheels, name)
		}
	case "name":
		if o.expect = any(w.Name()); w.Name() == "" {
			o.expect = nil
		}
		return o
	case "now":
		var tick uint64
		tick, err = w.Now()
		n = int(tick)
	case "ticks_from_ns": // of more than a time.Duration holds, too
		n = int(w.ticks(f.bits(w, "ns")))
	case "tick_ns":
		n = int(w.TickNS())
	case "count":
		n, err = w.Count()
	case "cancel_all":
		n, err = w.CancelAll()
	case "poll":
		n, err = w.Poll(f.bits(w, "now"), uint32(f.number("max", WheelNoLimit)))
	case "poll_burst":
		expired := make([]Expired, f.number("n", 32))
		n, err = w.PollBurst(f.bits(w, "now"), expired)
		o.check = p.records(expired[:n])
	case "await_fired":
		n, err = awaitFired(w)
	case "next_expiry":
		var tick uint64
		var yes bool
		tick, yes, err = w.NextExpiry()
		n = number(yes)
		o.check = ticks("not_after", tick, func(wanted, got uint64) bool { return got <= wanted })
	case "for_each":
		var shown []TimerInfo
		err = w.ForEach(func(timer TimerInfo) bool { shown = append(shown, timer); return true })
		o.check = p.infos(shown)
	case "stats":
		var s WheelStats
		s, err = w.Stats()
		o.fields = map[string]uint64{"flags": uint64(s.Flags), "timers": s.Timers,
			"max_timers": s.MaxTimers, "arms": s.Arms, "rearms": s.Rearms,
			"cancelled": s.Cancelled, "fired": s.Fired, "expired": s.Expired,
			"overruns": s.Overruns, "late_max": s.LateMax, "polls": s.Polls}
	case "reset_stats":
		err = w.ResetStats()
	case "wait":
		ctx, cancel := f.context()
		defer cancel()
		err = w.Wait(ctx)
	case "interrupt":
		err = w.Interrupt()
	case "set_wakeup":
		var bound *string
		f.take("wakeup", &bound)
		if bound == nil {
			err = w.SetWakeup(nil)
		} else {
			err = w.SetWakeup(p.wakeups[*bound])
		}
	default:
		panic("unknown call " + do)
	}
	o.expect = result(n, err)
	return o
}
