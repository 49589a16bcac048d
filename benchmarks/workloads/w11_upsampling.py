"""W11: an image upsampled by 2, with splines of four weights for each of the two phases."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from benchmarks.workloads.workload import Array, Workload, normal

N, TAPS = 512, 4
CUBIC = ((0.0703125, 0.6067708, 0.3203125, 0.0026042), (0.0026042, 0.3203125, 0.6067708, 0.0703125))
"""The uniform cubic B-spline at 1/4 and 3/4 between two of its knots."""


def inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {"w": np.array(CUBIC, np.float32), "x": normal(rng, N + TAPS - 1, N + TAPS - 1)}


def windows(x: Array, axis: int) -> Array:
    return sliding_window_view(x, TAPS, axis)


def along_rows(w: Array, x: Array) -> Array:
    """z[r, 2*j + q] = sum[t](w[q, t] * x[r, j + t])"""
    return (windows(x, 1) @ w.T).reshape(len(x), 2 * N)


def value(w: Array, x: Array) -> Array:
    return along_rows(w, along_rows(w, x).T).T


def gradients(y: Array, dy: Array, w: Array, x: Array) -> tuple[Array, Array]:
    """Backwards through the columns, and then through the rows."""
    dw, d = np.zeros_like(w), dy
    for z in (along_rows(w, x).T, x):
        d = np.ascontiguousarray(d.T) if z is not x else d.T
        phases = d.reshape(len(z), N, 2)
        dw += np.einsum("rjq,rjt->qt", phases, windows(z, 1), optimize=True)
        d = np.zeros_like(z)
        for t in range(TAPS):
            d[:, t : t + N] += phases @ w[:, t]
    return dw, d


def in_torch(t: Any, w: Any, x: Any) -> Any:
    """All phases as channels of one convolution, which are shuffled into pixels."""
    kernels = (w[:, None, :, None] * w[None, :, None, :]).reshape(4, 1, TAPS, TAPS)
    phases = t.nn.functional.conv2d(x[None, None], kernels)
    return t.nn.functional.pixel_shuffle(phases, 2)[0, 0]


def in_jax(j: Any, w: Any, x: Any) -> Any:
    """One axis after the other, each weight times a shifted array."""

    def rows(z: Any) -> Any:
        phases = [sum(w[q, t] * z[:, t : t + N] for t in range(TAPS)) for q in range(2)]
        return j.numpy.stack(phases, -1).reshape(len(z), 2 * N)

    return rows(rows(x).T).T


UPSAMPLING = Workload(
    "W11",
    "cubic splines, from 512 x 512 to 1024 x 1024",
    "y[i, j] = sum[s, t](w[i % 2, s] * w[j % 2, t] * x[i // 2 + s, j // 2 + t])",
    inputs,
    value,
    gradients,
    in_torch,
    in_jax,
    declarations=f"w: f32[2, {TAPS}]\n",
)
