"""W8: L1 distances between all pairs of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.workload import Array, Numba, Workload, normal

ROWS, COLUMNS, TERMS = 1024, 1024, 64


def inputs(rng: np.random.Generator) -> dict[str, Array]:
    """Points on two grids that never meet: the slope of abs at 0 is 0 to some, 1 to others."""
    x, z = (np.round(1024 * normal(rng, n, TERMS)) / 1024 for n in (ROWS, COLUMNS))
    return {"x": x, "z": z + np.float32(1 / 2048)}


def value(x: Array, z: Array) -> Array:
    return np.stack([np.abs(row - z).sum(1) for row in x])


def gradients(y: Array, dy: Array, x: Array, z: Array) -> tuple[Array, Array]:
    dx, dz = np.empty_like(x), np.zeros_like(z)
    for i in range(ROWS):
        slopes = dy[i][:, None] * np.sign(x[i] - z)
        dx[i] = slopes.sum(0)
        dz -= slopes
    return dx, dz


def in_torch(t: Any, x: Any, z: Any) -> Any:
    return (x[:, None, :] - z[None, :, :]).abs().sum(-1)


def in_jax(j: Any, x: Any, z: Any) -> Any:
    return j.numpy.abs(x[:, None, :] - z[None, :, :]).sum(-1)


def in_numba(nb: Any) -> Numba:
    f32 = np.float32

    @nb.njit(parallel=True, fastmath=True)
    def value(x: Any, z: Any, y: Any) -> None:
        for i in nb.prange(ROWS):
            for j in range(COLUMNS):
                s = f32(0)
                for k in range(TERMS):
                    s += abs(x[i, k] - z[j, k])
                y[i, j] = s

    @nb.njit(parallel=True, fastmath=True)
    def gradients(x: Any, z: Any, y: Any, dy: Any, dx: Any, dz: Any) -> None:
        for i in nb.prange(ROWS):
            for k in range(TERMS):
                dx[i, k] = 0
            for j in range(COLUMNS):
                e = dy[i, j]
                for k in range(TERMS):
                    d = x[i, k] - z[j, k]
                    dx[i, k] += e if d > 0 else (-e if d < 0 else f32(0))
        for j in nb.prange(COLUMNS):
            for k in range(TERMS):
                dz[j, k] = 0
            for i in range(ROWS):
                e = dy[i, j]
                for k in range(TERMS):
                    d = z[j, k] - x[i, k]
                    dz[j, k] += e if d > 0 else (-e if d < 0 else f32(0))

    return value, gradients


DISTANCES = Workload(
    "W8",
    "L1 distances, 1024 x 1024 x 64",
    "y[i, j] = sum[k](abs(x[i, k] - z[j, k]))",
    inputs,
    value,
    gradients,
    in_torch,
    in_jax,
    numba=in_numba,
)
