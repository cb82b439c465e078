# SPDX-License-Identifier: BSD-2-Clause
"""`make install` puts exactly the files listed here where DESTDIR, PREFIX and the
system's library directory say, and `make uninstall` leaves the tree as it was.

Runs both in a copy of the tree, so that the real one's build/ stays as it is.
Breaks are planted in the rules of that copy; pkg.sh, the consumers' side, is
given some of them too."""

import contextlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NEEDED = ("CMakeLists.txt", "CMakePresets.json", "Makefile", "capi", "cmake", "pkgconfig",
          "scripts", "src")

# All of it: a new file is to be noticed, and added here on purpose.
FILES = """\
include/libfp.h
include/libfp/base.h
include/libfp/mempool.h
include/libfp/ring.h
include/libfp/service.h
include/libfp/timer.h
include/libfp/wakeup.h
{lib}/cmake/libfp/libfpConfig.cmake
{lib}/cmake/libfp/libfpConfigVersion.cmake
{lib}/cmake/libfp/libfpTargets-release.cmake
{lib}/cmake/libfp/libfpTargets.cmake
{lib}/libfp.a
{lib}/libfp.so -> libfp.so.{minor}
{lib}/libfp.so.{minor} -> libfp.so.{version}
{lib}/libfp.so.{version}
{lib}/pkgconfig/libfp.pc
share/libfp/libfp.abi.json
"""

# What make, CMake and pkg-config would take from the caller.
SETTINGS = re.compile(r"(MAKE|PKG_CONFIG|CMAKE|LIBFP)_?.*|MFLAGS|PREFIX|DESTDIR|.*FLAGS")


def run(*command, cwd, **environment):
    env = {k: v for k, v in os.environ.items() if not SETTINGS.fullmatch(k)}
    return subprocess.run([str(c) for c in command], cwd=cwd, env=env | environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          timeout=500)


class Machine:
    """A copy of the tree, with a home and a directory for temporary files of its own."""

    def __init__(self, place):
        self.place = place
        self.tree = place / "tree"
        for name in ("home", "tmp", "tree"):
            (place / name).mkdir()
        for name in NEEDED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, self.tree / name)
        lines = (self.tree / "capi/libfp/base.h").read_text()
        self.version = ".".join(re.search(rf"#define LIBFP_VERSION_{part} (\d+)", lines)[1]
                                for part in ("MAJOR", "MINOR", "PATCH"))

    def make(self, target, prefix, stage=""):
        done = run("make", target, f"PREFIX={prefix}", f"DESTDIR={stage}", cwd=self.tree,
                   LIBFP_BOOTSTRAP="no", HOME=str(self.place / "home"),
                   TMPDIR=str(self.place / "tmp"))
        assert done.returncode == 0, done.stdout

    @contextlib.contextmanager
    def planted(self, file, old, new):
        """A break, in the one place where `old` stands, and its repair."""
        path = self.tree / file
        text = path.read_text()
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
        path.write_text(text.replace(old, new))
        try:
            yield
        finally:
            path.write_text(text)

    def files(self, lib):
        return FILES.format(lib=lib, version=self.version,
                            minor=self.version.rpartition(".")[0]).splitlines()


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    return Machine(tmp_path_factory.mktemp("machine"))


def multiarch():
    """lib/x86_64-linux-gnu: where the libraries of /usr are on Debian."""
    done = run(os.environ.get("CC", "cc"), "-print-multiarch", cwd=HERE)
    if done.returncode:  # clang
        done = run("gcc", "-print-multiarch", cwd=HERE)
    return f"lib/{done.stdout.strip()}"


PLACES = [("/usr/local", "lib"), ("/usr", multiarch()), ("/opt/with a space", "lib")]


def tree(place):
    """All below a directory: "file", "link -> target", "directory/"."""
    found = []
    for path in sorted(place.rglob("*")):
        name = str(path.relative_to(place))
        if path.is_symlink():
            name += f" -> {os.readlink(path)}"
        elif path.is_dir():
            name += "/"
        found.append(name)
    return found


def files(place):
    return [name for name in tree(place) if not name.endswith("/")]


# ---- what is installed; both return problems ----

def file_problems(machine, stage, prefix, lib):
    wanted = {f"{prefix}/{name}".lstrip("/") for name in machine.files(lib)}
    found = set(files(stage))
    return ([f"not installed: {name}" for name in sorted(wanted - found)]
            + [f"not in the list: {name}" for name in sorted(found - wanted)])


def path_problems(machine, stage, prefix, lib):
    """The .pc file leads to where it lies, and no file knows where it was made."""
    problems = []
    for name, wanted in (("prefix", ""), ("libdir", lib), ("includedir", "include")):
        done = run("pkg-config", f"--variable={name}", "libfp", cwd=stage,
                   PKG_CONFIG_LIBDIR=f"{stage}{prefix}/{lib}/pkgconfig")
        # pkg-config escapes spaces for a shell.
        found = os.path.normpath(done.stdout.strip().replace("\\", ""))
        if found != os.path.normpath(f"{stage}{prefix}/{wanted}"):
            problems.append(f"libfp.pc: {name} is {found}")
    for path in filter(Path.is_file, stage.rglob("*")):
        for where in (stage, machine.tree):
            if str(where).encode() in path.read_bytes():
                problems.append(f"{path.name} names {where}")
    return problems


@pytest.mark.parametrize("prefix, lib", PLACES)
def test_staged_files_are_the_listed_ones(machine, tmp_path, prefix, lib):
    machine.make("install", prefix, tmp_path)
    assert file_problems(machine, tmp_path, prefix, lib) == []
    assert path_problems(machine, tmp_path, prefix, lib) == []


def times(prefix, names):
    paths = [Path(prefix, name.split(" -> ")[0]) for name in names]
    return {path: path.lstat().st_mtime_ns for path in paths if os.path.lexists(path)}


def test_nothing_is_written_outside(machine):
    """Not beside DESTDIR, not in the home, the sources or the prefix itself."""
    def outside():
        return [name for name in tree(machine.place)
                if not re.match(r"tree/build/|stage/", name)]
    stage = machine.place / "stage"
    before = outside(), times("/usr/local", machine.files("lib"))
    machine.make("install", "/usr/local", stage)
    assert (outside(), times("/usr/local", machine.files("lib"))) == before
    shutil.rmtree(stage)


# ---- uninstall ----

def lived_in(prefix):
    """Other people's files beside ours, and directories that are empty already."""
    for name in ("include/other.h", "lib/libfp.so.0.1", "share/libfp/notes"):
        (prefix / name).parent.mkdir(parents=True)
        (prefix / name).write_text("not ours\n")
    (prefix / "lib/pkgconfig").mkdir()
    (prefix / "include/libfp").mkdir()


def uninstall_problems(machine, prefix, stage="", installs=1):
    place = Path(f"{stage}{prefix}")
    root = Path(stage) if stage else place.parent
    before = tree(root)
    for _ in range(installs):
        machine.make("install", prefix, stage)
    assert set(machine.files("lib")) <= set(files(place))
    machine.make("uninstall", prefix, stage)
    after = tree(root)
    return ([f"left: {name}" for name in after if name not in before]
            + [f"lost: {name}" for name in before if name not in after])


def test_uninstall_leaves_nothing(machine, tmp_path):
    assert uninstall_problems(machine, "/usr/local", tmp_path) == []
    assert tree(tmp_path) == []


def test_uninstall_after_two_installs_without_destdir_leaves_nothing(machine, tmp_path):
    assert uninstall_problems(machine, tmp_path / "a prefix", installs=2) == []


def test_uninstall_leaves_what_was_there(machine, tmp_path):
    """But for the empty directories that carry our name."""
    prefix = tmp_path / "usr/local"
    lived_in(prefix)
    assert uninstall_problems(machine, "/usr/local", tmp_path) == [
        "lost: usr/local/include/libfp/"]
    assert (prefix / "lib/libfp.so.0.1").read_text() == "not ours\n"


def test_uninstall_by_another_build_leaves_no_file(machine, tmp_path):
    """Which directories were made is not known there: those that are not ours stay."""
    machine.make("install", "/usr/local", tmp_path)
    (machine.tree / "build/install/made-directories").unlink()
    machine.make("uninstall", "/usr/local", tmp_path)
    assert files(tmp_path) == []
    assert [name for name in tree(tmp_path) if "libfp" in name] == []


# ---- planted breaks ----

INSTALL = "cmake/Install.cmake"
PC_PREFIX = 'set(pc_prefix "\\${pcfiledir}/${up}")'
STAGED = {
    "libdir_hard_coded": (
        INSTALL, "LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}", "LIBRARY DESTINATION lib",
        "not installed: usr/{lib}/libfp.so.{version}"),
    "headers_forgotten": (
        INSTALL, 'FILES_MATCHING PATTERN "*.h"', 'FILES_MATCHING PATTERN "libfp.h"',
        "not installed: usr/include/libfp/base.h"),
    "a_file_more": (
        INSTALL, "install(FILES capi/libfp.abi.json", "install(FILES capi/libfp.abi.json "
        "capi/libfp.map", "not in the list: usr/share/libfp/libfp.map"),
    "pc_names_the_build": (
        INSTALL, PC_PREFIX, "set(pc_prefix ${PROJECT_BINARY_DIR})",
        "libfp.pc names {tree}"),
    "pc_names_destdir": (
        INSTALL, PC_PREFIX, "set(pc_prefix $ENV{DESTDIR}${CMAKE_INSTALL_PREFIX})",
        "libfp.pc names {stage}"),
    "pc_leads_elsewhere": (
        "pkgconfig/libfp.pc.in", "libdir=@pc_libdir@", "libdir=${prefix}/lib",
        "libfp.pc: libdir is {stage}/usr/lib"),
}


@pytest.mark.parametrize("file, old, new, message", STAGED.values(), ids=STAGED)
def test_a_wrong_rule_is_noticed(machine, tmp_path, file, old, new, message):
    lib = multiarch()
    with machine.planted(file, old, new):
        machine.make("install", "/usr", tmp_path)
    message = message.format(lib=lib, version=machine.version, tree=machine.tree,
                             stage=tmp_path)
    assert message in (file_problems(machine, tmp_path, "/usr", lib)
                       + path_problems(machine, tmp_path, "/usr", lib))


UNINSTALL = "scripts/uninstall"
REMOVED = {
    "links_forgotten": (
        UNINSTALL, "find . ! -type d", "find . -type f",
        "left: usr/local/lib/libfp.so -> libfp.so.{minor}"),
    "directories_forgotten": (
        "scripts/install", 'echo "$target"', ":", "left: usr/local/lib/cmake/"),
    "empty_directories_taken": (
        UNINSTALL, ' || continue', ' || true', "lost: usr/local/lib/pkgconfig/"),
}


@pytest.mark.parametrize("file, old, new, message", REMOVED.values(), ids=REMOVED)
def test_a_wrong_uninstall_is_noticed(machine, tmp_path, file, old, new, message):
    lived_in(tmp_path / "usr/local")
    with machine.planted(file, old, new):
        problems = uninstall_problems(machine, "/usr/local", tmp_path)
    assert message.format(minor=machine.version.rpartition(".")[0]) in problems


PC = "pkgconfig/libfp.pc.in"
CONSUMED = {
    "same_major_version": (
        "version", INSTALL, "SameMinorVersion", "SameMajorVersion", "takes {version}"),
    "no_version_in_pc": (
        "version", PC, "Version: @PROJECT_VERSION@", "Version: 1", "is not >="),
    "no_include_directory": (
        "shared", PC, "Cflags: -I${includedir}", "Cflags:", "this is not the installed libfp"),
}


@pytest.mark.parametrize("way, file, old, new, message", CONSUMED.values(), ids=CONSUMED)
def test_a_consumer_notices(machine, tmp_path, way, file, old, new, message):
    prefix = tmp_path / "prefix"
    with machine.planted(file, old, new):
        machine.make("install", prefix)
    done = run(HERE / "pkg.sh", way, prefix, cwd=tmp_path, CMAKE=os.environ["CMAKE"])
    assert done.returncode != 0, done.stdout
    assert message.format(version=machine.version) in done.stdout
