# SPDX-License-Identifier: BSD-2-Clause
"""pip install, offline, both ways; what is said when a tool is missing.

LIBFP_PKG_CONFIG_DIR  where libfp.pc of the library under test is
"""

import os
import shutil
import subprocess
import sys
import tarfile

import libfp
import pytest
from conftest import ROOT

C_SOURCE = ("CMakeLists.txt", "LICENSE", "capi", "cmake", "pkgconfig", "src")


def run(*command, code=0, cwd=None, **environment):
    """Runs a command that knows nothing of this suite's package. Returns what it said."""
    env = {k: v for k, v in os.environ.items()
           if k not in ("PYTHONPATH", "PKG_CONFIG_PATH", "LIBFP_BUNDLED", "LD_LIBRARY_PATH")}
    env.update(PYTHONDONTWRITEBYTECODE="1", **environment)
    done = subprocess.run([str(c) for c in command], env=env, text=True, check=False, cwd=cwd,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=500)
    assert done.returncode == code, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy, so that the real one stays clean."""
    tree = tmp_path_factory.mktemp("checkout")
    litter = shutil.ignore_patterns("build", "dist", "*.egg-info", "__pycache__", ".mypy_cache")
    shutil.copytree(ROOT / "python", tree / "python", ignore=litter)
    for name in C_SOURCE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name)
        else:
            shutil.copy(ROOT / name, tree / name)
    return tree


def pip_install(venv, source, **environment):
    """`pip install` as the README says it for a machine without network."""
    run(sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", venv)
    run(venv / "bin/python", "-m", "pip", "install", "--no-build-isolation", "--no-deps",
        "--no-index", "--disable-pip-version-check", source, **environment)
    out = run(venv / "bin/python", "-m", "libfp")
    library = next(line.split(":", 1)[1].strip() for line in out.splitlines()
                   if line.startswith("library:"))
    site = next((venv / "lib").glob("python*")) / "site-packages" / "libfp"
    assert (site / "py.typed").is_file() and (site / "_libfp.pyi").is_file()
    assert (site / "LICENSE").is_file() == library.endswith("(bundled)")
    return library


def test_installed_library_is_linked(checkout, tmp_path):
    directory = os.environ["LIBFP_PKG_CONFIG_DIR"]
    library = pip_install(tmp_path / "venv", checkout / "python", PKG_CONFIG_PATH=directory)
    assert os.path.realpath(library).startswith(os.path.realpath(directory) + os.sep)


def test_sdist_bundles_the_library(checkout, tmp_path):
    """The source that pip downloads is complete: nothing of the checkout is used."""
    run(sys.executable, "setup.py", "-q", "sdist", "--dist-dir", tmp_path,
        cwd=checkout / "python")
    (archive,) = tmp_path.glob("libfp-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path)
    source = tmp_path / archive.name[:-len(".tar.gz")]
    library = pip_install(tmp_path / "venv", source, PKG_CONFIG="false")
    assert library.endswith("(bundled)")
    assert str(tmp_path / "venv") in library


def build(checkout, tmp_path, command="build_ext", code=1, **environment):
    out = ["--build-lib", tmp_path / "lib"]
    out += ["--build-temp" if command == "build_ext" else "--build-base", tmp_path / "temp"]
    return run(sys.executable, "setup.py", "-q", command, *out, code=code, cwd=checkout / "python",
               **environment)


def test_a_build_from_before_is_not_taken_for_another_library(checkout, tmp_path):
    """The same directory, first with one libfp, then with another one."""
    directory = os.environ["LIBFP_PKG_CONFIG_DIR"]
    other = tmp_path / "other"
    other.mkdir()
    for name in ("libfp.so", "libfp.so.0.9"):
        (other / name).symlink_to(os.path.join(directory, "libfp.so"))
    flags = f"-I{ROOT / 'capi'} -L{other} -lfp"
    (other / "libfp.pc").write_text(
        f"Name: libfp\nDescription: copy\nVersion: {libfp.__version__}\nLibs: {flags}\n")
    for place in (directory, str(other)):
        build(checkout, tmp_path, "build", code=0, PKG_CONFIG_PATH=place)
        out = run(sys.executable, "-m", "libfp", PYTHONPATH=str(tmp_path / "lib"))
        assert f"library:   {place}/libfp.so" in out


def test_missing_compiler_is_named(checkout, tmp_path):
    said = build(checkout, tmp_path, CC="no-such-cc")
    assert "libfp: building needs a C compiler, and no-such-cc is not in PATH" in said
    assert "Traceback" not in said


def test_missing_cmake_is_named(checkout, tmp_path):
    (tmp_path / "bin").mkdir()
    said = build(checkout, tmp_path, CC=shutil.which("cc"), PATH=str(tmp_path / "bin"))
    assert "building it needs cmake, which is not in PATH" in said
    assert "Traceback" not in said


def test_library_of_another_version_is_not_linked(checkout, tmp_path):
    """pkg-config finds 0.8: too old, so the package builds its own (here: would need cmake)."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pkg-config").symlink_to(shutil.which("pkg-config"))
    (tmp_path / "libfp.pc").write_text("Name: libfp\nDescription: old\nVersion: 0.8.3\nLibs: -lfp\n")
    said = build(checkout, tmp_path, CC=shutil.which("cc"), PATH=str(tmp_path / "bin"),
                 PKG_CONFIG_PATH=str(tmp_path))
    assert "needs cmake" in said
