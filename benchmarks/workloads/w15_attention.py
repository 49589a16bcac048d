"""W15: attention scores with relative positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.workload import Array, Workload, normal

HEADS, N, CHANNELS = 4, 384, 64


def inputs(rng: np.random.Generator) -> dict[str, Array]:
    q, k = (normal(rng, HEADS, N, CHANNELS, scale=0.3) for _ in "qk")
    return {"q": q, "k": k, "r": normal(rng, HEADS, 2 * N - 1, CHANNELS, scale=0.3)}


def diagonals(t: Any) -> Any:
    """t[h, i, i - j + N - 1] by h, i, j: every row of the mirrored matrix begins one earlier."""
    heads = t.shape[0]
    shifted = t.reshape(heads, -1)[:, N - 1 : -1]
    return shifted.reshape(heads, N, 2 * N - 2)[:, :, :N]


def value(q: Array, k: Array, r: Array) -> Array:
    return q @ k.transpose(0, 2, 1) + diagonals(q @ r[:, ::-1].transpose(0, 2, 1))


def gradients(y: Array, dy: Array, q: Array, k: Array, r: Array) -> tuple[Array, Array, Array]:
    flat = np.zeros((HEADS, N * (2 * N - 1)), dy.dtype)
    rows = flat[:, N - 1 : -1].reshape(HEADS, N, 2 * N - 2)
    assert np.shares_memory(rows, flat)
    rows[:, :, :N] = dy
    spread = flat.reshape(HEADS, N, 2 * N - 1)[:, :, ::-1]
    dr = spread.transpose(0, 2, 1) @ q
    return dy @ k + spread @ r, dy.transpose(0, 2, 1) @ q, dr


def in_torch(t: Any, q: Any, k: Any, r: Any) -> Any:
    return q @ k.transpose(1, 2) + diagonals(q @ r.flip(1).transpose(1, 2))


def in_jax(j: Any, q: Any, k: Any, r: Any) -> Any:
    return q @ k.transpose(0, 2, 1) + diagonals(q @ r[:, ::-1].transpose(0, 2, 1))


ATTENTION = Workload(
    "W15",
    "attention scores with relative positions, 4 x 384 x 384 x 64",
    f"s[h, i, j] = sum[c](q[h, i, c] * (k[h, j, c] + r[h, i - j + {N - 1}, c]))",
    inputs,
    value,
    gradients,
    in_torch,
    in_jax,
)
