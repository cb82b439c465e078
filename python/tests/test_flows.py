# SPDX-License-Identifier: BSD-2-Clause
"""examples/flows.py writes the table of fp-flows.

FP_FLOWS  the program of examples/flows; without it these tests are skipped
"""

import os
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "flows"))
import generate  # noqa: E402

FP_FLOWS = os.environ.get("FP_FLOWS")
PACKAGED = "/usr/share/gocode/src/github.com/gopacket/gopacket/pcap/"
GENERATED = {k: v for k, v in generate.captures().items() if k.endswith(".pcap")}
INPUTS = [*GENERATED, PACKAGED + "test_dns.pcap", PACKAGED + "test_ethernet.pcap",
          PACKAGED + "test_loopback.pcap"]

pytestmark = pytest.mark.skipif(not FP_FLOWS, reason="FP_FLOWS does not name fp-flows")


def flows_py(path, *args, code=0):
    done = subprocess.run([sys.executable, "-B", str(ROOT / "examples" / "flows.py"), *args, path],
                          capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def capture(request, tmp_path):
    name = request.param
    if name not in GENERATED:
        assert os.path.exists(name), f"{name} is missing: run scripts/bootstrap test"
        return name
    path = tmp_path / name
    path.write_bytes(GENERATED[name])
    return path


def fp_flows(path, *args):
    done = subprocess.run([FP_FLOWS, "-q", "-o", "-", *args, path], capture_output=True, text=True,
                          check=False, timeout=300)
    return done.stdout


@pytest.mark.parametrize("capture", INPUTS, indirect=True)
def test_same_table(capture):
    assert flows_py(capture).stdout == fp_flows(capture)


@pytest.mark.parametrize("timeout", ["0", "0.003", "0.2", "2.5"])
@pytest.mark.parametrize("capture", ["cases.pcap", PACKAGED + "test_ethernet.pcap"], indirect=True)
def test_flows_age(capture, timeout):
    args = "--idle-timeout", timeout
    assert flows_py(capture, *args).stdout == fp_flows(capture, *args)


@pytest.mark.parametrize("timeout", ["-1", "x", "nan", "1e10"])
def test_a_bad_timeout_is_refused(timeout):
    assert "invalid seconds value" in flows_py("x", f"--idle-timeout={timeout}", code=2).stderr


@pytest.mark.parametrize("left", [1, 15, 17])
def test_a_cut_file_gives_what_is_there(tmp_path, left):
    whole = GENERATED["cases.pcap"]
    path = tmp_path / "cut.pcap"
    path.write_bytes(whole + whole[24:24 + left])
    done = flows_py(path, code=1)
    path.write_bytes(whole)
    assert done.stdout == fp_flows(path)
    assert f"at byte {len(whole)}" in done.stderr


@pytest.mark.parametrize("content, said", [
    (b"\x0a\x0d\x0d\x0a" + bytes(40), "not a pcap file"),
    (b"\xd4\xc3\xb2\xa1", "not a pcap file"),
    (b"", "empty file"),
    (None, "No such file"),
    (GENERATED["none.pcap"][:20] + b"\x93\0\0\0", "link type 147 is not supported"),
])
def test_what_is_no_use_is_refused(tmp_path, content, said):
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content)
    done = flows_py(path, code=1)
    assert said in done.stderr and "Traceback" not in done.stderr and done.stdout == ""
