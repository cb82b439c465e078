# SPDX-License-Identifier: BSD-2-Clause
"""Every compiler of the supported platforms agrees with the frozen layout, and
with the lists made for other languages. A compiler that is not there is a
failure: a gate that is skipped guards nothing."""

import json

import cffi
import pytest
from conftest import ROOT, edit, run

COMPILERS = ["gcc", "clang", "aarch64-linux-gnu-gcc"]


def compile_asserts(compiler, tree, tmp_path):
    return run(compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
               "-I", tree / "capi", "-c", ROOT / "tests/abi/layout_asserts.c",
               "-o", tmp_path / "asserts.o", check=False)


@pytest.mark.gate
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_layout_is_the_frozen_one(compiler, tmp_path):
    done = compile_asserts(compiler, ROOT, tmp_path)
    assert done.returncode == 0, done.stderr


BREAKS = [
    ("member_order", "\tuint32_t n1;\n\tuint32_t n2;", "\tuint32_t n2;\n\tuint32_t n1;"),
    ("member_inserted", "\tuint32_t n1;\n", "\tuint32_t n1;\n\tuint64_t n3;\n"),
    ("member_type", "\tuint32_t n1;\n", "\tint32_t n1;\n"),
    ("argument_type", "fp_ring_peek(fp_ring *ring, void *elems, uint32_t n)",
     "fp_ring_peek(fp_ring *ring, void *elems, uint64_t n)"),
    ("result_type", "int64_t fp_ring_count(", "int32_t fp_ring_count("),
    ("constant", "LIBFP_RING_ALIGN 128", "LIBFP_RING_ALIGN 64"),
    ("initialiser", "LIBFP_RING_OPTS_INIT { sizeof(fp_ring_opts), 0,",
     "LIBFP_RING_OPTS_INIT { sizeof(fp_ring_opts),"),
]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("old, new", [b[1:] for b in BREAKS],
                         ids=[b[0] for b in BREAKS])
def test_a_planted_break_does_not_compile(compiler, old, new, tree, tmp_path):
    edit(tree / "capi/libfp/ring.h", old, new)
    done = compile_asserts(compiler, tree, tmp_path)
    assert done.returncode != 0
    assert "the ABI has changed" in done.stderr \
        or "missing-field-initializers" in done.stderr


@pytest.mark.gate
def test_cffi_lays_the_structs_out_alike():
    ffi = cffi.FFI()
    ffi.cdef((ROOT / "python/src/libfp/_cdef.h").read_text())
    abi = json.loads((ROOT / "capi/libfp.abi.json").read_text())
    for struct in abi["structs"]:
        name = struct["name"]
        assert (ffi.sizeof(name), ffi.alignof(name)) == (struct["size"],
                                                         struct["align"])
        assert [(f, t.offset) for f, t in ffi.typeof(name).fields] == [
            (f["name"], f["offset"]) for f in struct["fields"]]
    for callback in abi["callbacks"]:
        assert ffi.typeof(callback["name"]).kind == "function"


@pytest.mark.gate
def test_the_swig_list_is_plain_c(tmp_path):
    source = tmp_path / "exports.c"
    source.write_text("#include <stdint.h>\n"
                      + (ROOT / "bindings/swig/libfp_exports.i").read_text())
    run("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", source)
