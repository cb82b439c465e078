# SPDX-License-Identifier: BSD-2-Clause
"""What changed between two descriptions of the ABI (capi/libfp.abi.json).

Every difference is either a break, which a program built against the old one
could notice, or an addition, which it could not. What an experimental symbol
does is no difference at all: nothing is promised about it.
"""


def stable(items):
    return {i["name"]: i for i in items if not i.get("experimental")}


def signature(item):
    """The types that cross a call; names of parameters may change."""
    args = ", ".join(a["type"] for a in item["arguments"]) or "void"
    return f"{item['returns']['type']} ({args})"


def grows(struct):
    """Whether the caller says how much of it he knows."""
    head = struct["fields"][0] if struct["fields"] else {}
    return head.get("name") == "size" and head.get("type") == "uint32_t"


def is_version(constant):
    return constant.startswith("LIBFP_VERSION_")


class Changes:
    """The two lists, filled by compare()."""

    def __init__(self):
        self.breaks = []
        self.added = []

    def sets(self, old, new, kind):
        """Names that went and came. Returns [(old item, new item)] of the rest."""
        old, new = stable(old), stable(new)
        self.breaks += [f"{kind} {n} is gone" for n in old if n not in new]
        self.added += [n for n in new if n not in old]
        return [(old[n], new[n]) for n in old if n in new]

    def same(self, what, old, new):
        if old != new:
            self.breaks.append(f"{what} was {old}, is {new}")

    def struct(self, old, new):
        name = new["name"]
        self.breaks += appended_only(old, new)
        self.same(f"{name}: alignment", old["align"], new["align"])
        extra = new["fields"][len(old["fields"]):]
        if grows(old):
            self.added += [f"{name}.{f['name']}" for f in extra]
        else:
            self.same(f"{name}: size", old["size"], new["size"])
            self.breaks += [f"{name}.{f['name']}: added to a struct that does not "
                            "carry its size" for f in extra]

    def function(self, old, new):
        name = new["name"]
        self.same(name, signature(old), signature(new))
        self.same(f"{name}: node", old["node"], new["node"])
        self.same(f"{name}: since", old["since"], new["since"])
        self.added += [f"-{code} of {name}" for code in new["errors"]
                       if code not in old["errors"]]
        self.added += [f"{name} without -{code}" for code in old["errors"]
                       if code not in new["errors"]]


def appended_only(old, new):
    """Problems of a struct of which the first fields are not the old ones."""
    name, problems = new["name"], []
    for i, field in enumerate(old["fields"]):
        if i >= len(new["fields"]):
            problems.append(f"{name}.{field['name']} is gone")
        elif new["fields"][i] != field:
            problems.append(f"{name}.{field['name']} was {place(field)}, "
                            f"is {place(new['fields'][i])}")
    if new["size"] < old["size"]:
        problems.append(f"{name}: size was {old['size']}, is {new['size']}")
    return problems


def place(field):
    return f"{field['type']} {field['name']} at {field['offset']}"


def options_appended_only(old, new):
    """Options, statistics and the allocator keep their beginning for ever, also
    where the minor version has moved: who fills them in by offset is in no
    position to notice."""
    was, now = stable(old["structs"]), stable(new["structs"])
    return [problem for name in was if name in now and grows(was[name])
            for problem in appended_only(was[name], now[name])]


def compare(old, new):
    changes = Changes()
    for a, b in changes.sets(old["constants"], new["constants"], "constant"):
        if not is_version(a["name"]):
            changes.same(a["name"], a["value"], b["value"])
    changes.sets(old["handles"], new["handles"], "handle")
    for a, b in changes.sets(old["aliases"], new["aliases"], "type"):
        changes.same(a["name"], a["type"], b["type"])
    for a, b in changes.sets(old["callbacks"], new["callbacks"], "callback"):
        changes.same(a["name"], signature(a), signature(b))
    for a, b in changes.sets(old["structs"], new["structs"], "struct"):
        changes.struct(a, b)
    for a, b in changes.sets(old["functions"], new["functions"], "function"):
        changes.function(a, b)
    return changes
