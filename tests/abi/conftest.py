# SPDX-License-Identifier: BSD-2-Clause
"""What the gates of the ABI share: the tree, copies of it, the library.

Each gate is a function that returns a list of problems; a test wants the list
of the real tree to be empty, and more tests plant a break and want the gate to
name it. A gate that cannot fail is no gate. Tests of the real tree are marked
`gate`; test_next.py runs them over copies of it, too.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True


def run(*command, cwd=ROOT, check=True, **environment):
    """Runs a program that must exist. Returns its result with text output."""
    environment = {name: str(value) for name, value in environment.items()}
    done = subprocess.run([str(c) for c in command], cwd=cwd, text=True,
                          env=os.environ | environment, capture_output=True,
                          check=False)
    if check and done.returncode:
        pytest.fail(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done


def expect_none(problems):
    """For the gates over the tree: every problem is shown, whole."""
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def edit(path, old, new):
    """Replaces the one place where `old` stands; the break must be planted."""
    text = path.read_text()
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
    path.write_text(text.replace(old, new))


def start(program, directory, *arguments):
    """Runs a program with the libraries of a directory. It need not succeed."""
    return run(program, *arguments, check=False, LD_LIBRARY_PATH=directory, LC_ALL="C")


def copy_sources(place, names=None):
    """Copies the source tree, or what is named of its top directory, to a new place."""
    litter = shutil.ignore_patterns("build", "dist", "__pycache__", "*.egg-info")
    place.mkdir(parents=True)
    for path in sorted(ROOT.iterdir()):
        if path.name in (".git", "build") or (names and path.name not in names):
            continue
        if path.is_dir():
            shutil.copytree(path, place / path.name, ignore=litter)
        else:
            shutil.copy(path, place)
    return place


def copy_tree(place):
    """Copies the headers and everything generated from them."""
    from abigen.cli import EMITTERS
    shutil.copytree(ROOT / "capi", place / "capi")
    for name in EMITTERS:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place / name)
    return place


@pytest.fixture
def tree(tmp_path):
    return copy_tree(tmp_path)


def named_by(variable):
    path = os.environ.get(variable)
    if not path:
        pytest.fail(f"{variable} must name a shared library (ctest sets it)")
    if not Path(path).is_file():
        pytest.fail(f"{variable}={path}: no such file")
    return Path(path).resolve()


@pytest.fixture(scope="session")
def library():
    """The shared library under test."""
    return named_by("LIBFP_SO")


@pytest.fixture(scope="session")
def debuginfo():
    """The same, with debug information."""
    return named_by("LIBFP_DEBUGINFO_SO")
