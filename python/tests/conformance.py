# SPDX-License-Identifier: BSD-2-Clause
"""The Python driver of the conformance scripts; tests/conformance/README.md has the format.

usage: conformance.py [--planted] SCRIPT

--planted: the last step of each case, or its end, and nothing else must be found wrong.
"""

import contextlib
import dataclasses
import errno
import json
import select
import sys
import weakref

import libfp
from conformance_case import Case, Mismatch, is_open
from conformance_timer import TimerCase


class RingCase(Case):
    """Rings, spans, and the wake-ups that rings are bound to."""

    KEY, NAME = "ring", "r"
    HANDLE = libfp.Ring
    WANTED = ("out", "after", "pieces", "fields")
    FLAGS = {"counted": 1, "blocked": 2}

    def __init__(self, kinds):
        super().__init__(kinds)
        self.spans = {}
        self.wakeups = {}

    def pack(self, ring, elems):
        """A list of the script as the bytes of elements."""
        if isinstance(elems, dict):
            elems = range(elems["first"], elems["first"] + elems["n"])
        return b"".join(self.pack_one(ring.elem_size, elem) for elem in elems)

    def prepare(self, do, step):
        self.span_name = step.pop("span", "s")
        if do.startswith("wakeup_"):
            self.wakeup_name = step.pop("wakeup", "w")
            return self.wakeups.get(self.wakeup_name)
        return super().prepare(do, step)

    def check(self, do, wanted, ring):
        if "out" in wanted:
            wanted["out"] = self.pack(ring, wanted["out"])
        if "after" in wanted:
            self.found["after"] = ring.count if "dequeue" in do else ring.free_count
        self.compare(wanted)

    # ---- life ----

    def create(self, step):
        producer, consumer = self.kinds
        return libfp.Ring(
            step.pop("capacity"), step.pop("elem_size", 8), step.pop("producer", producer),
            step.pop("consumer", consumer), step.pop("name", None), step.pop("stats", False),
            step.pop("checked", False), wait=step.pop("wait", False))

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

    # ---- waiting ----

    def do_wait_readable(self, step, ring):
        return int(ring.wait_readable(self.timeout(step)))

    def do_wait_writable(self, step, ring):
        return int(ring.wait_writable(self.timeout(step)))

    def do_dequeue_wait(self, step, ring):
        return self.take(ring, ring.dequeue_wait(step.pop("n"), step.pop("min", 1),
                                                 self.timeout(step)))

    def do_enqueue_wait(self, step, ring):
        return ring.enqueue_wait(self.pack(ring, step.pop("elems")), step.pop("min", 1),
                                 self.timeout(step))

    def do_interrupt(self, step, ring):
        return ring.interrupt(step.pop("side")) or 0

    def do_set_wakeup(self, step, ring):
        wakeup = step.pop("wakeup")
        ring.set_wakeup(step.pop("side"), wakeup and self.wakeups[wakeup])
        return 0

    def do_wakeup_create(self, *_):
        self.wakeups[self.wakeup_name] = libfp.Wakeup()
        return 0

    def do_wakeup_arm(self, _, wakeup):
        wakeup.fileno()
        return wakeup.arm() or 0

    def do_wakeup_clear(self, _, wakeup):
        return int(wakeup.clear())

    def do_wakeup_destroy(self, _, wakeup):
        return wakeup.destroy() or 0

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


class PoolCase(Case):
    """Pools and their objects. There are no single-threaded sides here, and a pool's own cache is
    for all threads."""

    KEY, NAME = "pool", "p"
    HANDLE = libfp.Pool
    WANTED = ("out", "tags", "fields")

    def __init__(self, kinds):
        super().__init__(kinds)
        self.names = {}   # of objects: their indexes
        self.blocks = {}  # those that are out, by pool and index

    def check(self, _, wanted, pool):
        out = self.found.pop("out", [])
        names = self.spread(wanted.pop("out", []))
        if len(names) != len(out):
            raise Mismatch(f"expected {len(names)} objects, got {len(out)}")
        for name, index in zip(names, out):
            if isinstance(name, str):
                name = self.names.setdefault(name, index)
            if name not in (None, index):
                raise Mismatch(f"expected object {name!r}, got {index!r}")
        if "tags" in wanted and "tags" in self.found:
            wanted["tags"] = {self.names[name]: tag for name, tag in wanted["tags"].items()}
            self.compare(wanted)
        elif "fields" in wanted:
            self.compare(wanted)

    @staticmethod
    def spread(objects):
        """A list of the script, or a range of names."""
        if isinstance(objects, list):
            return objects
        first, last = objects["from"], objects["to"]
        numbers = range(first, last + 1) if first <= last else range(first, last - 1, -1)
        return [f"{objects['name']}{number}" for number in numbers]

    def index_of(self, thing):
        return self.names[thing] if isinstance(thing, str) else thing

    def block(self, step, pool):
        return self.blocks[pool.base, self.index_of(step.pop("object"))]

    # ---- life ----

    def create(self, step):
        options = {key: step.pop(key) for key in ("name", "stats", "checked", "align", "cache_size")
                   if key in step}
        return libfp.Pool(step.pop("count"), step.pop("object_size", 64), **options)

    # ---- get and put ----

    def came_out(self, pool, blocks):
        for block in blocks:
            if self.blocks.setdefault((pool.base, block.index), block) is not block:
                raise Mismatch("an object came out that is out already")
        self.found["out"] = [block.index for block in blocks]
        return len(blocks)

    def do_get(self, _, pool):
        block = pool.get()
        return self.came_out(pool, [] if block is None else [block])

    def do_get_bulk(self, step, pool):
        return self.came_out(pool, pool.get_bulk(step.pop("n")))

    def do_put(self, step, pool):
        block = self.block(step, pool)
        pool.put(block)
        del self.blocks[pool.base, block.index]
        return 0

    def do_put_bulk(self, step, pool):
        keys = [(pool.base, self.index_of(thing)) for thing in self.spread(step.pop("objects"))]
        put = pool.put_bulk([self.blocks[key] for key in keys])
        for key in keys:
            del self.blocks[key]
        return put

    def do_reclaim(self, _, pool):
        return pool.reclaim()

    # ---- objects ----

    def address(self, step, pool):
        return pool.address_of(self.index_of(step.pop("object"))) + step.pop("offset", 0)

    def do_index(self, step, pool):
        return pool.index_of(self.address(step, pool))

    def do_contains(self, step, pool):
        return int(pool.contains(self.address(step, pool)))

    def do_write(self, step, pool):
        self.block(step, pool).view[:] = self.pack_one(pool.object_size, step.pop("bytes"))
        return 0

    def do_holds(self, step, pool):
        wanted = self.pack_one(pool.object_size, step.pop("bytes"))
        return int(bytes(self.block(step, pool).view) == wanted)

    def do_set_tag(self, step, pool):
        return pool.set_tag(self.block(step, pool).index, step.pop("tag")) or 0

    # ---- inspection ----

    def do_leaks(self, _, pool):
        leaks = pool.leaks()
        self.found["tags"] = {leak.index: leak.tag for leak in leaks}
        return len(leaks)

    def do_audit(self, _, pool):
        return pool.audit() or 0


class WakeupCase(Case):
    """Wake-ups and the keys of their waits."""

    KEY, NAME = "wakeup", "w"
    HANDLE = libfp.Wakeup
    FLAGS = {}

    def __init__(self, kinds):
        super().__init__(kinds)
        self.keys = {}

    def create(self, step):
        return libfp.Wakeup(fence=step.pop("fence", False))

    def do_is_fenced(self, _, wakeup):
        return int(wakeup.mode == "fence")

    def do_prepare(self, step, wakeup):
        self.keys[step.pop("key", "k")] = wakeup.prepare()
        return 0

    def do_cancel(self, step, wakeup):
        return wakeup.cancel(self.keys[step.pop("key", "k")]) or 0

    def do_wait(self, step, wakeup):
        """Whether it was signalled, but the time-out is an error of C."""
        if wakeup.wait(self.keys[step.pop("key", "k")], self.timeout(step)):
            return 0
        raise OSError(errno.ETIMEDOUT, "false")

    def do_signal(self, _, wakeup):
        return int(wakeup.signal())

    def do_interrupt(self, _, wakeup):
        return wakeup.interrupt() or 0

    def do_fd(self, _, wakeup):
        return wakeup.fileno() if wakeup.fileno() == wakeup.fileno() else -1

    def do_is_readable(self, _, wakeup):
        return len(select.select([wakeup], [], [], 0)[0])

    def do_arm(self, _, wakeup):
        return wakeup.arm() or 0

    def do_clear(self, _, wakeup):
        return int(wakeup.clear())


class Failed(Exception):
    """What the function of a service raises where the script has an error."""

    def __init__(self, code):
        super().__init__(code)
        self.errno = code


class Function:
    """What a service calls: does what the script says, and counts."""

    def __init__(self, returns):
        self.calls = 0
        self.returns = [-getattr(errno, value[1:]) if isinstance(value, str) else value
                        for value in returns]

    def __call__(self):
        status = self.returns[min(self.calls, len(self.returns) - 1)]
        self.calls += 1
        if status < 0 and status != -errno.EAGAIN:
            raise Failed(-status)
        return status >= 0


class ServiceCase(Case):
    """Services and cores, all on this thread. Functions are Python's, which tell whether they have
    worked, and nothing more."""

    KEY, NAME = "service", "s"
    HANDLE = libfp.Service
    WANTED = ("fields",)
    FLAGS = {"ready": 1, "started": 2, "active": 4}
    STATES = ("stopped", "running", "asleep", "stopping")

    def __init__(self, kinds):
        super().__init__(kinds)
        self.cores = {}
        self.functions = {}  # weak: a service that is freed drops its own
        self.counts = {}

    def prepare(self, do, step):
        self.name = step.pop(self.KEY, self.NAME)
        self.core_name = step.pop("core", "c")
        return self.handles.get(self.name)

    def open(self):
        return super().open() + [core for core in self.cores.values() if is_open(core)]

    @property
    def core(self):
        return self.cores[self.core_name]

    # ---- services ----

    def create(self, step):
        function = Function(step.pop("returns", [0]))
        self.counts[self.name] = vars(function)  # outlives it
        self.functions[self.name] = weakref.ref(function)
        return libfp.Service(
            function, name=step.pop("name", None), mt_safe=self.kinds[0] == "mt",
            wakeable=step.pop("wakeable", False), ready=not step.pop("not_ready", False),
            cycles=step.pop("cycles", "off"))

    def do_destroy(self, step, service):
        return 0 if service.destroy(step.pop("force", False), self.timeout(step)) else -1

    def do_calls(self, *_):
        return self.counts[self.name]["calls"]

    def do_released(self, *_):
        return int(self.functions[self.name]() is None)

    def do_start(self, _, service):
        return service.start() or 0

    def do_stop(self, step, service):
        return 0 if service.stop(self.timeout(step)) else -1

    def do_set_ready(self, step, service):
        return 0 if service.set_ready(step.pop("ready"), self.timeout(step)) else -1

    def do_map(self, _, service):
        return service.map(self.core) or 0

    def do_unmap(self, step, service):
        return 0 if service.unmap(self.core, self.timeout(step)) else -1

    def do_is_mapped(self, _, service):
        return int(service.is_mapped(self.core))

    def do_run_once(self, step, service):
        wanted = step.pop("result", None)
        try:
            got = 0 if service.run_once() else "-EAGAIN"
        except Failed as failed:
            got = f"-{errno.errorcode[failed.errno]}"
        if wanted != got and not (got == 0 and isinstance(wanted, int)):
            raise Mismatch(f"the function's result is {got!r}")
        return 0

    def do_map_stats(self, _, service):
        self.found["fields"] = dataclasses.asdict(service.map_stats(self.core))
        return 0

    def do_reset_stats(self, _, service):
        return service.reset_stats() or 0

    # ---- cores ----

    def do_core_create(self, step, _):
        self.cores[self.core_name] = libfp.ServiceCore(
            step.pop("name", None), idle=step.pop("idle", "sleep"))
        return 0

    def do_core_lookup(self, step, _):
        self.cores[self.core_name] = libfp.ServiceCore.lookup(step.pop("name"))
        return 0

    def do_core_destroy(self, *_):
        return self.core.destroy() or 0

    def do_core_unref(self, *_):
        return self.core.unref() or 0

    def do_core_name(self, *_):
        return self.core.name

    def do_core_run(self, step, _):
        """Whether it was stopped, but the time-out is an error of C."""
        with contextlib.suppress(Failed):
            if self.core.run(self.timeout(step)):
                return 0
        raise OSError(errno.ETIMEDOUT, "false")

    def do_core_stats(self, *_):
        stats = dataclasses.asdict(self.core.stats)
        self.found["fields"] = stats | {"state": self.STATES.index(stats["state"])}
        return 0

    def do_core_reset_stats(self, *_):
        return self.core.reset_stats() or 0


def look(name):
    def do(_, __, owner):
        value = getattr(owner, name)
        return int(value) if isinstance(value, bool) else value

    return do


for attribute in ("count", "free_count", "capacity", "elem_size", "is_full", "is_empty",
                  "is_closed"):
    setattr(RingCase, f"do_{attribute}", look(attribute))
for attribute in ("capacity", "object_size", "stride", "cache_size", "memory", "is_full",
                  "is_empty"):
    setattr(PoolCase, f"do_{attribute}", look(attribute))
for attribute in ("is_runnable", "is_active"):
    setattr(ServiceCase, f"do_{attribute}", look(attribute))
PoolCase.do_avail_count, PoolCase.do_in_use_count = look("available"), look("in_use")

PARTS = {"ring": RingCase, "mempool": PoolCase, "wakeup": WakeupCase,
         "service": ServiceCase, "timer": TimerCase}


def ours(thing):
    return "python" in thing.get("only", ["python"])


def run_case(part, case, kinds):
    """(steps that were right, the complaint about the next one, or the end, or None)."""
    state = part(kinds)
    name = f"{case['case']} [{'-'.join(kinds)}]"
    steps = [(n, step) for n, step in enumerate(case["steps"], 1) if ours(step)]
    for right, (number, step) in enumerate(steps):
        try:
            state.run(step)
        except Mismatch as wrong:
            return right, f"{name} step {number} {step['do']}: {wrong}"
    return len(steps), f"{name} ends, but something is open" if state.open() else None


def main(arguments):
    planted = arguments[:1] == ["--planted"]
    if len(arguments) != 1 + planted:
        sys.exit(__doc__)
    with open(arguments[-1], encoding="utf-8") as file:
        script = json.load(file)
    if script["part"] not in PARTS:
        sys.exit(f"conformance.py: no driver for {script['part']}")
    part = PARTS[script["part"]]
    steps = cases = failed = 0
    for case in filter(ours, script["cases"]):
        last = sum(map(ours, case["steps"])) - (case.get("mistake") != "end")
        for kinds in case.get("kinds", [["mt", "mt"]]):
            right, complaint = run_case(part, case, kinds)
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
