# SPDX-License-Identifier: BSD-2-Clause
"""Lists in C: declarations for cffi and SWIG, and the layout asserts."""

from .model import Alias, Callback, Opaque, Struct

CDEF_PATH = "python/src/libfp/_cdef.h"
SWIG_PATH = "bindings/swig/libfp_exports.i"
ASSERTS_PATH = "tests/abi/layout_asserts.c"

NOTE = " * Generated from the public headers by tools/gen; do not edit.\n */\n"


def struct(t):
    members = "".join(f"\t{f.type.declare(f.name)};\n" for f in t.fields)
    return f"typedef struct {t.name} {{\n{members}}} {t.name};"


def declarations(model):
    blocks = ["\n".join(f"typedef struct {t.name} {t.name};"
                        for t in model.of(Opaque))]
    for t in model.types:
        if isinstance(t, Struct):
            blocks.append(struct(t))
        elif isinstance(t, Alias):
            blocks.append("typedef " + t.type.declare(t.name) + ";")
        elif isinstance(t, Callback):
            blocks.append(t.declare() + ";")
    blocks.append("\n".join(f.declare() + ";" for f in model.functions))
    return "\n\n".join(b for b in blocks if b) + "\n"


def constants(model):
    """#define lines; cffi knows integers only, so strings stay out."""
    return "".join(f"#define {c.name} {c.spelling}\n" for c in model.constants
                   if isinstance(c.value, int))


def emit_cdef(model):
    return ("/* SPDX-License-Identifier: BSD-2-Clause */\n"
            "/*\n * Declarations of libfp for cffi.\n" + NOTE
            + "\n" + constants(model) + "\n" + declarations(model))


def swig_literal(constant):
    """SWIG takes a number without a suffix for an int, whatever its size."""
    wide = isinstance(constant.value, int) and not -2**31 <= constant.value < 2**31
    return constant.spelling + ("ULL" if wide else "")


def emit_swig(model):
    lines = "".join(f"#define {c.name} {swig_literal(c)}\n"
                    for c in model.constants)
    return ("/* SPDX-License-Identifier: BSD-2-Clause */\n"
            "/*\n * What SWIG wraps: included by the interface file, after its\n"
            " * typemaps.\n" + NOTE + "\n" + lines + "\n" + declarations(model))


def emit_asserts(model):
    text = ("/* SPDX-License-Identifier: BSD-2-Clause */\n"
            "/*\n"
            " * The frozen layout of the ABI, for the compiler to confirm: sizes,\n"
            " * offsets, values, signatures as capi/libfp.abi.json has them.\n"
            + NOTE +
            "/* clang-format off */\n#include <stddef.h>\n\n#include <libfp.h>\n\n"
            "#define SAME(what) _Static_assert(what, \"the ABI has changed\")\n"
            "#define TYPE(expr, ...) \\\n"
            "\tSAME(__builtin_types_compatible_p(__typeof__(expr), __VA_ARGS__))\n"
            "#define FIELD(type, field, offset, bytes, ...)               \\\n"
            "\tSAME(offsetof(type, field) == (offset));             \\\n"
            "\tSAME(sizeof(((type *)0)->field) == (bytes));         \\\n"
            "\tTYPE(((type *)0)->field, __VA_ARGS__)\n")
    for t in model.of(Struct):
        text += (f"\nSAME(sizeof({t.name}) == {t.size});\n"
                 f"SAME(_Alignof({t.name}) == {t.align});\n")
        for f in t.fields:
            text += (f"FIELD({t.name}, {f.name}, {f.offset}, {f.size}, "
                     f"{f.type.declare()});\n")
    text += "\n"
    for t in model.types:
        if isinstance(t, Callback):
            args = ", ".join(str(p.type) for p in t.params) or "void"
            text += f"TYPE(({t.name})0, {t.returns.declare(f'(*)({args})')});\n"
        elif isinstance(t, Alias):
            text += f"TYPE(({t.name})0, {t.type});\n"
    text += "\n"
    for f in model.functions:
        args = ", ".join(str(p.type) for p in f.params) or "void"
        text += f"TYPE({f.name}, {f.returns.declare(f'({args})')});\n"
    text += "\n"
    for c in model.constants:
        if isinstance(c.value, int):
            text += f"SAME({c.name} == {c.spelling});\n"
    inits = [t for t in model.of(Struct) if any(
        name == "LIB" + t.name.upper() + "_INIT" for name, _ in model.macros)]
    if inits:
        text += ("\n/* An initialiser names every member; -Wextra reports one that"
                 " does not. */\n")
    for t in inits:
        text += (f"extern const {t.name} {t.name}_initial;\n"
                 f"const {t.name} {t.name}_initial = "
                 f"LIB{t.name.upper()}_INIT;\n")
    return text
