"""W1: the example of the paper. A diagonal is read, and a vector at sums of indices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from benchmarks.workloads.workload import Array, Numba, Workload, normal

ROWS, COLUMNS, TERMS = 512, 512, 64


def inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {
        "a": normal(rng, ROWS, TERMS, scale=0.12),
        "b": normal(rng, COLUMNS, TERMS, scale=0.12),
        "c": rng.uniform(0.2, 1, (ROWS, ROWS)).astype(np.float32),
        "d": normal(rng, ROWS + TERMS - 1, scale=0.3),
    }


def squares(a: Array, b: Array) -> Array:
    """sum[k]((a[i, k] + b[j, k])**2) as a matrix product."""
    return (a**2).sum(1)[:, None] + (b**2).sum(1) + 2 * (a @ b.T)


def value(a: Array, b: Array, c: Array, d: Array) -> Array:
    cubes = (sliding_window_view(d, TERMS) ** 3).sum(-1)
    return np.exp(-(squares(a, b) * np.diag(c)[:, None] + cubes[:, None]))


def gradients(
    f: Array, df: Array, a: Array, b: Array, c: Array, d: Array
) -> tuple[Array, Array, Array, Array]:
    weights = -df * f
    scaled = 2 * weights * np.diag(c)[:, None]
    da = a * scaled.sum(1)[:, None] + scaled @ b
    db = b * scaled.sum(0)[:, None] + scaled.T @ a
    dc = np.diag((weights * squares(a, b)).sum(1))
    rows = np.convolve(weights.sum(1), np.ones(TERMS, a.dtype))
    return da, db, dc, 3 * d**2 * rows


def in_torch(t: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    diagonal, windows = t.diagonal(c)[:, None, None], d.unfold(0, TERMS, 1)
    terms = (a[:, None, :] + b[None, :, :]) ** 2 * diagonal + windows[:, None, :] ** 3
    return t.exp(-terms.sum(-1))


def in_jax(j: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    n = j.numpy
    diagonal, windows = n.diagonal(c)[:, None, None], d[n.arange(ROWS)[:, None] + n.arange(TERMS)]
    terms = (a[:, None, :] + b[None, :, :]) ** 2 * diagonal + windows[:, None, :] ** 3
    return n.exp(-terms.sum(-1))


def in_numba(nb: Any) -> Numba:
    f32 = np.float32

    @nb.njit(parallel=True, fastmath=True)
    def value(a: Any, b: Any, c: Any, d: Any, f: Any) -> None:
        for i in nb.prange(ROWS):
            cubes = f32(0)
            for k in range(TERMS):
                cubes += d[i + k] * d[i + k] * d[i + k]
            for j in range(COLUMNS):
                s = f32(0)
                for k in range(TERMS):
                    t = a[i, k] + b[j, k]
                    s += t * t
                f[i, j] = s
            for j in range(COLUMNS):
                f[i, j] = np.exp(-(c[i, i] * f[i, j] + cubes))

    @nb.njit(parallel=True, fastmath=True)
    def gradients(
        a: Any, b: Any, c: Any, d: Any, f: Any, df: Any, da: Any, db: Any, dc: Any, dd: Any
    ) -> None:
        rows = np.empty(ROWS, f32)
        for i in nb.prange(ROWS):
            row, diagonal = f32(0), f32(0)
            for k in range(TERMS):
                da[i, k] = 0
            for j in range(COLUMNS):
                e = -df[i, j] * f[i, j]
                s = f32(0)
                for k in range(TERMS):
                    t = a[i, k] + b[j, k]
                    s += t * t
                    da[i, k] += f32(2) * e * c[i, i] * t
                row += e
                diagonal += e * s
            for j in range(ROWS):
                dc[i, j] = 0
            dc[i, i] = diagonal
            rows[i] = row
        for j in nb.prange(COLUMNS):
            for k in range(TERMS):
                db[j, k] = 0
            for i in range(ROWS):
                e = f32(-2) * df[i, j] * f[i, j] * c[i, i]
                for k in range(TERMS):
                    db[j, k] += e * (a[i, k] + b[j, k])
        for p in range(ROWS + TERMS - 1):
            s = f32(0)
            for i in range(max(0, p - TERMS + 1), min(ROWS - 1, p) + 1):
                s += rows[i]
            dd[p] = f32(3) * d[p] * d[p] * s

    return value, gradients


PAPER = Workload(
    "W1",
    "example of the paper, 512 x 512 x 64",
    "f[i, j] = exp(-sum[k]((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))",
    inputs,
    value,
    gradients,
    in_torch,
    in_jax,
    saved=((ROWS, COLUMNS),),
    numba=in_numba,
)
