"""Blocks that are narrower at the end of rows: the same bits, and only where they save work."""

from __future__ import annotations

import numpy as np
import pytest

import tadc


@pytest.mark.parametrize("rest", [16, 32])
@pytest.mark.parametrize("blocks", ["rows j by 3, columns i by 48", "columns i by 48"])
def test_narrower_blocks_at_the_end_have_the_same_bits(blocks: str, rest: int) -> None:
    """As whole blocks have, for all lengths and numbers of threads."""
    chunks = "\n  sum 1 over k in chunks of 20 of k" if "rows" in blocks else ""
    plans = (f"for f32\ny[i, j]: {blocks}{more}{chunks}" for more in ("", f", rest by {rest}"))
    whole, narrow = (tadc.compile("y[i, j] = sum[k](x[i, k] * w[j, k])", plan=p) for p in plans)
    w = np.random.default_rng(0).uniform(-1, 1, (37, 100)).astype(np.float32)
    before = tadc.get_num_threads()
    try:
        for length in (48, 49, 63, 64, 65, 79, 80, 81, 96, 97, 113):
            x = np.random.default_rng(length).uniform(-1, 1, (length, 100)).astype(np.float32)
            expected = whole(x, w)
            np.testing.assert_allclose(expected, x @ w.T, rtol=0, atol=1e-4)
            for threads in (1, 2, 7):
                tadc.set_num_threads(threads)
                assert np.array_equal(narrow(x, w), expected), f"{length} on {threads} threads"
    finally:
        tadc.set_num_threads(before)
    assert f"rest by {rest}" in narrow.emit("plan", precision="f32")


PRODUCT = "y[i, j] = sum[k](x[i, k] * w[k, j])"


@pytest.mark.parametrize(
    ("columns", "blocks"),
    [
        (32, "columns j by 32"),
        (33, "columns j by 32, rest by 16"),
        (47, "columns j by 32, rest by 16"),
        # 56 columns need four vectors, 64 have them
        (56, "columns j by 32"),
        (64, "columns j by 64"),
        (65, "columns j by 48, rest by 32"),
        (200, "columns j by 48, rest by 32"),
        # of so many the last block is little
        (257, "columns j by 64"),
        (1000, "columns j by 64"),
    ],
)
def test_which_calls_have_narrower_blocks(columns: int, blocks: str) -> None:
    plan = tadc.compile(PRODUCT).emit("plan", {"I": 200, "J": columns, "K": 50}, "f32")
    assert f"{blocks}, " in plan.replace("  # ", ", "), plan


@pytest.mark.parametrize(
    ("columns", "blocks"),
    [
        (33, "columns j by 32, rest by 16"),
        (65, "columns j by 48, rest by 32"),
        (80, "columns j by 48, rest by 32"),
        (96, "columns j by 48"),
        (130, "columns j by 48"),
        (150, "columns j by 48, rest by 16"),
        (144, "columns j by 48"),
    ],
)
def test_numbers_have_the_vectors_that_the_rest_needs(columns: int, blocks: str) -> None:
    source = f"x: f32[200, 50]\nw: f32[50, {columns}]\n{PRODUCT}"
    plan = tadc.compile(source).emit("plan", precision="f32")
    assert f"{blocks}, " in plan.replace("  # ", ", "), plan
