# SPDX-License-Identifier: BSD-2-Clause
"""Gates over capi/libfp.abi.json alone, as a binding that never sees the headers
reads it. tools/gen refuses most of this in the headers already; here the other
end is held. Each returns problems.

Run as a program it calls every function that takes a handle with NULL, so that a
crash is this process's and not the test's:
    description.py libfp.so libfp.abi.json
"""

import ctypes
import errno
import json
import sys

# What may cross a call or stand in a struct: spelling -> class.
PLAIN = {"int": "i32", "double": "f64", "void": "void"} | {
    f"{sign}int{bits}_t": f"{sign or 'i'}{bits}"
    for sign in ("", "u") for bits in (8, 16, 32, 64)}
MAY_BE_UNSIGNED = {"fp_version_number", "fp_features"}


def names(abi, *kinds):
    return {item["name"] for kind in kinds for item in abi[kind]}


def type_problems(abi, owner, item, plain):
    """A type must be plain, or a pointer to something named."""
    spelled, kind = item["type"], item["abi"]
    base = spelled.removeprefix("const ").partition(" *")[0]
    if "*" in spelled:
        known = base in PLAIN or base == "char" or base in names(
            abi, "handles", "structs", "callbacks", "aliases")
        good = known and kind == "ptr"
    elif base in names(abi, "callbacks"):
        good = kind == "ptr"
    elif base in names(abi, "aliases"):
        good = any(a["name"] == base and a["abi"] == kind for a in abi["aliases"])
    else:
        good = plain.get(base) == kind
    return [] if good else [f"{owner}: `{spelled}` ({kind}) is not of the ABI"]


def call_problems(abi, f):
    arguments = {k: v for k, v in PLAIN.items() if k != "void"}
    problems = type_problems(abi, f["name"], f["returns"], PLAIN)
    for argument in f["arguments"]:
        problems += type_problems(abi, f"{f['name']}: {argument['name']}", argument,
                                  arguments)
    return problems


def function_problems(abi):
    problems = []
    types = names(abi, "handles", "structs", "callbacks", "aliases")
    for f in abi["functions"]:
        problems += call_problems(abi, f)
        if f["returns"]["abi"].startswith("u") and f["name"] not in MAY_BE_UNSIGNED:
            problems.append(f"{f['name']}: unsigned result")
        if f["name"] in types:
            problems.append(f"{f['name']}: shares the name of a type")
    for callback in abi["callbacks"]:
        problems += call_problems(abi, callback)
    return problems


def field_problems(abi):
    """Members are of fixed width and lie where natural alignment puts them, one
    after the other: whatever has bit-fields or packing does not."""
    fixed = {k: v for k, v in PLAIN.items() if k.endswith("_t") or k == "double"}
    problems = []
    for s in abi["structs"]:
        end = 0
        for field in s["fields"]:
            owner = f"{s['name']}.{field['name']}"
            problems += type_problems(abi, owner, field, fixed)
            if field["offset"] != end or not field["size"] \
                    or field["offset"] % min(field["size"], 8):
                problems.append(f"{owner}: not where it belongs")
            end = field["offset"] + field["size"]
        if s["size"] != end or s["size"] % 8:
            problems.append(f"{s['name']}: size is {s['size']}, members end at {end}")
    return problems


# ---- NULL handles ----

CTYPES = {"i8": ctypes.c_int8, "u8": ctypes.c_uint8, "i16": ctypes.c_int16,
          "u16": ctypes.c_uint16, "i32": ctypes.c_int32, "u32": ctypes.c_uint32,
          "i64": ctypes.c_int64, "u64": ctypes.c_uint64, "f64": ctypes.c_double,
          "ptr": ctypes.c_void_p, "void": None}


def takes_handle(abi, f):
    handles = names(abi, "handles")
    return any(a["type"].removeprefix("const ") in {f"{h} *" for h in handles}
               for a in f["arguments"])


def expected(f, handles):
    """Of a NULL handle: its destroy does nothing, a pointer is NULL, else -EINVAL."""
    if f["name"] in {f"{h}_destroy" for h in handles}:
        return 0
    if f["returns"]["abi"] in ("ptr", "void"):
        return None
    return -errno.EINVAL


def null_problems(library, abi):
    loaded, problems = ctypes.CDLL(str(library)), []
    for f in abi["functions"]:
        if not takes_handle(abi, f):
            continue
        call = getattr(loaded, f["name"])
        call.restype = CTYPES[f["returns"]["abi"]]
        call.argtypes = [CTYPES[a["abi"]] for a in f["arguments"]]
        print(f["name"], flush=True)  # the last name is the one that crashed
        # Non-zero counts: the handle is to be looked at before anything else.
        got = call(*(None if a["abi"] == "ptr" else 1 for a in f["arguments"]))
        want = expected(f, names(abi, "handles"))
        if got != want:
            problems.append(f"{f['name']}(NULL) gives {got}, not {want}")
    return problems


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        problems = null_problems(sys.argv[1], json.load(file))
    print("\n".join(problems), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
