"""Stores of a block: of vectors where its columns lie side by side, else out of a buffer.

Where its rows lie side by side, they are transposed in registers, square by square, so that the
rows of a column are a vector:

    a b c d     two rows of four columns        a e | b f | c g | d h     four stores of two rows
    e f g h

Squares have as many rows as a power of two; the last ones overlap those before, as rows 3 to 6 of
seven do rows 0 to 3. Other elements are stored one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import vector_of
from tadc.dialects.tix import Affine
from tadc.passes.lowering import operations
from tadc.passes.lowering.lanes.lanes_lowering import LanesLowering
from tadc.passes.lowering.lanes.vector_lowering import store_vector
from tadc.passes.lowering.loop_builders import buffer, load, loop, store
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.scheduling.tiles.tile import Tile


def store_beside(
    at: LanesLowering, op: tix.DefineOp, own: Sequence[SSAValue], value: SSAValue
) -> None:
    """Store a block whose columns are contiguous in the result, vector by vector.

    `own` are the indices that have values in the block.
    """
    forms = [Affine.of(v) for v in own]
    target, strides = at.buffers[op.result], at.strides[op.result, op.shape]
    for row, vector in product(at.tile.rows_in(own), range(at.tile.columns // at.lanes)):
        here = at.at(row, vector)
        store_vector(here, here.lanes_of(value), target, here.index.linear(forms, strides))


def store_apart(
    at: LanesLowering, op: tix.DefineOp, own: Sequence[SSAValue], value: SSAValue
) -> None:
    """Store a block whose columns are strided in the result, column by column out of a buffer."""
    rows, columns = at.tile.rows_in(own), at.tile.columns
    block = buffer(at, len(rows) * columns, "block")
    for (n, row), vector in product(enumerate(rows), range(columns // at.lanes)):
        here = at.at(row, vector)
        place = at.index.constant(n * columns + vector * at.lanes)
        store_vector(here, here.lanes_of(value), block, place)
    apart = _ColumnsApart(op, own, rows, block)
    zero, end = at.index.constant(0), at.index.constant(columns)
    width = rows_side_by_side(at.tile, own)
    if width > 1:
        loop(at, zero, end, "column", lambda inner, k: apart.store_squares(inner, k, width), width)
    else:
        loop(at, zero, end, "column", apart.store_elements)


@dataclass(frozen=True)
class _ColumnsApart:
    """Stores the columns of a block, which a buffer holds row by row, to strided places."""

    op: tix.DefineOp
    own: Sequence[SSAValue]
    """The indices that have values in the block."""
    rows: Sequence[int | None]
    block: SSAValue
    """The buffer that holds the block, row by row."""

    def store_elements(self, at: BodyLowering, column: SSAValue) -> None:
        """Store the elements of a column one by one."""
        assert isinstance(at, LanesLowering)
        at.index.values[column] = column
        target = at.buffers[self.op.result]
        for n, row in enumerate(self.rows):
            number = load(at, self.block, self._waiting(at, n, column))
            store(at, number, target, self._place(at, row, Affine.of(column)))

    def store_squares(self, at: BodyLowering, column: SSAValue, width: int) -> None:
        """Store `width` columns from this one on, in squares that are transposed in registers."""
        assert isinstance(at, LanesLowering)
        at.index.values[column] = column
        target, kind = at.buffers[self.op.result], vector_of(at.element, width)
        for first in _firsts(len(self.rows), width):
            loaded = [
                at.insert(
                    operations.load_lanes(self.block, self._waiting(at, n, column), kind)
                ).result
                for n in range(first, first + width)
            ]
            for n, lanes in enumerate(at.transposed(loaded)):
                place = self._place(at, self.rows[first], Affine.of(column) + n)
                at.insert(operations.store_lanes(lanes, target, place))

    def _waiting(self, at: LanesLowering, n: int, column: SSAValue) -> SSAValue:
        """The position in the buffer of an element of the n-th row."""
        return at.index.form(Affine.of(column) + n * at.tile.columns)

    def _place(self, at: LanesLowering, row: int | None, column: Affine) -> SSAValue:
        """The position in the result of an element of a row."""
        index = at.tile.column_index
        at.index.places[index] = Affine.of(index) + column
        strides = at.strides[self.op.result, self.op.shape]
        return at.at(row, None).index.linear([Affine.of(v) for v in self.own], strides)


def rows_side_by_side(tile: Tile, own: Sequence[SSAValue]) -> int:
    """The number of rows in a transposed square; 1 where rows are not contiguous in the result."""
    if tile.row_index is not own[-1] or tile.step != 1 or tile.height != tile.rows:
        return 1
    return 1 << min(tile.rows, tile.lanes).bit_length() - 1


def _firsts(rows: int, width: int) -> Iterator[int]:
    """The first rows of squares that cover a block; the last square may overlap another."""
    yield from range(0, rows - width, width)
    yield rows - width
