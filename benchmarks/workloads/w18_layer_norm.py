"""W18: layer normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.workload import Array, Workload, normal

ROWS, WIDTH, SMALL = 2048, 768, 1e-5
SOURCE = f"""\
m[i] = sum[j](x[i, j]) / J
v[i] = sum[j]((x[i, j] - m[i])**2) / J
y[i, j] = (x[i, j] - m[i]) / sqrt(v[i] + {SMALL}) * g[j] + b[j]"""


def inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {"x": normal(rng, ROWS, WIDTH), "g": normal(rng, WIDTH), "b": normal(rng, WIDTH)}


def normed(module: Any, x: Any) -> Any:
    """Rows with mean 0 and variance 1, and the factors that brought them there."""
    centred = x - x.mean(1)[:, None]
    factors = 1 / module.sqrt((centred**2).mean(1) + SMALL)
    return centred * factors[:, None], factors[:, None]


def value(x: Array, g: Array, b: Array) -> Array:
    return normed(np, x)[0] * g + b


def gradients(y: Array, dy: Array, x: Array, g: Array, b: Array) -> tuple[Array, Array, Array]:
    z, factors = normed(np, x)
    dz = dy * g
    dx = dz - dz.mean(1)[:, None] - z * (dz * z).mean(1)[:, None]
    return dx * factors, (dy * z).sum(0), dy.sum(0)


def in_torch(t: Any, x: Any, g: Any, b: Any) -> Any:
    return t.nn.functional.layer_norm(x, (WIDTH,), g, b, SMALL)


def in_jax(j: Any, x: Any, g: Any, b: Any) -> Any:
    return normed(j.numpy, x)[0] * g + b


LAYER_NORM = Workload(
    "W18",
    "layer normalisation, 2048 x 768",
    SOURCE,
    inputs,
    value,
    gradients,
    in_torch,
    in_jax,
    saved=((ROWS, 2),),
    declarations="x: f32[I, J]\ng: f32[J]\nb: f32[J]\n",
    sizes={"J": WIDTH},
)
