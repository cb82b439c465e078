# SPDX-License-Identifier: BSD-2-Clause
"""Parses the public headers into a Model.

The C preprocessor runs with include paths of its own: the headers may include
<stdint.h> and each other, nothing else. LIBFP_API becomes `_Noreturn`, a word
that no public function uses and that the parser keeps, which is how exported
prototypes are told from others.
"""

import re
import subprocess
from pathlib import Path

from pycparser import c_ast, c_parser

from . import comments, consteval
from .model import (Alias, Callback, Constant, CType, Field, Function,
                    HeaderError, Model, Opaque, Param, Place, Struct)

INCLUDE = Path(__file__).resolve().parent / "include"
UMBRELLA = "capi/libfp.h"
PREFIX = "abigen_value_of_"
EXPERIMENTAL = "LIBFP_ENABLE_EXPERIMENTAL"  # what a user defines to see those


def preprocess(root, experimental, text=None):
    command = ["gcc", "-E", "-dD", "-x", "c", "-std=c11", "-nostdinc",
               "-I", "capi", "-isystem", str(INCLUDE),
               "-DLIBFP_API=_Noreturn", "-D__attribute__(x)=",
               *([f"-D{EXPERIMENTAL}"] if experimental else []),
               UMBRELLA if text is None else "-"]
    try:
        done = subprocess.run(command, cwd=root, input=text, text=True,
                              capture_output=True, check=False)
    except FileNotFoundError:
        raise HeaderError(["tools/gen: needs gcc, for its preprocessor"]) from None
    if done.returncode:
        raise HeaderError(done.stderr.strip().splitlines())
    return done.stdout


def split_defines(output):
    """Takes the #define lines out. Returns (the rest, [(name, body, Place)])."""
    rest, defines, file, line = [], [], "", 0
    for text in output.splitlines():
        marker = re.match(r'# (\d+) "([^"]*)"', text)
        if marker:
            line, file = int(marker[1]) - 1, marker[2]
        else:
            line += 1
        define = re.match(r"#define (\w+)(\(?)(.*)", text)
        if define:
            name, paren, body = define.groups()
            defines.append((name, None if paren else body.strip(),
                            Place(file, line)))
        rest.append("" if text.startswith(("#define", "#undef")) else text)
    return "\n".join(rest) + "\n", defines


def parse_c(text):
    try:
        return c_parser.CParser().parse(text)
    except c_parser.ParseError as error:
        where, _, what = str(error).partition(": ")
        where = re.sub(r":\d+$", "", where)  # the column is after expansion
        raise HeaderError([f"{where}: not plain C declarations: {what}"]) from None


class Reader:
    def __init__(self, root, experimental):
        self.root = Path(root)
        self.experimental = experimental
        self.model = Model()
        self.problems = []
        self.sources = {}  # file -> (lines, comments)

    def problem(self, place, text):
        self.problems.append(f"{place}: {text}")

    def source(self, file):
        if file not in self.sources:
            text = (self.root / file).read_text(encoding="utf-8")
            self.sources[file] = (text.splitlines(), comments.scan(text))
        return self.sources[file]

    def read(self):
        if not (self.root / UMBRELLA).is_file():
            raise HeaderError([f"{self.root / UMBRELLA}: no such file"])
        text, defines = split_defines(preprocess(self.root, self.experimental))
        ours = [d for d in defines if d[2].file.startswith("capi/")]
        for found in re.findall(r'^# \d+ "(capi/[^"]*)"', text, re.M):
            if found not in self.model.headers:
                self.model.headers.append(found)
        for path in sorted((self.root / "capi").rglob("*.h")):
            name = path.relative_to(self.root).as_posix()
            if name not in self.model.headers:
                self.problem(name + ":1", f"{UMBRELLA} does not include it")
        for node in parse_c(text).ext:
            place = self.place(node)
            if place.file.startswith("capi/"):
                self.declaration(node, place)
        self.model.macros = [(name, place) for name, _, place in ours]
        self.constants(ours)
        return self.model

    @staticmethod
    def place(node):
        return Place(node.coord.file, node.coord.line)

    # ---- types ----

    def ctype(self, node, what):
        """pycparser's type tree as a CType; complains about what is barred."""
        place, pointers, dims = self.place_of(node), [], []
        while not isinstance(node, c_ast.TypeDecl):
            if isinstance(node, c_ast.ArrayDecl) and not pointers:
                dims.append(self.array_length(node, what))
            elif isinstance(node, c_ast.PtrDecl):
                pointers.append("const" in node.quals)
            else:
                self.problem(place, f"{what}: a pointer to a function needs a "
                             "typedef of its own; none to an array")
                return CType("void")
            node = node.type
        if isinstance(node.type, c_ast.IdentifierType):
            base = " ".join(node.type.names)
        elif isinstance(node.type, c_ast.Enum):
            self.problem(place, f"{what}: no enum in the ABI; use uint32_t and "
                         "LIBFP_ constants")
            base = "int"
        else:
            self.problem(place, f"{what}: use the typedef, not `struct`")
            base = node.type.name or "void"
        return CType(base, "const" in node.quals, tuple(reversed(pointers)),
                     tuple(dims))

    def place_of(self, node):
        while getattr(node, "coord", None) is None:
            node = node.type
        return self.place(node)

    def array_length(self, node, what):
        try:
            return consteval.evaluate(node.dim)
        except (consteval.NotConstant, AttributeError):
            self.problem(self.place_of(node), f"{what}: array without a "
                         "constant length")
            return 1

    def params(self, func, what):
        found = []
        for node in func.args.params if func.args else ():
            if isinstance(node, c_ast.EllipsisParam):
                found.append(Param("...", CType("void"), variadic=True))
                continue
            ctype = self.ctype(node.type, f"{what}: parameter "
                               f"{getattr(node, 'name', None) or '?'}")
            if ctype == CType("void") and getattr(node, "name", None) is None:
                continue  # (void)
            found.append(Param(node.name or "", ctype))
        if not func.args:
            self.problem(self.place(func), f"{what}: write (void), not ()")
        return found

    # ---- declarations ----

    def declaration(self, node, place):
        if isinstance(node, c_ast.Typedef):
            self.typedef(node, place)
        elif isinstance(node, c_ast.FuncDef):
            self.problem(place, f"{node.decl.name}: a function body in a public "
                         "header; the ABI is exported functions only")
        elif isinstance(node, c_ast.Decl) and isinstance(node.type,
                                                         c_ast.FuncDecl):
            self.function(node, place)
        elif isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.Enum):
            self.problem(place, "no enum in the ABI; use LIBFP_ constants")
        elif isinstance(node, c_ast.Decl) and node.name is None:
            self.problem(place, "declare structs as `typedef struct x {...} x;`")
        else:
            self.problem(place, f"{getattr(node, 'name', None) or 'this'}: only "
                         "functions and types in a public header")

    def function(self, node, place):
        params = self.params(node.type, node.name)
        function = Function(node.name, place,
                            self.ctype(node.type.type, f"{node.name}: result"),
                            params, "_Noreturn" in node.funcspec)
        lines, found = self.source(place.file)
        comment = comments.before(found, place.line, lines)
        if comment is None:
            self.problem(place, f"{node.name}: no comment directly before it")
            function.doc = comments.Doc()
        else:
            function.doc, problems = comments.parse(comment.text,
                                                    [p.name for p in params])
            for text in problems:
                self.problem(place, f"{node.name}: its comment: {text}")
        self.model.functions.append(function)

    def typedef(self, node, place):
        name, kind = node.name, node.type
        types = self.model.types
        if isinstance(kind, c_ast.PtrDecl) and isinstance(kind.type,
                                                          c_ast.FuncDecl):
            returns = self.ctype(kind.type.type, f"{name}: result")
            types.append(Callback(name, place, returns,
                                  self.params(kind.type, name)))
        elif isinstance(kind, c_ast.TypeDecl) and isinstance(kind.type,
                                                             c_ast.Struct):
            if kind.type.name != name:
                self.problem(place, f"{name}: struct tag and typedef differ")
            if kind.type.decls is None:
                types.append(Opaque(name, place))
            else:
                types.append(Struct(name, place, self.fields(kind.type, name)))
        elif isinstance(kind, c_ast.TypeDecl) and isinstance(kind.type,
                                                             c_ast.Union):
            self.problem(place, f"{name}: no union in the ABI")
        else:
            types.append(Alias(name, place, self.ctype(kind, name)))

    def fields(self, struct, owner):
        found = []
        for node in struct.decls:
            if node.name is None:
                self.problem(self.place_of(node), f"{owner}: unnamed member")
                continue
            what = f"{owner}.{node.name}"
            found.append(Field(node.name, self.ctype(node.type, what),
                               self.place(node), node.bitsize is not None))
        return found

    # ---- constants ----

    def constants(self, defines):
        """Object-like macros with a value; the rest is not for bindings."""
        wanted = {}
        for name, body, place in defines:
            if body is None or name.endswith("_INIT"):
                continue
            if body == "":
                if not name.endswith("_H"):
                    self.problem(place, f"{name}: a macro without a value")
                continue
            wanted[name] = body, place
        if not wanted:
            return
        program = f'#include "{UMBRELLA}"\n' + "".join(
            f"int {PREFIX}{name} = {name};\n" for name in wanted)
        text, _ = split_defines(preprocess(self.root, self.experimental, program))
        try:
            tree = parse_c(text)
        except HeaderError:
            tree = self.one_by_one(wanted)
        for node in tree.ext:
            name = getattr(node, "name", None) or ""
            if not name.startswith(PREFIX):
                continue
            name = name[len(PREFIX):]
            body, place = wanted[name]
            try:
                value = consteval.evaluate(node.init)
            except consteval.NotConstant as error:
                self.problem(place, f"{name}: {error}")
                continue
            self.model.constants.append(
                Constant(name, place, value, spelling(value, body)))

    def one_by_one(self, wanted):
        """Some macro is no expression: finds out which."""
        tree = c_ast.FileAST([])
        for name, (_, place) in wanted.items():
            program = f'#include "{UMBRELLA}"\nint {PREFIX}{name} = {name};\n'
            text, _ = split_defines(preprocess(self.root, self.experimental,
                                               program))
            try:
                tree.ext += parse_c(text).ext[-1:]
            except HeaderError:
                self.problem(place, f"{name}: not a constant expression; name it "
                             "..._INIT if it initialises a struct")
        return tree


def spelling(value, body):
    """A constant in C, Go and Python alike; flags keep their 0x."""
    if isinstance(value, str):
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{quoted}"'
    if re.fullmatch(r"0x[0-9a-fA-F]+|0|[1-9][0-9]*", body):
        return body
    return hex(value) if value >= 2**63 else str(value)


def read(root):
    """Returns (Model of everything, Model of what is stable, problems found while
    reading). Experimental is what only LIBFP_ENABLE_EXPERIMENTAL declares."""
    full, stable = Reader(root, True), Reader(root, False)
    everything, promised = full.read(), stable.read()
    problems = full.problems + [p for p in stable.problems
                                if p not in full.problems]
    before, after = promised.by_name(), everything.by_name()
    everything.experimental = set(after) - set(before)
    problems += [f"{item.place}: {name}: {EXPERIMENTAL} changes it; it may only add"
                 for name, item in before.items() if after.get(name) != item]
    return everything, promised, problems
