"""W13: forces between all pairs of points, with a smooth cutoff."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.workload import Array, Numba, Workload, normal

N, SOFT = 2048, 0.01
SOURCE = f"""\
r[i, j] = sum[d]((x[i, d] - x[j, d])**2)
w[i, j] = q[j] * (1 - r[i, j])**2 / (r[i, j] + {SOFT}) if r[i, j] < 1 else 0
y[i, d] = sum[j](w[i, j] * (x[i, d] - x[j, d]))"""


def inputs(rng: np.random.Generator) -> dict[str, Array]:
    """A quarter of all pairs is nearer than 1."""
    return {"x": rng.uniform(0, 2, (N, 3)).astype(np.float32), "q": normal(rng, N)}


def distances(x: Any) -> Any:
    """The squares of the distances of all pairs."""
    return ((x[:, None, :] - x) ** 2).sum(-1)


def strength(module: Any, r: Any) -> Any:
    return module.where(r < 1, (1 - r) ** 2 / (r + SOFT), 0)


def value_in(module: Any, x: Any, q: Any) -> Any:
    w = q * strength(module, distances(x))
    return w.sum(1)[:, None] * x - w @ x


def value(x: Array, q: Array) -> Array:
    return value_in(np, x, q)


def gradients(y: Array, dy: Array, x: Array, q: Array) -> tuple[Array, Array]:
    """With e = x[i] - x[j], w = strength(r), w' its slope and h = q[j] * dy[i] - q[i] * dy[j]:

        dx[i] = sum[j](w * h + 2 * w' * (h . e) * e),   dq[j] = sum[i](w * (dy[i] . e))

    The pairs (i, j) and (j, i) have been joined: e changes its sign, and so does h.
    """
    r = distances(x)
    w = strength(np, r)
    slope = np.where(r < 1, -(1 - r) * (1 + r + 2 * SOFT) / (r + SOFT) ** 2, 0)
    work = (dy * x).sum(1)[:, None] - dy @ x.T
    pull = 2 * slope * (q * work + q[:, None] * work.T)
    dx = (w @ q)[:, None] * dy - q[:, None] * (w @ dy)
    dx += pull.sum(1)[:, None] * x - pull @ x
    return dx, (w * work).sum(0)


def in_jax(j: Any, x: Any, q: Any) -> Any:
    return value_in(j.numpy, x, q)


def in_numba(nb: Any) -> Numba:
    f32 = np.float32

    @nb.njit(parallel=True, fastmath=True)
    def value(x: Any, q: Any, y: Any) -> None:
        for i in nb.prange(N):
            a, b, c = f32(0), f32(0), f32(0)
            for j in range(N):
                u, v, w = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
                r = u * u + v * v + w * w
                near = f32(1) - r if r < f32(1) else f32(0)
                e = q[j] * near * near / (r + f32(SOFT))
                a += e * u
                b += e * v
                c += e * w
            y[i, 0], y[i, 1], y[i, 2] = a, b, c

    @nb.njit(parallel=True, fastmath=True)
    def gradients(x: Any, q: Any, y: Any, dy: Any, dx: Any, dq: Any) -> None:
        for i in nb.prange(N):
            a, b, c, s = f32(0), f32(0), f32(0), f32(0)
            for j in range(N):
                u, v, w = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
                r = u * u + v * v + w * w
                near = f32(1) - r if r < f32(1) else f32(0)
                d = f32(1) / (r + f32(SOFT))
                e = near * near * d
                s -= e * (dy[j, 0] * u + dy[j, 1] * v + dy[j, 2] * w)
                f = q[j] * dy[i, 0] - q[i] * dy[j, 0]
                g = q[j] * dy[i, 1] - q[i] * dy[j, 1]
                h = q[j] * dy[i, 2] - q[i] * dy[j, 2]
                pull = -near * (f32(1 + 2 * SOFT) + r) * d * d
                pull *= f32(2) * (f * u + g * v + h * w)
                a += e * f + pull * u
                b += e * g + pull * v
                c += e * h + pull * w
            dx[i, 0], dx[i, 1], dx[i, 2], dq[i] = a, b, c, s

    return value, gradients


FORCES = Workload(
    "W13",
    "forces with a cutoff between 2048 points",
    SOURCE,
    inputs,
    value,
    gradients,
    value_in,
    in_jax,
    numba=in_numba,
    declarations="x: f32[N, 3]\nq: f32[N]\n",
)
