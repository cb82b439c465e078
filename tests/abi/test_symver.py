# SPDX-License-Identifier: BSD-2-Clause
"""LIBFP_SYMVER works: a test build of the whole library has two versions of one
function, and a program gets the one that it was linked to. With the attribute
(gcc, also under link-time optimisation), the asm statement (clang, likewise) and
the alias of a static library."""

import json

import pytest
from conftest import ROOT, run, start

HERE = ROOT / "tests/abi/symver"
ABI = json.loads((ROOT / "capi/libfp.abi.json").read_text())
NODE, SONAME = ABI["node"], ABI["soname"]
FLAGS = ["-std=c11", "-O0", "-Wall", "-Wextra", "-Werror", "-fPIC",
         "-fvisibility=hidden", "-pthread", "-I", ROOT / "capi", "-I", ROOT / "src"]
SOURCES = sorted((ROOT / "src").glob("*/*.c"))
WAYS = {"gcc": ["gcc"], "gcc_lto": ["gcc", "-flto"],
        "clang": ["clang"], "clang_lto": ["clang", "-flto"]}
COMPILERS = ["gcc", "clang"]


def version_script(first, second):
    """That of the library, with the function in the nodes asked for."""
    text = (ROOT / "capi/libfp.map").read_text()
    if first:
        text = text.replace(f"{NODE} {{\nglobal:\n",
                            f"{NODE} {{\nglobal:\n\tfp_symver_answer;\n")
    if second:
        text += f"\nLIBFP_NEXT {{\nglobal:\n\tfp_symver_answer;\n}} {NODE};\n"
    return text


def shared(place, way, objects, first=True, second=True, define="ANSWER_BOTH"):
    """Links libfp.so in a directory of its own. Returns that."""
    place.mkdir()
    script = place / "libfp.map"
    script.write_text(version_script(first, second))
    run(*way, *FLAGS, "-DFPI_SHARED", f"-D{define}", "-shared", *objects,
        HERE / "answer.c", "-o", place / "libfp.so", f"-Wl,-soname,{SONAME}",
        f"-Wl,--version-script={script}", "-Wl,--no-undefined-version",
        "-Wl,--no-undefined", "-Wl,-z,now")
    (place / SONAME).symlink_to("libfp.so")
    return place


@pytest.fixture(scope="session")
def objects(tmp_path_factory):
    """The library's own objects, made once per compiler: what is versioned, and so
    what link-time optimisation must not lose, is in answer.c."""
    made = {}
    for compiler in COMPILERS:
        place = tmp_path_factory.mktemp(compiler)
        run(compiler, *FLAGS, "-c", *SOURCES, cwd=place)
        made[compiler] = sorted(place.glob("*.o"))
    return made


def program(path, compiler, *libraries):
    run(compiler, *FLAGS, HERE / "program.c", *libraries, "-pthread", "-o", path)
    return path


@pytest.fixture(scope="module", params=WAYS)
def built(request, tmp_path_factory, objects):
    """(directory of the first library, of the one with both, objects, compiler)"""
    place, way = tmp_path_factory.mktemp(request.param), WAYS[request.param]
    own = objects[way[0]]
    return (shared(place / "first", way, own, second=False, define="ANSWER_FIRST"),
            shared(place / "both", way, own), own, way)


@pytest.fixture
def programs(built, tmp_path):
    """One linked when there was only the first version, one linked now."""
    first, both, _, way = built
    return (program(tmp_path / "before", way[0], first / "libfp.so"),
            program(tmp_path / "now", way[0], both / "libfp.so"))


def test_the_library_has_both_versions(built):
    listing = run("nm", "-D", "--defined-only", "--with-symbol-versions",
                  built[1] / "libfp.so").stdout
    assert f" fp_symver_answer@{NODE}\n" in listing
    assert " fp_symver_answer@@LIBFP_NEXT\n" in listing
    assert "fpi_" not in listing


def test_each_program_gets_its_own_version(built, programs):
    first, both, *_ = built
    before, now = programs
    assert start(before, first).stdout == "1\n"
    assert start(before, both).stdout == "1\n"
    assert start(now, both).stdout == "2\n"


def test_a_program_that_needs_the_second_does_not_load_the_first(built, programs):
    done = start(programs[1], built[0])
    assert done.returncode != 0
    assert "version `LIBFP_NEXT' not found" in done.stderr


def test_a_forgotten_version_is_noticed(built, programs, tmp_path):
    """The planted break: the first version is not kept."""
    _, _, own, way = built
    broken = shared(tmp_path / "broken", way, own, first=False,
                    define="ANSWER_FORGOTTEN")
    done = start(programs[0], broken)
    assert done.returncode != 0 and done.stdout == ""
    assert f"fp_symver_answer, version {NODE}" in done.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_static_library_has_the_newest(compiler, objects, tmp_path):
    run(compiler, *FLAGS, "-c", HERE / "answer.c", "-o", tmp_path / "answer.o")
    run("ar", "rcs", tmp_path / "libfp.a", *objects[compiler], tmp_path / "answer.o")
    linked = program(tmp_path / "linked", compiler, tmp_path / "libfp.a")
    assert run(linked).stdout == "2\n"
