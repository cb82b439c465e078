# SPDX-License-Identifier: BSD-2-Clause
"""The rules of the ABI, one function per subject. A header that breaks one is
refused with its line, before anything is written."""

import errno
import re

from . import comments, layout
from .model import Alias, Callback, Opaque, Struct

# Unsigned results cannot carry a negative errno value.
UNSIGNED_RESULTS = {"fp_version_number", "fp_features"}
# Functions of the library as a whole, named fp_<verb>.
WHOLE_LIBRARY = {"fp_strerror", "fp_features"}
# The word of a part in its names, where it is not the name of its header.
PART_WORDS = {"mempool": ("mempool", "pool"), "eventdev": ("eventdev", "event")}
# Pointers that an options struct may hold, besides callbacks.
OPTION_POINTERS = {"name": "const char *", "allocator": "const fp_allocator *",
                   "user": "void *", "ctx": "void *"}


def part_words(place):
    """Words that names of this header start with; None: any (base.h)."""
    stem = place.file.rsplit("/", 1)[-1][:-2]
    return None if stem in ("base", "libfp") else PART_WORDS.get(stem, (stem,))


def belongs(name, place):
    words = part_words(place)
    return words is None or any(name == f"fp_{w}" or name.startswith(f"fp_{w}_")
                                for w in words)


def version_of(text):
    match = re.fullmatch(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def check_functions(model, problem):
    seen = set()
    for f in model.functions:
        if not f.exported:
            problem(f.place, f"{f.name}: a public function without LIBFP_API")
        if f.name in seen:
            problem(f.place, f"{f.name}: declared twice")
        seen.add(f.name)
        if f.name not in WHOLE_LIBRARY and not (
                re.fullmatch(r"fp(_[a-z0-9]+){2,}", f.name)
                and belongs(f.name, f.place)):
            problem(f.place, f"{f.name}: the name is not fp_<part>_<verb>")
        check_result(model, f, problem)
        check_params(model, f, problem)
        check_comment(model, f, problem)
        since = version_of(f.doc.since)
        if f.doc.since and since is None:
            problem(f.place, f"{f.name}: `Since: {f.doc.since}` is not a version "
                    "like 0.9")
        elif since and since > model.version[:2]:
            problem(f.place, f"{f.name}: `Since: {f.doc.since}` is newer than "
                    "LIBFP_VERSION_")


def check_comment(model, f, problem):
    entries = f.doc.entries
    for code in comments.own_codes(f.doc):
        if not hasattr(errno, code):
            problem(f.place, f"{f.name}: -{code} is not an errno code")
    names = {other.name for other in model.functions}
    for key in ("Returns", "Threads", "Progress"):
        for name in re.findall(r"\bas (fp_\w+)\(\)", entries.get(key, "")):
            if name not in names:
                problem(f.place, f"{f.name}: `{key}:` refers to {name}(), which is "
                        "not declared")
    if entries.get("Progress") and not re.search(
            r"\b(wait-free|lock-free|blocking|as fp_\w+\(\))", entries["Progress"]):
        problem(f.place, f"{f.name}: `Progress:` says neither wait-free, lock-free "
                "nor blocking")


def check_result(model, f, problem):
    kind = layout.abi_class(model, f.returns)
    if kind is None:
        problem(f.place, f"{f.name}: returns `{f.returns}`: only int, fixed-width "
                "integers, double and pointers cross the ABI")
    elif kind.startswith("u") and f.name not in UNSIGNED_RESULTS:
        problem(f.place, f"{f.name}: returns `{f.returns}`: unsigned results cannot "
                "carry an error; use int32_t or int64_t")


def check_params(model, f, problem):
    for p in f.params:
        if p.variadic:
            problem(f.place, f"{f.name}: no variable arguments in the ABI")
            continue
        if not p.name:
            problem(f.place, f"{f.name}: a parameter without a name")
        if p.type.dims:
            problem(f.place, f"{f.name}: {p.name} is an array; write a pointer")
        kind = layout.abi_class(model, p.type)
        if isinstance(model.type_named(p.type.base), Struct) and kind is None:
            problem(f.place, f"{f.name}: {p.name} is a struct by value")
        elif kind in (None, "void") or (p.type.base == "char"
                                        and not p.type.is_pointer):
            problem(f.place, f"{f.name}: {p.name} is `{p.type}`: only int, "
                    "fixed-width integers, double and pointers cross the ABI")
        check_pointee(model, f, p.name, p.type, problem)


def check_pointee(model, owner, name, ctype, problem):
    known = ctype.base in layout.SCALARS or ctype.base == "void" \
        or model.type_named(ctype.base)
    if ctype.is_pointer and not known:
        problem(owner.place, f"{owner.name}: {name} points to `{ctype.base}`, which "
                "is neither a fixed-width type nor one of these headers")


def check_types(model, problem):
    seen = set()
    for t in model.types:
        if t.name in seen:
            problem(t.place, f"{t.name}: declared twice")
        seen.add(t.name)
        if not (re.fullmatch(r"fp(_[a-z0-9]+)+", t.name)
                and belongs(t.name, t.place)):
            problem(t.place, f"{t.name}: the name is not fp_<part>")
        if isinstance(t, Alias) and (t.type.is_pointer or t.type.dims
                                     or t.type.base not in layout.SCALARS):
            problem(t.place, f"{t.name}: only fixed-width integers may have a "
                    "second name")
        if isinstance(t, Callback):
            check_callback(model, t, problem)
        if isinstance(t, Struct):
            check_struct(model, t, problem)


def check_callback(model, t, problem):
    check_result(model, t, problem)
    check_params(model, t, problem)
    if t.name.startswith("fp_allocator_"):
        return  # `ctx` first, as allocators have it
    last = t.params[-1] if t.params else None
    if not last or last.name != "user" or str(last.type) != "void *":
        problem(t.place, f"{t.name}: a callback ends with `void *user`")


def check_struct(model, t, problem):
    if not t.fields:
        problem(t.place, f"{t.name}: an empty struct")
    for f in t.fields:
        named = model.type_named(f.type.base)
        if f.bitfield:
            problem(f.place, f"{t.name}.{f.name}: no bit-fields in the ABI")
        elif isinstance(named, Opaque) and not f.type.is_pointer:
            problem(f.place, f"{t.name}.{f.name}: an opaque type by value")
        elif f.size == 0 or (f.type.base == "int" and not f.type.is_pointer):
            problem(f.place, f"{t.name}.{f.name} is `{f.type}`: fixed-width types "
                    "and pointers only")
    for offset, count in t.holes:
        problem(t.place, f"{t.name}: {count} bytes of padding at offset {offset} "
                "have no name")
    if t.size % 8:
        problem(t.place, f"{t.name}: its size, {t.size}, is not a multiple of 8")
    if t.name.endswith(("_opts", "_stats")) or t.name == "fp_allocator":
        head = [(f.name, str(f.type)) for f in t.fields[:2]]
        if head != [("size", "uint32_t"), ("flags", "uint32_t")]:
            problem(t.place, f"{t.name}: does not start with `uint32_t size; "
                    "uint32_t flags;`")
    if t.name.endswith("_opts"):
        check_options(model, t, problem)


def check_options(model, t, problem):
    for f in t.fields:
        callback = isinstance(model.type_named(f.type.base), Callback)
        if f.type.is_pointer and OPTION_POINTERS.get(f.name) != str(f.type) \
                and not callback:
            problem(f.place, f"{t.name}.{f.name}: options hold pointers only for "
                    "name, allocator, callback and its user")
    init = "LIB" + t.name.upper() + "_INIT"
    if init not in (name for name, _ in model.macros):
        problem(t.place, f"{t.name}: {init} is missing")
    if f"{t.name}_init" not in (f.name for f in model.functions):
        problem(t.place, f"{t.name}: {t.name}_init() is missing")


def check_macros(model, problem):
    for name, place in model.macros:
        if not re.fullmatch(r"LIBFP(_[A-Z0-9]+)+", name):
            problem(place, f"{name}: public macros are named LIBFP_...")
    for c in model.constants:
        if isinstance(c.value, int) and not -2**63 <= c.value < 2**64:
            problem(c.place, f"{c.name}: does not fit 64 bits")


def check(model):
    """Problems, as `file:line: what`, in the order of the headers."""
    found = []

    def problem(place, text):
        found.append((model.headers.index(place.file), place.line, len(found),
                      f"{place}: {text}"))

    check_macros(model, problem)
    check_types(model, problem)
    check_functions(model, problem)
    return [text for *_, text in sorted(found)]
