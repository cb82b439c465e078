// SPDX-License-Identifier: BSD-2-Clause

// Captures: pcap and pcapng, read with gopacket's pcapgo.

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

var (
	errEnd     = errors.New("end of the capture")
	errDamaged = errors.New("the capture is cut or damaged")
)

// capture is an open capture file.
type capture struct {
	link    layers.LinkType
	packets int
	read    func() ([]byte, gopacket.CaptureInfo, error)
}

// open takes a file name, or - for standard input.
func open(name string) (*capture, error) {
	file := os.Stdin
	if name != "-" {
		var err error
		if file, err = os.Open(name); err != nil {
			return nil, errors.Unwrap(err) // without the name, which the caller says
		}
	}
	input := bufio.NewReaderSize(file, 1<<20)
	magic, err := input.Peek(4)
	if err != nil {
		return nil, errors.New("no capture file")
	}
	c := new(capture)
	if string(magic) == "\n\r\r\n" {
		reader, err := pcapgo.NewNgReader(input, pcapgo.DefaultNgReaderOptions)
		if err != nil {
			return nil, err
		}
		c.link, c.read = reader.LinkType(), reader.ZeroCopyReadPacketData
	} else {
		reader, err := pcapgo.NewReader(input)
		if err != nil {
			return nil, err
		}
		c.link, c.read = reader.LinkType(), reader.ZeroCopyReadPacketData
	}
	if !supported(c.link) {
		return nil, fmt.Errorf("link type %d is not supported", c.link)
	}
	return c, nil
}

// next is the next packet: its bytes, valid until the next call, nanoseconds since 1970,
// and its length as sent. errEnd comes after the last one.
func (c *capture) next() (data []byte, when uint64, length uint32, err error) {
	data, info, err := c.read()
	if err == io.EOF && data == nil {
		return nil, 0, 0, errEnd
	}
	if err != nil {
		return nil, 0, 0, fmt.Errorf("%w after %d packets: %v", errDamaged, c.packets, err)
	}
	c.packets++
	if !info.Timestamp.IsZero() { // a simple packet block has none
		when = uint64(info.Timestamp.UnixNano())
	}
	return data, when, uint32(info.Length), nil
}
