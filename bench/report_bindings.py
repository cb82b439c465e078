# SPDX-License-Identifier: BSD-2-Clause
"""The report's part on other languages: judges the bars, makes the section."""

import statistics

from results import MIN_SLICES, Verdict, ratio, show

ROW, CAPACITY, ELEM = "bindings", 1024, 8
BURSTS = (1, 32, 256, 1024)

# Rows of the table and lines of the picture, with the modes that they have.
RING = ("ST", "MT")
WHO = (("C", RING), ("C, single calls", RING), ("libffi", RING), ("libffi, single calls", RING),
       ("Python, NumPy", RING), ("Python, bytes", RING), ("Python, single calls", RING),
       ("Python timers", ("-",)),
       ("queue.SimpleQueue", ("-",)), ("collections.deque", ("-",)),
       ("multiprocessing.Queue", ("-",)), ("multiprocessing.Queue of arrays", ("-",)))
GO = (("{}", RING), ("{}, single calls", RING), ("{} channel", ("-",)), ("{} timers", ("-",)))


def languages(results):
    """What took part, with versions, and what did not, with reasons."""
    present, missing = {}, {}
    for run in results.bindings:
        present |= run["languages"]
        missing |= run["missing"]
    return present, missing


def cell(results, who, mode, burst):
    return results.cell(ROW, mode, burst, CAPACITY, ELEM, who, "alone")


def rows(results):
    """(who, mode) of everything that was measured, in the order of the report."""
    goes = [name for name in languages(results)[0] if name.startswith("Go")]
    table = list(WHO) + [(who.format(go), modes) for go in goes for who, modes in GO]
    return [(who, mode) for who, modes in table for mode in modes
            if any(cell(results, who, mode, burst) for burst in BURSTS)]


def per_process(c):
    """The medians of the processes that have enough slices."""
    return [statistics.median(v) for v in c.by_process.values() if len(v) >= MIN_SLICES]


def judge_one(results, bar, who, peer):
    v = Verdict(bar, CAPACITY, f"{bar['mode']} {who}, burst {bar['burst']}")
    ours = cell(results, who, bar["mode"], bar["burst"])
    if ours:
        v.ours = show(ours.median, "ns")
        v.result = "too few slices"
    if not peer:
        v.note = "one in and out"
        medians = per_process(ours) if ours else []
        if medians:
            v.value, v.low, v.high = statistics.median(medians), min(medians), max(medians)
            v.judge(v.value, lower_is_better=True)
        return v
    v.note = peer
    theirs = cell(results, peer, "-", bar["burst"])
    if theirs:
        v.peer = show(theirs.median, "ns")
    r = ratio(ours, theirs)
    if r:
        v.value, v.low, v.high = r.value, r.low, r.high
        v.judge(r.value)
    return v


def judge_bindings(results, bars):
    """The verdicts; a bar of Go is judged with every Go that was there."""
    present, missing = languages(results)
    verdicts = []
    for bar in bars if results.bindings else []:
        language = bar["who"].split(",")[0]
        names = [n for n in present if n == language or n.startswith(language + " ")]
        for name in names or [language]:
            v = judge_one(results, bar, bar["who"].replace(language, name, 1),
                          bar.get("peer", "").replace(language, name, 1))
            if v.value is None and language in missing:
                v.result = f"{language} is missing"
            verdicts.append(v)
    return verdicts


def nanoseconds(value):
    """Three digits, and no exponents."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def ffi_call_cost(results):
    """A sentence on one call of libffi; empty if it was not measured."""
    pairs = [(mode, cell(results, "libffi, single calls", mode, 1),
              cell(results, "C, single calls", mode, 1)) for mode in RING]
    costs = [f"{nanoseconds(ffi.median / 2)} ns instead of {nanoseconds(c.median / 2)} ({mode})"
             for mode, ffi, c in pairs if ffi and c]
    if not costs:
        return ""
    return ("A call of `fp_ring_enqueue_u64` or `fp_ring_dequeue_u64` through libffi, interface "
            f"prepared, takes {', '.join(costs)}: half of the single calls.\n")


def section(results, table, picture):
    """Markdown; empty if nothing of this was run."""
    if not results.bindings:
        return ""
    present, missing = languages(results)
    lines = ["## Other languages\n"]
    lines += [f"- {name}: {version}" for name, version in present.items()]
    lines += [f"- **{name} is missing**: {reason}" for name, reason in missing.items()]
    lines.append("")
    if picture:
        lines.append(f"![Languages]({picture})\n")
    lines.append("Nanoseconds an element of 8 bytes, in and out again, on one thread: one call "
                 "puts n into a ring of 1024, one takes them out (queues and channels: n calls "
                 "each). Of timers: to arm one and get its record, with one call each for n. "
                 "The workers of the languages take turns on one core.\n")
    lines.append(ffi_call_cost(results))
    body = []
    for who, mode in rows(results):
        cells = [cell(results, who, mode, burst) for burst in BURSTS]
        body.append([who, mode] + [nanoseconds(c.median) if c else "" for c in cells])
    return "\n".join(lines) + "\n" + table(
        ["who", "mode"] + [f"burst {b}" for b in BURSTS], body) + "\n"
