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
