"""Random arguments of programs, on which derivatives are verified."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tadc.dialects.tix import IndexRange, ProgramOp, TensorType
from tadc.passes.rewriting.programs import type_of
from tadc.sizes import shape_of

MOST_OF_ANY = 8
"""Elements that may be any integers are from -1 to below this: some are in range, some are not."""


class RandomArguments:
    """Random arguments of a program: real numbers, indices in their ranges, and sizes."""

    def __init__(self, program: ProgramOp, sizes: Mapping[str, int]):
        self._types = [type_of(v) for v in program.arguments.values()]
        self._sizes = sizes

    def draw(self, rng: np.random.Generator, interval: tuple[float, float]) -> list[Any]:
        """One value for each argument; real ones are uniform in the interval."""
        return [self._value(type, rng, interval) for type in self._types]

    def _value(
        self, type: TensorType, rng: np.random.Generator, interval: tuple[float, float]
    ) -> Any:
        shape = shape_of(type, self._sizes)
        if type.is_size:
            return shape[0]
        if not isinstance(type.element, IndexRange):
            return rng.uniform(*interval, shape)
        end = MOST_OF_ANY if type.end is None else type.end.evaluate(self._sizes)
        found = rng.integers(0 if type.end is not None else -1, max(1, end), shape)
        if type.end is not None and found.size >= end:  # each value, so that no segment is empty
            found.reshape(-1)[:end] = rng.permutation(end)
        return np.sort(found, axis=None).reshape(shape) if type.element.is_sorted else found
