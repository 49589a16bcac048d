"""W12: the seven-point stencil in three dimensions; W12b: a separable filter of volumes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from benchmarks.workloads.workload import Array, Numba, Workload, normal

N = 160
NEIGHBOURS = ((0, 1, 1), (2, 1, 1), (1, 0, 1), (1, 2, 1), (1, 1, 0), (1, 1, 2))
"""The places of the six neighbours in a cube of 3 x 3 x 3 around (1, 1, 1)."""

SIDE, TAPS = 128, 5


# --- the stencil ----------------------------------------------------------------------------------


def laplacian_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {"x": normal(rng, N + 2, N + 2, N + 2)}


def at(x: Any, i: int, j: int, k: int) -> Any:
    """The inner points, moved by i - 1, j - 1 and k - 1."""
    return x[i : i + N, j : j + N, k : k + N]


def laplacian(x: Array) -> Array:
    return sum(at(x, *place) for place in NEIGHBOURS) - 6 * at(x, 1, 1, 1)


def laplacian_gradients(y: Array, dy: Array, x: Array) -> tuple[Array]:
    dx = np.zeros_like(x)
    for place in NEIGHBOURS:
        at(dx, *place)[...] += dy
    at(dx, 1, 1, 1)[...] -= 6 * dy
    return (dx,)


def laplacian_in_library(module: Any, x: Any) -> Any:
    return sum(at(x, *place) for place in NEIGHBOURS) - 6 * at(x, 1, 1, 1)


def laplacian_text() -> str:
    terms = " + ".join(f"x[i + {i}, j + {j}, k + {k}]" for i, j, k in NEIGHBOURS)
    ranges = "i in range(D), j in range(H), k in range(W)"
    return f"y[{ranges}] = {terms} - 6*x[i + 1, j + 1, k + 1]"


def laplacian_numba(nb: Any) -> Numba:
    f32 = np.float32

    @nb.njit(parallel=True, fastmath=True)
    def value(x: Any, y: Any) -> None:
        for i in nb.prange(1, N + 1):
            for j in range(1, N + 1):
                for k in range(1, N + 1):
                    outer = x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k] + x[i, j + 1, k]
                    inner = x[i, j, k - 1] + x[i, j, k + 1] - f32(6) * x[i, j, k]
                    y[i - 1, j - 1, k - 1] = outer + inner

    @nb.njit(parallel=True, fastmath=True)
    def gradients(x: Any, y: Any, dy: Any, dx: Any) -> None:
        around = np.zeros((N + 4, N + 4, N + 4), f32)
        around[2:-2, 2:-2, 2:-2] = dy
        for i in nb.prange(1, N + 3):
            for j in range(1, N + 3):
                for k in range(1, N + 3):
                    d = around[i - 1, j, k] + around[i + 1, j, k] + around[i, j - 1, k]
                    d += around[i, j + 1, k] + around[i, j, k - 1] + around[i, j, k + 1]
                    dx[i - 1, j - 1, k - 1] = d - f32(6) * around[i, j, k]

    return value, gradients


# --- the filter -----------------------------------------------------------------------------------


def blur_inputs(rng: np.random.Generator) -> dict[str, Array]:
    weights = {name: normal(rng, TAPS, scale=0.5) for name in "abc"}
    return {**weights, "x": normal(rng, *[SIDE + TAPS - 1] * 3)}


def windows(x: Array, axis: int) -> Array:
    return sliding_window_view(x, TAPS, axis)


def blur(a: Array, b: Array, c: Array, x: Array) -> Array:
    return windows(windows(windows(x, 2) @ c, 1) @ b, 0) @ a


def blur_gradients(
    y: Array, dy: Array, a: Array, b: Array, c: Array, x: Array
) -> tuple[Array, Array, Array, Array]:
    rows = windows(x, 2) @ c
    planes = windows(rows, 1) @ b
    da, d = through(dy, a, planes, 0)
    db, d = through(d, b, rows, 1)
    dc, dx = through(d, c, x, 2)
    return da, db, dc, dx


def through(dz: Array, w: Array, x: Array, axis: int) -> tuple[Array, Array]:
    """The gradients of `windows(x, axis) @ w` by `w` and by `x`."""
    dw, dx = np.empty_like(w), np.zeros_like(x)
    for s in range(TAPS):
        place = tuple(slice(s, s + SIDE) if n == axis else slice(None) for n in range(3))
        dw[s] = np.vdot(dz, x[place])
        dx[place] += w[s] * dz
    return dw, dx


def blur_torch(t: Any, a: Any, b: Any, c: Any, x: Any) -> Any:
    """One axis after the other."""
    convolve, z = t.nn.functional.conv3d, x[None, None]
    z = convolve(z, c.view(1, 1, 1, 1, TAPS))
    z = convolve(z, b.view(1, 1, 1, TAPS, 1))
    return convolve(z, a.view(1, 1, TAPS, 1, 1))[0, 0]


def blur_jax(j: Any, a: Any, b: Any, c: Any, x: Any) -> Any:
    x = sum(c[u] * x[:, :, u : u + SIDE] for u in range(TAPS))
    x = sum(b[t] * x[:, t : t + SIDE] for t in range(TAPS))
    return sum(a[s] * x[s : s + SIDE] for s in range(TAPS))


LAPLACIAN = Workload(
    "W12",
    "seven-point stencil, 160 x 160 x 160",
    laplacian_text(),
    laplacian_inputs,
    laplacian,
    laplacian_gradients,
    laplacian_in_library,
    laplacian_in_library,
    numba=laplacian_numba,
    declarations="x: f32[D + 2, H + 2, W + 2]\n",
    sizes={"D": N, "H": N, "W": N},
)
BLUR = Workload(
    "W12b",
    "separable filter of 5 x 5 x 5 taps, 128 x 128 x 128",
    "y[i, j, k] = sum[s, t, u](a[s] * b[t] * c[u] * x[i + s, j + t, k + u])",
    blur_inputs,
    blur,
    blur_gradients,
    blur_torch,
    blur_jax,
)
