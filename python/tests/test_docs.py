# SPDX-License-Identifier: BSD-2-Clause
"""Every Python block of docs/python.md runs as it stands there."""

import re

import pytest
from conftest import ROOT

TEXT = (ROOT / "docs" / "python.md").read_text()
BLOCKS = {TEXT[:found.start()].count("\n") + 2: found[1]
          for found in re.finditer(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)}


def test_there_are_blocks():
    assert len(BLOCKS) == TEXT.count("```python") >= 6


@pytest.mark.parametrize("line", BLOCKS)
def test_block(python, line):
    if "numpy" in BLOCKS[line]:
        pytest.importorskip("numpy")
    python(BLOCKS[line])
