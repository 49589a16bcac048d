"""Every row of the tables in docs/coming-from.md: NumPy and the program compute the same.

The derivatives of the programs are compared with differences, too; those of programs with index
tensors with differences at the arrays of the page.
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
    if all(t.is_real for t in f.args):
        assert all(verdict.ok for verdict in tadc.verify.verify(f))
    else:
        check_slope(f)


def check_slope(f: tadc.Function) -> None:
    """The gradient along a direction against central differences, at the arrays of the page."""
    values, rng = {t.name: arrays()[t.name] for t in f.args}, np.random.default_rng(0)
    moved = {t.name: rng.normal(size=np.shape(values[t.name])) for t in f.args if t.is_real}
    if not moved:
        return
    y, pullback = tadc.vjp(f, **values)
    dy, h = rng.normal(size=np.shape(y)), 1e-6
    slope = sum((d * v).sum() for d, v in zip(pullback(dy), moved.values(), strict=True))
    ahead, back = (f(**values | {n: values[n] + s * v for n, v in moved.items()}) for s in (h, -h))
    np.testing.assert_allclose(slope, (dy * (ahead - back)).sum() / (2 * h), rtol=1e-6)


def test_every_row_is_read():
    lines = [line for line in TEXT.splitlines() if line.startswith("| ")]
    assert len(ROWS) == len(lines) - len(re.findall(r"^\| \|", TEXT, re.MULTILINE)) > 30
