"""Every row of the tables in docs/coming-from.md: NumPy and the program compute the same.

The derivatives of the programs are compared with differences, too.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import tadc
from tests.house.test_documentation import FENCE
from tests.support.paths import DOCS

TEXT = (DOCS / "coming-from.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([^|]+) \| `([^`]+)` \| `([^`]+)` \|$", re.MULTILINE)
ROWS = ROW.findall(TEXT)


@cache
def arrays() -> dict[str, Any]:
    """What the first block of the page defines."""
    names: dict[str, Any] = {}
    first = FENCE.search(TEXT)
    assert first
    exec(first[4], names)
    return names


def program(cell: str) -> tadc.Function:
    return tadc.compile(cell.replace("; ", "\n"))


@pytest.mark.parametrize(("numpy", "tad"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_both_columns_compute_the_same(numpy: str, tad: str):
    f = program(tad)
    found = f(**{t.name: arrays()[t.name] for t in f.args})
    np.testing.assert_allclose(found, eval(numpy, dict(arrays())), rtol=1e-12, atol=1e-12)
    if any(t.is_real for t in f.args):
        assert all(verdict.ok for verdict in tadc.verify.verify(f))


def test_every_row_is_read():
    lines = [line for line in TEXT.splitlines() if line.startswith("| ")]
    assert len(ROWS) == len(lines) - len(re.findall(r"^\| \|", TEXT, re.MULTILINE)) > 30
