# SPDX-License-Identifier: BSD-2-Clause
"""Both directions of the promise, with real programs: what was built with the recorded
library runs with this one, and what is built with this one but asks for no more than
was recorded runs with the recorded one."""

import os
from pathlib import Path

from conftest import FULL, or_skip

import install
import programs
import rehearsal


def test_old_programs_run_with_this_library(language, kept, library, tmp_path):
    work, digest = kept
    found = rehearsal.problems(language, work, library, tmp_path, FULL, digest)
    assert not found, "\n".join(found)


def test_new_programs_run_with_the_old_library(language, base, tmp_path):
    """Compiled with the headers of this tree, whose structs may have grown, from sources
    that ask for nothing new."""
    out = tmp_path / "out"
    out.mkdir()
    work = programs.Work(base / "source", Path(os.environ["LIBFP_CURRENT"]), out)
    or_skip(programs.build, language, work)
    old = install.library_of(base / "prefix")
    found = rehearsal.problems(language, work, old, tmp_path, FULL)
    assert not found, "\n".join(found)
