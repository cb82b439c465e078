# SPDX-License-Identifier: BSD-2-Clause
"""The ABI is the recorded one. Breaks are planted in the headers of a copy of the
tree; a stand-in library, made of functions with the right types and no bodies,
takes the place of the real one there."""

import json
import re
import shutil

import pytest
from conftest import ROOT, copy_tree, edit, expect_none, run

from abigen import baseline, cli

RECORD = ROOT / "tools/abi-record"
REASON = "because a test says so"


# ---- the tree ----

@pytest.mark.gate
def test_the_description_is_the_recorded_one():
    expect_none(baseline.description_problems(ROOT))


@pytest.mark.gate
def test_abidiff_sees_no_difference(debuginfo):
    expect_none(baseline.abidiff_problems(ROOT, debuginfo))


@pytest.mark.gate
def test_every_recording_is_in_the_history():
    assert baseline.recorded(ROOT)
    expect_none(baseline.history_problems(ROOT))


def test_every_recording_names_a_commit_of_its_version():
    commits, recorded = baseline.commits(ROOT), baseline.recorded(ROOT)
    assert set(commits) <= set(recorded)
    for name, commit in commits.items():
        shown = run("git", "-C", ROOT, "show", f"{commit}:capi/libfp.abi.json",
                    check=False)
        if shown.returncode:
            continue  # a tree without its history: a tarball, a shallow clone
        old = json.loads(shown.stdout)
        assert baseline.key(old) == name
        assert baseline.compat.compare(old, recorded[name]).breaks == []


# ---- breaks, planted in a copy ----

def stand_in(tree, compiler="gcc"):
    """A library with the types of the tree's headers, with debug information."""
    cli.write(tree, cli.generate(tree))
    abi = baseline.current(tree)
    lines = ["#define LIBFP_ENABLE_EXPERIMENTAL\n#include <libfp.h>\n"]
    for f in abi["functions"]:
        args = ", ".join(f"{a['type']} {a['name']}" for a in f["arguments"]) or "void"
        kind = f["returns"]["type"]
        body = "" if kind == "void" else f"return ({kind})0; "
        lines.append(f"{kind} {f['name']}({args}) {{ {body}}}\n")
    source, library = tree / "stand_in.c", tree / "stand_in.so"
    source.write_text("".join(lines))
    run(compiler, "-std=c11", "-g", "-shared", "-fPIC", "-I", tree / "capi", source,
        "-o", library, f"-Wl,--version-script={tree}/capi/libfp.map",
        f"-Wl,-soname,{abi['soname']}", "-Wl,--no-as-needed")
    return library


def record(tree, library, *reason):
    return run(RECORD, "--root", tree, "--library", library, *reason, check=False)


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """A copy of which the stand-in's ABI is the recorded one."""
    tree = copy_tree(tmp_path_factory.mktemp("tree"))
    shutil.copy(ROOT / "ABI.md", tree)
    shutil.rmtree(tree / baseline.PLACE)
    library = stand_in(tree)
    done = record(tree, library, "--reason", REASON)
    assert done.returncode == 0, done.stderr
    assert gates(tree, library) == []
    return tree


@pytest.fixture
def recorded(template, tmp_path):
    """One's own copy of that, to plant a break in."""
    return shutil.copytree(template, tmp_path / "tree")


def gates(tree, library):
    """Of the whole gate, what is wrong with a tree and its stand-in."""
    return (baseline.description_problems(tree)
            + baseline.abidiff_problems(tree, library)
            + baseline.history_problems(tree))


RING = "capi/libfp/ring.h"
BASE = "capi/libfp/base.h"
CLOSE = "LIBFP_API int fp_ring_close(fp_ring *ring);"
INIT = "LIBFP_RING_OPTS_INIT { sizeof(fp_ring_opts),"
# name, file, old, new, what the description says, what abidiff names, if it sees it.
# Constants are not in debug information: there the description stands alone.
BREAKS = [
    ("signature", RING, CLOSE, CLOSE.replace("ring)", "ring, uint32_t flags)"),
     "fp_ring_close was int (fp_ring *), is int (fp_ring *, uint32_t)", "fp_ring_close"),
    ("result", RING, "int64_t fp_ring_count(", "int32_t fp_ring_count(",
     "fp_ring_count was int64_t", "fp_ring_count"),
    ("renamed_symbol", RING, CLOSE, CLOSE.replace("close", "shut"),
     "function fp_ring_close is gone", "fp_ring_shut"),
    ("member_removed", RING, "\tuint32_t n1;\n\tuint32_t n2;\n", "",
     "fp_ring_span.n1 was uint32_t n1 at 16, is uint64_t token at 16", "fp_ring_span"),
    ("member_moved", RING, "\tuint32_t n1;\n\tuint32_t n2;",
     "\tuint32_t n2;\n\tuint32_t n1;", "fp_ring_span.n1 was",
     "fp_ring_span"),
    ("member_type", RING, "\tuint32_t n1;", "\tint32_t n1;",
     "fp_ring_span.n1 was uint32_t n1 at 16, is int32_t n1", "fp_ring_span"),
    ("struct_size", RING, "\tuint64_t token;", "\tuint64_t token;\n\tuint64_t more;",
     "fp_ring_span: size was 32, is 40", "fp_ring_span"),
    ("option_inserted", RING, "\tuint32_t capacity;",
     "\tuint64_t first;\n\tuint32_t capacity;",
     "fp_ring_opts.capacity was uint32_t capacity at 16, is uint64_t first",
     "fp_ring_opts"),
    ("option_removed", RING, "\tconst fp_allocator *allocator;", "",
     "fp_ring_opts.allocator ", "fp_ring_opts"),
    ("constant", RING, "LIBFP_RING_ALIGN 128", "LIBFP_RING_ALIGN 64",
     "LIBFP_RING_ALIGN was 128, is 64", None),
    ("constant_removed", BASE, "#define LIBFP_LOG_INFO 2", "",
     "constant LIBFP_LOG_INFO is gone", None),
    ("callback", BASE, "(*fp_log_handler)(uint32_t level,",
     "(*fp_log_handler)(uint64_t level,", "fp_log_handler was void (uint32_t",
     "fp_log_handler"),
]


def plant(tree, file, old, new):
    """Replaces a line, or what stands in one place, comment behind it included."""
    path = tree / file
    text, count = re.subn(re.escape(old) + r"([ \t]+/\*.*)?", lambda _: new,
                          path.read_text())
    assert count == 1, f"{old!r}: {count} times in {file}"
    path.write_text(text)


def each(breaks, columns=slice(1, None)):
    return [pytest.param(*b[columns], id=b[0]) for b in breaks]


@pytest.mark.parametrize("file, old, new, message, named", each(BREAKS))
def test_a_break_is_found_and_not_recorded(recorded, file, old, new, message, named):
    plant(recorded, file, old, new)
    library = stand_in(recorded)
    found = baseline.description_problems(recorded)
    assert any(message in p and "incompatible" in p for p in found), found
    seen = baseline.abidiff_problems(recorded, library)
    assert [named in text for text in seen] == ([True] if named else []), seen
    before = snapshot(recorded)
    done = record(recorded, library, "--reason", REASON)
    assert done.returncode == 1
    assert message in done.stderr and "raise LIBFP_VERSION_MINOR" in done.stderr
    assert snapshot(recorded) == before, "a refused recording writes nothing"


def test_each_machine_has_a_recording_of_its_own(recorded):
    library = stand_in(recorded, "aarch64-linux-gnu-gcc")
    path = baseline.dump_path(recorded, library)
    path.unlink()
    assert baseline.abidiff_problems(recorded, library) == [
        "capi/baseline/aarch64/0.9.xml is missing; run tools/abi-record"]
    before = snapshot(recorded)
    assert record(recorded, library, "--reason", REASON).returncode == 0
    assert baseline.abidiff_problems(recorded, library) == []
    after = snapshot(recorded)
    assert [p.name for p in before if before[p] != after[p]] == ["ABI.md"]
    plant(recorded, RING, CLOSE, CLOSE.replace("close", "shut"))
    (problem,) = baseline.abidiff_problems(
        recorded, stand_in(recorded, "aarch64-linux-gnu-gcc"))
    assert "fp_ring_close" in problem


def snapshot(tree):
    return {p: p.read_bytes() for p in [tree / "ABI.md",
                                        *(tree / baseline.PLACE).iterdir()]}


def raise_minor(tree):
    edit(tree / BASE, "#define LIBFP_VERSION_MINOR 9", "#define LIBFP_VERSION_MINOR 10")


FOR_EVER = [b for b in BREAKS if b[0].startswith("option_")]
FOR_A_MINOR = [b for b in BREAKS if b not in FOR_EVER]


@pytest.mark.parametrize("file, old, new", each(FOR_A_MINOR, slice(1, 4)))
def test_a_break_with_a_new_minor_version_passes_once_it_is_recorded(recorded, file, old,
                                                                      new):
    plant(recorded, file, old, new)
    raise_minor(recorded)
    library = stand_in(recorded)
    never = "libfp.so.0.10 was never recorded; run tools/abi-record"
    assert baseline.description_problems(recorded) == [
        f"{baseline.PLACE}/0.10.json: {never}"]
    assert "0.10.xml is missing" in baseline.abidiff_problems(recorded, library)[0]
    assert record(recorded, library, "--reason", REASON).returncode == 0
    assert gates(recorded, library) == []
    assert set(baseline.recorded(recorded)) == {"0.9", "0.10"}, "beside the old one"
    last = (recorded / "ABI.md").read_text().splitlines()[-1]
    assert last.startswith("| `LIBFP_0.10` |") and last.endswith(f"| {REASON} |")


@pytest.mark.parametrize("file, old, new", each(FOR_EVER, slice(1, 4)))
def test_options_keep_their_beginning_even_with_a_new_minor_version(recorded, file, old,
                                                                     new):
    plant(recorded, file, old, new)
    raise_minor(recorded)
    done = record(recorded, stand_in(recorded), "--reason", REASON)
    assert done.returncode == 1
    assert "(recorded in 0.9): these structs are only appended to" in done.stderr


def add_function(tree):
    """fp_ring_is_open beside fp_ring_is_closed."""
    header = tree / RING
    text = header.read_text()
    start = text.index("/*\n * Whether fp_ring_close()")
    end = text.index(");", start) + 2
    copy = text[start:end].replace("fp_ring_is_closed", "fp_ring_is_open")
    header.write_text(text[:end] + "\n\n" + copy + text[end:])


def add_option(tree):
    header = tree / RING
    text = header.read_text()
    at = text.index("} fp_ring_opts;")
    init = text.index("}", text.index("#define " + INIT))
    text = text[:init].rstrip() + ", 0 " + text[init:]
    header.write_text(text[:at] + "\tuint64_t extra;\n" + text[at:])


@pytest.mark.parametrize("add, name", [(add_function, "fp_ring_is_open"),
                                       (add_option, "fp_ring_opts.extra")])
def test_an_addition_must_be_recorded(recorded, add, name):
    add(recorded)
    library = stand_in(recorded)
    assert baseline.description_problems(recorded) == [
        f"{name}: added but not recorded; run tools/abi-record"]
    assert baseline.abidiff_problems(recorded, library) != []
    assert record(recorded, library, "--reason", REASON).returncode == 0
    assert gates(recorded, library) == []
    assert f"| `{name}` | {REASON} |" in (recorded / "ABI.md").read_text()


def test_a_new_error_code_must_be_recorded(recorded):
    text = (recorded / RING).read_text()
    at = text.rindex(" * Returns:", 0, text.index(CLOSE))
    at = text.index("\n", at)
    (recorded / RING).write_text(text[:at] + "\n *           -ENXIO also." + text[at:])
    stand_in(recorded)
    assert any(p.startswith("-ENXIO of fp_ring_close: added")
               for p in baseline.description_problems(recorded))


# ---- the gate and the command themselves ----

def only(tree, monkeypatch, *tools):
    """A PATH with these tools and no other."""
    (tree / "bin").mkdir()
    for tool in tools:
        (tree / "bin" / tool).symlink_to(shutil.which(tool))
    monkeypatch.setenv("PATH", str(tree / "bin"))


def test_a_missing_abidiff_fails(recorded, monkeypatch):
    library = stand_in(recorded)
    only(recorded, monkeypatch, "abidw")
    with pytest.raises(baseline.Missing, match="abidiff is missing"):
        baseline.abidiff_problems(recorded, library)


def test_a_missing_abidw_records_nothing(recorded, monkeypatch):
    add_function(recorded)
    library, before = stand_in(recorded), snapshot(recorded)
    only(recorded, monkeypatch, "gcc", "git")
    done = record(recorded, library, "--reason", REASON)
    assert done.returncode == 1 and "abidw is missing" in done.stderr
    assert snapshot(recorded) == before


def test_a_library_without_debug_information_fails(recorded):
    library = stand_in(recorded)
    run("strip", "-g", library)
    with pytest.raises(baseline.Missing, match="finds no types"):
        baseline.abidiff_problems(recorded, library)


@pytest.mark.parametrize("reason", [(), ("--reason", ""), ("--reason", "because"),
                                    ("--reason", "two words | more"),
                                    ("--reason", "two words\nand a line")])
def test_recording_wants_a_reason(recorded, reason):
    add_function(recorded)
    library, before = stand_in(recorded), snapshot(recorded)
    done = record(recorded, library, *reason)
    assert done.returncode == 1 and "reason" in done.stderr
    assert snapshot(recorded) == before


def test_recording_wants_generated_files_that_are_up_to_date(recorded):
    library = stand_in(recorded)
    add_function(recorded)
    done = record(recorded, library, "--reason", REASON)
    assert done.returncode == 1 and "run tools/gen first" in done.stderr


def test_recording_the_same_again_is_refused(recorded):
    done = record(recorded, stand_in(recorded), "--reason", REASON)
    assert done.returncode == 1 and "nothing has changed" in done.stderr


def test_a_recording_without_its_line_of_history_is_found(recorded):
    text = (recorded / "ABI.md").read_text()
    (recorded / "ABI.md").write_text(text.replace("| `LIBFP_0.9` |", "| `LIBFP_0.8` |"))
    assert baseline.history_problems(recorded) == [
        "ABI.md: no line in the history for 0.9"]
