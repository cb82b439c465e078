#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The library as it was when the ABI of this tree's SONAME was recorded.

Builds it from the commit that capi/baseline/<arch>/COMMIT names, and installs it, into
build/abi/<key>/, where it stays:

    source/    that commit's tree
    prefix/    what it installs
    programs/  what programs.py builds from the two, one directory for each language

As a program: does that, and says where. Exit status 77: this tree has no history.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True

from abigen import baseline  # noqa: E402

PLACE = ROOT / "build/abi"


class Missing(Exception):
    """What the machine or this tree does not have, so that there is nothing to test."""


class Failed(Exception):
    """A step of a build went wrong."""


def run(*command, cwd=None, env=None):
    """Runs a program that must succeed, in the root of the tree if not told otherwise.
    Returns what it printed."""
    command = [str(c) for c in command]
    done = subprocess.run(command, cwd=cwd or ROOT, env={**os.environ, **(env or {})},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode:
        raise Failed(f"{' '.join(command)}:\n{done.stdout}")
    return done.stdout


def git(*arguments):
    """git in this tree, whoever owns it."""
    return run("git", "-c", f"safe.directory={ROOT}", *arguments)


def once(place, stamp, make):
    """Returns the directory `place`, filled by make(directory) unless that was done
    before for the same stamp. What an interrupted make has left is thrown away."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(place.with_name(place.name + ".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark = place / "STAMP"
        if mark.is_file() and mark.read_text(encoding="utf-8") == stamp:
            return place
        part = place.with_name(place.name + ".part")
        for old in (part, place):
            shutil.rmtree(old, ignore_errors=True)
        part.mkdir()
        make(part)
        (part / "STAMP").write_text(stamp, encoding="utf-8")
        part.rename(place)
    return place


def recorded_commit():
    """(key, commit) of the recording that this tree has to be compatible with."""
    if not (ROOT / ".git").exists():
        raise Missing("a tree without its history cannot build the library of a commit")
    key = baseline.key(baseline.current(ROOT))
    commit = baseline.commits(ROOT).get(key)
    if commit is None:
        raise Failed(f"{baseline.PLACE}/COMMIT has no line for {key}")
    try:
        git("cat-file", "-e", f"{commit}^{{tree}}")
    except Failed as error:
        if git("rev-parse", "--is-shallow-repository").strip() == "true":
            raise Missing(f"a shallow clone does not have {commit}; "
                          "it gets it with: git fetch --unshallow") from None
        raise Failed(f"{commit} of {baseline.PLACE}/COMMIT is not here. After a rebase, "
                     f"name there what became of it.\n{error}") from None
    return key, commit


def install(commit, directory):
    """The tree of a commit, and what it installs."""
    source, build = directory / "source", directory / "build"
    source.mkdir()
    archive = directory / "source.tar"
    git("archive", "-o", archive, commit)
    run("tar", "-xf", archive, "-C", source)
    archive.unlink()
    run("cmake", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
        "-DLIBFP_TESTS=OFF", "-DLIBFP_EXAMPLES=OFF")
    run("cmake", "--build", build, "-j", len(os.sched_getaffinity(0)))
    run("cmake", "--install", build, "--prefix", directory / "prefix")
    shutil.rmtree(build)


def installed():
    """The directory of the recorded library, built if it is not there."""
    key, commit = recorded_commit()
    return once(PLACE / key, commit, lambda directory: install(commit, directory))


def library_of(prefix):
    """The shared library under an installation prefix."""
    (library,) = prefix.glob("lib/**/libfp.so")
    return library.resolve()


if __name__ == "__main__":
    try:
        where = installed()
        print(f"{where}: libfp of commit {(where / 'STAMP').read_text()}")
    except Missing as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    except (Failed, OSError) as reason:
        sys.exit(f"upgrade: {reason}")
