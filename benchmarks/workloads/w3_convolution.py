"""W3: a strided and dilated convolution of signals; W3b: 3 x 3 convolution of planes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from benchmarks.workloads.workload import Array, Workload, normal

T, TAPS = 512, 5
LENGTH = 2 * (T - 1) + 3 * (TAPS - 1) + 1


def strided_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {"w": normal(rng, 32, 32, TAPS, scale=0.1), "x": normal(rng, 8, 32, LENGTH)}


def windows(x: Array) -> Array:
    """x[n, c, 2*t + 3*s] by n, c, t, s."""
    return sliding_window_view(x, 3 * TAPS - 2, 2)[:, :, ::2, ::3]


def strided(w: Array, x: Array) -> Array:
    return np.einsum("ocs,ncts->not", w, windows(x), optimize=True)


def strided_gradients(y: Array, dy: Array, w: Array, x: Array) -> tuple[Array, Array]:
    dw = np.einsum("not,ncts->ocs", dy, windows(x), optimize=True)
    dx = np.zeros_like(x)
    for s in range(TAPS):
        part = np.einsum("oc,not->nct", w[:, :, s], dy, optimize=True)
        dx[:, :, 3 * s : 3 * s + 2 * T : 2] += part
    return dw, dx


def strided_torch(t: Any, w: Any, x: Any) -> Any:
    return t.nn.functional.conv1d(x, w, stride=2, dilation=3)


def strided_jax(j: Any, w: Any, x: Any) -> Any:
    names = ("NCH", "OIH", "NCH")
    convolve = j.lax.conv_general_dilated
    return convolve(x, w, (2,), "VALID", rhs_dilation=(3,), dimension_numbers=names)


def plane_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {"w": normal(rng, 32, 32, 3, 3, scale=0.1), "x": normal(rng, 4, 32, 58, 58)}


def plane(w: Array, x: Array) -> Array:
    return np.einsum("ocst,nchvst->nohv", w, sliding_window_view(x, (3, 3), (2, 3)), optimize=True)


def plane_gradients(y: Array, dy: Array, w: Array, x: Array) -> tuple[Array, Array]:
    patches = sliding_window_view(x, (3, 3), (2, 3))
    dw = np.einsum("nohv,nchvst->ocst", dy, patches, optimize=True)
    dx = np.zeros_like(x)
    for s, t in np.ndindex(3, 3):
        part = np.einsum("oc,nohv->nchv", w[:, :, s, t], dy, optimize=True)
        dx[:, :, s : s + 56, t : t + 56] += part
    return dw, dx


def plane_torch(t: Any, w: Any, x: Any) -> Any:
    return t.nn.functional.conv2d(x, w)


def plane_jax(j: Any, w: Any, x: Any) -> Any:
    names = ("NCHW", "OIHW", "NCHW")
    return j.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=names)


STRIDED = Workload(
    "W3",
    "convolution with stride 2 and dilation 3, 8 x 32 x 512, 32 channels, 5 taps",
    "y[n, o, t] = sum[c, s](w[o, c, s] * x[n, c, 2*t + 3*s])",
    strided_inputs,
    strided,
    strided_gradients,
    strided_torch,
    strided_jax,
)
PLANE = Workload(
    "W3b",
    "convolution 3 x 3, 4 x 32 x 56 x 56, 32 channels",
    "y[n, o, h, v] = sum[c, s, t](w[o, c, s, t] * x[n, c, h + s, v + t])",
    plane_inputs,
    plane,
    plane_gradients,
    plane_torch,
    plane_jax,
)
