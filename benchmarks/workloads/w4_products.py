"""W4: a product of matrices; W4b: a bilinear layer."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.workload import Array, Workload, normal

SAMPLES, WIDTH = 256, 64
BILINEAR_TERMS = "ni,oij,nj->no"


def matrices_inputs(rng: np.random.Generator) -> dict[str, Array]:
    return {"x": normal(rng, 1024, 1024, scale=0.05), "w": normal(rng, 1024, 1024)}


def matrices(x: Array, w: Array) -> Array:
    return x @ w


def matrices_gradients(y: Array, dy: Array, x: Array, w: Array) -> tuple[Array, Array]:
    return dy @ w.T, x.T @ dy


def in_library(module: Any, x: Any, w: Any) -> Any:
    return x @ w


def bilinear_inputs(rng: np.random.Generator) -> dict[str, Array]:
    x, z = (normal(rng, SAMPLES, WIDTH) for _ in range(2))
    return {"x": x, "w": normal(rng, WIDTH, WIDTH, WIDTH, scale=0.05), "z": z}


def bilinear(x: Array, w: Array, z: Array) -> Array:
    return np.einsum(BILINEAR_TERMS, x, w, z, optimize=True)


def bilinear_gradients(
    y: Array, dy: Array, x: Array, w: Array, z: Array
) -> tuple[Array, Array, Array]:
    dx = np.einsum("no,oij,nj->ni", dy, w, z, optimize=True)
    dw = np.einsum("no,ni,nj->oij", dy, x, z, optimize=True)
    dz = np.einsum("no,ni,oij->nj", dy, x, w, optimize=True)
    return dx, dw, dz


def bilinear_torch(t: Any, x: Any, w: Any, z: Any) -> Any:
    return t.einsum(BILINEAR_TERMS, x, w, z)


def bilinear_jax(j: Any, x: Any, w: Any, z: Any) -> Any:
    return j.numpy.einsum(BILINEAR_TERMS, x, w, z)


MATRICES = Workload(
    "W4",
    "matrix product, 1024 x 1024 x 1024",
    "y[i, j] = sum[k](x[i, k] * w[k, j])",
    matrices_inputs,
    matrices,
    matrices_gradients,
    in_library,
    in_library,
)
BILINEAR = Workload(
    "W4b",
    "bilinear layer, 256 samples, 64 x 64 x 64",
    "y[n, o] = sum[i, j](x[n, i] * w[o, i, j] * z[n, j])",
    bilinear_inputs,
    bilinear,
    bilinear_gradients,
    bilinear_torch,
    bilinear_jax,
    saved=((SAMPLES, WIDTH * WIDTH),),
)
