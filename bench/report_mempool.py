# SPDX-License-Identifier: BSD-2-Clause
"""The report's part on object pools: judges the bars, makes the section."""

import statistics

from results import MIN_SLICES, OURS, Verdict, ratio, show

PEER = "rte_mempool"
RING_ONLY = "ring only"
FLOOR = "empty calls"
CACHE, ELEM = 512, 64

# What the rows are called, and which classes they have.
NAMES = {
    "pool_resident": "pool, in the cache",
    "pool_common": "pool, common pool",
    "pool_resident_2": "pool, two threads, in the cache",
    "pool_common_2": "pool, two threads, common pool",
    "pool_pipeline": "pool, pipeline",
    "pool_cache_n": "pool, n = cache size",
    "pool_malloc": "pool, single calls, keep 128",
    "pool_malloc_1": "pool, single calls, keep 1",
}
CALLS = {"single": "single call", "bulk": "n = {}", "cache": "explicit cache, n = {}",
         "zero-copy": "zero-copy, n = {}"}


def name_of(bar):
    call = CALLS[bar["mode"]].format(bar["burst"])
    elem = f", {bar['elem']}-byte objects" if "elem" in bar else ""
    return f"{NAMES[bar['row']]}, {call}{elem}"


def floor(results):
    return results.cell("pool_floor", "single", 1, CACHE, ELEM, FLOOR, "alone")


def judge_ns(results, v, ours):
    """A bar in ns a call: over the processes, beside what a call costs at all."""
    empty = floor(results)
    v.note = f"an empty call: {show(empty.median, 'ns')}" if empty else "ns a call"
    medians = [statistics.median(s) for s in ours.by_process.values() if len(s) >= MIN_SLICES]
    if medians:
        v.value, v.low, v.high = statistics.median(medians), min(medians), max(medians)
        v.judge(v.value, lower_is_better=True)


def judge_one(results, bar):
    cache, elem = bar.get("cache", CACHE), bar.get("elem", ELEM)
    v = Verdict(bar, cache, name_of(bar))

    def cell(who):
        return results.cell(bar["row"], bar["mode"], bar["burst"], cache, elem, who,
                            bar.get("class", "alone"))

    ours = cell(OURS)
    if ours:
        v.ours = show(ours.median, "ns")
        v.result = "too few slices"
    if bar.get("ns"):
        if ours:
            judge_ns(results, v, ours)
        return v
    v.note = bar["peer"]
    peer = cell(bar["peer"])
    if peer:
        v.peer = show(peer.median, "ns")
    elif bar["peer"] in results.missing:
        v.result = "peer missing"
    r = ratio(ours, peer)
    if r:
        v.value, v.low, v.high = r.value, r.low, r.high
        v.judge(r.value)
    elif any(s["row"] == bar["row"] for s in results.skipped):
        v.result = "needs two cores"
    return v


def judge_mempool(results, bars):
    """The verdicts; bars that are only shown come last."""
    return [judge_one(results, bar) for bar in sorted(bars, key=lambda bar: "must" not in bar)]


def memory_rows(results):
    return [(f"**{m['who']}**" if m["who"] == OURS else m["who"], m["count"], m["elem"],
             f"{m['per_object']:.0f}", f"{m['in_all']:.1f}") for m in results.memory]


def section(results, table, case_head, case_rows, picture):
    """table, case_head, case_rows: of report.py."""
    parts = []

    def rows(title, text, name):
        cells = results.select(row=name)
        if cells:
            unit = "ns an object" if name == "pool_pipeline" else "ns a call"
            head = [{"capacity": "cache"}.get(h, h) for h in case_head]
            parts.append(f"### {title}\n\n{text}\n\n"
                         + table(head + [unit, "p10-p90", "slices", "libfp is"],
                                 case_rows(results, cells)))

    empty = floor(results)
    rows("In the thread's cache",
         "One thread gets 128 objects (or n, if that is more), n a call, and puts them back: the "
         "mean of gets and puts. \"zero-copy\" is a reserve or a commit, so a get is two of "
         "them. "
         + (f"An exported call that does nothing takes {show(empty.median, 'ns')} in this loop; "
            "rte_mempool is inlined and makes none." if empty else ""), "pool_resident")
    rows("Through the common pool", "The same with 2048 objects, more than a cache has.",
         "pool_common")
    rows("Two threads at once, in their caches",
         "Both on the same pool; the time is that of one of them.", "pool_resident_2")
    rows("Two threads at once, through the common pool",
         "The same with 2048 objects each.", "pool_common_2")
    rows("Pipeline", "One thread gets n and sends them through a `fp_ring` of 1024 to another "
         "one, which puts them; the same ring for all.", "pool_pipeline")
    rows("Cache as large as the burst", "One thread gets n and puts n.", "pool_cache_n")
    rows("Beside malloc, 128 objects held", "Single calls; an allocator's are malloc and free.",
         "pool_malloc")
    rows("Beside malloc, one object held", "Each object is put before the next get.",
         "pool_malloc_1")
    if results.memory:
        parts.append(
            "### Memory\n\nBytes beyond the objects' own, with one thread's cache: what each "
            "object more costs, and all of it divided by the objects. rte_mempool is created with "
            "a cache for each possible core, libfp makes one when a thread comes.\n\n"
            + table(("who", "objects", "bytes", "each object", "in all"), memory_rows(results)))
    if not parts:
        return ""
    shown = f"![Pools]({picture})\n\n" if picture else ""
    return "## Object pools\n\n" + shown + "\n".join(parts)
