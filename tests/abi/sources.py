# SPDX-License-Identifier: BSD-2-Clause
"""Gates over the source tree. Each returns problems as `file:line: what`."""

import re

from abigen.comments import scan

# What a part may include: itself and what it stands on.
BELOW = {
    "base": {"base"},
    "wakeup": {"base", "wakeup"},
    "ring": {"base", "wakeup", "ring"},
    "mempool": {"base", "wakeup", "ring", "mempool"},
    "service": {"base", "wakeup", "service"},
    "timer": {"base", "wakeup", "service", "timer"},
    "eventdev": {"base", "wakeup", "ring", "mempool", "service", "timer",
                 "eventdev"},
}
# They must name the macro to test for it.
MAY_NAME_API = {"capi", "tests", "tools"}
CODE = {".c", ".h", ".cc", ".cpp", ".hpp", ".go", ".i", ".py", ".S"}
ATOMIC_LAYER = "src/base/atomic.h"


def code_files(root, top=None):
    """Source files below root (or root/top), as (path, relative name)."""
    start = root / top if top else root
    for path in sorted(start.rglob("*")):
        name = path.relative_to(root)
        if name.parts[0] in (".git", "build") or path.suffix not in CODE:
            continue
        if path.is_file():
            yield path, name.as_posix()


def without_comments(text):
    """Blanks comments; lines keep their numbers."""
    for comment in reversed(scan(text)):
        start, end = comment.span
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return text


def lines_of(path):
    text = path.read_text(encoding="utf-8")
    return enumerate(without_comments(text).split("\n"), 1)


def includes(path):
    """(line, opening mark, name) of each #include of a literal name."""
    for number, line in lines_of(path):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match[1], match[2]


def api_outside_capi(root):
    return [f"{name}:{number}: LIBFP_API belongs to capi/"
            for path, name in code_files(root)
            if name.split("/")[0] not in MAY_NAME_API
            for number, line in enumerate(path.read_text().split("\n"), 1)
            if re.search(r"\bLIBFP_API\b", line)]


def capi_includes(root):
    return [f"{name}:{number}: a public header includes {target}"
            for path, name in code_files(root, "capi")
            for number, mark, target in includes(path)
            if mark != "<" or not (target == "stdint.h"
                                   or (root / "capi" / target).is_file())]


def include_order(root):
    problems = []
    for path, name in code_files(root, "src"):
        part = name.split("/")[1]
        if part not in BELOW:
            problems.append(f"{name}:1: {part} is no part of the library")
            continue
        for number, mark, target in includes(path):
            problems += [f"{name}:{number}: {text}" for text in
                         include_problems(root, part, mark, target)]
    return problems


def include_problems(root, part, mark, target):
    if mark == "<":
        if target == "libfp.h":
            yield "include the header of the part, not the umbrella"
        public = re.fullmatch(r"libfp/(\w+)\.h", target)
        if public and public[1] not in BELOW[part]:
            yield f"{part} does not stand on {public[1]}"
        return
    other = target.split("/")[0]
    if "/" not in target or not (root / "src" / target).is_file():
        yield f'"{target}" is not a file of src/; write "part/file.h"'
    elif other not in BELOW[part]:
        yield f"{part} does not stand on {other}"
    elif other != part and target.endswith("_internal.h"):
        yield f"{target} is internal to {other}"


def atomics_outside_the_layer(root):
    return [f"{name}:{number}: atomics go through {ATOMIC_LAYER}: {found[0]}"
            for path, name in code_files(root, "src") if name != ATOMIC_LAYER
            for number, line in lines_of(path)
            for found in [re.search(r"__atomic_\w*|\b_Atomic\b|__sync_\w*|"
                                    r"__c11_atomic_\w*|\bstdatomic\b", line)]
            if found]


def repeated_sites(root):
    """A named memory order (FPI_MO) stands in one place of the library."""
    first, problems = {}, []
    for path, name in code_files(root, "src"):
        if name == ATOMIC_LAYER:
            continue
        text = without_comments(path.read_text(encoding="utf-8"))
        for match in re.finditer(r"\bFPI_MO\(\s*(\w+)", text):
            where = f"{name}:{text.count(chr(10), 0, match.start()) + 1}"
            if match[1] in first:
                problems.append(f"{where}: site {match[1]} is also at "
                                f"{first[match[1]]}")
            else:
                first[match[1]] = where
    return problems
