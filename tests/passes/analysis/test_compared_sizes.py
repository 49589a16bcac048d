"""Sizes that programs compare: bounds of one index, also of its quotients."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.passes.analysis.compared_sizes import compared_sizes

PROJECTED = (
    "s[b, h in range(4), i, j] = sum[d in range(32)](p[b, i, 32*h + d] * p[b, j, 128 + 32*h + d])"
)


def test_a_quotient_bounds_what_it_is_a_quotient_of() -> None:
    """Heads lie in the first 256 columns: `p2 // 32 < 8` says that p2 is below 256."""
    gradient = tadc.compile(PROJECTED).derivative("p").program.op
    assert 256 in {number for _, number in compared_sizes(gradient)}


@pytest.mark.parametrize("columns", [256, 300])
def test_gradients_by_heads_side_by_side(columns: int) -> None:
    """No lane is computed by itself, whether heads fill the tensor or not; and the numbers."""
    f = tadc.compile(PROJECTED)
    p = np.random.default_rng(0).normal(size=(2, 40, columns)).astype(np.float32)
    ds = np.random.default_rng(1).normal(size=(2, 4, 40, 40)).astype(np.float32)
    (dp,) = tadc.vjp(f, p)[1](ds)
    query, key = (p[:, :, n : n + 128].reshape(2, 40, 4, 32) for n in (0, 128))
    wanted = np.zeros(p.shape)
    wanted[:, :, :128] = np.einsum("bhij,bjhd->bihd", ds, key).reshape(2, 40, 128)
    wanted[:, :, 128:256] = np.einsum("bhij,bihd->bjhd", ds, query).reshape(2, 40, 128)
    np.testing.assert_allclose(dp, wanted, rtol=1e-3, atol=1e-3)
    sizes = {"B": 2, "I": 40, "P_2": columns}
    assert "gathered" not in f.derivative("p").emit("scheduled", sizes, "f32")
