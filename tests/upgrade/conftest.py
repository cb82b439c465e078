# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of the rehearsal share. ctest sets:

LIBFP_SO             the shared library of this build
LIBFP_CURRENT        the installation prefix of this build
LIBFP_GO             Debian's go; LIBFP_GO_DIR: where its caches are
LIBFP_TEST_SCALE     test: a script of each language; proof: everything

What a machine or a tree does not have is a skip with its reason; a run in which
everything was skipped ends with 77.
"""

import os
import sys
from pathlib import Path

import pytest

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import install  # noqa: E402
import programs  # noqa: E402

FULL = os.environ.get("LIBFP_TEST_SCALE") == "proof"


def pytest_addoption(parser):
    parser.addoption("--language", action="append", choices=list(programs.LANGUAGES),
                     help="only the tests of this language")


def pytest_generate_tests(metafunc):
    if "language" in metafunc.fixturenames:
        metafunc.parametrize("language", metafunc.config.getoption("--language")
                             or list(programs.LANGUAGES))


def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 0 and reporter.stats.get("skipped") and not reporter.stats.get("passed"):
        session.exitstatus = 77


def or_skip(function, *arguments):
    try:
        return function(*arguments)
    except install.Missing as reason:
        return pytest.skip(str(reason))


@pytest.fixture(scope="session")
def base():
    """The directory of the recorded library."""
    return or_skip(install.installed)


@pytest.fixture(scope="session")
def library():
    return Path(os.environ["LIBFP_SO"]).resolve()


@pytest.fixture
def kept(base, language):
    """The programs of the recorded library in a language, and their digest."""
    return or_skip(programs.kept, language, base)
