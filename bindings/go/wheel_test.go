// SPDX-License-Identifier: BSD-2-Clause

// Wheels and timers: every call and error, one goroutine at a time.

package fp

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// makeWheel makes a wheel that is closed when the test ends; unless the options say
// otherwise its time begins at 0.
func makeWheel(t testing.TB, options WheelOptions) *Wheel {
	t.Helper()
	if options.Flags&WheelWait == 0 {
		options.Flags |= WheelStartAt
	}
	w, err := NewWheel(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("Close at the end: %v", err)
		}
	})
	return w
}

func makeTimer(t testing.TB, w *Wheel, user uint64) TimerID {
	t.Helper()
	id, err := w.Create(user)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func makeTimers(t testing.TB, w *Wheel, n int) []TimerID {
	t.Helper()
	ids, err := w.CreateBulk(upTo(0, n))
	if len(ids) != n || err != nil {
		t.Fatalf("CreateBulk: %d of %d, %v", len(ids), n, err)
	}
	return ids
}

// yes checks the result of a call that says yes or no.
func yes(t testing.TB, what string, got bool, err error, wanted bool) {
	t.Helper()
	if got != wanted || err != nil {
		t.Fatalf("%s: %v, %v; want %v", what, got, err, wanted)
	}
}

// poll is all that is due.
func poll(t testing.TB, w *Wheel, now uint64) []Expired {
	t.Helper()
	expired := make([]Expired, 64)
	n, err := w.PollBurst(now, expired)
	if err != nil {
		t.Fatal("PollBurst:", err)
	}
	return expired[:n]
}

func TestATimerFiresOnce(t *testing.T) {
	w := makeWheel(t, WheelOptions{})
	id := makeTimer(t, w, 7)
	pending, err := w.IsPending(id)
	yes(t, "IsPending", pending, err, false)
	moved, err := w.Arm(id, 100)
	yes(t, "Arm", moved, err, false)
	moved, err = w.Arm(id, 120)
	yes(t, "Arm", moved, err, true)
	ticks, armed, err := w.Remaining(id, 50)
	yes(t, "Remaining", armed, err, true)
	want(t, "ticks", ticks, uint64(70))
	tick, armed, err := w.NextExpiry()
	yes(t, "NextExpiry", armed && tick <= 120, err, true)
	want(t, "too early", poll(t, w, 119), []Expired{})
	want(t, "fired", poll(t, w, 125), []Expired{{ID: id, User: 7, Expiry: 120}})
	want(t, "once", poll(t, w, 1000), []Expired{})
	_, armed, err = w.NextExpiry()
	yes(t, "NextExpiry", armed, err, false)
	_, armed, err = w.Remaining(id, 50)
	yes(t, "Remaining", armed, err, false)

	touched, err := w.Touch(id, 1100)
	yes(t, "Touch", touched, err, false)
	w.Arm(id, 1100)
	touched, err = w.Touch(id, 1200)
	yes(t, "Touch", touched, err, true)
	want(t, "touched", poll(t, w, 1199), []Expired{})
	cancelled, err := w.Cancel(id)
	yes(t, "Cancel", cancelled, err, true)
	cancelled, err = w.Cancel(id)
	yes(t, "Cancel", cancelled, err, false)
	want(t, "cancelled", poll(t, w, 2000), []Expired{})
	w.Arm(id, 3000)
	cancelled, err = w.CancelSync(bg, id)
	yes(t, "CancelSync", cancelled, err, true)
	over, cancel := context.WithCancel(bg)
	cancel()
	cancelled, err = w.CancelSync(over, id)
	yes(t, "CancelSync that need not wait", cancelled, err, false)
}

func TestTimersFireInOrder(t *testing.T) {
	w := makeWheel(t, WheelOptions{})
	ids := makeTimers(t, w, 5)
	// The thread that polled last counts: of one tick in the order in which it armed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	n, err := w.ArmBulk(ids, []uint64{40, 10, 40, 1 << 40, 10}, nil)
	moved(t, "ArmBulk", n, err, 5)
	var users []uint64
	two := make([]Expired, 2)
	for {
		n, err := w.PollBurst(1<<41, two)
		if n == 0 || err != nil {
			wantErr(t, "PollBurst", err, nil)
			break
		}
		for _, e := range two[:n] {
			users = append(users, e.User)
		}
	}
	want(t, "order", users, []uint64{1, 4, 0, 2, 3})
}

func TestTables(t *testing.T) {
	w := makeWheel(t, WheelOptions{MaxTimers: 4})
	ids := makeTimers(t, w, 3)
	more, err := w.CreateBulk(upTo(3, 5))
	if len(more) != 1 || err != nil {
		t.Fatalf("CreateBulk beyond MaxTimers: %v, %v", more, err)
	}
	_, err = w.Create(9)
	wantErr(t, "Create beyond MaxTimers", err, ErrNoMemory)
	const stale = -TimerResult(ErrStale)
	some := []TimerID{ids[0], 0, ids[2]}
	results := make([]TimerResult, 3)
	n, err := w.ArmBulk(some, []uint64{10, 20, 30}, results)
	moved(t, "ArmBulk", n, err, 2)
	want(t, "results", results, []TimerResult{0, stale, 0})
	wantErr(t, "Err", results[1].Err(), ErrStale)
	wantErr(t, "Err", results[0].Err(), nil)
	n, err = w.TouchBulk(ids, []uint64{15, 15, 15}, results)
	moved(t, "TouchBulk", n, err, 2)
	want(t, "results", results, []TimerResult{1, 0, 1})
	n, err = w.CancelBulk(some, results)
	moved(t, "CancelBulk", n, err, 2)
	want(t, "results", results, []TimerResult{1, stale, 1})
	w.Arm(ids[0], 50)
	n, err = w.DestroyBulk(some, results)
	moved(t, "DestroyBulk", n, err, 2)
	want(t, "results", results, []TimerResult{1, stale, 0})
	for name, call := range map[string]func() (int, error){
		"ArmBulk":     func() (int, error) { return w.ArmBulk(nil, nil, nil) },
		"TouchBulk":   func() (int, error) { return w.TouchBulk(nil, nil, []TimerResult{}) },
		"CancelBulk":  func() (int, error) { return w.CancelBulk(nil, nil) },
		"DestroyBulk": func() (int, error) { return w.DestroyBulk([]TimerID{}, nil) },
	} {
		n, err := call()
		moved(t, name+" of none", n, err, 0)
	}
	none, err := w.CreateBulk(nil)
	want(t, "CreateBulk of none", len(none), 0)
	wantErr(t, "CreateBulk of none", err, nil)
	for name, call := range map[string]func() (int, error){
		"expiries":      func() (int, error) { return w.ArmBulk(ids, upTo(1, 2), nil) },
		"more expiries": func() (int, error) { return w.TouchBulk(ids[:1], upTo(1, 2), nil) },
		"results":       func() (int, error) { return w.ArmBulk(ids, upTo(1, 3), results[:2]) },
		"no results":    func() (int, error) { return w.CancelBulk(ids, results[:0]) },
		"more results":  func() (int, error) { return w.DestroyBulk(ids[:1], results) },
	} {
		_, err := call()
		wantErr(t, "another number of "+name, err, ErrInvalid)
	}
	pending, err := w.IsPending(ids[1])
	yes(t, "nothing was armed", pending, err, false)
}

func TestMoreThanATableHolds(t *testing.T) {
	w := makeWheel(t, WheelOptions{})
	// More than 2^31 ids that nobody may touch.
	large, err := syscall.Mmap(-1, 0, 9<<31, syscall.PROT_NONE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(large)
	ids := unsafe.Slice((*TimerID)(unsafe.Pointer(&large[0])), len(large)/8)
	_, err = w.CancelBulk(ids, nil)
	wantErr(t, "too many", err, ErrInvalid)
}

func TestPeriodicTimers(t *testing.T) {
	for policy, wanted := range map[uint32][]Expired{
		TimerSkip:     {{Expiry: 40, Overruns: 3}},
		TimerCoalesce: {{Expiry: 10, Overruns: 3}},
		TimerCatchUp: {{Expiry: 10, Overruns: 3}, {Expiry: 20, Overruns: 2},
			{Expiry: 30, Overruns: 1}, {Expiry: 40}},
	} {
		w := makeWheel(t, WheelOptions{})
		id := makeTimer(t, w, 3)
		moved, err := w.ArmPeriodic(id, 10, 10, policy)
		yes(t, "ArmPeriodic", moved, err, false)
		for i := range wanted {
			wanted[i].ID, wanted[i].User, wanted[i].Flags = id, 3, TimerIsPeriodic
		}
		want(t, "due", poll(t, w, 45), wanted)
		last := Expired{ID: id, User: 3, Expiry: 50, Flags: TimerIsPeriodic}
		want(t, "the next", poll(t, w, 50), []Expired{last})
		moved, err = w.Arm(id, 70)
		yes(t, "Arm", moved, err, true)
		want(t, "not periodic", poll(t, w, 90), []Expired{{ID: id, User: 3, Expiry: 70}})
	}
	w := makeWheel(t, WheelOptions{})
	id := makeTimer(t, w, 0)
	_, err := w.ArmPeriodic(id, 1, 0, TimerSkip)
	wantErr(t, "no period", err, ErrInvalid)
	_, err = w.ArmPeriodic(id, 1, 1, 77)
	wantErr(t, "no policy", err, ErrNotSupported)
}

func TestStaleTimers(t *testing.T) {
	w, other := makeWheel(t, WheelOptions{}), makeWheel(t, WheelOptions{})
	gone, foreign := makeTimer(t, w, 0), makeTimer(t, other, 0)
	w.Arm(gone, 10)
	armed, err := w.Destroy(gone)
	yes(t, "Destroy", armed, err, true)
	for name, id := range map[string]TimerID{"gone": gone, "foreign": foreign, "0": 0} {
		errs := map[string]error{}
		_, errs["Destroy"] = w.Destroy(id)
		_, errs["Arm"] = w.Arm(id, 1)
		_, errs["ArmPeriodic"] = w.ArmPeriodic(id, 1, 1, TimerSkip)
		_, errs["Touch"] = w.Touch(id, 1)
		_, errs["Cancel"] = w.Cancel(id)
		_, errs["CancelSync"] = w.CancelSync(bg, id)
		_, errs["IsPending"] = w.IsPending(id)
		_, _, errs["Remaining"] = w.Remaining(id, 1)
		for call, err := range errs {
			wantErr(t, call+" of "+name, err, ErrStale)
			wantErr(t, call+" of "+name, err, syscall.ESTALE)
		}
	}
	want(t, "nothing fires", poll(t, w, 100), []Expired{})
}

func TestTheClockOfAWheel(t *testing.T) {
	for _, c := range []struct {
		tick, ticks uint64
		span        time.Duration
	}{
		{0, 1000, time.Millisecond}, {0, 1001, time.Millisecond + 1}, {0, 0, -1}, {0, 0, 0},
		{1e6, 1, 1}, {1e6, 1, time.Millisecond}, {1e6, 2, time.Millisecond + 1},
		{1, math.MaxInt64, math.MaxInt64}, {math.MaxUint64, 1, math.MaxInt64},
	} {
		w := makeWheel(t, WheelOptions{TickNS: c.tick})
		want(t, "TicksFrom", w.TicksFrom(c.span), c.ticks)
		if c.tick == 0 {
			c.tick = WheelTickNSDefault
		}
		want(t, "TickNS", w.TickNS(), c.tick)
	}
	w := makeWheel(t, WheelOptions{TickNS: 1})
	start := time.Now()
	first, err := w.Now()
	wantErr(t, "Now", err, nil)
	time.Sleep(time.Millisecond)
	second, _ := w.Now()
	if least, most := uint64(time.Millisecond), uint64(time.Since(start)); second-first < least ||
		second-first > most {
		t.Errorf("%d ticks, not %d to %d", second-first, least, most)
	}
}

func TestAllTimersOfAWheel(t *testing.T) {
	w := makeWheel(t, WheelOptions{})
	ids := makeTimers(t, w, 3)
	w.Arm(ids[0], 10)
	w.ArmPeriodic(ids[1], 20, 5, TimerCatchUp)
	n, err := w.Count()
	moved(t, "Count", n, err, 2)
	shown := map[TimerID]TimerInfo{}
	err = w.ForEach(func(timer TimerInfo) bool {
		shown[timer.ID] = timer
		w.Destroy(ids[2]) // may make any call
		return true
	})
	wantErr(t, "ForEach", err, nil)
	want(t, "ForEach", shown, map[TimerID]TimerInfo{
		ids[0]: {ID: ids[0], Expiry: 10, Flags: TimerIsArmed},
		ids[1]: {ID: ids[1], User: 1, Expiry: 20, Period: 5, Flags: TimerIsArmed | TimerIsPeriodic,
			Policy: TimerCatchUp},
		ids[2]: {ID: ids[2], User: 2},
	})
	calls := 0
	w.ForEach(func(TimerInfo) bool { calls++; return false })
	want(t, "calls of who has seen enough", calls, 1)
	n, err = w.CancelAll()
	moved(t, "CancelAll", n, err, 2)
	want(t, "nothing fires", poll(t, w, 100), []Expired{})
}

func TestPollsForCallbacks(t *testing.T) {
	w, v := makeWheel(t, WheelOptions{}), makeWheel(t, WheelOptions{})
	a, b := makeTimers(t, w, 3), makeTimers(t, v, 2)
	w.ArmBulk(a, []uint64{10, 30, 50}, nil)
	v.ArmBulk(b, []uint64{20, 40}, nil)
	n, err := PollMany(60, 3, w, v)
	moved(t, "PollMany", n, err, 3)
	pending, err := v.IsPending(b[1])
	yes(t, "the fourth", pending, err, true)
	n, err = w.Poll(60, WheelNoLimit)
	moved(t, "Poll", n, err, 1)
	n, err = PollMany(60, WheelNoLimit, w, v)
	moved(t, "PollMany", n, err, 1)
	n, err = PollMany(60, WheelNoLimit)
	moved(t, "PollMany of none", n, err, 0)
	_, err = PollMany(60, WheelNoLimit, w, v, w)
	wantErr(t, "one twice", err, ErrBusy)
	_, err = PollMany(60, WheelNoLimit, w, nil)
	wantErr(t, "one that is nil", err, ErrInvalid)
	want(t, "calls inside", w.runs.Load(), int64(0))
}

func TestWhatAWheelSaysAboutItself(t *testing.T) {
	w := makeWheel(t, WheelOptions{Name: "go.wheel.self", Flags: Stats | MemPrefault, Capacity: 10,
		MaxTimers: 100})
	want(t, "Name", w.Name(), "go.wheel.self")
	ids := makeTimers(t, w, 4)
	w.ArmBulk(ids, upTo(10, 4), nil)
	w.Arm(ids[0], 20)
	w.Cancel(ids[1])
	want(t, "fired", len(poll(t, w, 15)), 2)
	s, err := w.Stats()
	wantErr(t, "Stats", err, nil)
	if s.Memory == 0 || s.MemoryUsed == 0 || s.MemoryUsed > s.Memory || s.Polls != 1 {
		t.Errorf("Stats: %+v", s)
	}
	s.Memory, s.MemoryUsed, s.EntriesMoved, s.EntriesMovedMax = 0, 0, 0, 0
	want(t, "Stats", s, WheelStats{Flags: WheelStatsCounted, Timers: 4, MaxTimers: 100, Arms: 4,
		Rearms: 1, Cancelled: 1, Fired: 2, Expired: 2, LateMax: 3, Polls: 1})
	wantErr(t, "ResetStats", w.ResetStats(), nil)
	s, _ = w.Stats()
	want(t, "arms after ResetStats", s.Arms+s.Fired, 0)
	if w.Handle() == nil {
		t.Error("no Handle")
	}
	wantErr(t, "Close", w.Close(), nil)
	if w.Handle() != nil {
		t.Error("a closed wheel has a Handle")
	}
}

func TestWheelOptionsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		options WheelOptions
		err     error
	}{
		{WheelOptions{Capacity: -1}, ErrInvalid},
		{WheelOptions{MaxTimers: -1}, ErrInvalid},
		{WheelOptions{Capacity: WheelTimersMax + 1}, ErrInvalid},
		{WheelOptions{MaxTimers: WheelTimersMax + 1}, ErrInvalid},
		{WheelOptions{Capacity: 8, MaxTimers: 7}, ErrInvalid},
		{WheelOptions{Flags: 1 << 31}, ErrNotSupported},
		{WheelOptions{Flags: Checked}, ErrNotSupported},
		{WheelOptions{Name: strings.Repeat("x", NameMax+1)}, ErrNameTooLong},
		{WheelOptions{Name: "a\x00b"}, ErrInvalid},
	} {
		w, err := NewWheel(c.options)
		if w != nil || !errors.Is(err, c.err) {
			t.Errorf("%+v: %v, %v; want %v", c.options, w, err, c.err)
		}
	}
	makeWheel(t, WheelOptions{Capacity: 1000, Flags: MemHuge | MemPrefault | MemNode})
	late := makeWheel(t, WheelOptions{Start: 1000})
	w := makeTimer(t, late, 0)
	late.Arm(w, 0)
	want(t, "before Start", poll(t, late, 999), []Expired{})
	want(t, "at Start", len(poll(t, late, 1000)), 1)
}

func TestWheelNamesAndReferences(t *testing.T) {
	options := WheelOptions{Name: "go.wheel"}
	w := makeWheel(t, options)
	_, err := NewWheel(options)
	wantErr(t, "a name that is taken", err, fs.ErrExist)
	_, err = LookupWheel("go.no.wheel")
	wantErr(t, "a name that nothing has", err, ErrNotExist)
	found, err := LookupWheel("go.wheel")
	if err != nil {
		t.Fatal(err)
	}
	id := makeTimer(t, found, 5)
	w.Arm(id, 10)
	wantErr(t, "Close with a reference out", w.Close(), ErrBusy)
	want(t, "fired after a refused Close", len(poll(t, found, 10)), 1)
	for i := 0; i < 2; i++ {
		wantErr(t, "Close of a reference", found.Close(), nil)
	}
	_, err = found.Count()
	wantErr(t, "Count by a closed reference", err, ErrClosed)
	pending, err := w.IsPending(id)
	yes(t, "timers stay", pending, err, false)
	wantErr(t, "Close", w.Close(), nil)
	_, err = LookupWheel("go.wheel")
	wantErr(t, "the name of a closed wheel", err, ErrNotExist)
}

// everyWheelCall is every method that a wheel can refuse.
func everyWheelCall(w *Wheel) map[string]error {
	errs, one := map[string]error{}, []TimerID{1}
	_, errs["Create"] = w.Create(0)
	_, errs["CreateBulk"] = w.CreateBulk(upTo(0, 1))
	_, errs["Destroy"] = w.Destroy(1)
	_, errs["DestroyBulk"] = w.DestroyBulk(one, nil)
	_, errs["Arm"] = w.Arm(1, 1)
	_, errs["ArmBulk"] = w.ArmBulk(one, upTo(1, 1), nil)
	_, errs["ArmPeriodic"] = w.ArmPeriodic(1, 1, 1, TimerSkip)
	_, errs["Touch"] = w.Touch(1, 1)
	_, errs["TouchBulk"] = w.TouchBulk(one, upTo(1, 1), nil)
	_, errs["Cancel"] = w.Cancel(1)
	_, errs["CancelBulk"] = w.CancelBulk(one, nil)
	_, errs["CancelSync"] = w.CancelSync(bg, 1)
	_, errs["IsPending"] = w.IsPending(1)
	_, _, errs["Remaining"] = w.Remaining(1, 1)
	_, errs["PollBurst"] = w.PollBurst(1, make([]Expired, 1))
	_, errs["PollBurst of none"] = w.PollBurst(1, nil)
	_, errs["Poll"] = w.Poll(1, 1)
	_, errs["PollMany"] = PollMany(1, 1, w)
	_, errs["Now"] = w.Now()
	_, _, errs["NextExpiry"] = w.NextExpiry()
	_, errs["Count"] = w.Count()
	_, errs["CancelAll"] = w.CancelAll()
	errs["ForEach"] = w.ForEach(func(TimerInfo) bool { panic("a timer") })
	_, errs["Stats"] = w.Stats()
	errs["ResetStats"] = w.ResetStats()
	errs["SetWakeup"] = w.SetWakeup(nil)
	errs["Wait"] = w.Wait(bg)
	errs["Interrupt"] = w.Interrupt()
	_, errs["Service"] = w.Service()
	return errs
}

func TestNilAndZeroWheels(t *testing.T) {
	for name, w := range map[string]*Wheel{"nil": nil, "zero": new(Wheel)} {
		for call, err := range everyWheelCall(w) {
			wantErr(t, call+" of a "+name+" Wheel", err, ErrInvalid)
		}
		_, err := w.ArmBulk([]TimerID{1}, nil, nil)
		wantErr(t, "ArmBulk of a "+name+" Wheel", err, ErrInvalid)
		wantErr(t, "Close of a "+name+" Wheel", w.Close(), nil)
		if w.Handle() != nil || w.Name() != "" || w.TickNS() != 0 || w.TicksFrom(1) != 0 {
			t.Errorf("a %s Wheel has properties", name)
		}
	}
}

func TestEveryWheelCallAfterClose(t *testing.T) {
	w := makeWheel(t, WheelOptions{Flags: WheelWait})
	for i := 0; i < 2; i++ {
		wantErr(t, "Close", w.Close(), nil)
	}
	for call, err := range everyWheelCall(w) {
		if err != ErrClosed {
			t.Errorf("%s after Close: %v", call, err)
		}
	}
	want(t, "TicksFrom of a closed wheel", w.TicksFrom(time.Millisecond), 1000)
}

// Wheels that nobody closes are freed, and so are their wake-ups.
func TestWheelsAreCollected(t *testing.T) {
	before, known := runtime.NumGoroutine(), len(waitsOf.table)
	for i := 0; i < 20; i++ {
		w, err := NewWheel(WheelOptions{Flags: WheelWait, Capacity: 16})
		if err != nil {
			t.Fatal(err)
		}
		w.Wait(later(t))
	}
	until(t, "the garbage collector", func() bool {
		runtime.GC()
		waitsOf.Lock()
		defer waitsOf.Unlock()
		return runtime.NumGoroutine() <= before && len(waitsOf.table) <= known
	})
}
