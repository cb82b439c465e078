# SPDX-License-Identifier: BSD-2-Clause
"""What the suites of fp-flows share.

FP_FLOWS          the program under test
FP_FLOWS_BOUNDS   parse_bounds.c
LIBFP_TEST_SEED   seed of the random damage; printed, so that a run can be repeated
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402

ROOT = HERE.parent.parent
MIX = ROOT.parent / "shared" / "data" / "mix.pcap"
GOPACKET = Path("/usr/share/gocode/src/github.com/gopacket/gopacket")
PACKAGED = (
    GOPACKET / "pcap/test_dns.pcap",
    GOPACKET / "pcap/test_ethernet.pcap",
    GOPACKET / "pcap/test_loopback.pcap",
    GOPACKET / "pcapgo/tests/le/test300.pcapng",
    GOPACKET / "pcapgo/tests/le/test301.pcapng",
)

GENERATED = generate.captures()


@pytest.fixture(scope="session")
def generated(tmp_path_factory):
    """The directory with all generated captures."""
    directory = tmp_path_factory.mktemp("captures")
    for name, content in GENERATED.items():
        (directory / name).write_bytes(content)
    return directory


def inputs():
    """Parameters of tests that run over every capture; see `capture`."""
    return [f"generated/{name}" for name in GENERATED] + [str(p) for p in PACKAGED] + ["mix.pcap"]


@pytest.fixture
def capture(request, generated):
    name = request.param
    if name == "mix.pcap":
        if not MIX.exists():
            pytest.skip("../shared/data/mix.pcap, beside the repository, is not there")
        return MIX
    if name.startswith("generated/"):
        return generated / name.split("/")[1]
    assert Path(name).exists(), f"{name} is missing: run scripts/bootstrap test"
    return Path(name)


class Run:
    """One finished run of fp-flows."""

    def __init__(self, done):
        self.code = done.returncode
        self.raw_out = done.stdout
        self.out = done.stdout.decode(errors="replace")
        self.err = done.stderr.decode(errors="replace")

    def count(self, label):
        """A number of the summary; malformed reasons that are not there are 0."""
        found = re.search(rf"^ *{re.escape(label)}:? +(\d+)", self.out, re.M)
        return int(found.group(1)) if found else 0


@pytest.fixture
def flows(tmp_path):
    """Runs fp-flows; without an -o the table goes to tmp_path/flows.csv."""

    def run(*args, stdin=None, stdout=subprocess.PIPE, env=None):
        args = [str(a) for a in args]
        if "-o" not in args:
            args = ["-o", str(tmp_path / "flows.csv"), *args]
        done = subprocess.run(
            [os.environ["FP_FLOWS"], *args],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
            timeout=300,
            check=False,
        )
        done.stdout = done.stdout or b""
        finished = Run(done)
        # A sanitizer's report ends with an exit code that could be one of ours.
        assert "anitizer" not in finished.err and "runtime error" not in finished.err, finished.err
        return finished

    return run
