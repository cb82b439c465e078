# SPDX-License-Identifier: BSD-2-Clause
"""Gates over the built shared library, with binutils. Each returns problems."""

import json
import re

from conftest import run


# ---- names: four sources that must agree ----

def exported(library):
    """{(function, node)} that the dynamic linker can see."""
    found = set()
    for line in run("nm", "-D", "--defined-only", "--with-symbol-versions",
                    library).stdout.splitlines():
        kind, symbol = line.split()[-2:]
        name, _, node = symbol.partition("@@")
        if kind != "A" or node or not name.startswith("LIBFP_"):  # a node itself
            found.add((name, node))
    return found


def in_map(root):
    """{(function, node)} of the version script."""
    found, node = set(), None
    for line in (root / "capi/libfp.map").read_text().splitlines():
        opening = re.fullmatch(r"(\S+) \{", line)
        if opening:
            node = opening[1]
        name = re.fullmatch(r"\t(\w+);", line)
        if name:
            found.add((name[1], node))
    return found


def in_json(root):
    abi = json.loads((root / "capi/libfp.abi.json").read_text())
    return {(f["name"], f["node"]) for f in abi["functions"]}


def prototypes(root, scratch):
    """{function}: what the compiler itself finds declared in our headers."""
    listing = scratch / "prototypes.txt"
    run("gcc", "-std=c11", "-fsyntax-only", "-DLIBFP_ENABLE_EXPERIMENTAL", "-I",
        "capi", "-aux-info", listing, "-x", "c", "capi/libfp.h", cwd=root)
    return {match[1] for match in re.finditer(
        r"^/\* capi/\S+ \*/ extern .*?(\w+) \(", listing.read_text(), re.M)}


def name_problems(root, library, scratch):
    sources = {"libfp.so": exported(library), "capi/libfp.map": in_map(root),
               "capi/libfp.abi.json": in_json(root)}
    declared = prototypes(root, scratch)
    everything = set().union(*sources.values())
    problems = [f"{name}@{node}: not in {source}"
                for name, node in sorted(everything)
                for source, names in sources.items() if (name, node) not in names]
    problems += [f"{name}: not declared in capi/"
                 for name in sorted({n for n, _ in everything} - declared)]
    problems += [f"{name}: declared in capi/ but known nowhere else"
                 for name in sorted(declared - {n for n, _ in everything})]
    return problems


# ---- how it is linked ----

def dynamic(library):
    """[(tag, text)] of the dynamic section."""
    return re.findall(r"^ 0x\w+ \((\w+)\)\s+(.*)$",
                      run("readelf", "-dW", library).stdout, re.M)


def link_problems(root, library):
    entries = dynamic(library)
    tags = dict(entries)
    soname = json.loads((root / "capi/libfp.abi.json").read_text())["soname"]
    problems = []
    if f"[{soname}]" not in tags.get("SONAME", ""):
        problems.append(f"SONAME is {tags.get('SONAME')}, not {soname}")
    for tag, text in entries:
        if tag == "NEEDED" and not re.search(r"\[(libc\.so\.6|ld-linux-[^]]*)\]",
                                             text):
            problems.append(f"needs more than libc: {text}")
    if "NODELETE" not in tags.get("FLAGS_1", ""):
        problems.append("not linked with -z nodelete")
    if "NOW" not in tags.get("FLAGS_1", "") + tags.get("FLAGS", ""):
        problems.append("not linked with -z now")
    problems += [f"has {tag}" for tag in ("TEXTREL", "RPATH", "RUNPATH")
                 if tag in tags]
    segments = run("readelf", "-lW", library).stdout
    if "GNU_RELRO" not in segments:
        problems.append("not linked with -z relro")
    if re.search(r"GNU_STACK.* RWE ", segments):
        problems.append("asks for an executable stack")
    return problems


def constructor_problems(library):
    """crtstuff has one entry in each array; a second one would be ours."""
    tags = dict(dynamic(library))
    problems = []
    for tag in ("INIT_ARRAYSZ", "FINI_ARRAYSZ", "PREINIT_ARRAYSZ"):
        count = int(tags.get(tag, "0").split()[0]) // 8
        if count > (0 if tag.startswith("PRE") else 1):
            problems.append(f"{tag}: {count} entries: a constructor or destructor")
    return problems


def own_call_problems(library):
    """A function of ours that we call through the loader may turn out to be that of
    another copy in the process (copies.c)."""
    relocated = re.findall(r" (\w+)@@?LIBFP_\S+ \+ ",
                           run("readelf", "-rW", library).stdout)
    return [f"{name} is called through the loader, which may know another one"
            for name in sorted(set(relocated))]


# ---- what it costs and how it is protected ----

SIZE_LIMIT = 400 * 1024
# Why the stripped library may be larger than that; empty while it is not.
REASON_FOR_SIZE = ""
# Two words of every part, and the stamp that keeps the order of timers that a thread arms
# for one tick.
TLS_LIMIT = 24


def stripped_size(library, scratch):
    copy = scratch / "stripped.so"
    run("strip", "-o", copy, library)
    return copy.stat().st_size


def size_problems(library, scratch, limit=SIZE_LIMIT, reason=REASON_FOR_SIZE):
    size = stripped_size(library, scratch)
    if size > limit and not reason:
        return [f"{size} bytes stripped: more than {limit} needs REASON_FOR_SIZE"]
    return []


def tls_problems(library):
    """Thread-local memory is found by one load and fits the reserve of dlopen."""
    problems = []
    for line in run("readelf", "-lW", library).stdout.splitlines():
        if line.split()[:1] == ["TLS"] and int(line.split()[5], 16) > TLS_LIMIT:
            problems.append(f"{int(line.split()[5], 16)} bytes of thread-local "
                            f"memory; the limit is {TLS_LIMIT}")
    relocations = run("readelf", "-rW", library).stdout
    for kind in sorted(set(re.findall(r"R_\w*?(DTPMOD|DTPOFF|TLSDESC)", relocations))):
        problems.append(f"thread-local memory by {kind}: not initial-exec")
    return problems


def mark_problems(library):
    """-fcf-protection: a mark for shadow stacks, and functions that may be called
    through a pointer. (No mark IBT: see cmake/Flags.cmake.)"""
    notes = run("readelf", "-nW", library).stdout
    problems = [] if re.search(r"x86 feature: .*\bSHSTK\b", notes) else [
        "not marked SHSTK"]
    code = run("objdump", "-d", "--no-show-raw-insn", library).stdout
    for name, node in sorted(exported(library)):
        first = re.search(rf"<{name}(?:@@{re.escape(node)})?>:\n\s*\w+:\s+(\w+)", code)
        if not first or first[1] != "endbr64":
            problems.append(f"{name} does not start with endbr64")
    return problems
