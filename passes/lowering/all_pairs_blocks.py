"""Emits blocks of pairs, rows by vectors of columns, and the sums along rows of a strip of columns.

    %sums:12 = scf.for %j = ... step 16 {           a vector of pairs in each of four rows
      %e0 = exp(...), ..., %e3 = exp(...)
      %s0 + %e0 * ..., ..., %s11 + %e3 * ...
      sums[0, j] = sums[0, j] + %e0 * ... + %e3 * ...;  ...
    }
    dx[i, 0] = dx[i, 0] + the lanes of %s0 added up; ...

What is first added to an element begins it. A row's sum is complete with its last strip: then it
becomes what the definition makes of it, as `log(sum)` for `log(sum[j](...))`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from operator import mul

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.lowering.blocks.dot_blocks import TermBlock
from tadc.passes.lowering.blocks.triangular_sums import Sums
from tadc.passes.lowering.lanes.vector_lowering import load_vector, store_vector
from tadc.passes.lowering.loop_builders import (
    either,
    load,
    loop,
    repeat,
    select,
    store,
)
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.tails import end_of_whole, first_lanes, store_under_mask
from tadc.passes.scheduling.all_pairs import PairPiece, Pairs
from tadc.passes.scheduling.nest import Nest
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import sum_along


@dataclass(frozen=True)
class Strip:
    """A strip of contiguous columns, of the pairs that one unit computes."""

    nest: Nest
    pairs: Pairs
    piece: SSAValue
    """The number of the piece to which the rows of the unit belong."""
    low: SSAValue
    high: SSAValue
    """The first column, and the one behind the last."""
    width: int
    """The largest number of columns."""
    sums: Mapping[SSAValue, SSAValue]
    """For each tensor of pieces, the buffer on the stack of its sums in this strip."""
    is_first: SSAValue
    is_last: SSAValue
    """Bits that say whether this strip is the first and the last that adds to the sums of rows."""
    begins: SSAValue | None
    """A bit that says whether the strip begins the sums of its piece; None if it always does, as in
    a single superstep."""

    def rows(self, tile: Tile, at: BodyLowering, first: SSAValue) -> None:
        """Emit the block of rows that begins with `first`."""
        nest, block = self.nest, self._block(at, tile)
        block.index.values[self.pairs.row] = first
        block.ranges[tile.column_index] = self.low, self.high
        block.add_sum(sum_along(nest.body, tile.column_index))
        block.finish(nest)

    def clear(self, at: BodyLowering) -> None:
        """Clear the sums along rows."""
        block = self._block(at, self.pairs.tile)
        for piece in self.pairs.pieces:
            block.clear(self.sums[piece.op.result], self.width * prod(counts(piece)))

    def add_to_pieces(self, at: BodyLowering) -> None:
        """Add the sums along rows to those of the piece."""
        block = self._block(at, self.pairs.tile)
        for piece in self.pairs.pieces:
            block.add_to_piece(piece)

    def _block(self, at: BodyLowering, tile: Tile) -> PairBlock:
        block = PairBlock(at, self.nest.body, tile, IndexUses())
        block.strip = self
        block.index.values.update({v: v for v in (self.low, self.piece)})
        return block


def counts(piece: PairPiece) -> list[int]:
    """The extents of a piece's dimensions between that of pieces and that of columns."""
    return [size.constant for size in piece.op.shape[1:-1]]


class PairBlock(TermBlock):
    """Emits a block of pairs."""

    strip: Strip

    # --- sums along columns ---

    def add_sum(self, op: tix.ReductionOp) -> None:
        """Add the terms of a strip to the sums of all rows: so few that they need no segments."""
        self.hoist(op)
        self.provide(op, self.add_terms(op, op.indices, self.starts(op)))

    def finish(self, nest: Nest) -> None:
        """Add a strip's sums to those of its rows; with the last strip, store the elements."""
        total = sum_along(nest.body, self.tile.column_index).results[0]
        op, own, _ = next(nest.results())
        target, places = self.buffers[op.result], dict[int | None, SSAValue]()
        for row in self.tile.rows_in(self.uses.of(total)):
            forms = [Affine.of(v) for v in own]
            place = self.at(row, None).index.linear(forms, self.strides[op.result, op.shape])
            sum_, places[row] = self.known[total, row, None], place
            after = self.arith(arith.AddfOp, load(self, target, place), sum_)
            self.known[total, row, None] = select(self, self.strip.is_first, sum_, after)

        def keep(at: BodyLowering) -> None:
            for row, place in places.items():
                store(at, self.known[total, row, None], target, place)

        def complete(at: BodyLowering) -> None:
            assert isinstance(at, PairBlock)
            TermBlock.finish(at, nest)

        either(self, self.strip.is_last, complete, keep)

    # --- sums along rows ---

    def clear(self, target: SSAValue, count: int) -> None:
        """Fill a buffer of `count` elements with zeros."""
        zeros, constant = self.splat(self.constant(0.0)), self.index.constant

        def zero(at: BodyLowering, n: SSAValue) -> None:
            assert isinstance(at, PairBlock)
            store_vector(at, zeros, target, n)

        loop(self, constant(0), constant(count), "n", zero, self.lanes)

    def _add_term(self, op: tix.ReductionOp, sums: Sums) -> Sums:
        found = super()._add_term(op, sums)
        self._add_rows(op)
        return found

    def _add_first(self, op: tix.ReductionOp, sums: Sums) -> Sums:
        found = super()._add_first(op, sums)
        self._add_rows(op)
        return found

    def _add_rows(self, op: tix.ReductionOp) -> None:
        """Add the terms of all rows to sums along rows."""
        for piece in self.strip.pairs.pieces:
            groups: dict[int | None, list[int | None]] = {}
            for row in self.tile.rows_in({self.strip.pairs.row, *piece.places}):
                groups.setdefault(self.tile.row_like(row, piece.places), []).append(row)
            for first, rows in groups.items():
                self.at(first, 0)._add_to_sum(piece, op, rows, self)

    def _add_to_sum(
        self, piece: PairPiece, op: tix.ReductionOp, rows: Sequence[int | None], block: PairBlock
    ) -> None:
        """Add the terms of these rows to a vector of sums along rows, at this point.

        Lanes behind the last column are added to as well, and never read.
        """
        target = self.strip.sums[piece.op.result]
        column = Affine.of(op.indices[0]) - Affine.of(self.strip.low)
        forms = [*map(Affine.of, piece.places), column]
        place = self.index.linear(forms, _strides(piece, self.strip.width))
        total = load_vector(self, target, place)
        for row in rows:
            here = block.at(row, 0)
            total = here.add(total, here.lanes_of(piece.term), op)
        store_vector(self, total, target, place)

    def add_to_piece(self, piece: PairPiece, places: Sequence[SSAValue] = ()) -> None:
        """Add the sums of a strip along rows to those of its piece, at these leading `places`."""
        left = counts(piece)[len(places) :]
        if left:
            hint = piece.places[len(places)].name_hint or "n"

            def inside(at: BodyLowering, n: SSAValue) -> None:
                assert isinstance(at, PairBlock)
                at.index.values[n] = n
                at.add_to_piece(piece, [*places, n])

            return repeat(self, left[0], hint, inside)

        def vectors(at: BodyLowering, column: SSAValue) -> None:
            assert isinstance(at, PairBlock)
            at.index.values[column] = column
            at._add_vector(piece, [*places, column])

        def rest(at: BodyLowering, column: SSAValue) -> None:
            assert isinstance(at, PairBlock)
            left = at.index.sub(self.strip.high, column)
            at.mask = first_lanes(at, at.index.min(left, at.index.constant(at.lanes)), at.lanes)
            vectors(at, column)

        low, high, lanes = self.strip.low, self.strip.high, self.index.constant(self.lanes)
        end = self.index.max(low, end_of_whole(self, low, high, lanes))
        loop(self, low, end, "j", vectors, lanes)
        loop(self, end, high, "j", rest, lanes)
        return None

    def _add_vector(self, piece: PairPiece, places: Sequence[SSAValue]) -> None:
        """Add a vector of a strip's sums, the first of them at `places`, to those of its piece."""
        tensor, begins = piece.op.result, self.strip.begins
        *around, column = map(Affine.of, places)
        here = [*around, column - Affine.of(self.strip.low)]
        sums = load_vector(
            self,
            self.strip.sums[tensor],
            self.index.linear(here, _strides(piece, self.strip.width)),
        )
        forms = [Affine.of(self.strip.piece), *around, column]
        target, place = (
            self.buffers[tensor],
            self.index.linear(forms, self.strides[tensor, piece.op.shape]),
        )
        if begins is not None:
            after = self.arith(arith.AddfOp, self.neighbours(target, place, self.mask), sums)
            sums = select(self, begins, sums, after)
        store_under_mask(self, sums, target, place)


def _strides(piece: PairPiece, width: int) -> list[int]:
    """The strides of the sums of a strip in their buffer; `width` is that of the strip."""
    around = list(accumulate(reversed(counts(piece)), mul, initial=width))
    return [*reversed(around[: len(counts(piece))]), 1]
