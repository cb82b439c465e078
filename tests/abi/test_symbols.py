# SPDX-License-Identifier: BSD-2-Clause
"""The shared library exports exactly the ABI, and is linked as promised. Stand-in
libraries with a planted break show that each gate can fail."""

import json
import platform
import re
import sys

import binary
import pytest
from conftest import ROOT, edit, expect_none, run


# ---- the library ----

@pytest.mark.gate
def test_library_map_json_and_prototypes_name_the_same(library, tmp_path):
    expect_none(binary.name_problems(ROOT, library, tmp_path))


@pytest.mark.gate
def test_the_library_is_linked_as_promised(library):
    expect_none(binary.link_problems(ROOT, library))


@pytest.mark.gate
def test_the_library_has_no_constructors(library):
    expect_none(binary.constructor_problems(library))


@pytest.mark.gate
def test_the_library_calls_its_own_functions_directly(library):
    expect_none(binary.own_call_problems(library))


@pytest.mark.gate
def test_the_library_is_small(library, tmp_path):
    expect_none(binary.size_problems(library, tmp_path))


@pytest.mark.gate
def test_thread_local_memory_is_small_and_initial_exec(library):
    expect_none(binary.tls_problems(library))


@pytest.mark.gate
@pytest.mark.skipif(platform.machine() != "x86_64", reason="marks of x86-64")
def test_the_library_is_marked_for_control_flow_protection(library):
    expect_none(binary.mark_problems(library))


def test_the_figures_are_shown_with_the_results(library):
    shown = run(sys.executable, "-B", ROOT / "tests/abi/summary.py", library).stdout
    assert re.fullmatch(rf"libfp\.so +{len(NAMES)} functions exported, \d{{5,}} bytes "
                        r"stripped\n(\w+ +\d+ functions wrapped, \d+ left out\n)+", shown)
    for line in shown.splitlines()[1:]:
        assert sum(map(int, re.findall(r"\d+", line))) == len(NAMES), line


# ---- stand-ins ----

ABI = json.loads((ROOT / "capi/libfp.abi.json").read_text())
NAMES = [f["name"] for f in ABI["functions"]]
FLAGS = ["-Wl,-z,nodelete", "-Wl,-z,relro", "-Wl,-z,now",
         f"-Wl,-soname,{ABI['soname']}"]


def stand_in(tree, extra="", names=NAMES, flags=tuple(FLAGS),
             options=("-fcf-protection", "-Wl,-z,shstk")):
    """A library with empty functions of the right names."""
    source = tree / "stand_in.c"
    source.write_text("".join(f"int {n}(void) {{ return 0; }}\n" for n in names)
                      + extra)
    library = tree / "stand_in.so"
    run("gcc", "-shared", "-fPIC", *options, source, "-o", library,
        f"-Wl,--version-script={tree}/capi/libfp.map", *flags)
    return library


def names(tree, library):
    return binary.name_problems(tree, library, tree)


def test_a_stand_in_passes(tree):
    library = stand_in(tree)
    assert names(tree, library) == []
    assert binary.link_problems(tree, library) == []
    assert binary.constructor_problems(library) == []
    assert binary.own_call_problems(library) == []
    assert binary.tls_problems(library) == []
    assert binary.mark_problems(library) == []
    assert binary.size_problems(library, tree) == []


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


def test_a_call_through_the_loader_is_found(tree):
    library = stand_in(tree, "int fpi_x(void) { return fp_ring_close(); }\n")
    assert binary.own_call_problems(library) == [
        "fp_ring_close is called through the loader, which may know another one"]


def test_an_executable_stack_is_found(tree):
    library = stand_in(tree, flags=[*FLAGS, "-Wl,-z,execstack"])
    assert binary.link_problems(tree, library) == ["asks for an executable stack"]


def test_a_relocation_of_the_code_is_found(tree):
    # An absolute address in the code, which the loader would have to write.
    library = stand_in(tree, '__asm__(".text\\n.quad fp_ring_close");\n',
                       flags=[*FLAGS, "-Wl,-z,notext"])
    assert binary.link_problems(tree, library) == ["has TEXTREL"]


def test_a_large_library_is_found(tree):
    library = stand_in(tree, "const char big[500000] = {1};\n"
                       "const char *fpi_big(void) { return big; }\n")
    found = binary.size_problems(library, tree)
    assert len(found) == 1 and "needs REASON_FOR_SIZE" in found[0]
    assert binary.size_problems(library, tree, reason="tables for a test") == []


def test_much_thread_local_memory_is_found(tree):
    library = stand_in(tree, "__thread char x[25] __attribute__((tls_model("
                       '"initial-exec")));\nvoid *fpi_x(void) { return x; }\n')
    assert binary.tls_problems(library) == [
        "25 bytes of thread-local memory; the limit is 24"]


def test_thread_local_memory_by_a_call_is_found(tree):
    library = stand_in(tree, "__thread int x;\nint *fp_ring_x(void) { return &x; }\n")
    assert binary.tls_problems(library) == [
        "thread-local memory by DTPMOD: not initial-exec"]


def test_missing_marks_are_found(tree):
    library = stand_in(tree, options=())
    assert binary.mark_problems(library) == [
        "not marked SHSTK", *(f"{name} does not start with endbr64"
                              for name in sorted(NAMES))]
