# SPDX-License-Identifier: BSD-2-Clause
"""In its steady state fp-flows gets no memory: neither from the heap nor by mapping.

A capture is replayed several times over in one file. The first passes bring every flow,
the longest frame, and each thread its cache of the pool; then count_allocations.c
counts. No worker can still be at the first pass then, whatever the scheduling: what it
has before it are at most 31 packets that the reader collects, 8 in its ring and 8 in its
hands, and the frames without a flow alone, which take turns, are 14 a pass for each of
64 workers.

FP_FLOWS_COUNT   the library of count_allocations.c
"""

import os

import pytest
from conftest import GENERATED

CASES = GENERATED["cases.pcap"]
PACKETS = 5000
PASSES = 8
WARM = 5


def counted(flows, tmp_path, count_from, *args, path=None):
    """(packets read, calls before, calls since, who) of a run, over all passes or a file."""
    if not path:
        path = tmp_path / "passes.pcap"
        path.write_bytes(CASES[:24] + PASSES * CASES[24:])
    report = tmp_path / "report"
    env = {
        "LD_PRELOAD": os.environ["FP_FLOWS_COUNT"],
        "COUNT_FROM": str(count_from),
        "COUNT_REPORT": str(report),
    }
    run = flows("--ring", 8, *args, path, env=env)
    assert (run.code, run.err) == (0, "")
    packets, before, since, *who = report.read_text().split()
    return int(packets), int(before), int(since), who


@pytest.mark.parametrize("echo", [False, True], ids=["table", "echo"])
@pytest.mark.parametrize("workers", [1, 3, 64])
def test_no_memory_after_the_warm_up(flows, tmp_path, workers, echo):
    args = ["-w", workers] + (["--echo", tmp_path / "echo"] if echo else [])
    packets, before, since, who = counted(flows, tmp_path, WARM * PACKETS, *args)
    assert packets == PASSES * PACKETS
    assert before > 0
    assert since == 0, f"first by {who}"
    if echo:
        assert (tmp_path / "echo").read_bytes() == CASES[:24] + PASSES * CASES[24:]


def test_the_counter_counts(flows, tmp_path):
    """From the first packet on: tables grow, threads get caches."""
    _, before, since, who = counted(flows, tmp_path, 0, "-w", 3)
    assert before > 0
    assert since > 0
    assert who[0] != "-"
