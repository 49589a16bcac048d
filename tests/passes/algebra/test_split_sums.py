"""Sums are split by the indices of their terms, but not where a comparison needs all their bits."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.algebra.split_sums import split_sums

TERMS = "sum[t in range(40)](x[i, t] - z[k, t])"
ARGUMENTS = "x: f32[11, 40]\nz: f32[13, 40]\n"


def sums(source: str) -> int:
    program = split_sums(tadc.compile(ARGUMENTS + source).program.op)
    return sum(isinstance(op, tix.SumOp) for op in program.walk())


def test_terms_of_different_indices_have_sums_of_their_own():
    assert sums(f"y[i, k] = {TERMS}") == 2


@pytest.mark.parametrize("word", ["min", "max"])
def test_terms_of_extrema_stay_together(word: str):
    assert sums(f"y[i] = {word}[k]({TERMS})") == 1


def test_gradients_find_the_extremum_of_a_shorter_call():
    """The value is computed by plain loops, its gradients in blocks."""
    source = """\
    x: f32[11, 22]
    z: f32[13, 21]
    y[i in range(11)] = min[k in range(i + 1)](
        sum[t in range(3), p in range(max(0, i - 3), min(11, i + 4))](
            x[i, 2*p + 1] - z[t + k, k + p]))
    """
    f = tadc.compile("\n".join(line.strip() for line in source.splitlines()))
    rng = np.random.default_rng(0)
    values = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in ((11, 22), (13, 21))]
    y, pullback = tadc.vjp(f, *values)
    dx, _ = pullback(np.ones_like(y))
    terms = [3 * (min(11, i + 4) - max(0, i - 3)) for i in range(11)]
    np.testing.assert_array_equal(dx.sum(1), terms)
