"""W7: weighted sums over three of four axes; W7b: the logarithm of sums of exponentials."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.workload import Array, Workload, normal

SHAPE = (32, 64, 56, 56)
N = 4096


def channels_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {"x": normal(rng, *SHAPE), "g": normal(rng, SHAPE[1])}


def channels(x: Array, g: Array) -> Array:
    return x.sum((0, 2, 3)) * g


def channels_gradients(y: Array, dy: Array, x: Array, g: Array) -> tuple[Array, Array]:
    dx = np.empty_like(x)
    dx[...] = (dy * g)[:, None, None]
    return dx, dy * x.sum((0, 2, 3))


def channels_in_library(module: Any, x: Any, g: Any) -> Any:
    return (x * g[None, :, None, None]).sum((0, 2, 3))


def log_sum_exp_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {"x": normal(rng, N, N)}


def log_sum_exp(x: Array) -> Array:
    return np.log(np.exp(x).sum(1))


def log_sum_exp_gradients(y: Array, dy: Array, x: Array) -> tuple[Array]:
    return (dy[:, None] * np.exp(x - y[:, None]),)


def log_sum_exp_torch(t: Any, x: Any) -> Any:
    return t.log(t.exp(x).sum(1))


def log_sum_exp_jax(j: Any, x: Any) -> Any:
    return j.numpy.log(j.numpy.exp(x).sum(1))


CHANNELS = Workload(
    "W7",
    "sums of channels, 32 x 64 x 56 x 56",
    "y[c] = sum[n, h, w](x[n, c, h, w] * g[c])",
    channels_inputs,
    channels,
    channels_gradients,
    channels_in_library,
    channels_in_library,
    saved=((SHAPE[1],),),
)
LOG_SUM_EXP = Workload(
    "W7b",
    "logarithm of sums of exponentials, 4096 x 4096",
    "y[i] = log(sum[j](exp(x[i, j])))",
    log_sum_exp_inputs,
    log_sum_exp,
    log_sum_exp_gradients,
    log_sum_exp_torch,
    log_sum_exp_jax,
)
