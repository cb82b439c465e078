# SPDX-License-Identifier: BSD-2-Clause
"""The same sources give the same library, wherever they are built; and its debug
information can be kept in a file of its own."""

import hashlib
import re

from conftest import copy_sources, edit, run

NEEDED = ["CMakeLists.txt", "capi", "cmake", "pkgconfig", "src"]


def built(source):
    """A release build, as it is installed."""
    run("cmake", "-S", source, "-B", source / "out", "-DLIBFP_TESTS=OFF",
        "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", source / "out", "--target", "fp")
    return (source / "out/libfp.so").resolve()


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_two_builds_in_different_places_are_the_same_file(tmp_path):
    one = built(copy_sources(tmp_path / "one", NEEDED))
    other = built(copy_sources(tmp_path / "somewhere/else/with-a-longer-name", NEEDED))
    assert digest(one) == digest(other)
    # The planted break: libraries that know where they were built.
    for built_library in (one, other):
        tree = built_library.parent.parent
        edit(tree / "src/base/version.c", "return TEXT(", f'return "{tree}" TEXT(')
    assert digest(built(one.parent.parent)) != digest(built(other.parent.parent))


def test_debug_information_can_be_kept_apart(debuginfo, tmp_path):
    library, debug = tmp_path / "libfp.so", tmp_path / "libfp.so.debug"
    run("objcopy", "--only-keep-debug", debuginfo, debug)
    run("objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", debuginfo, library)
    assert ".debug_info" not in run("readelf", "-SW", library).stdout
    assert ".gnu_debuglink" in run("readelf", "-SW", library).stdout
    ids = [re.search(r"Build ID: (\w+)", run("readelf", "-nW", path).stdout)[1]
           for path in (library, debug)]
    assert ids[0] == ids[1], "debuggers also look it up by this"
    address = next(line.split()[0] for line in
                   run("nm", "-D", library).stdout.splitlines()
                   if " fp_ring_create@" in line)
    told = run("addr2line", "-f", "-e", library, address).stdout
    assert "fp_ring_create" in told and re.search(r"src/ring/ring\.c:\d+", told)
