# SPDX-License-Identifier: BSD-2-Clause
"""The recorded ABI, capi/baseline/<arch>/, and what may be recorded.

For each SONAME there is one recording: `0.9.json`, the description as data, and
for each machine `0.9.xml`, what abidw saw in a library built with debug
information. COMMIT has a line `0.9 <commit>` that names a commit of which the
library can be built again. The description and COMMIT say the same on every
machine and are kept once. The ABI of the tree must be the recorded one; what was
added has to be recorded, with a reason, by tools/abi-record.
"""

import json
import re
import subprocess
import tempfile

from . import compat

ARCH = "x86_64"
PLACE = f"capi/baseline/{ARCH}"
MACHINES = {62: "x86_64", 183: "aarch64"}  # e_machine of an ELF file
COMMIT_HEAD = """\
# SPDX-License-Identifier: BSD-2-Clause
#
# From which commit a library with the recorded ABI can be built again; its ABI
# is the recorded one, or an older part of it. Written by tools/abi-record.
"""
# Nothing in it may depend on where, or from which line, it was built.
ABIDW = ["abidw", "--drop-private-types", "--no-corpus-path", "--no-comp-dir-path",
         "--no-show-locs"]


class Missing(Exception):
    """A tool without which there is no answer; never a reason to skip."""


def run(*command, cwd=None):
    try:
        return subprocess.run([str(c) for c in command], cwd=cwd, text=True,
                              capture_output=True, check=False)
    except FileNotFoundError:
        raise Missing(f"{command[0]} is missing (Debian: abigail-tools for abidw "
                      "and abidiff, git)") from None


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def current(root):
    return load(root / "capi/libfp.abi.json")


def key(abi):
    """"0.9" of libfp.so.0.9."""
    return abi["soname"].removeprefix("libfp.so.")


def recorded(root):
    """{key: description} of every recording."""
    return {path.stem: load(path) for path in sorted((root / PLACE).glob("*.json"))}


def commits(root):
    """{key: commit} of COMMIT."""
    path = root / PLACE / "COMMIT"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return dict(line.split() for line in lines if line and not line.startswith("#"))


# ---- the gates; each returns problems ----

def description_problems(root):
    """The description of the tree against all recordings."""
    new, all_recorded = current(root), recorded(root)
    old = all_recorded.get(key(new))
    if old is None:
        return [f"{PLACE}/{key(new)}.json: {new['soname']} was never recorded; "
                "run tools/abi-record"]
    changes = compat.compare(old, new)
    problems = [f"{text}: incompatible; raise LIBFP_VERSION_MINOR in the same commit"
                for text in changes.breaks]
    problems += [f"{text}: added but not recorded; run tools/abi-record"
                 for text in changes.added]
    return problems + option_problems(new, all_recorded)


def option_problems(new, all_recorded):
    return [f"{text} (recorded in {name}): these structs are only appended to"
            for name, old in all_recorded.items()
            for text in compat.options_appended_only(old, new)]


def dump_path(root, library):
    """Where the recorded dump for the machine of this library is, or will be."""
    with open(library, "rb") as file:
        machine = MACHINES[int.from_bytes(file.read(20)[18:], "little")]
    return root / "capi/baseline" / machine / f"{key(current(root))}.xml"


def dump(root, library):
    """What abidw sees of the public ABI in a library with debug information."""
    done = run(*ABIDW, "--headers-dir", root / "capi", library)
    if done.returncode or "<function-decl " not in done.stdout:
        raise Missing(f"abidw finds no types in {library}: {done.stderr.strip()}")
    # Of a source file its place in the tree is enough.
    return re.sub(r"(<abi-instr [^>]*?path=')[^']*/(src/[^']*')", r"\1\2",
                  done.stdout)


def abidiff_problems(root, library):
    """Any difference that abidiff sees. Its exit status has a bit for
    `incompatible`, but a changed signature does not set it: only 0 is good."""
    xml = dump_path(root, library)
    if not xml.is_file():
        return [f"{xml.relative_to(root)} is missing; run tools/abi-record"]
    with tempfile.NamedTemporaryFile("w", suffix=".xml", encoding="utf-8") as now:
        now.write(dump(root, library))
        now.flush()
        # Both sides come from the same abidw with the same options. Given the
        # library and --headers-dir instead, abidiff takes what the recording has
        # no file names for as private, and sees no change inside a struct.
        done = run("abidiff", "--suppressions",
                   root / "capi/baseline/experimental.abignore", xml, now.name)
    if done.returncode == 0:
        return []
    return [f"abidiff exits with {done.returncode}:\n{done.stdout}{done.stderr}"]


def history_problems(root):
    """Each recording has its line in ABI.md's history."""
    rows = (root / "ABI.md").read_text(encoding="utf-8").split("## History", 1)[-1]
    return [f"ABI.md: no line in the history for {name}" for name in recorded(root)
            if f"| `LIBFP_{node_of(name)}` |" not in rows]


def node_of(name):
    return name if "." in name else f"{name}.0"
