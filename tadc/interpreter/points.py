"""Lists of points: the indices in scope, one array element per point.

A body is interpreted for many points at once. Sums append their own indices to every point that
they are evaluated at, conditions keep some of the points; both make a new list that remembers
which point of the list around it each of its points comes from (`origin`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine, Constraint
from tadc.interpreter.arrays import Array

POINTS_AT_ONCE = 1 << 17
"""Points evaluated at once: bounds the memory, one array of this size per value of a body."""


class Points:
    """`count` points; values of outer lists are gathered when they are first used here."""

    def __init__(
        self,
        count: int,
        values: dict[SSAValue, Array],
        outer: Points | None = None,
        origin: Array | None = None,
    ):
        self.count = count
        self._values = values
        self._outer = outer
        self._origin = origin
        self._absent: dict[SSAValue, Array] = {}

    def __getitem__(self, value: SSAValue) -> Array:
        if value not in self._values:
            assert self._outer is not None, f"{value} is not defined before its use"
            self._values[value] = self._outer[value][self._origin]
        return self._values[value]

    def __setitem__(self, value: SSAValue, array: Array) -> None:
        self._values[value] = array

    def absent(self, value: SSAValue) -> Array | None:
        """A mask of the points at which a condition leaves out a value; None: nowhere."""
        if value not in self._absent and self._outer is not None:
            found = self._outer.absent(value)
            return None if found is None else found[self._origin]
        return self._absent.get(value)

    def leave_out(self, value: SSAValue, mask: Array | None) -> None:
        """Let a value be 0 at these points, and absent."""
        if mask is not None and mask.any():
            self._absent[value] = mask
            self[value] = np.where(mask, 0, self[value]).astype(self[value].dtype)

    def select(self, origin: Array, own: dict[SSAValue, Array] | None = None) -> Points:
        """A list inside this one, with further indices."""
        return Points(len(origin), own or {}, self, origin)

    def affine(self, form: Affine, sizes: Mapping[str, int]) -> Array:
        constant = form.constant + sum(form[name] * sizes[name] for name in form.sizes)
        total = np.full(self.count, constant, np.int64)
        for index in form.indices:
            total += form[index] * self[index]
        return total

    def holds(self, constraints: Sequence[Constraint], sizes: Mapping[str, int]) -> Array:
        """A mask of the points at which all the constraints hold."""
        result = np.ones(self.count, np.bool_)
        for c in constraints:
            value = self.affine(c.form, sizes)
            result &= (value == 0) if c.equality else (value >= 0)
        return result


def box(indices: Sequence[SSAValue], shape: Sequence[int]) -> Iterator[Points]:
    """The points of a dense index set in row-major order, a chunk at a time."""
    total = int(np.prod(shape, dtype=np.int64))
    for start in range(0, total, POINTS_AT_ONCE):
        flat = np.arange(start, min(start + POINTS_AT_ONCE, total))
        values = np.unravel_index(flat, shape) if shape else ()
        yield Points(len(flat), dict(zip(indices, values, strict=True)))
