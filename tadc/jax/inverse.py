"""Inverse modes of programs on arrays of JAX: those of `tadc/frameworks/inverse.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tadc.frameworks.inverse import Arrays, InverseMode
from tadc.frameworks.operation import Operation
from tadc.function import Function
from tadc.jax.arguments import NAMES, prepare
from tadc.jax.package import Array, jax
from tadc.jax.package import numpy as jnp
from tadc.jax.transposed import bind
from tadc.runtime.arguments import DTYPES


class JaxArrays(Arrays):
    """Arrays of JAX."""

    numpy: Any = jnp

    def function_of(self, operation: Operation) -> Callable[[Sequence[Array]], Sequence[Array]]:
        parameters = operation.function.runner.parameters

        def run(values: Sequence[Array]) -> Sequence[Array]:
            return bind(operation, *prepare(operation, parameters, values))

        return run

    def precision(self, array: Array) -> str:
        return NAMES[array.dtype]

    def converted(self, array: Array, precision: str) -> Array:
        return array.astype(DTYPES[precision])

    def solve(self, matrix: Array, rhs: Array) -> Array:
        return jnp.linalg.solve(matrix, rhs)

    def solve_triangular(self, matrix: Array, rhs: Array, lower: bool) -> Array:
        return jax.lax.linalg.triangular_solve(matrix, rhs, left_side=True, lower=lower)

    def elements(self, array: Array) -> np.ndarray[Any, Any] | None:
        return None if isinstance(array, jax.core.Tracer) else np.asarray(array)


def inverse_mode(function: Function, mode: str) -> InverseMode:
    """A mode of a function; raises `UnsupportedError` where it has none."""
    return InverseMode(function.inverse(mode), JaxArrays())
