# SPDX-License-Identifier: BSD-2-Clause
"""The gate of a binding's exports.txt.

The file has a line for every function of the ABI, so that a new function is
either wrapped or left out on purpose, in every language:

    # a comment
    fp_ring_create wrapped Ring
    fp_ring_init left-out needs memory that outlives the object

`wrapped` is followed by what the user calls, `left-out` by the reason. What is
wrapped must be called somewhere in the sources of the binding.
"""

import json
import re

BINDINGS = {
    "python/exports.txt": ("python/src", ("*.py", "*.c", "*.h"), ("_cdef.h",)),
    "bindings/go/exports.txt": ("bindings/go", ("*.go", "*.h", "*.c"), ("_test.go",)),
    "bindings/swig/exports.txt": ("bindings/swig", ("*.i",), ()),
}


def language(binding):
    """What a list is for: the name of its directory."""
    return binding.split("/")[-2]


def functions(root):
    """The names of all functions of the ABI."""
    abi = json.loads((root / "capi/libfp.abi.json").read_text(encoding="utf-8"))
    return [f["name"] for f in abi["functions"]]


def read(path):
    """The (line number, name, word, text) of each entry, and problems of form."""
    entries, problems = [], []
    if not path.is_file():
        return entries, ["is missing"]
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        name, word, text = (line.split(None, 2) + ["", ""])[:3]
        if word not in ("wrapped", "left-out"):
            problems.append(f"line {number}: {name}: neither wrapped nor left-out")
        elif not text:
            what = "by what" if word == "wrapped" else "why"
            problems.append(f"line {number}: {name}: {word}, but not {what}")
        entries.append((number, name, word, text))
    return entries, problems


def sources(root, binding):
    """All source text of a binding, without what is generated or tests it."""
    directory, patterns, not_these = BINDINGS[binding]
    return "\n".join(path.read_text(encoding="utf-8")
                     for pattern in patterns
                     for path in sorted((root / directory).rglob(pattern))
                     if not path.name.endswith(not_these))


def exports_problems(root, binding):
    """What is wrong with a binding's exports.txt: one line each."""
    entries, problems = read(root / binding)
    if entries:
        wanted, seen, text = functions(root), {}, sources(root, binding)
        for number, name, word, _ in entries:
            if name in seen:
                problems.append(f"line {number}: {name}: also on line {seen[name]}")
            elif name not in wanted:
                problems.append(f"line {number}: {name}: not a function of the ABI")
            elif word == "wrapped" and not re.search(rf"\b{name}\b", text):
                problems.append(f"line {number}: {name}: wrapped, but never called")
            seen.setdefault(name, number)
        problems += [f"{name}: no line" for name in wanted if name not in seen]
    elif not problems:
        problems = ["is empty"]
    return [f"{binding}: {problem}" for problem in problems]
