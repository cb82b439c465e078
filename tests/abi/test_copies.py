# SPDX-License-Identifier: BSD-2-Clause
"""Two and three copies of the library in one process do not know of each other."""

import os
import shutil
from pathlib import Path

import pytest
from conftest import run


@pytest.fixture
def probe():
    return Path(os.environ["LIBFP_COPIES_PROBE"])


def copies(scope, *libraries):
    return run(os.environ["LIBFP_COPIES"], scope, *libraries, check=False)


def renamed(library, tmp_path):
    return Path(shutil.copy(library, tmp_path / f"renamed-{library.name}"))


@pytest.mark.parametrize("scope", ["local", "global"])
def test_copies_share_nothing(library, probe, tmp_path, scope):
    done = copies(scope, library, renamed(library, tmp_path), probe,
                  renamed(probe, tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_library_under_two_names_is_noticed(library, probe, tmp_path):
    """The planted break: what looks like copies shares all that there is."""
    (tmp_path / "link.so").symlink_to(library)
    (tmp_path / "probe.so").symlink_to(probe)
    done = copies("local", library, tmp_path / "link.so", probe, tmp_path / "probe.so")
    assert done.returncode == 1
    for case in ("each_has_functions_of_its_own", "a_name_is_taken_in_one_of_them",
                 "a_refusal_is_told_to_its_own_log_handler",
                 "slots_are_taken_and_given_back_in_each"):
        assert f"FAILED {case}" in done.stdout
