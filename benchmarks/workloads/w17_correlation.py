"""W17: the correlation of two images at 32 displacements, as of stereo matching."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.workload import Array, Numba, Workload, normal

CHANNELS, H, W, SHIFTS = 32, 128, 256, 32


def inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {"f": normal(rng, CHANNELS, H, W), "g": normal(rng, CHANNELS, H, W + SHIFTS - 1)}


def shifted(g: Any, d: int) -> Any:
    return g[:, :, d : d + W]


def value(f: Array, g: Array) -> Array:
    return np.stack([(f * shifted(g, d)).sum(0) for d in range(SHIFTS)])


def gradients(y: Array, dy: Array, f: Array, g: Array) -> tuple[Array, Array]:
    df, dg = np.zeros_like(f), np.zeros_like(g)
    for d in range(SHIFTS):
        df += dy[d] * shifted(g, d)
        shifted(dg, d)[...] += dy[d] * f
    return df, dg


def in_torch(t: Any, f: Any, g: Any) -> Any:
    return t.stack([(f * shifted(g, d)).sum(0) for d in range(SHIFTS)])


def in_jax(j: Any, f: Any, g: Any) -> Any:
    return j.numpy.stack([(f * shifted(g, d)).sum(0) for d in range(SHIFTS)])


def in_numba(nb: Any) -> Numba:
    f32 = np.float32

    @nb.njit(parallel=True, fastmath=True)
    def value(f: Any, g: Any, y: Any) -> None:
        for h in nb.prange(H):
            for d in range(SHIFTS):
                total = np.zeros(W, f32)
                for c in range(CHANNELS):
                    for w in range(W):
                        total[w] += f[c, h, w] * g[c, h, w + d]
                y[d, h] = total

    @nb.njit(parallel=True, fastmath=True)
    def gradients(f: Any, g: Any, y: Any, dy: Any, df: Any, dg: Any) -> None:
        for h in nb.prange(H):
            for c in range(CHANNELS):
                left, right = np.zeros(W, f32), np.zeros(W + SHIFTS - 1, f32)
                for d in range(SHIFTS):
                    for w in range(W):
                        left[w] += dy[d, h, w] * g[c, h, w + d]
                        right[w + d] += dy[d, h, w] * f[c, h, w]
                df[c, h], dg[c, h] = left, right

    return value, gradients


CORRELATION = Workload(
    "W17",
    "correlation volume, 32 channels, 128 x 256, 32 displacements",
    "y[d, h, w] = sum[c](f[c, h, w] * g[c, h, w + d])",
    inputs,
    value,
    gradients,
    in_torch,
    in_jax,
    numba=in_numba,
)
