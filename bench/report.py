#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes report.md, its pictures and results.jsonl from what the bench wrote.

usage: report.py [--out DIR] [--library libfp.so] RAW.jsonl...
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from results import (FLOOR, MIN_SLICES, OURS, QUIET_FLOOR_NS, QUIET_PEER, QUIET_PEER_OVER_NS,
                     OverFloor, Results, judge, quantile, ratio, write_summary)
from report_bindings import judge_bindings, section as bindings_section
from report_mempool import judge_mempool, section as mempool_section
from report_service import judge_service, section as service_section
from report_timer import judge_timer, section as timer_section
from report_wakeup import judge_wakeup, section as wakeup_section

HERE = pathlib.Path(__file__).resolve().parent


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(str(c) for c in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def number(value):
    return "-" if value is None else f"{value:.3g}"


def value_of(v):
    """A verdict's figure with its sign or factor, and its range."""
    if v.value is None:
        return "-"
    if v.bar.get("count"):
        return str(v.value)
    form = "{:.2f}x"
    if v.bar.get("over_floor"):
        form = "{:+.2f} ns"
    elif v.bar.get("ns"):
        form = "{:.2f} ns"
    elif v.bar.get("unit"):
        form = "{:.3g} " + v.bar["unit"]
    text = form.format(v.value)
    if v.low != v.high:
        text += (f" ({v.low:.3g}-{v.high:.3g})" if v.bar.get("unit")
                 else f" ({v.low:.2f}-{v.high:.2f})")
    return text


def limit(v, value):
    if value is None:
        return "-"
    if v.bar.get("ns"):
        return f"{value:g} ns"
    if v.bar.get("unit"):
        return f"{value:g} {v.bar['unit']}"
    if v.bar.get("quantile"):
        return f"at most {value:g}"
    return f"+{value:g}" if v.bar.get("over_floor") else f"{value:g}"


def bar_rows(verdicts):
    return [(v.name, v.capacity, v.cls or "-", v.ours, v.peer, v.note, value_of(v),
             limit(v, v.must), limit(v, v.aim), v.result) for v in verdicts]


BAR_HEAD = ("row", "capacity", "cores", "libfp", "peer", "against", "ratio (range)", "must",
            "aim", "result")


def print_bars(verdicts):
    """The same table for the terminal."""
    rows = [BAR_HEAD] + [tuple(map(str, r)) for r in bar_rows(verdicts)]
    widths = [max(len(r[i]) for r in rows) for i in range(len(BAR_HEAD))]
    for i, row in enumerate(rows):
        print("  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip())
        if i == 0:
            print("  ".join("-" * w for w in widths))


def case_rows(results, cells):
    rows = []
    for c in sorted(cells, key=lambda c: (c.mode != "ST", c.burst, -c.capacity, c.elem, c.cls)):
        ours = results.cell(c.row, c.mode, c.burst, c.capacity, c.elem, OURS, c.cls)
        r = ratio(ours, c) if c.who != OURS else None
        name = f"**{c.who}**" if c.who == OURS else c.who
        rows.append((c.mode, c.burst, c.capacity, c.elem, c.cls, name, number(c.median),
                     f"{number(quantile(c.samples, 0.1))}-{number(quantile(c.samples, 0.9))}",
                     len(c.samples), f"{r.value:.2f}x" if r else ""))
    return rows


CASE_HEAD = ["mode", "burst", "capacity", "bytes", "cores", "who"]


def stripped_size(library):
    strip = shutil.which("strip")
    if not library or not strip:
        return None
    with tempfile.TemporaryDirectory() as tmp:
        out = pathlib.Path(tmp) / "stripped"
        if subprocess.run([strip, "-o", out, library], check=False).returncode:
            return None
        return out.stat().st_size


def machine(results, library):
    lines = []
    if not results.runs:
        return "No run was recorded.\n"
    run = results.runs[0]
    lines.append(f"- {run['cpu']}, {run['cores']} cores allowed, threads on cores "
                 f"{run['pins'][0]} and {run['pins'][1]}; {run['compiler']}")
    lines.append(f"- libfp {run['libfp']}, AVX2 copies {'on' if run['avx2'] else 'off'}")
    size = stripped_size(library)
    if size:
        lines.append(f"- libfp.so is {size / 1024:.0f} KiB stripped")
    for name, version in results.peers.items():
        lines.append(f"- peer {name}: {version}")
    for name, reason in results.missing.items():
        lines.append(f"- **peer {name} is missing**: {reason}")
    for s in {(s["row"], s["reason"]) for s in results.skipped}:
        lines.append(f"- **row {s[0]} was not run**: {s[1]}")
    for cls in ("near", "far"):
        of = [h for h in results.handoffs if h["class"] == cls]
        n = sum(h["slices"] for h in of)
        if n:
            mean = sum(h["mean_ns"] * h["slices"] for h in of) / n
            lines.append(f"- cores {cls}: {n} slices, a cache line handed over in {mean:.0f} ns")
        elif of:
            lines.append(f"- cores {cls}: not seen")
    wrong = sorted({c.who for c in results.cells.values() if c.wrong})
    if wrong:
        lines.append(f"- **lost or invented objects: {', '.join(wrong)}**")
    return "\n".join(lines) + "\n"


def burst1_section(results):
    rows = []
    for mode in ("ST", "MT"):
        for c in results.select(row="burst1_floor", mode=mode):
            over = OverFloor(results, mode, c.who)
            quiet = f"{number(sorted(over.quiet)[len(over.quiet) // 2])}" if over.quiet else "-"
            rows.append((mode, f"**{c.who}**" if c.who == OURS else c.who, number(c.median),
                         number(sorted(over.all)[len(over.all) // 2]) if over.all else "-",
                         quiet, f"{len(over.quiet)} of {len(over.all)}"))
    floor = results.select(row="burst1_floor", who=FLOOR)
    if floor:
        rows.insert(0, ("", FLOOR, number(floor[0].median), "0", "0", ""))
    if not rows:
        return ""
    return (
        "## One object in and out, over two empty calls\n\n"
        "![One object in and out](ring-burst1.svg)\n\n"
        f"A process is quiet if the two empty calls took less than {QUIET_FLOOR_NS} ns and "
        f"{QUIET_PEER} was within {QUIET_PEER_OVER_NS} ns of them; in other phases of the host "
        "every call and every locked operation is slower, and an absolute figure says nothing.\n"
        "The peers are inlined and make no calls; libfp cannot be below 0 here.\n\n"
        + table(("mode", "who", "ns a pair", "over, all", "over, quiet", "quiet processes"),
                rows) + "\n")


def stall_section(results):
    if not results.stalls:
        return ""
    rows = []
    for who in dict.fromkeys(s["who"] for s in results.stalls):
        of = [s for s in results.stalls if s["who"] == who]
        speed = sorted(s["mobj_per_cpu_s"] for s in of)
        rows.append((f"**{who}**" if who == OURS else who, sum(s["stalls"] for s in of),
                     sum(s["calls"] for s in of), sum(s["slow_calls"] for s in of),
                     sum(s["slow_calls_alone"] for s in of),
                     f"{max(s['longest_us'] for s in of):.0f}",
                     f"{speed[len(speed) // 2]:.1f}"))
    return (
        "## A producer stops in the middle of an enqueue\n\n"
        "A victim reserves 8 slots and sleeps 1 ms before it publishes them; another producer "
        "goes on with bursts of 8 (ring of 65536).\n\n"
        + table(("who", "stalls", "calls", "calls over 200 us of CPU", "same without a victim",
                 "longest, us of CPU",
                 "Mobj a CPU second"), rows) + "\n")


def barrier_section():
    listing = HERE / "barriers-aarch64.txt"
    if not listing.exists():
        return ""
    return ("## Barriers on aarch64\n\nPer function of the ring, from the shared library "
            "(`bench/barriers --check` notices a new one).\n\n```\n"
            + listing.read_text(encoding="utf-8") + "```\n")


def build(results, verdicts, pictures, library):
    parts = ["# Benchmarks\n", machine(results, library)]
    parts.append(
        "\nEvery row is measured beside its peers in the same process, in slices of 0.3 ms that "
        "take turns. Two cores of this kind of machine are near or far from each other, which "
        "changes from minute to minute; figures are compared only within one of these classes. "
        f"A ratio is the median over processes (each with at least {MIN_SLICES} slices of both), "
        "above 1 libfp is faster; the range is over processes. "
        "[bench/README.md](../../bench/README.md) has the method.\n")
    parts.append("## Bars\n")
    if "bars" in pictures:
        parts.append(f"![The rings against their bars]({pictures['bars']})\n")
    if "service_bars" in pictures:
        parts.append(f"![The services against their bars]({pictures['service_bars']})\n")
    if "timer_bars" in pictures:
        parts.append(f"![The timers against their bars]({pictures['timer_bars']})\n")
    if "mempool_bars" in pictures:
        parts.append(f"![The pools against their bars]({pictures['mempool_bars']})\n")
    parts.append(table(BAR_HEAD, bar_rows(verdicts)))
    if "two_threads" in pictures:
        parts.append("## Two threads\n\n![Two threads](" + pictures["two_threads"] + ")\n")
        parts.append("Million objects a second; the last column: libfp's ratio to that peer.\n")
        parts.append(table(CASE_HEAD + ["M/s", "p10-p90", "slices", "libfp is"],
                           case_rows(results, results.select(row="two_threads"))))
    cells = results.select(row="one_thread") + results.select(row="elements")
    if cells:
        parts.append("## One thread\n")
        if "one_thread" in pictures:
            parts.append(f"![One thread]({pictures['one_thread']})\n")
        parts.append("Nanoseconds an object, enqueue and dequeue together.\n")
        parts.append(table(CASE_HEAD + ["ns", "p10-p90", "slices", "libfp is"],
                           case_rows(results, cells)))
    parts.append(burst1_section(results))
    parts.append(stall_section(results))
    parts.append(mempool_section(results, table, CASE_HEAD, case_rows, pictures.get("mempool")))
    parts.append(wakeup_section(results, table, pictures))
    parts.append(service_section(results, table, pictures))
    parts.append(timer_section(results, table, pictures))
    parts.append(bindings_section(results, table, pictures.get("bindings")))
    parts.append(barrier_section())
    return "\n".join(p for p in parts if p)


def draw(results, rings, pools, services, timers, out):
    try:
        import figures
        import figures_timers
        import figures_wakes
    except ImportError as e:
        print(f"report: no pictures: {e} (python3-matplotlib)", file=sys.stderr)
        return {}
    pictures = {"bars": figures.ratios(rings, out, "ring", "rte_ring", "capacity"),
                "mempool_bars": figures.ratios(pools, out, "mempool", "rte_mempool", "cache"),
                "service_bars": figures.ratios(services, out, "service", "rte_service"),
                "timer_bars": figures.ratios(timers, out, "timer", "rte_timer", "timers"),
                "mempool": figures.mempool(results, out),
                "two_threads": figures.two_threads(results, out),
                "one_thread": figures.one_thread(results, out),
                "burst1": figures.burst1(results, out),
                "wake_latency": figures_wakes.latency(results, out),
                "service_loops": figures_wakes.loops(results, out),
                "service_stop": figures_wakes.stops(results, out),
                "service_late": figures_wakes.lateness(results, out),
                "timer_steps": figures_timers.steps(results, out),
                "timer_real": figures_timers.real(results, out),
                "bindings": figures.bindings(results, out)}
    return {k: v for k, v in pictures.items() if v}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--library", help="libfp.so, for its size")
    parser.add_argument("raw", nargs="+")
    args = parser.parse_args()

    results = Results(args.raw)
    bars = json.loads((HERE / "bars.json").read_text(encoding="utf-8"))
    rings = judge(results, bars["ring"])
    pools = judge_mempool(results, bars["mempool"])
    services = judge_service(results, bars["service"])
    timers = judge_timer(results, bars["timer"])
    verdicts = rings + pools + judge_wakeup(results, bars["wakeup"]) + services + timers
    verdicts += judge_bindings(results, bars["bindings"])
    args.out.mkdir(parents=True, exist_ok=True)
    write_summary(results, verdicts, args.out / "results.jsonl")
    pictures = draw(results, rings, pools, services, timers, args.out)
    (args.out / "report.md").write_text(build(results, verdicts, pictures, args.library),
                                        encoding="utf-8")
    print_bars(verdicts)


if __name__ == "__main__":
    main()
