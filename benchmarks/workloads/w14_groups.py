"""W14, W14b: convolutions of planes by channels of their own, and by groups of channels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from benchmarks.workloads.workload import Array, Workload, normal

SIDE, TAPS = 56, 3
CHANNELS, GROUPS, WIDTH = 64, 8, 8
"""Of `WIDTH` channels each."""


def windows(x: Array) -> Array:
    """x[..., h + s, v + t] by ..., h, v, s, t."""
    return sliding_window_view(x, (TAPS, TAPS), (-2, -1))


def planes(rng: np.random.Generator, *channels: int) -> Array:
    return normal(rng, *channels, SIDE + TAPS - 1, SIDE + TAPS - 1)


# --- one channel each -----------------------------------------------------------------------------


def depthwise_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {"w": normal(rng, CHANNELS, TAPS, TAPS, scale=0.3), "x": planes(rng, 8, CHANNELS)}


def depthwise(w: Array, x: Array) -> Array:
    y = np.zeros((*x.shape[:2], SIDE, SIDE), x.dtype)
    for s, t in np.ndindex(TAPS, TAPS):
        y += w[:, s, t, None, None] * x[:, :, s : s + SIDE, t : t + SIDE]
    return y


def depthwise_gradients(y: Array, dy: Array, w: Array, x: Array) -> tuple[Array, Array]:
    dw, dx = np.empty_like(w), np.zeros_like(x)
    for s, t in np.ndindex(TAPS, TAPS):
        place = np.s_[:, :, s : s + SIDE, t : t + SIDE]
        dw[:, s, t] = np.einsum("nchv,nchv->c", dy, x[place])
        dx[place] += w[:, s, t, None, None] * dy
    return dw, dx


def depthwise_torch(t: Any, w: Any, x: Any) -> Any:
    return t.nn.functional.conv2d(x, w[:, None], groups=CHANNELS)


def depthwise_jax(j: Any, w: Any, x: Any) -> Any:
    return convolved(j, w[:, None], x, CHANNELS)


def convolved(j: Any, w: Any, x: Any, groups: int) -> Any:
    names = ("NCHW", "OIHW", "NCHW")
    convolve = j.lax.conv_general_dilated
    return convolve(x, w, (1, 1), "VALID", dimension_numbers=names, feature_group_count=groups)


# --- groups of channels ---------------------------------------------------------------------------


def grouped_inputs(rng: np.random.Generator) -> dict[str, Array]:
    w = normal(rng, GROUPS, WIDTH, WIDTH, TAPS, TAPS, scale=0.1)
    return {"w": w, "x": planes(rng, 4, GROUPS, WIDTH)}


def grouped(w: Array, x: Array) -> Array:
    return np.einsum("gocst,ngchvst->ngohv", w, windows(x), optimize=True)


def grouped_gradients(y: Array, dy: Array, w: Array, x: Array) -> tuple[Array, Array]:
    dw = np.einsum("ngohv,ngchvst->gocst", dy, windows(x), optimize=True)
    dx = np.zeros_like(x)
    for s, t in np.ndindex(TAPS, TAPS):
        part = np.einsum("goc,ngohv->ngchv", w[:, :, :, s, t], dy, optimize=True)
        dx[..., s : s + SIDE, t : t + SIDE] += part
    return dw, dx


def grouped_torch(t: Any, w: Any, x: Any) -> Any:
    y = t.nn.functional.conv2d(x.flatten(1, 2), w.flatten(0, 1), groups=GROUPS)
    return y.unflatten(1, (GROUPS, WIDTH))


def grouped_jax(j: Any, w: Any, x: Any) -> Any:
    flat = w.reshape(-1, *w.shape[2:]), x.reshape(len(x), -1, *x.shape[3:])
    y = convolved(j, *flat, GROUPS)
    return y.reshape(len(y), GROUPS, WIDTH, SIDE, SIDE)


DEPTHWISE = Workload(
    "W14",
    "depthwise convolution 3 x 3, 8 x 64 x 56 x 56",
    "y[n, c, h, v] = sum[s, t](w[c, s, t] * x[n, c, h + s, v + t])",
    depthwise_inputs,
    depthwise,
    depthwise_gradients,
    depthwise_torch,
    depthwise_jax,
)
GROUPED = Workload(
    "W14b",
    "convolution 3 x 3 in 8 groups of 8 channels, 4 x 64 x 56 x 56",
    "y[n, g, o, h, v] = sum[c, s, t](w[g, o, c, s, t] * x[n, g, c, h + s, v + t])",
    grouped_inputs,
    grouped,
    grouped_gradients,
    grouped_torch,
    grouped_jax,
)
