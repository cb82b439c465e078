# SPDX-License-Identifier: BSD-2-Clause
"""The shared library exports exactly the ABI, and is linked as promised. Stand-in
libraries with a planted break show that each gate can fail."""

import json

import binary
import pytest
from conftest import ROOT, edit, run


# ---- the library ----

def test_library_map_json_and_prototypes_name_the_same(library, tmp_path):
    assert binary.name_problems(ROOT, library, tmp_path) == []


def test_the_library_is_linked_as_promised(library):
    assert binary.link_problems(ROOT, library) == []


def test_the_library_has_no_constructors(library):
    assert binary.constructor_problems(library) == []


# ---- stand-ins ----

ABI = json.loads((ROOT / "capi/libfp.abi.json").read_text())
NAMES = [f["name"] for f in ABI["functions"]]
FLAGS = ["-Wl,-z,nodelete", "-Wl,-z,relro", "-Wl,-z,now",
         f"-Wl,-soname,{ABI['soname']}"]


def stand_in(tree, extra="", names=NAMES, flags=tuple(FLAGS)):
    """A library with empty functions of the right names."""
    source = tree / "stand_in.c"
    source.write_text("".join(f"int {n}(void) {{ return 0; }}\n" for n in names)
                      + extra)
    library = tree / "stand_in.so"
    run("gcc", "-shared", "-fPIC", source, "-o", library,
        f"-Wl,--version-script={tree}/capi/libfp.map", *flags)
    return library


def names(tree, library):
    return binary.name_problems(tree, library, tree)


def test_a_stand_in_passes(tree):
    library = stand_in(tree)
    assert names(tree, library) == []
    assert binary.link_problems(tree, library) == []
    assert binary.constructor_problems(library) == []


def test_a_missing_function_is_found(tree):
    assert names(tree, stand_in(tree, names=NAMES[1:])) == [
        f"{NAMES[0]}@{ABI['node']}: not in libfp.so"]


def test_a_function_too_many_is_found(tree):
    edit(tree / "capi/libfp.map", "global:\n", "global:\n\tfp_ring_secret;\n")
    library = stand_in(tree, names=[*NAMES, "fp_ring_secret"])
    assert names(tree, library) == [
        f"fp_ring_secret@{ABI['node']}: not in capi/libfp.abi.json",
        "fp_ring_secret: not declared in capi/"]


def test_a_library_without_a_map_is_found(tree):
    library = tree / "bare.so"
    source = tree / "bare.c"
    source.write_text("int fp_ring_close(void) { return 0; }\n")
    run("gcc", "-shared", "-fPIC", source, "-o", library)
    assert "fp_ring_close@: not in capi/libfp.map" in names(tree, library)


def test_a_function_only_declared_is_found(tree):
    edit(tree / "capi/libfp/ring.h", "LIBFP_API int fp_ring_close(fp_ring *ring);",
         "LIBFP_API int fp_ring_close(fp_ring *ring);\n"
         "LIBFP_API int fp_ring_extra(fp_ring *ring);")
    assert names(tree, stand_in(tree)) == [
        "fp_ring_extra: declared in capi/ but known nowhere else"]


def test_a_wrong_node_is_found(tree):
    script = tree / "capi/libfp.map"
    good = script.read_text()
    edit(script, ABI["node"] + " {", "LIBFP_7.7 {")
    library = stand_in(tree)
    script.write_text(good)
    assert f"{NAMES[0]}@LIBFP_7.7: not in capi/libfp.map" in names(tree, library)


@pytest.mark.parametrize("without, message", [
    (FLAGS[0], "-z nodelete"), (FLAGS[2], "-z now"), (FLAGS[3], "SONAME is None"),
    (FLAGS[1], "-z relro")])
def test_a_missing_link_flag_is_found(tree, without, message):
    flags = [f for f in FLAGS if f != without]
    if without == FLAGS[1]:
        flags.append("-Wl,-z,norelro")
    if without == FLAGS[2]:
        flags.append("-Wl,-z,lazy")
    found = binary.link_problems(tree, stand_in(tree, flags=flags))
    assert len(found) == 1
    assert message in found[0]


def test_another_needed_library_is_found(tree):
    library = stand_in(tree, flags=[*FLAGS, "-Wl,--no-as-needed", "-lm"])
    found = binary.link_problems(tree, library)
    assert len(found) == 1
    assert "libm.so" in found[0]


def test_a_run_path_is_found(tree):
    library = stand_in(tree, flags=[*FLAGS, "-Wl,-rpath,/somewhere"])
    assert binary.link_problems(tree, library) == ["has RUNPATH"]


@pytest.mark.parametrize("kind", ["constructor", "destructor"])
def test_a_constructor_is_found(tree, kind):
    library = stand_in(tree, f"__attribute__(({kind})) static void x(void) {{}}\n")
    found = binary.constructor_problems(library)
    assert len(found) == 1
    assert "2 entries" in found[0]
