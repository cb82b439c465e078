// SPDX-License-Identifier: BSD-2-Clause

// The flows that a worker has seen, their ageing with a timer wheel, and flows.csv.

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"os"
	"sort"

	"libfp/fp"
)

const (
	never     = ^uint64(0)
	ageingMax = 1 << 24 // flows at one time: address space, touched as they come
)

// flow counts by sender: end 0 and end 1 of the key.
type flow struct {
	key      key
	firstNS  uint64 // smallest and largest time stamp
	lastNS   uint64
	packets  [2]uint64
	bytes    [2]uint64
	a        uint8 // the end that sent the first packet
	tcpFlags uint8
	endNS    uint64 // the clock at which it ends; never: with the capture
	timer    fp.TimerID
}

// table has a timer for each flow that lives. The wheel's time is the capture's clock, the
// largest time stamp of any packet so far.
type table struct {
	living    map[key]*flow
	ended     []*flow
	timeoutNS uint64
	wheel     *fp.Wheel // nil: flows do not age
	byTimer   map[fp.TimerID]*flow
	timers    []fp.TimerID // to be touched, and for when
	ends      []uint64
	expired   []fp.Expired
}

func newTable(timeoutNS uint64) (*table, error) {
	t := &table{living: map[key]*flow{}, timeoutNS: timeoutNS}
	if timeoutNS == 0 {
		return t, nil
	}
	t.byTimer, t.expired = map[fp.TimerID]*flow{}, make([]fp.Expired, burst)
	var err error
	t.wheel, err = fp.NewWheel(fp.WheelOptions{TickNS: 1, Capacity: burst, MaxTimers: ageingMax,
		Flags: fp.WheelStartAt})
	return t, err
}

func (t *table) close() {
	if t.wheel != nil {
		t.wheel.Close()
	}
}

// endAt is when a flow ends whose last packet came at a clock.
func (t *table) endAt(clockNS uint64) uint64 {
	if clockNS > never-t.timeoutNS {
		return never
	}
	return clockNS + t.timeoutNS
}

func (t *table) begin(r *record) (*flow, error) {
	f := &flow{key: r.Key, firstNS: r.TimeNS, lastNS: r.TimeNS, a: r.From, endNS: never}
	t.living[r.Key] = f
	if t.wheel == nil {
		return f, nil
	}
	var err error
	if f.timer, err = t.wheel.Create(0); err != nil {
		return nil, err
	}
	t.byTimer[f.timer] = f
	_, err = t.wheel.Arm(f.timer, t.endAt(r.ClockNS))
	return f, err
}

func (t *table) end(f *flow) error {
	delete(t.living, f.key)
	delete(t.byTimer, f.timer)
	t.ended = append(t.ended, f)
	_, err := t.wheel.Destroy(f.timer)
	return err
}

// age touches the timers of the flows that had a packet, then ends those that are due.
func (t *table) age(clockNS uint64) error {
	if t.wheel == nil {
		return nil
	}
	if _, err := t.wheel.TouchBulk(t.timers, t.ends, nil); err != nil {
		return err
	}
	t.timers, t.ends = t.timers[:0], t.ends[:0]
	for {
		n, err := t.wheel.PollBurst(clockNS, t.expired)
		if n == 0 || err != nil {
			return err
		}
		for _, e := range t.expired[:n] {
			if err := t.end(t.byTimer[e.ID]); err != nil {
				return err
			}
		}
	}
}

func (t *table) add(r *record) (err error) {
	f := t.living[r.Key]
	if f != nil && r.ClockNS >= f.endNS { // before the poll that would find it
		if err := t.end(f); err != nil {
			return err
		}
		f = nil
	}
	if f == nil {
		if f, err = t.begin(r); err != nil {
			return err
		}
	}
	if t.wheel != nil {
		f.endNS = t.endAt(r.ClockNS)
		t.timers, t.ends = append(t.timers, f.timer), append(t.ends, f.endNS)
	}
	if r.TimeNS < f.firstNS {
		f.firstNS = r.TimeNS
	}
	if r.TimeNS > f.lastNS {
		f.lastNS = r.TimeNS
	}
	f.packets[r.From]++
	f.bytes[r.From] += uint64(r.Length)
	f.tcpFlags |= r.TCPFlags
	return nil
}

// all ends what lives with the capture.
func (t *table) all() []*flow {
	for _, f := range t.living {
		f.endNS = never
		t.ended = append(t.ended, f)
	}
	return t.ended
}

// before is the order of rows: it is total, so the file is the same for any number of
// workers.
func before(x, y *flow) bool {
	if x.endNS != y.endNS {
		return x.endNS < y.endNS
	}
	if x.firstNS != y.firstNS {
		return x.firstNS < y.firstNS
	}
	if x.key.Proto != y.key.Proto {
		return x.key.Proto < y.key.Proto
	}
	for end := uint8(0); end < 2; end++ {
		xe, ye := x.a^end, y.a^end
		if x.key.Version != y.key.Version {
			return x.key.Version < y.key.Version
		}
		if c := bytes.Compare(x.key.Addr[xe][:], y.key.Addr[ye][:]); c != 0 {
			return c < 0
		}
		if x.key.Port[xe] != y.key.Port[ye] {
			return x.key.Port[xe] < y.key.Port[ye]
		}
	}
	return false
}

func text(address []byte) string {
	a, _ := netip.AddrFromSlice(address) // 4 or 16 bytes
	return a.String()
}

// address is what inet_ntop makes of an end's address.
func (f *flow) address(end uint8) string {
	bits := f.key.Addr[end]
	if f.key.Version == 4 {
		return text(bits[:4])
	}
	if bytes.Equal(bits[:12], make([]byte, 12)) && (bits[12] != 0 || bits[13] != 0) {
		return "::" + text(bits[12:])
	}
	return text(bits[:])
}

// write sorts the flows into a file; "-" is standard output.
func write(name string, flows []*flow) error {
	sort.Slice(flows, func(i, j int) bool { return before(flows[i], flows[j]) })
	if name == "-" {
		return writeTo(os.Stdout, flows)
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := writeTo(file, flows); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

func writeTo(file io.Writer, flows []*flow) error {
	out := bufio.NewWriter(file)
	fmt.Fprintln(out, "proto,addr_a,port_a,addr_b,port_b,first_ns,last_ns,"+
		"packets_ab,bytes_ab,packets_ba,bytes_ba,tcp_flags")
	for _, f := range flows {
		a, b := f.a, 1-f.a
		fmt.Fprintf(out, "%d,%s,%d,%s,%d,%d,%d,%d,%d,%d,%d,%d\n", f.key.Proto,
			f.address(a), f.key.Port[a], f.address(b), f.key.Port[b], f.firstNS, f.lastNS,
			f.packets[a], f.bytes[a], f.packets[b], f.bytes[b], f.tcpFlags)
	}
	return out.Flush() // bufio keeps the first error of any write
}
