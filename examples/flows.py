#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The flow table of a pcap file, as examples/flows/README.md defines it.

usage: flows.py [--idle-timeout SECONDS] CAPTURE > flows.csv

One thread finds the packets in the file, another one parses them. What travels through the ring
between them is where each packet's record begins: eight bytes, in bursts. Flows age in a timer
wheel whose time is the largest time stamp so far: each has a timer, which its packets touch.
"""

import argparse
import array
import mmap
import struct
import sys
import threading
import time
from socket import AF_INET, AF_INET6, inet_ntop

import libfp

BURST = 256
AGEING_MAX = 1 << 24  # flows at one time: address space, touched as they come
MAGICS = {b"\xd4\xc3\xb2\xa1": ("<", 1000), b"\xa1\xb2\xc3\xd4": (">", 1000),
          b"\x4d\x3c\xb2\xa1": ("<", 1), b"\xa1\xb2\x3c\x4d": (">", 1)}
TYPE_AT = {1: (14, 12), 113: (16, 14), 276: (20, 0)}  # link type: header size, EtherType
TAGS = {0x8100: 4, 0x88A8: 4, 0x9100: 4, 0x8903: 16}  # what precedes another EtherType
TRANSPORT = {6: 20, 17: 8, 132: 12}  # protocols with ports: size of the header
HEADER = ("proto,addr_a,port_a,addr_b,port_b,first_ns,last_ns,"
          "packets_ab,bytes_ab,packets_ba,bytes_ba,tcp_flags")


class NoFlow(Exception):
    """Not IP, or malformed."""


class Flow:
    def __init__(self, key, now, proto, src, dst):
        self.key, self.timer, self.end = key, None, None
        # first, protocol, a, b, last, packets and bytes ab, ba, flags
        self.row = [now, proto, src, dst, now, 0, 0, 0, 0, 0]

    def add(self, now, src, length, flags):
        row, back = self.row, 0 if self.row[2] == src else 2
        row[0], row[4] = min(row[0], now), max(row[4], now)
        row[5 + back] += 1
        row[6 + back] += length
        row[9] |= flags


class Table:
    """Flows that end, or live; `timeout` in nanoseconds, 0: they do not age."""

    def __init__(self, timeout):
        self.timeout, self.clock = timeout, 0
        self.living, self.ended = {}, []
        self.wheel = libfp.TimerWheel(AGEING_MAX, tick_ns=1, start_tick=0, capacity=1024)
        self.by_timer = {}
        self.timers, self.ends = array.array("Q"), array.array("Q")  # to be touched

    def add(self, now, proto, src, dst, length, flags):
        key = proto, min(src, dst), max(src, dst)
        flow = self.living.get(key)
        if flow and self.timeout and self.clock >= flow.end:
            self.remove(flow)  # before the poll that would find it
            flow = None
        if not flow:
            flow = self.living[key] = Flow(key, now, proto, src, dst)
            if self.timeout:
                flow.timer = self.wheel.create_timer()
                self.by_timer[flow.timer] = flow
                self.wheel.arm(flow.timer, self.clock + self.timeout)
        flow.add(now, src, length, flags)
        if self.timeout:
            flow.end = self.clock + self.timeout
            self.timers.append(flow.timer)
            self.ends.append(flow.end)

    def remove(self, flow):
        self.wheel.destroy_timer(flow.timer)
        del self.living[flow.key], self.by_timer[flow.timer]
        self.ended.append(flow)

    def age(self):
        """The rows of flows that have ended since the last call, in order."""
        self.wheel.touch_bulk(self.timers, self.ends)
        self.timers, self.ends = array.array("Q"), array.array("Q")
        while records := self.wheel.poll_burst(self.clock, BURST):
            for record in records:
                self.remove(self.by_timer[record.id])
        ended, self.ended = self.ended, []
        return [flow.row for flow in sorted(ended, key=lambda f: (f.end, f.row))]

    def rest(self):
        return sorted(flow.row for flow in self.living.values())


def number(p, at, size=2):
    if at + size > len(p):
        raise NoFlow
    return int.from_bytes(p[at:at + size], "big")


def by_nibble(p):
    return number(p, 0, 1) >> 4, p


def find_ip(link, p):
    """(the IP version that is announced, the bytes from there on)."""
    if link in (228, 229):
        return (4 if link == 228 else 6), p
    if link == 101:
        return by_nibble(p)
    if link in (0, 108):
        family = number(p, 0, 4)
        if link == 0 and family > 0xFFFF:
            family = int.from_bytes(p[:4], "little")
        return {2: 4, 24: 6, 28: 6, 30: 6}.get(family), p[4:]
    size, at = TYPE_AT[link]
    number(p, 0, size)
    kind = number(p, at)
    if link != 1 and number(p, 2 if link == 113 else 8) in (770, 803, 824):
        raise NoFlow
    p = p[size:]
    while kind in TAGS:
        kind, p = number(p, TAGS[kind] - 2), p[TAGS[kind]:]
    if kind == 0x8864:  # PPPoE
        p = p[6:6 + number(p, 4)]
        return {0x21: 4, 0x57: 6}.get(number(p, 0)), p[2:]
    if kind in (0x8847, 0x8848):  # MPLS
        bottom = 0
        while not bottom:
            bottom, p = number(p, 0, 4) >> 8 & 1, p[4:]
        return by_nibble(p)
    return {0x0800: 4, 0x86DD: 6}.get(kind), p


def parse(version, p):
    """(protocol, sender, receiver, TCP flags); an end is (version, address, port)."""
    if version not in (4, 6) or number(p, 0, 1) >> 4 != version:
        raise NoFlow
    if version == 4:
        total, size = number(p, 0, 20) >> 128 & 0xFFFF, (p[0] & 15) * 4
        if size < 20 or len(p) < size or 0 < total < size:
            raise NoFlow
        proto, src, dst = p[9], p[12:16], p[16:20]
        rest = b"" if number(p, 6) & 0x1FFF else p[size:total or None]
    else:
        payload = number(p, 0, 40) >> 272 & 0xFFFF
        proto, src, dst, rest = p[6], p[8:24], p[24:40], p[40:40 + payload if payload else None]
        while proto in (0, 43, 44, 51, 60):
            if len(rest) < (8 if proto == 44 else 2):
                rest = b""
                break
            size = 8 if proto == 44 else (rest[1] + 2) * 4 if proto == 51 else (rest[1] + 1) * 8
            later = proto == 44 and number(rest, 2) >= 8
            proto = rest[0]
            if later or len(rest) < size:
                rest = b""
                break
            rest = rest[size:]
    sport = dport = flags = 0
    if len(rest) >= TRANSPORT.get(proto, sys.maxsize):
        sport, dport, flags = number(rest, 0), number(rest, 2), rest[13] if proto == 6 else 0
    return proto, (version, src, sport), (version, dst, dport), flags


def record_end(capture, order, at):
    """Where the record at `at` ends, or None: the file ends before."""
    if at + 16 > len(capture):
        return None
    end = at + 16 + struct.unpack_from(order + "I", capture, at + 8)[0]
    return end if end <= len(capture) else None


def find_packets(capture, order, ring, cut):
    """Sends where each record of the file begins; where the file is cut goes to `cut`."""
    burst, at = array.array("Q"), 24
    while burst or at < len(capture) and not cut:
        while len(burst) < BURST and at < len(capture) and not cut:
            end = record_end(capture, order, at)
            if end is None:
                cut.append(at)
            else:
                burst.append(at)
                at = end
        sent = ring.enqueue_burst(burst)
        del burst[:sent]
        if not sent:
            time.sleep(0)  # the ring is full: let the other thread run
    ring.close()


def open_capture(path):
    """(its bytes, byte order, nanoseconds of a fraction, most bytes of a frame, link type)"""
    try:
        with open(path, "rb") as file:
            capture = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # ValueError: an empty file
        sys.exit(f"flows.py: {path}: {error}")
    order, unit = MAGICS.get(capture[:4], (None, None))
    if order is None or len(capture) < 24:
        sys.exit(f"flows.py: {path}: not a pcap file")
    snap, link = struct.unpack_from(order + "II", capture, 16)
    link &= 0xFFFF
    if link not in (0, 101, 108, 228, 229, *TYPE_AT):
        sys.exit(f"flows.py: {path}: link type {link} is not supported")
    return capture, order, unit, snap, link


def read(capture, order, unit, snap, link, timeout, cut):
    """Rows of flows as they end. If the file is cut, where goes to `cut`."""
    ring = libfp.Ring(4 * BURST, producer="st", consumer="st")
    table = Table(timeout)
    threading.Thread(target=find_packets, args=(capture, order, ring, cut), daemon=True).start()
    while True:
        try:
            records = ring.dequeue_burst(BURST)
        except libfp.RingClosed:
            yield from table.rest()
            return
        if not records:
            time.sleep(0)
        for at in records:
            sec, frac, captured, length = struct.unpack_from(order + "4I", capture, at)
            now = sec * 10**9 + frac * unit
            table.clock = max(table.clock, now)
            frame = capture[at + 16:at + 16 + min(captured, snap or captured)]
            try:
                proto, src, dst, flags = parse(*find_ip(link, frame))
            except NoFlow:
                continue
            table.add(now, proto, src, dst, length, flags)
        yield from table.age()


def seconds(text):
    value = float(text)
    if not 0 <= value <= 10**9:
        raise ValueError
    return round(value * 1e9)


def main():
    parser = argparse.ArgumentParser(description="The flow table of a pcap file.")
    parser.add_argument("--idle-timeout", metavar="SECONDS", type=seconds, default="60",
                        help="a flow without a packet for so long has ended; 0: none has")
    parser.add_argument("capture")
    args = parser.parse_args()
    capture, cut = open_capture(args.capture), []
    print(HEADER)
    for first, proto, *ends, last, p_ab, b_ab, p_ba, b_ba, flags in read(
            *capture, args.idle_timeout, cut):
        a, b = (f"{inet_ntop(AF_INET if v == 4 else AF_INET6, addr)},{port}"
                for v, addr, port in ends)
        print(proto, a, b, first, last, p_ab, b_ab, p_ba, b_ba, flags, sep=",")
    if cut:
        sys.exit(f"flows.py: the file ends inside the record at byte {cut[0]}")


if __name__ == "__main__":
    main()
