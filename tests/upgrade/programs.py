# SPDX-License-Identifier: BSD-2-Clause
"""The programs of the rehearsal: how each language's are built from a source tree against
an installation, and which scripts they then run.

They are the recorded commit's own: drivers of the conformance script, examples, bindings
with their suites. So each calls what was in the library then and nothing else. Only the
C++ program is not in that tree: pipeline.cc is beside this file, and keeps to what every
recorded library has.

A new part joins with tests/conformance/<part>_conformance.c, <part>_calls.c, <part>.json
and <part>_planted.json, in C, Python and Java, which have one driver for each part or for
all of them. Go's runs all scripts of its tree.
"""

import hashlib
import os
import shlex
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from install import Missing, once, run

HERE = Path(__file__).resolve().parent
GSON = Path("/usr/share/java/gson.jar")


@dataclass
class Script:
    """One run of a program. It must end with 0 and say something that shows that it did
    its work: `says` is a regular expression, found in its output."""
    name: str
    command: list
    says: str
    env: dict = field(default_factory=dict)
    cwd: Path = None


@dataclass
class Work:
    """What a language's functions are told: the source tree, the installation to build
    against, the directory of the programs."""
    source: Path
    prefix: Path
    out: Path

    def pkg_config(self):
        (file,) = self.prefix.glob("lib/**/libfp.pc")
        return {"PKG_CONFIG_PATH": str(file.parent)}

    def flags(self):
        return shlex.split(run("pkg-config", "--cflags", "--libs", "libfp",
                               env=self.pkg_config()))

    def parts(self):
        """Parts with a driver of the conformance script in C."""
        return sorted(path.name.removesuffix("_conformance.c") for path in
                      (self.source / "tests/conformance").glob("*_conformance.c"))

    def script(self, part):
        return self.source / "tests/conformance" / f"{part}.json"

    def mistakes(self, part):
        """The script of wrong expectations; in a tree with one part it has no part's name."""
        script = self.script(f"{part}_planted")
        return script if script.exists() else self.script("planted")


def need(program, package):
    found = shutil.which(program)
    if found is None:
        raise Missing(f"needs {program} (Debian: {package})")
    return found


def need_file(path, package):
    if not path.exists():
        raise Missing(f"needs {path} (Debian: {package})")
    return path


def cc():
    return [os.environ.get("CC", "cc"), "-std=gnu11", "-O2", "-pthread"]


# ---- C ----

def build_c(work):
    need_file(Path("/usr/include/jansson.h"), "libjansson-dev")
    need_file(Path("/usr/include/pcap/pcap.h"), "libpcap-dev")
    tests, examples = work.source / "tests", work.source / "examples"
    driver = tests / "conformance"
    shared = [name for name in (driver / "calls.c", driver / "script.c") if name.exists()]
    for part in work.parts():
        run(*cc(), driver / f"{part}_conformance.c", driver / f"{part}_calls.c", *shared,
            "-o", work.out / f"{part}_conformance", *work.flags(), "-ljansson")
    run(*cc(), "-I", tests / "support", "-I", examples / "pipeline",
        tests / "pipeline/test_stages.c", examples / "pipeline/stages.c",
        "-o", work.out / "stages", *work.flags())
    run(*cc(), examples / "ring/two_threads.c", "-o", work.out / "two_threads",
        *work.flags())
    run(*cc(), "-D_GNU_SOURCE", *sorted((examples / "flows").glob("*.c")),
        "-o", work.out / "fp-flows", *work.flags(), "-lpcap")


def scripts_c(work, full):
    for part in work.parts():
        yield Script(f"conformance of {part}", [work.out / f"{part}_conformance",
                     work.script(part)], r"[1-9]\d* steps in .* 0 runs failed")
        yield Script(f"conformance of {part}, mistakes",
                     [work.out / f"{part}_conformance", "--planted", work.mistakes(part)],
                     r"[1-9]\d* of \d+ planted mistakes found")
    yield Script("two threads", [work.out / "two_threads"], r"^5000050000$")
    yield Script("pipeline", [work.out / "stages"], r"^ok ")
    if full:  # captures, their flows counted by other code as well
        yield pytest_script(work, "fp-flows", "tests/flows", ["table"],
                            FP_FLOWS=work.out / "fp-flows")


# ---- C++ ----

def build_cxx(work):
    run(need("c++", "g++"), "-std=c++17", "-O2", "-Wall", "-Wextra", "-pthread",
        HERE / "pipeline.cc", "-o", work.out / "pipeline", *work.flags())


def scripts_cxx(work, full):
    yield Script("pipeline", [work.out / "pipeline", 1000000 if full else 100000],
                 r"^[1-9]\d* objects, each once$")


# ---- Python: the extension over the installed library; C code in the same process ----

def build_python(work):
    said = run(sys.executable, "-B", "setup.py", "build", "--build-base",
               work.out / "temp", "--build-lib", work.out / "site",
               cwd=work.source / "python", env=work.pkg_config())
    if "linking the installed library" not in said:
        raise AssertionError(f"the extension has a library of its own:\n{said}")
    shutil.rmtree(work.out / "temp")
    run(*cc(), "-shared", "-fPIC", work.source / "examples/pipeline/stages.c",
        "-o", work.out / "libfp_stages.so", *work.flags())


def pytest_script(work, name, directory, suites, **env):
    return Script(name, [sys.executable, "-B", "-m", "pytest", "-q", "-rs", "-p",
                         "no:cacheprovider",
                         *(work.source / directory / f"test_{s}.py" for s in suites)],
                  r"[1-9]\d* passed", {k: str(v) for k, v in env.items()})


def scripts_python(work, full):
    site = {"PYTHONPATH": str(work.out / "site")}
    driver = [sys.executable, "-B", work.source / "python/tests/conformance.py"]
    says = r"[1-9]\d* steps of [1-9]\d* cases passed"
    for part in work.parts():
        yield Script(f"conformance of {part}", [*driver, work.script(part)], says, site)
        yield Script(f"conformance of {part}, mistakes",
                     [*driver, "--planted", work.mistakes(part)], says, site)
    if full:  # without `install`, `types` and `docs`: they call no library, or build one
        yield pytest_script(work, "suites", "python/tests", ["ring", "buffers", "spans",
                            "property", "threads", "process"], **site)
        yield Script("pipeline through C", [sys.executable, "-B", work.source /
                     "tests/pipeline/pipeline.py", work.out / "libfp_stages.so"],
                     r"10000000 elements through C and back", site)


# ---- Go ----

def go():
    """Debian's toolchain, and an environment that uses nothing of the network or user's."""
    program = os.environ.get("LIBFP_GO", "")
    if not Path(program).is_file():
        raise Missing("needs go (Debian: golang-go)")
    cache = Path(os.environ["LIBFP_GO_DIR"])
    return program, {
        "GOTOOLCHAIN": "local", "GOPROXY": "off", "GOENV": "off", "GOWORK": "off",
        "CGO_ENABLED": "1", "GOFLAGS": "-mod=readonly", "GOCACHE": str(cache / "cache"),
        "GOPATH": str(cache / "path"), "PATH": f"{Path(program).parent}:{os.environ['PATH']}"}


def build_go(work):
    program, env = go()
    # Go's cache does not see that a header behind pkg-config has changed.
    headers = hashlib.sha256()
    for header in sorted((work.prefix / "include").rglob("*.h")):
        headers.update(header.read_bytes())
    env["CGO_CFLAGS"] = f"-O2 -g -DLIBFP_HEADERS={headers.hexdigest()[:8]}"
    env.update(work.pkg_config())
    run(program, "test", "-c", "-o", work.out / "fp.test", cwd=work.source / "bindings/go",
        env=env)
    stages = work.out / "stages.o"
    run(*cc(), "-c", work.source / "examples/pipeline/stages.c", *work.flags(), "-o", stages)
    run("ar", "rc", work.out / "libfp_stages.a", stages)
    run(program, "build", "-o", work.out / "pipeline", cwd=work.source / "tests/pipeline/go",
        env={**env, "LIBRARY_PATH": str(work.out)})


def scripts_go(work, full):
    program = [work.out / "fp.test", "-test.v"]
    source = work.source / "bindings/go"
    if full:
        yield Script("suite", program, r"--- PASS: TestConformance\b", cwd=source)
        yield Script("pipeline through C", [work.out / "pipeline"],
                     r"10000000 elements through C and back")
    else:
        yield Script("conformance", [*program, "-test.run", "^TestConformance"],
                     r"--- PASS: TestConformance\b", cwd=source)


# ---- Java, through SWIG ----

def build_java(work):
    swig, javac = need("swig", "swig"), need("javac", "default-jdk-headless")
    need_file(GSON, "libgoogle-gson-java")
    jni = Path(javac).resolve().parents[1] / "include"
    interface, tests = work.source / "bindings/swig", work.source / "tests/swig/java"
    package = work.out / "libfp"
    package.mkdir()
    run(swig, "-java", "-package", "libfp", "-outdir", package, "-o", package / "wrapper.c",
        interface / "libfp.i")
    run(*cc(), "-fno-strict-aliasing", "-fPIC", "-shared", "-I", jni, "-I", jni / "linux",
        "-I", interface, package / "wrapper.c", "-o", work.out / "libLibfp.so", *work.flags())
    scripted = work.source / "tests/swig/scripted.i"
    if scripted.exists():  # functions that libfp calls, a module of the tests
        package = work.out / "scripted"
        package.mkdir()
        run(swig, "-java", "-package", "scripted", "-outdir", package, "-o",
            package / "wrapper.c", scripted)
        run(*cc(), "-fno-strict-aliasing", "-fPIC", "-shared", "-I", jni, "-I",
            jni / "linux", package / "wrapper.c", "-o", work.out / "libScripted.so",
            *work.flags())
    run(javac, "-cp", GSON, "-sourcepath", work.out, "-d", work.out / "classes",
        interface / "FpException.java", *sorted((work.out / "libfp").glob("*.java")),
        *sorted(tests.glob("*.java")))


def scripts_java(work, full):
    java = [need("java", "default-jdk-headless"), "-Xmx256m", "-XX:-UsePerfData",
            f"-Djava.library.path={work.out}", "-cp", f"{work.out / 'classes'}:{GSON}"]
    for part in work.parts():
        name = part.capitalize()
        yield Script(f"conformance of {part}",
                     [*java, f"{name}Conformance", work.script(part)],
                     r"[1-9]\d* steps of [1-9]\d* cases passed")
        yield Script(f"conformance of {part}, mistakes",
                     [*java, f"{name}Conformance", "--planted", work.mistakes(part)],
                     r"mistakes of [1-9]\d* cases looked for")
        if full:
            yield Script(f"suite of {part}", [*java, f"{name}Test",
                                              work.source / "bindings/swig/exports.txt"],
                         r"java: [1-9]\d* passed, 0 failed")


LANGUAGES = {"c": (build_c, scripts_c), "cxx": (build_cxx, scripts_cxx),
             "python": (build_python, scripts_python), "go": (build_go, scripts_go),
             "java": (build_java, scripts_java)}


# ---- programs that are kept ----

def build(language, work):
    LANGUAGES[language][0](work)


def scripts(language, work, full):
    return list(LANGUAGES[language][1](work, full))


def digest(directory):
    """One number for all that is in a directory."""
    total = hashlib.sha256()
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.relative_to(directory)} {content}\n".encode())
    return total.hexdigest()


def kept(language, base):
    """The programs of the recorded library, which are built once: (their Work, what
    digest() said of them when they were built)."""
    recipe = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in
                                     ("programs.py", "pipeline.cc"))).hexdigest()
    source, prefix = base / "source", base / "prefix"

    def make(directory):
        out = directory / "out"
        out.mkdir()
        build(language, Work(source, prefix, out))
        (directory / "DIGEST").write_text(digest(out), encoding="utf-8")

    place = once(base / "programs" / language, recipe, make)
    return (Work(source, prefix, place / "out"),
            (place / "DIGEST").read_text(encoding="utf-8"))
