# SPDX-License-Identifier: BSD-2-Clause
"""fp-flows against tshark: frames, lengths, IP frames, frames per protocol.

tshark's first ip or ipv6 layer is the outermost one, which is where fp-flows looks.
Where the two see the same frame differently:

* tshark takes an IPv6 header with another version for plain data. fp-flows counts
  it as IPv6, malformed.
* A frame that is cut inside the IP header has a protocol for tshark if that byte was
  captured. fp-flows counts it as malformed; here it is told by the missing
  destination address.
* frame.len ends at 2^31 - 1; capinfos has the sum of the real lengths.
* tshark wants 8 bytes before it decides about a raw IP frame.

A flow has the protocol behind IPv6 extension headers, so tshark's is found by
following the "next header" fields of the first header of each kind.
"""

import subprocess
from collections import Counter

import generate
import pytest
import reference
from conftest import PACKAGED

EXTENSIONS = {
    0: "ipv6.hopopts.nxt",
    43: "ipv6.routing.nxt",
    44: "ipv6.fraghdr.nxt",
    51: "ah.next_header",
    60: "ipv6.dstopts.nxt",
}
FIELDS = (
    "frame.protocols", "frame.len", "ip.proto", "ip.dst", "ipv6.nxt", "ipv6.dst",
    "ipv6.routing.len", *EXTENSIONS.values(),
)  # fmt: skip

INPUTS = [
    "mix.pcap",
    *map(str, PACKAGED),
    "generated/cases.pcap",
    *(f"generated/{link}.pcap" for link in generate.LINKS),
    "generated/nano-be.pcapng",
    "generated/sections-le.pcapng",
]


def output_of(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    return done.stdout.decode()


def dissect(path):
    """One dict of field -> list of values per frame."""
    command = ["tshark", "-r", path, "-n", "-T", "fields", "-E", "occurrence=a"]
    for name in ("ip.defragment", "ipv6.defragment"):
        command += ["-o", f"{name}:FALSE"]
    for field in FIELDS:
        command += ["-e", field]
    for line in output_of(*command).splitlines():
        values = [v.split(",") if v else [] for v in line.split("\t")]
        yield dict(zip(FIELDS, values))


def first_ip(frame):
    for layer in frame["frame.protocols"][0].split(":") if frame["frame.protocols"] else ():
        if layer in ("ip", "ipv6"):
            return layer
    return None


def flow_protocol(frame, layer):
    """The protocol fp-flows is to see; None: the header is cut or unusable."""
    if layer == "ip":
        return int(frame["ip.proto"][0]) if frame["ip.proto"] and frame["ip.dst"] else None
    if not frame["ipv6.dst"]:
        return None
    proto = int(frame["ipv6.nxt"][0])
    following = {k: list(frame[f]) for k, f in EXTENSIONS.items()}
    # tshark shows what follows a routing header of which it has a single byte.
    del following[43][len(frame["ipv6.routing.len"]) :]
    while following.get(proto):
        proto = int(following[proto].pop(0))
    return proto


@pytest.mark.parametrize("capture", INPUTS, indirect=True)
def test_counts_equal_tshark(flows, tmp_path, capture):
    frames = list(dissect(capture))
    layers = Counter(first_ip(f) for f in frames)
    protocols = Counter()
    for frame in frames:
        layer = first_ip(frame)
        if layer and flow_protocol(frame, layer) is not None:
            protocols[4 if layer == "ip" else 6, flow_protocol(frame, layer)] += 1

    run = flows("-w", 2, "--idle-timeout", 0, capture)
    assert run.code == 0
    rows = reference.read_csv((tmp_path / "flows.csv").read_text())
    ours = Counter()
    for row in rows:
        ours[row[1][0], row[0]] += row[7] + row[9]

    packets = reference.Capture(capture).packets
    too_short = Counter()
    if reference.Capture(capture).link == reference.LINK_RAW:
        too_short.update(p.data[0] >> 4 for p in packets if 0 < len(p.data) < 8)

    assert run.count("packets") == len(frames)
    assert run.count("bytes") == sum_of_lengths(capture)
    clamped = sum(min(p.length, 2**31 - 1) for p in packets)
    assert sum(int(f["frame.len"][0]) for f in frames) == clamped
    assert run.count("IPv4") - too_short[4] == layers["ip"]
    assert run.count("IPv6") - too_short[6] - run.count("bad IPv6 version") == layers["ipv6"]
    assert ours == protocols


def sum_of_lengths(path):
    """capinfos comes with tshark."""
    table = output_of("capinfos", "-T", "-M", "-r", "-d", path)
    return int(table.split("\t")[-1])
