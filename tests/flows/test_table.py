# SPDX-License-Identifier: BSD-2-Clause
"""The flow table and the echo against the reference, for any number of workers."""

import os
import struct
import subprocess
import threading

import generate
import pytest
import reference
from conftest import GENERATED, inputs


@pytest.mark.parametrize("capture", inputs(), indirect=True)
def test_table_counts_and_echo_equal_the_reference(flows, tmp_path, generated, capture):
    expected = reference.Capture(capture)
    table = reference.Table(expected)
    texts = set()
    variant = capture.parent == generated and capture.name != "cases.pcap"
    for workers in (2,) if variant else (1, 2, 4):
        run = flows("-w", workers, "--echo", tmp_path / "echo.pcap", capture)
        assert (run.code, run.err) == (0, "")
        texts.add((tmp_path / "flows.csv").read_text())

        assert run.count("packets") == len(expected.packets)
        assert run.count("bytes") == table.bytes
        assert run.count("IPv4") == table.versions[4]
        assert run.count("IPv6") == table.versions[6]
        assert run.count("other") == table.kinds["other"]
        assert run.count("flows") == len(table.rows)
        assert run.count("malformed") == sum(table.kinds[r] for r in reference.REASONS)
        for reason in reference.REASONS:
            assert run.count(reason) == table.kinds[reason], reason

        echo = reference.Capture(tmp_path / "echo.pcap")
        assert not echo.cut
        assert echo.link == expected.link
        assert len(echo.packets) == len(expected.packets)
        if expected.resolution:
            assert echo.resolution == expected.resolution
            assert echo.packets == expected.packets
        else:
            for a, b in zip(echo.packets, expected.packets):
                assert (a.time_ns, a.length, a.data) == (b.time_ns, b.length, b.data)
    assert len(texts) == 1, "the table depends on the number of workers"
    assert reference.read_csv(texts.pop()) == table.rows


def test_echo_of_little_endian_pcap_is_the_same_file(flows, tmp_path, generated):
    for name in ("cases.pcap", "micro-le.pcap", "nano-le.pcap"):
        assert flows("--echo", tmp_path / "echo", generated / name).code == 0
        assert (tmp_path / "echo").read_bytes() == GENERATED[name]


def test_generated_capture_holds_every_case():
    table = reference.Table(reference.Capture(GENERATED["cases.pcap"]))
    assert sum(table.kinds.values()) == 5000
    for reason in (*reference.REASONS, "other"):
        assert table.kinds[reason] > 0, reason
    for proto in (6, 17, 132):
        rows = [r for r in table.rows if r[0] == proto]
        assert any(r[2] and r[4] for r in rows), "with ports"
        assert any(not r[2] and not r[4] for r in rows), "cut or fragment"
        assert any(r[7] and r[9] for r in rows), "both directions"
    assert {0, 43, 44, 51, 60} <= set(table.bases[6])
    assert table.bytes > 2**32


@pytest.mark.parametrize("name", ["cases.pcap", "nano-be.pcapng"])
def test_standard_input(flows, tmp_path, generated, name):
    flows(generated / name)
    expected = (tmp_path / "flows.csv").read_text()
    run = flows("--echo", tmp_path / "echo", "-", stdin=GENERATED[name])
    assert run.code == 0
    assert (tmp_path / "flows.csv").read_text() == expected
    assert len(reference.Capture(tmp_path / "echo").packets) == run.count("packets")


@pytest.mark.parametrize("ring", [1, 2, 3, 65536])
@pytest.mark.parametrize("workers", [1, 3, 64])
def test_any_ring_capacity(flows, tmp_path, generated, ring, workers):
    flows("-w", 1, generated / "nano-le.pcap")
    expected = (tmp_path / "flows.csv").read_text()
    for echo in ([], ["--echo", tmp_path / "echo"]):
        run = flows("-w", workers, "--ring", ring, *echo, generated / "nano-le.pcap")
        assert run.code == 0
        assert (tmp_path / "flows.csv").read_text() == expected
    assert (tmp_path / "echo").read_bytes() == GENERATED["nano-le.pcap"]


def test_more_packets_than_are_in_flight(flows, tmp_path, generated):
    """Tiny rings, and more packets than the pipeline has: they go round."""
    run = flows("-w", 3, "--ring", 1, "--echo", tmp_path / "echo", generated / "cases.pcap")
    assert run.code == 0
    assert (tmp_path / "echo").read_bytes() == GENERATED["cases.pcap"]


@pytest.mark.parametrize("snapshot", [60, 4096, 262144])
def test_frames_as_long_as_the_snapshot_length(flows, tmp_path, snapshot):
    """They fill an object of the pool to its last byte, and more of them than it has."""
    recs = [(10**18 + i, snapshot, bytes((i % 256,)) * snapshot) for i in range(300)]
    recs += [(10**18, 14, bytes(14))] * 3000
    content = bytearray(generate.pcap(reference.LINK_ETHERNET, recs))
    struct.pack_into("<I", content, 16, snapshot)
    path = tmp_path / "full.pcap"
    path.write_bytes(content)
    run = flows("-w", 2, "--echo", tmp_path / "echo", path)
    assert (run.code, run.count("packets")) == (0, len(recs))
    assert (tmp_path / "echo").read_bytes() == content


def test_a_frame_longer_than_the_snapshot_length_is_cut(flows, tmp_path):
    recs = [(10**18, 500, bytes(range(250)) * 2)] * 2
    content = bytearray(generate.pcap(reference.LINK_ETHERNET, recs))
    struct.pack_into("<I", content, 16, 100)
    path = tmp_path / "cut.pcap"
    path.write_bytes(content)
    assert flows("--echo", tmp_path / "echo", path).code == 0
    echo = reference.Capture(tmp_path / "echo")
    assert [(p.length, p.data) for p in echo.packets] == [(500, bytes(range(100)))] * 2


def test_nothing_is_dropped_while_nobody_takes_the_echo():
    """The pipe fills up, then the pool is used up, and the reader waits."""
    content = GENERATED["cases.pcap"]
    content = content[:24] + 4 * content[24:]
    process = subprocess.Popen(
        [os.environ["FP_FLOWS"], "-q", "-w", "3", "-o", os.devnull, "--echo", "-", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )
    feeder = threading.Thread(target=feed, args=(process.stdin, content))
    feeder.start()
    feeder.join(timeout=0.5)  # it cannot end before somebody reads
    assert feeder.is_alive()
    echo = process.stdout.read()
    feeder.join()
    assert process.wait(timeout=300) == 0
    assert echo == content


def feed(pipe, content):
    with pipe:
        pipe.write(content)


def test_one_core(tmp_path, generated):
    core = str(min(os.sched_getaffinity(0)))
    done = subprocess.run(
        ["taskset", "-c", core, os.environ["FP_FLOWS"], "-q", "-w", "4", "--ring", "8",
         "-o", tmp_path / "flows.csv", "--echo", tmp_path / "echo", generated / "cases.pcap"],
        timeout=300, check=False,
    )
    assert done.returncode == 0
    assert (tmp_path / "echo").read_bytes() == GENERATED["cases.pcap"]


def test_table_on_standard_output(flows, tmp_path, generated):
    flows(generated / "cases.pcap")
    run = flows("-o", "-", generated / "cases.pcap")
    assert run.code == 0
    assert run.out == (tmp_path / "flows.csv").read_text()
    assert "packets    5000" in run.err


def test_echo_on_standard_output(flows, generated):
    run = flows("--echo", "-", generated / "cases.pcap")
    assert run.code == 0
    assert run.raw_out == GENERATED["cases.pcap"]
    assert "packets    5000" in run.err


def test_quiet_prints_nothing(flows, generated):
    run = flows("-q", generated / "cases.pcap")
    assert (run.code, run.out, run.err) == (0, "", "")


def test_more_flows_than_the_first_table_holds(flows, tmp_path):
    recs = []
    for i in range(30000):
        head = bytes.fromhex("4500001c0000000040110000")
        packet = head + i.to_bytes(4, "big") + bytes((10, 0, 0, 1))
        recs.append((i, 28, packet + bytes.fromhex("0001000200080000")))
    path = tmp_path / "many.pcap"
    path.write_bytes(generate.pcap(reference.LINK_RAW, recs, nano=True))
    run = flows("-w", 2, path)
    assert run.code == 0
    assert run.count("flows") == 30000
    rows = reference.read_csv((tmp_path / "flows.csv").read_text())
    assert rows == reference.Table(reference.Capture(path)).rows
