# SPDX-License-Identifier: BSD-2-Clause
"""What the public headers say, as plain data."""

from dataclasses import dataclass, field


class HeaderError(Exception):
    """The headers cannot be used; carries every problem found, in order."""

    def __init__(self, problems):
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Place:
    file: str  # relative to the root of the tree
    line: int

    def __str__(self):
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class CType:
    """A type as the headers may spell it: base, pointers, array length."""

    base: str  # "uint32_t", "fp_ring", "void", ...
    const: bool = False  # of the base
    pointers: tuple = ()  # one per `*`, from the base outwards: is it const?
    dims: tuple = ()  # array lengths, outermost first

    def declare(self, name=""):
        text = ("const " if self.const else "") + self.base
        stars = ""
        for is_const in self.pointers:
            stars += "*const " if is_const else "*"
        if stars:
            text += " " + stars
        elif name:
            text += " "
        text += name
        for n in self.dims:
            text += f"[{n}]"
        return text.rstrip()

    def __str__(self):
        return self.declare()

    @property
    def is_pointer(self):
        return bool(self.pointers)


@dataclass
class Param:
    name: str
    type: CType
    variadic: bool = False


@dataclass
class Function:
    name: str
    place: Place
    returns: CType
    params: list
    exported: bool  # carries LIBFP_API
    doc: object = None  # comments.Doc

    def declare(self):
        args = ", ".join(p.type.declare(p.name) for p in self.params) or "void"
        return self.returns.declare(f"{self.name}({args})")


@dataclass
class Callback:
    name: str
    place: Place
    returns: CType
    params: list

    def declare(self):
        args = ", ".join(p.type.declare(p.name) for p in self.params) or "void"
        return "typedef " + self.returns.declare(f"(*{self.name})({args})")


@dataclass
class Field:
    name: str
    type: CType
    place: Place
    bitfield: bool = False
    offset: int = 0
    size: int = 0


@dataclass
class Struct:
    name: str
    place: Place
    fields: list
    size: int = 0
    align: int = 1
    holes: list = field(default_factory=list)  # (offset, bytes) nobody named


@dataclass
class Opaque:
    name: str
    place: Place


@dataclass
class Alias:
    name: str
    place: Place
    type: CType


@dataclass
class Constant:
    name: str
    place: Place
    value: object  # int or str
    spelling: str  # as the header writes it, if that is a plain number


@dataclass
class Model:
    headers: list = field(default_factory=list)  # relative paths, in order
    constants: list = field(default_factory=list)
    types: list = field(default_factory=list)  # Opaque, Alias, Callback, Struct
    functions: list = field(default_factory=list)
    macros: list = field(default_factory=list)  # (name, Place), every kind
    experimental: set = field(default_factory=set)  # names without a promise

    def of(self, kind):
        return [t for t in self.types if isinstance(t, kind)]

    def by_name(self):
        return {i.name: i for i in self.constants + self.types + self.functions}

    def type_named(self, name):
        for t in self.types:
            if t.name == name:
                return t
        return None

    def constant(self, name):
        for c in self.constants:
            if c.name == name:
                return c.value
        raise HeaderError([f"{self.headers[0]}: {name} is not defined"])

    @property
    def version(self):
        return tuple(self.constant(f"LIBFP_VERSION_{part}")
                     for part in ("MAJOR", "MINOR", "PATCH"))
