"""The integer points of a polyhedron, as arrays: one for each of its variables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tadc.passes.polyhedral.loop_nests import loop_nest
from tadc.passes.polyhedral.matrix import Matrix, Row

Numbers: TypeAlias = "npt.NDArray[np.int64]"


def integer_points(rows: Sequence[Row], variables: int) -> Numbers:
    """The points with `rows·(v, 1) >= 0`, one a column, in lexicographic order.

    A point of variables is extended by all numbers that the next one can have, for all points at
    once: time and memory are linear in the number of points, of the whole set and of its rational
    shadows along the last variables. Raises `Unbounded` where there are infinitely many.
    """
    nest = loop_nest(rows, variables)
    count = int(not nest.empty)
    columns: list[Numbers] = []
    for j in range(variables if count else 0):
        low = np.full(count, _strictest(nest.lower[j], j, columns))
        counts = np.maximum(np.full(count, _strictest(nest.upper[j], j, columns)) - low + 1, 0)
        ends = np.cumsum(counts)
        count = int(ends[-1]) if len(ends) else 0
        number = np.arange(count) + np.repeat(low - ends + counts, counts)
        columns = [*(np.repeat(column, counts) for column in columns), number]
    return np.array(columns, np.int64).reshape(variables, count if columns or not variables else 0)


def _strictest(bounds: Matrix, j: int, columns: Sequence[Numbers]) -> Any:
    """The greatest lower bound, or the least upper one, of variable j, given those before."""
    values: list[Any] = []
    for row in bounds:
        rest = sum((c * x for c, x in zip(row, columns, strict=False) if c), start=row[-1])
        values.append(-(rest // row[j]) if row[j] > 0 else rest // -row[j])
    return reduce(np.maximum if bounds[0][j] > 0 else np.minimum, values)
