# SPDX-License-Identifier: BSD-2-Clause
"""Values of constant expressions, as the C preprocessor left them."""

import ast
import operator

from pycparser import c_ast

BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul,
    "|": operator.or_, "&": operator.and_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift,
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}
UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert,
         "!": operator.not_}
WIDTH = {"uint8_t": 8, "uint16_t": 16, "uint32_t": 32, "uint64_t": 64,
         "int8_t": -8, "int16_t": -16, "int32_t": -32, "int64_t": -64,
         "int": -32}


class NotConstant(Exception):
    pass


def convert(value, type_name):
    width = WIDTH.get(type_name)
    if width is None:
        raise NotConstant(f"cast to {type_name}")
    bits = abs(width)
    value &= (1 << bits) - 1
    if width < 0 and value >> (bits - 1):
        value -= 1 << bits
    return value


def evaluate(node):
    """Integer or string value of a pycparser expression."""
    if isinstance(node, c_ast.Constant):
        if node.type == "string":
            return ast.literal_eval(node.value)
        if "int" not in node.type:
            raise NotConstant(f"a constant of type {node.type}")
        digits = node.value.rstrip("uUlL")
        if digits.isdigit() and len(digits) > 1 and digits[0] == "0":
            return int(digits, 8)
        return int(digits, 0)
    if isinstance(node, c_ast.UnaryOp) and node.op in UNARY:
        return int(UNARY[node.op](evaluate(node.expr)))
    if isinstance(node, c_ast.BinaryOp) and node.op in BINARY:
        return int(BINARY[node.op](evaluate(node.left), evaluate(node.right)))
    if isinstance(node, c_ast.Cast):
        names = getattr(node.to_type.type.type, "names", ["?"])
        return convert(evaluate(node.expr), " ".join(names))
    raise NotConstant("not an integer or string constant expression")
