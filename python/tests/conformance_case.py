# SPDX-License-Identifier: BSD-2-Clause
"""What the drivers of all parts share: see conformance.py, which is the program."""

import dataclasses
import errno
import sys

import libfp


class Mismatch(Exception):
    """A step that did not do what the script says."""


class Case:
    """One run of a case: what it calls by names, and one method per call of the script.

    A part's class says what a handle is, how one is created, and has the other calls.
    """

    KEY, NAME = "", ""  # the key of a step for its handle; the handle without it
    HANDLE = None       # the class of handles
    WANTED = ("out", "fields")  # what a step compares besides the result
    FLAGS = {"counted": 1}      # members of statistics that are flags in C

    def __init__(self, kinds):
        self.kinds = kinds
        self.handles = {}
        self.found = {}

    def prepare(self, do, step):
        self.name = step.pop(self.KEY, self.NAME)
        return None if do in ("create", "lookup") else self.handles[self.name]

    def check(self, _, wanted, __):
        self.compare(wanted)

    def open(self):
        return [handle for handle in self.handles.values() if is_open(handle)]

    # ---- calls of all parts ----

    def do_create(self, step, _):
        self.handles[self.name] = self.create(step)
        return 0

    def do_lookup(self, step, _):
        self.handles[self.name] = self.HANDLE.lookup(step.pop("name"))
        return 0

    def do_destroy(self, _, handle):
        return handle.destroy() or 0

    def do_unref(self, _, handle):
        return handle.unref() or 0

    def do_name(self, _, handle):
        return handle.name

    def do_stats(self, _, handle):
        stats = dataclasses.asdict(handle.stats)
        stats["flags"] = sum(stats.pop(name) * bit for name, bit in self.FLAGS.items())
        self.found["fields"] = stats
        return 0

    # ---- steps ----

    @staticmethod
    def pack_one(size, elem):
        """An element of the script as bytes."""
        if isinstance(elem, int):
            return elem.to_bytes(size, sys.byteorder)
        piece = bytes.fromhex(elem)
        return (piece * (size // len(piece) + 1))[:size]

    @staticmethod
    def timeout(step):
        """How long a call may wait, in seconds; None: for ever."""
        wanted = step.pop("timeout", 0)
        return None if wanted == "forever" else wanted / 1e9

    def run(self, step):
        step = {k: v for k, v in step.items() if k not in ("why", "only")}
        do, expect = step.pop("do"), step.pop("expect")
        wanted = {k: step.pop(k) for k in self.WANTED if k in step}
        method = getattr(self, f"do_{do}", None)
        if method is None:
            raise Mismatch(f"the driver does not know {do}")
        owner = self.prepare(do, step)
        self.found = {}
        failed = None
        try:
            result = method(step, owner)
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
        elif expect == "positive" and result > 0:
            result = expect
        if result != expect:
            raise Mismatch(f"expected {expect!r}, got {result!r}")
        self.check(do, wanted, owner)

    def compare(self, wanted):
        """Whether what the step has found is what the script says."""
        for key, value in wanted.items():
            found = self.found.get(key)
            if key == "fields":
                value, found = set(value.items()), set((found or {}).items())
                if value <= found:
                    continue
            if value != found:
                raise Mismatch(f"expected {key} {value!r}, got {found!r}")


def is_open(handle):
    try:
        return handle.handle != 0
    except libfp.FpError as error:
        if error.errno != errno.EBADF:
            raise
        return False
