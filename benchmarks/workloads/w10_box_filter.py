"""W10: means over windows, a box filter."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.workload import Array, Numba, Workload, normal

N, WINDOW = 2048, 7
SIDE = N + WINDOW - 1


def inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {"x": normal(rng, SIDE, SIDE)}


def value(x: Array) -> Array:
    """One axis after the other."""
    rows, y = np.zeros((N, SIDE), x.dtype), np.zeros((N, N), x.dtype)
    for s in range(WINDOW):
        rows += x[s : s + N]
    for t in range(WINDOW):
        y += rows[:, t : t + N]
    return y / WINDOW**2


def gradients(y: Array, dy: Array, x: Array) -> tuple[Array]:
    rows, dx = np.zeros((N, SIDE), x.dtype), np.zeros_like(x)
    for t in range(WINDOW):
        rows[:, t : t + N] += dy
    for s in range(WINDOW):
        dx[s : s + N] += rows
    return (dx / WINDOW**2,)


def in_torch(t: Any, x: Any) -> Any:
    return t.nn.functional.avg_pool2d(x[None], WINDOW, stride=1)[0]


def in_jax(j: Any, x: Any) -> Any:
    total = j.lax.reduce_window(x, 0.0, j.lax.add, (WINDOW, WINDOW), (1, 1), "VALID")
    return total / WINDOW**2


def in_numba(nb: Any) -> Numba:
    f32 = np.float32

    @nb.njit(parallel=True, fastmath=True)
    def value(x: Any, y: Any) -> None:
        for i in nb.prange(N):
            rows = np.zeros(SIDE, f32)
            for s in range(WINDOW):
                for j in range(SIDE):
                    rows[j] += x[i + s, j]
            for j in range(N):
                total = f32(0)
                for t in range(WINDOW):
                    total += rows[j + t]
                y[i, j] = total * f32(1 / WINDOW**2)

    @nb.njit(parallel=True, fastmath=True)
    def gradients(x: Any, y: Any, dy: Any, dx: Any) -> None:
        for p in nb.prange(SIDE):
            rows = np.zeros(SIDE + WINDOW - 1, f32)
            for i in range(max(0, p - WINDOW + 1), min(N - 1, p) + 1):
                for j in range(N):
                    rows[j + WINDOW - 1] += dy[i, j]
            for q in range(SIDE):
                total = f32(0)
                for t in range(WINDOW):
                    total += rows[q + t]
                dx[p, q] = total * f32(1 / WINDOW**2)

    return value, gradients


BOX_FILTER = Workload(
    "W10",
    "means over windows of 7 x 7, 2048 x 2048",
    f"y[i, j] = sum[s in range({WINDOW}), t in range({WINDOW})](x[i + s, j + t]) / {WINDOW**2}",
    inputs,
    value,
    gradients,
    in_torch,
    in_jax,
    numba=in_numba,
)
