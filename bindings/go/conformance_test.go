// SPDX-License-Identifier: BSD-2-Clause

// The Go driver of the conformance scripts: tests/conformance/README.md has the format.
// What a part brings is in ring_conformance_test.go and pool_conformance_test.go.

package fp

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
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

// context is that of a call which may wait; without `timeout` it is over already.
func (f fields) context() (context.Context, context.CancelFunc) {
	var word string
	var raw json.RawMessage
	if f.take("timeout", &raw) && json.Unmarshal(raw, &word) == nil {
		if word != "forever" {
			panic("timeout " + word)
		}
		return context.WithCancel(context.Background())
	}
	var ns int64
	if raw != nil && json.Unmarshal(raw, &ns) != nil {
		panic("timeout " + string(raw))
	}
	return context.WithTimeout(context.Background(), time.Duration(ns))
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

// outcome is what a step did: expect, its result, is a number, a string or nil; the rest is
// compared with the script where that is given.
type outcome struct {
	expect any
	fields map[string]uint64
	check  func(f fields) (what string, expected, got any) // of the part; "": as it should be
}

var errnoNames = map[Errno]string{
	ErrInvalid: "-EINVAL", ErrPipe: "-EPIPE", ErrBusy: "-EBUSY", ErrAgain: "-EAGAIN",
	ErrExist: "-EEXIST", ErrNotExist: "-ENOENT", ErrNameTooLong: "-ENAMETOOLONG",
	ErrNoMemory: "-ENOMEM", ErrNotSupported: "-EOPNOTSUPP", ErrClosed: "-EINVAL",
	ErrFault: "-EFAULT", ErrAlready: "-EALREADY", ErrUnclean: "-EUCLEAN",
	Errno(syscall.EIO): "-EIO", ErrNoWakeup: "-ENXIO", ErrCanceled: "-ECANCELED", ErrTooManyFiles: "-EMFILE",
	ErrTimeout: "-ETIMEDOUT", ErrInProgress: "-EINPROGRESS", ErrShutdown: "-ESHUTDOWN",
	ErrDeadlock: "-EDEADLK", ErrStale: "-ESTALE",
}

// result is a number, or the name of an error.
func result(n int, err error) any {
	if err == nil {
		return n
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "-ETIMEDOUT"
	}
	var number Errno
	if !errors.As(err, &number) {
		return err.Error()
	}
	return errnoNames[number]
}

// player holds what is open within a case, and makes the calls of a part.
type player interface {
	call(do string, f fields) outcome
	open() int // how many
	end()      // closes what a failed case has left
}

// players makes one for each part.
var players = map[string]func(kind) player{"ring": newRingPlayer, "mempool": newPoolPlayer,
	"wakeup": newWakeupPlayer, "service": newServicePlayer,
	"timer": newWheelPlayer}

var sideNames = map[string]uint32{"st": ST, "mt": MT}

func flag(yes bool, bit uint32) uint32 {
	if yes {
		return bit
	}
	return 0
}

// runStep runs one step; "": all was as expected.
func runStep(p player, f fields) (failure string) {
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
	if expected == "positive" {
		expected = true
	}
	got := p.call(do, f)
	if number, ok := got.expect.(int); ok && expected == true {
		got.expect = number > 0
	}

	differs := func(what string, expected, got any) string {
		return fmt.Sprintf("%s: expected%s %v, got %v", do, what, expected, got)
	}
	if got.expect != expected {
		return differs("", expected, got.expect)
	}
	if got.check != nil {
		if what, expected, got := got.check(f); what != "" {
			return differs(" "+what, expected, got)
		}
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

// runCase plays a case; it returns the number of steps, that of the step which failed (0:
// none) and what was wrong with it.
func runCase(p player, steps []fields) (ran, failed int, failure string) {
	defer p.end()
	for i, step := range steps {
		f := fields{} // a case runs several times
		for key, value := range step {
			f[key] = value
		}
		if !f.only() {
			continue
		}
		ran++
		if failure = runStep(p, f); failure != "" {
			return ran, i + 1, failure
		}
	}
	if p.open() > 0 {
		return ran, len(steps) + 1, "the case leaves something open"
	}
	return ran, 0, ""
}

// forEachCase reads a script and calls run for every case that is for Go, and every kind,
// with a player. The number of a planted mistake is that of the last step, or one more: the end.
func forEachCase(t *testing.T, file string,
	run func(name string, steps []fields, mistake int, p player)) {
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
	newPlayer := players[script.Part]
	for _, c := range script.Cases {
		name := c.text("case", "")
		var steps []fields
		c.take("steps", &steps)
		pairs := [][2]string{{"mt", "mt"}}
		c.take("kinds", &pairs)
		c.text("why", "")
		mistake := len(steps)
		if c.text("mistake", "") == "end" {
			mistake++
		}
		if !c.only() {
			continue
		}
		c.done()
		for _, pair := range pairs {
			k := kind{sideNames[pair[0]], sideNames[pair[1]]}
			run(fmt.Sprintf("%s [%v]", name, k), steps, mistake, newPlayer(k))
		}
	}
}

func TestConformance(t *testing.T) {
	for _, file := range []string{"ring.json", "mempool.json", "wakeup.json", "service.json",
		"timer.json"} {
		steps, cases := 0, 0
		forEachCase(t, file, func(name string, script []fields, _ int, p player) {
			ran, failed, failure := runCase(p, script)
			if failure != "" {
				t.Errorf("%s step %d %s", name, failed, failure)
				return
			}
			steps += ran
			cases++
		})
		t.Logf("%s: %d steps of %d cases passed", file, steps, cases)
		if steps < 30 {
			t.Errorf("%s is too short", file)
		}
	}
}

// The last step of each case of a planted script, or its end, is wrong: a driver that is awake
// says so.
func TestConformanceFindsWhatIsPlanted(t *testing.T) {
	for _, file := range []string{"ring_planted.json", "mempool_planted.json", "timer_planted.json"} {
		forEachCase(t, file, func(name string, script []fields, mistake int, p player) {
			if _, failed, failure := runCase(p, script); failed != mistake {
				t.Errorf("%s: the mistake in step %d was not found, but %d: %q", name,
					mistake, failed, failure)
			}
		})
	}
}
