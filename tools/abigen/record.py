# SPDX-License-Identifier: BSD-2-Clause
"""Command line of tools/abi-record."""

import argparse
import datetime
import re
import subprocess
import sys
from pathlib import Path

from . import baseline, cli, compat
from .model import HeaderError

HERE = Path(__file__).resolve().parents[2]
PRESETS = ("release", "aarch64")
LIBRARY = "build/{}/tests/abi/debuginfo/libfp.so"


class Refused(Exception):
    """Nothing was written; carries one line per reason."""


def check_generated(root):
    try:
        changes = cli.differences(root, cli.generate(root))
    except HeaderError as error:
        raise Refused(str(error)) from None
    if changes:
        raise Refused("generated files are out of date; run tools/gen first")


def check_reason(reason):
    reason = reason.strip()
    if not re.search(r"\w+ \w+", reason) or "|" in reason or "\n" in reason:
        raise Refused("the reason is one line of words, without `|`")
    return reason


def what_is_new(new, all_recorded):
    """Text for the history; refuses what may not be recorded."""
    problems = baseline.option_problems(new, all_recorded)
    old = all_recorded.get(baseline.key(new))
    changes = compat.compare(old, new) if old else None
    if old:
        problems += [
            f"{text}: incompatible; raise LIBFP_VERSION_MINOR in the same commit"
            for text in changes.breaks]
    if problems:
        raise Refused("\n".join(problems))
    if old:
        return ", ".join(f"`{name}`" for name in changes.added)
    return f"all: {len(compat.stable(new['functions']))} functions"


def history(root, row):
    """ABI.md with one more row; the table is the end of the file."""
    text = (root / "ABI.md").read_text(encoding="utf-8")
    table = text.split("## History", 1)[-1]
    if "## History" not in text or not table.rstrip().endswith("|"):
        raise Refused("ABI.md does not end with the table of its history")
    return text.rstrip() + "\n" + row + "\n"


def commits(root, name):
    """COMMIT with the line of this recording, if HEAD can give the library: it
    cannot when the minor version has moved and that is not committed yet."""
    recorded = baseline.commits(root)
    header = baseline.run("git", "show", "HEAD:capi/libfp/base.h", cwd=root)
    version = [re.search(rf"#define LIBFP_VERSION_{part} (\d+)", header.stdout)
               for part in ("MAJOR", "MINOR")]
    if all(version):
        major, minor = (v[1] for v in version)
        if name == (f"0.{minor}" if major == "0" else major):
            head = baseline.run("git", "rev-parse", "HEAD", cwd=root).stdout.strip()
            recorded[name] = head
    return baseline.COMMIT_HEAD + "".join(
        f"{key} {commit}\n" for key, commit in recorded.items())


def record(root, libraries, reason, today):
    """Writes the recording and its line of history; all or nothing."""
    check_generated(root)
    new, all_recorded = baseline.current(root), baseline.recorded(root)
    name = baseline.key(new)
    added = what_is_new(new, all_recorded)
    dumps = {baseline.dump_path(root, library): baseline.dump(root, library)
             for library in libraries
             if added or baseline.abidiff_problems(root, library)}
    if not dumps:
        raise Refused("nothing has changed since the last recording")
    row = (f"| `LIBFP_{baseline.node_of(name)}` | {today} | {added or 'nothing'} | "
           f"{reason} |")
    place = root / baseline.PLACE
    files = {root / "ABI.md": history(root, row), **dumps}
    if added:
        files |= {place / "COMMIT": commits(root, name),
                  place / f"{name}.json":
                      (root / "capi/libfp.abi.json").read_text(encoding="utf-8")}
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(root)}")


def build(root):
    """The library of every machine, with debug information."""
    for preset in PRESETS:
        for command in (["cmake", "--preset", preset],
                        ["cmake", "--build", f"build/{preset}", "--target",
                         "fp_debuginfo"]):
            if subprocess.run(command, cwd=root, stdout=subprocess.DEVNULL,
                              check=False).returncode:
                raise Refused(f"{' '.join(command)} failed")
    return [root / LIBRARY.format(preset) for preset in PRESETS]


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="tools/abi-record",
        description="Records the ABI of this tree in " + baseline.PLACE + " and, with "
        "the reason, in ABI.md. An incompatible change is refused unless the minor "
        "version has moved.")
    parser.add_argument("--reason", help="why; asked for if not given")
    parser.add_argument("--root", type=Path, default=HERE, metavar="DIR",
                        help="the tree to work on (default: this one)")
    parser.add_argument("--library", type=Path, metavar="FILE", action="append",
                        help="a libfp.so with debug information; may be given for each "
                        "machine (default: builds them)")
    options = parser.parse_args(argv)
    root = options.root.resolve()
    try:
        reason = options.reason
        if reason is None and sys.stdin.isatty():
            reason = input("Why does the ABI change? ")
        if reason is None:
            raise Refused("a reason is needed: --reason TEXT")
        reason = check_reason(reason)
        record(root, options.library or build(root), reason,
               datetime.date.today().isoformat())
        return 0
    except (Refused, baseline.Missing) as error:
        print(f"{error}\ntools/abi-record: nothing recorded", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"tools/abi-record: {error}", file=sys.stderr)
        return 2
