# SPDX-License-Identifier: BSD-2-Clause
"""The Python driver of the conformance script; tests/conformance/README.md has the format.

usage: conformance.py [--planted] SCRIPT

--planted: the last step of each case, and no other, must be found wrong.
"""

import dataclasses
import errno
import json
import sys

import libfp


class Mismatch(Exception):
    """A step that did not do what the script says."""


class Case:
    """One run of a case: its rings and spans, and one method per call of the script."""

    def __init__(self, kinds):
        self.producer, self.consumer = kinds
        self.rings = {}
        self.spans = {}

    # ---- elements ----

    def pack(self, ring, elems):
        """A list of the script as the bytes of elements."""
        if isinstance(elems, dict):
            elems = range(elems["first"], elems["first"] + elems["n"])
        return b"".join(self.pack_one(ring.elem_size, elem) for elem in elems)

    @staticmethod
    def pack_one(size, elem):
        if isinstance(elem, int):
            return elem.to_bytes(size, sys.byteorder)
        piece = bytes.fromhex(elem)
        return (piece * (size // len(piece) + 1))[:size]

    # ---- steps ----

    def run(self, step):
        step = {k: v for k, v in step.items() if k not in ("why", "only")}
        do, expect = step.pop("do"), step.pop("expect")
        wanted = {k: step.pop(k) for k in ("out", "after", "pieces", "fields") if k in step}
        method = getattr(self, f"do_{do}", None)
        if method is None:
            raise Mismatch(f"the driver does not know {do}")
        self.ring_name = step.pop("ring", "r")
        self.span_name = step.pop("span", "s")
        ring = None if do in ("create", "lookup") else self.rings[self.ring_name]
        self.found = {}
        failed = None
        try:
            result = method(step, ring)
        except OSError as error:
            failed = error.errno
        except (ValueError, OverflowError):
            failed = errno.EINVAL
        if step:
            raise Mismatch(f"the driver does not know {', '.join(step)}")
        if failed:
            # Two names may have one number.
            names = [f"-{n}" for n in dir(errno) if getattr(errno, n) == failed]
            result = expect if expect in names else names
        if result != expect:
            raise Mismatch(f"expected {expect!r}, got {result!r}")
        if "out" in wanted:
            wanted["out"] = self.pack(ring, wanted["out"])
        if "after" in wanted:
            self.found["after"] = ring.count if "dequeue" in do else ring.free_count
        for key, value in wanted.items():
            found = self.found.get(key)
            if key == "fields":
                value, found = set(value.items()), set((found or {}).items())
                if value <= found:
                    continue
            if value != found:
                raise Mismatch(f"expected {key} {value!r}, got {found!r}")

    # ---- life ----

    def do_create(self, step, _):
        self.rings[self.ring_name] = libfp.Ring(
            step.pop("capacity"), step.pop("elem_size", 8), step.pop("producer", self.producer),
            step.pop("consumer", self.consumer), step.pop("name", None), step.pop("stats", False),
            step.pop("checked", False))
        return 0

    def do_lookup(self, step, _):
        self.rings[self.ring_name] = libfp.Ring.lookup(step.pop("name"))
        return 0

    def do_destroy(self, _, ring):
        return ring.destroy() or 0

    def do_unref(self, _, ring):
        return ring.unref() or 0

    def do_close(self, _, ring):
        return ring.close() or 0

    def do_reset(self, _, ring):
        return ring.reset() or 0

    # ---- elements in and out ----

    def do_enqueue_burst(self, step, ring):
        return ring.enqueue_burst(self.pack(ring, step.pop("elems")))

    def do_enqueue_bulk(self, step, ring):
        return ring.enqueue_bulk(self.pack(ring, step.pop("elems")))

    def do_enqueue(self, step, ring):
        return ring.enqueue_burst(self.pack(ring, [step.pop("elem")]))

    def do_enqueue_u64(self, step, ring):
        return int(ring.enqueue(int.from_bytes(self.pack_one(8, step.pop("elem")), sys.byteorder)))

    def take(self, ring, view):
        self.found["out"] = view.tobytes()
        return view.nbytes // ring.elem_size

    def do_dequeue_burst(self, step, ring):
        return self.take(ring, ring.dequeue_burst(step.pop("n")))

    def do_dequeue_bulk(self, step, ring):
        return self.take(ring, ring.dequeue_bulk(step.pop("n")))

    def do_peek(self, step, ring):
        return self.take(ring, ring.peek(step.pop("n")))

    def do_dequeue(self, _, ring):
        room = bytearray(ring.elem_size)
        got = ring.dequeue_into(room)
        self.found["out"] = bytes(room[:got * ring.elem_size])
        return got

    def do_dequeue_u64(self, _, ring):
        value = ring.dequeue()
        self.found["out"] = b"" if value is None else value.to_bytes(8, sys.byteorder)
        return int(value is not None)

    # ---- spans ----

    def reserve(self, step, ring, call):
        span = call(step.pop("n"), bulk=step.pop("bulk", False))
        if len(span):
            self.spans[self.span_name] = span
        sizes = [view.nbytes // ring.elem_size for view in span.views]
        self.found["pieces"] = (sizes + [0, 0])[:2]
        self.found["out"] = b"".join(view.tobytes() for view in span.views)
        return len(span)

    def do_reserve_enqueue(self, step, ring):
        return self.reserve(step, ring, ring.reserve)

    def do_reserve_dequeue(self, step, ring):
        return self.reserve(step, ring, ring.reserve_dequeue)

    def do_commit_enqueue(self, step, ring):
        span, k = self.spans[self.span_name], step.pop("k")
        data = self.pack(ring, step.pop("elems", []))
        for view in span.views if data else ():
            piece, data = data[:view.nbytes], data[view.nbytes:]
            with view.cast("B") as raw:
                raw[:len(piece)] = piece
        return span.commit(k)

    def do_commit_dequeue(self, step, _):
        return self.spans[self.span_name].commit(step.pop("k"))

    # ---- inspection ----

    def do_producer_sync(self, _, ring):
        return ring.producer

    def do_consumer_sync(self, _, ring):
        return ring.consumer

    def do_stats(self, _, ring):
        stats = dataclasses.asdict(ring.stats)
        stats["flags"] = stats.pop("counted") * 1 + stats.pop("blocked") * 2
        self.found["fields"] = stats
        return 0


def look(name):
    def do(_, __, ring):
        value = getattr(ring, name)
        return int(value) if isinstance(value, bool) else value

    return do


for attribute in ("count", "free_count", "capacity", "elem_size", "is_full", "is_empty",
                  "is_closed", "name"):
    setattr(Case, f"do_{attribute}", look(attribute))


def is_open(ring):
    try:
        return ring.handle != 0
    except libfp.RingDestroyed:
        return False


def ours(thing):
    return "python" in thing.get("only", ["python"])


def run_case(case, kinds):
    """(steps that were right, the complaint about the next one or None)."""
    state = Case(kinds)
    steps = [(n, step) for n, step in enumerate(case["steps"], 1) if ours(step)]
    for right, (number, step) in enumerate(steps):
        try:
            state.run(step)
            if right + 1 == len(steps) and any(map(is_open, state.rings.values())):
                raise Mismatch("a ring is still open")
        except Mismatch as wrong:
            return right, f"{case['case']} [{'-'.join(kinds)}] step {number} {step['do']}: {wrong}"
    return len(steps), None


def main(arguments):
    planted = arguments[:1] == ["--planted"]
    if len(arguments) != 1 + planted:
        sys.exit(__doc__)
    with open(arguments[-1], encoding="utf-8") as file:
        script = json.load(file)
    if script["part"] != "ring":
        sys.exit(f"conformance.py: not for rings, but for {script['part']}")
    steps = cases = failed = 0
    for case in filter(ours, script["cases"]):
        last = sum(map(ours, case["steps"])) - 1
        for kinds in case.get("kinds", [["mt", "mt"]]):
            right, complaint = run_case(case, kinds)
            if planted:
                good = complaint is not None and right == last
                complaint = f"{case['case']}: the planted mistake was not found"
            else:
                good = complaint is None
            cases += good
            steps += right
            if not good:
                failed += 1
                print(complaint)
    print(f"{steps} steps of {cases} cases passed")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
