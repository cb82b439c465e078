// SPDX-License-Identifier: BSD-2-Clause

// The flows that a worker has seen, and flows.csv.

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"os"
	"sort"
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
}

type table map[key]*flow

func (t table) add(r *record) {
	f := t[r.Key]
	if f == nil {
		f = &flow{key: r.Key, firstNS: r.TimeNS, lastNS: r.TimeNS, a: r.From}
		t[r.Key] = f
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
}

func (t table) all() []*flow {
	flows := make([]*flow, 0, len(t))
	for _, f := range t {
		flows = append(flows, f)
	}
	return flows
}

// before is the order of rows: it is total, so the file is the same for any number of
// workers.
func before(x, y *flow) bool {
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
