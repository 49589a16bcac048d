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


@pytest.mark.parametrize("size", [70, 257])
def test_rows_before_are_read_where_sizes_do_not_tell(size: int) -> None:
    """That z has as many rows as x is no part of the program; the terms that all lanes read at a
    distance are ahead of masks."""
    kernel = "exp(sum[d](x[i, d] * z[j, d]) / 9)"
    f = tadc.compile(f"y[i] = log(sum[j in range(i + 1)]({kernel}))")
    rng = np.random.default_rng(size)
    arrays = {"x": rng.normal(size=(size, 8)), "z": rng.normal(size=(size, 8))}
    value, pullback = tadc.vjp(f, **arrays)
    adjoint = rng.normal(size=size)
    found = dict(zip([t.name for t in f.args], pullback(adjoint), strict=True))
    pairs = np.tril(np.exp(arrays["x"] @ arrays["z"].T / 9))
    shares = adjoint[:, None] * pairs / pairs.sum(1, keepdims=True) / 9
    np.testing.assert_allclose(value, np.log(pairs.sum(1)), rtol=1e-12)
    np.testing.assert_allclose(found["x"], shares @ arrays["z"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["z"], shares.T @ arrays["x"], rtol=1e-9, atol=1e-12)


def test_reads_across_rows_are_ahead_of_masks() -> None:
    """No lane is computed by itself, though terms are tested beside a read across the rows."""
    source = "w: f32[N, N]\nx: f32[N, 8]\ny[l, k] = sum[i in range(l, N)](w[l, i] * x[i, k])"
    f = tadc.compile(source)
    assert "gathered" not in f.emit("scheduled", {"N": 512}, "f32")


def test_a_triangle_of_short_sums_has_blocks() -> None:
    """Values that are the same for all terms are computed ahead, as in the square."""
    f = tadc.compile(f"x: f32[N, 3]\ny = sum[i, j in range(i)]({PAIRS['energy']})")
    plan = tadc.grad(f).emit("plan", {"N": 1024}, "f32")
    assert "dx[i, d]: rows d by 3, columns i by" in plan
