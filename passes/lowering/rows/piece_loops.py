"""Emits sums over the rows of a piece, to which each row adds its terms (`piece_sums`).

    scf.for %j { dg[p, j] = 0 }
    scf.for %i {                                   the rows of piece p
      ...                                          other members of the nest: row i of each
      scf.for %j { dg[p, j] = dg[p, j] + f(i, j) } a vector or two at a time, the last under a mask
    }

The sum stays in a near cache while its piece is computed. Terms are added in order.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from dialects import tix
from dialects.tix import Affine
from passes.analysis.index_uses import IndexUses
from passes.index_sets.sets import index_set
from passes.lowering.rows.lane_loops import Lanes, over_vectors, store_elements, tile_along
from passes.lowering.rows.row_lanes import KnownNumbers, RowLanes
from passes.scheduling.rows.piece_sums import PieceSum
from passes.scheduling.tiles.tile_analysis import constant_extent

VECTORS_OF_PIECE = 2
"""Vectors of sums that are written out one after the other."""


def clear(at: KnownNumbers, piece: PieceSum) -> None:
    """Begin the sums that a piece has along its last index."""

    def zero(lanes: RowLanes) -> SSAValue:
        return lanes.splat(lanes.constant(0.0))

    _store(at, piece, zero)


def add_row(at: KnownNumbers, piece: PieceSum) -> None:
    """Add the terms of a row to them."""
    op, total = piece.op, piece.total
    column = op.indices[-1]
    known = [c for c in [*index_set(op), *total.constraints] if not c.form[column]]
    at.compute_ahead(total.body, [column], known)

    def sum_with_term(lanes: RowLanes) -> SSAValue:
        place = lanes.index.linear(
            [Affine.of(v) for v in op.indices], lanes.strides[op.result, op.shape]
        )
        before = lanes.neighbours(lanes.buffers[op.result], place, lanes.mask)
        return lanes.add(before, lanes.lanes_of(tix.yielded(total.body)), total)

    _store(at, piece, sum_with_term)


def _store(at: KnownNumbers, piece: PieceSum, value: Callable[[RowLanes], SSAValue]) -> None:
    """Store values in all vectors along the last index."""
    op = piece.op
    column, size = op.indices[-1], op.shape[-1]

    def store(lanes: RowLanes, vectors: int, _: Lanes) -> Lanes:
        for number in range(vectors):
            here = lanes.at(None, number)
            store_elements(here, op, value(here))
        return ()

    tile = tile_along(op, column, piece.total.body, VECTORS_OF_PIECE)
    span = at.index.constant(0), at.index.form(size), constant_extent(size)
    over_vectors(RowLanes(at, op, tile, IndexUses()), column, span, (), store)
