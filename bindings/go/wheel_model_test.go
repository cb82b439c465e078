// SPDX-License-Identifier: BSD-2-Clause

// A wheel against a sorted slice: the same operations on both, chosen at random by a
// property test and by the fuzzer. LIBFP_TEST_SEED repeats a run of the property test.

package fp

import (
	"math"
	"math/rand"
	"os"
	"runtime"
	"sort"
	"strconv"
	"testing"
	"time"
)

// modelTimer is what a timer is.
type modelTimer struct {
	id     TimerID
	user   uint64
	armed  bool
	expiry uint64
	order  uint64 // of its last arming
	period uint64 // 0: fires once
	policy uint32
	missed uint64 // periods that its next record tells of
}

// wheelModel is what a wheel is: timers, and a time.
type wheelModel struct {
	t      *testing.T
	wheel  *Wheel
	room   int
	timers []*modelTimer
	gone   []TimerID // destroyed
	now    uint64
	order  uint64
	made   uint64
}

// run reads operations from a program: a byte that says which, one that says on which timer,
// and one that says when. At its end all timers fire or are cancelled.
func (m *wheelModel) run(program []byte) {
	for i := 0; i+2 < len(program); i += 3 {
		m.step(program[i]%12, int(program[i+1]), span(program[i+2]))
		m.check()
	}
	for _, timer := range m.timers {
		if timer.period > 0 {
			m.cancel(timer)
		}
	}
	for len(m.due(math.MaxUint64, 1)) > 0 {
		m.poll(math.MaxUint64, 3)
	}
	m.check()
}

// span is 0 to 15 ticks shifted by 0 to 60 bits.
func span(b byte) uint64 { return uint64(b&15) << (b >> 4 * 4) }

func after(tick, span uint64) uint64 {
	if tick > math.MaxUint64-span {
		return math.MaxUint64
	}
	return tick + span
}

func (m *wheelModel) step(operation byte, which int, span uint64) {
	if operation == 0 || len(m.timers) == 0 {
		m.create(1 + which%3)
		return
	}
	timer := m.timers[which%len(m.timers)]
	switch operation {
	case 1, 2:
		moved, err := m.wheel.Arm(timer.id, after(m.now, span))
		yes(m.t, "Arm", moved, err, timer.armed)
		m.arm(timer, after(m.now, span), 0, 0)
	case 3:
		past := m.now - min64(m.now, span)
		moved, err := m.wheel.Arm(timer.id, past)
		yes(m.t, "Arm for the past", moved, err, timer.armed)
		m.arm(timer, past, 0, 0)
	case 4:
		period, policy := 1+span/3, uint32(which%3)
		moved, err := m.wheel.ArmPeriodic(timer.id, after(m.now, span), period, policy)
		yes(m.t, "ArmPeriodic", moved, err, timer.armed)
		m.arm(timer, after(m.now, span), period, policy)
	case 5:
		armed, err := m.wheel.Touch(timer.id, after(m.now, span))
		yes(m.t, "Touch", armed, err, timer.armed)
		if expiry := after(m.now, span); timer.armed && expiry > timer.expiry {
			timer.expiry = expiry
			timer.order = m.next()
		}
	case 6:
		m.cancel(timer)
	case 7:
		m.armSome(which, span)
	case 8:
		m.destroy(which % len(m.timers))
	case 9:
		m.poll(m.now, which%9)
	case 10:
		m.poll(after(m.now, span%64), which)
	case 11:
		// Not so far that a timer which catches up has more than some periods due.
		m.poll(after(m.now, min64(span, m.shortest()*64)), which)
	}
}

func (m *wheelModel) next() uint64 {
	m.order++
	return m.order
}

func (m *wheelModel) arm(timer *modelTimer, expiry, period uint64, policy uint32) {
	timer.armed, timer.expiry, timer.period, timer.policy = true, expiry, period, policy
	timer.missed = 0
	timer.order = m.next()
}

func (m *wheelModel) create(n int) {
	users := upTo(m.made, n)
	ids, err := m.wheel.CreateBulk(users)
	wantErr(m.t, "CreateBulk", err, nil)
	// Destroyed timers may count until the next poll.
	if least := smaller(n, m.room-len(m.timers)-len(m.gone)); len(ids) < least || len(ids) > n {
		m.t.Fatalf("CreateBulk: %d of %d", len(ids), n)
	}
	for i, id := range ids {
		m.timers = append(m.timers, &modelTimer{id: id, user: users[i]})
	}
	m.made += uint64(n)
}

func (m *wheelModel) destroy(at int) {
	timer := m.timers[at]
	armed, err := m.wheel.Destroy(timer.id)
	yes(m.t, "Destroy", armed, err, timer.armed)
	m.gone = append(m.gone, timer.id)
	m.timers = append(m.timers[:at:at], m.timers[at+1:]...)
}

func (m *wheelModel) cancel(timer *modelTimer) {
	armed, err := m.wheel.Cancel(timer.id)
	yes(m.t, "Cancel", armed, err, timer.armed)
	timer.armed = false
}

// armSome arms every other timer, and one that is gone.
func (m *wheelModel) armSome(which int, span uint64) {
	var ids []TimerID
	var expiries []uint64
	var results []TimerResult
	for i := which % 2; i < len(m.timers); i += 2 {
		timer := m.timers[i]
		ids = append(ids, timer.id)
		expiries = append(expiries, after(m.now, span+uint64(i%3)))
		results = append(results, TimerResult(number(timer.armed)))
		m.arm(timer, expiries[len(expiries)-1], 0, 0)
	}
	armed := len(ids)
	if len(m.gone) > 0 {
		ids = append(ids, m.gone[which%len(m.gone)])
		expiries = append(expiries, 0)
		results = append(results, -TimerResult(ErrStale))
	}
	got := make([]TimerResult, len(ids))
	n, err := m.wheel.ArmBulk(ids, expiries, got)
	moved(m.t, "ArmBulk", n, err, armed)
	for i, result := range got {
		want(m.t, "result", result, results[i])
	}
}

// shortest is the shortest period.
func (m *wheelModel) shortest() uint64 {
	shortest := uint64(math.MaxUint64 / 64)
	for _, timer := range m.timers {
		if timer.armed && timer.period > 0 {
			shortest = min64(shortest, timer.period)
		}
	}
	return shortest
}

func min64(a, b uint64) uint64 {
	if a < b {
		return a
	}
	return b
}

// due is the timers that are due, in order, at most n.
func (m *wheelModel) due(now uint64, n int) []*modelTimer {
	var due []*modelTimer
	for _, timer := range m.timers {
		if timer.armed && timer.expiry <= now {
			due = append(due, timer)
		}
	}
	sort.Slice(due, func(i, j int) bool {
		a, b := due[i], due[j]
		return a.expiry < b.expiry || a.expiry == b.expiry && a.order < b.order
	})
	return due[:smaller(n, len(due))]
}

// fire is the record of a timer that is due; false: it is due later.
func (m *wheelModel) fire(timer *modelTimer, now uint64) (Expired, bool) {
	e := Expired{ID: timer.id, User: timer.user, Expiry: timer.expiry}
	if timer.period == 0 {
		timer.armed = false
		return e, true
	}
	missed := (now - timer.expiry) / timer.period
	switch timer.policy {
	case TimerSkip:
		if missed > 0 {
			timer.expiry += missed * timer.period
			timer.missed += missed
			return e, false
		}
		missed, timer.missed = timer.missed, 0
	case TimerCoalesce:
		timer.expiry += missed * timer.period
	}
	e.Flags, e.Overruns = TimerIsPeriodic, uint32(min64(missed, math.MaxUint32))
	if timer.period > math.MaxUint64-timer.expiry {
		timer.armed, timer.period = false, 0
	} else {
		timer.expiry += timer.period
	}
	return e, true
}

func (m *wheelModel) poll(now uint64, n int) {
	m.now = now
	got := make([]Expired, n)
	count, err := m.wheel.PollBurst(now, got)
	wantErr(m.t, "PollBurst", err, nil)
	var wanted []Expired
	for len(wanted) < n {
		due := m.due(now, 1)
		if len(due) == 0 {
			m.gone = nil // this poll has come by all that were destroyed
			break
		}
		if e, fires := m.fire(due[0], now); fires {
			wanted = append(wanted, e)
		}
	}
	if count != len(wanted) {
		m.t.Fatalf("PollBurst(%d) of %d: %d, want %d", now, n, count, len(wanted))
	}
	for i, e := range got[:count] {
		if e != wanted[i] {
			m.t.Fatalf("PollBurst(%d): record %d is %+v, want %+v", now, i, e, wanted[i])
		}
	}
}

// check compares what the wheel says of itself.
func (m *wheelModel) check() {
	m.t.Helper()
	armed, first := 0, uint64(math.MaxUint64)
	for _, timer := range m.timers {
		ticks, pending, err := m.wheel.Remaining(timer.id, m.now)
		yes(m.t, "Remaining", pending, err, timer.armed)
		if timer.armed {
			armed++
			first = min64(first, timer.expiry)
			if left := timer.expiry - min64(m.now, timer.expiry); ticks != left {
				m.t.Fatalf("Remaining: %d, want %d", ticks, left)
			}
		}
	}
	n, err := m.wheel.Count()
	moved(m.t, "Count", n, err, armed)
	tick, ok, err := m.wheel.NextExpiry()
	if ok && tick > first || !ok && first < math.MaxUint64 || err != nil {
		m.t.Fatalf("NextExpiry: %d, %v, %v; the first is %d", tick, ok, err, first)
	}
}

func runWheelModel(t *testing.T, room int, start uint64, program []byte) {
	// Of one tick in the order in which one thread armed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w, err := NewWheel(WheelOptions{MaxTimers: room, Start: start, Flags: WheelStartAt})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	m := wheelModel{t: t, wheel: w, room: room, now: start}
	m.run(program)
}

func TestAWheelIsASortedSlice(t *testing.T) {
	seed := time.Now().UnixNano()
	if text := os.Getenv("LIBFP_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseInt(text, 0, 64); err != nil {
			t.Fatal("LIBFP_TEST_SEED:", err)
		}
	}
	t.Log("seed:", seed)
	random := rand.New(rand.NewSource(seed))
	for i := 0; i < 300; i++ {
		program := make([]byte, 3*random.Intn(200))
		random.Read(program)
		runWheelModel(t, 1+random.Intn(200), random.Uint64()>>random.Intn(64), program)
		if t.Failed() {
			t.Fatalf("program %d failed, seed %d", i, seed)
		}
	}
}

func FuzzWheel(f *testing.F) {
	f.Add(byte(8), uint64(0), []byte{0, 2, 0, 1, 0, 5, 1, 1, 3, 10, 4, 9})
	f.Add(byte(3), uint64(1<<40), []byte{0, 1, 0, 4, 2, 3, 11, 200, 40, 8, 0, 0, 0, 1, 0})
	f.Add(byte(20), uint64(math.MaxUint64-300), []byte{0, 2, 0, 7, 1, 20, 5, 0, 30, 11, 9, 31, 3, 1, 4})
	f.Fuzz(func(t *testing.T, room byte, start uint64, program []byte) {
		if room == 0 || len(program) > 4096 {
			return
		}
		runWheelModel(t, int(room), start, program)
	})
}
