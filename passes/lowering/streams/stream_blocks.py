"""Emits a stream in blocks of rows, which share what they read and compute (`stream_tiles`).

    loops.parallel (%block, %piece) to (...)          four rows, and a piece of their columns
      scf.for %j = ... step 64                        one block of four vectors after the other
        if it is whole, and no condition changes in it
          sixteen vectors, of which some take what others have
        else
          its rows as those of a stream               (`stream_rows`)

Blocks follow each other along the columns, as memory does. Each element is written by the block
that it lies in: blocks do not overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import ParallelOp
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.lowering.blocks.tile_block import BlockLowering
from tadc.passes.lowering.emit import either, loop
from tadc.passes.lowering.parallel import parallel
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.streams.stream_rows import Row, origin_of
from tadc.passes.scheduling.nest import Nest
from tadc.passes.scheduling.streams.stream_phases import phases_of
from tadc.passes.scheduling.streams.stream_tiles import inside_of_all, tests_of_block
from tadc.passes.scheduling.tiles.tile import Tile

BLOCKS_OF_PIECE = 64
"""Blocks that one iteration computes, one behind the other."""


def stream_blocks(outer: BodyLowering, op: tix.DefineOp, tile: Tile) -> ParallelOp:
    """The loops of a definition in blocks of a stream."""
    row, column = tile.row_index, tile.column_index
    assert row is not None
    sizes = dict(zip(op.indices, op.shape, strict=True))
    width = tile.columns * BLOCKS_OF_PIECE
    others = [v for v in op.indices if v not in (row, column)]
    limits = [outer.index.form(sizes[v]) for v in others]
    for v, step in ((row, tile.rows), (column, width)):
        limits.append(outer.index.floordiv(sizes[v] + (step - 1), step))
    rows, columns = (outer.index.form(sizes[v]) for v in (row, column))
    origin = origin_of(outer, op)

    def fill(at: BodyLowering, places: Sequence[SSAValue]) -> None:
        at.index.values.update(zip(others, places, strict=False))
        height, step = at.index.constant(tile.rows), at.index.constant(width)
        first, low = at.index.mul(places[-2], height), at.index.mul(places[-1], step)
        last, high = (
            at.index.min(size, at.index.add(begin, by))
            for begin, by, size in ((first, height, rows), (low, step, columns))
        )
        blocks = _Blocks(op, tile, row, (first, last), columns, origin)
        loop(at, low, high, column.name_hint, blocks.emit, tile.columns)

    return parallel(outer, limits, [*others, "block", "piece"], fill)


@dataclass(frozen=True)
class _Blocks:
    """The blocks of some rows of a definition."""

    op: tix.DefineOp
    tile: Tile
    row: SSAValue
    rows: tuple[SSAValue, SSAValue]
    """The first of these rows, and their end."""
    columns: SSAValue
    """The number of all columns."""
    origin: SSAValue
    """The address of the result, in elements."""

    def emit(self, at: BodyLowering, column: SSAValue) -> None:
        """The block that begins with a column."""
        at.index.values[self.row] = self.rows[0]
        at.index.values[self.tile.column_index] = column
        inside = inside_of_all(self.op)
        is_inside = at.index.holds([list(tests_of_block(self.op, inside.tests, self.tile))])

        def whole(at: BodyLowering) -> None:
            block = InsideBlock(at, self.op, self.tile, IndexUses())
            block.sides = inside.sides
            block.finish(Nest.of(self.op))

        either(at, is_inside, whole, lambda inner: self._in_rows(inner, column))

    def _in_rows(self, at: BodyLowering, column: SSAValue) -> None:
        """The elements of a block that are there, row by row."""

        def one(inner: BodyLowering, row: SSAValue) -> None:
            # what is known is of the first row
            inner.index.values[self.row], inner.index.known = row, {}
            end = inner.index.add(column, inner.index.constant(self.tile.columns))
            end = inner.index.min(self.columns, end)
            with phases_of(self.op, 1, inner.as_written) as phases:
                part = Row(self.op, phases, self.tile.lanes, self.origin, column, end)
                part.emit(inner, nontemporal=False)

        loop(at, *self.rows, self.row.name_hint, one)


class InsideBlock(BlockLowering):
    """Emits a block in which no choice changes sides, and takes values from where they are."""

    def _emitted(self, value: SSAValue) -> SSAValue:
        shared = self._elsewhere(value)
        return super()._emitted(value) if shared is None else shared

    def _elsewhere(self, value: SSAValue) -> SSAValue | None:
        """A value at this point that another point of the block has; None if there is none."""
        for same in self.tile.neighbours.get(value, ()):
            row = None if self.row is None else self.row + same.rows
            if row is not None and not 0 <= row < self.tile.rows:
                continue
            if same.columns == 0:
                return self.at(row, self.vector).value(same.value)
            first = (self.vector or 0) + same.columns // self.lanes
            if first in self.vectors and first + 1 in self.vectors:
                a, b = (self.at(row, n).lanes_of(same.value) for n in (first, first + 1))
                begin = same.columns % self.lanes
                return self.shuffled(a, b, range(begin, begin + self.lanes))
        return None
