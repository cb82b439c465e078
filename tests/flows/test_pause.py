# SPDX-License-Identifier: BSD-2-Clause
"""While its input pauses, fp-flows sleeps: no thread of it polls, and nothing is lost.

A polling thread goes to sleep and wakes again and again; a sleeping one does neither, so
the kernel's counts of context switches stand still. Only the progress line, on a
terminal, may wake a thread now and then.
"""

import os
import subprocess
import time
from pathlib import Path

import pytest
from conftest import GENERATED

CASES = GENERATED["cases.pcap"]
STILL = 10  # looks in a row, a tenth of a second apart, that must see no switch
LOOKS = 1200


def switches(pid):
    """Context switches so far, of all threads of a process."""
    total = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        for line in status.read_text().splitlines():
            if "ctxt_switches" in line:
                total += int(line.split()[1])
    return total


def stands_still(pid):
    """Whether some second comes in which no thread runs."""
    before, still = switches(pid), 0
    for _ in range(LOOKS):
        time.sleep(0.1)
        now = switches(pid)
        still = still + 1 if now == before else 0
        before = now
        if still == STILL:
            return True
    return False


@pytest.mark.parametrize("echo", [False, True], ids=["table", "echo"])
def test_a_pause_of_the_input_costs_nothing(flows, tmp_path, echo):
    capture = CASES + 4 * CASES[24:]
    middle = len(capture) // 2
    options = ["--workers", "3"] + (["--echo", tmp_path / "echo.pcap"] if echo else [])
    process = subprocess.Popen(
        [os.environ["FP_FLOWS"], "-o", tmp_path / "paused.csv", *options, "-"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdin.write(capture[:middle])
    process.stdin.flush()
    assert stands_still(process.pid), "a thread polls while there is no input"
    process.stdin.write(capture[middle:])
    process.stdin.close()
    assert process.wait(timeout=120) == 0, process.stderr.read()
    (tmp_path / "whole.pcap").write_bytes(capture)
    assert flows("-o", tmp_path / "whole.csv", tmp_path / "whole.pcap").code == 0
    assert (tmp_path / "paused.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    if echo:
        assert (tmp_path / "echo.pcap").read_bytes() == capture
