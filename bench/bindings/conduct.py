# SPDX-License-Identifier: BSD-2-Clause
"""Measures the ring from C, through libffi, from Python and Go side by side, and what
Python and Go have.

Each language is a process of its own, the worker, and all live at the same time: they
take turns, a slice of about a millisecond each, round after round, so that whatever the
machine does meanwhile happens to all of them. While one works the others wait for their
next order. What is measured is pinned to the same core in all of them. Writes the JSON
lines of a bench process (see harness.c): row "bindings", one line per case.

A language whose toolchain or package is missing is left out and named.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SLICE_NS = 1e6
WARMUP_SLICES = 3
SECONDS = 8


BURSTS = (1, 32, 256, 1024)


def row_name(mode, burst):
    """For --only."""
    return f"bindings/{mode}/burst{burst}/capacity1024/elem8"


def wanted(only):
    """Whether any case may match."""
    return any(only in row_name(mode, burst) for mode in ("ST", "MT", "-") for burst in BURSTS)


class Missing(Exception):
    """Why a language cannot take part."""


# ---- building the workers ----

def make(command, cwd, env, what):
    """Runs a build step; its output is shown only if it fails."""
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=env, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        raise Missing(f"{what} failed; its messages are above")
    return done.stdout


def environment(build, **more):
    """Against the library of this build, whatever is installed."""
    return os.environ | {"PKG_CONFIG_PATH": str(build), "LIBFP_BUNDLED": "0"} | more


def c_worker(name, needs):
    def build_worker(build, _out):
        program = build / "bench" / name
        if not program.exists():
            raise Missing(f"{name} was not built ({needs})")
        return [program], None
    return build_worker


def python_worker(build, out):
    package = out / "python"
    env = environment(build, PYTHONPATH=str(package), PYTHONDONTWRITEBYTECODE="1")
    if subprocess.run([sys.executable, "-c", "import cffi, setuptools"], check=False,
                      stderr=subprocess.DEVNULL).returncode:
        raise Missing("no cffi or setuptools (Debian: python3-cffi python3-setuptools "
                      "python3-dev)")
    make([sys.executable, "setup.py", "build", "--force", "--build-base", out / "python-build",
          "--build-lib", package], ROOT / "python", env, "building the Python package")
    # Not from the build directory: there Python takes libfp.so for a module.
    library = make([sys.executable, "-c", "import libfp; print(libfp.library_path())"], HERE,
                   env, "loading the Python package").strip()
    if not pathlib.Path(library).resolve().is_relative_to(build):
        raise Missing(f"its package uses {library}, not the library of this build")
    return [sys.executable, HERE / "cases_python.py"], env


def go_version(go):
    """For example (1, 19), and "go1.19.8"; None if it does not run."""
    try:
        text = subprocess.run([go, "env", "GOVERSION"], text=True, check=True,
                              env=os.environ | {"GOTOOLCHAIN": "local"},
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()
        major, minor = text.removeprefix("go").split(".")[:2]
        return (int(major), int(minor)), text
    except (OSError, subprocess.CalledProcessError, ValueError):
        return None


def go_toolchains():
    """Debian's Go first, then what is in PATH if that is another version."""
    places = sorted(pathlib.Path("/usr/lib").glob("go-*/bin/go")) + [shutil.which("go")]
    found = {}
    for go in filter(None, places):
        version = go_version(go)
        if version and version[1] not in [v[1] for v in found.values()]:
            found[str(go)] = version
    return found


def go_worker(go):
    def build_worker(build, out):
        if go is None:
            raise Missing("no go (Debian: golang-go)")
        program = out / f"go-{go_version(go)[1]}"
        # The checksum: Go's cache does not see that a header behind pkg-config has changed.
        headers = b"".join(p.read_bytes() for p in sorted((ROOT / "capi").rglob("*.h")))
        env = environment(build, GOTOOLCHAIN="local", GOPROXY="off", GOENV="off",
                          GOWORK="off", GOFLAGS="-mod=readonly", CGO_ENABLED="1",
                          GOCACHE=str(out / "go-cache"), GOPATH=str(out / "go-path"),
                          CGO_CFLAGS=f"-O2 -g -DLIBFP_HEADERS={zlib.crc32(headers)}",
                          LD_LIBRARY_PATH=str(build))
        make([go, "build", "-o", program, "."], HERE / "go", env, "building the Go package")
        return [program], env
    return build_worker


def languages():
    """(name, how to build its worker); a second Go has its version in all names."""
    yield "C", c_worker("bench_cases_c", "bench/CMakeLists.txt")
    yield "libffi", c_worker("bench_cases_ffi", "Debian: libffi-dev")
    yield "Python", python_worker
    found = go_toolchains()
    yield "Go", go_worker(next(iter(found), None))
    for go, (number, _) in list(found.items())[1:]:
        yield f"Go {number[0]}.{number[1]}", go_worker(go)


def build_workers(build, out):
    """Returns ([(name, command, env)], {name: why it is missing})."""
    build, out = build.resolve(), out.resolve()
    workers, missing = [], {}
    for name, builder in languages():
        try:
            workers.append((name, *builder(build, out)))
        except Missing as reason:
            missing[name] = str(reason)
            print(f"bench: {name} is left out: {reason}", file=sys.stderr)
    return workers, missing


# ---- measuring ----

class Worker:
    """A running process that does slices when told to."""

    def __init__(self, name, command, env, cpu):
        self.process = subprocess.Popen(
            [str(c) for c in command] + [str(cpu)], env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        hello = json.loads(self.process.stdout.readline() or "null")
        if hello is None:
            self.process.wait(10)
            raise Missing("its worker did not start")
        self.name, self.version = name, hello["version"]
        self.cases = [Case(self, i, c) for i, c in enumerate(hello["cases"])]

    def slice(self, number, units):
        self.process.stdin.write(f"{number} {units}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 3:
            raise Missing("its worker has died")
        return map(int, answer)

    def end(self):
        try:
            self.process.communicate(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()


class Case:
    """One way to carry elements, and its samples in ns an element."""

    def __init__(self, worker, number, case):
        self.worker, self.number = worker, number
        # A second Go has the same cases under its own name.
        self.who = case["who"].replace("Go", worker.name, 1)
        self.mode, self.burst = case["mode"], case["burst"]
        self.units = 16 * self.burst
        self.every = 1  # takes part in every n-th round: what is slow does not stop the others
        self.samples, self.switched, self.wrong, self.warm = [], 0, 0, 0

    def wanted(self, only):
        return not only or only in row_name(self.mode, self.burst)

    def run(self):
        ns, done, switches = self.worker.slice(self.number, self.units)
        if done != self.units:
            self.wrong += 1
        elif switches:
            self.switched += 1
        elif self.warm < WARMUP_SLICES and self.every == 1:
            self.warm += 1
        else:
            self.samples.append(ns / done)
        self.every = max(1, round(ns / SLICE_NS / 2))
        factor = min(8, max(0.125, SLICE_NS / max(ns, 1)))
        self.units = max(1, int(self.units * factor) // self.burst) * self.burst

    def line(self, process):
        return {"kind": "cell", "process": process, "row": "bindings", "mode": self.mode,
                "burst": self.burst, "capacity": 1024, "elem": 8, "who": self.who,
                "unit": "ns", "class": "alone", "slices": len(self.samples),
                "switched": self.switched, "moved": 0, "wrong": self.wrong,
                "samples": [float(f"{s:.4g}") for s in self.samples]}


def measure(commands, missing, process, scale, only, cpu, path):
    """One process of each language on this core (None: the first); writes lines to path."""
    cpu = min(os.sched_getaffinity(0)) if cpu is None else cpu
    workers, missing = [], dict(missing)
    for name, command, env in commands:
        try:
            workers.append(Worker(name, command, env, cpu))
        except Missing as reason:
            missing[name] = str(reason)
    cases = [c for w in workers for c in w.cases if c.wanted(only)]
    end = time.monotonic() + SECONDS * scale
    turn = 0
    while cases and time.monotonic() < end:
        for i in range(len(cases)):
            case = cases[(i + turn) % len(cases)]
            if turn % case.every or case.worker.name in missing:
                continue
            try:
                case.run()
            except (Missing, OSError) as reason:
                missing[case.worker.name] = str(reason)
        turn += 1
    for worker in workers:
        worker.end()
    with open(path, "w", encoding="utf-8") as f:
        about = {"kind": "bindings", "process": process,
                 "languages": {w.name: w.version for w in workers}, "missing": missing}
        for line in [about] + [c.line(process) for c in cases]:
            f.write(json.dumps(line) + "\n")
