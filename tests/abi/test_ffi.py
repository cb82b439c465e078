# SPDX-License-Identifier: BSD-2-Clause
"""The library through libffi, described by capi/libfp.abi.json alone; descriptions
with a mistake show that the program notices."""

import json
import os

import pytest
from conftest import ROOT, edit, run

DESCRIPTION = ROOT / "capi/libfp.abi.json"
SCRIPTS = ROOT / "tests/conformance"
VERSION = next(constant["value"]
               for constant in json.loads(DESCRIPTION.read_text())["constants"]
               if constant["name"] == "LIBFP_VERSION_NUMBER")


def through_ffi(library, description, program, *arguments):
    """Runs one of the programs that call the library by its description."""
    return run(os.environ[program], *arguments, check=False, LIBFP_SO=library,
               LIBFP_ABI_JSON=description)


def conformance(library, description):
    return through_ffi(library, description, "LIBFP_FFI_CONFORMANCE")


@pytest.mark.gate
def test_all_of_the_description_works_through_libffi(library):
    done = conformance(library, DESCRIPTION)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


# The driver of each part; its script and its script of mistakes have its name.
PARTS = {part: f"LIBFP_FFI_{part.upper()}"
         for part in ("ring", "mempool", "wakeup", "service", "timer")}


@pytest.mark.parametrize("part", PARTS)
def test_the_script_of_all_languages_passes_through_libffi(library, part):
    done = through_ffi(library, DESCRIPTION, PARTS[part], SCRIPTS / f"{part}.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 runs failed" in done.stdout


@pytest.mark.parametrize("part", PARTS)
def test_the_mistakes_of_the_planted_script_are_found_through_libffi(library, part):
    done = through_ffi(library, DESCRIPTION, PARTS[part], "--planted",
                       SCRIPTS / f"{part}_planted.json")
    assert done.returncode == 0, done.stdout + done.stderr


MISTAKES = {
    "a function that is not there":
        ('"name": "fp_ring_peek"', '"name": "fp_ring_peep"', "no fp_ring_peep@LIBFP_0.9"),
    "a wrong constant":
        (f'"LIBFP_VERSION_NUMBER", "value": {VERSION}',
         f'"LIBFP_VERSION_NUMBER", "value": {VERSION + 1}',
         f"fp_version_number() is {VERSION}"),
    "a moved field":
        ('"name": "numa_node", "type": "uint32_t", "abi": "u32", "offset": 32',
         '"name": "numa_node", "type": "uint32_t", "abi": "u32", "offset": 36',
         "fp_ring_opts.numa_node is at 32"),
    "a changed type":
        ('"name": "blocked_by", "type": "int64_t", "abi": "i64"',
         '"name": "blocked_by", "type": "int32_t", "abi": "i32"',
         "fp_ring_stats.blocked_by has 4 bytes"),
    "another size": ('"size": 32,\n      "align": 8,\n      "fields": [\n'
                     '        {"name": "ptr1"',
                     '"size": 40,\n      "align": 8,\n      "fields": [\n'
                     '        {"name": "ptr1"',
                     "fp_ring_span has 32 bytes"),
    "a callback that nothing calls":
        ('"callbacks": [',
         '"callbacks": [ {"name": "fp_new_fn", "returns": {"abi": "void"},'
         ' "arguments": []},',
         "nothing has called a closure of fp_new_fn"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(library, tmp_path, mistake):
    old, new, said = MISTAKES[mistake]
    description = tmp_path / "libfp.abi.json"
    description.write_text(DESCRIPTION.read_text())
    edit(description, old, new)
    done = conformance(library, description)
    assert done.returncode != 0
    assert said in done.stderr


def test_another_version_is_found(library, tmp_path):
    description = tmp_path / "libfp.abi.json"
    description.write_text(DESCRIPTION.read_text().replace(
        '"node": "LIBFP_0.9",\n      "returns"', '"node": "LIBFP_0.8",\n      "returns"'))
    done = conformance(library, description)
    assert done.returncode != 0
    assert "@LIBFP_0.8" in done.stderr


def test_an_unsigned_result_is_found(library, tmp_path):
    description = tmp_path / "libfp.abi.json"
    text = DESCRIPTION.read_text()
    assert '"returns": {"type": "int", "abi": "i32"}' in text
    description.write_text(text.replace('"returns": {"type": "int", "abi": "i32"}',
                                        '"returns": {"type": "int", "abi": "u32"}'))
    done = conformance(library, description)
    assert done.returncode != 0
    assert "fp_ring_create(0) is 4294967274, not -EINVAL" in done.stderr
