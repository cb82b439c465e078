# SPDX-License-Identifier: BSD-2-Clause
"""Flows that end by their idle timeout: against the reference, at the edges, in memory."""

import functools
import os
import random
import subprocess
import time

import generate
import pytest
import reference
from conftest import GENERATED, inputs
from test_steady import counted

SECOND = 10**9


def seconds(ns):
    return f"{ns // SECOND}.{ns % SECOND:09}"


def rows_of(flows, tmp_path, capture, timeout, *args):
    run = flows("--idle-timeout", seconds(timeout), *args, capture)
    assert (run.code, run.err) == (0, "")
    return run, reference.read_csv((tmp_path / "flows.csv").read_text())


@functools.lru_cache
def table_of(capture, timeout):
    return reference.Table(capture, timeout)


@functools.lru_cache
def cases():
    return reference.Capture(GENERATED["cases.pcap"])


def check(flows, tmp_path, path, capture, timeout, *args):
    table = table_of(capture, timeout)
    run, rows = rows_of(flows, tmp_path, path, timeout, *args)
    assert rows == table.rows
    assert run.count("flows") == len(table.rows)
    assert run.count(f"idle for {timeout / SECOND:g} s") == table.idle
    return table


@pytest.mark.parametrize("capture", inputs(), indirect=True)
def test_table_equals_the_reference(flows, tmp_path, capture):
    """The default timeout is test_table.py's."""
    expected = cases() if capture.name == "cases.pcap" else reference.Capture(capture)
    for i, timeout in enumerate((0, 3_000_000, SECOND // 5, 2 * SECOND)):
        check(flows, tmp_path, capture, expected, timeout, "-w", (1, 3, 2)[i % 3])


@pytest.mark.parametrize("workers", [1, 2, 64])
@pytest.mark.parametrize("echo", [False, True], ids=["table", "echo"])
def test_any_number_of_workers_and_any_ring(flows, tmp_path, generated, workers, echo):
    """Packets that say the time fill the rings and the pool like others."""
    path = generated / "cases.pcap"
    args = ["--echo", tmp_path / "echo"] if echo else []
    for ring, timeout in ((1, SECOND // 100), (8, SECOND // 2), (1024, 1)):
        check(flows, tmp_path, path, cases(), timeout, "-w", workers, "--ring", ring, *args)
    if echo:
        assert (tmp_path / "echo").read_bytes() == GENERATED["cases.pcap"]


def udp(source, time_ns):
    """A record of one flow for each source."""
    head = bytes.fromhex("4500001c0000000040110000") + source.to_bytes(4, "big")
    return (time_ns, 28, head + bytes((10, 0, 0, 1)) + bytes.fromhex("0001000200080000"))


def written(tmp_path, recs):
    content = generate.pcap(reference.LINK_RAW, recs, nano=True)
    path = tmp_path / "made.pcap"
    path.write_bytes(content)
    return path, reference.Capture(content)


def test_the_moment_of_the_end(flows, tmp_path):
    """A packet one nanosecond before it is of the old flow, one at it of a new one."""
    timeout, now, recs = 5 * SECOND, SECOND, []
    for gap in (0, timeout - 1, timeout, timeout + 1, timeout - 1, 100 * timeout, 1):
        now += gap
        recs.append(udp(1, now))
    table = check(flows, tmp_path, *written(tmp_path, recs), timeout)
    assert [row[7] for row in table.rows] == [2, 1, 2, 2]


def test_a_late_packet_counts_by_the_clock_at_which_it_comes(flows, tmp_path):
    """Time stamps that go back do not turn the clock back, nor end a flow early."""
    timeout = 5 * SECOND
    recs = [udp(1, 100 * SECOND), udp(2, 2 * SECOND), udp(2, 1 * SECOND),
            udp(3, 104 * SECOND), udp(2, 3 * SECOND), udp(1, 0), udp(3, 110 * SECOND)]
    table = check(flows, tmp_path, *written(tmp_path, recs), timeout)
    assert sorted(row[7] for row in table.rows) == [1, 1, 2, 3]


def test_rows_are_in_the_order_of_the_ends(flows, tmp_path):
    recs = [udp(9, 10 * SECOND), udp(1, 10 * SECOND), udp(5, 11 * SECOND), udp(9, 12 * SECOND),
            udp(7, 30 * SECOND), udp(3, 30 * SECOND)]
    _, rows = rows_of(flows, tmp_path, written(tmp_path, recs)[0], 5 * SECOND, "-w", 4)
    assert [row[1][1] for row in rows] == [1, 5, 9, 3, 7]


def test_random_times(flows, tmp_path):
    """Gaps around the timeout, stamps that go back, flows that come again and again."""
    seed = int(os.environ.get("LIBFP_TEST_SEED", "0"), 0) or random.randrange(2**32)
    print(f"seed: LIBFP_TEST_SEED={seed}")
    r = random.Random(seed)
    timeout, now, recs = SECOND, 10**18, []
    for _ in range(8000):
        now += r.choice((0, 1, 1000, r.randrange(SECOND // 50), r.randrange(SECOND)))
        if r.random() < 0.001:
            now += r.choice((10**9 - 1, 10**9, 10**15))
        recs.append(udp(r.randrange(1, 300), now - r.choice((0, 0, 1, r.randrange(10**10)))))
    path, capture = written(tmp_path, recs)
    table = check(flows, tmp_path, path, capture, timeout, "-w", 3)
    assert len(table.rows) > 500 and table.idle > 500
    check(flows, tmp_path, path, capture, timeout, "-w", 1)


def test_a_clock_at_the_end_of_time(flows, tmp_path):
    """A damaged time stamp: the clock stays there, and nothing ends any more."""
    recs = [udp(1, SECOND), udp(2, (2**32 - 1) * SECOND), udp(1, SECOND), udp(3, 2 * SECOND),
            udp(3, (2**32 - 1) * SECOND + SECOND - 1), udp(2, 5)]
    for timeout in (1, SECOND, SECOND * SECOND):
        check(flows, tmp_path, *written(tmp_path, recs), timeout)


def test_the_largest_flows_are_printed_whenever_they_ended(flows, tmp_path):
    recs = []
    for source in range(1, 40):
        copies = source * 7 % 40
        recs += [udp(source, source * 100 * SECOND + i) for i in range(copies)]
    run, _ = rows_of(flows, tmp_path, written(tmp_path, recs)[0], SECOND, "--top", 5, "-w", 2)
    shown = [line.split() for line in run.out.splitlines()[2:7]]
    assert [int(line[3]) for line in shown] == [39, 38, 37, 36, 35]


@pytest.mark.parametrize("workers", [1, 4])
def test_rows_are_written_when_flows_end(tmp_path, workers):
    """While the input is open: the row of a flow is in the file once time has passed."""
    recs = [udp(1, SECOND), udp(2, 2 * SECOND), udp(3, 9 * SECOND)]
    path = tmp_path / "flows.csv"
    process = subprocess.Popen(
        [os.environ["FP_FLOWS"], "-q", "-w", str(workers), "--idle-timeout", "5",
         "-o", path, "-"],
        stdin=subprocess.PIPE,
    )  # fmt: skip
    content = generate.pcap(reference.LINK_RAW, recs, nano=True)
    process.stdin.write(content)
    process.stdin.flush()
    give_up = time.monotonic() + 120
    while not path.exists() or path.read_text().count("\n") < 3:
        assert time.monotonic() < give_up, "no rows"
        assert process.poll() is None
        time.sleep(0.01)
    early = reference.read_csv(path.read_text())
    process.stdin.close()
    assert process.wait(timeout=120) == 0
    rows = reference.Table(reference.Capture(content), 5 * SECOND).rows
    assert reference.read_csv(path.read_text()) == rows
    assert early == rows[:2]


def test_a_full_disk_while_flows_end(flows, generated):
    run = flows("-o", "/dev/full", "--idle-timeout", "0.001", generated / "cases.pcap")
    assert run.code == 2 and run.err.startswith("fp-flows: /dev/full: No space left")


@pytest.mark.skipif("FP_FLOWS_COUNT" not in os.environ, reason="needs the allocator's counter")
@pytest.mark.parametrize("workers", [1, 3])
def test_memory_is_for_the_flows_that_live(flows, tmp_path, workers):
    """Ever new flows need none once as many have ended as there are at a time."""
    count, recs = 20000, []
    for i in range(count):
        recs.append(udp(i + 1, SECOND + i * SECOND // 1000))
    path = written(tmp_path, recs)[0]
    args = ("-w", workers, "--idle-timeout", "0.1")
    packets, before, since, who = counted(flows, tmp_path, count // 2, *args, path=path)
    assert packets == count
    assert before > 0
    assert since == 0, f"first by {who}"
