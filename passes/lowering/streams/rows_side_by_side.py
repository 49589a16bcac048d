"""Rows of a stream that read the same elements, side by side: a piece of each, and then the next.

    y[i, j] = x[i - 1, j] + x[i, j] + x[i + 1, j]

    one row after the other       x[i + 1] comes from memory, x[i] and x[i - 1] from the second
                                  cache, as the nearest one does not keep three long rows
    four rows side by side        of the six rows of x that they read, each piece comes once

      scf.for %piece = ... step 64
        scf.for %i = (four rows)
          the vectors of the row in the piece          (`stream_rows`)

Pieces end where lines of memory do, for each row at its own columns: stores past the caches write
whole lines. Short rows, which stay in the nearest cache, run one after the other: then an iteration
has one row, and a piece is all of it. So do rows of streams through the caches, without pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tadc.dialects.loops import ParallelOp
from tadc.passes.lowering.emit import (
    all_of,
    either,
    loop,
    quotient_up,
    select,
)
from tadc.passes.lowering.parallel import parallel, piece_of
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.streams.stream_rows import Row
from tadc.passes.scheduling.tiles.tile_analysis import bytes_of_element

ROWS = 4
"""Rows side by side: eight are a tenth faster on one thread, and a tenth slower on two."""

VECTORS_OF_PIECE = 4
"""Vectors of a piece: one is as fast, but for its loops, and 16 are a quarter slower."""

FEWEST_BYTES_OF_ROW = 6 << 10
"""The bytes of long rows: at 4 kB both orders take as long, at 1 kB this one twice as long."""

EmitRow = Callable[[BodyLowering, Row, bool], None]
"""Emits the vectors of a row, past the caches or not."""


def rows_side_by_side(
    outer: BodyLowering, whole: Row, shared: SSAValue, large: SSAValue | bool, emit: EmitRow
) -> ParallelOp:
    """The loops of all rows; neighbours along the index `shared` read the same elements."""
    op = whole.op
    count, length = _rows_and_columns(outer, whole, large)
    limits = [outer.index.form(size) for size in op.shape[:-1]]
    place = op.indices.index(shared)
    rows = limits[place]
    limits[place] = quotient_up(outer, rows, count)

    def several(at: BodyLowering, places: Sequence[SSAValue]) -> None:
        """Some rows, piece by piece where the call is large, else one row."""
        at.index.values.update(zip(op.indices, places, strict=False))
        first, end = piece_of(at, places[place], count, rows)

        def part(at: BodyLowering, begin: SSAValue) -> None:
            def row(inner: BodyLowering, own: SSAValue) -> None:
                inner.index.values[shared] = own
                emit(inner, _part(inner, whole, begin, length), True)

            loop(at, first, end, shared.name_hint, row)

        def in_pieces(at: BodyLowering) -> None:
            # the last piece of a row ends up to a vector before where its columns do
            most = at.index.add(whole.high, at.index.constant(whole.lanes - 1))
            loop(at, whole.low, most, "piece", part, length)

        def alone(at: BodyLowering) -> None:
            at.index.values[shared] = first
            emit(at, whole, False)

        if isinstance(large, bool):
            in_pieces(at)
        else:
            either(at, large, in_pieces, alone)

    return parallel(outer, limits, op.indices[:-1], several)


def _rows_and_columns(
    at: BodyLowering, whole: Row, large: SSAValue | bool
) -> tuple[SSAValue, SSAValue]:
    """The rows side by side, and the columns of a piece, which depend on the length of rows."""
    constant = at.index.constant
    fewest = constant(FEWEST_BYTES_OF_ROW // bytes_of_element(whole.op.type))
    is_long = at.insert(arith.CmpiOp(whole.high, fewest, "sge")).result
    if not isinstance(large, bool):
        is_long = all_of(at, [is_long, large])
    all_columns = at.index.add(whole.high, constant(whole.lanes))
    return (
        select(at, is_long, constant(ROWS), constant(1)),
        select(at, is_long, constant(VECTORS_OF_PIECE * whole.lanes), all_columns),
    )


def _part(at: BodyLowering, whole: Row, begin: SSAValue, length: SSAValue) -> Row:
    """The columns of a row in a piece; `begin` counts from the line on in which the row begins."""
    before = whole.columns_before(at)
    low = at.index.sub(begin, before)
    high = at.index.add(low, length)
    return replace(whole, low=at.index.max(whole.low, low), high=at.index.min(whole.high, high))
