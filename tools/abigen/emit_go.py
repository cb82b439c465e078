# SPDX-License-Identifier: BSD-2-Clause
"""Constants for the Go package, in the form that gofmt leaves alone."""

PATH = "bindings/go/constants.go"

# Words that Go writes in capitals, or nearly so.
INITIALISMS = {w: w for w in ("MT", "ST", "AVX2", "NUMA", "ID", "FD", "CPU", "NS", "FIFO", "RR")}
INITIALISMS["CPUS"] = "CPUs"


def go_name(name):
    """LIBFP_RING_STATS_BLOCKED -> RingStatsBlocked"""
    return "".join(INITIALISMS.get(w, w.capitalize()) for w in name.split("_")[1:])


def block(constants, type_name=""):
    """One const ( ) group with the columns where gofmt puts them."""
    names = [go_name(c.name) for c in constants]
    width = max(map(len, names))
    values = [f"{type_name} = {c.spelling}".lstrip() for c in constants]
    longest = max(map(len, values))
    lines = "".join(f"\t{n:{width}} {v:{longest}} // {c.name}\n"
                    for n, v, c in zip(names, values, constants))
    return f"const (\n{lines})\n"


def emit(model):
    text = ("// SPDX-License-Identifier: BSD-2-Clause\n\n"
            "// Code generated from the public headers by tools/gen. DO NOT EDIT.\n"
            "\npackage fp\n")
    groups = {}
    for c in model.constants:
        # An untyped constant this large would not fit an int.
        large = isinstance(c.value, int) and c.value >= 2**63
        key = (large, "" if large else c.place.file)
        groups.setdefault(key, []).append(c)
    for (large, file), constants in sorted(
            groups.items(), key=lambda g: (g[0][0],
                                           model.headers.index(g[0][1] or
                                                               model.headers[0]))):
        title = f"// From {file[len('capi/'):]}.\n" if file else \
            "// Too large for an int.\n"
        text += "\n" + title + block(constants, "uint64" if large else "")
    return text
