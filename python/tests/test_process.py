# SPDX-License-Identifier: BSD-2-Clause
"""Interpreter exit, fork, and `python -m libfp`: each in a process of its own."""

import os
import subprocess
import sys

import libfp
import pytest

EXITS = {
    "ring": "ring = libfp.Ring(64)",
    "named ring and a reference": "ring = libfp.Ring(64, name='x'); same = libfp.Ring.lookup('x')",
    "reference alone": "ring = libfp.Ring(64, name='x'); same = libfp.Ring.lookup('x'); del ring",
    "span": "ring = libfp.Ring(64); span = ring.reserve(5)",
    "span and its views": "span = libfp.Ring(64).reserve(5); views = span.views",
    "slice": "view = libfp.Ring(64).reserve(5).__enter__().views",
    "span to read": """
ring = libfp.Ring(64, consumer="st"); ring.enqueue(1); span = ring.reserve_dequeue(5)
part = span.views[0][:]""",
    "cycle": """
import gc; gc.disable()
class Holder: pass
holder = Holder(); holder.me = holder; holder.ring = libfp.Ring(64)
holder.span = holder.ring.reserve(3); holder.views = holder.span.views; del holder""",
    "exit inside a span": """
with libfp.Ring(64) as ring:
    with ring.reserve(5) as span:
        part = span.views[0][1:]
        sys.exit()""",
    "in a module that is taken down": """
sys.modules["keeper"] = type(sys)("keeper"); sys.modules["keeper"].span = libfp.Ring(8).reserve(2)
sys.modules["keeper"].part = sys.modules["keeper"].span.views[0][:]""",
    "threads that go on": """
import threading
ring = libfp.Ring(64)
def produce():
    while True: ring.enqueue_burst(bytes(256))
def consume():
    while True: ring.dequeue_burst(16)
for target in (produce, consume, consume):
    threading.Thread(target=target, daemon=True).start()
while not ring.stats.dequeued > 1000: pass""",
    "checked": "ring = libfp.Ring(64, checked=True); span = ring.reserve(5); v = span.views",
    "pool": "pool = libfp.Pool(64, 64)",
    "block": "block = libfp.Pool(64, 64).get()",
    "blocks of a named pool": """
pool = libfp.Pool(64, 64, 'x'); same = libfp.Pool.lookup('x'); blocks = same.get_bulk(9)
del pool""",
    "block and its view": "block = libfp.Pool(64, 64).get(); view = block.view",
    "slice of a view": "part = libfp.Pool(64, 64, checked=True).get().view[3:]",
    "indexes": "pool = libfp.Pool(64, 64); pool.get_indexes(3)",
    "array over a pool": """
try: import numpy
except ImportError: sys.exit()
pool = libfp.Pool(64, 64); objects = pool.array('u4')""",
    "exit inside a block": """
with libfp.Pool(64, 64) as pool:
    with pool.get() as block:
        part = block.view[1:]
        sys.exit()""",
    "pool in a cycle": """
import gc; gc.disable()
class Holder: pass
holder = Holder(); holder.me = holder; holder.pool = libfp.Pool(64, 64)
holder.block = holder.pool.get(); holder.view = holder.block.view; del holder""",
    "pool threads that go on": """
import threading
pool = libfp.Pool(64, 64, stats=True)
def work():
    while True: pool.put_bulk(pool.get_bulk(9))
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
while not pool.stats.puts > 1000: pass""",
    "atexit": "import atexit; r = libfp.Ring(8); atexit.register(r.destroy); r.enqueue(1)",
}


@pytest.mark.parametrize("what", EXITS)
def test_exit_with_open_objects(python, what):
    python("import sys\nimport libfp\n" + EXITS[what] + "\n")


FORK = """
import multiprocessing, os, sys
import libfp
ring = libfp.Ring(64, producer="st", consumer="st", name="r")
ring.enqueue(5)

def in_child(work):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        work()
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_child_uses_and_destroys_its_copy(python):
    python(FORK + """
def work():
    assert ring.dequeue() == 5 and ring.enqueue(6)
    ring.destroy()
    with libfp.Ring(8, name="r") as mine:
        assert mine.enqueue(1)
in_child(work)
assert ring.dequeue() == 5 and ring.dequeue() is None
ring.destroy()
""")


def test_child_has_no_part_in_the_parents_calls(python):
    """What another thread was inside of at the fork can be destroyed, and nothing else."""
    python(FORK + """
other = libfp.Ring(8, name="other")
same = libfp.Ring.lookup("other")
same._core.gates[0].word += 1     # as while a thread is inside an enqueue
ring._guard.busy[1] = 1           # this one is only busy: the forking thread's own
def work():
    for torn in (other, same):
        for call in (lambda: torn.enqueue(1), torn.dequeue, lambda: torn.count, torn.reset):
            try:
                call()
            except libfp.WrongProcess as refused:
                assert isinstance(refused, ChildProcessError)
            else:
                raise AssertionError("a torn ring was used")
    same.unref()
    other.destroy()
    assert ring.dequeue() == 5
in_child(work)
same._core.gates[0].word -= 1
ring._guard.busy[1] = 0
assert other.enqueue(1) and same.dequeue() == 1
""")


def test_child_may_leave_everything_open(python):
    python(FORK + """
span = ring.reserve(3)
part = span.views[0][:]
def work():
    pass
in_child(work)
in_child(lambda: ring.count)
del part
assert span.commit() == 3
""")


POOL_FORK = FORK + """
pool = libfp.Pool(64, 64, "p")
same = libfp.Pool.lookup("p")
block, indexes = pool.get(), pool.get_indexes(3)
block.view[:2] = b"hi"
"""


def test_child_cannot_use_the_pool_of_its_parent_but_destroy_it(python):
    python(POOL_FORK + """
def work():
    for one in (pool, same):
        for call in (one.get, lambda: one.get_bulk(2), lambda: one.put(block), one.flush,
                     lambda: one.put_indexes(indexes), lambda: one.stats, one.audit):
            try:
                call()
            except libfp.WrongProcess as refused:
                assert isinstance(refused, ChildProcessError), refused
            else:
                raise AssertionError("a pool of the parent was used")
    assert block.view[:2] == b"hi" and block.is_open
    same.unref()
    pool.destroy()
    with libfp.Pool(8, 8, "p") as mine:
        mine.put(mine.get())
in_child(work)
same.put(block)
pool.put_indexes(indexes)
same.unref()
pool.destroy()
""")


def test_child_does_not_free_a_pool_under_a_view(python):
    python(POOL_FORK + """
def work():
    view = block.view
    try:
        pool.destroy()
    except libfp.PoolBusy:
        assert view[:2] == b"hi"
    else:
        raise AssertionError("destroyed")
in_child(work)
pool.put(block)
""")


def test_fork_beside_a_thread_inside_a_pool(python):
    """The lock that the thread holds is not there for ever in the child."""
    python(POOL_FORK + """
import threading
stop = []
def go_on():
    while not stop:
        pool.put_bulk(pool.get_bulk(5))
thread = threading.Thread(target=go_on)
thread.start()
def work():
    try:
        pool.get()
    except libfp.WrongProcess:
        pool.destroy()
for _ in range(50):
    in_child(work)
stop.append(1)
thread.join()
pool.put(block)
""")


def test_child_forgets_blocks_of_its_parent(python):
    python(POOL_FORK + """
def work():
    global block, pool, same
    del block, pool, same
    import gc
    gc.collect()
in_child(work)
assert pool.in_use == 4
pool.put(block)
""")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(python, method):
    python(f"""
import multiprocessing
import libfp

def work():
    with libfp.Ring(8) as mine:
        assert mine.enqueue(1) and mine.dequeue() == 1

if __name__ == "__main__":
    context = multiprocessing.get_context("{method}")
    kept = libfp.Ring(8)
    span = kept.reserve(2)
    child = context.Process(target=work)
    child.start()
    child.join()
    assert child.exitcode == 0
""")


def test_self_check():
    done = subprocess.run([sys.executable, "-B", "-m", "libfp"], text=True, capture_output=True,
                          check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    lines = dict(line.split(":", 1) for line in done.stdout.splitlines()[1:])
    assert done.stdout.startswith(f"libfp {libfp.__version__} ")
    assert "ring" in lines["features"] and "mempool" in lines["features"]
    assert lines["self-check"].strip() == "ok"
    assert os.path.exists(lines["extension"].strip())
    assert os.path.exists(lines["library"].strip().split(" (")[0])
    wanted = os.environ.get("LIBFP_SO")
    if wanted:
        assert os.path.realpath(lines["library"].strip()) == os.path.realpath(wanted)


def test_self_check_finds_a_pool_that_gives_an_object_twice(python):
    out = python("""
import sys
import libfp, libfp.__main__ as main
libfp.Pool.get_bulk = lambda self, n: [self.adopt(0) for _ in range(n)]
sys.exit(main.main())
""", code=1)
    assert "self-check: failed: RuntimeError: get_bulk: 1, not 40" in out


def test_self_check_fails_aloud(python):
    """A ring that loses elements is found, and the exit code says so."""
    out = python("""
import sys
import libfp, libfp.__main__ as main
libfp.Ring.dequeue = lambda self: 8
sys.exit(main.main())
""", code=1)
    assert "self-check: failed: RuntimeError: dequeue: 8, not 7" in out


def test_another_abi_is_refused_at_import(python):
    """The version check is in _info.py; here it finds the C function saying no."""
    python("""
import types, sys
import libfp._libfp as extension
lib = types.SimpleNamespace(**{n: getattr(extension.lib, n) for n in dir(extension.lib)})
lib.glue_start = lambda: -71
fake = types.SimpleNamespace(ffi=extension.ffi, lib=lib)
for name in [n for n in sys.modules if n.startswith("libfp")]:
    del sys.modules[name]
sys.modules["libfp._libfp"] = fake
try:
    import libfp
except ImportError as refused:
    assert "needs that version" in str(refused), refused
else:
    raise AssertionError("it was imported")
""")
