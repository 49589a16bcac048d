"""Squares: elements that are read across rows, in blocks that are transposed in registers.

    y[i, j] = x[j, i]                    a block of four rows i and one vector of four columns j:

    x[j0 .. j0 + 3, i0 .. i0 + 3]        four vectors along i, which lie side by side: loaded,
                                         transposed to four along j, each of which is a row

One element after the other, a line of x is read for each of them, and is gone when its next element
is wanted. A block has as many rows as its one vector has lanes, so what is across is a square.
"""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.access import Access, access, is_slow, stride
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.costs.tile_cost import operations
from tadc.passes.scheduling.tiles.sum_lengths import is_short
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import indices_of, lanes_of

MOST_OPERATIONS = 2048
"""The operations on vectors up to which all rows of a block are written out: LLVM takes some tenths
of a second for them."""

WRITTEN_OUT = (
    tix.ReadOp,
    tix.ConstantOp,
    tix.IndexToRealOp,
    tix.UnaryOp,
    tix.BinaryOp,
    tix.WhereOp,
)
"""Operations that are the same in all rows and lanes, whatever their values: of a choice by values
both sides are computed."""

FEWEST_LANES = 4
"""The lanes of the smallest squares that are worth their shuffles."""

GROUP = 4
"""Blocks of rows that one iteration computes: what they read lies side by side."""


def square_tile(op: tix.DefineOp) -> Tile | None:
    """The tile of a definition whose strided reads are all squares; None for others."""
    lanes = lanes_of(op)
    inside = [o for o in op.body.walk() if not isinstance(o, tix.YieldOp)]
    if len(op.indices) < 2 or lanes < FEWEST_LANES or not all(map(_may_be_written_out, inside)):
        return None
    if lanes * sum(times for _, times in operations(op.body)) > MOST_OPERATIONS:
        return None
    uses, column = IndexUses(), op.indices[-1]
    reads = [o for o in inside if isinstance(o, tix.ReadOp)]
    apart = [r for r in reads if is_slow(stride(r, column, uses))]
    for row in reversed(op.indices[:-1]):
        if apart and all(_is_transposed(r, row, column, uses) for r in apart):
            return Tile(row, column, lanes, lanes, lanes, group=GROUP)
    return None


def square_reads(op: tix.DefineOp, tile: Tile, uses: IndexUses) -> Collection[tix.ReadOp]:
    """The reads of a body whose elements for a block are a square; none of other tiles."""
    square = square_tile(op) if tile.rows == tile.columns == tile.lanes else None
    if square is None or tile.row_index is not square.row_index:
        return ()
    reads = (o for o in op.body.walk() if isinstance(o, tix.ReadOp))
    return {r for r in reads if is_slow(stride(r, tile.column_index, uses))}


def _may_be_written_out(op: Operation) -> bool:
    """True for an operation that is the same in all rows; short sums have one for each term."""
    return is_short(op) if isinstance(op, tix.ReductionOp) else isinstance(op, WRITTEN_OUT)


def _is_transposed(read: tix.ReadOp, row: SSAValue, column: SSAValue, uses: IndexUses) -> bool:
    """True if a read is contiguous along the rows, and strided along the columns."""
    *others, last = read.forms
    return (
        access(read, row, uses) is Access.CONTIGUOUS
        and column not in indices_of([last], uses)
        and row not in indices_of(others, uses)
    )
