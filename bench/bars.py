# SPDX-License-Identifier: BSD-2-Clause
"""Judges bars of the kinds that wake-ups, services and timers have.

A bar names a row, its mode, burst and capacity, who is judged and, beside that, a peer:

- plain: how many times as fast as the peer, median against median
- "quantile": that quantile of the times, of the peer's; lower is better
- "quantile" and "unit": that quantile in us; lower is better
- "unit": "ns": how many ns more than the peer's a service takes, of `burst` services
- "ns": the median itself, in ns; lower is better
- "figure": what a process measured once, in its unit; lower is better

"peer_mode" and "peer_capacity" are the peer's if they differ; with them a row can be its
own peer. "least" is how many values of each say something about a process, if that is not
MIN_SLICES: of things that take long there are few.
"""

import statistics

from report_bindings import nanoseconds as plain
from results import MIN_SLICES, OURS, Ratio, Verdict, quantile, ratio, show

FEW = 4  # of times that take a second each, a process has no more


def cell(results, bar, who):
    return results.cell(bar["row"], bar.get("mode", ""), bar.get("burst", 0),
                        bar.get("capacity", 0), bar.get("elem", 0), who,
                        bar.get("class", "alone"))


def over_processes(ours, peer, of, least=MIN_SLICES):
    """of(ours, theirs) in each process that has enough of both; None if none has."""
    each = []
    for process, values in ours.by_process.items():
        other = peer.by_process.get(process) if peer else values
        if other and min(len(values), len(other)) >= least:
            each.append(of(values, other))
    if each:
        return Ratio(statistics.median(each), min(each), max(each), len(each))
    other = peer.samples if peer else ours.samples
    if min(len(ours.samples), len(other)) >= FEW:
        value = of(ours.samples, other)  # thin, but spread over the processes
        return Ratio(value, value, value, 0)
    return None


def compare(bar, ours, peer):
    """The Ratio that the bar is about, and whether lower is better."""
    q = bar.get("quantile")
    if bar.get("ns"):
        return over_processes(ours, None, lambda a, _: statistics.median(a)), True
    if q and bar.get("unit"):
        return over_processes(ours, None, lambda a, _: quantile(a, q) / 1000), True
    if not peer:
        return None, True
    if q:
        return over_processes(ours, peer, lambda a, b: quantile(a, q) / quantile(b, q)), True
    if bar.get("unit"):
        n = bar["burst"]
        return over_processes(
            ours, peer, lambda a, b: (statistics.median(a) - statistics.median(b)) / n), True
    if "least" in bar:
        return over_processes(
            ours, peer, lambda a, b: statistics.median(b) / statistics.median(a),
            bar["least"]), False
    return ratio(ours, peer), False


def text(c, bar):
    if bar.get("quantile"):
        return f"{plain(quantile(c.samples, bar['quantile']) / 1000)} us"
    return show(c.median, c.unit)


def judge_figure(results, v):
    values = results.figures.get((v.bar["row"], v.bar["who"], v.bar["unit"]))
    if values:
        v.value = statistics.median(values.values())
        v.low, v.high = min(values.values()), max(values.values())
        v.ours = f"{v.value:.3g} {v.bar['unit']}"
        v.judge(v.value, lower_is_better=True)


def judge_one(results, bar, name):
    v = Verdict(bar, bar.get("capacity") or "-", name)
    peer = None
    if bar.get("figure"):
        judge_figure(results, v)
    else:
        ours = cell(results, bar, bar.get("who", OURS))
        if "peer" in bar:
            v.note = bar["peer"]
            theirs = {key: bar[f"peer_{key}"] for key in ("mode", "capacity")
                      if f"peer_{key}" in bar}
            peer = cell(results, bar | theirs, bar["peer"])
        if peer:
            v.peer = text(peer, bar)
        elif v.note in results.missing:
            v.result = "peer missing"
        if ours:
            v.ours = text(ours, bar)
            r, lower = compare(bar, ours, peer)
            if r:
                v.value, v.low, v.high = r.value, r.low, r.high
                v.judge(r.value, lower_is_better=lower)
            elif peer:
                v.result = "too few slices"
    if v.value is None and any(s["row"] == bar["row"] for s in results.skipped):
        v.result = "needs two cores"
    return v


def judge_all(results, bars, name_of):
    """The verdicts; bars that are only shown come last."""
    return [judge_one(results, bar, name_of(bar))
            for bar in sorted(bars, key=lambda bar: "must" not in bar)]
