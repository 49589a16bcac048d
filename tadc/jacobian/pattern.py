"""The pattern of a Jacobian for given sizes: the places of its entries, as those of a CSR matrix.

Each band of the Jacobian (`passes/index_sets/band_flow.py`) has its entries in a tensor, and cells
that say which elements of this tensor are entries: polyhedra, whose integer points are listed. All
lists together, sorted by row and column, are the pattern. An entry that lies in several bands is
the sum of their elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine
from tadc.dialects.tix.affine import SizeValues
from tadc.jacobian.points import Numbers, integer_points
from tadc.passes.index_sets.band_flow import Cell, Flow
from tadc.passes.index_sets.bands import Offset, other_indices
from tadc.passes.index_sets.space import Space
from tadc.sizes import dimensions_of

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Pattern:
    """The places of the entries of a matrix, by rows: entry n is in column `columns[n]`.

    Row i has the entries from `row_starts[i]` to `row_starts[i + 1]`, in the order of their
    columns, no column twice. All arrays are shared by the matrices of many calls, and read-only.
    """

    shape: tuple[int, int]
    row_starts: Array
    columns: Array
    sources: Array
    """Numbers of elements of the tensors of all bands, one after another in C order: what an entry
    is, or adds up from."""
    starts: Array | None
    """The beginning of the elements of each entry in `sources`; None if each entry is one."""

    @staticmethod
    def of(
        flows: Sequence[Flow],
        result: Sequence[Affine],
        argument: Sequence[Affine],
        sizes: Mapping[str, int],
    ) -> Pattern:
        """The pattern of a result with these bands, by the shapes of the result and the argument.

        Takes O(n log n) time and O(n) memory for n elements of the bands, and less time where the
        rows of each band are in order already: sorting merges runs.
        """
        sizes = SizeValues(sizes)
        rows, columns = dimensions_of(result, sizes), dimensions_of(argument, sizes)
        width = prod(columns)
        keys: list[Numbers] = [np.zeros(0, np.int64)]
        sources: list[Numbers] = [np.zeros(0, np.int64)]
        begin = 0
        for flow in flows:
            lengths = dimensions_of((o.size for o in flow.band.dimensions), sizes)
            box = (*rows, *lengths)
            found = _Elements(flow, box, sizes)
            keys.append(found.rows(rows) * width + found.columns(columns))
            sources.append(found.places + begin)
            begin += prod(box)
        key, source = np.concatenate(keys), np.concatenate(sources)
        order = np.argsort(key, kind="stable")
        key, source = key[order], source[order]
        first = np.ones(len(key), bool)
        first[1:] = key[1:] != key[:-1]
        starts = None if first.all() else np.flatnonzero(first)
        row, column = np.divmod(key[first], max(width, 1))
        return _shared((prod(rows), width), row, column, source, starts)

    @property
    def filled(self) -> Array:
        """True for each entry."""
        return np.ones(len(self.columns), bool)

    def values(self, tensors: Iterable[Array]) -> Array:
        """The entries in order, given the tensors of the bands."""
        elements = [np.ravel(tensor) for tensor in tensors]
        together = elements[0] if len(elements) == 1 else np.concatenate(elements)
        values = together[self.sources]
        return values if self.starts is None else np.add.reduceat(values, self.starts)


def _shared(
    shape: tuple[int, int], row: Numbers, column: Numbers, source: Numbers, starts: Array | None
) -> Pattern:
    """A pattern with arrays that nobody can change, of indices as short as they can be."""
    short = max(*shape, len(row)) <= np.iinfo(np.int32).max
    dtype = np.int32 if short else np.int64
    counts = np.bincount(row, minlength=shape[0])
    row_starts = np.concatenate([[0], np.cumsum(counts)]).astype(dtype)
    pattern = Pattern(shape, row_starts, column.astype(dtype), source, starts)
    for array in (pattern.row_starts, pattern.columns, pattern.sources, pattern.starts):
        if array is not None:
            array.flags.writeable = False
    return pattern


class _Elements:
    """The elements of the tensor of a band that are entries, each of them once."""

    def __init__(self, flow: Flow, box: Sequence[int], sizes: SizeValues):
        self._band = band = flow.band
        own = [*band.indices, *(offset.index for offset in band.offsets)]
        parts = [_points(cell, own, sizes) for cell in flow.cells]
        points = np.concatenate([part for part, _ in parts], axis=1)
        self._values = _values(own, points, sizes)
        self.places = _ravelled(self._coordinates(), box, points.shape[1])
        if len(parts) > 1 or not all(distinct for _, distinct in parts):
            self.places, first = np.unique(self.places, return_index=True)
            self._values = _values(own, points[:, first], sizes)

    def _coordinates(self) -> list[Any]:
        """The indices of the row and, along each dimension, by what the offset is above the least
        one: see `Offset`."""
        values = self._values
        above = (values[o.index] + o.low.evaluate(values) // o.divisor for o in self._dimensions)
        return [*(values[v] for v in self._band.indices), *above]

    @property
    def _dimensions(self) -> Sequence[Offset]:
        return self._band.dimensions

    def rows(self, shape: Sequence[int]) -> Numbers:
        """The number of the row of each, in a result of this shape."""
        indices = [self._values[v] for v in self._band.indices]
        return _ravelled(indices, shape, len(self.places))

    def columns(self, shape: Sequence[int]) -> Numbers:
        """The number of the column of each, in an argument of this shape."""
        indices = [form.evaluate(self._values) for form in self._band.element]
        return _ravelled(indices, shape, len(self.places))


def _points(cell: Cell, own: Sequence[SSAValue], sizes: SizeValues) -> tuple[Numbers, bool]:
    """The points of a cell in its own indices, and whether it is sure that none comes twice."""
    others = other_indices([c.form for c in cell], own)
    numbers = {name: Affine({}, sizes[name]) for c in cell for name in c.form.sizes}
    space = Space([*own, *others], ())
    rows = space.rows([c.substitute({**numbers}) for c in cell])
    return integer_points(rows, len(own) + len(others))[: len(own)], not others


def _values(own: Sequence[SSAValue], points: Numbers, sizes: SizeValues) -> Mapping[Any, Any]:
    values: dict[Any, Any] = dict(zip(own, points, strict=True))
    return SizeValues({**sizes, **values})


def _ravelled(indices: Sequence[Any], shape: Sequence[int], count: int) -> Numbers:
    """The numbers of elements at these indices, an array or number for each dimension."""
    number = np.zeros(count, np.int64)
    for index, size in zip(indices, shape, strict=True):
        number = number * size + index
    return number
