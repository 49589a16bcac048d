"""W16: a tensor times a Khatri-Rao product (MTTKRP), the step of decompositions into factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.workload import Array, Workload, normal

A, B, C, RANK = 128, 96, 128, 32


def inputs(rng: np.random.Generator) -> dict[str, Array]:
    factors = {"b": normal(rng, B, RANK, scale=0.1), "c": normal(rng, C, RANK, scale=0.1)}
    return {"x": normal(rng, A, B, C), **factors}


def in_library(module: Any, x: Any, b: Any, c: Any) -> Any:
    return ((x @ c) * b).sum(1)


def value(x: Array, b: Array, c: Array) -> Array:
    return in_library(np, x, b, c)


def gradients(m: Array, dm: Array, x: Array, b: Array, c: Array) -> tuple[Array, Array, Array]:
    d = dm[:, None, :] * b
    db = ((x @ c) * dm[:, None, :]).sum(0)
    return d @ c.T, db, np.tensordot(x, d, ((0, 1), (0, 1)))


KHATRI_RAO = Workload(
    "W16",
    "tensor times a Khatri-Rao product, 128 x 96 x 128, rank 32",
    "m[i, r] = sum[j, k](x[i, j, k] * b[j, r] * c[k, r])",
    inputs,
    value,
    gradients,
    in_library,
    in_library,
    saved=((A, B, RANK),),
)
