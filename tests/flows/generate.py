# SPDX-License-Identifier: BSD-2-Clause
"""Makes captures that hold every case fp-flows has a rule for.

Frames come from a seeded generator, so a run can be repeated. Each maker of an IP
packet is combined with each encapsulation that the link type allows.
"""

import random
import struct

import reference as ref

SEED = 20231114
START = 1_700_000_000

# ---- the inside: transport and IP ----


def tcp(r, sport, dport):
    flags = r.choice((0x02, 0x12, 0x10, 0x18, 0x11, 0x04, 0xC2))
    options = bytes(4 * r.randrange(0, 4))
    head = struct.pack(
        "!HHIIBBHHH", sport, dport, r.getrandbits(32), r.getrandbits(32),
        (5 + len(options) // 4) << 4, flags, 1024, 0, 0,
    )
    return 6, head + options + payload(r)


def udp(r, sport, dport):
    body = payload(r)
    return 17, struct.pack("!HHHH", sport, dport, 8 + len(body), 0) + body


def sctp(r, sport, dport):
    chunk = struct.pack("!BBH", 11, 0, 4)
    return 132, struct.pack("!HHII", sport, dport, r.getrandbits(32), 0) + chunk


def without_ports(r, _sport, _dport):
    return r.choice((2, 47, 50, 88, 89, 103, 112, 136, 253)), payload(r) + bytes(8)


def cut_transport(r, sport, dport):
    """A header that is not complete; the IP length says the same."""
    proto, data = r.choice((tcp, udp, sctp))(r, sport, dport)
    return proto, data[: r.randrange({6: 20, 17: 8, 132: 12}[proto])]


def payload(r):
    return r.randbytes(r.choice((0, 1, 7, 40, 200)))


def any_transport(r):
    """A conversation from a small set, so that flows have both directions."""
    make = r.choice((tcp, tcp, tcp, udp, udp, sctp, without_ports, cut_transport))
    low, high = r.randrange(40000, 40004), r.choice((7, 80, 8000, 40001))
    if r.random() < 0.5:
        low, high = high, low
    return make(r, low, high)


def addresses(r, size):
    prefix = {4: bytes((10, 1, 2)), 16: bytes.fromhex("20010db8" + "00" * 11)}[size]
    src, dst = (prefix + bytes((r.randrange(1, 5),)) for _ in range(2))
    return src, dst


def ip4(r, proto, data, offset=0, more=0, options=0, total=None, version=4, words=None):
    src, dst = addresses(r, 4)
    words = 5 + options if words is None else words
    total = 20 + 4 * options + len(data) if total is None else total
    return (
        struct.pack(
            "!BBHHHBBH4s4s", version << 4 | words, 0, total, r.getrandbits(16),
            more << 13 | offset, 64, proto, 0, src, dst,
        )
        + bytes([1]) * (4 * options)
        + data
    )


def ip6(r, proto, data, length=None, version=6):
    src, dst = addresses(r, 16)
    length = len(data) if length is None else length
    return struct.pack("!IHBB16s16s", version << 28, length, proto, 64, src, dst) + data


def ip4_plain(r):
    return ip4(r, *any_transport(r))


def ip4_options(r):
    return ip4(r, *any_transport(r), options=r.randrange(1, 11))


def ip4_first_fragment(r):
    return ip4(r, *any_transport(r), more=1)


def ip4_later_fragment(r):
    proto = r.choice((6, 17, 132, 1))
    return ip4(r, proto, r.randbytes(24), offset=r.randrange(1, 0x2000), more=r.randrange(2))


def ip4_no_total(r):
    return ip4(r, *any_transport(r), total=0)


def ip4_total_too_large(r):
    proto, data = any_transport(r)
    return ip4(r, proto, data, total=60 + len(data))


def ip6_plain(r):
    return ip6(r, *any_transport(r))


def ip6_jumbo(r):
    return ip6(r, *any_transport(r), length=0)


def extension(r, kind, following, later_fragment=False):
    if kind == 44:
        offset = r.randrange(1, 0x2000) if later_fragment else 0
        return struct.pack("!BBHI", following, 0, offset << 3 | 1, r.getrandbits(32))
    if kind == 51:
        return struct.pack("!BBHII", following, 4, 0, 256, 1) + bytes(12)
    if kind == 43:  # type 2: one address
        return struct.pack("!BBBBI", following, 2, 2, 0, 0) + bytes(16)
    padding = 8 * r.randrange(0, 3)
    return struct.pack("!BBBB", following, padding // 8, 1, 2 + padding) + bytes(2 + padding + 2)[:4 + padding]


def ip6_extensions(r, later_fragment=False):
    """A chain of extension headers in any order, then a transport header."""
    proto, data = any_transport(r)
    kinds = r.sample((43, 44, 51, 60), r.randrange(1, 5))
    if later_fragment:
        kinds = [k for k in kinds if k != 44] + [44]
    if r.random() < 0.4:
        kinds.insert(0, 0)
    for kind in reversed(kinds):
        data = extension(r, kind, proto, later_fragment) + data
        proto = kind
    return proto, data


def ip6_chain(r):
    return ip6(r, *ip6_extensions(r))


def ip6_later_fragment(r):
    return ip6(r, *ip6_extensions(r, later_fragment=True))


def ip6_cut_chain(r):
    proto, data = ip6_extensions(r)
    return ip6(r, proto, data[: r.randrange(1, 30)])


def ip6_empty_chain(r):
    """An extension header is announced, and not one byte of it is there."""
    return ip6(r, r.choice((0, 43, 44, 60)), b"", length=8)


GOOD = {
    4: (ip4_plain, ip4_plain, ip4_plain, ip4_options, ip4_first_fragment,
        ip4_later_fragment, ip4_no_total, ip4_total_too_large),
    6: (ip6_plain, ip6_plain, ip6_jumbo, ip6_chain, ip6_chain, ip6_later_fragment,
        ip6_cut_chain, ip6_empty_chain),
}


def bad_version(r, version):
    wrong = r.choice([v for v in range(16) if v not in (4, 6)])
    if version == 4:
        return ip4(r, *any_transport(r), version=wrong)
    return ip6(r, *any_transport(r), version=wrong)


def bad_header_length(r, _version):
    return ip4(r, *any_transport(r), words=r.randrange(0, 5))


def bad_total_length(r, _version):
    return ip4(r, *any_transport(r), options=r.randrange(0, 3), total=r.randrange(1, 20))


def cut_ip_header(r, version):
    if version == 4:
        return ip4(r, 6, b"", options=r.randrange(0, 3), total=60)[: r.randrange(1, 20)]
    return ip6(r, 6, b"", length=20)[: r.randrange(1, 40)]


BAD = {
    4: (bad_version, bad_header_length, bad_total_length, cut_ip_header),
    6: (bad_version, cut_ip_header),
}


def packet(r):
    """(version that the layer below announces, bytes)."""
    version = r.choice((4, 4, 6))
    if r.random() < 0.06:
        return version, r.choice(BAD[version])(r, version)
    return version, r.choice(GOOD[version])(r)


# ---- the outside: link layers ----

ETHERTYPES = {4: 0x0800, 6: 0x86DD}


def mac(r):
    return b"\x02" + r.randbytes(5)


def tags(r):
    """(EtherType in front, bytes): a stack of VLAN tags without the inner type."""
    types = r.choices((0x8100, 0x88A8, 0x9100), k=r.choice((0, 0, 0, 1, 2, 4)))
    return types, [struct.pack("!H", r.getrandbits(16)) for _ in types]


def typed(r, inner_type, data):
    """(EtherType in front, tags and data)."""
    types, controls = tags(r)
    out = b""
    for control, following in zip(controls, types[1:] + [inner_type]):
        out += control + struct.pack("!H", following)
    return (types + [inner_type])[0], out + data


def mpls(r, data):
    depth = r.randrange(1, 5)
    labels = b""
    for i in range(depth):
        label = r.randrange(16, 1 << 20)
        labels += struct.pack("!I", label << 12 | (i == depth - 1) << 8 | 64)
    return r.choice((0x8847, 0x8848)), labels + data


def not_ip(r):
    """(EtherType, data) of frames that count as other."""
    arp = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + bytes(20)
    return r.choice((
        (0x0806, arp),
        (0x88CC, bytes.fromhex("0000")),
        (0x0026, b"\x42\x42\x03" + bytes(35)),  # 802.3 length and LLC
        (0x8864, struct.pack("!BBHHH", 0x11, 0, 1, 4, 0xC021) + bytes(4)),  # PPPoE, LCP
        mpls(r, b"\x20" + bytes(30)),  # neither 4 nor 6 below the labels
    ))


def inner(r):
    """(EtherType, data) below the tags."""
    dice = r.random()
    if dice < 0.08:
        return not_ip(r)
    version, data = packet(r)
    if dice < 0.2 and data[0] >> 4 == version:
        return mpls(r, data)
    if dice < 0.24:
        ppp = {4: 0x0021, 6: 0x0057}[version]
        return 0x8864, struct.pack("!BBHHH", 0x11, 0, 1, 2 + len(data), ppp) + data
    return ETHERTYPES[version], data


def ethernet(r):
    front, data = typed(r, *inner(r))
    frame = mac(r) + mac(r) + struct.pack("!H", front) + data
    if r.random() < 0.5:  # padding to the minimum size
        frame += bytes(max(0, 60 - len(frame)))
    return frame


def ethernet_cut(r):
    """Cut inside the addresses, a tag or a label."""
    where = r.randrange(4)
    head = mac(r) + mac(r)
    if where == 0:
        return (head + b"\x08")[: r.randrange(0, 14)]
    if where == 1:
        return head + struct.pack("!H", r.choice((0x8100, 0x88A8, 0x9100))) + bytes(r.randrange(4))
    if where == 2:
        return head + struct.pack("!H", 0x8847) + b"\x01\x00\x00\x40" + bytes(r.randrange(4))
    return head + struct.pack("!H", 0x8864) + b"\x11\x00\x00\x01"


def cooked(r):
    front, data = typed(r, *inner(r))
    return struct.pack("!HHH", r.randrange(5), 1, 6) + mac(r) + bytes(2) + struct.pack("!H", front) + data


def cooked2(r):
    front, data = typed(r, *inner(r))
    return struct.pack("!HHIHBB", front, 0, 3, 1, r.randrange(5), 6) + mac(r) + bytes(2) + data


def raw(r):
    while True:
        version, data = packet(r)
        if data[0] >> 4 == version:
            return data
        if r.random() < 0.1:
            return bytes((data[0] & 0x0F,)) + data[1:]


def raw_of(version):
    def make(r):
        while True:
            made, data = packet(r)
            if made == version:
                return data

    return make


def null(r, order=None):
    order = r.choice("<>") if order is None else order
    version, data = packet(r)
    family = 2 if version == 4 else r.choice((24, 28, 30))
    if r.random() < 0.05:
        family = 7
    return struct.pack(order + "I", family) + data


def loop(r):
    return null(r, ">")


LINKS = {
    "ethernet": (ref.LINK_ETHERNET, ethernet),
    "raw": (ref.LINK_RAW, raw),
    "ipv4": (ref.LINK_IPV4, raw_of(4)),
    "ipv6": (ref.LINK_IPV6, raw_of(6)),
    "sll": (ref.LINK_SLL, cooked),
    "sll2": (ref.LINK_SLL2, cooked2),
    "null": (ref.LINK_NULL, null),
    "loop": (ref.LINK_LOOP, loop),
}


def records(r, make, count, cut=None):
    """(time_ns, original length, captured bytes): slices, odd lengths and times."""
    now = START * 10**9
    out = []
    for _ in range(count):
        frame = cut(r) if cut and r.random() < 0.02 else make(r)
        length = len(frame)
        dice = r.random()
        if dice < 0.06:
            frame = frame[: r.randrange(len(frame) + 1)]
        elif dice < 0.062:
            length = r.choice((4093509168, 2**32 - 1, 2**31))
        now += r.randrange(0, 3_000_000)
        late = r.choice((0, 0, 0, 0, 50_000_000))
        out.append((now - late, length, frame))
    return out


# ---- capture files ----


def pcap(link, recs, order="<", nano=False):
    magic = 0xA1B23C4D if nano else 0xA1B2C3D4
    out = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, link)]
    for time_ns, length, frame in recs:
        frac = time_ns % 10**9 // (1 if nano else 1000)
        out.append(struct.pack(order + "IIII", time_ns // 10**9, frac, len(frame), length) + frame)
    return b"".join(out)


def block(order, kind, body):
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + size + body + size


def option(order, code, value):
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def pcapng(link, recs, order="<", resolution=None, offset=0, sections=1, old=False):
    """resolution: the value of if_tsresol, None for the default (microseconds)."""
    # libpcap takes a second interface of raw IP for one of another link type.
    interfaces = 1 if link == ref.LINK_RAW else 2
    out = []
    units = 10**6
    options = b""
    if resolution is not None:
        units = 2 ** (resolution & 127) if resolution & 128 else 10**resolution
        options += option(order, 9, bytes((resolution,)))
    if offset:
        options += option(order, 14, struct.pack(order + "q", offset))
    if options:
        options += option(order, 0, b"")
    step = -(-len(recs) // sections)
    for start in range(0, len(recs), step):
        out.append(block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)))
        idb = struct.pack(order + "HHI", link, 0, 262144) + options
        out += [block(order, 1, idb)] * interfaces
        out.append(block(order, 5, struct.pack(order + "III", 0, 0, 0)))  # statistics
        for i, (time_ns, length, frame) in enumerate(recs[start : start + step]):
            stamp = (time_ns - offset * 10**9) * units // 10**9
            high, low = stamp >> 32, stamp & 0xFFFFFFFF
            if old and i % 3 == 1:
                body = struct.pack(order + "HHIIII", i % interfaces, 0, high, low, len(frame), length)
                out.append(block(order, 2, body + frame))
            elif old and i % 3 == 2 and len(frame) == length:
                out.append(block(order, 3, struct.pack(order + "I", length) + frame))
            else:
                body = struct.pack(order + "IIIII", i % interfaces, high, low, len(frame), length)
                out.append(block(order, 6, body + frame + bytes(-len(frame) % 4)))
    return b"".join(out)


def captures(seed=SEED):
    """name -> content of every capture that is complete and readable."""
    r = random.Random(seed)
    out = {"cases.pcap": pcap(ref.LINK_ETHERNET, records(r, ethernet, 5000, ethernet_cut))}
    for name, (link, make) in LINKS.items():
        recs = records(r, make, 400)
        out[f"{name}.pcap"] = pcap(link, recs, r.choice("<>"), r.random() < 0.5)
        out[f"{name}.pcapng"] = pcapng(link, recs, r.choice("<>"))
    recs = records(r, ethernet, 200)
    for order, letter in (("<", "le"), (">", "be")):
        out[f"micro-{letter}.pcap"] = pcap(ref.LINK_ETHERNET, recs, order)
        out[f"nano-{letter}.pcap"] = pcap(ref.LINK_ETHERNET, recs, order, nano=True)
        out[f"nano-{letter}.pcapng"] = pcapng(ref.LINK_ETHERNET, recs, order, resolution=9)
        out[f"sections-{letter}.pcapng"] = pcapng(ref.LINK_ETHERNET, recs, order, sections=3)
        out[f"old-{letter}.pcapng"] = pcapng(ref.LINK_ETHERNET, recs, order, old=True)
    out["binary.pcapng"] = pcapng(ref.LINK_ETHERNET, recs, resolution=128 | 20)
    out["offset.pcapng"] = pcapng(ref.LINK_ETHERNET, recs, offset=START - 1000)
    out["one.pcap"] = pcap(ref.LINK_ETHERNET, recs[:1])
    out["none.pcap"] = pcap(ref.LINK_ETHERNET, [])
    return out
