"""Emits sums over the rows of a piece, to which each row adds its terms (`piece_sums`).

    scf.for %j { dg[p, j] = 0 }
    scf.for %i {                                   the rows of piece p, some side by side
      ...                                          other members of the nest: row i of each
      scf.for %j { dg[p, j] = dg[p, j] + f(i, j) } a vector or two at a time, the last under a mask
    }

The sum stays in a near cache while its piece is computed. Terms are added in order.
"""

from __future__ import annotations

from collections.abc import Sequence

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.lowering.rows.lane_loops import Lanes, over_vectors, store_elements
from tadc.passes.lowering.rows.row_lanes import KnownNumbers, RowLanes
from tadc.passes.scheduling.rows.piece_sums import PieceSum
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import lanes_of

VECTORS_TO_CLEAR = 2
"""Vectors of sums that begin one after the other."""


def clear(at: KnownNumbers, piece: PieceSum) -> None:
    """Begin the sums that a piece has along its last index."""
    op = piece.op
    column, size, lanes = op.indices[-1], op.shape[-1], lanes_of(op)
    tile = Tile(None, column, 1, lanes * VECTORS_TO_CLEAR, lanes)

    def fill(inner: RowLanes, vectors: int, _: Lanes) -> Lanes:
        zero = inner.splat(inner.constant(0.0))
        for number in range(vectors):
            store_elements(inner.at(None, number), op, zero)
        return ()

    span = at.index.constant(0), at.index.form(size), at.index.sizes.of(size)
    over_vectors(RowLanes(at, op, tile, IndexUses()), column, span, (), fill)


def add_terms(at: RowLanes, rows: Sequence[RowLanes], piece: PieceSum) -> None:
    """Add the terms of some rows to a vector of sums, in order."""
    op = piece.op
    place = at.index.linear([Affine.of(v) for v in op.indices], at.strides[op.result, op.shape])
    total = at.neighbours(at.buffers[op.result], place, at.mask)
    for row in rows:
        total = row.add(total, row.lanes_of(tix.yielded(piece.total.body)), piece.total)
    store_elements(at, op, total)
