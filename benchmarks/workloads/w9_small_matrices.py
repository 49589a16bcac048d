"""W9, W9b: products of many small matrices."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.workloads.workload import Array, Workload, normal

SOURCE = "y[b, i, j] = sum[k](a[b, i, k] * c[b, k, j])"


def inputs(batch: int, n: int, rng: np.random.Generator) -> dict[str, Array]:
    return {"a": normal(rng, batch, n, n), "c": normal(rng, batch, n, n)}


def gradients(y: Array, dy: Array, a: Array, c: Array) -> tuple[Array, Array]:
    return dy @ c.transpose(0, 2, 1), a.transpose(0, 2, 1) @ dy


def in_library(module: Any, a: Any, c: Any) -> Any:
    return a @ c


FOUR = Workload(
    "W9",
    "products of 65536 pairs of matrices of 4 x 4",
    SOURCE,
    partial(inputs, 65536, 4),
    np.matmul,
    gradients,
    in_library,
    in_library,
)
SIXTEEN = Workload(
    "W9b",
    "products of 4096 pairs of matrices of 16 x 16",
    SOURCE,
    partial(inputs, 4096, 16),
    np.matmul,
    gradients,
    in_library,
    in_library,
)
