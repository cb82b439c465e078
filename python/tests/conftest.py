# SPDX-License-Identifier: BSD-2-Clause
"""What the suites of the Python package share.

The package under test is the one that `import libfp` finds; ctest builds it against the library
of the build tree and sets PYTHONPATH.

LIBFP_TEST_SCALE  test (default) or proof: how many examples the property tests try
LIBFP_TEST_SEED   seed of the property tests; printed when something fails
"""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import core, settings

ROOT = Path(__file__).resolve().parents[2]
SEED = int(os.environ.get("LIBFP_TEST_SEED", random.getrandbits(32)))
PROOF = os.environ.get("LIBFP_TEST_SCALE") == "proof"

settings.register_profile("test", max_examples=40, stateful_step_count=40, deadline=None,
                          database=None, print_blob=True)
settings.register_profile("proof", max_examples=500, stateful_step_count=100, deadline=None,
                          database=None, print_blob=True)
settings.load_profile("proof" if PROOF else "test")
core.global_force_seed = SEED


def pytest_terminal_summary(terminalreporter, exitstatus):
    if exitstatus:
        terminalreporter.write_line(f"LIBFP_TEST_SEED={SEED} repeats the property tests")


SIDES = [(p, c) for p in ("mt", "st") for c in ("mt", "st")]


@pytest.fixture(params=SIDES, ids=lambda sides: "-".join(sides))
def sides(request):
    """Keyword arguments of each kind of ring."""
    producer, consumer = request.param
    return {"producer": producer, "consumer": consumer}


POOLS = {"plain": {}, "stats": {"stats": True}, "checked": {"checked": True},
         "cache of one": {"cache_size": 1}}


@pytest.fixture(params=POOLS)
def pools(request):
    """Keyword arguments of each kind of pool."""
    return POOLS[request.param]


@pytest.fixture
def python(tmp_path):
    """Runs a program in a fresh interpreter: it must end with 0 and say nothing on stderr."""

    def run(text, code=0):
        script = tmp_path / "script.py"
        script.write_text(text)
        done = subprocess.run([sys.executable, "-B", str(script)], text=True, check=False,
                              capture_output=True, timeout=120)
        assert (done.returncode, done.stderr) == (code, ""), done.stdout
        return done.stdout

    return run
