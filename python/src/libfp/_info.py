# SPDX-License-Identifier: BSD-2-Clause
"""Which libfp this is, and whether it is the one that the extension was built for."""

from __future__ import annotations

from ._libfp import ffi, lib

# Version of the running library, and of the headers that the extension was built with.
__version__: str = ffi.string(lib.fp_version_string()).decode()
HEADERS = f"{lib.LIBFP_VERSION_MAJOR}.{lib.LIBFP_VERSION_MINOR}.{lib.LIBFP_VERSION_PATCH}"

if lib.glue_start() != 0:
    raise ImportError(
        f"the libfp that was loaded is version {__version__}; "
        f"this package was built for {HEADERS} and needs that version or a newer patch of it"
    )

_BITS = {
    "ring": lib.LIBFP_FEATURE_RING,
    "mempool": lib.LIBFP_FEATURE_MEMPOOL,
    "wakeup": lib.LIBFP_FEATURE_WAKEUP,
    "service": lib.LIBFP_FEATURE_SERVICE,
    "timer": lib.LIBFP_FEATURE_TIMER,
    "avx2": lib.LIBFP_FEATURE_AVX2,
}

# What the library offers on this machine.
FEATURES: frozenset[str] = frozenset(k for k, bit in _BITS.items() if lib.fp_features() & bit)


def library_path() -> str:
    """The file that holds the running libfp: libfp.so, or the extension if it is bundled."""
    path: str = ffi.string(lib.glue_library()).decode(errors="surrogateescape")
    return path
