"""Blocks whose vectors run along the terms of a sum, for results of few elements.

    w[o, s] = sum[n, t](y[n, o, t] * x[n, t + s])        rows o, vectors along t:

    %sums:8 = scf.for %n ... scf.for %t = ... step 16 iter_args(...) {
      %x = x[n, t + s .. + 15]
      %s0 + y[n, o0, t .. + 15] * %x, %s1 + y[n, o0 + 1, t .. + 15] * %x, ...
    }
    the last few t: the same with a mask
    w[o0, s] = the lanes of %sums#0 added up; ...

Terms that conditions leave out, as windows at borders do, are so in lanes, too.

The columns of such a block are terms. So reads need to lie side by side along the innermost index
of the sum only, and what all rows read is loaded once for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.dialects.tix import elementwise as ew
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.lowering.blocks.predicated_terms import add_terms
from tadc.passes.lowering.blocks.tile_block import BlockLowering
from tadc.passes.lowering.blocks.tile_grid import Span
from tadc.passes.lowering.blocks.tile_panels import Chunk
from tadc.passes.lowering.blocks.triangular_sums import Sums
from tadc.passes.lowering.loop_builders import carrying_loop, loop
from tadc.passes.lowering.needed_operations import bounds
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.tails import end_of_whole, first_lanes, under_mask
from tadc.passes.rewriting.shallow_copy import shallow_copy
from tadc.passes.scheduling.nest import Nest
from tadc.passes.scheduling.tiles.sum_lengths import constant_range
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import sum_along

MOST_VECTORS_WRITTEN_OUT = 4
"""Vectors of terms of the innermost index that are written out one after the other."""


def emit_rows(nest: Nest, tile: Tile, at: BodyLowering, rows: Span | None) -> None:
    """The blocks of one iteration, one after the other; the nest is of one definition."""
    op, uses = nest.body, IndexUses()

    def one(inner: BodyLowering, number: SSAValue) -> None:
        block = TermBlock(inner, op, tile, uses)
        if tile.row_index is not None and rows is not None:
            block.index.values[tile.row_index] = rows.start(inner, number)
        block.add_sum(sum_along(op, tile.column_index))
        block.finish(nest)

    if rows is None or rows.blocks is None:
        one(at, at.index.constant(0))
    else:
        loop(at, at.index.constant(0), rows.blocks, "block", one)


class TermBlock(BlockLowering):
    """Emits a block of one column, whose vectors run along the terms of a sum."""

    def totals(
        self, op: tix.ReductionOp
    ) -> list[tuple[SSAValue, SSAValue, int | None, int | None]]:
        """The partial sums of each row, one for each vector of terms."""
        total, term = op.results[0], tix.all_yielded(op.body)[0]
        rows = self.tile.rows_in(self.uses.of(total))
        vectors = range(self.tile.columns // self.lanes)
        return [(total, term, row, number) for row in rows for number in vectors]

    def provide(self, op: tix.ReductionOp, sums: Sums) -> None:
        """Record the sum of each row: all lanes of its vectors of partial sums, added up."""
        totals: dict[int | None, SSAValue] = {}
        for (_, _, row, _), value in zip(self.totals(op), sums, strict=True):
            before = totals.get(row)
            totals[row] = value if before is None else self.add(before, value, op)
        for row, lanes in totals.items():
            self.known[op.results[0], row, None] = self.all_lanes(op, lanes)

    def add_terms(
        self, op: tix.ReductionOp, own: Sequence[SSAValue], sums: Sums, chunk: Chunk | None = None
    ) -> Sums:
        """The loops of some indices of a sum, the innermost one by vectors."""
        if len(own) > 1:
            return super().add_terms(op, own, sums, chunk)
        (index,) = own
        found = None if index in self.ranges else constant_range(op, index)
        if found and found[1] <= MOST_VECTORS_WRITTEN_OUT * self.lanes:
            return self._written_out(op, *found, sums)
        low, high = bounds(self, op, own)
        width = self.index.constant(self.tile.columns)
        end = self.index.max(low, end_of_whole(self, low, high, width))

        def vectors(at: BodyLowering, k: SSAValue, carried: Sums) -> Sums:
            assert isinstance(at, TermBlock)
            at.index.values[index] = k
            return at._add_term(op, carried)

        def rest(at: BodyLowering, k: SSAValue, carried: Sums) -> Sums:
            assert isinstance(at, TermBlock)
            at.index.values[index] = k
            return at._add_rest(op, at.index.sub(high, k), carried)

        sums = carrying_loop(self, low, end, width, index.name_hint, sums, vectors)
        if found and not found[1] % self.tile.columns:
            return sums
        lanes = self.index.constant(self.lanes)
        return carrying_loop(self, end, high, lanes, index.name_hint, sums, rest)

    def _written_out(self, op: tix.ReductionOp, first: int, count: int, sums: Sums) -> Sums:
        """Unroll the innermost loop of a sum: `count` terms from `first` on."""
        column = op.indices[-1]
        for k in range(0, count, self.lanes):
            inner = self.apart()
            placed = self.index.placed({column: Affine.of(column) + k} if k else {})
            inner.index = placed.elsewhere({column: self.index.constant(first)})
            left = count - k
            if left < self.lanes:
                sums = inner._add_rest(op, self.index.constant(left), sums)
            else:
                sums = inner._add_first(op, sums)
        return sums

    def _add_rest(self, op: tix.ReductionOp, left: SSAValue, sums: Sums) -> Sums:
        """Add the remainder of a loop over terms: a vector with at most `left` lanes on."""
        inner = self.apart()
        count = self.index.min(left, self.index.constant(self.lanes))
        inner.mask = first_lanes(self, count, self.lanes)
        return inner._add_first(op, sums)

    def _add_first(self, op: tix.ReductionOp, sums: Sums) -> Sums:
        """Add one vector of terms to the first partial sum of each row."""
        vectors, found = self.tile.columns // self.lanes, list(sums)
        inner = shallow_copy(self)  # what it computes is known here, too
        inner.tile = replace(self.tile, columns=self.lanes)
        found[::vectors] = add_terms(inner, op, [{}], sums[::vectors])
        return found

    def plus(self, sum_: SSAValue, term: SSAValue, op: tix.ReductionOp) -> SSAValue:
        """Add a vector of terms to a vector of partial sums, in the lanes that the mask has."""
        after = super().plus(sum_, term, op)
        if self.is_left_out(term, op) or self._vanishes(op, term):
            return after
        return under_mask(self, after, sum_)

    def _vanishes(self, sum_: tix.ReductionOp, value: SSAValue) -> bool:
        """True if masked-off lanes are 0: of a read along the lanes, or a product of such reads."""
        match value.owner:
            case _ if not isinstance(sum_, tix.SumOp):
                return False
            case tix.ReadOp() as op:
                return self.tile.column_index in self.uses.of_operation(op)
            case ew.MulOp() as op:
                return all(self._vanishes(sum_, v) for v in op.operands)
            case _:
                return False

    def finish(self, nest: Nest) -> None:
        """Store the elements of all rows."""
        op, own, value = next(nest.results())
        forms = [Affine.of(v) for v in own]
        target, strides = self.buffers[op.result], self.strides[op.result, op.shape]
        for row in range(self.tile.height):
            at = self.at(row, None)
            place = at.index.linear(forms, strides)
            self.insert(memref.StoreOp.get(at.value(value), target, [place]))
