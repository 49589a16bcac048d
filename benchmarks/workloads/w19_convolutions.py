"""W19: a transposed convolution with stride 2; W19b: convolution of volumes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from benchmarks.workloads.workload import Array, Workload, normal

SAMPLES, CHANNELS, SIDE, TAPS = 4, 32, 28, 4
WIDE = 2 * SIDE + 2

VOLUME_CHANNELS, EDGE, CUBE = 16, 24, 3


# --- transposed -----------------------------------------------------------------------------------


def transposed_inputs(rng: np.random.Generator) -> dict[str, Array]:
    w = normal(rng, CHANNELS, CHANNELS, TAPS, TAPS, scale=0.1)
    return {"w": w, "x": normal(rng, SAMPLES, CHANNELS, SIDE, SIDE)}


def every_second(z: Array, s: int, t: int) -> Array:
    """z[..., 2*i + s, 2*j + t]"""
    return z[:, :, s : s + 2 * SIDE : 2, t : t + 2 * SIDE : 2]


def transposed(w: Array, x: Array) -> Array:
    y = np.zeros((SAMPLES, CHANNELS, WIDE, WIDE), x.dtype)
    for s, t in np.ndindex(TAPS, TAPS):
        part = np.einsum("co,ncij->noij", w[:, :, s, t], x, optimize=True)
        every_second(y, s, t)[...] += part
    return y


def transposed_gradients(y: Array, dy: Array, w: Array, x: Array) -> tuple[Array, Array]:
    dw, dx = np.empty_like(w), np.zeros_like(x)
    for s, t in np.ndindex(TAPS, TAPS):
        part = every_second(dy, s, t)
        dw[:, :, s, t] = np.einsum("ncij,noij->co", x, part, optimize=True)
        dx += np.einsum("co,noij->ncij", w[:, :, s, t], part, optimize=True)
    return dw, dx


def transposed_torch(t: Any, w: Any, x: Any) -> Any:
    return t.nn.functional.conv_transpose2d(x, w, stride=2)


def transposed_jax(j: Any, w: Any, x: Any) -> Any:
    """As a convolution of an image with holes, by mirrored weights."""
    names, around = ("NCHW", "IOHW", "NCHW"), (TAPS - 1, TAPS - 1)
    convolve, mirrored = j.lax.conv_general_dilated, w[:, :, ::-1, ::-1]
    holes = {"lhs_dilation": (2, 2), "dimension_numbers": names}
    return convolve(x, mirrored, (1, 1), (around, around), **holes)


# --- volumes --------------------------------------------------------------------------------------


def volume_inputs(rng: np.random.Generator) -> dict[str, Array]:
    c, side = VOLUME_CHANNELS, EDGE + CUBE - 1
    w = normal(rng, c, c, CUBE, CUBE, CUBE, scale=0.1)
    return {"w": w, "x": normal(rng, c, side, side, side)}


def cubes(x: Array) -> Array:
    """x[c, d + s, h + t, v + u] by c, d, h, v, s, t, u."""
    return sliding_window_view(x, (CUBE, CUBE, CUBE), (1, 2, 3))


def volume(w: Array, x: Array) -> Array:
    return np.einsum("ocstu,cdhvstu->odhv", w, cubes(x), optimize=True)


def volume_gradients(y: Array, dy: Array, w: Array, x: Array) -> tuple[Array, Array]:
    dw = np.einsum("odhv,cdhvstu->ocstu", dy, cubes(x), optimize=True)
    dx = np.zeros_like(x)
    for s, t, u in np.ndindex(CUBE, CUBE, CUBE):
        part = np.einsum("oc,odhv->cdhv", w[:, :, s, t, u], dy, optimize=True)
        dx[:, s : s + EDGE, t : t + EDGE, u : u + EDGE] += part
    return dw, dx


def volume_torch(t: Any, w: Any, x: Any) -> Any:
    return t.nn.functional.conv3d(x[None], w)[0]


def volume_jax(j: Any, w: Any, x: Any) -> Any:
    names = ("NCDHW", "OIDHW", "NCDHW")
    convolve = j.lax.conv_general_dilated
    return convolve(x[None], w, (1, 1, 1), "VALID", dimension_numbers=names)[0]


TRANSPOSED = Workload(
    "W19",
    "transposed convolution 4 x 4 with stride 2, 4 x 32 x 28 x 28, 32 channels",
    f"y[n, o, p in range({WIDE}), q in range({WIDE})] = sum[c, i, j](x[n, c, i, j] * "
    f"w[c, o, p - 2*i, q - 2*j] if 0 <= p - 2*i < {TAPS} and 0 <= q - 2*j < {TAPS} else 0)",
    transposed_inputs,
    transposed,
    transposed_gradients,
    transposed_torch,
    transposed_jax,
    declarations=f"w: f32[C, O, {TAPS}, {TAPS}]\n",
)
VOLUME = Workload(
    "W19b",
    "convolution 3 x 3 x 3, 16 x 24 x 24 x 24, 16 channels",
    "y[o, d, h, v] = sum[c, s, t, u](w[o, c, s, t, u] * x[c, d + s, h + t, v + u])",
    volume_inputs,
    volume,
    volume_gradients,
    volume_torch,
    volume_jax,
)
