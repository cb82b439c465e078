# SPDX-License-Identifier: BSD-2-Clause
"""The report's part on timers: the names of its bars, and its section."""

import statistics

from bars import judge_all
from report_bindings import nanoseconds as plain
from report_wakeup import one, us
from results import OURS, quantile

PEER = "rte_timer"
PEERS = (PEER, "libev", "libuv", "timerfd")
# Rows of one thread: name, row, mode of single calls, mode of ours that takes 32.
STEPS = (("arm", "timer_arm", "call", "bulk"),
         ("re-arm, random", "timer_rearm", "call", "bulk"),
         ("re-arm, for later", "timer_later", "call", None),
         ("touch", "timer_touch", "call", "bulk"),
         ("cancel", "timer_cancel", "call", "bulk"),
         ("expire, cold", "timer_expire", "cold", None),
         ("expire, warm", "timer_expire", "warm", "poll_burst"),
         ("expire, as they come", "timer_live", "poll", None),
         ("expire and arm again", "timer_hold", "poll", None))
WAYS = (OURS, "timerfd, next", "timerfd, each")
CROWD = (1, 4, 16, 64)
POLLS = ("p50", "p99", "p99.9", "p99.99", "longest")


def name_of(bar):
    row, mode = bar["row"], bar.get("mode")
    if row == "timer_two":
        return f"timers, two threads arm, the {mode}'s time"
    if row == "timer_remote":
        return "timers, arm beside an owner that polls"
    if row == "timer_idle":
        return f"timers, idle poll, {'time given' if mode == 'now' else mode}"
    if row == "timer_memory":
        return f"timers, memory touched, {bar['who'].split(', ')[1]}"
    if row == "timer_entries":
        return f"timers, entries of a poll that fires nothing, {bar['who']}"
    if row == "timer_crowd":
        of = ", of that after 1" if "peer_capacity" in bar else ""
        return f"timers, {mode} after 64 threads have armed{of}"
    return next(f"timers, {name}" for name, r, *modes in STEPS if r == row and mode in modes)


def judge_timer(results, bars):
    return judge_all(results, bars, name_of)


def count(n):
    return f"{n // 1000000}M" if n >= 1000000 else f"{n // 1000}k"


def median(cell):
    return plain(cell.median) if cell else ""


def steps(results, table):
    rows = []
    for name, row, mode, many in STEPS:
        for n in sorted({c.capacity for c in results.select(row=row)}):
            by = {who: one(results, row=row, mode=mode, capacity=n, who=who)
                  for who in (OURS,) + PEERS}
            bulk = one(results, row=row, mode=many, capacity=n, who=OURS) if many else None
            if not by[OURS]:
                continue
            times = f"{by[PEER].median / by[OURS].median:.1f}x" if by[PEER] else ""
            rows.append([name, count(n), f"**{median(by[OURS])}**", median(bulk)]
                        + [median(by[who]) for who in PEERS] + [times])
    return table(("step", "timers", "**libfp**", "32 a call") + PEERS
                 + (f"libfp is, of {PEER}",), rows) if rows else ""


def passed(results, table):
    rows = []
    for mode, what in (("cancelled", "dropping a cancelled one"),
                       ("put off", "moving one that was put off")):
        cells = sorted(results.select(row="timer_passed", mode=mode), key=lambda c: c.capacity)
        if cells:
            rows.append([what] + [f"{count(c.capacity)}: {median(c)}" for c in cells])
    width = max((len(r) for r in rows), default=0)
    return table(["ns a timer"] + ["timers"] * (width - 1),
                 [r + [""] * (width - len(r)) for r in rows]) if rows else ""


def idle(results, table):
    rows = [(f"**{c.who}**" if c.who == OURS else c.who,
             {"now": "given", "rdtsc": "time stamp counter",
              "monotonic": "fp_timer_wheel_now()"}[c.mode], median(c),
             f"{plain(quantile(c.samples, 0.1))}-{plain(quantile(c.samples, 0.9))}")
            for c in results.select(row="timer_idle")]
    return table(("who", "time", "ns a poll", "p10-p90"), rows) if rows else ""


def crowd(results, table):
    rows = []
    for who, mode in ((OURS, "idle poll"), (PEER, "idle poll"), (OURS, "arm")):
        cells = [one(results, row="timer_crowd", who=who, mode=mode, capacity=n) for n in CROWD]
        if any(cells):
            rows.append([f"**{who}**" if who == OURS else who, mode] + [median(c) for c in cells])
    return table(("who", "ns", "1 thread") + tuple(f"{n} threads" for n in CROWD[1:]),
                 rows) if rows else ""


def pairs(results, table):
    rows = []
    for row, mode, what in (("timer_two", "owner", "both arm, the one that polled last"),
                            ("timer_two", "other", "both arm, the other one"),
                            ("timer_remote", "arm", "one arms, the other one polls")):
        for cls in ("far", "near"):
            ours, peer = (one(results, row=row, mode=mode, cls=cls, who=who)
                          for who in (OURS, PEER))
            if ours or peer:
                rows.append((what, cls, median(ours), median(peer),
                             f"{peer.median / ours.median:.1f}x" if ours and peer else "",
                             len(ours.samples) if ours else 0,
                             len(peer.samples) if peer else 0))
    drain = one(results, row="timer_drain")
    if drain:
        rows.append(("a poll, for each that the other one has armed", "-", median(drain), "", "",
                     len(drain.samples), ""))
    return table(("ns a timer", "cores", "**libfp**", PEER, "libfp is", "slices", "peer's"),
                 rows) if rows else ""


def figure(results, row, who, unit):
    values = results.figures.get((row, who, unit))
    return plain(statistics.median(values.values())) if values else ""


def polls(results, table):
    rows = []
    for row, load, unit in results.figures:
        if row == "timer_entries":
            rows.append([load, figure(results, row, load, unit)]
                        + [figure(results, "timer_poll", f"{load}, {q}", "us") for q in POLLS])
    return table(("a million timers", "most entries") + tuple(f"{q}, us" for q in POLLS),
                 rows) if rows else ""


def memory(results, table):
    rows = []
    for row, who, unit in results.figures:
        if row == "timer_memory":
            name, n = who.split(", ")
            rows.append((f"**{name}**" if name == OURS else name, count(int(n)),
                         figure(results, row, who, unit),
                         figure(results, "timer_reserved", who, unit)))
    return table(("who", "timers", "touched", "reserved"), rows) if rows else ""


def real(results, table):
    rows = []
    for who in WAYS:
        c = one(results, row="timer_real", who=who)
        if c:
            rows.append((f"**{who}**" if who == OURS else who, us(c, 0.5), us(c, 0.99),
                         us(c, 0.999), figure(results, "timer_real_cpu", who, "us"),
                         len(c.samples), sum(v < 0 for v in c.samples)))
    return table(("who", "p50, us", "p99", "p99.9", "CPU a timer, us", "timers", "too early"),
                 rows) if rows else ""


def ageing(results, table):
    rows = [(count(c.capacity), "fp_timer_touch_bulk()" if c.mode == "bulk" else
             "fp_timer_touch()", median(c)) for c in results.select(row="timer_ageing")]
    return table(("flows", "with", "ns a packet"), rows) if rows else ""


PARTS = (
    ("One thread",
     "ns for each of n timers that expire uniformly within a second, 40 s ahead; armed in the "
     "order in which they lie in memory, all else in a random one. \"Later\" and touch add a "
     "second to each. An expiry is one poll that runs n callbacks, which count: \"warm\" right "
     "after the arming, \"cold\" after the core has read 64 MiB of other memory. \"As they come\" "
     "is a thread that polls without a pause, in real time: what its polls take more than idle "
     "ones. \"32 a call\" is a bulk call, or fp_timer_wheel_poll_burst(). libev and libuv serve "
     "one thread and do not lock; libuv's time is in ms. A timerfd is a system call each.", steps),
    ("What polls do later",
     "A cancel leaves its entry in the wheel, and a re-arm for later does not move it; the poll "
     "that comes by pays for it, once, however often a timer was put off.", passed),
    ("Idle polls", f"Nothing is due. {PEER} reads the time stamp counter itself.", idle),
    ("After many threads have armed",
     "Threads that exist and have armed one timer each. The peer polls a list for each, as DPDK's "
     "event timer adapter does, since it keeps them by lcore.", crowd),
    ("Two threads, one wheel",
     "On two cores; 20,000 more timers are armed all the time. What the thread that does not poll "
     "arms waits in a lane: the last line is what the poll takes then, of which the peer has "
     "nothing.", pairs),
    ("Polls that fire nothing",
     "One poll each microsecond; of each the shortest of up to three replays, a read of the clock "
     "included. The entries are counted by the wheel.", polls),
    ("Memory",
     "Bytes for each timer, all armed, without LIBFP_MEM_PREFAULT: what the process has in memory "
     "more than before. The peers' are their structs and what holds them.", memory),
    ("Real time",
     "10,000 timers that expire at random within 2 s: a wheel's service on a core that sleeps in "
     "between; one timerfd that is set for the next of a sorted array; and a timerfd each.", real),
    ("Ageing of flows",
     "A burst of 32 packets touches 32 flows, then polls; a packet comes every 10 us and a flow "
     "expires after 60 s of silence.", ageing),
)


def section(results, table, pictures):
    """Markdown; empty if nothing of this was run. table: of report.py."""
    parts = []
    shown = {"One thread": "timer_steps", "Real time": "timer_real"}
    for title, text, make in PARTS:
        body = make(results, table)
        picture = pictures.get(shown.get(title))
        if body:
            parts.append(f"### {title}\n\n" + (f"![{title}]({picture})\n\n" if picture else "")
                         + f"{text}\n\n{body}")
    return "## Timers\n\n" + "\n".join(parts) if parts else ""
