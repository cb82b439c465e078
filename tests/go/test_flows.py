# SPDX-License-Identifier: BSD-2-Clause
"""flows-go against fp-flows: the same flows.csv for every capture.

FLOWS_GO   examples/flows-go, built
FP_FLOWS   examples/flows, built
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "flows"))

import generate  # noqa: E402
from conftest import PACKAGED  # noqa: E402

GENERATED = generate.captures()
# gopacket rounds time stamps that count in powers of two.
ROUNDED = {"binary.pcapng"}


def run(program, *args, **options):
    done = subprocess.run([os.environ[program], *map(str, args)], timeout=300, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def same_table(tmp_path, capture, workers):
    for seconds in (60, 0, 0.003, 0.2):
        same_table_after(tmp_path, capture, workers, seconds)


def same_table_after(tmp_path, capture, workers, seconds):
    args = ["-q", "--idle-timeout", seconds, "-o", tmp_path / "c.csv"]
    assert run("FP_FLOWS", *args, capture) == (0, "", "")
    args = ["-w", workers, "-idle-timeout", f"{seconds}s", "-o", tmp_path / "go.csv"]
    assert run("FLOWS_GO", *args, capture) == (0, "", "")
    assert (tmp_path / "go.csv").read_text() == (tmp_path / "c.csv").read_text()


@pytest.mark.parametrize("name", sorted(set(GENERATED) - ROUNDED))
def test_generated_captures(tmp_path, name):
    capture = tmp_path / name
    capture.write_bytes(GENERATED[name])
    for workers in (1, 2, 5) if name == "cases.pcap" else (2,):
        same_table(tmp_path, capture, workers)


@pytest.mark.parametrize("capture", PACKAGED, ids=lambda path: path.name)
def test_captures_of_the_debian_package(tmp_path, capture):
    same_table(tmp_path, capture, 2)


def test_standard_input_and_output(tmp_path):
    same_table_after(tmp_path, PACKAGED[0], 2, 60)
    code, out, err = run("FLOWS_GO", "-o", "-", "-", input=PACKAGED[0].read_bytes())
    assert (code, out, err) == (0, (tmp_path / "c.csv").read_text(), "")


def test_a_cut_capture_gives_what_could_be_read(tmp_path):
    capture = tmp_path / "cut.pcap"
    capture.write_bytes(GENERATED["cases.pcap"][:-1])
    run("FP_FLOWS", "-q", "-o", tmp_path / "c.csv", capture)
    code, _, err = run("FLOWS_GO", "-o", tmp_path / "go.csv", capture)
    assert code == 1
    assert "cut or damaged after 4999 packets" in err
    assert (tmp_path / "go.csv").read_text() == (tmp_path / "c.csv").read_text()


@pytest.mark.parametrize("args", [[], ["-w", "0", "x"], ["-w", "65", "x"], ["a", "b"], ["-?"],
                                  ["-idle-timeout", "-1s", "x"]])
def test_bad_usage(args):
    code, _, err = run("FLOWS_GO", *args)
    assert code == 2
    assert "usage: flows-go" in err


def test_nothing_usable(tmp_path):
    (tmp_path / "text").write_text("this is no capture file, but it is long enough\n")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "wifi").write_bytes(generate.pcap(105, []))
    for name in ("text", "empty", "wifi", "missing"):
        code, _, err = run("FLOWS_GO", "-o", tmp_path / "out.csv", tmp_path / name)
        assert code == 2
        assert err.startswith("flows-go: ") and name in err and err.count("\n") == 1
    code, _, err = run("FLOWS_GO", "-o", tmp_path / "no" / "out.csv", PACKAGED[0])
    assert code == 2 and "out.csv" in err
