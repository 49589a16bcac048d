"""Vectors at the end of a row, which come one by one."""

from __future__ import annotations

import numpy as np
import pytest

import tadc

STRIP = """\
x: f32[38]
t[i in range(29), j] = (x[j]*x[j] if i > j + 2 else 0) * x[j]
y[j] = max[i](t[i, j])
return t, y"""
ROW = """\
x: f32[64, 100]
t[i, j] = x[i, j]**2 if j <= 60 else 0
y[i, j] = t[i, j] / sum[k](t[i, k])
return t, y"""


@pytest.mark.parametrize(("source", "shape"), [(STRIP, (38,)), (ROW, (64, 100))])
def test_conditions_are_asked_in_the_last_vectors_of_a_row(
    source: str, shape: tuple[int, ...]
) -> None:
    """Rows are shorter than the columns that go side by side, or end with vectors one by one."""
    f = tadc.compile(source, plan="for f32\nt[i, j]: row by row")
    x = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    for found, expected in zip(f(x), tadc.compile(source, target="interpret")(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
