"""Stores of blocks whose rows lie side by side in the result: transposed, with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import tadc

PRODUCT = "y[i, j] = sum[k](x[i, k] * w[j, k])"


def planned(blocks: str, dtype: str) -> tadc.Function:
    plan = f"for {'f32' if dtype == 'float32' else 'f64'}\ny[i, j]: {blocks}"
    return tadc.compile(PRODUCT, plan=plan)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [4, 16, 48])
@pytest.mark.parametrize("rows", range(1, 10))
def test_columns_that_lie_apart_have_the_same_bits(rows: int, columns: int, dtype: str) -> None:
    """As columns side by side have, for all numbers of rows: alone, pairs, fours, with overlaps."""
    rng = np.random.default_rng(rows)
    x, w = (rng.uniform(-1, 1, (n, 30)).astype(dtype) for n in (101, 41))
    apart = planned(f"rows j by {rows}, columns i by {columns}", dtype)
    beside = planned("rows i by 2, columns j by 16", dtype)
    expected = beside(x, w)
    np.testing.assert_allclose(expected, x.astype(float) @ w.T, rtol=0, atol=1e-5)
    before = tadc.get_num_threads()
    try:
        for threads in (1, 2):
            tadc.set_num_threads(threads)
            assert np.array_equal(apart(x, w), expected)
    finally:
        tadc.set_num_threads(before)


@pytest.mark.parametrize(("rows", "stores"), [(1, 0), (3, 4), (4, 4), (7, 8), (8, 8)])
def test_squares_have_as_many_rows_as_a_power_of_two(rows: int, stores: int) -> None:
    """Two columns of three rows are four stores of two rows: the middle one is in both squares."""
    f = planned(f"rows j by {rows}, columns i by 16", "float32")
    text = f.emit("scheduled", {"I": 101, "J": 41, "K": 30}, "f32")
    column = text.split("scf.for %column")[1].split("}")[0]
    assert column.count("vector.store") == stores
    assert column.count("memref.store") == (rows == 1)
