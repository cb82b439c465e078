# SPDX-License-Identifier: BSD-2-Clause
"""The pictures of the report, as SVG. libfp has the same colour in all."""

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402  (the backend comes first)
from matplotlib.patches import Patch  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullFormatter  # noqa: E402

from report_bindings import BURSTS, cell, nanoseconds, rows  # noqa: E402
from results import FLOOR, OURS, OverFloor, quantile  # noqa: E402

COLOURS = {
    OURS: "#d9480f",
    "libfp via PLT": "#ffa94d",
    "rte SP/SC": "#1864ab",
    "rte MP/MC": "#1864ab",
    "rte_mempool": "#1864ab",
    "rte_mempool native": "#4dabf7",
    "rte_service": "#1864ab",
    "rte_timer": "#1864ab",
    "libev": "#2b8a3e",
    "libuv": "#862e9c",
    "timerfd": "#868e96",
    "rte RTS": "#4dabf7",
    "rte HTS": "#a5d8ff",
    "ck spsc": "#2b8a3e",
    "ck mpmc": "#2b8a3e",
    "atomic_queue SPSC": "#868e96",
    "atomic_queue MPMC": "#868e96",
    "moodycamel": "#ced4da",
}
ORDER = list(COLOURS)

plt.rcParams.update({
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": 10,
    "legend.frameon": False,
    "svg.hashsalt": "libfp",
})


def save(fig, out, name):
    fig.savefig(out / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(fig)
    return f"{name}.svg"


def plain(value, _position=None):
    return f"{value:g}"


def log_axis(axis):
    axis.set_major_formatter(FuncFormatter(plain))
    axis.set_minor_formatter(NullFormatter())


def grouped_bars(ax, results, bursts, **where):
    """Medians with a p10-p90 whisker, a group per burst; returns what was drawn, low to high."""
    cells = results.select(capacity=1024, elem=8, **where)
    names = [n for n in ORDER if any(c.who == n for c in cells)]
    width = 0.86 / max(len(names), 1)
    drawn = []
    for i, name in enumerate(names):
        for g, burst in enumerate(bursts):
            cell = next((c for c in cells if c.who == name and c.burst == burst), None)
            if not cell:
                continue
            low, high = quantile(cell.samples, 0.1), quantile(cell.samples, 0.9)
            drawn += [low, high]
            x = g - 0.43 + width * (i + 0.5)
            ax.bar(x, cell.median, width * 0.92, color=COLOURS[name])
            ax.plot([x, x], [low, high], color="#343a40", linewidth=0.8)
            ax.annotate(f"{cell.median:.3g}", (x, high), xytext=(0, 2),
                        textcoords="offset points", ha="center", va="bottom", fontsize=6,
                        rotation=90, fontweight="bold" if name == OURS else "normal")
    ax.set_xticks(range(len(bursts)), [f"burst {b}" for b in bursts])
    ax.tick_params(axis="x", length=0)
    ax.grid(axis="y", color="#e9ecef")
    if names:
        ax.legend(handles=[Patch(color=COLOURS[n], label=n) for n in names], fontsize=7,
                  loc="upper center", bbox_to_anchor=(0.5, -0.08), ncol=4)
    return drawn


def log_bars(axes, drawn):
    """The same logarithmic scale for all axes, with room for the figures."""
    for ax in axes:
        ax.set_yscale("log")
        log_axis(ax.yaxis)
        ax.set_ylim(min(drawn) * 0.6, max(drawn) * 2.2)


KINDS = {"ST": "one thread a side (ST)", "MT": "any number a side (MT)"}


def two_threads(results, out):
    seen = [c for c in ("far", "near") if results.select(row="two_threads", cls=c)]
    if not seen:
        return None
    fig, axes = plt.subplots(len(seen), 2, figsize=(11, 4 * len(seen)), squeeze=False,
                             sharey=True)
    drawn = []
    for y, cls in enumerate(seen):
        for ax, mode in zip(axes[y], KINDS):
            ax.set_title(f"{KINDS[mode]}, cores {cls}")
            drawn += grouped_bars(ax, results, (1, 8, 32), row="two_threads", mode=mode, cls=cls)
        axes[y][0].set_ylabel("million objects a second")
    log_bars(axes.flat, drawn)
    fig.suptitle("Producer and consumer on two cores, ring of 1024 (higher is better)")
    fig.tight_layout()
    return save(fig, out, "ring-two-threads")


def one_thread(results, out):
    if not results.select(row="one_thread"):
        return None
    fig, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True)
    drawn = []
    for ax, mode in zip(axes, KINDS):
        ax.set_title(KINDS[mode])
        drawn += grouped_bars(ax, results, (1, 8, 32, 256), row="one_thread", mode=mode)
    axes[0].set_ylabel("ns an object, enqueue and dequeue")
    log_bars(axes, drawn)
    fig.suptitle("One thread enqueues n and dequeues n, ring of 1024 (lower is better)")
    fig.tight_layout()
    return save(fig, out, "ring-one-thread")


def ratios(verdicts, out, part, peer, capacity=None):
    """Each ratio bar: where libfp stands between what it must and aims at."""
    shown = [v for v in verdicts if v.value is not None and v.must is not None
             and v.bar.get("peer", OURS) != OURS and not v.bar.get("quantile")
             and not v.bar.get("unit")]
    if not shown:
        return None
    fig, ax = plt.subplots(figsize=(9, 0.26 * len(shown) + 1.4))
    for y, v in enumerate(reversed(shown)):
        met = v.value >= v.must
        ax.plot([v.low, v.high], [y, y], color=COLOURS[OURS], linewidth=2, alpha=0.4,
                solid_capstyle="round")
        ax.plot(v.value, y, "o", color=COLOURS[OURS], markerfacecolor=COLOURS[OURS] if met
                else "white", markersize=6, zorder=3)
        ax.plot(v.must, y, "|", color="#212529", markersize=12, markeredgewidth=2)
        if v.aim is not None:
            ax.plot(v.aim, y, "|", color="#adb5bd", markersize=12, markeredgewidth=2)
    ax.axvline(1, color="#868e96", linewidth=0.8, linestyle=":")
    ax.set_yticks(range(len(shown)), [v.name + (f", {capacity} {v.capacity}"
                                         if capacity and v.capacity != "-" else "")
                                      + (f", {v.cls}" if v.cls else "")
                                      for v in reversed(shown)], fontsize=7)
    ax.set_xscale("log")
    ax.set_xticks([0.5, 1, 2, 3, 4, 6, 10, 15]
                  + ([25, 40] if any(v.high > 20 for v in shown) else [])
                  + ([60, 100] if any(v.high > 50 for v in shown) else []))
    log_axis(ax.xaxis)
    ax.grid(axis="x", color="#e9ecef")
    ax.set_ylim(-0.7, len(shown) - 0.3)
    ax.set_xlabel(f"times as fast as {peer} in the same process; black: must, grey: aim; "
                  "hollow: missed")
    ax.set_title(f"libfp {part}s against their bars (median and range over processes)")
    fig.tight_layout()
    return save(fig, out, f"{part}-bars")


def burst1(results, out):
    shown = [("ST", OURS), ("MT", OURS), ("ST", "libfp via PLT"), ("MT", "libfp via PLT"),
             ("ST", "rte SP/SC"), ("MT", "rte MP/MC")]
    rows = [(m, w, OverFloor(results, m, w)) for m, w in shown]
    rows = [r for r in rows if r[2].all]
    floor = results.select(row="burst1_floor", who=FLOOR)
    if not rows or not floor:
        return None
    fig, ax = plt.subplots(figsize=(8, 0.5 * len(rows) + 1.5))
    for y, (_mode, who, over) in enumerate(reversed(rows)):
        ax.plot(over.all, [y] * len(over.all), "o", color=COLOURS[who], markerfacecolor="white")
        ax.plot(over.quiet, [y] * len(over.quiet), "o", color=COLOURS[who])
    ax.axvline(0, color="#868e96", linewidth=0.8)
    ax.set_yticks(range(len(rows)), [f"{w} ({m})" for m, w, _ in reversed(rows)])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    ax.grid(axis="x", color="#e9ecef")
    ax.set_xlabel(f"ns over two empty exported calls ({floor[0].median:.2f} ns); a dot is a "
                  "process, filled: quiet phase. rte is inlined: no calls")
    ax.set_title("One object in, one object out, on one thread (lower is better)")
    fig.tight_layout()
    return save(fig, out, "ring-burst1")


POOL_PANELS = {"pool_resident": "one thread, in its cache",
               "pool_common": "one thread, through the common pool",
               "pool_resident_2": "two threads at once, in their caches",
               "pool_common_2": "two threads at once, through the common pool"}
POOL_LINES = ((OURS, "bulk", "o-"), (OURS, "zero-copy", "o:"), ("rte_mempool", "bulk", "o-"),
              ("rte_mempool native", "bulk", "s--"))


def mempool(results, out):
    """What a call costs over the number of objects."""
    cells = [c for row in POOL_PANELS for c in results.select(row=row)]
    if not cells:
        return None
    fig, axes = plt.subplots(2, 2, figsize=(11, 7.5), sharex=True, sharey=True)
    for ax, (row, title) in zip(axes.flat, POOL_PANELS.items()):
        classes = [c for c in ("alone", "far", "near") if results.select(row=row, cls=c)]
        ax.set_title(title + (f", cores {classes[0]}" if classes and classes[0] != "alone" else ""))
        for who, mode, style in POOL_LINES:
            of = sorted((c for c in results.select(row=row, who=who, mode=mode)
                         if c.cls in classes[:1]), key=lambda c: c.burst)
            if of:
                ax.plot([c.burst for c in of], [c.median for c in of], style, markersize=4,
                        linewidth=1.4, color=COLOURS[who],
                        label=f"{who}, zero-copy" if mode == "zero-copy" else who)
            single = [c for c in results.select(row=row, who=who, mode="single", burst=1)
                      if c.cls in classes[:1]]
            if single and mode == "bulk":
                ax.plot(1, single[0].median, "D", markersize=5, color=COLOURS[who],
                        markerfacecolor="white")
        ax.grid(color="#e9ecef")
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set_xticks([1, 4, 8, 32, 128, 512])
        log_axis(ax.xaxis)
        log_axis(ax.yaxis)
    for ax in axes[1]:
        ax.set_xlabel("objects a call (hollow: the call for one object)")
    for ax in axes[:, 0]:
        ax.set_ylabel("ns a call, mean of get and put")
    axes[0][0].legend(fontsize=7)
    fig.suptitle("Object pools, thread cache of 512 (lower is better)")
    fig.tight_layout()
    return save(fig, out, "mempool-calls")


# Ours are solid lines with dots, one colour a language; what else there is, is dotted.
LANGUAGE_STYLES = {
    "C": (COLOURS[OURS], "o-"),
    "libffi": ("#862e9c", "o-"),
    "Python, NumPy": ("#1864ab", "o-"),
    "Python, bytes": ("#4dabf7", "o-"),
    "Go": ("#2b8a3e", "o-"),
    "queue.SimpleQueue": ("#1864ab", "s:"),
    "collections.deque": ("#4dabf7", "s:"),
    "multiprocessing.Queue": ("#868e96", "s:"),
    "multiprocessing.Queue of arrays": ("#ced4da", "s:"),
    "Go channel": ("#2b8a3e", "s:"),
}


def bindings(results, out):
    """What an element costs over the burst: languages, and the queues that they have."""
    shown = [(who, mode) for who, mode in rows(results)
             if who in LANGUAGE_STYLES and mode in ("ST", "-")]
    if not shown:
        return None
    fig, ax = plt.subplots(figsize=(9, 5))
    for who, mode in shown:
        colour, style = LANGUAGE_STYLES[who]
        cells = [(b, cell(results, who, mode, b)) for b in BURSTS]
        points = [(b, c.median) for b, c in cells if c]
        ax.plot(*zip(*points), style, color=colour, linewidth=1.4, markersize=4, label=who)
        ax.annotate(nanoseconds(points[-1][1]), points[-1], xytext=(6, 0), fontsize=7,
                    textcoords="offset points", va="center", color=colour)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(BURSTS)
    log_axis(ax.xaxis)
    log_axis(ax.yaxis)
    ax.grid(color="#e9ecef")
    ax.set_xlabel("elements a burst")
    ax.set_ylabel("ns an element, in and out")
    ax.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.08, 0.5))
    ax.set_title("One thread puts n elements of 8 bytes in and takes them out (lower is better)")
    fig.tight_layout()
    return save(fig, out, "ring-bindings")
