# SPDX-License-Identifier: BSD-2-Clause
"""Builds the extension libfp._libfp with cffi, and puts the C library's source into an sdist.

The library is, in this order: built from source and bundled if LIBFP_BUNDLED=1; the one that
pkg-config finds; built from source and bundled. The source is the checkout around this
directory, or csrc/ in an sdist.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "src" / "libfp"
CDEF = (PACKAGE / "_cdef.h").read_text()
# The glue of each part; that of rings comes first and has what all share.
GLUES = ("_glue", "_glue_pool", "_glue_wakeup", "_glue_service", "_glue_timer")
# What C calls; cffi defines it.
CALLBACKS = 'extern "Python" int32_t glue_call_python(uint64_t id);'

# What a build of the C library needs; CMakeLists.txt first: it tells where the source is.
C_SOURCE = ("CMakeLists.txt", "LICENSE", "capi", "cmake", "pkgconfig", "src")

# Directories that the loader searches anyway.
SYSTEM_DIRS = re.compile(r"/(usr/)?lib(64)?(/[^/]+-linux-gnu)?/?$")

SOURCE = "\n".join([
    "#include <libfp.h>",
    "#pragma GCC visibility push(hidden)",
    *(f'#include "{glue}.h"' for glue in GLUES),
    "#pragma GCC visibility pop",
    *(f'#include "{glue}.c"' for glue in GLUES),
])


def header_version():
    parts = re.findall(r"#define LIBFP_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", CDEF)
    return [int(part) for part in parts]


def fail(reason):
    sys.exit(f"libfp: {reason}")


def c_source_dir():
    for candidate in (HERE / "csrc", HERE.parent):
        if all((candidate / name).exists() for name in C_SOURCE):
            return candidate
    return None


def pkg_config(*args):
    """Output of pkg-config, or None: it is not there, or says no."""
    program = os.environ.get("PKG_CONFIG", "pkg-config")
    try:
        done = subprocess.run([program, *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              check=False, text=True)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def use_installed(ext):
    """Links what pkg-config finds, if it fits these sources. Returns whether it does."""
    major, minor, patch = header_version()
    wanted = (f"libfp >= {major}.{minor}.{patch}", f"libfp < {major}.{minor + 1}")
    if pkg_config("--exists", *wanted) is None:
        return False
    flags = pkg_config("--cflags", "--libs", "libfp")
    if flags is None:
        return False
    for flag in shlex.split(flags):
        kind, value = flag[:2], flag[2:]
        if kind == "-I":
            ext.include_dirs.append(value)
        elif kind == "-L":
            ext.library_dirs.append(value)
            if not SYSTEM_DIRS.fullmatch(value):
                ext.runtime_library_dirs.append(value)
        elif kind == "-l":
            ext.libraries.append(value)
        else:
            ext.extra_link_args.append(flag)
    print(f"libfp: linking the installed library: {flags.strip()}")
    return True


def use_bundled(ext, build_dir, compiler):
    """Builds the static library and links it into the extension."""
    source = c_source_dir()
    if source is None:
        fail("pkg-config finds no fitting libfp, and the C source is not here: install libfp")
    cmake = shutil.which("cmake")
    if cmake is None:
        fail("pkg-config finds no fitting libfp, and building it needs cmake, which is not in "
             "PATH (Debian: apt install cmake)")
    print(f"libfp: building the bundled library from {source}")
    build_dir.mkdir(parents=True, exist_ok=True)
    for command in (
        [cmake, "-S", source, "-B", build_dir, "-DCMAKE_BUILD_TYPE=Release",
         f"-DCMAKE_C_COMPILER={compiler}", "-DLIBFP_TESTS=OFF", "-DLIBFP_EXAMPLES=OFF"],
        [cmake, "--build", build_dir, "--target", "fp_static", "-j", "2"],
    ):
        if subprocess.run(command, check=False).returncode:
            fail("CMake could not build the C library; its messages are above")
    ext.include_dirs.append(str(source / "capi"))
    ext.extra_objects.append(str(build_dir / "libfp.a"))
    # Another libfp in the process must not be mixed with this one.
    ext.extra_link_args.append("-Wl,--exclude-libs,ALL")
    ext.libraries.append("pthread")


class BuildExt(build_ext):
    """cffi's generated C file with the glue, over whichever libfp there is."""

    def build_extension(self, ext):
        from cffi import FFI

        self.force = True  # a build from before may be linked to another library
        command = self.compiler.compiler[0]
        compiler = shutil.which(command)
        if compiler is None:
            fail(f"building needs a C compiler, and {command} is not in PATH "
                 "(Debian: apt install gcc)")
        temp = Path(self.build_temp).resolve()
        temp.mkdir(parents=True, exist_ok=True)
        if os.environ.get("LIBFP_BUNDLED") == "1" or not use_installed(ext):
            use_bundled(ext, temp / "cmake", compiler)
            # Whoever passes the package on passes the C library on, and with it its licence.
            self.copy_file(c_source_dir() / "LICENSE", Path(self.build_lib) / "libfp" / "LICENSE")
        ffi = FFI()
        ffi.cdef(CDEF)
        for glue in GLUES:
            ffi.cdef((PACKAGE / f"{glue}.h").read_text())
        ffi.cdef(CALLBACKS)
        ffi.set_source(ext.name, SOURCE)
        generated = temp / "_libfp.c"
        ffi.emit_c_code(str(generated))
        ext.sources = [str(generated)]
        ext.include_dirs.append(str(PACKAGE))
        super().build_extension(ext)


class Sdist(sdist):
    """An sdist that can build the bundled library."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        source = c_source_dir()
        if source is None:
            fail("an sdist needs the C source, and it is not here")
        target = Path(base_dir) / "csrc"
        target.mkdir(exist_ok=True)
        for name in C_SOURCE:
            if (source / name).is_dir():
                shutil.copytree(source / name, target / name, dirs_exist_ok=True)
            else:
                shutil.copy(source / name, target / name)


setup(
    version=".".join(map(str, header_version())),
    ext_modules=[
        Extension("libfp._libfp", sources=["src/libfp/_glue.c"],
                  depends=[str(PACKAGE / "_cdef.h"), *(str(PACKAGE / f"{glue}.{suffix}")
                                                       for glue in GLUES for suffix in "ch")]),
    ],
    cmdclass={"build_ext": BuildExt, "sdist": Sdist},
)
