# SPDX-License-Identifier: BSD-2-Clause
"""The pictures of wake-ups and services; see figures.py."""

from figures import COLOURS, log_axis, plt, save
from report_bindings import nanoseconds as plain
from report_service import BARE, LATE, PEER, SCENES
from report_wakeup import WAYS, one
from results import OURS, quantile

WAY_STYLES = {
    "futex": ("#212529", "-"),
    "libfp wake-up": (COLOURS[OURS], "-"),
    "libfp ring": ("#ffa94d", "-"),
    "libfp descriptor, epoll": (COLOURS[OURS], ":"),
    "eventfd": ("#1864ab", "-"),
    "eventfd, epoll": ("#1864ab", ":"),
    "condition variable": ("#2b8a3e", "-"),
    "ring, never sleeps": ("#ced4da", "-"),
}
NINES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999)
PLACES = (0, 1, 2, 3, 4, 5, 5.5, 6.5, 7, 8)


def latency(results, out):
    """Quantiles of the time from signal to running."""
    cells = [(who, one(results, row="wake_latency", mode="running", who=who)) for who in WAYS]
    cells = [(who, c) for who, c in cells if c]
    if not cells:
        return None
    fig, ax = plt.subplots(figsize=(9, 4.5))
    for who, c in cells:
        colour, style = WAY_STYLES[who]
        ax.plot(PLACES, [quantile(c.samples, q) / 1000 for q in NINES], style, color=colour,
                linewidth=1.6, label=who)
    ax.set_xticks(PLACES, [f"{100 * q:g}" for q in NINES])
    ax.set_yscale("log")
    log_axis(ax.yaxis)
    ax.grid(color="#e9ecef")
    ax.set_xlabel("percentile")
    ax.set_ylabel("us from signal to running")
    ax.legend(fontsize=7)
    ax.set_title("Waking a thread that slept for 60 us on the other core (lower is better)")
    fig.tight_layout()
    return save(fig, out, "wake-latency")


LINES = ((OURS, "off", COLOURS[OURS], "o-", "libfp, calls counted"),
         (OURS, "sampled", "#ffa94d", "o--", "libfp, time sampled"),
         (OURS, "on", COLOURS[OURS], "o:", "libfp, time measured"),
         (PEER, "off", COLOURS[PEER], "s-", "rte_service, nothing counted"),
         (PEER, "on", COLOURS[PEER], "s:", "rte_service, time measured"),
         (BARE, "off", "#212529", "d-", "no bookkeeping"))


def loops(results, out):
    """What a service costs in a loop, over how many there are."""
    fig, axes = plt.subplots(1, 2, figsize=(11, 4.2), width_ratios=(3, 1), sharey=True)
    drawn = False
    for who, mode, colour, style, label in LINES:
        cells = sorted(results.select(row="service_loop", who=who, mode=mode),
                       key=lambda c: c.burst)
        if cells:
            drawn = True
            axes[0].plot([c.burst for c in cells], [c.median / c.burst for c in cells], style,
                         color=colour, linewidth=1.4, markersize=4, label=label)
        store = one(results, row="service_store", who=who, mode=mode)
        if store:
            axes[1].bar(label, store.median / store.burst, color=colour,
                        alpha=0.5 if mode == "on" else 1)
            axes[1].annotate(f"{store.median / store.burst:.3g}",
                             (label, store.median / store.burst), ha="center", va="bottom",
                             fontsize=7)
    if not drawn:
        plt.close(fig)
        return None
    axes[0].set_xscale("log", base=2)
    axes[0].set_yscale("log")
    axes[0].set_xticks([1, 2, 3, 8, 32, 64, 200])
    log_axis(axes[0].xaxis)
    log_axis(axes[0].yaxis)
    axes[0].set_xlabel("services mapped to the core, empty")
    axes[0].set_ylabel("ns of CPU time a service and loop")
    axes[0].set_yticks([2, 3, 5, 10, 20, 30, 50])
    axes[0].set_ylim(top=axes[0].get_ylim()[1] * 2.2)
    axes[0].legend(fontsize=7, ncol=2, loc="upper left")
    axes[1].set_title("32 that miss a store")
    axes[1].tick_params(axis="x", labelrotation=90, labelsize=7)
    for ax in axes:
        ax.grid(axis="y", color="#e9ecef")
    fig.suptitle("A loop over services (lower is better)")
    fig.tight_layout()
    return save(fig, out, "service-loops")


def ranges(ax, y, c, colour):
    """p50 as a dot, the way to p99 as a line."""
    low, high = (max(quantile(c.samples, q) / 1000, 0.01) for q in (0.5, 0.99))
    ax.plot([low, high], [y, y], color=colour, linewidth=2, alpha=0.5)
    ax.plot(low, y, "o", color=colour, markersize=5)
    ax.plot(high, y, "|", color=colour, markersize=9)
    ax.annotate(f"{plain(low)} / {plain(high)}", (high, y), xytext=(6, 0),
                textcoords="offset points", va="center", fontsize=7)


def times(out, rows, name, title):
    """rows: (label, cell, colour), top to bottom."""
    rows = [r for r in rows if r[1]]
    if not rows:
        return None
    fig, ax = plt.subplots(figsize=(9, 0.28 * len(rows) + 1.4))
    for y, (_, c, colour) in enumerate(reversed(rows)):
        ranges(ax, y, c, colour)
    ax.set_yticks(range(len(rows)), [r[0] for r in reversed(rows)], fontsize=8)
    ax.set_ylim(-0.7, len(rows) - 0.3)
    ax.set_xscale("log")
    log_axis(ax.xaxis)
    ax.grid(axis="x", color="#e9ecef")
    ax.set_xlabel("us, p50 (dot) to p99")
    ax.set_title(title)
    fig.tight_layout()
    return save(fig, out, name)


def stops(results, out):
    rows = [(f"{scene}, {who}", one(results, row="service_stop", mode=scene, who=who),
             COLOURS[who]) for scene in SCENES for who in (OURS, PEER)]
    return times(out, rows, "service-stop",
                 "Stopping a service while its core runs (lower is better)")


def lateness(results, out):
    modes = dict.fromkeys(c.mode for c in results.select(row="service_late"))
    rows = [(f"{mode}, {who}", one(results, row="service_late", mode=mode, who=who),
             COLOURS[OURS] if who.startswith(OURS) else "#868e96")
            for mode in modes for who in LATE]
    return times(out, rows, "service-late",
                 "How late a deadline is kept (lower is better)")
