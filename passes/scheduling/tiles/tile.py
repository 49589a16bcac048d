"""A tile: how the elements of a definition are parted into blocks that registers hold.

y[i, j] = sum[k](x[i, k] * w[j, k])        Tile(row_index=i, column_index=j, rows=4, columns=64,
                                                group=64, panels={sum: [w[j, k] along k]})
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.once import cached_property
from tadc.passes.rewriting.shallow_copy import changed


@dataclass(frozen=True)
class Hoisted:
    """An expression of a sum that is the same for all rows, and varies with `indices` of the sum.

    It is computed ahead, once per column and value of these indices.
    """

    value: SSAValue
    indices: tuple[SSAValue, ...]


@dataclass(frozen=True)
class Neighbour:
    """A value so many rows and columns away, which another value is equal to."""

    value: SSAValue
    rows: int
    columns: int


@dataclass(frozen=True)
class Tile:
    """Blocks of `rows` x `columns` elements, in groups of such blocks along the rows."""

    row_index: SSAValue | None
    """The index along which blocks have rows; None: they have one row."""
    column_index: SSAValue
    """The index along which vectors run: of the result, or the innermost one of a sum, whose terms
    then are what vectors hold."""
    rows: int
    columns: int
    lanes: int = 1
    """Elements of a vector, of which `columns` is a multiple."""
    rest: int = 0
    """Columns of narrower blocks, for what whole blocks leave at the end; 0: there are none."""
    group: int = 1
    """Blocks along the rows that one iteration computes, one after the other."""
    along: tuple[tuple[SSAValue, int], ...] = ()
    """Other indices of the result, the innermost loop first, and for how many values of each an
    iteration computes the group: panels are the same for all of them."""
    panels: dict[tix.ReductionOp, tuple[Hoisted, ...]] = field(
        default_factory=dict["tix.ReductionOp", tuple[Hoisted, ...]]
    )
    """For each sum what is copied into panels."""
    chunks: dict[tix.ReductionOp, tuple[SSAValue, int]] = field(
        default_factory=dict["tix.ReductionOp", "tuple[SSAValue, int]"]
    )
    """For each sum of which a cache cannot hold what blocks share, the index that is cut and the
    length of chunks."""
    whole: tuple[tuple[SSAValue, int], ...] = ()
    """Further indices of which a block has all values, as rows, with the number of these."""
    step: int = 1
    """The distance from a row to the next one, along the index of rows."""
    neighbours: dict[SSAValue, tuple[Neighbour, ...]] = field(
        default_factory=dict["SSAValue", "tuple[Neighbour, ...]"]
    )
    """The equal values elsewhere in a block, the best first, for values of bodies without sums."""
    in_stream: bool = False
    """True for rows of a stream, without sums that have blocks of their own."""
    has_masks: bool = field(default=True, compare=False)
    """True if registers hold masks, so that these cost nothing (`block_versions`)."""
    always: bool = field(default=False, compare=False)
    """True if whatever sizes the function is called with leave room for a block."""

    @cached_property
    def axes(self) -> tuple[tuple[SSAValue, int], ...]:
        """The indices in which the rows of a block differ, with their number of values."""
        own = () if self.row_index is None else ((self.row_index, self.rows),)
        return (*own, *self.whole)

    @cached_property
    def height(self) -> int:
        """The rows of a block, along all axes."""
        return prod(count for _, count in self.axes)

    @property
    def shared_blocks(self) -> int:
        """The blocks of one iteration, which share panels."""
        return self.group * prod(count for _, count in self.along)

    @property
    def narrow(self) -> Tile:
        """The tile of the narrower blocks."""
        return changed(self, columns=self.rest, rest=0)

    def narrow_blocks(self, left: int) -> int:
        """The narrower blocks for so many columns that whole blocks leave; none where they would
        be no narrower than a whole one."""
        count = -(-left // self.rest) if self.rest else 0
        return count if count * self.rest < self.columns else 0

    def columns_for(self, extent: int) -> int:
        """The columns that blocks compute where the result has so many: some of them twice."""
        whole, left = divmod(extent, self.columns)
        narrow = self.narrow_blocks(left) * self.rest
        return whole * self.columns + (narrow or (self.columns if left else 0))

    def computed(self, value: SSAValue) -> float:
        """The share of a block's elements that compute a value: others reuse a neighbour's."""
        vectors = self.columns // self.lanes
        shares = [1.0]
        for same in self.neighbours.get(value, ()):
            rows = max(0, self.rows - abs(same.rows)) / self.rows
            shares.append(1 - rows * ((vectors - 1) / vectors if same.columns else 1))
        return min(shares)

    def offsets(self, row: int) -> dict[SSAValue, int]:
        """The position of a row along each axis; the last axis runs fastest."""
        found: dict[SSAValue, int] = {}
        for index, count in reversed(self.axes):
            row, found[index] = divmod(row, count)
        return found

    def distances(self, row: int) -> dict[SSAValue, int]:
        """The numbers that are added to the indices of the first row, along each axis."""
        found = self.offsets(row)
        return {v: n * self.step if v is self.row_index else n for v, n in found.items()}

    def row_like(self, row: int | None, indices: Container[SSAValue]) -> int | None:
        """The first row with the same values of these indices; None if no row index is one."""
        if row is None:
            return None
        first, rows, differs = 0, 1, False
        for index, count in reversed(self.axes):
            row, offset = divmod(row, count)
            if index in indices:
                first, differs = first + offset * rows, True
            rows *= count
        return first if differs else None

    def count_in(self, indices: Container[SSAValue]) -> int:
        """The number of rows in which these indices differ."""
        return prod(count for index, count in self.axes if index in indices)

    def rows_in(self, indices: Container[SSAValue]) -> list[int | None]:
        """The first row for each combination of values of these indices."""
        return list(dict.fromkeys(self.row_like(row, indices) for row in range(self.height)))
