"""Loops of a nest: for each kind of them the emitter that has it.

    Blocks    tile_loops        Pairs     pair_loops
    Bands     band_loops        others    emit_tree, of the tree that a recipe makes

A stage of bands has loops of its own in each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import ParallelOp
from tadc.passes.lowering.all_pairs_loops import pair_loops
from tadc.passes.lowering.band_loops import band_loops
from tadc.passes.lowering.blocks.tile_loops import tiled
from tadc.passes.lowering.loop_builders import store_element
from tadc.passes.lowering.loop_tree.emit_tree import emit_tree
from tadc.passes.lowering.loop_tree.unroll_and_jam import Jammed
from tadc.passes.lowering.scalars.body_lowering import BodyLowering, Strides
from tadc.passes.lowering.scalars.index_lowering import IndexLowering
from tadc.passes.lowering.scalars.lane_sums import LaneLowering
from tadc.passes.lowering.scalars.segments import SegmentLowering
from tadc.passes.scheduling.all_pairs import Pairs
from tadc.passes.scheduling.bands.band_stages import Bands, Stage
from tadc.passes.scheduling.nest import (
    Blocks,
    Carried,
    Columns,
    Nest,
    Plain,
    Rows,
    StreamBlocks,
    Streams,
    Strips,
    Tree,
    carrying,
)
from tadc.passes.scheduling.recipes.column_scans import column_scan
from tadc.passes.scheduling.recipes.elementwise import elementwise
from tadc.passes.scheduling.recipes.recurrence import recurrence
from tadc.passes.scheduling.recipes.rows import rows
from tadc.passes.scheduling.recipes.stream_blocks import stream_blocks
from tadc.passes.scheduling.recipes.streams import streams
from tadc.passes.scheduling.recipes.strips import strips
from tadc.passes.scheduling.streams.stream_phases import Phase
from tadc.passes.scheduling.streams.stream_rows import StreamRow, stream_rows

L = TypeVar("L", bound=BodyLowering)


@dataclass(frozen=True)
class Around:
    """The block around the loops of a nest, with all that a lowering for them is made of."""

    index: IndexLowering
    type: tix.TensorType
    buffers: Mapping[SSAValue, SSAValue]
    strides: Strides
    as_written: Set[Operation] = frozenset()
    strided: Set[SSAValue] = frozenset()
    vectors: bool = True

    def rows(self) -> Jammed:
        """The lowering of loops along rows."""
        return self._made(Jammed)

    def elements(self, versions: bool) -> BodyLowering:
        """The lowering of loops over elements; with vectors, sums may have `versions`."""
        if not self.vectors:
            return self._made(SegmentLowering)
        return self._made(partial(LaneLowering, versions=versions))

    def of_parts(self, rows: Sequence[StreamRow]) -> Around:
        """The block for definitions of parts of rows, which share the buffers of these rows."""
        buffers, strides = dict(self.buffers), dict(self.strides)
        for row in rows:
            for part in row.parts:
                buffers[part.result] = buffers[row.op.result]
                strides[part.result, part.shape] = strides[row.op.result, row.op.shape]
        return replace(self, buffers=buffers, strides=strides)

    def _made(self, lowering: Callable[..., L]) -> L:
        own = self.index, self.type, self.buffers, self.strides
        return lowering(*own, as_written=self.as_written, strided=self.strided)


def loops_of(around: Around, nest: Nest) -> ParallelOp:
    """The loops of a nest."""
    members, loops = nest.members, nest.loops
    # elements outside tiles are few: their sums need no versions
    elements = around.elements(versions=not nest.tiles)
    match loops:
        case Blocks():
            return tiled(elements, nest, store_element)
        case StreamBlocks(tile):
            border = Phase.of(members[0], 0, around.as_written)
            return emit_tree(around.rows(), stream_blocks(border, tile))
        case Streams(found):
            with stream_rows(found, around.as_written) as shared:
                return emit_tree(around.of_parts(shared).rows(), streams(shared))
        case Strips():
            return emit_tree(around.rows(), strips(members, loops))
        case Rows():
            return emit_tree(around.rows(), rows(members, loops, around.index.sizes))
        case Columns(scans):
            return emit_tree(around.rows(), column_scan(members[0], scans))
        case Carried(found):
            return emit_tree(elements, recurrence(members[0], found))
        case Pairs():
            return pair_loops(elements, nest, loops)
        case Bands():
            return band_loops(elements, loops, _stage)
        case Plain():
            return emit_tree(elements, elementwise(members[0]))
        case Tree(root):
            return emit_tree(around.rows(), root)


def _stage(at: BodyLowering, stage: Stage) -> ParallelOp:
    """The loops of the elements that a definition has in a band."""
    nest = carrying(Nest.of(stage.op, stage.blocking))
    if isinstance(nest.loops, Streams):
        near = [replace(stream, is_near=True) for stream in nest.loops.streams]
        nest = replace(nest, loops=Streams(near))
    return loops_of(
        Around(at.index, stage.op.type, at.buffers, at.strides, strided=at.strided), nest
    )
