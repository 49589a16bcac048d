"""W2: a vector times the matrix of a Gaussian kernel between points, not stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.workload import Array, Numba, Workload, normal

N, M = 4096, 4096


def inputs(rng: np.random.Generator) -> dict[str, Array]:
    x, z = (normal(rng, n, 3, scale=0.6) for n in (N, M))
    return {"x": x, "z": z, "b": normal(rng, M)}


def kernel(x: Array, z: Array) -> Array:
    return np.exp(2 * (x @ z.T) - (x**2).sum(1)[:, None] - (z**2).sum(1))


def value(x: Array, z: Array, b: Array) -> Array:
    return kernel(x, z) @ b


def gradients(y: Array, dy: Array, x: Array, z: Array, b: Array) -> tuple[Array, Array, Array]:
    e = kernel(x, z)
    w = -2 * e * dy[:, None] * b
    dx = x * w.sum(1)[:, None] - w @ z
    dz = z * w.sum(0)[:, None] - w.T @ x
    return dx, dz, dy @ e


def in_torch(t: Any, x: Any, z: Any, b: Any) -> Any:
    return t.exp(-((x[:, None, :] - z[None, :, :]) ** 2).sum(-1)) @ b


def in_jax(j: Any, x: Any, z: Any, b: Any) -> Any:
    return j.numpy.exp(-((x[:, None, :] - z[None, :, :]) ** 2).sum(-1)) @ b


def in_numba(nb: Any) -> Numba:
    f32 = np.float32

    @nb.njit(parallel=True, fastmath=True)
    def value(x: Any, z: Any, b: Any, y: Any) -> None:
        for i in nb.prange(N):
            s = f32(0)
            for j in range(M):
                q = f32(0)
                for k in range(3):
                    q += (x[i, k] - z[j, k]) ** 2
                s += np.exp(-q) * b[j]
            y[i] = s

    @nb.njit(parallel=True, fastmath=True)
    def gradients(x: Any, z: Any, b: Any, y: Any, dy: Any, dx: Any, dz: Any, db: Any) -> None:
        for i in nb.prange(N):
            s0, s1, s2 = f32(0), f32(0), f32(0)
            for j in range(M):
                d0, d1, d2 = x[i, 0] - z[j, 0], x[i, 1] - z[j, 1], x[i, 2] - z[j, 2]
                e = np.exp(-(d0 * d0 + d1 * d1 + d2 * d2)) * b[j]
                s0 += e * d0
                s1 += e * d1
                s2 += e * d2
            e = f32(-2) * dy[i]
            dx[i, 0], dx[i, 1], dx[i, 2] = e * s0, e * s1, e * s2
        for j in nb.prange(M):
            s0, s1, s2, s3 = f32(0), f32(0), f32(0), f32(0)
            for i in range(N):
                d0, d1, d2 = x[i, 0] - z[j, 0], x[i, 1] - z[j, 1], x[i, 2] - z[j, 2]
                e = np.exp(-(d0 * d0 + d1 * d1 + d2 * d2)) * dy[i]
                s0 += e * d0
                s1 += e * d1
                s2 += e * d2
                s3 += e
            e = f32(2) * b[j]
            dz[j, 0], dz[j, 1], dz[j, 2], db[j] = e * s0, e * s1, e * s2, s3

    return value, gradients


KERNEL_SUM = Workload(
    "W2",
    "sum of Gaussian kernels, 4096 x 4096 points",
    "y[i] = sum[j](exp(-sum[k]((x[i, k] - z[j, k])**2)) * b[j])",
    inputs,
    value,
    gradients,
    in_torch,
    in_jax,
    numba=in_numba,
)
