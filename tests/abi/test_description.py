# SPDX-License-Identifier: BSD-2-Clause
"""capi/libfp.abi.json describes nothing that some language cannot call, and every
function that takes a handle says no to NULL."""

import copy
import json
import sys

import description
import pytest
from conftest import ROOT, expect_none, run

PATH = ROOT / "capi/libfp.abi.json"
ABI = json.loads(PATH.read_text())


def problems(abi):
    return description.function_problems(abi) + description.field_problems(abi)


@pytest.mark.gate
def test_the_description_is_callable_from_anywhere():
    expect_none(problems(ABI))


# ---- breaks, planted in the description ----

def named(abi, kind, name):
    return next(i for i in abi[kind] if i["name"] == name)


def argument(type_, kind="i32"):
    def plant(abi):
        named(abi, "functions", "fp_ring_close")["arguments"].append(
            {"name": "extra", "type": type_, "abi": kind})
    return plant


def result(type_, kind):
    def plant(abi):
        named(abi, "functions", "fp_ring_close")["returns"] = {"type": type_,
                                                                "abi": kind}
    return plant


def member(**change):
    def plant(abi):
        named(abi, "structs", "fp_ring_span")["fields"][2].update(change)
    return plant


def rename(abi):
    named(abi, "functions", "fp_ring_close")["name"] = "fp_ring"


def callback(abi):
    abi["callbacks"][0]["arguments"][1]["type"] = "size_t"


BREAKS = {
    "enum": (argument("enum fp_x"), "`enum fp_x`"),
    "bool": (argument("_Bool", "u8"), "`_Bool`"),
    "long": (argument("long", "i64"), "`long`"),
    "char": (argument("char", "i8"), "`char`"),
    "varargs": (argument("...", "void"), "`...`"),
    "void": (argument("void", "void"), "`void`"),
    "struct_by_value": (argument("fp_ring_span", "ptr"), "`fp_ring_span`"),
    "wrong_class": (argument("uint32_t", "i32"), "`uint32_t` (i32)"),
    "pointer_to_long": (argument("long *", "ptr"), "`long *`"),
    "unsigned_result": (result("uint32_t", "u32"), "unsigned result"),
    "bool_result": (result("_Bool", "u8"), "`_Bool`"),
    "struct_result": (result("fp_ring_span", "ptr"), "`fp_ring_span`"),
    "name_of_a_type": (rename, "shares the name"),
    "callback": (callback, "`size_t`"),
    "int_member": (member(type="int", abi="i32"), "`int`"),
    "bit_field": (member(size=0), "not where it belongs"),
    "packed": (member(offset=18), "not where it belongs"),
}


@pytest.mark.parametrize("plant, message", BREAKS.values(), ids=BREAKS)
def test_a_planted_break_is_found(plant, message):
    abi = copy.deepcopy(ABI)
    plant(abi)
    found = problems(abi)
    assert any(message in p for p in found), found


# ---- NULL handles ----

def call_with_null(library):
    return run(sys.executable, "-B", description.__file__, library, PATH, check=False)


@pytest.mark.gate
def test_every_function_with_a_handle_takes_null(library):
    done = call_with_null(library)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.split()) == sum(
        description.takes_handle(ABI, f) for f in ABI["functions"]) > 0


def stand_in(tmp_path, body):
    """Every function says what is expected of it, but for fp_ring_close."""
    text = ["#include <stdint.h>\n"]
    for f in ABI["functions"]:
        value = description.expected(f, description.names(ABI, "handles")) or 0
        text.append(f"int64_t {f['name']}(void *h) {{ (void)h; return {value}; }}\n"
                    if f["name"] != "fp_ring_close" else
                    f"int64_t fp_ring_close(void *h) {{ {body} }}\n")
    source, library = tmp_path / "stand_in.c", tmp_path / "stand_in.so"
    source.write_text("".join(text))
    run("gcc", "-shared", "-fPIC", source, "-o", library)
    return library


@pytest.mark.parametrize("body, told", [
    ("(void)h; return 0;", "fp_ring_close(NULL) gives 0, not -22"),
    ("return *(volatile int *)h;", "")], ids=["accepted", "crash"])
def test_a_function_that_does_not_take_null_is_found(tmp_path, body, told):
    done = call_with_null(stand_in(tmp_path, body))
    assert done.returncode != 0
    assert told in done.stderr
    if not told:
        assert done.stdout.split()[-1] == "fp_ring_close", "it is named"


def test_a_stand_in_that_takes_null_passes(tmp_path):
    assert call_with_null(stand_in(tmp_path, "(void)h; return -22;")).returncode == 0
