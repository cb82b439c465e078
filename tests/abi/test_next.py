# SPDX-License-Identifier: BSD-2-Clause
"""The libraries that come next, made by the patches in next/ from copies of the tree.

"0.9.1" adds a function, an option and a flag: every gate lets it pass, once it is
recorded; programs of today run with it, and programs that use what it added get a clear
answer from the library of today. "0.10" carries a break: it is recorded with a raised
minor version only, and programs of today do not load it.

What is planted here goes through the gates themselves: the tests marked `gate`, run by
pytest in the copy, on the library that was built there.
"""

import errno
import os
import re
import shutil
import sys
import textwrap
from types import SimpleNamespace

import binary
import pytest
from conftest import ROOT, copy_sources, edit, run, start

from abigen import baseline

HERE = ROOT / "tests/abi/next"
RECIPE = re.search(r"^## A function$(.*?)^## ", (ROOT / "CONTRIBUTING.md").read_text(),
                   re.M | re.S)[1]
SUITES = ["abi/test_baseline", "abi/test_description", "abi/test_generated",
          "abi/test_layout", "abi/test_sources", "abi/test_symbols",
          "bindings/test_exports"]
NODE = baseline.current(ROOT)["node"]
BUILT = "build/release"  # what `make abi` and tools/abi-record build in


# ---- making them ----

def patched(place, patch):
    """A copy of the tree with the patch and what tools/gen writes then."""
    tree = copy_sources(place / "tree")
    run("patch", "-p1", "--no-backup-if-mismatch", "-i", HERE / patch, cwd=tree)
    run(tree / "tools/gen", cwd=tree)
    return tree


def build(tree):
    run("cmake", "--preset", "release", f"-DLIBFP_PYTHON={sys.executable}", cwd=tree)
    run("cmake", "--build", BUILT, "-j", "2", "--target", "fp", "fp_debuginfo", cwd=tree)


def debuginfo_of(tree):
    return tree / BUILT / "tests/abi/debuginfo/libfp.so"


def record(tree):
    """As CONTRIBUTING.md says it, with the library that has been built already."""
    reason = re.search(r'tools/abi-record --reason "([^"]+)"', RECIPE)[1]
    return run(tree / "tools/abi-record", "--reason", reason, "--library",
               debuginfo_of(tree), cwd=tree, check=False)


def gates(tree, *places):
    """Runs the gates of a copy. Returns pytest's result."""
    options = ["-v", "-p", "no:cacheprovider", "-m", "gate"]
    if "LIBFP_FFI_CONFORMANCE" not in os.environ:  # abi.ffi says what is missing
        options.append("--ignore=tests/abi/test_ffi.py")
    return run(sys.executable, "-B", "-m", "pytest", *options, *places, cwd=tree,
               check=False, LIBFP_SO=tree / BUILT / "libfp.so",
               LIBFP_DEBUGINFO_SO=debuginfo_of(tree))


def made(place, patch):
    """The library of a patch, and what the gates said before and after recording."""
    tree = patched(place, patch)
    build(tree)
    before = gates(tree, "tests/abi/test_baseline.py")
    recording = record(tree)
    return SimpleNamespace(tree=tree, before=before, recording=recording,
                           after=gates(tree, "tests/abi", "tests/bindings"),
                           directory=tree / BUILT,
                           library=(tree / BUILT / "libfp.so").resolve())


@pytest.fixture(scope="module")
def next_patch(tmp_path_factory):
    return made(tmp_path_factory.mktemp("0.9.1"), "0.9.1.patch")


@pytest.fixture(scope="module")
def next_minor(tmp_path_factory):
    return made(tmp_path_factory.mktemp("0.10"), "0.10.patch")


def program(path, tree, library, binding="now"):
    """Compiles one of next/ with the headers of a tree, linked to a library."""
    run("gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-I", tree / "capi",
        "-I", ROOT / "tests/support", HERE / f"{path.name}.c", library, "-o", path,
        f"-Wl,-z,{binding}")
    return path


# ---- "0.9.1": additions ----

def code_of_the_recipe():
    """The code that the recipe wants typed in, with the tabs that it has in a file."""
    blocks = re.findall(r"(?:^ {7}.*\n(?:\n(?= {7}))?)+", RECIPE, re.M)
    return [re.sub(r"^( {8})+", lambda m: "\t" * (len(m[0]) // 8),
                   textwrap.dedent(block).rstrip("\n"), flags=re.M) for block in blocks]


def test_the_recipe_was_followed_as_it_stands(next_patch):
    header, implementation = code_of_the_recipe()
    assert f"\n{header}\n" in (next_patch.tree / "capi/libfp/ring.h").read_text()
    assert f"\n{implementation}\n" in (next_patch.tree / "src/ring/ring.c").read_text()
    check = re.search(r"`(CHECK_EQ\(.*?\))`", RECIPE)[1]
    assert check in (next_patch.tree / "tests/unit/test_ring_options.c").read_text()
    for step in ("Header", "Implementation", "Test", "Regenerate"):
        assert re.search(rf"^\d\. \*\*{step}\.\*\*", RECIPE, re.M)


def test_what_the_patch_adds_works(next_patch, tmp_path):
    tree = next_patch.tree
    run("gcc", "-std=gnu11", "-O0", "-Wall", "-Wextra", "-Werror", "-DFPI_TEST_STEPS",
        "-I", "capi", "-I", "src", "-I", "tests/support", *tree.glob("src/*/*.c"),
        "tests/unit/test_ring_options.c", "-pthread", "-o", tmp_path / "test", cwd=tree)
    run(tmp_path / "test")


def test_additions_are_red_until_they_are_recorded(next_patch):
    assert next_patch.before.returncode == 1
    said = next_patch.before.stdout
    for name in ("LIBFP_RING_POWER_OF_TWO", "fp_ring_opts.capacity_step",
                 "fp_ring_capacity_max"):
        assert f"{name}: added but not recorded; run tools/abi-record" in said
    assert "[A] 'function int64_t fp_ring_capacity_max()'" in said, "by abidiff"
    assert "2 failed, 1 passed" in said, "the history has a line for this SONAME"


def test_recorded_additions_pass_every_gate(next_patch):
    assert next_patch.recording.returncode == 0, next_patch.recording.stderr
    assert next_patch.after.returncode == 0, next_patch.after.stdout
    for suite in SUITES:
        assert re.search(rf"^tests/{suite}\.py::\S+ PASSED",
                         next_patch.after.stdout, re.M), f"no gate in {suite}"
    last = (next_patch.tree / "ABI.md").read_text().splitlines()[-1]
    assert "`fp_ring_capacity_max`" in last


def test_soname_and_node_stay(next_patch, library):
    assert next_patch.library.name == library.name[:-1] + "1", "0.9.1 after 0.9.0"
    assert soname(next_patch.library) == soname(library)
    assert nodes(next_patch.library) == nodes(library) == {NODE}


def soname(library):
    return re.search(r"\[(.*)\]", dict(binary.dynamic(library))["SONAME"])[1]


def nodes(library):
    return {node for _, node in binary.exported(library)} - {"LIBFP_EXPERIMENTAL"}


def test_a_program_of_today_runs_with_it(next_patch, library, tmp_path):
    today = program(tmp_path / "program", ROOT, library)
    for directory in (library.parent, next_patch.directory):
        done = start(today, directory)
        assert done.returncode == 0, done.stderr


# ---- programs of tomorrow, libraries of today ----

@pytest.mark.parametrize("binding, first", [("now", ""), ("lazy", "started\n")])
def test_a_program_ends_where_a_new_function_is_missing(next_patch, library, tmp_path,
                                                        binding, first):
    newer = program(tmp_path / "function", next_patch.tree, next_patch.library, binding)
    assert start(newer, next_patch.directory).stdout == f"started\n{1 << 30}\n"
    done = start(newer, library.parent)
    assert (done.returncode, done.stdout) == (127, first), "now: it was not started"
    assert ("symbol lookup error: " in done.stderr and "undefined symbol: "
            f"fp_ring_capacity_max, version {NODE}\n" in done.stderr)


def code(number):
    return f"{-number}\n"


@pytest.mark.parametrize("flags, step, with_new, with_old", [
    (0, 0, "100\n", "100\n"),
    (0, 64, "128\n", code(errno.E2BIG)),
    (0, 1, "100\n", code(errno.E2BIG)),
    (0x200, 0, "128\n", code(errno.EOPNOTSUPP)),
    (0x201, 0, "128\n", code(errno.EOPNOTSUPP)),
    (0x200, 64, "128\n", code(errno.E2BIG))])
def test_a_new_option_or_flag_is_refused_unless_it_is_zero(
        next_patch, library, tmp_path, flags, step, with_new, with_old):
    newer = program(tmp_path / "option", next_patch.tree, next_patch.library)
    for directory, expected in ((next_patch.directory, with_new),
                                (library.parent, with_old)):
        done = start(newer, directory, flags, step)
        assert (done.returncode, done.stdout) == (0, expected), done.stderr


# ---- "0.10": a break ----

def test_the_break_is_refused_in_the_minor_version_of_today(tmp_path):
    tree = patched(tmp_path, "0.10.patch")
    edit(tree / "capi/libfp/base.h", "#define LIBFP_VERSION_MINOR 10",
         "#define LIBFP_VERSION_MINOR 9")
    run(tree / "tools/gen", cwd=tree)
    told = [
        "fp_ring_span.n1 was uint32_t n1 at 16, is uint64_t n1 at 16",
        "fp_ring_span.n2 was uint32_t n2 at 20, is uint64_t n2 at 24",
        "fp_ring_span.token was uint64_t token at 24, is uint64_t token at 32",
        "fp_ring_span: size was 32, is 40"]
    assert baseline.description_problems(tree) == [
        f"{text}: incompatible; raise LIBFP_VERSION_MINOR in the same commit"
        for text in told]
    done = record(tree)
    assert done.returncode == 1
    assert all(text in done.stderr for text in told)


def test_a_raised_minor_version_is_red_until_it_is_recorded(next_minor):
    assert next_minor.before.returncode == 1
    said = next_minor.before.stdout
    assert "libfp.so.0.10 was never recorded; run tools/abi-record" in said
    assert "0.10.xml is missing; run tools/abi-record" in said


def test_the_recorded_break_passes_every_gate(next_minor):
    assert next_minor.recording.returncode == 0, next_minor.recording.stderr
    assert next_minor.after.returncode == 0, next_minor.after.stdout
    assert soname(next_minor.library) == "libfp.so.0.10"
    assert nodes(next_minor.library) == {"LIBFP_0.10"}


def loaded_from(executable, directory):
    """Starts a program without the loader's cache, which knows what is installed."""
    loader = re.search(r"interpreter: (.*)\]", run("readelf", "-lW", executable).stdout)[1]
    return run(loader, "--inhibit-cache", "--library-path", directory, executable,
               check=False, LC_ALL="C")


def test_programs_of_today_do_not_find_it(next_minor, library, tmp_path):
    today = program(tmp_path / "program", ROOT, library)
    assert loaded_from(today, library.parent).returncode == 0
    done = loaded_from(today, next_minor.directory)
    assert done.returncode == 127 and done.stdout == ""
    assert (f"{soname(library)}: cannot open shared object file: No such file or "
            "directory" in done.stderr)


def test_programs_of_today_refuse_it_under_the_name_of_today(next_minor, library, tmp_path):
    today = program(tmp_path / "program", ROOT, library)
    shutil.copy(next_minor.library, tmp_path / soname(library))
    done = loaded_from(today, tmp_path)
    assert done.returncode != 0 and done.stdout == ""
    assert f"version `{NODE}' not found (required by" in done.stderr
