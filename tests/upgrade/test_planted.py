# SPDX-License-Identifier: BSD-2-Clause
"""The rehearsal itself is awake: libraries that break the promise make it red in every
language, and so do programs that ran with another library or are not the old ones."""

import shutil

import pytest
from conftest import or_skip

import install
import programs
import rehearsal

ROOT = install.ROOT

# name: file, what stands there, what the broken library has instead, what every
# language's complaint must name
BREAKS = {
    # "Empty" becomes an error.
    "meaning": ("src/ring/ring_fast.c",
                "int32_t fp_ring_dequeue_u64(fp_ring *ring, uint64_t *elem)\n{\n",
                "int32_t fp_ring_dequeue_u64(fp_ring *ring, uint64_t *elem)\n{\n"
                "\tif (ring && elem && fp_ring_is_empty(ring) && !fp_ring_is_closed(ring))\n"
                "\t\treturn -EAGAIN;\n", "dequeue_u64"),
    "symbol": ("capi/libfp.map", "\tfp_ring_capacity;\n", "",
               "undefined symbol: fp_ring_capacity, version LIBFP_0.9"),
    # Two members of an options struct change places.
    "layout": ("capi/libfp/ring.h",
               "\tuint32_t producer;   /* LIBFP_MT or LIBFP_ST */\n"
               "\tuint32_t consumer;   /* LIBFP_MT or LIBFP_ST */\n",
               "\tuint32_t consumer;\n\tuint32_t producer;\n", "r_sync"),
}


@pytest.fixture(scope="session", params=BREAKS)
def broken(request, tmp_path_factory):
    """(library, what must be named) of a library that breaks the promise."""
    file, old, new, named = BREAKS[request.param]
    tree = tmp_path_factory.mktemp("tree")
    for name in ("CMakeLists.txt", "capi", "cmake", "pkgconfig", "src"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tree / name)
    text = (tree / file).read_text()
    assert text.count(old) == 1, f"{file} has not this once: {old}"
    (tree / file).write_text(text.replace(old, new))
    install.run("cmake", "-S", tree, "-B", tree / "build", "-DCMAKE_BUILD_TYPE=Debug",
                "-DLIBFP_TESTS=OFF")
    install.run("cmake", "--build", tree / "build", "-j", 2, "--target", "fp")
    return (tree / "build/libfp.so").resolve(), named


def test_a_broken_library_is_found(broken, language, kept, tmp_path):
    library, named = broken
    work, digest = kept
    found = rehearsal.problems(language, work, library, tmp_path, False, digest)
    assert found, f"{language} runs on as if nothing had happened"
    assert any(named in problem for problem in found), "\n".join(found)
    print(f"found: {language}: {next(p for p in found if named in p)}")


# ---- programs that are not what they should be ----

@pytest.fixture
def two_threads(base, tmp_path):
    """Builds a small program with linker options; returns it as a script."""
    work = programs.Work(base / "source", base / "prefix", tmp_path)

    def build(*options):
        source = base / "source/examples/ring/two_threads.c"
        install.run(*programs.cc(), source, "-o", tmp_path / "program", *work.flags(), *options)
        return programs.Script("two threads", [tmp_path / "program"], "^5000050000$")

    return build


def test_a_program_that_keeps_its_own_library_is_found(two_threads, base, library, tmp_path):
    old = install.library_of(base / "prefix")
    script = two_threads(f"-Wl,--disable-new-dtags,-rpath,{old.parent}")
    assert rehearsal.script_problems(script, library, tmp_path) == [
        f"two threads: ran with ['{old}'], not with {library}"]


def test_a_program_with_the_static_library_is_found(two_threads, library, tmp_path):
    assert rehearsal.script_problems(two_threads("-static"), library, tmp_path) == [
        f"two threads: ran with no libfp.so, not with {library}"]


def test_a_program_that_does_nothing_is_found(library, tmp_path):
    script = programs.Script("nothing", ["true"], "[1-9] steps")
    found = rehearsal.script_problems(script, library, tmp_path)
    assert "does not say '[1-9] steps'" in found[0]


def test_a_program_that_was_built_again_is_found(base, library, tmp_path):
    work, digest = or_skip(programs.kept, "cxx", base)
    copy = programs.Work(work.source, work.prefix, shutil.copytree(work.out, tmp_path / "out"))
    with open(copy.out / "pipeline", "ab") as program:
        program.write(b"\0")
    found = rehearsal.problems("cxx", copy, library, tmp_path, False, digest)
    assert [problem.split(": ", 1)[1] for problem in found] == [
        "before the run, not as it was built; remove it",
        "after the run, not as it was built; remove it"]


# ---- what is kept, and when it is built ----

def test_what_is_kept_is_made_once_for_each_stamp(tmp_path):
    place, made = tmp_path / "abi/0.9", []

    def make(directory):
        made.append(directory)
        (directory / "file").write_text(str(len(made)))

    for stamp in ("one", "one", "two"):
        assert install.once(place, stamp, make) == place
    assert len(made) == 2 and (place / "file").read_text() == "2"


def test_what_an_interrupted_build_left_is_thrown_away(tmp_path):
    place = tmp_path / "0.9"

    def interrupted(directory):
        (directory / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install.once(place, "one", interrupted)
    assert not place.exists()
    install.once(place, "one", lambda directory: (directory / "whole").touch())
    assert sorted(p.name for p in place.iterdir()) == ["STAMP", "whole"]


def test_a_tree_without_history_is_skipped_and_a_wrong_one_fails(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "capi", tmp_path / "capi")
    monkeypatch.setattr(install, "ROOT", tmp_path)
    with pytest.raises(install.Missing, match="without its history"):
        install.recorded_commit()
    install.run("git", "init", "-q", tmp_path)
    with pytest.raises(install.Failed, match="After a rebase"):
        install.recorded_commit()
    (tmp_path / ".git/shallow").write_text("0" * 39 + "1\n", encoding="utf-8")
    with pytest.raises(install.Missing, match="git fetch --unshallow"):
        install.recorded_commit()
