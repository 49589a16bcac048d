"""The iterations of the parallel loop over tiles, and the blocks that each of them computes.

    loops.parallel (%unit) to (%others * %strips * %groups)

An iteration has one strip of columns and one group of blocks of rows, for one value of all other
indices. Where the columns are no multiple of a block's, the last block of a strip starts earlier,
so that it ends with the last column; the same holds for rows. The columns that whole blocks leave
may have narrower ones, of which the last one starts earlier:

    70 columns by 32           | 0 .. 31 | 32 .. 63 | 38 .. 69 |
    70 columns by 32, rest 16  | 0 .. 31 | 32 .. 63 | 54 .. 69 |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from math import prod

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.lowering.loop_builders import (
    all_of,
    at_least_one,
    digits,
    quotient_up,
    select,
)
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import constant_extent


@dataclass(frozen=True)
class Span:
    """The blocks of one axis that an iteration computes, of all blocks from 0 to `size`."""

    first: SSAValue
    blocks: SSAValue | None
    """The number of blocks; None for a single one."""
    end: SSAValue
    size: SSAValue
    width: int
    exact: bool
    """True if no block has to start earlier in order to stay in bounds."""

    def start(self, at: BodyLowering, block: SSAValue) -> SSAValue:
        """The first index of a block, which ends with the last index at the latest."""
        start = at.index.add(self.first, at.index.mul(block, at.index.constant(self.width)))
        if self.exact:
            return start
        return at.index.min(start, at.index.sub(self.size, at.index.constant(self.width)))


@dataclass(frozen=True)
class Place:
    """The blocks that one iteration computes."""

    columns: Span | None
    """The blocks of columns; None where vectors run along the terms of a sum."""
    rows: Span | None
    along: dict[SSAValue, Span]
    """The values of each further index that the iteration loops over, innermost loop first."""


@dataclass(frozen=True)
class Grid:
    """The iteration space of the parallel loop over tiles, computed ahead of that loop."""

    tile: Tile
    shape: dict[SSAValue, Affine]
    """The size of the result along each of its indices."""
    others: list[tuple[SSAValue, SSAValue]]
    """The indices of neither rows nor columns, each with its number of iterations."""
    strips: SSAValue
    blocks: SSAValue
    """The number of blocks of rows, which are spread evenly over the groups."""
    groups: SSAValue

    @classmethod
    def of(cls, at: BodyLowering, op: tix.DefineOp, tile: Tile) -> Grid:
        shape = dict(zip(op.indices, op.shape, strict=True))
        axes = tile.column_index, *(index for index, _ in tile.axes)
        others = [(v, _extent(at, tile, v, shape[v])) for v in op.indices if v not in axes]
        strips = at.index.constant(1)
        if tile.column_index in shape:
            strips = _strips(at, shape[tile.column_index], tile.columns)
        blocks, groups = _groups(at, tile, shape)
        return cls(tile, shape, others, strips, blocks, groups)

    def iterations(self, at: BodyLowering) -> SSAValue:
        """The number of iterations."""
        extents = [extent for _, extent in self.others]
        return reduce(at.index.mul, [*extents, self.strips, self.groups])

    def locate(self, at: BodyLowering, iteration: SSAValue) -> Place:
        """The blocks of an iteration; sets the values of its remaining indices in `at`."""
        others = self.others[::-1]
        extents = [self.groups, self.strips, *(extent for _, extent in others)]
        group, strip, *places = digits(at, iteration, extents)
        counts, along = dict(self.tile.along), dict[SSAValue, Span]()
        for (index, _), place in zip(others, places, strict=True):
            if index in counts:
                along[index] = self._along(at, place, index, counts[index])
            else:
                at.index.values[index] = place
        columns = self._columns(at, strip) if self.tile.column_index in self.shape else None
        return Place(columns, self._rows(at, group), {v: along[v] for v in counts})

    def _along(self, at: BodyLowering, part: SSAValue, index: SSAValue, count: int) -> Span:
        """The values of a further index that one iteration computes."""
        size = at.index.form(self.shape[index])
        first = at.index.mul(part, at.index.constant(count))
        end = at.index.min(at.index.add(first, at.index.constant(count)), size)
        return Span(first, at.index.sub(end, first), end, size, 1, True)

    def _columns(self, at: BodyLowering, strip: SSAValue) -> Span:
        """The columns of a strip: one block, or two in the last strip, which has the remainder."""
        index, width = at.index, self.tile.columns
        size = index.form(self.shape[self.tile.column_index])
        first = index.mul(strip, index.constant(width))
        extent = constant_extent(self.shape[self.tile.column_index])
        if extent is not None and extent % width == 0:
            return Span(first, None, index.add(first, index.constant(width)), size, width, True)
        after = index.add(strip, index.constant(1))
        is_last = at.insert(arith.CmpiOp(after, self.strips, "eq")).result
        end = select(at, is_last, size, index.mul(after, index.constant(width)))
        blocks = quotient_up(at, at.index.sub(end, first), index.constant(width))
        return Span(first, blocks, end, size, width, False)

    def parts(self, at: BodyLowering, columns: Span) -> list[tuple[Tile, Span]]:
        """The columns of a strip in whole blocks and in narrow ones, each with their tile."""
        tile, index = self.tile, at.index
        extent = constant_extent(self.shape[tile.column_index])
        known = extent is not None and tile.narrow_blocks(extent % tile.columns) > 0
        if not tile.rest or (extent is not None and not known):
            return [(tile, columns)]
        width, narrow, zero, one = map(index.constant, (tile.columns, tile.rest, 0, 1))
        first = index.add(columns.first, width)
        number = quotient_up(at, at.index.sub(columns.end, first), narrow)
        few = at.insert(arith.CmpiOp(index.mul(number, narrow), width, "slt")).result
        count = None if known else select(at, few, one, index.constant(2))
        whole = replace(columns, blocks=count, exact=known)
        rest = Span(
            first, select(at, few, number, zero), columns.end, columns.size, tile.rest, False
        )
        return [(tile, whole), (tile.narrow, rest)]

    def _rows(self, at: BodyLowering, group: SSAValue) -> Span | None:
        """The blocks of rows in a group; None where the tile has no rows.

        Groups have about equally many blocks. If the last block may overlap the one before it, its
        group has two or more.
        """
        if self.tile.row_index is None:
            return None
        index, width, size = at.index, self.tile.rows, self.shape[self.tile.row_index]
        low, high = (
            at.index.quotient(index.mul(g, self.blocks), self.groups)
            for g in (group, index.add(group, index.constant(1)))
        )
        number = at.index.sub(high, low)
        rows = index.form(size)
        first = index.mul(low, index.constant(width))
        end = at.index.min(index.mul(high, index.constant(width)), rows)
        extent = constant_extent(size)
        exact = extent is not None and extent % width == 0
        return Span(first, number, end, rows, width, exact)

    def has_room(self, at: BodyLowering) -> SSAValue | None:
        """A test that the sizes have room for one block; None where they always do."""
        if self.tile.always:
            return None
        axes = (self.tile.row_index, self.tile.rows), (self.tile.column_index, self.tile.columns)
        tests: list[SSAValue] = []
        for axis, width in axes:
            if axis is not None and axis in self.shape and self.shape[axis].terms:
                size = at.index.form(self.shape[axis])
                test = arith.CmpiOp(size, at.index.constant(width), "sge")
                tests.append(at.insert(test).result)
        return all_of(at, tests) if tests else None


def most_blocks(tile: Tile) -> int:
    """The largest number of blocks of rows that an iteration computes."""
    group = 1 if tile.row_index is None else max(2, tile.group)
    return group * prod(count for _, count in tile.along)


def _extent(at: BodyLowering, tile: Tile, index: SSAValue, size: Affine) -> SSAValue:
    """The iterations along an index that is neither that of rows nor of columns."""
    count = dict(tile.along).get(index, 1)
    return at.index.form(size) if count == 1 else at.index.floordiv(size + (count - 1), count)


def _strips(at: BodyLowering, size: Affine, columns: int) -> SSAValue:
    """The number of strips; the last one may be almost two blocks wide."""
    extent = constant_extent(size)
    if extent is not None:
        return at.index.constant(max(1, extent // columns))
    return at_least_one(at, at.index.floordiv(size, columns))


def _groups(
    at: BodyLowering, tile: Tile, shape: dict[SSAValue, Affine]
) -> tuple[SSAValue, SSAValue]:
    """The number of blocks of rows, and the number of groups of them.

    Where groups have one block and the last block may begin earlier, the last group has two: a
    block then overlaps another one of the same iteration.
    """
    if tile.row_index is None:
        return at.index.constant(1), at.index.constant(1)
    size = shape[tile.row_index]
    extent = constant_extent(size)
    if extent is not None:
        blocks, exact = -(-extent // tile.rows), extent % tile.rows == 0
        groups = blocks - (not exact) if tile.group == 1 else -(-blocks // tile.group)
        return at.index.constant(blocks), at.index.constant(max(1, groups))
    blocks = at.index.floordiv(size + (tile.rows - 1), tile.rows)
    raised = at.index.add(blocks, at.index.constant(tile.group - 1 or -1))
    return blocks, at_least_one(at, at.index.quotient(raised, at.index.constant(tile.group)))
