"""Sums over the pairs of a triangle: right, and as fast as those over the square around it."""

from __future__ import annotations

import numpy as np
import pytest

import tadc

PAIRS = {
    "energy": "1 / (sum[d in range(3)]((x[i, d] - x[j, d])**2) + 1)",
    "products": "sum[d](x[i, d] * z[j, d])**2",
    "weights": "exp(-x[i, 0] * z[j, 0]) * x[j, 1]",
}
RANGES = {
    "before": ("j in range(i)", lambda i, j: j < i),
    "behind": ("j in range(i + 1, N)", lambda i, j: j > i),
    "until": ("j in range(min(i + 1, N))", lambda i, j: j <= i),
    "last": ("j in range(N - i, N)", lambda i, j: i + j >= len(i)),
}


def gradients(source: str, *arrays: np.ndarray) -> list[np.ndarray]:
    """The value of a program, and its gradients by x and z."""
    f = tadc.compile("x: f64[N, D]\nz: f64[N, D]\n" + source)
    arguments = dict(zip([t.name for t in f.args], arrays, strict=False))
    value, pullback = tadc.vjp(f, **arguments)
    adjoint = np.random.default_rng(1).normal(size=value.shape)
    return [value, *pullback(adjoint)[:2]]


@pytest.mark.parametrize("size", [1, 70, 257])
@pytest.mark.parametrize("among", RANGES)
@pytest.mark.parametrize("term", PAIRS)
def test_a_triangle_is_a_square_with_weights(term: str, among: str, size: int) -> None:
    written, holds = RANGES[among]
    rng = np.random.default_rng(size)
    x, z = rng.normal(size=(2, size, 20 if term == "products" else 3))
    weights = np.fromfunction(holds, (size, size), dtype=int).astype(float)
    over, square = f"i, {written}", "i, j"
    for of in ("", "[i in range(N)]"):
        own = (text.removeprefix("i, ") if of else text for text in (over, square))
        triangle, whole = (f"y{of} = sum[{text}]" for text in own)
        found = gradients(f"{triangle}({PAIRS[term]})", x, z)
        expected = gradients(f"w: f64[N, N]\n{whole}({PAIRS[term]} * w[i, j])", x, z, weights)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_a_triangle_of_short_sums_has_blocks() -> None:
    """What is the same for all terms is computed ahead, as in the square."""
    f = tadc.compile(f"x: f32[N, 3]\ny = sum[i, j in range(i)]({PAIRS['energy']})")
    plan = tadc.grad(f).emit("plan", {"N": 1024}, "f32")
    assert "dx[i, d]: rows d by 3, columns i by" in plan
