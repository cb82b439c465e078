# SPDX-License-Identifier: BSD-2-Clause
"""The ABI as data: what tests, release tools and other languages read.

One line per parameter, member and constant, in the order of the headers, so
that a change of the ABI is a small diff.
"""

import json

from . import comments, emit_map, layout
from .model import Alias, Callback, Opaque, Struct

PATH = "capi/libfp.abi.json"


def typed(model, ctype, name=None):
    entry = {} if name is None else {"name": name}
    entry["type"] = str(ctype)
    entry["abi"] = layout.abi_class(model, ctype)
    return entry


def errors(model, function):
    """The closed list of codes, with those of `as fp_x()`."""
    codes = comments.own_codes(function.doc)
    visited, like = {function.name}, comments.codes_like(function.doc)
    while like and like not in visited:
        visited.add(like)
        other = next((f for f in model.functions if f.name == like), None)
        if other is None:
            break
        codes += [c for c in comments.own_codes(other.doc) if c not in codes]
        like = comments.codes_like(other.doc)
    return sorted(codes)


def build(model):
    version = model.version

    def where(item):
        entry = {"header": item.place.file[len("capi/"):]}
        if item.name in model.experimental:
            entry["experimental"] = True  # of a function its node says so as well
        return entry

    return {
        "library": "libfp",
        "version": ".".join(map(str, version)),
        "soname": emit_map.soname(version),
        "node": emit_map.current_node(version),
        "constants": [
            {"name": c.name, "value": c.value, **where(c)}
            for c in model.constants],
        "handles": [
            {"name": t.name, **where(t)} for t in model.of(Opaque)],
        "aliases": [
            {"name": t.name, **typed(model, t.type), **where(t)}
            for t in model.of(Alias)],
        "callbacks": [
            {"name": t.name, **where(t),
             "returns": typed(model, t.returns),
             "arguments": [typed(model, p.type, p.name) for p in t.params]}
            for t in model.of(Callback)],
        "structs": [
            {"name": t.name, **where(t), "size": t.size,
             "align": t.align,
             "fields": [{"name": f.name, "type": str(f.type),
                         "abi": layout.abi_class(model, f.type),
                         "offset": f.offset, "size": f.size}
                        for f in t.fields]}
            for t in model.of(Struct)],
        "functions": [
            {"name": f.name, **where(f), "since": f.doc.since,
             "node": emit_map.node_of(model, f),
             "returns": typed(model, f.returns),
             "arguments": [typed(model, p.type, p.name) for p in f.params],
             "errors": errors(model, f),
             "threads": f.doc.entries["Threads"],
             "progress": f.doc.entries["Progress"]}
            for f in model.functions],
    }


def leaf(value):
    values = value.values() if isinstance(value, dict) else value
    return not any(isinstance(v, (dict, list)) for v in values)


def form(value, indent=""):
    if not isinstance(value, (dict, list)) or leaf(value):
        return json.dumps(value, ensure_ascii=False)
    inner = indent + "  "
    if isinstance(value, dict):
        items = [f"{json.dumps(k)}: {form(v, inner)}" for k, v in value.items()]
        ends = "{}"
    else:
        items, ends = [form(v, inner) for v in value], "[]"
    return (ends[0] + "\n" + ",\n".join(inner + i for i in items) + "\n"
            + indent + ends[1])


def emit(model):
    return form(build(model)) + "\n"
