"""Blocks of a stream: rows that share what they read and compute.

    y[i, j] = x[i + 1, j] - x[i, j]     parallel i by 4
                                          parallel j by 4096
                                            for j by 64
                                              if no choice changes sides in the block
                                                jam i by 4
                                                  for i by 4 exact
                                                    vector j by 64 in 16
                                                      for j by 64 exact
                                                        store y
                                              else
                                                for i
                                                  vector j by 16 in 16
                                                    for j by 16 border
                                                      store y

Blocks follow each other along the columns, as memory does. Each element is written by the block
that it lies in: blocks do not overlap.
"""

from __future__ import annotations

from tadc.dialects import tix
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.loop_tree.nodes import Axis, For, If, Mark, Node, Store, Tail, nested
from tadc.passes.scheduling.recipes.streams import tail_of
from tadc.passes.scheduling.streams.stream_phases import Phase
from tadc.passes.scheduling.streams.stream_tiles import tests_of_block
from tadc.passes.scheduling.tiles.tile import Tile

BLOCKS_OF_PART = 64
"""Blocks along a row in one parallel iteration."""


def stream_blocks(border: Phase, tile: Tile) -> Node:
    """The tree of a definition in blocks: interior ones are jammed, border ones run row by row."""
    op, width = border.op, tile.columns * BLOCKS_OF_PART
    axes = {v: Axis([v], n) for v, n in zip(op.indices, op.shape, strict=True)}
    assert tile.row_index is not None
    row, column = axes.pop(tile.row_index), axes.pop(tile.column_index)
    inside = _decided(border)
    tests = [*tests_of_block(op, inside.inside.tests, tile)]
    whole, rest = _whole(inside, tile, row, column), _rows(border, tile, row, column)
    body: Node = For(column, If(tests, whole, rest), step=tile.columns)
    body = For(column, body, Mark.PARALLEL, width)
    body = For(row, body, Mark.PARALLEL, tile.rows)
    return nested([*axes.values()], body, Mark.PARALLEL)


def _decided(border: Phase) -> Phase:
    """The definition as a phase whose guards are all of its choices by indices."""
    op = border.op
    choices = [o for o in op.body.walk() if isinstance(o, tix.IfOp)]
    return Phase(op, 0, IndexUses(), choices, border.as_written, program=border.program)


def _whole(inside: Phase, tile: Tile, row: Axis, column: Axis) -> Node:
    """The loops of an interior block, with all of its rows jammed."""
    body: Node = Store(inside.op, taken=tile.neighbours)
    body = For(column, body, step=tile.columns, tail=Tail.EXACT, phases=[inside])
    body = For(column, body, Mark.VECTOR, tile.columns, lanes=tile.lanes)
    body = For(row, body, step=tile.rows, tail=Tail.EXACT)
    return For(row, body, Mark.JAM, tile.rows)


def _rows(border: Phase, tile: Tile, row: Axis, column: Axis) -> Node:
    """The loops of a border block: its elements in bounds, row by row."""
    tail, lanes = tail_of([border]), tile.lanes
    body: Node = For(column, Store(border.op), step=lanes, tail=tail, phases=[border])
    return For(row, For(column, body, Mark.VECTOR, lanes, lanes=lanes))
