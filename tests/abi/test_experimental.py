# SPDX-License-Identifier: BSD-2-Clause
"""What stands under LIBFP_ENABLE_EXPERIMENTAL is seen by those who ask for it, is in
a version node of its own, and carries no promise. Planted in a copy of the tree."""

import json

import pytest
from conftest import edit, run

from abigen import baseline, cli
from abigen.model import HeaderError

RING = "capi/libfp/ring.h"
TRIAL = """
#ifdef LIBFP_ENABLE_EXPERIMENTAL
#define LIBFP_RING_TRIAL 0x40 /* a flag on trial */

typedef struct fp_ring_trial {
	uint64_t n;
} fp_ring_trial;

/*
 * Tries something.
 *
 * trial:    what.
 * Returns:  0; -EINVAL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_ring_try(fp_ring *ring, const fp_ring_trial *trial);
#endif

#ifdef __cplusplus
}
"""
END = "\n#ifdef __cplusplus\n}\n"


@pytest.fixture
def trial(tree):
    """A tree with an experimental function, generated anew."""
    edit(tree / RING, END, TRIAL)
    cli.write(tree, cli.generate(tree))
    return tree


def test_it_is_in_a_node_of_its_own(trial):
    assert (trial / "capi/libfp.map").read_text().endswith(
        "\nLIBFP_EXPERIMENTAL {\nglobal:\n\tfp_ring_try;\n};\n")
    library, source = trial / "x.so", trial / "x.c"
    abi = baseline.current(trial)
    source.write_text("".join(f"void {f['name']}(void) {{}}\n"
                              for f in abi["functions"]))
    run("gcc", "-shared", "-fPIC", source, "-o", library,
        f"-Wl,--version-script={trial}/capi/libfp.map", "-Wl,--no-undefined-version")
    listing = run("nm", "-D", "--with-symbol-versions", library).stdout
    assert " fp_ring_try@@LIBFP_EXPERIMENTAL\n" in listing
    assert f" fp_ring_close@@{abi['node']}\n" in listing


def test_the_description_says_so(trial):
    abi = json.loads((trial / "capi/libfp.abi.json").read_text())
    for kind, name in (("functions", "fp_ring_try"), ("structs", "fp_ring_trial"),
                       ("constants", "LIBFP_RING_TRIAL")):
        marked = [i["name"] for i in abi[kind] if i.get("experimental")]
        assert marked == [name]
    nodes = {f["name"]: f["node"] for f in abi["functions"]}
    assert nodes["fp_ring_try"] == "LIBFP_EXPERIMENTAL"


def test_bindings_and_layout_asserts_do_not_have_it(trial):
    for path in cli.STABLE:
        assert "trial" not in (trial / path).read_text().lower(), path


def test_it_is_no_change_of_the_recorded_abi(trial):
    assert baseline.description_problems(trial) == []


@pytest.mark.parametrize("asked", [True, False])
def test_only_who_asks_sees_it(trial, asked):
    program = trial / "program.c"
    program.write_text("#include <libfp.h>\n"
                       "int main(void) { return fp_ring_try(0, 0); }\n")
    done = run("gcc", "-std=c11", "-Werror", "-fsyntax-only", "-I", trial / "capi",
               *(["-DLIBFP_ENABLE_EXPERIMENTAL"] if asked else []), program,
               check=False)
    assert (done.returncode == 0) == asked
    assert asked or "fp_ring_try" in done.stderr


# ---- breaks ----

def test_a_stable_function_may_not_use_it(tree):
    edit(tree / RING, END, TRIAL)
    edit(tree / RING, "int fp_ring_close(fp_ring *ring)",
         "int fp_ring_close(fp_ring *ring, const fp_ring_trial *trial)")
    with pytest.raises(HeaderError, match="ring.h"):
        cli.generate(tree)


def test_it_may_only_add(tree):
    edit(tree / RING, "} fp_ring_span;",
         "#ifdef LIBFP_ENABLE_EXPERIMENTAL\n\tuint64_t n;\n#endif\n} fp_ring_span;")
    with pytest.raises(HeaderError, match="fp_ring_span: LIBFP_ENABLE_EXPERIMENTAL "
                       "changes it"):
        cli.generate(tree)


def test_it_may_not_hide_anything(tree):
    close = "LIBFP_API int fp_ring_close(fp_ring *ring);"
    edit(tree / RING, close, f"#ifndef LIBFP_ENABLE_EXPERIMENTAL\n{close}\n#endif")
    with pytest.raises(HeaderError, match="fp_ring_close"):
        cli.generate(tree)


def test_a_function_that_leaves_the_stable_node_is_a_break(tree):
    """Stable functions are not taken back by calling them experimental."""
    text = (tree / RING).read_text()
    end = text.index("LIBFP_API int fp_ring_close(fp_ring *ring);\n")
    end = text.index("\n", end) + 1
    start = text.rindex("/*\n", 0, end)
    (tree / RING).write_text(text[:start] + "#ifdef LIBFP_ENABLE_EXPERIMENTAL\n"
                             + text[start:end] + "#endif\n" + text[end:])
    cli.write(tree, cli.generate(tree))
    assert any(p.startswith("function fp_ring_close is gone: incompatible")
               for p in baseline.description_problems(tree))
