"""A block of rows x columns, from its sums to its elements, as vectors in registers.

    %0 = arith.constant dense<0.0> : vector<16xf32>
    %sums:8 = scf.for %k = ... iter_args(%s0 = %0, ..., %s7 = %0) {        two rows of four vectors
      %w0, ..., %w3                                                        read once for both rows
      %x0 = vector.broadcast x[i0, k];  %s0 + %x0 * %w0, ..., %s3 + %x0 * %w3
      %x1 = vector.broadcast x[i0 + 1, k];  ...
    }
    y[i0, j0 .. j0 + 15] = f(%sums#0); ...

Rows and vectors are written out, and so are the innermost indices of a sum while they have few
values. Long sums empty their registers into totals after each segment
(`passes/lowering/scalars/segments.py`):

    total, errors = 0, 0                          in memory, for each vector
    for segment = ... {
      sums = ...                                  at most as many terms as a segment has
      if there are several segments: total, errors += sums;  sums = 0
    }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, BlockArgument, SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import FenceOp, PrefetchOp
from tadc.dialects.tix import Affine
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.lowering import operations
from tadc.passes.lowering.accumulators import StoredTotals
from tadc.passes.lowering.blocks.block_versions import in_versions
from tadc.passes.lowering.blocks.narrow_ranges import narrow_range
from tadc.passes.lowering.blocks.predicated_terms import add_terms, places_along
from tadc.passes.lowering.blocks.shifted_terms import add_shifted, all_are_shifted, shifts
from tadc.passes.lowering.blocks.tile_panels import Chunk
from tadc.passes.lowering.blocks.tile_stores import store_apart, store_beside
from tadc.passes.lowering.blocks.transposed_loads import load_square
from tadc.passes.lowering.blocks.triangular_sums import Sums, add_sloped, provide_range
from tadc.passes.lowering.lanes.lane_choices import LaneChoices
from tadc.passes.lowering.lanes.vector_lowering import load_vector, store_vector
from tadc.passes.lowering.loop_builders import (
    buffer,
    carrying_loop,
    when,
)
from tadc.passes.lowering.needed_operations import bounds
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.scalars.segments import Segments
from tadc.passes.scheduling.costs.tile_cost import MOST_TERMS_WRITTEN_OUT
from tadc.passes.scheduling.nest import Nest
from tadc.passes.scheduling.tiles.row_terms import rows_last, rows_read_again, shared_index
from tadc.passes.scheduling.tiles.sum_lengths import constant_range
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import (
    far_reads,
    hoisted_values,
    reads_outside_terms,
)
from tadc.passes.scheduling.tiles.tileable_sums import tileable_sums
from tadc.passes.scheduling.tiles.transposed_reads import square_reads

TERMS_AHEAD = 8
"""The prefetch distance in terms: more lines would not fit into one set of the cache."""


class BlockLowering(LaneChoices):
    """Emits one block: its sums, what they share, and its elements."""

    is_small = False
    """True for a small part of a program, whose code should be short."""

    def __init__(self, at: BodyLowering, op: tix.DefineOp, tile: Tile, uses: IndexUses):
        super().__init__(at, op, tile, uses)
        self.squares = square_reads(op, tile, uses)

    def elements(self, op: tix.ReadOp) -> SSAValue | None:
        """The elements of a read in all lanes; of a square, they are loaded for all rows."""
        if op in self.squares and self.key(op, self.mask) not in self.loaded:
            load_square(self, op)
        return super().elements(op)

    def is_loaded(self, op: tix.ReadOp) -> bool:
        """True if the elements of a read are loaded without a mask, as those of squares are."""
        return op in self.squares or super().is_loaded(op)

    def starts(self, op: tix.ReductionOp) -> Sums:
        """The initial sums: the identity of the reduction, in all lanes."""
        return [self.splat(self.constant(op.IDENTITY))] * len(self.totals(op))

    def provide(self, op: tix.ReductionOp, sums: Sums) -> None:
        """Record the values of the sums of a reduction."""
        for (total, _, row, vector_), value in zip(self.totals(op), sums, strict=True):
            self.known[total, row, vector_] = value

    def add_sum(self, op: tix.ReductionOp) -> None:
        """Add all terms of a sum."""
        self.provide_quotients([c.form for c in op.constraints])
        self.hoist(op)
        if self._slopes(op):
            provide_range(self, op)
        sums = self.starts(op)
        segments = Segments.of(self, op, op.indices)
        if segments is None:
            own = rows_last(op, self.tile, self.uses)
            found = in_versions(self, op, sums, lambda at: at.add_terms(op, own, sums))
            return self.provide(op, found)
        totals = BlockTotals(self, segments, len(sums))

        def fill(
            at: BodyLowering, own: Sequence[SSAValue], carried: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            assert isinstance(at, BlockLowering)
            found = in_versions(at, op, carried, lambda at: at.add_terms(op, own, carried))
            return totals.take(at, found)

        self.provide(op, totals.end(self, segments.emit(self, sums, fill)))

    def hoist(self, op: tix.ReductionOp) -> None:
        """Hoist loop-invariant values out of the loops of a sum."""
        for value in hoisted_values(op, self.tile, self.uses).per_block:
            for row, vector_ in self.points(value):
                self.at(row, vector_).value(value)
        for read, places in reads_outside_terms(op, self.uses):
            if self.step(read) not in (0, 1, -1):
                for row, vector_ in self.points(read.result):
                    here = self.at(row, vector_)
                    here.index = here.index.placed(places)
                    here.elements(read)

    def add_terms(
        self, op: tix.ReductionOp, own: Sequence[SSAValue], sums: Sums, chunk: Chunk | None = None
    ) -> Sums:
        """The loops of some indices of a sum, the first one over a chunk, with the block inside."""
        if not own:
            return self._add_term(op, sums)
        index, *rest = own

        def fill(at: BodyLowering, k: SSAValue, carried: Sums) -> Sums:
            assert isinstance(at, BlockLowering)
            at.index.values[index] = k
            for read in far_reads(op, self.tile, self.uses) if not rest else ():
                at.prefetch(read, index)
            return at.add_terms(op, rest, carried)

        if chunk is None and (found := written_out(op, own)):
            if self.is_rare:
                first, end, one = map(self.index.constant, (found[0], sum(found), 1))
                return carrying_loop(self, first, end, one, index.name_hint, sums, fill)
            if not rest and index is shared_index(op, self.tile, self.uses):
                return add_terms(self, op, places_along(index, *found), sums)
            anew = not self.tile.has_masks and rows_read_again(op, index, self.tile, self.uses)
            for k in range(found[0], sum(found)):
                inner = self.apart()
                inner.index = self.index.placed({index: Affine(constant=k)})
                inner.loaded = dict(self.loaded) if anew else self.loaded
                sums = inner.add_terms(op, rest, sums)
                if anew:
                    _forget_numbers(self, inner)
            return sums

        def inside(block: BlockLowering, low: SSAValue, high: SSAValue, sums: Sums) -> Sums:
            """The loop over terms that all columns have, in this block of code."""
            if not rest and self._shares_along(op, index):
                low, sums = add_shifted(
                    block, op, low, high, sums, lambda at, sums: at.add_terms(op, (), sums)
                )
                if chunk is None and all_are_shifted(block, op, index, self._slopes(op)):
                    return sums
            one = block.index.constant(1)
            tests, (low, high) = narrow_range(block, op, own, (low, high))

            def fill_tested(at: BodyLowering, k: SSAValue, carried: Sums) -> Sums:
                assert isinstance(at, BlockLowering)
                at.enter(*tests)
                return fill(at, k, carried)

            return carrying_loop(block, low, high, one, index.name_hint, sums, fill_tested)

        low, high = (chunk.low, chunk.high) if chunk else bounds(self, op, own)
        if not rest and self._slopes(op):
            return add_sloped(self, op, low, high, sums, inside, self.is_small)
        return inside(self, low, high, sums)

    def prefetch(self, read: tix.ReadOp, index: SSAValue) -> None:
        """Prefetch the element that the first row reads `TERMS_AHEAD` terms later."""
        if all(isinstance(v, BlockArgument) for form in read.forms for v in form.indices):
            later = self.index.placed({index: Affine.of(index) + TERMS_AHEAD})
            place = later.linear(read.forms, self.strides[read.tensor, read.shape])
            self.insert(PrefetchOp(self.buffers[read.tensor], place))

    def _slopes(self, op: tix.ReductionOp) -> bool:
        """True if the bounds of a sum depend on the column, as those of a triangular sum do."""
        column = self.tile.column_index
        return column not in op.indices and any(c.form[column] for c in op.constraints)

    def _shares_along(self, op: tix.ReductionOp, index: SSAValue) -> bool:
        """True if terms that share reads are unrolled: in blocks of one row with long code."""
        return not self.is_small and self.tile.height == 1 and shifts(self, op, index)

    def _add_term(self, op: tix.ReductionOp, sums: Sums) -> Sums:
        """The sums with one more term."""
        for inner in tileable_sums(op.body, self.tile, self.uses):
            self.add_sum(inner)
        return add_terms(self, op, [{}], sums)

    # --- memory ---

    def loaded_sums(self, source: SSAValue, first: SSAValue, op: tix.ReductionOp) -> Sums:
        """Load the sums of a reduction from memory, contiguous from a position on."""
        places = self.positions(first, len(self.totals(op)))
        return [load_vector(self, source, place) for place in places]

    def store_sums(self, sums: Sums, target: SSAValue, first: SSAValue) -> None:
        """Store the sums into memory, contiguous from a position on."""
        for place, value in zip(self.positions(first, len(sums)), sums, strict=True):
            store_vector(self, value, target, place)

    def positions(self, first: SSAValue, count: int) -> list[SSAValue]:
        """The positions of `count` contiguous vectors."""
        return [
            self.index.add(first, self.index.constant(n * self.lanes)) if n else first
            for n in range(count)
        ]

    # --- elements ---

    def finish(self, nest: Nest) -> None:
        """Store all elements of the block."""
        for op, own, value in nest.results():
            store_block = store_beside if self.tile.column_index is own[-1] else store_apart
            store_block(self, op, own, value)

    @property
    def vectors(self) -> range:
        """The vectors of a row of the block."""
        return range(self.tile.columns // self.lanes)


def _forget_numbers(at: BlockLowering, term: BlockLowering) -> None:
    """Keep the vectors that a term has loaded for later terms, but let these reload its scalars.

    A window has many scalars that rows share between terms. Where registers are few they would
    spill the sums: a reload is one instruction, a spill and its reload are two.
    """
    at.loaded.update({k: v for k, v in term.loaded.items() if isinstance(v.type, VectorType)})
    at.insert(FenceOp())


def written_out(op: tix.ReductionOp, own: Sequence[SSAValue]) -> tuple[int, int] | None:
    """The first value and the trip count of the first of `own`, if all loops are unrolled."""
    terms = 1
    for index in own:
        found = constant_range(op, index)
        if found is None:
            return None
        terms *= found[1]
    return constant_range(op, own[0]) if terms <= MOST_TERMS_WRITTEN_OUT else None


class BlockTotals:
    """Totals in memory, to which a block adds its sums after each segment."""

    def __init__(self, at: BlockLowering, segments: Segments, count: int):
        self._several = segments.are_several(at)
        size = count * at.lanes
        self._totals = totals = StoredTotals.of(at, at.index.constant(size), size, at.lanes)
        self._last = buffer(at, size, "last")
        when(at, self._several, lambda inner: totals.clear(inner, totals.total, totals.errors))

    def take(self, at: BlockLowering, sums: Sums) -> Sums:
        """Add the sums to the totals and give zeros; for a single segment, give the sums."""

        def empty(inner: BlockLowering) -> Sums:
            inner.store_sums(sums, self._last, inner.index.constant(0))
            self._totals.add(inner, self._last)
            return [inner.splat(inner.constant(0.0))] * len(sums)

        return _if_several(at, self._several, empty, sums)

    def end(self, at: BlockLowering, sums: Sums) -> Sums:
        """The sums of all segments."""

        def whole(inner: BlockLowering) -> Sums:
            self._totals.store_sums(inner, self._last)
            places = inner.positions(inner.index.constant(0), len(sums))
            return [load_vector(inner, self._last, place) for place in places]

        return _if_several(at, self._several, whole, sums)


def _if_several(
    at: BlockLowering, test: SSAValue | None, then: Callable[[BlockLowering], Sums], sums: Sums
) -> Sums:
    """The sums by `then` where the test holds, else `sums`; without a test, by `then` alone."""
    if test is None:
        return then(at)
    taken, left = Block(), Block()
    taken.add_op(operations.end(*then(at.inside(taken))))
    left.add_op(operations.end(*sums))
    branch = operations.branch(test, taken, left, [at.type] * len(sums))
    return at.insert(branch).results
