# SPDX-License-Identifier: BSD-2-Clause
"""The pictures of timers; see figures.py."""

from figures import COLOURS, log_axis, plt, save
from figures_wakes import times
from report_timer import PEERS, STEPS, WAYS, count
from report_wakeup import one
from results import OURS

SHOWN = ("arm", "re-arm, random", "re-arm, for later", "cancel", "expire, warm", "expire, cold",
         "expire, as they come", "expire and arm again")


def steps(results, out):
    """What a timer costs over how many there are, a panel for each step."""
    if not results.select(row="timer_arm"):
        return None
    fig, axes = plt.subplots(2, 4, figsize=(13, 7), sharex=True, sharey=True)
    ticks = sorted({c.capacity for c in results.select(row="timer_arm")})
    for ax, title in zip(axes.flat, SHOWN):
        _, row, mode, _ = next(s for s in STEPS if s[0] == title)
        ax.set_title(title)
        for who in (OURS,) + PEERS:
            cells = sorted(results.select(row=row, mode=mode, who=who), key=lambda c: c.capacity)
            if cells:
                ax.plot([c.capacity for c in cells], [c.median for c in cells], "o-",
                        color=COLOURS[who], linewidth=1.4, markersize=4, label=who)
        touch = sorted(results.select(row="timer_touch", mode="call"), key=lambda c: c.capacity)
        if row == "timer_later" and touch:
            ax.plot([c.capacity for c in touch], [c.median for c in touch], "o:",
                    color=COLOURS[OURS], linewidth=1.4, markersize=4, label="libfp, touch")
            ax.legend(fontsize=7)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks(ticks, [count(n) for n in ticks])
        log_axis(ax.yaxis)
        ax.grid(color="#e9ecef")
    for ax in axes[1]:
        ax.set_xlabel("timers")
    for ax in axes[:, 0]:
        ax.set_ylabel("ns a timer")
    axes[0][0].legend(fontsize=7)
    fig.suptitle("Timers that expire within a second, one thread (lower is better)")
    fig.tight_layout()
    return save(fig, out, "timer-steps")


def real(results, out):
    rows = [(who, one(results, row="timer_real", who=who),
             COLOURS[OURS] if who == OURS else COLOURS["timerfd"]) for who in WAYS]
    return times(out, rows, "timer-real",
                 "How late 10,000 timers within 2 s fire (lower is better)")
