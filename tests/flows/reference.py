# SPDX-License-Identifier: BSD-2-Clause
"""The flow table of a capture, computed a second time, as plainly as possible.

Shares nothing with fp-flows but the rules in examples/flows/README.md: it reads
pcap and pcapng itself, looks at one packet after the other and keeps one
dictionary. Slow and single-threaded on purpose.
"""

import functools
import ipaddress
import struct
from collections import Counter, namedtuple

# time_ns is modulo 2^64 like a counter of fp-flows; stamp is the two raw numbers
# of the record (pcapng: one 64-bit number).
Packet = namedtuple("Packet", "time_ns stamp length data")

# kind: "flow", "other" or a reason; version: 4, 6 or 0; base: the protocol number
# in the IP header itself; src, dst: (address as bytes, port).
Frame = namedtuple("Frame", "kind version base proto src dst flags")

LINK_SHORT = "link header cut short"
IP_SHORT = "IP header cut short"
IP4_VERSION = "bad IPv4 version"
IP6_VERSION = "bad IPv6 version"
IP4_IHL = "bad IPv4 header length"
IP4_TOTAL = "bad IPv4 total length"
REASONS = (LINK_SHORT, IP_SHORT, IP4_VERSION, IP6_VERSION, IP4_IHL, IP4_TOTAL)

LINK_NULL, LINK_ETHERNET, LINK_RAW, LINK_LOOP = 0, 1, 101, 108
LINK_SLL, LINK_IPV4, LINK_IPV6, LINK_SLL2 = 113, 228, 229, 276


class Cut(Exception):
    """The data end before what was asked for."""


class Bytes:
    """Bytes to be taken from the front."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def left(self):
        return len(self.data) - self.at

    def take(self, n):
        if self.left() < n:
            raise Cut
        self.at += n
        return self.data[self.at - n : self.at]

    def peek(self, n):
        piece = self.take(n)
        self.at -= n
        return piece

    def limit(self, n):
        self.data = self.data[: self.at + n]


# ---- capture files ----


class Capture:
    """All packets of a file. `cut` is True if the file ends inside a record."""

    def __init__(self, path_or_bytes):
        if isinstance(path_or_bytes, bytes):
            content = path_or_bytes
        else:
            with open(path_or_bytes, "rb") as f:
                content = f.read()
        self.link = None
        self.packets = []
        self.cut = False
        self.resolution = None  # of a pcap file: units per second
        source = Bytes(content)
        try:
            if content[:4] == b"\x0a\x0d\x0d\x0a":
                self.read_pcapng(source)
            else:
                self.read_pcap(source)
        except Cut:
            self.cut = True

    @functools.cached_property
    def frames(self):
        return [classify(self.link, p.data) for p in self.packets]

    def read_pcap(self, source):
        magics = {
            b"\xd4\xc3\xb2\xa1": ("<", 10**6),
            b"\xa1\xb2\xc3\xd4": (">", 10**6),
            b"\x4d\x3c\xb2\xa1": ("<", 10**9),
            b"\xa1\xb2\x3c\x4d": (">", 10**9),
        }
        order, self.resolution = magics[bytes(source.take(4))]
        *_, link = struct.unpack(order + "HHiIII", source.take(20))
        self.link = link & 0xFFFF
        while source.left():
            sec, frac, captured, length = struct.unpack(order + "IIII", source.take(16))
            data = source.take(captured)
            time_ns = sec * 10**9 + frac * (10**9 // self.resolution)
            self.packets.append(Packet(time_ns % 2**64, (sec, frac), length, data))

    def read_pcapng(self, source):
        interfaces = []
        order = "<"
        while source.left():
            kind = bytes(source.peek(4))
            if kind == b"\x0a\x0d\x0d\x0a":
                order = "<" if source.peek(12)[8:] == b"\x4d\x3c\x2b\x1a" else ">"
                interfaces = []
            kind, size = struct.unpack(order + "II", source.take(8))
            body = Bytes(source.take(size - 12))
            source.take(4)
            if kind == 1:
                link, _, snap = struct.unpack(order + "HHI", body.take(8))
                interfaces.append((snap, *self.interface_times(order, body)))
                self.link = link if self.link is None else self.link
            elif kind == 6:
                which, high, low, captured, length = struct.unpack(order + "5I", body.take(20))
                self.add_stamped(interfaces[which], high, low, length, body.take(captured))
            elif kind == 2:
                which, _, high, low, captured, length = struct.unpack(
                    order + "HHIIII", body.take(20)
                )
                self.add_stamped(interfaces[which], high, low, length, body.take(captured))
            elif kind == 3:
                (length,) = struct.unpack(order + "I", body.take(4))
                captured = min(length, interfaces[0][0] or length)
                self.packets.append(Packet(0, 0, length, body.take(captured)))

    @staticmethod
    def interface_times(order, body):
        """(units per second, offset in seconds) from an interface's options."""
        resolution, offset = 10**6, 0
        while body.left():
            code, size = struct.unpack(order + "HH", body.take(4))
            value = body.take(size)
            body.take(-size % 4)
            if code == 9:
                resolution = 2 ** (value[0] & 127) if value[0] & 128 else 10 ** value[0]
            elif code == 14:
                (offset,) = struct.unpack(order + "q", value)
        return resolution, offset

    def add_stamped(self, interface, high, low, length, data):
        _, resolution, offset = interface
        stamp = high << 32 | low
        time_ns = stamp // resolution * 10**9 + stamp % resolution * 10**9 // resolution
        time_ns += offset * 10**9
        self.packets.append(Packet(time_ns % 2**64, stamp, length, data))


# ---- frames ----


class Verdict(Exception):
    """Ends the look at a frame that belongs to no flow."""

    def __init__(self, kind, version=0):
        super().__init__(kind)
        self.kind = kind
        self.version = version


def u16(b):
    return int.from_bytes(b, "big")


def classify(link, data):
    """The Frame of one captured frame."""
    rest = Bytes(data)
    try:
        try:
            version = skip_link_layer(link, rest)
        except Cut:
            raise Verdict(LINK_SHORT) from None
        return ip_frame(version, rest)
    except Verdict as v:
        return Frame(v.kind, v.version, None, None, None, None, 0)


def skip_link_layer(link, rest):
    """Leaves the IP header in front and returns the version it must have."""
    if link == LINK_ETHERNET:
        return after_type(u16(rest.take(14)[12:]), rest)
    if link == LINK_SLL:
        header = rest.take(16)
        return after_cooked(u16(header[2:4]), u16(header[14:]), rest)
    if link == LINK_SLL2:
        header = rest.take(20)
        return after_cooked(u16(header[8:10]), u16(header[:2]), rest)
    if link in (LINK_NULL, LINK_LOOP):
        header = rest.take(4)
        families = [int.from_bytes(header, "big")]
        if link == LINK_NULL:
            families.append(int.from_bytes(header, "little"))
        for family in families:
            if family == 2:
                return 4
            if family in (24, 28, 30):
                return 6
        raise Verdict("other")
    if link == LINK_RAW:
        return by_nibble(rest)
    return {LINK_IPV4: 4, LINK_IPV6: 6}[link]


def after_cooked(hardware, ethertype, rest):
    if hardware in (770, 803, 824):  # FRAD, radiotap, netlink
        raise Verdict("other")
    return after_type(ethertype, rest)


def after_type(ethertype, rest):
    while ethertype in (0x8100, 0x88A8, 0x9100, 0x8903):
        ethertype = u16(rest.take(16 if ethertype == 0x8903 else 4)[-2:])
    if ethertype == 0x0800:
        return 4
    if ethertype == 0x86DD:
        return 6
    if ethertype == 0x8864:
        rest.limit(u16(rest.take(6)[4:]))
        protocol = u16(rest.take(2))
        if protocol in (0x0021, 0x0057):
            return 4 if protocol == 0x0021 else 6
    if ethertype in (0x8847, 0x8848):
        while not rest.take(4)[2] & 1:
            pass
        return by_nibble(rest)
    raise Verdict("other")


def by_nibble(rest):
    nibble = rest.peek(1)[0] >> 4
    if nibble not in (4, 6):
        raise Verdict("other")
    return nibble


def ip_frame(version, rest):
    try:
        if rest.peek(1)[0] >> 4 != version:
            raise Verdict(IP4_VERSION if version == 4 else IP6_VERSION, version)
        if version == 4:
            base, src, dst, ported = ip4_header(rest)
            proto = base
        else:
            base, src, dst = ip6_header(rest)
            proto, ported = ip6_chain(base, rest)
    except Cut:
        raise Verdict(IP_SHORT, version) from None
    ports, flags = (0, 0), 0
    if ported:
        ports, flags = transport(proto, rest)
    return Frame("flow", version, base, proto, (src, ports[0]), (dst, ports[1]), flags)


def ip4_header(rest):
    header = rest.take(20)
    words = header[0] & 15
    if words < 5:
        raise Verdict(IP4_IHL, 4)
    rest.take(words * 4 - 20)
    total = u16(header[2:4])
    if 0 < total < words * 4:
        raise Verdict(IP4_TOTAL, 4)
    if total:
        rest.limit(total - words * 4)
    first = u16(header[6:8]) & 0x1FFF == 0
    return header[9], bytes(header[12:16]), bytes(header[16:20]), first


def ip6_header(rest):
    header = rest.take(40)
    payload = u16(header[4:6])
    if payload:
        rest.limit(payload)
    return header[6], bytes(header[8:24]), bytes(header[24:40])


def ip6_chain(proto, rest):
    """(the protocol, whether its header follows)."""
    try:
        while proto in (0, 43, 44, 51, 60):
            if proto == 44:
                header = rest.take(8)
                proto = header[0]
                if u16(header[2:4]) >> 3:
                    return proto, False
            else:
                kind = proto
                proto, units = rest.peek(2)
                rest.take((units + 2) * 4 if kind == 51 else (units + 1) * 8)
    except Cut:
        return proto, False
    return proto, True


def transport(proto, rest):
    size = {6: 20, 17: 8, 132: 12}.get(proto)
    if size is None or rest.left() < size:
        return (0, 0), 0
    header = rest.take(size)
    return (u16(header[:2]), u16(header[2:4])), header[13] if proto == 6 else 0


# ---- the table ----


class Flow:
    def __init__(self, frame, time_ns):
        self.proto = frame.proto
        self.version = frame.version
        self.a, self.b = frame.src, frame.dst
        self.first = self.last = time_ns
        self.seen = None  # the capture's clock at its last packet
        self.packets = [0, 0]
        self.bytes = [0, 0]
        self.flags = 0

    def add(self, frame, packet):
        back = frame.src != self.a
        self.first = min(self.first, packet.time_ns)
        self.last = max(self.last, packet.time_ns)
        self.packets[back] += 1
        self.bytes[back] += packet.length
        self.flags |= frame.flags

    def row(self):
        """As read_csv() gives it: addresses as (version, number)."""
        return (
            self.proto,
            (self.version, int.from_bytes(self.a[0], "big")),
            self.a[1],
            (self.version, int.from_bytes(self.b[0], "big")),
            self.b[1],
            self.first,
            self.last,
            self.packets[0],
            self.bytes[0],
            self.packets[1],
            self.bytes[1],
            self.flags,
        )


class Table:
    """Rows in the order of flows.csv, and what the summary counts.

    idle_timeout is in nanoseconds; 0: a flow ends with the capture.
    """

    def __init__(self, capture, idle_timeout=60 * 10**9):
        living = {}
        ended = []  # pairs: when, the flow
        clock = 0
        self.kinds = Counter()
        self.versions = Counter()
        self.bases = {4: Counter(), 6: Counter()}
        self.bytes = sum(p.length for p in capture.packets)
        for packet, frame in zip(capture.packets, capture.frames):
            clock = max(clock, packet.time_ns)
            self.kinds[frame.kind] += 1
            self.versions[frame.version] += 1
            if frame.kind != "flow":
                continue
            self.bases[frame.version][frame.base] += 1
            key = (frame.proto, frame.version, frozenset((frame.src, frame.dst)))
            flow = living.get(key)
            if flow and idle_timeout and clock - flow.seen >= idle_timeout:
                ended.append((flow.seen + idle_timeout, flow))
                flow = None
            if not flow:
                flow = living[key] = Flow(frame, packet.time_ns)
            flow.add(frame, packet)
            flow.seen = clock
        idle = {f for f in living.values() if idle_timeout and clock - f.seen >= idle_timeout}
        ended += [(f.seen + idle_timeout, f) for f in idle]
        self.idle = len(ended)
        ended += [(float("inf"), f) for f in living.values() if f not in idle]
        rows = [(when, flow.row()) for when, flow in ended]
        rows.sort(key=lambda pair: (pair[0], pair[1][5], *pair[1][:5]))
        self.rows = [row for _, row in rows]


HEADER = (
    "proto,addr_a,port_a,addr_b,port_b,first_ns,last_ns,"
    "packets_ab,bytes_ab,packets_ba,bytes_ba,tcp_flags"
)


def read_csv(text):
    """Rows of a flows.csv as numbers, in its order."""
    lines = text.splitlines()
    assert lines[0] == HEADER
    rows = []
    for line in lines[1:]:
        fields = line.split(",")
        row = []
        for i, field in enumerate(fields):
            if i in (1, 3):
                address = ipaddress.ip_address(field)
                row.append((address.version, int(address)))
            else:
                row.append(int(field))
        rows.append(tuple(row))
    return rows
