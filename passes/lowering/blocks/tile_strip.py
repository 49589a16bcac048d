"""A strip: the blocks of one iteration that stand one below the other and share panels.

                     columns of the strip
                   +----------------------+
                   |  panel: w[j, k] for  |     filled once for all blocks of the strip, and again
                   |  all k, or a chunk   |     for each chunk of k where it cannot hold all
                   +----------------------+
                   |  block 0             |  rows     a block: its sums are in registers
       a group     +----------------------+
       of blocks   |  block 1             |  rows
                   +----------------------+
                   |  ...                 |
                   +----------------------+

Without chunks a block is finished before the next one. With chunks, all blocks add the terms of one
chunk before the next chunk is copied: these sums then wait in memory, and others come last.

    panel <- chunk 0    block 0: load sums, add terms, store sums    block 1: ...
    panel <- chunk 1    block 0: load sums, add terms, store sums    block 1: ...
    ...                 block 0: load sums, finish                   block 1: ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.lowering.accumulators import StoredTotals
from tadc.passes.lowering.blocks.block_versions import in_versions
from tadc.passes.lowering.blocks.tile_block import BlockLowering
from tadc.passes.lowering.blocks.tile_grid import Span, most_blocks
from tadc.passes.lowering.blocks.tile_panels import Chunk, fill_panel
from tadc.passes.lowering.blocks.triangular_sums import Sums
from tadc.passes.lowering.lanes.lanes_lowering import Panel
from tadc.passes.lowering.loop_builders import buffer, loop, when
from tadc.passes.lowering.needed_operations import bounds, provide_bounds
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.scalars.segments import Segments
from tadc.passes.scheduling.nest import Nest
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import has_one_chunk, vectors_of_sums
from tadc.passes.scheduling.tiles.tileable_sums import tileable_sums

FillBlock = Callable[[BlockLowering, SSAValue], None]
"""Emits a block: its lowering and its number in the strip."""

EachBlock = Callable[[BodyLowering, FillBlock], None]
"""Emits the loops over blocks."""


class Strip:
    """Emits a strip whose panels hold all terms of their sums."""

    def __init__(
        self,
        nest: Nest,
        tile: Tile,
        column: SSAValue,
        rows: Span | None,
        along: Mapping[SSAValue, Span],
    ):
        self.nest = nest
        self.tile = tile
        self.rows = rows
        self.along = along
        self.column = column
        self.uses = IndexUses()
        self.sums = tileable_sums(nest.body.body, tile, self.uses)
        self.panels: dict[SSAValue, Panel] = {}

    def emit(self, at: BodyLowering) -> None:
        for op in self.sums:
            self.fill_panels(at, op)

        def fill(block: BlockLowering, _: SSAValue) -> None:
            for op in self.sums:
                block.add_sum(op)
            block.finish(self.nest)

        self.each_block(at, fill)

    def block(self, at: BodyLowering, first_row: SSAValue | None) -> BlockLowering:
        """The lowering of the block that begins with this row."""
        block = BlockLowering(at, self.nest.body, self.tile, self.uses)
        block.index.values[self.tile.column_index] = self.column
        if self.tile.row_index is not None and first_row is not None:
            block.index.values[self.tile.row_index] = first_row
        block.panels.update(self.panels)
        block.is_small = self.nest.is_small
        return block

    def fill_panels(
        self, at: BodyLowering, op: tix.ReductionOp, chunk: Chunk | None = None
    ) -> None:
        """Fill the panels of a sum, which all blocks load from."""
        for hoisted in self.tile.panels.get(op, ()):
            self.panels.pop(hoisted.value, None)
            self.panels[hoisted.value] = fill_panel(self.block(at, None), op, hoisted, chunk)

    def each_block(self, at: BodyLowering, fill: FillBlock) -> None:
        """Emit the loops over the blocks of the strip, with `fill` inside."""
        each = self._each_row
        count = self.rows.blocks if self.rows else None
        for index, span in self.along.items():
            each, count = self._each_value(index, span, each, count), self._times(at, span, count)
        each(at, fill)

    def _each_value(
        self, index: SSAValue, span: Span, inside: EachBlock, count: SSAValue | None
    ) -> EachBlock:
        """The loop over the values of a further index, with `count` blocks in each iteration."""

        def each(at: BodyLowering, fill: FillBlock) -> None:
            def one(inner: BodyLowering, n: SSAValue) -> None:
                inner.index.values[index] = span.start(inner, n)
                before = n if count is None else inner.index.mul(n, count)
                inside(inner, lambda block, k: fill(block, block.index.add(before, k)))

            assert span.blocks is not None
            loop(at, at.index.constant(0), span.blocks, index.name_hint, one)

        return each

    def _times(self, at: BodyLowering, span: Span, count: SSAValue | None) -> SSAValue:
        """The number of blocks for all values of a further index."""
        assert span.blocks is not None
        return span.blocks if count is None else at.index.mul(span.blocks, count)

    def _each_row(self, at: BodyLowering, fill: FillBlock) -> None:
        """The loop over the blocks of rows, for one value of all other indices."""

        def one(inner: BodyLowering, number: SSAValue) -> None:
            first_row = self.rows.start(inner, number) if self.rows else None
            fill(self.block(inner, first_row), number)

        if self.rows is None or self.rows.blocks is None:
            one(at, at.index.constant(0))
        else:
            loop(at, at.index.constant(0), self.rows.blocks, "block", one)

    def count(self, at: BodyLowering, of_block: int) -> SSAValue:
        """The number of blocks of the strip times `of_block`."""
        each = at.index.constant(of_block)
        if self.rows is not None and self.rows.blocks is not None:
            each = at.index.mul(self.rows.blocks, each)
        for span in self.along.values():
            each = self._times(at, span, each)
        return each


class ChunkedStrip(Strip):
    """Emits a strip whose sums advance chunk by chunk and are stored in memory in between.

    Sums with no chunks, or a single one, stay in registers: a block adds them up when it is
    finished.
    """

    def emit(self, at: BodyLowering) -> None:
        """Advance all sums chunk by chunk, and then finish each block."""
        sizes = at.index.sizes
        whole = {
            op: Chunk(op.indices[0], *bounds(at, op, op.indices), self.tile.chunks[op][1])
            for op in self.sums
            if has_one_chunk(op, self.tile, sizes)
        }
        cut = [op for op in self.sums if op in self.tile.chunks and op not in whole]
        waiting = {op: _ChunkedSum(self, at, op) for op in cut}
        for chunked in waiting.values():
            chunked.add(at)
        for op in self.sums:
            if op not in waiting:
                self.fill_panels(at, op, whole.get(op))

        def fill(block: BlockLowering, number: SSAValue) -> None:
            block.index.values.update({chunk.low: chunk.low for chunk in whole.values()})
            for op in self.sums:
                if op in waiting:
                    block.provide(op, waiting[op].sums(block, number))
                else:
                    block.add_sum(op)
            block.finish(self.nest)

        self.each_block(at, fill)


class _ChunkedSum:
    """A sum that advances by chunks, with a buffer for its partial sums in each block."""

    def __init__(self, strip: Strip, at: BodyLowering, op: tix.ReductionOp):
        self.strip = strip
        self.op = op
        self.size = int(vectors_of_sums(op, strip.tile, 1, strip.uses))
        self.room = self.size * most_blocks(strip.tile)
        self.waiting = buffer(at, self.room, "sums")

    def add(self, at: BodyLowering) -> None:
        """Add all terms to the sums of all blocks; chunks divide segments."""
        op = self.op
        self._begin(at)
        provide_bounds(at, op)
        _, length = self.strip.tile.chunks[op]
        segments = Segments.of(at, op, op.indices, length)
        if segments is None:
            return self.advance(at, op.indices)
        totals = StoredTotals.of(at, self.strip.count(at, self.size), self.room)
        several = segments.are_several(at)

        def begin(inner: BodyLowering) -> None:
            totals.clear(inner, totals.total)
            totals.clear(inner, totals.errors)

        def take(inner: BodyLowering) -> None:
            totals.add(inner, self.waiting)
            totals.clear(inner, self.waiting)

        def end(inner: BodyLowering) -> None:
            totals.store_sums(inner, totals.total)
            totals.copy(inner, totals.total, self.waiting)

        def fill(inner: BodyLowering, own: Sequence[SSAValue]) -> None:
            self.advance(inner, own)
            when(inner, several, take)

        when(at, several, begin)
        segments.each(at, fill)
        when(at, several, end)

    def _begin(self, at: BodyLowering) -> None:
        """Store the identity of the reduction into the sums of all blocks."""

        def fill(block: BlockLowering, number: SSAValue) -> None:
            block.store_sums(block.starts(self.op), self.waiting, self._first(block, number))

        self.strip.each_block(at, fill)

    def advance(self, at: BodyLowering, indices: Sequence[SSAValue]) -> None:
        """The loops of the sum down to the index that is cut, with its chunks inside."""
        index, length = self.strip.tile.chunks[self.op]
        low, high = bounds(at, self.op, indices)

        def outer(inner: BodyLowering, k: SSAValue) -> None:
            inner.index.values[indices[0]] = k
            self.advance(inner, indices[1:])

        def cut(inner: BodyLowering, k: SSAValue) -> None:
            end = inner.index.min(inner.index.add(k, inner.index.constant(length)), high)
            chunk = Chunk(index, k, end, length)
            self.strip.fill_panels(inner, self.op, chunk)
            self._add_chunk(inner, indices, chunk)

        if indices[0] is index:
            loop(at, low, high, "chunk" if length > 1 else index.name_hint, cut, length)
        else:
            loop(at, low, high, indices[0].name_hint, outer)

    def _add_chunk(self, at: BodyLowering, indices: Sequence[SSAValue], chunk: Chunk) -> None:
        """Add the terms of one chunk to the sums of all blocks."""

        def fill(block: BlockLowering, number: SSAValue) -> None:
            block.index.values[chunk.low] = chunk.low
            block.hoist(self.op)
            sums = self.sums(block, number)
            found = in_versions(
                block, self.op, sums, lambda at: at.add_terms(self.op, indices, sums, chunk)
            )
            block.store_sums(found, self.waiting, self._first(block, number))

        self.strip.each_block(at, fill)

    def sums(self, block: BlockLowering, number: SSAValue) -> Sums:
        """The sums of a block so far."""
        return block.loaded_sums(self.waiting, self._first(block, number), self.op)

    def _first(self, block: BlockLowering, number: SSAValue) -> SSAValue:
        return block.index.mul(number, block.index.constant(self.size))
