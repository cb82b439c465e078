# SPDX-License-Identifier: BSD-2-Clause
"""The report's part on wake-ups: the names of its bars, and its section."""

import statistics

from bars import judge_all
from report_bindings import nanoseconds as plain
from results import quantile, ratio

UNBOUND = "nothing bound"
WAYS = ("futex", "libfp wake-up", "libfp ring", "eventfd", "condition variable",
        "libfp descriptor, epoll", "eventfd, epoll", "ring, never sleeps")
MODES = ("membarrier", "fence", "poll")


def name_of(bar):
    who = bar["who"]
    if bar["row"] == "wake_two_threads":
        return f"{bar['mode']} two threads, burst {bar['burst']}, {who}, nobody asleep"
    if bar["row"] == "wake_latency":
        return f"signal to running, {who}, p{100 * bar['quantile']:g}"
    if bar["row"] == "wake_fd":
        return "objects to a consumer in epoll, armed descriptor"
    if bar["row"] == "wake_gaps":
        return f"consumer, objects at random 10 us apart, {who}"
    return "CPU of 1,000 blocked waiters"


def judge_wakeup(results, bars):
    return judge_all(results, bars, name_of)


def us(c, q):
    return plain(quantile(c.samples, q) / 1000)


def one(results, **wanted):
    cells = results.select(**wanted)
    return cells[0] if cells else None


def nobody_asleep(results, table, row):
    cells = results.select(row=row)
    if not cells:
        return ""
    unit = cells[0].unit
    rows = []
    for c in sorted(cells, key=lambda c: (c.mode != "ST", c.burst, c.cls)):
        peer = results.cell(row, c.mode, c.burst, c.capacity, c.elem, UNBOUND, c.cls)
        r = ratio(c, peer) if c.who != UNBOUND else None
        rows.append((c.mode, c.burst, c.cls, c.who, f"{c.median:.3g}",
                     f"{quantile(c.samples, 0.1):.3g}-{quantile(c.samples, 0.9):.3g}",
                     len(c.samples),
                     f"{r.value:.3f} ({r.low:.2f}-{r.high:.2f})" if r else ""))
    return table(("mode", "burst", "cores", "consumer's side", unit, "p10-p90", "slices",
                  "of nothing bound"), rows)


def latency(results, table):
    rows = []
    futex = one(results, row="wake_latency", mode="running", who="futex")
    for who in WAYS:
        c = one(results, row="wake_latency", mode="running", who=who)
        call = one(results, row="wake_latency", mode="call", who=who)
        if not c or not call or not futex:
            continue
        of = [f"{quantile(c.samples, q) / quantile(futex.samples, q):.2f}" for q in (0.5, 0.99)]
        rows.append([f"**{who}**" if who.startswith("libfp") else who]
                    + [us(c, q) for q in (0.5, 0.99, 0.999)] + of
                    + [us(call, 0.5), us(call, 0.99), len(c.samples)])
    return table(("who", "p50, us", "p99", "p99.9", "p50 of a futex's", "p99",
                  "signaller's call, p50", "p99", "signals"), rows) if rows else ""


def barriers(results, table):
    rows = []
    for c in results.select(row="wake_barrier"):
        rows.append((c.mode, c.who, us(c, 0.5), us(c, 0.99)))
    return table(("other core", "mode", "p50, us", "p99"), rows) if rows else ""


def victims(results, table):
    rows = []
    for c in results.select(row="wake_victim"):
        if c.who not in MODES:
            continue
        alone = one(results, row="wake_victim", mode=c.mode, who=f"{c.who}, nobody")
        if alone:
            rows.append((c.who, c.mode, f"{alone.median:.3g}", f"{c.median:.3g}",
                         f"{100 * (1 - c.median / alone.median):.1f} %"))
    return table(("mode", "the other core prepares", "alone, M/s", "beside it", "lost"),
                 rows) if rows else ""


def figures_of(results, table, row):
    rows = [(who, f"{plain(statistics.median(v.values()))} {unit}",
             f"{plain(min(v.values()))}-{plain(max(v.values()))}")
            for (name, who, unit), v in results.figures.items() if name == row]
    return table(("who", "median", "range"), rows) if rows else ""


PARTS = (
    ("Nobody asleep, two cores",
     "A producer and a consumer that polls, ring of 1024. The consumer's side has nothing bound to "
     "it, a wake-up, or both sides have their own (LIBFP_RING_WAIT). \"fence\" is for those who "
     "want no membarrier.",
     lambda r, t: nobody_asleep(r, t, "wake_two_threads")),
    ("Nobody asleep, one thread", "The same on one thread, which hides most of a fence.",
     lambda r, t: nobody_asleep(r, t, "wake_one_thread")),
    ("Signal to running",
     "From the beginning of a signal until the thread that slept for 60 us on the other core runs; "
     "signals of all kinds in turn. Most of it is the interrupt to a halted core.", latency),
    ("A consumer in epoll",
     "Million objects a second through a ring to a consumer that sleeps in epoll: its wake-up's "
     "descriptor is written once per arm, an eventfd is written for each object.",
     lambda r, t: nobody_asleep(r, t, "wake_fd")),
    ("Cost of a prepare and a cancel",
     "The membarrier is in them; what it costs depends on what the other core does.", barriers),
    ("What it costs the others",
     "One core moves objects through a ring with a wake-up of the mode, the other one prepares and "
     "cancels on another wake-up of the same mode.", victims),
    ("Membarriers while objects come",
     "Objects come at random, 10 us apart in the mean. The waiting call spins, naps, and then "
     "sleeps with a membarrier; \"prepare each time\" announces itself whenever the ring is empty.",
     lambda r, t: figures_of(r, t, "wake_gaps")),
    ("1,000 blocked waiters",
     "CPU of one core that 1,000 threads use which wait for a ring; \"poll\" is a system without "
     "membarrier, where a sleep ends after 10 ms.",
     lambda r, t: figures_of(r, t, "wake_idle")),
)


def section(results, table, pictures):
    """Markdown; empty if nothing of this was run. table: of report.py."""
    parts = []
    for title, text, make in PARTS:
        body = make(results, table)
        if body:
            parts.append(f"### {title}\n\n{text}\n\n{body}")
    if not parts:
        return ""
    shown = f"![Signal to running]({pictures['wake_latency']})\n\n" \
        if "wake_latency" in pictures else ""
    return "## Wake-ups\n\n" + shown + "\n".join(parts)
