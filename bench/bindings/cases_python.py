# SPDX-License-Identifier: BSD-2-Clause
"""Ring and timers from Python, and the queues that Python has, for the comparison of languages.

A worker of conduct.py, on the core that is its argument: it says what it can measure, then
does one slice for each line "CASE UNITS" that it reads, and answers "NS DONE SWITCHES". One
thread puts n elements in and takes n out.
"""

import collections
import gc
import json
import multiprocessing
import os
import platform
import queue
import resource
import sys
import time

import cffi

import libfp

try:
    import numpy
except ImportError:
    numpy = None

CAPACITY = 1024
BURSTS = (1, 32, 256, 1024)
TIMER_BURSTS = (256, 1024)
CPUS = os.sched_getaffinity(0)


# ---- libfp: put and take are looked up once, as anybody does who cares ----

def ring_bursts(ring, source, target):
    put, take = ring.enqueue_burst, ring.dequeue_into

    def work(turns):
        done = 0
        for _ in range(turns):
            put(source)
            done += take(target)
        return done
    return work


def ring_singles(ring):
    put, take = ring.enqueue, ring.dequeue

    def work(turns):
        for i in range(turns):
            put(i)
            take()
        return turns
    return work


def timer_bursts(burst):
    """Arms timers for the next 64 ticks in one call, and gets their records in another."""
    wheel = libfp.TimerWheel(burst, start_tick=0)
    timers = numpy.asarray(wheel.create_bulk(burst))
    expiries = numpy.arange(burst, dtype=numpy.uint64) % 64 + 1
    records = numpy.empty(burst, libfp.TimerRecord)
    step = numpy.uint64(64)
    arm, poll = wheel.arm_bulk, wheel.poll_into
    now = 0

    def work(turns):
        nonlocal now, expiries
        done = 0
        for _ in range(turns):
            arm(timers, expiries)
            now += 64
            done += poll(now, records)
            expiries += step
        return done
    return work


# ---- what Python has ----

def element_by_element(put, take, burst):
    """A queue of single objects: the same n integers in, one by one, and out again."""
    items = list(range(burst))

    def work(turns):
        for _ in range(turns):
            for item in items:
                put(item)
            for _ in items:
                take()
        return turns * burst
    return work


def deque_bursts(burst):
    d = collections.deque(maxlen=CAPACITY)
    items = list(range(burst))
    put, take = d.extend, d.popleft

    def work(turns):
        for _ in range(turns):
            put(items)
            for _ in items:
                take()
        return turns * burst
    return work


def process_queue_arrays(q, burst):
    """One pickled array a burst."""
    source = numpy.arange(burst, dtype=numpy.uint64)

    def work(turns):
        done = 0
        for _ in range(turns):
            q.put(source)
            done += len(q.get())
        return done
    return work


def cases():
    """(who, mode, burst, work) of everything that can be measured here."""
    for mode, side in (("ST", libfp.ST), ("MT", libfp.MT)):
        ring = libfp.Ring(CAPACITY, producer=side, consumer=side)
        for burst in BURSTS:
            if numpy:
                yield ("Python, NumPy", mode, burst,
                       ring_bursts(ring, numpy.arange(burst, dtype=numpy.uint64),
                                   numpy.zeros(burst, dtype=numpy.uint64)))
            yield ("Python, bytes", mode, burst,
                   ring_bursts(ring, bytes(8 * burst), bytearray(8 * burst)))
        yield "Python, single calls", mode, 1, ring_singles(ring)
    if numpy:
        for burst in TIMER_BURSTS:
            yield "Python timers", "-", burst, timer_bursts(burst)
    for burst in BURSTS:
        simple = queue.SimpleQueue()
        yield ("queue.SimpleQueue", "-", burst,
               element_by_element(simple.put, simple.get, burst))
        yield "collections.deque", "-", burst, deque_bursts(burst)
        between = multiprocessing.Queue(CAPACITY)
        yield ("multiprocessing.Queue", "-", burst,
               element_by_element(between.put, between.get, burst))
        if numpy:
            yield ("multiprocessing.Queue of arrays", "-", burst,
                   process_queue_arrays(between, burst))


def switches():
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def slice_of(who, burst, work, units):
    """Times one slice; a queue that has a thread of its own may use all cores."""
    threads = who.startswith("multiprocessing")
    os.sched_setaffinity(0, CPUS if threads else {int(sys.argv[1])})
    work(max(1, units // burst // 8))
    before = switches()
    start = time.perf_counter_ns()
    done = work(units // burst)
    ns = time.perf_counter_ns() - start
    return ns, done, 0 if threads else switches() - before


def main():
    table = list(cases())
    version = f"{platform.python_version()}, cffi {cffi.__version__}"
    version += f", NumPy {numpy.__version__}" if numpy else ", without NumPy"
    print(json.dumps({"version": version,
                      "cases": [dict(zip(("who", "mode", "burst"), c)) for c in table]}),
          flush=True)
    gc.disable()
    for line in sys.stdin:
        number, units = map(int, line.split())
        who, _, burst, work = table[number]
        print(*slice_of(who, burst, work, units), flush=True)


if __name__ == "__main__":
    main()
