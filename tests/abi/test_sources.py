# SPDX-License-Identifier: BSD-2-Clause
"""The order of the source tree: what carries LIBFP_API, who includes whom, where
atomics live. Each gate is tested on planted breaks, too."""

import pytest
import sources
from conftest import ROOT, expect_none

GATES = [sources.api_outside_capi, sources.capi_includes, sources.include_order,
         sources.atomics_outside_the_layer, sources.repeated_sites]


@pytest.mark.gate
@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.__name__)
def test_the_tree_is_in_order(gate):
    expect_none(gate(ROOT))


def test_there_is_something_to_look_at():
    names = [name for _, name in sources.code_files(ROOT)]
    assert "src/ring/ring_internal.h" in names
    assert any(name.startswith("capi/") for name in names)
    sites = (ROOT / "src/base/atomic.h").read_text()
    assert "#define FPI_MO(site, order)" in sites


# A tree in order; each case adds one file or replaces one.
ORDERLY = {
    "capi/libfp.h": "#include <libfp/base.h>\n#include <libfp/ring.h>\n",
    "capi/libfp/base.h": "#include <stdint.h>\nLIBFP_API int fp_x(void);\n",
    "capi/libfp/ring.h": "#include <libfp/base.h>\n",
    "src/base/atomic.h": "#define FPI_MO(site, order) __ATOMIC_##order\n"
                         "__atomic_load_n(p, FPI_MO(site, X))\n",
    "src/base/lock.h": "/* no __atomic_load_n here, and no FPI_MO(ring_head, X) */\n"
                       "#include <errno.h>\n#include \"base/atomic.h\"\n",
    "src/base/lock_internal.h": "",
    "src/wakeup/wakeup.h": "#include \"base/lock.h\"\n",
    "src/ring/ring.c": "#include <libfp/ring.h>\n#include \"base/lock.h\"\n"
                       "#include \"ring/ring_internal.h\"\n"
                       "#include \"wakeup/wakeup.h\"\n"
                       "FPI_LOAD(p, FPI_MO(ring_head, ACQUIRE));\n",
    "src/ring/ring_internal.h": "FPI_LOAD(p, FPI_MO(ring_tail, ACQUIRE));\n",
    "src/service/service.h": "#include \"wakeup/wakeup.h\"\n",
    "src/timer/timer.c": "#include \"service/service.h\"\n",
    "tests/unit/api.c": "/* LIBFP_API */\n",
    "build/x.c": "LIBFP_API\n",
}


def orderly(root, **changed):
    for name, text in {**ORDERLY, **changed.get("files", {})}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_an_orderly_tree_passes(tmp_path):
    orderly(tmp_path)
    assert [gate(tmp_path) for gate in GATES] == [[]] * len(GATES)


BREAKS = [
    (sources.api_outside_capi, "src/ring/x.c", "\nLIBFP_API int fp_ring_x(void);",
     "src/ring/x.c:2: LIBFP_API"),
    (sources.api_outside_capi, "examples/a/a.c", "LIBFP_API", "examples/a/a.c:1:"),
    (sources.api_outside_capi, "python/x.py", "LIBFP_API = 1", "python/x.py:1:"),
    (sources.capi_includes, "capi/libfp/x.h", "#include \"../../src/base/lock.h\"",
     "includes ../../src/base/lock.h"),
    (sources.capi_includes, "capi/libfp/x.h", "#include <base/lock.h>",
     "includes base/lock.h"),
    (sources.capi_includes, "capi/libfp/x.h", "#include <stdbool.h>",
     "includes stdbool.h"),
    (sources.include_order, "src/base/x.c", "#include \"ring/ring.h\"",
     "not a file of src/"),
    (sources.include_order, "src/base/x.c", "#include \"wakeup/wakeup.h\"",
     "base does not stand on wakeup"),
    (sources.include_order, "src/base/x.c", " # include <libfp/ring.h>",
     "base does not stand on ring"),
    (sources.include_order, "src/ring/x.c", "#include \"service/service.h\"",
     "ring does not stand on service"),
    (sources.include_order, "src/timer/x.c", "#include \"ring/ring_internal.h\"",
     "timer does not stand on ring"),
    (sources.include_order, "src/mempool/x.c", "#include \"ring/ring_internal.h\"",
     "ring/ring_internal.h is internal to ring"),
    (sources.include_order, "src/ring/x.c", "#include \"base/lock_internal.h\"",
     "base/lock_internal.h is internal to base"),
    (sources.include_order, "src/ring/x.c", "#include \"ring_internal.h\"",
     "write \"part/file.h\""),
    (sources.include_order, "src/ring/x.c", "#include \"../base/lock.h\"",
     "not a file of src/"),
    (sources.include_order, "src/ring/x.c", "#include <libfp.h>", "not the umbrella"),
    (sources.include_order, "src/extra/x.c", "", "extra is no part"),
    (sources.atomics_outside_the_layer, "src/ring/x.c",
     "/* a */ __atomic_store_n(&x, 1, 0); /* b */", "src/ring/x.c:1:"),
    (sources.atomics_outside_the_layer, "src/ring/x.c", "\n\n_Atomic int x;",
     "src/ring/x.c:3:"),
    (sources.atomics_outside_the_layer, "src/ring/x.c", "#include <stdatomic.h>",
     "stdatomic"),
    (sources.atomics_outside_the_layer, "src/base/x.h", "__sync_synchronize();",
     "__sync_synchronize"),
    (sources.repeated_sites, "src/ring/x.c", "\nFPI_MO(\n\tring_tail, RELEASE)",
     "site ring_tail is also at src/ring/ring_internal.h:1"),
]


@pytest.mark.parametrize("gate, name, text, message", BREAKS, ids=[
    f"{b[0].__name__}-{i}" for i, b in enumerate(BREAKS)])
def test_a_planted_break_is_found(gate, name, text, message, tmp_path):
    problems = gate(orderly(tmp_path, files={name: text}))
    assert len(problems) == 1
    assert message in problems[0]
