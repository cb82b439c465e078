# SPDX-License-Identifier: BSD-2-Clause
"""mypy --strict, over the package and over a program that uses it."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT

USER = """
import array
import numpy
import libfp

with libfp.Ring(64, producer="st", consumer=libfp.ST, name=None) as ring:
    n: int = ring.enqueue_burst(array.array("Q", [1]))
    n = ring.enqueue_burst(numpy.zeros(4, dtype="u8"))
    n = ring.dequeue_into(bytearray(8))
    n = ring.dequeue_into(numpy.zeros(4, dtype="u8"))
    view: memoryview = ring.dequeue_burst(4)
    value: int | None = ring.dequeue()
    with ring.reserve(4) as span:
        first: memoryview = span.views[0]
        k: int = span.commit(2)
    try:
        ring.enqueue("text")  # WRONG
    except libfp.RingClosed as closed:
        print(closed.errno)

with libfp.Pool(64, 16, name=None, checked=True, align=64, cache_size=8) as pool:
    block: libfp.Block | None = pool.get()
    if block is not None:
        with block:
            bytes_of: memoryview = block.view
    blocks: list[libfp.Block] = pool.get_bulk(2)
    n = pool.put_bulk(blocks)
    n = pool.get_indexes_into(numpy.zeros(4, dtype="u4"))
    n = pool.put_indexes(pool.get_indexes(4))
    objects = pool.array(numpy.dtype("u4"))
    objects[pool.adopt(1).detach()] = 7
    leak: libfp.Leak = pool.leaks()[0]
    stats: libfp.PoolStats = pool.stats
    pool.get().view  # WRONG
    try:
        pool.destroy()
    except libfp.PoolBusy as busy:
        n = busy.in_use

with libfp.Wakeup(fence=True) as wakeup, libfp.Ring(64, wait=True) as ring:
    ring.set_wakeup("consumer", wakeup)
    readable: bool = ring.wait_readable(0.5)
    n = ring.enqueue_wait(bytes(8), min=1, timeout=None)
    with wakeup.prepare() as key:
        signalled: bool = wakeup.wait(key, 0)
    wakeup.wait(1)  # WRONG

async def main() -> None:
    await ring.readable()
    async for burst in ring.bursts(32):
        first = burst[0]
    await wakeup.until(lambda: ring.count)

with libfp.Service(lambda: True, name="s") as service, libfp.ServiceCore() as core:
    service.map(core)
    stopped: bool = core.run(0)
    calls: int = service.stats.calls + service.map_stats(core).calls
    libfp.Service("text")  # WRONG

with libfp.TimerWheel(64, name=None, stats=True, tick_ns=1000, wait=True) as wheel:
    timer: int = wheel.create_timer(user=7)
    armed: bool = wheel.arm(timer, wheel.now() + wheel.ticks_from_ns(1000))
    ids: memoryview = wheel.create_bulk(numpy.arange(4, dtype="u8"))
    n = wheel.arm_bulk(ids, array.array("Q", [1] * 4), numpy.zeros(4, dtype="i4"))
    for record in wheel.poll_burst(wheel.now(), 32):
        expired: libfp.TimerRecord = record
        n = record.user + record.expiry_tick
    n = wheel.poll_into(0, numpy.empty(4, dtype=libfp.TimerRecord))
    n = wheel.poll_into(0, (libfp.TimerRecord * 4)())
    left: int | None = wheel.remaining(timer, 0)
    policy: str | None = wheel.timers()[0].policy
    wheel.arm(timer)  # WRONG
    wheel.service().map(core)
    fired: int = wheel.stats.fired

async def expiries() -> None:
    for record in await wheel.expired(32):
        print(record.user)
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def mypy(cache, directory, *args):
    return subprocess.run(
        ["mypy", "--strict", "--no-error-summary", "--python-executable", sys.executable,
         "--cache-dir", cache, *args],
        env={**os.environ, "MYPYPATH": str(ROOT / "python" / "src")}, cwd=directory,
        capture_output=True, text=True, check=False, timeout=300)


def test_package(cache, tmp_path):
    done = mypy(cache, tmp_path, ROOT / "python" / "src" / "libfp")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_program_that_uses_it(cache, tmp_path):
    """The hints accept right uses, and find the wrong ones."""
    program = tmp_path / "user.py"
    program.write_text(USER)
    done = mypy(cache, tmp_path, program)
    wrong = [number for number, line in enumerate(USER.splitlines(), 1) if line.endswith("# WRONG")]
    found = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line]
    assert found == wrong and len(wrong) == 5, done
