// SPDX-License-Identifier: BSD-2-Clause

// From the bytes of a frame to the flow it belongs to, by the rules that
// examples/flows/README.md states. gopacket's own decoders are not used: they stop at what
// is cut, and the rules say what a cut frame still tells.

package main

import (
	"bytes"
	"encoding/binary"

	"github.com/gopacket/gopacket/layers"
)

// key is the same for both directions: end 0 has the smaller (address, port). IPv4
// addresses use the first 4 bytes.
type key struct {
	Addr    [2][16]byte
	Port    [2]uint16
	Version uint8
	Proto   uint8
	_       [2]byte
}

// record is what travels: a packet that belongs to a flow.
type record struct {
	Key      key
	TimeNS   uint64
	ClockNS  uint64 // of the capture, with this packet
	Length   uint32 // as sent
	From     uint8  // the end of the key that sent it
	TCPFlags uint8
	_        [2]byte
}

func (k *key) hash() uint64 {
	h := uint64(k.Proto)
	for _, addr := range k.Addr {
		h = (h ^ binary.LittleEndian.Uint64(addr[:8])) * 0xff51afd7ed558ccd
		h = (h ^ h>>32 ^ binary.LittleEndian.Uint64(addr[8:])) * 0xc4ceb9fe1a85ec53
	}
	h = (h ^ uint64(k.Port[0])<<16 ^ uint64(k.Port[1])) * 0xff51afd7ed558ccd
	return h ^ h>>33
}

func be16(p []byte) uint16 { return binary.BigEndian.Uint16(p) }

// Link types by the numbers that capture files use.
const (
	linkIPv4      layers.LinkType = 228
	linkIPv6      layers.LinkType = 229
	linkLinuxSLL2 layers.LinkType = 276
)

var linkHeaders = map[layers.LinkType]int{
	layers.LinkTypeNull: 4, layers.LinkTypeLoop: 4, layers.LinkTypeEthernet: 14,
	layers.LinkTypeRaw: 0, linkIPv4: 0, linkIPv6: 0, layers.LinkTypeLinuxSLL: 16,
	linkLinuxSLL2: 20,
}

func supported(link layers.LinkType) bool {
	_, ok := linkHeaders[link]
	return ok
}

// parse is the record of a frame; false: it is not IP, or malformed.
func parse(link layers.LinkType, p []byte) (r record, ok bool) {
	version, p := announced(link, p)
	if len(p) == 0 || p[0]>>4 != version {
		return r, false
	}
	switch version {
	case 4:
		ok = r.ip4(p)
	case 6:
		ok = r.ip6(p)
	}
	if ok {
		r.order()
	}
	return r, ok
}

// announced is the IP version that the link layer names and the bytes from the IP header
// on; 0: there is none.
func announced(link layers.LinkType, p []byte) (version uint8, rest []byte) {
	header := linkHeaders[link]
	if len(p) < header {
		return 0, nil
	}
	rest = p[header:]
	switch link {
	case layers.LinkTypeEthernet:
		return afterType(be16(p[12:]), rest)
	case layers.LinkTypeLinuxSLL:
		return afterCooked(be16(p[2:]), be16(p[14:]), rest)
	case linkLinuxSLL2:
		return afterCooked(be16(p[8:]), be16(p), rest)
	case layers.LinkTypeNull, layers.LinkTypeLoop:
		family := binary.BigEndian.Uint32(p)
		if link == layers.LinkTypeNull && family > 0xffff {
			family = binary.LittleEndian.Uint32(p)
		}
		switch family {
		case 2:
			return 4, rest
		case 24, 28, 30:
			return 6, rest
		}
		return 0, nil
	case linkIPv4:
		return 4, rest
	case linkIPv6:
		return 6, rest
	}
	return byNibble(rest)
}

func byNibble(p []byte) (uint8, []byte) {
	if len(p) == 0 {
		return 0, nil
	}
	return p[0] >> 4, p
}

func afterCooked(hardware, kind uint16, p []byte) (uint8, []byte) {
	switch hardware {
	case 770, 803, 824: // frame relay, radiotap, netlink: the type is no EtherType
		return 0, nil
	}
	return afterType(kind, p)
}

// afterType walks tags and labels.
func afterType(kind uint16, p []byte) (uint8, []byte) {
	for {
		skip := 4
		switch kind {
		case 0x0800:
			return 4, p
		case 0x86dd:
			return 6, p
		case 0x8847, 0x8848: // MPLS
			for bottom := false; !bottom; p = p[4:] {
				if len(p) < 4 {
					return 0, nil
				}
				bottom = p[2]&1 == 1
			}
			return byNibble(p)
		case 0x8864: // PPPoE session
			return afterPPPoE(p)
		case 0x8100, 0x88a8, 0x9100:
		case 0x8903: // FabricPath: a tag, then a whole frame
			skip = 16
		default:
			return 0, nil
		}
		if len(p) < skip {
			return 0, nil
		}
		kind, p = be16(p[skip-2:]), p[skip:]
	}
}

func afterPPPoE(p []byte) (uint8, []byte) {
	if len(p) < 6 {
		return 0, nil
	}
	p = limit(p[6:], int(be16(p[4:])))
	if len(p) < 2 {
		return 0, nil
	}
	switch be16(p) {
	case 0x0021:
		return 4, p[2:]
	case 0x0057:
		return 6, p[2:]
	}
	return 0, nil
}

// limit cuts p to n bytes; what is behind is padding.
func limit(p []byte, n int) []byte {
	if n < len(p) {
		return p[:n]
	}
	return p
}

func (r *record) ip4(p []byte) bool {
	if len(p) < 20 {
		return false
	}
	header, total := int(p[0]&15)*4, int(be16(p[2:]))
	if header < 20 || len(p) < header || total != 0 && total < header {
		return false
	}
	if total != 0 {
		p = limit(p, total)
	}
	r.Key.Version, r.Key.Proto = 4, p[9]
	copy(r.Key.Addr[0][:], p[12:16])
	copy(r.Key.Addr[1][:], p[16:20])
	if be16(p[6:])&0x1fff == 0 {
		r.transport(p[header:])
	}
	return true
}

func (r *record) ip6(p []byte) bool {
	if len(p) < 40 {
		return false
	}
	r.Key.Version, r.Key.Proto = 6, p[6]
	copy(r.Key.Addr[0][:], p[8:24])
	copy(r.Key.Addr[1][:], p[24:40])
	payload := int(be16(p[4:]))
	if p = p[40:]; payload != 0 {
		p = limit(p, payload)
	}
	r.extensions(p)
	return true
}

// extensions walks them; the protocol becomes the last "next header" that could be read.
func (r *record) extensions(p []byte) {
	for {
		kind, header := r.Key.Proto, 8
		switch kind {
		case 0, 43, 60, 51: // hop-by-hop, routing, destination options; authentication
			if len(p) < 2 {
				return
			}
			if header = (int(p[1]) + 1) * 8; kind == 51 {
				header = (int(p[1]) + 2) * 4
			}
		case 44: // fragment
			if len(p) < 8 {
				return
			}
		default:
			r.transport(p)
			return
		}
		r.Key.Proto = p[0]
		if len(p) < header || kind == 44 && be16(p[2:])&0xfff8 != 0 {
			return
		}
		p = p[header:]
	}
}

func (r *record) transport(p []byte) {
	header := map[uint8]int{6: 20, 17: 8, 132: 12}[r.Key.Proto]
	if header == 0 || len(p) < header {
		return
	}
	r.Key.Port = [2]uint16{be16(p), be16(p[2:])}
	if r.Key.Proto == 6 {
		r.TCPFlags = p[13]
	}
}

// order puts the two ends in order; the sender is end 0 before.
func (r *record) order() {
	k := &r.Key
	c := bytes.Compare(k.Addr[0][:], k.Addr[1][:])
	if c > 0 || c == 0 && k.Port[0] > k.Port[1] {
		k.Addr[0], k.Addr[1] = k.Addr[1], k.Addr[0]
		k.Port[0], k.Port[1] = k.Port[1], k.Port[0]
		r.From = 1
	}
}
