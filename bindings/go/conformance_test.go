// SPDX-License-Identifier: BSD-2-Clause

// The Go driver of the conformance script: tests/conformance/README.md has the format.

package fp

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// fields are those of a case or step that nobody has asked for yet: what is left at the
// end is something this driver does not know.
type fields map[string]json.RawMessage

func (f fields) take(key string, into any) bool {
	raw, ok := f[key]
	delete(f, key)
	if ok {
		if err := json.Unmarshal(raw, into); err != nil {
			panic(fmt.Sprintf("%s: %v", key, err))
		}
	}
	return ok
}

func (f fields) text(key, otherwise string) string {
	f.take(key, &otherwise)
	return otherwise
}

func (f fields) number(key string, otherwise int) int {
	f.take(key, &otherwise)
	return otherwise
}

func (f fields) yes(key string) (yes bool) {
	f.take(key, &yes)
	return yes
}

// only tells whether Go is to run this.
func (f fields) only() bool {
	var languages []string
	if !f.take("only", &languages) {
		return true
	}
	for _, language := range languages {
		if language == "go" {
			return true
		}
	}
	return false
}

func (f fields) done() {
	for key := range f {
		panic("unknown key " + key)
	}
}

// encode is one element as it lies in memory.
func encode(raw json.RawMessage, size int) []byte {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		digits, err := hex.DecodeString(text)
		if err != nil {
			panic(err)
		}
		return bytes.Repeat(digits, size/len(digits)+1)[:size]
	}
	var value uint64
	if err := json.Unmarshal(raw, &value); err != nil {
		panic(err)
	}
	var words [8]byte
	binary.LittleEndian.PutUint64(words[:], value)
	return words[:size]
}

// list is a list of elements, one after the other.
func (f fields) list(key string, size int) (all []byte, given bool) {
	var raw json.RawMessage
	if !f.take(key, &raw) {
		return nil, false
	}
	var elems []json.RawMessage
	if json.Unmarshal(raw, &elems) != nil {
		var row struct{ First, N uint64 }
		if err := json.Unmarshal(raw, &row); err != nil {
			panic(err)
		}
		for i := uint64(0); i < row.N; i++ {
			elems = append(elems, json.RawMessage(fmt.Sprint(row.First+i)))
		}
	}
	for _, elem := range elems {
		all = append(all, encode(elem, size)...)
	}
	return all, true
}

// outcome is what a step did; expect is a number, a string or nil.
type outcome struct {
	expect any
	out    []byte
	after  int
	pieces []int
	fields map[string]uint64
}

var errnoNames = map[Errno]string{
	ErrInvalid: "-EINVAL", ErrPipe: "-EPIPE", ErrBusy: "-EBUSY", ErrAgain: "-EAGAIN",
	ErrExist: "-EEXIST", ErrNotExist: "-ENOENT", ErrNameTooLong: "-ENAMETOOLONG",
	ErrNoMemory: "-ENOMEM", ErrNotSupported: "-EOPNOTSUPP", ErrClosed: "-EINVAL",
	ErrFault: "-EFAULT", ErrAlready: "-EALREADY", ErrUnclean: "-EUCLEAN",
}

// result is a number, or the name of an error.
func result(n int, err error) any {
	if err == nil {
		return n
	}
	var number Errno
	if !errors.As(err, &number) {
		return err.Error()
	}
	return errnoNames[number]
}

// player holds what is open within a case.
type player struct {
	kind  kind
	rings map[string]*Ring
	spans map[string]*Span
}

var sideNames = map[string]uint32{"st": ST, "mt": MT}

func flag(yes bool, bit uint32) uint32 {
	if yes {
		return bit
	}
	return 0
}

func (p *player) create(f fields, name string) any {
	options := RingOptions{
		Capacity: f.number("capacity", 0),
		ElemSize: f.number("elem_size", 0),
		Name:     f.text("name", ""),
		Flags:    flag(f.yes("stats"), Stats) | flag(f.yes("checked"), Checked),
		Producer: p.kind.producer,
		Consumer: p.kind.consumer,
	}
	var side string
	if f.take("producer", &side) {
		options.Producer = sideNames[side]
	}
	if f.take("consumer", &side) {
		options.Consumer = sideNames[side]
	}
	return p.keep(name)(NewRing(options))
}

// keep holds a new ring under a name of the script.
func (p *player) keep(name string) func(*Ring, error) any {
	return func(r *Ring, err error) any {
		if err == nil {
			p.rings[name] = r
		}
		return result(0, err)
	}
}

// call makes the call of a step and says what came of it.
func (p *player) call(do, name string, f fields) (o outcome) {
	switch do {
	case "create":
		o.expect = p.create(f, name)
		return o
	case "lookup":
		o.expect = p.keep(name)(LookupRing(f.text("name", "")))
		return o
	}
	r := p.rings[name]
	if r == nil {
		panic("no ring " + name)
	}
	size := r.ElemSize()
	var n int
	var err error
	switch do {
	case "destroy", "unref":
		if err = r.Close(); err == nil {
			delete(p.rings, name)
		}
	case "close":
		err = r.CloseProducer()
	case "reset":
		err = r.Reset()
	case "enqueue":
		n, err = r.EnqueueBytesBurst(encode(f["elem"], size))
		delete(f, "elem")
	case "enqueue_u64":
		var ok bool
		ok, err = r.Enqueue(binary.LittleEndian.Uint64(encode(f["elem"], 8)))
		n = number(ok)
		delete(f, "elem")
	case "enqueue_burst", "enqueue_bulk":
		elems, _ := f.list("elems", size)
		if do == "enqueue_burst" {
			n, err = r.EnqueueBytesBurst(elems)
		} else {
			n, err = r.EnqueueBytesBulk(elems)
		}
		o.after, _ = r.FreeCount()
	case "dequeue":
		o.out = make([]byte, size)
		n, err = r.DequeueBytesBurst(o.out)
		o.out = o.out[:n*size]
	case "dequeue_u64":
		v, ok, failed := r.Dequeue()
		if n, err = number(ok), failed; ok {
			o.out = make([]byte, 8)
			binary.LittleEndian.PutUint64(o.out, v)
		}
	case "dequeue_burst", "dequeue_bulk", "peek":
		o.out = make([]byte, f.number("n", 0)*size)
		take := map[string]func([]byte) (int, error){"dequeue_burst": r.DequeueBytesBurst,
			"dequeue_bulk": r.DequeueBytesBulk, "peek": r.PeekBytes}[do]
		n, err = take(o.out)
		o.out = o.out[:n*size]
		o.after, _ = r.Count()
	case "reserve_enqueue", "reserve_dequeue":
		reserve := r.ReserveEnqueue
		if do == "reserve_dequeue" {
			reserve = r.ReserveDequeue
		}
		var s *Span
		s, err = reserve(f.number("n", 0), flag(f.yes("bulk"), RingBulk))
		first, second := s.Bytes()
		n = s.Len()
		o.pieces = []int{len(first) / size, len(second) / size}
		o.out = append(append(o.out, first...), second...)
		if span := f.text("span", "s"); n > 0 {
			p.spans[span] = s
		}
	case "commit_enqueue", "commit_dequeue":
		n, err = p.commit(f, size)
	case "count":
		n, err = r.Count()
	case "free_count":
		n, err = r.FreeCount()
	case "is_full", "is_empty", "is_closed":
		ask := map[string]func() (bool, error){"is_full": r.IsFull, "is_empty": r.IsEmpty,
			"is_closed": r.IsProducerClosed}[do]
		var yes bool
		yes, err = ask()
		n = number(yes)
	case "capacity":
		n = r.Capacity()
	case "elem_size":
		n = r.ElemSize()
	case "producer_sync":
		n = int(r.Producer())
	case "consumer_sync":
		n = int(r.Consumer())
	case "name":
		if o.expect = any(r.Name()); r.Name() == "" {
			o.expect = nil
		}
		return o
	case "stats":
		var s RingStats
		s, err = r.Stats()
		o.fields = map[string]uint64{"flags": uint64(s.Flags), "enqueued": s.Enqueued,
			"dequeued": s.Dequeued, "refused_full": s.RefusedFull,
			"refused_empty": s.RefusedEmpty, "voided": s.Voided, "high_water": s.HighWater,
			"count": s.Count, "unpublished": s.Unpublished, "void_pending": s.VoidPending,
			"blocked_since_ns": s.BlockedSinceNS, "blocked_by": uint64(s.BlockedBy)}
	default:
		panic("unknown call " + do)
	}
	o.expect = result(n, err)
	return o
}

func (p *player) commit(f fields, size int) (int, error) {
	name := f.text("span", "s")
	elems, _ := f.list("elems", size)
	k := f.number("k", 0)
	s := p.spans[name]
	if s == nil {
		s = new(Span) // its reservation got nothing
	}
	first, second := s.Bytes()
	copy(second, elems[copy(first, elems):])
	return k, s.Commit(k)
}

// step runs one step; "": all was as expected.
func (p *player) step(f fields) (failure string) {
	do := f.text("do", "")
	defer func() {
		if problem := recover(); problem != nil {
			failure = fmt.Sprintf("%s: %v", do, problem)
		}
	}()
	f.text("why", "")
	var expected any
	f.take("expect", &expected)
	if number, ok := expected.(float64); ok {
		expected = int(number)
	}
	ring := f.text("ring", "r")
	elemSize := p.rings[ring].ElemSize()
	got := p.call(do, ring, f)

	differs := func(what string, expected, got any) string {
		return fmt.Sprintf("%s: expected%s %v, got %v", do, what, expected, got)
	}
	if got.expect != expected {
		return differs("", expected, got.expect)
	}
	if out, given := f.list("out", elemSize); given && !bytes.Equal(out, got.out) {
		return differs(" elements", out, got.out)
	}
	var after int
	if f.take("after", &after) && after != got.after {
		return differs(" slots after it", after, got.after)
	}
	var pieces []int
	if f.take("pieces", &pieces) && fmt.Sprint(pieces) != fmt.Sprint(got.pieces) {
		return differs(" pieces", pieces, got.pieces)
	}
	var counters map[string]uint64
	f.take("fields", &counters)
	for name, value := range counters {
		if counted, ok := got.fields[name]; !ok || counted != value {
			return differs(" "+name, value, counted)
		}
	}
	f.done()
	return ""
}

// runCase plays a case with one kind of ring; it returns the number of steps, that of the
// step which failed (0: none) and what was wrong with it.
func runCase(steps []fields, k kind) (ran, failed int, failure string) {
	p := player{kind: k, rings: map[string]*Ring{}, spans: map[string]*Span{}}
	defer func() {
		for _, r := range p.rings { // a failed case leaves these; an open span is theirs
			_ = r.Close()
		}
	}()
	for i, step := range steps {
		f := fields{} // a case runs several times
		for key, value := range step {
			f[key] = value
		}
		if !f.only() {
			continue
		}
		ran++
		if failure = p.step(f); failure != "" {
			return ran, i + 1, failure
		}
	}
	if len(p.rings) > 0 {
		return ran, len(steps), "the case leaves a ring open"
	}
	return ran, 0, ""
}

// forEachCase reads a script and calls run for every case that is for Go, and every kind.
func forEachCase(t *testing.T, file string, run func(name string, steps []fields, k kind)) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../tests/conformance", file))
	if err != nil {
		t.Fatal(err)
	}
	var script struct {
		Part  string
		Cases []fields
	}
	if err := json.Unmarshal(text, &script); err != nil {
		t.Fatal(err)
	}
	want(t, "part", script.Part, "ring")
	for _, c := range script.Cases {
		name := c.text("case", "")
		var steps []fields
		c.take("steps", &steps)
		pairs := [][2]string{{"mt", "mt"}}
		c.take("kinds", &pairs)
		c.text("why", "")
		if !c.only() {
			continue
		}
		c.done()
		for _, pair := range pairs {
			run(name, steps, kind{sideNames[pair[0]], sideNames[pair[1]]})
		}
	}
}

func TestConformance(t *testing.T) {
	steps, cases := 0, 0
	forEachCase(t, "ring.json", func(name string, script []fields, k kind) {
		ran, failed, failure := runCase(script, k)
		if failure != "" {
			t.Errorf("%s [%v] step %d %s", name, k, failed, failure)
			return
		}
		steps += ran
		cases++
	})
	t.Logf("%d steps of %d cases passed", steps, cases)
	if steps < 30 {
		t.Error("the script is too short")
	}
}

// The last step of each case of planted.json is wrong: a driver that is awake says so.
func TestConformanceFindsWhatIsPlanted(t *testing.T) {
	forEachCase(t, "planted.json", func(name string, script []fields, k kind) {
		if _, failed, failure := runCase(script, k); failed != len(script) {
			t.Errorf("%s [%v]: the mistake in step %d was not found, but %d: %q", name, k,
				len(script), failed, failure)
		}
	})
}
