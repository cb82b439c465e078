# SPDX-License-Identifier: BSD-2-Clause
"""Symbol versions: which node a function is in, and the version script."""

from . import lint

PATH = "capi/libfp.map"
EXPERIMENTAL = "LIBFP_EXPERIMENTAL"


def current_node(version):
    return f"LIBFP_{version[0]}.{version[1]}"


def node_of(model, function):
    """
    Nothing is promised about the experimental node, and a program that needs it
    says so, for its distributor to see.

    Before 1.0 each minor version is a library of its own (its number is in the
    SONAME), so one open node holds everything. From 1.0 on a function stays in
    the node of the version that brought it; what is older belongs to 1.0.
    """
    version = model.version
    if function.name in model.experimental:
        return EXPERIMENTAL
    if version[0] == 0:
        return current_node(version)
    return current_node(max(lint.version_of(function.doc.since), (1, 0)))


def soname(version):
    return f"libfp.so.0.{version[1]}" if version[0] == 0 else \
        f"libfp.so.{version[0]}"


def emit(model):
    nodes = {EXPERIMENTAL: []}
    for f in model.functions:
        nodes.setdefault(node_of(model, f), []).append(f.name)
    experimental = nodes.pop(EXPERIMENTAL)
    text = ("/* SPDX-License-Identifier: BSD-2-Clause */\n"
            "/*\n"
            " * Version script of libfp.so: what is not listed stays inside.\n"
            " * Generated from the public headers by tools/gen; do not edit.\n"
            " */\n")
    previous = None
    for node in sorted(nodes, key=lambda n: lint.version_of(n[len("LIBFP_"):])):
        text += f"{node} {{\nglobal:\n" if previous is None else \
            f"\n{node} {{\nglobal:\n"
        text += "".join(f"\t{name};\n" for name in sorted(nodes[node]))
        if previous is None:
            text += "local:\n\t*;\n};\n"
        else:
            text += f"}} {previous};\n"
        previous = node
    # A node of its own, also while it is empty: see ABI.md.
    text += f"\n{EXPERIMENTAL} {{\n"
    if experimental:
        text += "global:\n" + "".join(f"\t{n};\n" for n in sorted(experimental))
    return text + "};\n"
