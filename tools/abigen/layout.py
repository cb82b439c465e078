# SPDX-License-Identifier: BSD-2-Clause
"""Sizes, offsets and calling classes on the platforms of libfp (LP64).

x86-64 and aarch64 agree on everything the restricted style allows: natural
alignment, 8-byte pointers, no bit-fields. The generated layout asserts let
each compiler confirm it.
"""

from .model import Alias, Callback, CType, Opaque, Struct

# name -> (bytes, class as a foreign-function interface calls it)
SCALARS = {
    "char": (1, "i8"), "int": (4, "i32"), "double": (8, "f64"),
    "int8_t": (1, "i8"), "int16_t": (2, "i16"), "int32_t": (4, "i32"),
    "int64_t": (8, "i64"), "uint8_t": (1, "u8"), "uint16_t": (2, "u16"),
    "uint32_t": (4, "u32"), "uint64_t": (8, "u64"),
}
POINTER = (8, "ptr")


def resolve(model, ctype):
    """Follows aliases of scalars."""
    named = model.type_named(ctype.base)
    if isinstance(named, Alias) and not ctype.is_pointer:
        target = resolve(model, named.type)
        return CType(target.base, ctype.const, target.pointers, ctype.dims)
    return ctype


def abi_class(model, ctype):
    """"u32", "ptr", "void", ...; None for what no call may carry."""
    ctype = resolve(model, ctype)
    if ctype.is_pointer or isinstance(model.type_named(ctype.base), Callback):
        return "ptr"
    if ctype.base == "void":
        return "void"
    return SCALARS.get(ctype.base, (0, None))[1]


def size_align(model, ctype):
    """(size, align) of a member, or (0, 1) for an unknown type."""
    ctype = resolve(model, ctype)
    named = model.type_named(ctype.base)
    if ctype.is_pointer or isinstance(named, Callback):
        size = align = POINTER[0]
    elif isinstance(named, Struct):
        size, align = named.size, named.align
    elif isinstance(named, Opaque) or ctype.base not in SCALARS:
        return 0, 1
    else:
        size = align = SCALARS[ctype.base][0]
    for n in ctype.dims:
        size *= n
    return size, align


def lay_out(model):
    """Fills in size, align and offsets of every struct, in header order."""
    for struct in model.of(Struct):
        offset = 0
        for field in struct.fields:
            field.size, align = size_align(model, field.type)
            aligned = -(-offset // align) * align
            if aligned != offset:
                struct.holes.append((offset, aligned - offset))
            field.offset = aligned
            offset = aligned + field.size
            struct.align = max(struct.align, align)
        struct.size = -(-offset // struct.align) * struct.align
        if struct.size != offset:
            struct.holes.append((offset, struct.size - offset))
