# SPDX-License-Identifier: BSD-2-Clause
"""The report's part on services: the names of its bars, and its section."""

from bars import judge_all
from report_bindings import nanoseconds as plain
from report_wakeup import figures_of, one, us
from results import OURS

PEER, BARE = "rte_service", "no bookkeeping"
LOOPS = {
    "service_loop": "{n} empty",
    "service_ends": "first and last of 200",
    "service_unsafe": "1 serialised",
    "service_no_work": "1 without work",
    "service_store": "{n} that miss a store",
    "service_once": "run once",
    "service_once_unsafe": "run once, serialised",
}
SCENES = ("1 empty", "32 empty", "1 of 20 us", "31 others of 10 us", "core asleep")
LATE = ("libfp", "libfp, margin", "libfp, lent", "futex", "futex, slack 1 ns", "timerfd")


def name_of(bar):
    row = bar["row"]
    if row in LOOPS:
        name = LOOPS[row].format(n=bar["burst"])
        if bar["peer"] == BARE:
            return f"services, {name}: each over no bookkeeping"
        against = f", peer's {bar['peer_mode']}" if "peer_mode" in bar else ""
        return f"services, {name}, statistics {bar['mode']}{against}"
    p = f", p{100 * bar['quantile']:g}" if "quantile" in bar else ""
    if row == "service_stop":
        return f"stop of a service, {bar['mode']}{p}"
    if row == "service_idle":
        return "CPU of 4 service cores without work"
    if row == "service_first":
        return f"service runs {bar['mode']} of sleep{p}"
    return f"lateness of a deadline {bar['mode']}, {bar['who']}{p}"


def judge_service(results, bars):
    return judge_all(results, bars, name_of)


def loops(results, table):
    shapes = sorted({(list(LOOPS).index(c.row), c.burst, c.capacity)
                     for c in results.cells.values() if c.row in LOOPS and c.by_process})
    rows = []
    for index, n, created in shapes:
        row = list(LOOPS)[index]
        by = {(who, mode): one(results, row=row, burst=n, capacity=created, who=who, mode=mode)
              for who in (OURS, PEER, BARE) for mode in ("off", "sampled", "on")}

        def ns(who, mode, by=by):
            return plain(by[who, mode].median) if by[who, mode] else ""

        def times(mode, by=by):
            ours, peer = by[OURS, mode], by[PEER, mode]
            return f"{peer.median / ours.median:.2f}x" if ours and peer else ""

        rows.append((LOOPS[row].format(n=n), ns(BARE, "off"), ns(OURS, "off"),
                     ns(OURS, "sampled"), ns(OURS, "on"), ns(PEER, "off"), ns(PEER, "on"),
                     times("off"), times("on")))
    return table(("mapped", BARE, "**libfp** off", "sampled", "on", f"{PEER} off", "on",
                  "libfp is, off", "on"), rows) if rows else ""


def stops(results, table):
    rows = []
    for scene in SCENES:
        row = [scene]
        for who, what in ((OURS, "stop"), (PEER, "stop"), (OURS, "unmap"), (OURS, "start"),
                          (OURS, "map"), (PEER, "start")):
            c = one(results, row=f"service_{what}", mode=scene, who=who)
            row.append(f"{us(c, 0.5)} / {us(c, 0.99)}" if c else "")
        if any(row[1:]):
            rows.append(row)
    return table(("services", "**libfp** stop", f"{PEER} stop", "**libfp** unmap",
                  "**libfp** start", "**libfp** map", f"{PEER} start"), rows) if rows else ""


def first(results, table):
    rows = []
    for c in results.select(row="service_first"):
        rows.append((c.mode, f"**{c.who}**" if c.who == OURS else c.who,
                     us(c, 0.5), us(c, 0.9), us(c, 0.99), len(c.samples)))
    return table(("sleep", "who", "p50, us", "p90", "p99", "wakes"), rows) if rows else ""


def late(results, table):
    rows = []
    for mode in dict.fromkeys(c.mode for c in results.select(row="service_late")):
        for who in LATE:
            c = one(results, row="service_late", mode=mode, who=who)
            if c:
                early = sum(v < 0 for v in c.samples)
                rows.append((mode, f"**{who}**" if who.startswith(OURS) else who, us(c, 0.5),
                             us(c, 0.99), len(c.samples), early))
    return table(("deadline", "who", "p50, us", "p99", "deadlines", "kept too early"),
                 rows) if rows else ""


PARTS = (
    ("A loop of a core",
     "ns of CPU time that a core takes to call all that is mapped to it once. libfp counts calls, "
     "idle calls and errors in all columns; rte_service counts nothing with its statistics off. "
     "\"On\" measures the time of each service too, \"sampled\" one loop in 16. \"First and last\" "
     "is of 64 with rte_service, which has no more. \"Run once\" is a call on a thread of the "
     "application. \"No bookkeeping\" is a loop over the same functions, written by hand: what "
     "nothing can be below.", loops),
    ("Stop, unmap, start, map",
     "us, p50 / p99, while the core runs. A stop and an unmap return when the core is not inside "
     "the service's function. rte_service has no way to wait for an unmap.", stops),
    ("CPU of cores without work", "Four service cores with two services each, in rests of 1 s.",
     lambda r, t: figures_of(r, t, "service_idle")),
    ("First run after a rest",
     "From an enqueue until the service runs that its ring is bound to, on a sleeping core, beside "
     "a thread on a bare futex.", first),
    ("Deadlines",
     "How late a service runs that has announced a deadline: on a core of its own, with 60 us of "
     "margin that it spins, and on a thread that the program lends (whose slack of 50 us is "
     "left as it is).", late),
)


def section(results, table, pictures):
    """Markdown; empty if nothing of this was run. table: of report.py."""
    parts = []
    shown = {"A loop of a core": "service_loops", "Stop, unmap, start, map": "service_stop",
             "Deadlines": "service_late"}
    for title, text, make in PARTS:
        body = make(results, table)
        picture = pictures.get(shown.get(title))
        if body:
            parts.append(f"### {title}\n\n" + (f"![{title}]({picture})\n\n" if picture else "")
                         + f"{text}\n\n{body}")
    return "## Services\n\n" + "\n".join(parts) if parts else ""
