# SPDX-License-Identifier: BSD-2-Clause
"""usage: summary.py LIBRARY

Prints the figures of the ABI, which scripts/test shows with its results: functions that
the library exports, its size, and what each binding makes of the functions.
"""

import sys
import tempfile
from pathlib import Path

import binary

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/bindings"))

import exports


def lines(library):
    with tempfile.TemporaryDirectory() as scratch:
        size = binary.stripped_size(library, Path(scratch))
    yield (f"{'libfp.so':10} {len(binary.exported(library)):4} functions exported, "
           f"{size} bytes stripped")
    for binding in exports.BINDINGS:
        words = [word for _, _, word, _ in exports.read(ROOT / binding)[0]]
        yield (f"{exports.language(binding):10} {words.count('wrapped'):4} functions "
               f"wrapped, {words.count('left-out')} left out")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("\n".join(lines(Path(sys.argv[1]))))
