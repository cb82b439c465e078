// SPDX-License-Identifier: BSD-2-Clause

// The conformance script of rings.

package fp

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

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

type ringPlayer struct {
	kind    kind
	rings   map[string]*Ring
	spans   map[string]*Span
	wakeups map[string]*Wakeup
}

func newRingPlayer(k kind) player {
	return &ringPlayer{kind: k, rings: map[string]*Ring{}, spans: map[string]*Span{},
		wakeups: map[string]*Wakeup{}}
}

func (p *ringPlayer) open() int { return len(p.rings) }

func (p *ringPlayer) end() {
	for _, r := range p.rings { // an open span is theirs
		_ = r.Close()
	}
	for _, w := range p.wakeups {
		_ = w.Close()
	}
}

func (p *ringPlayer) create(f fields, name string) any {
	options := RingOptions{
		Capacity: f.number("capacity", 0),
		ElemSize: f.number("elem_size", 0),
		Name:     f.text("name", ""),
		Flags: flag(f.yes("stats"), Stats) | flag(f.yes("checked"), Checked) |
			flag(f.yes("wait"), RingWait),
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
func (p *ringPlayer) keep(name string) func(*Ring, error) any {
	return func(r *Ring, err error) any {
		if err == nil {
			p.rings[name] = r
		}
		return result(0, err)
	}
}

// came is what else came of a step.
type came struct {
	size   int // of an element
	out    []byte
	after  int
	pieces []int
}

func (m *came) check(f fields) (what string, expected, got any) {
	if out, given := f.list("out", m.size); given && !bytes.Equal(out, m.out) {
		return "elements", out, m.out
	}
	var after int
	if f.take("after", &after) && after != m.after {
		return "slots after it", after, m.after
	}
	var pieces []int
	if f.take("pieces", &pieces) && fmt.Sprint(pieces) != fmt.Sprint(m.pieces) {
		return "pieces", pieces, m.pieces
	}
	return "", nil, nil
}

// call makes the call of a step and says what came of it.
func (p *ringPlayer) call(do string, f fields) (o outcome) {
	name := f.text("ring", "r")
	switch do {
	case "wakeup_create", "wakeup_arm", "wakeup_clear", "wakeup_destroy":
		o.expect = p.callWakeup(do, f.text("wakeup", "w"))
		return o
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
	m := came{size: size}
	o.check = m.check
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
		m.after, _ = r.FreeCount()
	case "dequeue":
		m.out = make([]byte, size)
		n, err = r.DequeueBytesBurst(m.out)
		m.out = m.out[:n*size]
	case "dequeue_u64":
		v, ok, failed := r.Dequeue()
		if n, err = number(ok), failed; ok {
			m.out = make([]byte, 8)
			binary.LittleEndian.PutUint64(m.out, v)
		}
	case "dequeue_burst", "dequeue_bulk", "peek":
		m.out = make([]byte, f.number("n", 0)*size)
		take := map[string]func([]byte) (int, error){"dequeue_burst": r.DequeueBytesBurst,
			"dequeue_bulk": r.DequeueBytesBulk, "peek": r.PeekBytes}[do]
		n, err = take(m.out)
		m.out = m.out[:n*size]
		m.after, _ = r.Count()
	case "wait_readable", "wait_writable", "enqueue_wait", "dequeue_wait":
		n, err = p.wait(r, do, f, &m)
	case "interrupt":
		err = r.Interrupt(sideOf(f))
	case "set_wakeup":
		var w string
		f.take("wakeup", &w)
		err = r.SetWakeup(sideOf(f), p.wakeups[w])
	case "reserve_enqueue", "reserve_dequeue":
		reserve := r.ReserveEnqueue
		if do == "reserve_dequeue" {
			reserve = r.ReserveDequeue
		}
		var s *Span
		s, err = reserve(f.number("n", 0), flag(f.yes("bulk"), RingBulk))
		first, second := s.Bytes()
		n = s.Len()
		m.pieces = []int{len(first) / size, len(second) / size}
		m.out = append(append(m.out, first...), second...)
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

// oneLook is the context of a call that looks once: a call does not look at all if its time
// is over before it begins, so this one is over when it has begun.
type oneLook struct {
	context.Context // over
	begun           bool
}

func (o *oneLook) Err() error {
	if !o.begun {
		o.begun = true
		return nil
	}
	return o.Context.Err()
}

// wait makes a call that waits. In Go the end of the time is an error; in the script it is 0.
func (p *ringPlayer) wait(r *Ring, do string, f fields, m *came) (n int, err error) {
	_, mayWait := f["timeout"]
	ctx, cancel := f.context()
	defer cancel()
	if !mayWait {
		ctx = &oneLook{Context: ctx}
	}
	switch do {
	case "wait_readable":
		n, err = 1, r.WaitReadable(ctx)
	case "wait_writable":
		n, err = 1, r.WaitWritable(ctx)
	case "enqueue_wait":
		elems, _ := f.list("elems", m.size)
		n, err = r.EnqueueBytesWait(ctx, elems, f.number("min", 1))
	default:
		room := make([]byte, f.number("n", 0)*m.size)
		n, err = r.DequeueBytesWait(ctx, room, f.number("min", 1))
		m.out = room[:n*m.size]
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return 0, nil
	}
	return n, err
}

func sideOf(f fields) uint32 {
	if side := f.text("side", ""); side == "producer" {
		return RingProducer
	} else if side != "consumer" {
		panic("side " + side)
	}
	return RingConsumer
}

// callWakeup makes a call of a wake-up that shows what a ring does with it.
func (p *ringPlayer) callWakeup(do, name string) any {
	w := p.wakeups[name]
	switch do {
	case "wakeup_create":
		w, err := NewWakeup(WakeupOptions{})
		p.wakeups[name] = w
		return result(0, err)
	case "wakeup_arm":
		if _, err := w.FD(); err != nil {
			return result(0, err)
		}
		return result(0, w.Arm())
	case "wakeup_clear":
		signalled, err := w.Clear()
		return result(number(signalled), err)
	default:
		return result(0, w.Close())
	}
}

func (p *ringPlayer) commit(f fields, size int) (int, error) {
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
