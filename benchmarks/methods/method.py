"""A method from the literature in tadc and in torch, with inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.workloads.workload import Array

Rng = np.random.Generator


@dataclass(frozen=True)
class Method:
    """A formula as one writes it, and torch's function of tensors in the order of `inputs`."""

    name: str
    source: str
    inputs: Callable[[Rng], dict[str, Array]]
    torch: Callable[..., Any]


def uniform(rng: Rng, low: float, high: float, *shape: int) -> Array:
    return rng.uniform(low, high, shape).astype(np.float32)
