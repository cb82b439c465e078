# SPDX-License-Identifier: BSD-2-Clause
"""Generated files are what the headers say, and tools/gen refuses headers that
break a rule of the ABI."""

import json
import re

import pytest
from conftest import ROOT, edit, run

from abigen import cli
from abigen.model import HeaderError

GEN = ROOT / "tools" / "gen"


# ---- the real tree ----

@pytest.mark.gate
def test_regenerating_changes_nothing():
    assert run(GEN, "--check", cwd="/").stdout == ""


@pytest.mark.gate
def test_every_function_says_which_errors_it_returns():
    abi = json.loads((ROOT / "capi/libfp.abi.json").read_text())
    for function in abi["functions"]:
        handle = function["arguments"] and \
            function["arguments"][0]["name"] in {h["name"][3:] for h in abi["handles"]}
        status = function["returns"]["abi"] in ("i32", "i64")
        if handle and status and not function["name"].endswith("_destroy"):
            assert "EINVAL" in function["errors"], function["name"]


# ---- breaks planted in a copy of the real tree ----

def check(tree):
    return run(GEN, "--check", "--root", tree, check=False)


def test_a_copy_of_the_tree_passes(tree):
    assert check(tree).returncode == 0


def test_a_changed_signature_is_noticed(tree):
    edit(tree / "capi/libfp/ring.h", "int fp_ring_close(fp_ring *ring)",
         "int fp_ring_close(fp_ring *ring, uint32_t flags)")
    done = check(tree)
    assert done.returncode == 1
    for path in ("capi/libfp.abi.json", "python/src/libfp/_cdef.h",
                 "bindings/swig/libfp_exports.i", "tests/abi/layout_asserts.c"):
        assert f"--- {path}" in done.stdout
    assert "out of date" in done.stderr


def test_a_changed_order_of_members_is_noticed(tree):
    header = tree / "capi/libfp/ring.h"
    lines = header.read_text().splitlines(True)
    first, second = [i for i, line in enumerate(lines)
                     if re.match(r"\tuint32_t n[12];", line)]
    lines[first], lines[second] = lines[second], lines[first]
    header.write_text("".join(lines))
    assert check(tree).returncode == 1


def test_a_changed_constant_is_noticed(tree):
    edit(tree / "capi/libfp/base.h", "#define LIBFP_NAME_MAX 63",
         "#define LIBFP_NAME_MAX 64")
    done = check(tree)
    assert done.returncode == 1
    assert "--- bindings/go/constants.go" in done.stdout


def test_a_new_function_is_noticed_in_the_map(tree):
    header = tree / "capi/libfp/ring.h"
    text = header.read_text()
    start = text.index("/*\n * Whether fp_ring_close()")
    end = text.index(");", start) + 2
    copy = text[start:end].replace("fp_ring_is_closed", "fp_ring_is_open")
    header.write_text(text[:end] + "\n\n" + copy + text[end:])
    done = check(tree)
    assert done.returncode == 1
    assert "+\tfp_ring_is_open;" in done.stdout


def test_an_edited_generated_file_is_noticed(tree):
    edit(tree / "capi/libfp.map", "\tfp_ring_close;\n", "")
    done = check(tree)
    assert done.returncode == 1
    assert "+\tfp_ring_close;" in done.stdout


@pytest.mark.parametrize("entry", ["Returns", "Threads", "Progress", "Since"])
def test_a_missing_entry_of_a_comment_is_refused(tree, entry):
    header = tree / "capi/libfp/ring.h"
    text = header.read_text()
    at = text.rindex(f" * {entry}:", 0, text.index("fp_ring_close(fp_ring"))
    header.write_text(text[:at] + " * Other:" + text[at + len(f" * {entry}:"):])
    done = check(tree)
    assert done.returncode == 1
    assert re.search(rf"capi/libfp/ring\.h:\d+: fp_ring_close: .*`{entry}:` is "
                     "missing", done.stderr)


def test_a_refused_header_changes_no_file(tree):
    edit(tree / "capi/libfp/ring.h", "int fp_ring_close(fp_ring *ring)",
         "int fp_ring_close(fp_ring *ring, ...)")
    before = {p: (tree / p).read_text() for p in cli.EMITTERS}
    assert run(GEN, "--root", tree, check=False).returncode == 1
    assert before == {p: (tree / p).read_text() for p in cli.EMITTERS}


def test_generating_repairs_the_tree(tree):
    (tree / "capi/libfp.map").unlink()
    edit(tree / "bindings/go/constants.go", "package fp", "package other")
    done = run(GEN, "--root", tree)
    assert done.stdout == "wrote capi/libfp.map\nwrote bindings/go/constants.go\n"
    assert check(tree).returncode == 0


# ---- one small header; each case breaks one rule of it ----

UMBRELLA = "#include <libfp/base.h>\n#include <libfp/ring.h>\n"
BASE = """
#include <stdint.h>
#define LIBFP_VERSION_MAJOR 0
#define LIBFP_VERSION_MINOR 9
#define LIBFP_VERSION_PATCH 0
"""
RING = """
#ifndef LIBFP_RING_H
#define LIBFP_RING_H
#include <libfp/base.h>
#define LIBFP_RING_MAX 8 /* words */

typedef struct fp_ring fp_ring;

typedef void (*fp_ring_visit)(uint64_t elem, void *user);

typedef struct fp_ring_opts {
	uint32_t size;
	uint32_t flags;
	const char *name;
	fp_ring_visit visit;
	void *user;
} fp_ring_opts;

#define LIBFP_RING_OPTS_INIT { sizeof(fp_ring_opts), 0, 0, 0, 0 }

/*
 * Fills *opts.
 *
 * Returns:  0; -EINVAL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_ring_opts_init(fp_ring_opts *opts, uint32_t size);

/*
 * Counts.
 *
 * limit:    where to stop.
 * Returns:  as fp_ring_opts_init(); -EBUSY also.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int64_t fp_ring_count(const fp_ring *ring, uint32_t limit);
#endif
"""
COUNT = "LIBFP_API int64_t fp_ring_count(const fp_ring *ring, uint32_t limit);"
ALONE = """
/*
 * Does it.
 *
 * Returns:  0.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
"""


def small(tmp_path, old="", new=""):
    """Generates from the small header after one replacement."""
    assert not old or RING.count(old) == 1, old
    (tmp_path / "capi/libfp").mkdir(parents=True)
    (tmp_path / "capi/libfp.h").write_text(UMBRELLA)
    (tmp_path / "capi/libfp/base.h").write_text(BASE)
    (tmp_path / "capi/libfp/ring.h").write_text(RING.replace(old, new, 1)
                                                if old else RING)
    return cli.generate(tmp_path)


def test_the_small_header_is_accepted(tmp_path):
    abi = json.loads(small(tmp_path)["capi/libfp.abi.json"])
    count = abi["functions"][1]
    assert count["errors"] == ["EBUSY", "EINVAL"], "with those of `as fp_...()`"
    assert count["arguments"][0] == {"name": "ring", "type": "const fp_ring *",
                                     "abi": "ptr"}
    assert [f["offset"] for f in abi["structs"][0]["fields"]] == [0, 4, 8, 16, 24]
    assert abi["structs"][0]["size"] == 32


def test_large_constants_keep_their_value(tmp_path):
    files = small(tmp_path, "#define LIBFP_RING_MAX 8",
                  "#define LIBFP_RING_MAX UINT64_MAX\n#define LIBFP_RING_MASK "
                  "((uint32_t)1 << 4 | 0x0f)")
    assert ('"LIBFP_RING_MAX", "value": 18446744073709551615'
            in files["capi/libfp.abi.json"])
    assert "#define LIBFP_RING_MAX 0xffffffffffffffffULL\n" in \
        files["bindings/swig/libfp_exports.i"], "SWIG would make it an int"
    assert "\tRingMax uint64 = 0xffffffffffffffff // LIBFP_RING_MAX\n" in \
        files["bindings/go/constants.go"], "it does not fit Go's int"
    assert "#define LIBFP_RING_MASK 31\n" in files["python/src/libfp/_cdef.h"]


RULES = [
    # functions
    ("no_api_macro", COUNT, COUNT[len("LIBFP_API "):], "without LIBFP_API"),
    ("name_of_a_type", "fp_ring_count(", "fp_ring(", "previously declared as typedef"),
    ("name_of_no_part", "fp_ring_count(", "fp_pool_count(", "not fp_<part>_<verb>"),
    ("name_without_verb", "fp_ring_count(", "fp_count(", "not fp_<part>_<verb>"),
    ("name_in_capitals", "fp_ring_count(", "fp_ring_Count(", "not fp_<part>_<verb>"),
    ("unsigned_result", "int64_t fp_ring_count", "uint64_t fp_ring_count",
     "unsigned results"),
    ("long_result", "int64_t fp_ring_count", "long fp_ring_count", "returns `long`"),
    ("bool_result", "int64_t fp_ring_count", "_Bool fp_ring_count",
     "returns `_Bool`"),
    ("enum_result", "LIBFP_API int64_t fp_ring_count", "enum fp_x { LIBFP_A };\n"
     "LIBFP_API enum fp_x fp_ring_count", "no enum"),
    ("varargs", "uint32_t limit)", "uint32_t limit, ...)", "variable arguments"),
    ("long_argument", "uint32_t limit)", "unsigned long limit)",
     "limit is `unsigned long`"),
    ("bool_argument", "uint32_t limit)", "_Bool limit)", "limit is `_Bool`"),
    ("enum_argument", "uint32_t limit)", "enum fp_x limit)", "no enum"),
    ("char_argument", "uint32_t limit)", "char limit)", "limit is `char`"),
    ("array_argument", "uint32_t limit)", "uint32_t limit[2])", "is an array"),
    ("struct_by_value", "uint32_t limit)", "fp_ring_opts limit)",
     "struct by value"),
    ("struct_returned", "int64_t fp_ring_count", "fp_ring_opts fp_ring_count",
     "returns `fp_ring_opts`"),
    ("raw_function_pointer", "uint32_t limit)", "int (*limit)(void))",
     "needs a typedef"),
    ("pointer_to_long", "uint32_t limit)", "long *limit)", "points to `long`"),
    ("unnamed_parameter", "const fp_ring *ring, uint32_t limit",
     "const fp_ring *, uint32_t limit", "without a name"),
    ("no_void", COUNT, COUNT + ALONE + "LIBFP_API int fp_ring_go();",
     "write (void)"),
    ("declared_twice", "#endif\n", COUNT + "\n#endif\n", "declared twice"),
    ("inline_body", COUNT, COUNT + "\nstatic inline int fp_ring_x(void) "
     "{ return 0; }", "function body"),
    ("variable", COUNT, COUNT + "\nextern int fp_ring_debug;", "only functions"),
    # comments
    ("no_comment", COUNT, COUNT + "\n\nLIBFP_API int fp_ring_go(void);",
     "no comment directly before it"),
    ("gap_after_comment", COUNT, "\n" + COUNT, "no comment directly before it"),
    ("says_nothing", " * Counts.\n *\n", "", "does not say what"),
    ("no_such_parameter", " * limit:    where", " * limit, most: where",
     "`most:` names no parameter"),
    ("newer_than_the_version", COUNT, COUNT + ALONE.replace("0.9", "0.10")
     + "LIBFP_API int fp_ring_go(void);", "newer than"),
    ("since_no_version", COUNT, COUNT + ALONE.replace("0.9", "soon")
     + "LIBFP_API int fp_ring_go(void);", "not a version"),
    ("unknown_code", "-EBUSY also", "-EBUSSY also", "-EBUSSY is not an errno"),
    ("unknown_reference", "as fp_ring_opts_init()", "as fp_ring_start()",
     "not declared"),
    ("no_progress_class", COUNT, COUNT + ALONE.replace("wait-free", "fast")
     + "LIBFP_API int fp_ring_go(void);", "neither wait-free"),
    # types
    ("bit_field", "\tconst char *name;", "\tuint32_t a : 4;\n\tuint32_t b;\n"
     "\tconst char *name;", "bit-fields"),
    ("hidden_padding", "\tconst char *name;", "\tuint32_t a;\n\tconst char *name;",
     "padding at offset 12"),
    ("size_not_of_8", "typedef void (*fp", "typedef struct fp_ring_pair {\n"
     "\tuint32_t a;\n} fp_ring_pair;\n\ntypedef void (*fp", "not a multiple of 8"),
    ("int_member", "\tconst char *name;", "\tint a;\n\tint b;\n\tconst char *name;",
     "fixed-width types"),
    ("long_member", "\tconst char *name;", "\tlong a;\n\tconst char *name;",
     "fixed-width types"),
    ("no_size_first", "\tuint32_t size;\n\tuint32_t flags;",
     "\tuint32_t flags;\n\tuint32_t size;", "does not start with `uint32_t size"),
    ("pointer_option", "\tconst char *name;", "\tconst char *path;",
     "options hold pointers only"),
    ("no_initialiser", "#define LIBFP_RING_OPTS_INIT", "#define LIBFP_RING_X_INIT",
     "LIBFP_RING_OPTS_INIT is missing"),
    ("no_init_function", "LIBFP_API int fp_ring_opts_init",
     "LIBFP_API int fp_ring_opts_fill", "fp_ring_opts_init() is missing"),
    ("tag_differs", "typedef struct fp_ring fp_ring;",
     "typedef struct ring fp_ring;", "tag and typedef differ"),
    ("union", "typedef struct fp_ring fp_ring;",
     "typedef struct fp_ring fp_ring;\ntypedef union fp_ring_u { int a; } fp_ring_u;",
     "no union"),
    ("enum_type", "typedef struct fp_ring fp_ring;", "typedef struct fp_ring "
     "fp_ring;\ntypedef enum fp_ring_e { LIBFP_A } fp_ring_e;", "no enum"),
    ("type_name", "typedef struct fp_ring fp_ring;", "typedef struct fp_ring "
     "fp_ring;\ntypedef struct fp_lane fp_lane;", "not fp_<part>"),
    ("callback_without_user", "(uint64_t elem, void *user)", "(uint64_t elem)",
     "ends with `void *user`"),
    ("pointer_typedef", "typedef struct fp_ring fp_ring;", "typedef struct fp_ring "
     "fp_ring;\ntypedef void *fp_ring_p;", "second name"),
    # macros
    ("macro_prefix", "#define LIBFP_RING_MAX", "#define FP_RING_MAX",
     "named LIBFP_"),
    ("macro_no_constant", "#define LIBFP_RING_MAX 8", "#define LIBFP_RING_MAX size",
     "constant expression"),
    ("system_header", "#include <libfp/base.h>", "#include <libfp/base.h>\n"
     "#include <stdio.h>", "stdio.h"),
    ("not_c", "typedef struct fp_ring fp_ring;", "typedef struct fp_ring",
     "not plain C"),
]


@pytest.mark.parametrize("old, new, message", [r[1:] for r in RULES],
                         ids=[r[0] for r in RULES])
def test_a_broken_rule_is_refused(tmp_path, old, new, message):
    with pytest.raises(HeaderError) as refused:
        small(tmp_path, old, new)
    told = [p for p in refused.value.problems if message in p]
    assert told, refused.value.problems
    assert re.match(r"capi/libfp/\w+\.h:\d+", told[0])


def test_a_header_outside_the_umbrella_is_refused(tmp_path):
    small(tmp_path)
    (tmp_path / "capi/libfp/timer.h").write_text("")
    with pytest.raises(HeaderError, match="timer.h:1: .* does not include it"):
        cli.generate(tmp_path)


def test_several_versions_make_a_chain_of_nodes(tmp_path):
    small(tmp_path)
    edit(tmp_path / "capi/libfp/base.h", "MAJOR 0", "MAJOR 1")
    edit(tmp_path / "capi/libfp/base.h", "MINOR 9", "MINOR 2")
    ring = tmp_path / "capi/libfp/ring.h"
    text = ring.read_text()
    ring.write_text(text.replace(COUNT, COUNT + ALONE.replace("0.9", "1.2")
                                 + "LIBFP_API int fp_ring_go(void);"))
    files = cli.generate(tmp_path)
    assert files["capi/libfp.map"].endswith(
        "LIBFP_1.0 {\nglobal:\n\tfp_ring_count;\n\tfp_ring_opts_init;\n"
        "local:\n\t*;\n};\n\nLIBFP_1.2 {\nglobal:\n\tfp_ring_go;\n} LIBFP_1.0;\n"
        "\nLIBFP_EXPERIMENTAL {\n};\n")
    assert json.loads(files["capi/libfp.abi.json"])["soname"] == "libfp.so.1"
