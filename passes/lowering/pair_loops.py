"""Emits walks over pairs (`pairs`), piece by piece, in blocks of rows and vectors of columns.

    loops.parallel (%p) to (16) {
      dz_pieces[p, all k, all j] = 0
      scf.for %i = %p to ... step 64 {              four rows, of every sixteenth one
        %sums:12 = scf.for %j = ... step 16 {       a vector of pairs in each
          %e0 = exp(...), ..., %e3 = exp(...)
          %s0 + %e0 * ..., ..., %s11 + %e3 * ...
          dz_pieces[p, 0, j] = dz_pieces[p, 0, j] + %e0 * ... + %e3 * ...;  ...
        }
        dx[i, 0] = the lanes of %s0 added up; ...
      }
      scf.for %i = ... step 16 { one row }          rows that are left, one by one
    }

Sums along rows add their terms in order, whatever the height of blocks is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce

from xdsl.dialects import vector
from xdsl.ir import Region, SSAValue

from dialects import tix
from dialects.loops import ParallelOp
from dialects.quick import INDEX, block_with
from dialects.tix import Affine
from passes.analysis.index_uses import IndexUses
from passes.lowering.blocks.sloped_sums import Sums
from passes.lowering.blocks.tile_terms import TermBlock
from passes.lowering.emit import difference, loop, quotient, store
from passes.lowering.lanes.vector_lowering import store_vector
from passes.lowering.scalars.body_lowering import BodyLowering
from passes.scheduling.nest import Nest
from passes.scheduling.pairs import PairPiece, Pairs
from passes.scheduling.tiles.tile import Tile
from passes.scheduling.tiles.tile_analysis import sum_along


def pair_loops(outer: BodyLowering, nest: Nest, pairs: Pairs) -> ParallelOp:
    """The loops of a nest: an iteration computes the rows of a piece."""
    step = pairs.tile.step
    body = block_with([INDEX])
    body.args[0].name_hint = "p"
    at = outer.inside(body)
    place = body.args[0]
    for piece in pairs.pieces:
        _clear(at, piece, place)
    high = at.index.form(pairs.length)
    rest = at.index.form(pairs.length + (step - 1))
    rows = quotient(at, difference(at, rest, place), at.index.constant(step))
    blocks = quotient(at, rows, at.index.constant(pairs.tile.rows))
    width = at.index.constant(pairs.tile.rows * step)
    end = at.index.add(place, at.index.mul(blocks, width))
    single = replace(pairs.tile, rows=1)

    def block(tile: Tile, inner: BodyLowering, row: SSAValue) -> None:
        made = PairBlock(inner, nest.body, tile, IndexUses())
        made.begin(pairs, place)
        made.index.values[pairs.row] = row
        made.add_sum(sum_along(nest.body, tile.column_index))
        made.finish(nest)

    hint = pairs.row.name_hint
    loop(at, place, end, hint, partial(block, pairs.tile), pairs.tile.rows * step)
    loop(at, end, high, hint, partial(block, single), step)
    return ParallelOp([outer.index.constant(step)], Region(body))


class PairBlock(TermBlock):
    """Emits a block of pairs."""

    def begin(self, pairs: Pairs, place: SSAValue) -> None:
        """The block belongs to this piece."""
        self.pieces = pairs.pieces
        self.row_index = pairs.row
        self.place = place
        self.index.values[place] = place

    def _add_term(self, op: tix.ReductionOp, sums: Sums) -> Sums:
        found = super()._add_term(op, sums)
        self._add_to_pieces(op)
        return found

    def _add_first(self, op: tix.ReductionOp, sums: Sums) -> Sums:
        found = super()._add_first(op, sums)
        self._add_to_pieces(op)
        return found

    def _add_to_pieces(self, op: tix.ReductionOp) -> None:
        """Add the terms of all rows to sums along rows."""
        for piece in self.pieces:
            groups: dict[int | None, list[int | None]] = {}
            for row in self.tile.rows_in({self.row_index, *piece.places}):
                groups.setdefault(self.tile.row_like(row, piece.places), []).append(row)
            for first, rows in groups.items():
                self.at(first, 0)._add_rows(piece, op, rows, self)

    def _add_rows(
        self,
        piece: PairPiece,
        op: tix.ReductionOp,
        rows: Sequence[int | None],
        block: PairBlock,
    ) -> None:
        """Add the terms of these rows to one sum, of which this is the place."""
        target, place = self.buffers[piece.op.result], self._position(piece, op)
        total = self.neighbours(target, place, self.mask)
        for row in rows:
            here = block.at(row, 0)
            total = here.add(total, here.lanes_of(piece.term), op)
        if self.mask is None:
            store_vector(self, total, target, place)
        else:
            self.insert(vector.MaskedStoreOp(target, [place], self.mask, total))

    def _position(self, piece: PairPiece, op: tix.ReductionOp) -> SSAValue:
        made = piece.op
        forms = [Affine.of(v) for v in (self.place, *piece.places, op.indices[0])]
        return self.index.linear(forms, self.strides[made.result, made.shape])


def _clear(at: BodyLowering, piece: PairPiece, place: SSAValue) -> None:
    """Begin the sums of a piece, which lie side by side."""
    op, index = piece.op, at.index
    size = reduce(index.mul, [index.form(n) for n in op.shape[1:]])
    first = index.mul(place, size)

    def zero(inner: BodyLowering, n: SSAValue) -> None:
        store(inner, inner.constant(0.0), inner.buffers[op.result], n)

    loop(at, first, index.add(first, size), "n", zero)
