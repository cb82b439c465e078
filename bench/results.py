# SPDX-License-Identifier: BSD-2-Clause
"""Reads what the bench programs wrote, pools it over processes, judges the bars.

A program writes JSON lines (see harness.c): one per case and class with the
values of its slices. Ratios are taken inside a process, medians of the same
class against each other; over processes the median of these ratios counts,
and their range is shown.
"""

import json
import statistics

OURS = "libfp"
FLOOR = "two empty calls"
MIN_SLICES = 20  # fewer in a process say nothing about that process

# A process counts for the rows in nanoseconds if the machine was in its fast
# phase: known from two rows that are not ours.
QUIET_FLOOR_NS = 5.1
QUIET_PEER = "rte MP/MC"
QUIET_PEER_OVER_NS = 0.6


def quantile(values, q):
    values = sorted(values)
    return values[round(q * (len(values) - 1))]


class Cell:
    """One contestant in one row and class: its slices, by process."""

    def __init__(self, line):
        self.key = cell_key(line)
        self.row, self.mode = line["row"], line["mode"]
        self.burst, self.capacity, self.elem = line["burst"], line["capacity"], line["elem"]
        self.who, self.cls, self.unit = line["who"], line["class"], line["unit"]
        self.by_process = {}
        self.switched = self.moved = self.wrong = 0

    def add(self, line):
        if line.get("samples"):
            self.by_process[line["process"]] = line["samples"]
        self.switched += line["switched"]
        self.moved += line["moved"]
        self.wrong += line["wrong"]

    @property
    def samples(self):
        return [v for values in self.by_process.values() for v in values]

    @property
    def median(self):
        return statistics.median(self.samples)


def cell_key(c):
    return (c["row"], c["mode"], c["burst"], c["capacity"], c["elem"], c["who"], c["class"])


class Results:
    def __init__(self, paths):
        self.runs, self.stalls, self.handoffs, self.skipped = [], [], [], []
        self.bindings, self.memory = [], []
        self.figures = {}  # by row, who and unit: what each process measured
        self.cells = {}
        for path in paths:
            with open(path, encoding="utf-8") as f:
                for text in f:
                    self._read(json.loads(text))

    def _read(self, line):
        kind = line["kind"]
        if kind == "run":
            self.runs.append(line)
        elif kind == "cell":
            self.cells.setdefault(cell_key(line), Cell(line)).add(line)
        elif kind == "stall":
            self.stalls.append(line)
        elif kind == "handoff":
            self.handoffs.append(line)
        elif kind == "skipped":
            self.skipped.append(line)
        elif kind == "bindings":
            self.bindings.append(line)
        elif kind == "figure":
            key = (line["row"], line["who"], line["unit"])
            self.figures.setdefault(key, {})[line["process"]] = line["value"]
        elif kind == "memory":
            line.pop("process")
            if line not in self.memory:
                self.memory.append(line)

    def cell(self, row, mode, burst, capacity, elem, who, cls):
        cell = self.cells.get((row, mode, burst, capacity, elem, who, cls))
        return cell if cell and cell.by_process else None

    def select(self, **wanted):
        return [c for c in self.cells.values()
                if c.by_process and all(getattr(c, k) == v for k, v in wanted.items())]

    @property
    def avx2(self):
        return any(r["avx2"] for r in self.runs)

    @property
    def peers(self):
        return {name: version for r in self.runs for name, version in r["peers"].items()}

    @property
    def missing(self):
        return {name: reason for r in self.runs for name, reason in r["missing"].items()}


class Ratio:
    """How much faster ours is: median, range, and over how many processes."""

    def __init__(self, value, low, high, processes):
        self.value, self.low, self.high, self.processes = value, low, high, processes


def ratio(ours, peer):
    """None if the two were not seen in the same class often enough."""
    if not ours or not peer:
        return None

    def of(a, b):
        return b / a if ours.unit == "ns" else a / b

    each = [of(statistics.median(ours.by_process[p]), statistics.median(peer.by_process[p]))
            for p in ours.by_process
            if p in peer.by_process
            and min(len(ours.by_process[p]), len(peer.by_process[p])) >= MIN_SLICES]
    if each:
        return Ratio(statistics.median(each), min(each), max(each), len(each))
    if min(len(ours.samples), len(peer.samples)) >= MIN_SLICES:
        value = of(ours.median, peer.median)  # thin, but spread over the processes
        return Ratio(value, value, value, 0)
    return None


class OverFloor:
    """Burst of one, in ns over two empty exported calls, by process."""

    def __init__(self, results, mode, who=OURS):
        def medians(row_mode, name):
            cell = results.cell("burst1_floor", row_mode, 1, 1024, 8, name, "alone")
            return {p: statistics.median(v) for p, v in cell.by_process.items()} if cell else {}

        floor, value = medians("none", FLOOR), medians(mode, who)
        peer = medians("MT", QUIET_PEER)
        self.all, self.quiet = [], []
        self.peer_known = bool(peer)
        for p in sorted(value):
            if p not in floor:
                continue
            quiet = (p in peer and floor[p] < QUIET_FLOOR_NS
                     and abs(peer[p] - floor[p]) < QUIET_PEER_OVER_NS)
            self.all.append(value[p] - floor[p])
            if quiet:
                self.quiet.append(value[p] - floor[p])


class Verdict:
    """A bar and what became of it."""

    def __init__(self, bar, capacity, name):
        self.bar, self.capacity, self.name = bar, capacity, name
        self.must, self.aim = bar.get("must"), bar.get("aim")
        self.cls = bar.get("class", "")
        self.ours = self.peer = "-"
        self.value = self.low = self.high = None
        self.note = ""
        self.result = "not seen"

    def judge(self, value, lower_is_better=False):
        def reached(limit):
            return value <= limit if lower_is_better else value >= limit

        if self.must is None:
            self.result = "no bar"
        elif self.aim is not None and reached(self.aim):
            self.result = "aim met"
        else:
            self.result = "met" if reached(self.must) else "MISSED"


def show(value, unit):
    return f"{value:.3g} {'ns' if unit == 'ns' else 'M/s'}"


def row_name(bar):
    what = {"two_threads": "two threads", "one_thread": "one thread", "elements": "one thread",
            "burst1_floor": "one thread, single calls", "stall": "stalled producer"}[bar["row"]]
    burst = f", burst {bar['burst']}" if "burst" in bar else ""
    elem = f", {bar['elem']}-byte elements" if "elem" in bar else ""
    return f"{bar['mode']} {what}{burst}{elem}"


def judge_ratio(results, bar, capacity):
    v = Verdict(bar, capacity, row_name(bar))
    cls, elem = bar.get("class", "alone"), bar.get("elem", 8)
    ours, peer = (results.cell(bar["row"], bar["mode"], bar["burst"], capacity, elem, who, cls)
                  for who in (OURS, bar["peer"]))
    v.note = bar["peer"]
    if ours:
        v.ours = show(ours.median, ours.unit)
    if peer:
        v.peer = show(peer.median, peer.unit)
    elif "rte_ring" in results.missing:
        v.result = "peer missing"
    r = ratio(ours, peer)
    if r:
        v.value, v.low, v.high = r.value, r.low, r.high
        v.judge(r.value)
        if bar.get("needs") == "avx2" and not results.avx2 and v.must is not None:
            v.result = "needs AVX2"
    elif any(s["row"] == bar["row"] for s in results.skipped):
        v.result = "needs two cores"
    elif ours and peer:
        v.result = "too few slices"
    return v


def judge_over_floor(results, bar):
    v = Verdict(bar, 1024, row_name(bar))
    over = OverFloor(results, bar["mode"])
    v.note = f"{len(over.quiet)} quiet of {len(over.all)} processes"
    if over.all:
        v.ours = f"{statistics.median(over.all):+.2f} ns (all)"
    if over.quiet:
        v.value, v.low, v.high = (statistics.median(over.quiet), min(over.quiet),
                                  max(over.quiet))
        v.judge(v.value, lower_is_better=True)
    elif over.all:
        v.result = "not measurable"
        v.note = "no quiet process" if over.peer_known else f"{QUIET_PEER} is missing"
    return v


def judge_stall(results, bar):
    v = Verdict(bar, 65536, row_name(bar) + ": calls over 200 us CPU")
    ours = [s for s in results.stalls if s["who"] == OURS]
    peer = [s for s in results.stalls if s["who"] == "rte MP/MC"]
    v.note = "rte MP/MC"
    if peer:
        v.peer = f"{sum(s['slow_calls'] for s in peer)} in {sum(s['stalls'] for s in peer)}"
    if ours:
        v.value = sum(s["slow_calls"] for s in ours)
        v.ours = f"{v.value} in {sum(s['stalls'] for s in ours)}"
        alone = sum(s["slow_calls_alone"] for s in ours)
        if alone:
            v.note += f"; {alone} without a victim"
        v.judge(v.value, lower_is_better=True)
    return v


def judge(results, bars):
    """The verdicts on a part's bars; ratios at every capacity that was run.

    Rows that are only shown come last.
    """
    verdicts = []
    for bar in sorted(bars, key=lambda bar: "must" not in bar):
        if bar.get("over_floor"):
            verdicts.append(judge_over_floor(results, bar))
        elif bar.get("count"):
            verdicts.append(judge_stall(results, bar))
        else:
            verdicts.append(judge_ratio(results, bar, 1024))
            if "elem" not in bar:
                verdicts.append(judge_ratio(results, bar, 1000))
    return verdicts


def write_summary(results, verdicts, path):
    """One JSON line per case and class, and one per bar."""
    with open(path, "w", encoding="utf-8") as f:
        machine = dict(results.runs[0]) if results.runs else {}
        machine.pop("process", None)
        machine |= {"peers": results.peers, "missing": results.missing}
        f.write(json.dumps(machine) + "\n")
        for c in results.cells.values():
            line = {"kind": "case", "row": c.row, "mode": c.mode, "burst": c.burst,
                    "capacity": c.capacity, "elem": c.elem, "who": c.who, "class": c.cls,
                    "unit": c.unit, "slices": len(c.samples), "processes": len(c.by_process),
                    "switched": c.switched, "moved": c.moved, "wrong": c.wrong}
            if c.by_process:
                line |= {"median": round(c.median, 4),
                         "p10": quantile(c.samples, 0.1), "p90": quantile(c.samples, 0.9)}
                ours = results.cell(c.row, c.mode, c.burst, c.capacity, c.elem, OURS, c.cls)
                r = ratio(ours, c) if c.who not in (OURS, FLOOR) else None
                if r:
                    line |= {"libfp_ratio": round(r.value, 3), "ratio_low": round(r.low, 3),
                             "ratio_high": round(r.high, 3)}
            f.write(json.dumps(line) + "\n")
        for s in results.stalls + results.memory:
            f.write(json.dumps(s) + "\n")
        for (row, who, unit), values in results.figures.items():
            f.write(json.dumps({"kind": "figure", "row": row, "who": who, "unit": unit,
                                "median": statistics.median(values.values()),
                                "processes": len(values)}) + "\n")
        for v in verdicts:
            f.write(json.dumps({"kind": "bar", "name": v.name, "capacity": v.capacity,
                                "class": v.cls, "value": v.value, "low": v.low, "high": v.high,
                                "must": v.must, "aim": v.aim, "result": v.result}) + "\n")
