# SPDX-License-Identifier: BSD-2-Clause
"""Every binding says of every function whether it wraps it; planted mistakes show
that the gate can fail."""

import shutil
from pathlib import Path

import pytest

from exports import BINDINGS, exports_problems, functions

ROOT = Path(__file__).resolve().parents[2]
GO = "bindings/go/exports.txt"


@pytest.mark.gate
@pytest.mark.parametrize("binding", BINDINGS)
def test_every_function_is_wrapped_or_left_out(binding):
    assert exports_problems(ROOT, binding) == []


# ---- planted mistakes, in a tree of three functions ----

GOOD = """# what package fp wraps
fp_version_number wrapped Version
fp_ring_create wrapped NewRing
fp_ring_init left-out memory of Go may not be kept   # a remark
"""


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "capi").mkdir()
    (tmp_path / "capi/libfp.abi.json").write_text(
        '{"functions": [{"name": "fp_version_number"}, {"name": "fp_ring_create"},'
        ' {"name": "fp_ring_init"}]}')
    (tmp_path / "bindings/go").mkdir(parents=True)
    (tmp_path / "bindings/go/fp.go").write_text("C.fp_version_number() C.fp_ring_create(o)\n")
    (tmp_path / GO).write_text(GOOD)
    return tmp_path


def planted(tree, old, new):
    assert GOOD.count(old) == 1
    (tree / GO).write_text(GOOD.replace(old, new))
    return exports_problems(tree, GO)


def test_a_good_file_passes(tree):
    assert exports_problems(tree, GO) == []


def test_a_missing_file_is_found(tree):
    (tree / GO).unlink()
    assert exports_problems(tree, GO) == [f"{GO}: is missing"]


def test_a_file_of_comments_is_found(tree):
    (tree / GO).write_text("# nothing yet\n")
    assert exports_problems(tree, GO) == [f"{GO}: is empty"]


def test_a_missing_function_is_found(tree):
    assert planted(tree, "fp_ring_create wrapped NewRing\n", "") == [
        f"{GO}: fp_ring_create: no line"]


def test_a_function_that_was_added_is_found(tree):
    abi = tree / "capi/libfp.abi.json"
    abi.write_text(abi.read_text().replace("]}", ', {"name": "fp_ring_new"}]}'))
    assert exports_problems(tree, GO) == [f"{GO}: fp_ring_new: no line"]


def test_a_function_that_does_not_exist_is_found(tree):
    assert planted(tree, "fp_ring_create wrapped NewRing\n",
                   "fp_ring_create wrapped NewRing\nfp_ring_creat wrapped NewRing\n") == [
        f"{GO}: line 4: fp_ring_creat: not a function of the ABI"]


def test_a_function_named_twice_is_found(tree):
    assert planted(tree, "fp_ring_init left-out",
                   "fp_ring_create left-out no\nfp_ring_init left-out") == [
        f"{GO}: line 4: fp_ring_create: also on line 3"]


def test_a_left_out_function_needs_a_reason(tree):
    assert planted(tree, "left-out memory of Go may not be kept", "left-out") == [
        f"{GO}: line 4: fp_ring_init: left-out, but not why"]


def test_a_wrapped_function_needs_a_name(tree):
    assert planted(tree, "wrapped Version", "wrapped") == [
        f"{GO}: line 2: fp_version_number: wrapped, but not by what"]


def test_another_word_is_found(tree):
    assert planted(tree, "wrapped Version", "used Version") == [
        f"{GO}: line 2: fp_version_number: neither wrapped nor left-out"]


def test_a_line_of_a_name_only_is_found(tree):
    assert planted(tree, " wrapped Version", "") == [
        f"{GO}: line 2: fp_version_number: neither wrapped nor left-out"]


def test_a_wrapper_that_does_not_exist_is_found(tree):
    (tree / "bindings/go/fp.go").write_text("C.fp_version_number() C.fp_ring_create_x(o)\n")
    assert exports_problems(tree, GO) == [
        f"{GO}: line 3: fp_ring_create: wrapped, but never called"]


def test_a_call_in_a_test_is_none_in_the_binding(tree):
    shutil.move(tree / "bindings/go/fp.go", tree / "bindings/go/fp_test.go")
    assert exports_problems(tree, GO) == [
        f"{GO}: line 2: fp_version_number: wrapped, but never called",
        f"{GO}: line 3: fp_ring_create: wrapped, but never called"]


def test_the_real_abi_is_read():
    assert "fp_ring_create" in functions(ROOT)
