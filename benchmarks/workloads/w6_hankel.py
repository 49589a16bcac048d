"""W6: a Hankel matrix times a vector; W6b: a vector cut into frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.workload import Array, Numba, Workload, normal

N = 4096
FRAMES_COUNT, WIDTH = 65536, 64


def hankel_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {"d": normal(rng, 2 * N - 1), "v": normal(rng, N)}


def hankel(d: Array, v: Array) -> Array:
    return np.correlate(d, v, "valid")


def hankel_gradients(y: Array, dy: Array, d: Array, v: Array) -> tuple[Array, Array]:
    return np.convolve(dy, v), np.correlate(d, dy, "valid")


def hankel_torch(t: Any, d: Any, v: Any) -> Any:
    return d.unfold(0, N, 1) @ v


def hankel_jax(j: Any, d: Any, v: Any) -> Any:
    return j.numpy.correlate(d, v, mode="valid")


def hankel_numba(nb: Any) -> Numba:
    f32 = np.float32

    @nb.njit(parallel=True, fastmath=True)
    def value(d: Any, v: Any, y: Any) -> None:
        for i in nb.prange(N):
            s = f32(0)
            for k in range(N):
                s += d[i + k] * v[k]
            y[i] = s

    @nb.njit(parallel=True, fastmath=True)
    def gradients(d: Any, v: Any, y: Any, dy: Any, dd: Any, dv: Any) -> None:
        for k in nb.prange(N):
            s = f32(0)
            for i in range(N):
                s += d[i + k] * dy[i]
            dv[k] = s
        for p in nb.prange(2 * N - 1):
            s = f32(0)
            for i in range(max(0, p - N + 1), min(N - 1, p) + 1):
                s += dy[i] * v[p - i]
            dd[p] = s

    return value, gradients


def frames_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {"x": normal(rng, FRAMES_COUNT * WIDTH)}


def frames(x: Array) -> Array:
    return np.exp(x.reshape(FRAMES_COUNT, WIDTH))


def frames_gradients(y: Array, dy: Array, x: Array) -> tuple[Array]:
    return ((y * dy).reshape(-1),)


def frames_torch(t: Any, x: Any) -> Any:
    return t.exp(x.view(FRAMES_COUNT, WIDTH))


def frames_jax(j: Any, x: Any) -> Any:
    return j.numpy.exp(x.reshape(FRAMES_COUNT, WIDTH))


HANKEL = Workload(
    "W6",
    "Hankel matrix times a vector, 4096 x 4096",
    "y[i] = sum[k](d[i + k] * v[k])",
    hankel_inputs,
    hankel,
    hankel_gradients,
    hankel_torch,
    hankel_jax,
    numba=hankel_numba,
)
FRAMES = Workload(
    "W6b",
    "exponential of frames, 65536 x 64",
    "y[i, j in range(64)] = exp(x[64*i + j])",
    frames_inputs,
    frames,
    frames_gradients,
    frames_torch,
    frames_jax,
)
