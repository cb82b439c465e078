// SPDX-License-Identifier: BSD-2-Clause

// A ring against a slice: the same operations on both, chosen at random by a property
// test and by the fuzzer. LIBFP_TEST_SEED repeats a run of the property test.

package fp

import (
	"encoding/binary"
	"math/rand"
	"os"
	"strconv"
	"testing"
	"time"
)

// model is what a ring is: a bounded slice with an end.
type model struct {
	t        *testing.T
	ring     *Ring
	kind     kind
	capacity int
	elems    []uint64
	next     uint64
	closed   bool
}

// run reads operations from a program: a byte that says which, and one that says how many.
// At its end it drains the ring: nothing may be lost.
func (m *model) run(program []byte) {
	for i := 0; i+1 < len(program); i += 2 {
		m.step(program[i]%11, int(program[i+1])%(m.capacity+3))
		if n, err := m.ring.Count(); n != len(m.elems) || err != nil {
			m.t.Fatalf("operation %d: Count %d, %v; want %d", i/2, n, err, len(m.elems))
		}
	}
	for len(m.elems) > 0 {
		m.step(1, 5)
	}
}

func (m *model) step(operation byte, n int) {
	free := m.capacity - len(m.elems)
	switch operation {
	case 0:
		got, err := m.ring.EnqueueBurst(upTo(m.next, n))
		m.put("EnqueueBurst", n, smaller(n, free), got, err)
	case 1:
		out := make([]uint64, n)
		got, err := m.ring.DequeueBurst(out)
		m.took("DequeueBurst", n, smaller(n, len(m.elems)), out, got, err)
	case 2:
		got, err := m.ring.EnqueueBulk(upTo(m.next, n))
		m.put("EnqueueBulk", n, m.allOrNone(n, free), got, err)
	case 3:
		out := make([]uint64, n)
		got, err := m.ring.DequeueBulk(out)
		m.took("DequeueBulk", n, m.allOrNone(n, len(m.elems)), out, got, err)
	case 4:
		ok, err := m.ring.Enqueue(m.next)
		m.put("Enqueue", 1, smaller(1, free), number(ok), err)
	case 5:
		v, ok, err := m.ring.Dequeue()
		m.took("Dequeue", 1, smaller(1, len(m.elems)), []uint64{v}, number(ok), err)
	case 6:
		p := make([]byte, 8*n)
		for i, v := range upTo(m.next, n) {
			binary.LittleEndian.PutUint64(p[8*i:], v)
		}
		got, err := m.ring.EnqueueBytesBurst(p)
		m.put("EnqueueBytesBurst", n, smaller(n, free), got, err)
	case 7:
		s, err := m.ring.ReserveEnqueue(n, 0)
		got := s.Len()
		if got > 0 {
			fill(s, m.next)
			commit(m.t, s, got)
		}
		m.put("ReserveEnqueue", n, smaller(n, free), got, err)
	case 8:
		s, err := m.ring.ReserveDequeue(n, 0)
		out, got := contents(s), s.Len()
		if got > 0 {
			commit(m.t, s, got)
		}
		m.took("ReserveDequeue", n, smaller(n, len(m.elems)), out, got, err)
	case 9:
		if m.kind.consumer == ST {
			out := make([]uint64, n)
			got, err := m.ring.Peek(out)
			left := m.elems
			m.took("Peek", n, smaller(n, len(m.elems)), out, got, err)
			m.elems = left
		}
	case 10:
		if n == 1 {
			if err := m.ring.CloseProducer(); err != nil {
				m.t.Fatal("CloseProducer:", err)
			}
			m.closed = true
		}
	}
}

// put checks an enqueue of n that was to take want of the next numbers.
func (m *model) put(what string, n, want, got int, err error) {
	m.t.Helper()
	switch {
	case m.closed && n > 0:
		wantErr(m.t, what+" after CloseProducer", err, ErrPipe)
		return
	case want < 0:
		wantErr(m.t, what+" beyond the capacity", err, ErrInvalid)
		return
	}
	moved(m.t, what, got, err, want)
	m.elems = append(m.elems[:len(m.elems):len(m.elems)], upTo(m.next, got)...)
	m.next += uint64(got)
}

// took checks a dequeue of n that was to give want elements.
func (m *model) took(what string, n, want int, out []uint64, got int, err error) {
	m.t.Helper()
	switch {
	case want < 0:
		wantErr(m.t, what+" beyond the capacity", err, ErrInvalid)
		return
	case m.closed && n > 0 && want == 0:
		wantErr(m.t, what+" with too few left", err, ErrPipe)
		return
	}
	moved(m.t, what, got, err, want)
	for i, v := range out[:got] {
		if v != m.elems[i] {
			m.t.Fatalf("%s: element %d is %d, want %d", what, i, v, m.elems[i])
		}
	}
	m.elems = m.elems[got:]
}

func smaller(a, b int) int {
	if a < b {
		return a
	}
	return b
}

// allOrNone is what a bulk of n moves where there is room for so many; -1: an error.
func (m *model) allOrNone(n, room int) int {
	switch {
	case n > m.capacity:
		return -1
	case n > room:
		return 0
	}
	return n
}

func number(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

func runModel(t *testing.T, k kind, capacity int, program []byte) {
	m := model{t: t, ring: makeRing(t, k, capacity, 0), kind: k, capacity: capacity, next: 1}
	m.run(program)
}

func TestARingIsABoundedSlice(t *testing.T) {
	seed := time.Now().UnixNano()
	if text := os.Getenv("LIBFP_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseInt(text, 0, 64); err != nil {
			t.Fatal("LIBFP_TEST_SEED:", err)
		}
	}
	t.Log("seed:", seed)
	random := rand.New(rand.NewSource(seed))
	forEachKind(t, func(t *testing.T, k kind) {
		for i := 0; i < 300; i++ {
			program := make([]byte, 2*random.Intn(200))
			random.Read(program)
			runModel(t, k, 1+random.Intn(20), program)
			if t.Failed() {
				t.Fatalf("program %d of kind %v failed, seed %d", i, k, seed)
			}
		}
	})
}

func FuzzRing(f *testing.F) {
	f.Add(byte(0), byte(1), []byte{0, 1, 1, 1, 0, 2, 1, 2})
	f.Add(byte(1), byte(5), []byte{0, 7, 1, 3, 2, 2, 3, 5, 4, 0, 5, 0})
	f.Add(byte(2), byte(8), []byte{6, 4, 7, 3, 8, 5, 9, 2, 8, 9, 7, 9, 1, 9})
	f.Add(byte(3), byte(3), []byte{0, 3, 10, 1, 0, 1, 3, 2, 3, 2, 1, 5, 5, 0, 7, 1, 8, 1, 2, 1})
	f.Fuzz(func(t *testing.T, which, capacity byte, program []byte) {
		if capacity == 0 || len(program) > 4096 {
			return
		}
		runModel(t, kinds[which%4], int(capacity), program)
	})
}
