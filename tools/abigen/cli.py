# SPDX-License-Identifier: BSD-2-Clause
"""Command line of tools/gen."""

import argparse
import difflib
import sys
from pathlib import Path

from . import emit_c, emit_go, emit_json, emit_map, headers, layout, lint
from .model import HeaderError

HERE = Path(__file__).resolve().parents[2]

# The description has everything; other languages get what is promised.
COMPLETE = {
    emit_map.PATH: emit_map.emit,
    emit_json.PATH: emit_json.emit,
}
STABLE = {
    emit_c.CDEF_PATH: emit_c.emit_cdef,
    emit_c.SWIG_PATH: emit_c.emit_swig,
    emit_c.ASSERTS_PATH: emit_c.emit_asserts,
    emit_go.PATH: emit_go.emit,
}
EMITTERS = {**COMPLETE, **STABLE}


def generate(root):
    """{relative path: text}; raises HeaderError with every problem found."""
    everything, stable, problems = headers.read(root)
    layout.lay_out(everything)
    layout.lay_out(stable)
    problems += lint.check(everything)
    if problems:
        raise HeaderError(problems)
    return {path: emit(everything) for path, emit in COMPLETE.items()} | \
        {path: emit(stable) for path, emit in STABLE.items()}


def differences(root, files):
    """Unified diffs of what regenerating would change."""
    found = []
    for path, text in files.items():
        target = root / path
        old = target.read_text(encoding="utf-8") if target.exists() else ""
        if old != text:
            found += difflib.unified_diff(
                old.splitlines(True), text.splitlines(True), path,
                path + " (generated)")
    return found


def write(root, files):
    """Writes what changed. Returns the paths written."""
    written = []
    for path, text in files.items():
        target = root / path
        if target.exists() and target.read_text(encoding="utf-8") == text:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="tools/gen",
        description="Reads the public headers in capi/, refuses what breaks the "
        "rules of the ABI, and writes: " + ", ".join(EMITTERS) + ".")
    parser.add_argument("--check", action="store_true",
                        help="write nothing; exit 1 with a diff if a generated "
                        "file is not what the headers say")
    parser.add_argument("--root", type=Path, default=HERE, metavar="DIR",
                        help="the tree to work on (default: this one)")
    options = parser.parse_args(argv)
    root = options.root.resolve()
    try:
        files = generate(root)
        if options.check:
            changes = differences(root, files)
            sys.stdout.writelines(changes)
            if changes:
                print("tools/gen: generated files are out of date; run tools/gen",
                      file=sys.stderr)
            return 1 if changes else 0
        for path in write(root, files):
            print(f"wrote {path}")
        return 0
    except HeaderError as error:
        print("\n".join(error.problems), file=sys.stderr)
        print("tools/gen: the public headers were refused; nothing written",
              file=sys.stderr)
        return 1
    except OSError as error:
        print(f"tools/gen: {error}", file=sys.stderr)
        return 2
