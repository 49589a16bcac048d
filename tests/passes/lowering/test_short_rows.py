"""Rows that are known to have few vectors: without loops, the last vector under a mask."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.function import Function
from tests.support.campaign import CAMPAIGN
from tests.support.row_programs import LAYER_NORM, SOFTMAX

ROWS = 75
CASES = {
    "softmax": SOFTMAX,
    "log softmax": "m[i] = max[j](x[i, j])\ns[i] = log(sum[j](exp(x[i, j] - m[i])))\n"
    "y[i, j] = x[i, j] - m[i] - s[i]",
    "layer norm": LAYER_NORM,
    "totals": "y[i, j] = sum[k in range(j + 1)](x[i, k])",
    "totals from the end": "x: real[I, J]\ny[i, j in range(J)] = sum[k in range(j, J)](x[i, k])",
    "products of planes": "m[i] = prod[a, j](1 + x[i, a, j] / 50)\ny[i, a, j] = x[i, a, j] * m[i]",
    "sums over rows": "s[i] = sum[j](x[i, j]**2)\nz[i, j] = x[i, j] / s[i]\n"
    "t[j] = sum[i](x[i, j] * s[i])\nreturn z, t",
}
LENGTHS = range(16, 66) if CAMPAIGN else (17, 23, 24, 31, 40, 63)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", CASES)
def test_short_rows_agree_with_the_interpreter(name: str, dtype: str):
    f = tadc.compile(CASES[name])
    rng = np.random.default_rng(0)
    for length in LENGTHS:
        shape = (ROWS, 3, length) if "a, j" in CASES[name] else (10 * ROWS, length)
        x = rng.uniform(-1, 1, shape).astype(dtype)
        given = [x if t.name == "x" else x[0] for t in f.args]
        tolerance = 3e-4 if dtype == "f4" else 1e-11
        found, expected = (all_results(g, given) for g in (f, f.with_target("interpret")))
        for got, wanted in zip(found, expected, strict=True):
            atol = tolerance * np.abs(wanted).max()
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=atol)


def all_results(f: Function, given: list[np.ndarray]) -> list[np.ndarray]:
    """The results, and the gradients of the sum of their squares."""
    results, pullback = tadc.vjp(f, *given)
    ys: list[np.ndarray] = [*results] if len(f.results) > 1 else [results]
    return [*ys, *pullback(*(2 * y for y in ys))]


@pytest.mark.parametrize(
    ("length", "dtype", "loops"),
    [(20, "f32", False), (63, "f32", False), (63, "f64", True), (100, "f32", True)],
)
def test_rows_of_few_vectors_have_no_loops(length: int, dtype: str, loops: bool):
    text = tadc.compile(SOFTMAX).emit("scheduled", {"I": 4096, "J": length}, dtype)
    assert ("scf.for %j" in text) == loops


def test_no_segments_of_sums_in_rows_side_by_side():
    """Rows that go side by side are short, and a segment has room for them."""
    beside = tadc.compile(SOFTMAX).emit("scheduled", {"I": 4096, "J": 100}, "f32")
    assert "scf.for %segment" not in beside
    alone = tadc.compile(SOFTMAX).emit("scheduled", {"I": 4096, "J": 5000}, "f32")
    assert alone.count("scf.for %segment") == 1


def test_the_length_of_a_short_row_may_depend_on_an_index_of_the_sum():
    """The vectors of a row, up to j = 2 * (l // 2) + 1, are counted before l is known."""
    source = "y[i in range(5)] = sum[k, j, l in range(3)](x[k, j] if j // 2 <= l // 2 else 0)"
    x = np.random.default_rng(0).uniform(-1, 1, (19, 19))
    expected = np.full(5, 2 * x[:, :2].sum() + x[:, :4].sum())
    np.testing.assert_allclose(tadc.compile(f"x: f64[N, N]\n{source}")(x), expected)


def test_lengths_that_may_be_less_than_nothing_have_loops():
    """A difference of sizes has no least value where no call is given."""
    text = """
x: f64[I, N]
w: f64[M]
s[i] = sum[j in range(N - M)](x[i, j]**2)
y[i, j in range(N - M)] = x[i, j] / s[i] * w[0]"""
    f = tadc.compile(text)
    assert "loops.parallel" in f.emit("scheduled")
