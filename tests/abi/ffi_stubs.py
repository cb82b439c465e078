# SPDX-License-Identifier: BSD-2-Clause
"""Writes C definitions of all functions of the ABI that call the library through
libffi: what is linked to them instead of libfp goes through ffi_call without
knowing it.

usage: ffi_stubs.py LIBFP.ABI.JSON OUTPUT.c
"""

import json
import sys

HEAD = """/* SPDX-License-Identifier: BSD-2-Clause */
/* Every function of libfp through libffi. Made by ffi_stubs.py; see there. */
#include <libfp.h>

#include "ffi_abi.h"
"""


def declaration(c_type, name):
    return c_type + name if c_type.endswith("*") else f"{c_type} {name}"


def to_word(argument):
    if argument["abi"] == "ptr":
        return f"(uint64_t)(uintptr_t){argument['name']}"
    return f"(uint64_t){argument['name']}"


def stub(function):
    """The definition of one function."""
    arguments = function["arguments"]
    c_type, abi = function["returns"]["type"], function["returns"]["abi"]
    parameters = ", ".join(declaration(a["type"], a["name"]) for a in arguments)
    words = ", ".join(map(to_word, arguments)) or "0"
    through = "(uintptr_t)" if abi == "ptr" else ""
    back = "" if abi == "void" else f"return ({c_type}){through}"
    return (f"\n{declaration(c_type, function['name'])}({parameters or 'void'})\n{{\n"
            "\tstatic const struct abi_function *f;\n"
            f"\tconst uint64_t words[] = {{ {words} }};\n\n"
            f"\tif (!f)\n\t\tf = abi_function(\"{function['name']}\");\n"
            f"\t{back}abi_call(f, words);\n}}\n")


def main(description, output):
    with open(description, encoding="utf-8") as f:
        functions = json.load(f)["functions"]
    with open(output, "w", encoding="utf-8") as f:
        f.write(HEAD + "".join(map(stub, functions)))


if __name__ == "__main__":
    main(*sys.argv[1:])
