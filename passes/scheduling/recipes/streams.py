"""Streams: rows in vectors, with masks at borders alone, past the caches where they are large.

    y[i, j] = x[i, j - 1] if j > 0 else 0       parallel i
                                                  if y and x exceed the largest cache
                                                    vector j by 16 in 16
                                                      for j by 16 align
                                                        store y past the caches
                                                  else
                                                    vector j by 16 in 16
                                                      for j by 16 border
                                                        store y

Elements without other indices come in parts of a row. Several definitions over the same elements
have a row each in turn. Rows that read the same rows of tensors are tiled with their columns:

    parallel i by 4                 of the six rows of x that four rows read, each part
      for j by 64 align             comes to the nearest cache once
        for i
          vector j by 16 in 16
            for j by 16 align
              store y past the caches
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tadc.dialects import tix
from tadc.passes.scheduling.loop_tree.nodes import (
    AtMost,
    Axis,
    Exceeds,
    For,
    If,
    Interleave,
    Mark,
    Node,
    Seq,
    Store,
    Tail,
    nested,
)
from tadc.passes.scheduling.streams.stream_choice import (
    FEWEST_BYTES,
    MOST_BYTES,
    constant_bytes,
    shapes_of,
)
from tadc.passes.scheduling.streams.stream_phases import Phase
from tadc.passes.scheduling.streams.stream_rows import StreamRow
from tadc.passes.scheduling.streams.stream_tiles import shared_rows
from tadc.passes.scheduling.tiles.tile_analysis import bytes_of_element

ELEMENTS_OF_PART = 1 << 14
"""The elements that an iteration writes where the result has only one index."""

ELEMENTS_OF_PART_TOGETHER = 1 << 10
"""The elements of each result where several streams run together: what one of them has read is then
in the nearest cache for the next."""

ROWS = 4
"""Rows of a tile: eight are a tenth faster on one thread, and a tenth slower on two."""

VECTORS_OF_TILE = 4
"""Vectors of a row of a tile: one is as fast, but for its loops, and 16 are a quarter slower."""

FEWEST_BYTES_OF_ROW = 6 << 10
"""The bytes of rows in tiles: at 4 kB both orders take as long, at 1 kB tiles twice as long."""


def streams(rows: Sequence[StreamRow]) -> Node:
    """The tree of streams over the same elements."""
    first = rows[0]
    recipe = _Recipe(rows, _axes(rows), first.stream.lanes)
    # vectors of phases do not lie where lines do
    is_near = first.stream.modulus > 1 or any(row.stream.is_near for row in rows)
    large = False if is_near else exceeds_caches([row.op for row in rows])
    shared = shared_rows(first.op) if large is not False and len(rows) == 1 else None
    if shared is not None:
        return recipe.in_tiles(first.op.indices.index(shared), large)
    return recipe.one_by_one(large)


def exceeds_caches(ops: Sequence[tix.DefineOp]) -> Exceeds | bool:
    """The test that tensors exceed the largest cache; its outcome where sizes decide it."""
    shapes = shapes_of(*ops)
    known = constant_bytes(shapes)
    if known is not None and not FEWEST_BYTES <= known < MOST_BYTES:
        return known >= MOST_BYTES
    return Exceeds(shapes)


def _axes(rows: Sequence[StreamRow]) -> list[Axis]:
    """The axes of definitions, with the index that each part of a row calls its own."""
    every = zip(*(op.indices for row in rows for op in row.parts), strict=True)
    op, modulus = rows[0].op, rows[0].stream.modulus
    axes = [Axis(indices, size) for indices, size in zip(every, op.shape, strict=True)]
    return [*axes[:-1], Axis(axes[-1].indices, axes[-1].range, modulus)]


@dataclass(frozen=True)
class _Recipe:
    """The loops of rows of some definitions."""

    rows: Sequence[StreamRow]
    axes: Sequence[Axis]
    lanes: int

    def one_by_one(self, large: Exceeds | bool) -> Node:
        """A row of each definition in turn; of a single row, parts."""
        *others, column = self.axes
        body = _either(large, self._rows)
        if others:
            return nested(others, body, Mark.PARALLEL)
        elements = ELEMENTS_OF_PART if len(self.rows) == 1 else ELEMENTS_OF_PART_TOGETHER
        return For(column, body, Mark.PARALLEL, elements)

    def in_tiles(self, place: int, large: Exceeds | bool) -> Node:
        """The loops over some rows: past the caches, long ones are tiled along their columns."""
        row, column, op = self.axes[place], self.axes[-1], self.rows[0].op
        is_short = AtMost(op.shape[-1:], FEWEST_BYTES_OF_ROW // bytes_of_element(op.type) - 1)
        step = VECTORS_OF_TILE * self.lanes

        def some_rows(past_caches: bool) -> Node:
            body = For(row, self._rows(past_caches))
            if not past_caches:
                return body
            return For(column, body, step=step, tail=Tail.ALIGN, undivided=is_short)

        body = _either(large, some_rows)
        for axis in reversed(self.axes[:-1]):
            body = For(axis, body, Mark.PARALLEL, ROWS if axis is row else 1)
        return body

    def _rows(self, past_caches: bool) -> Node:
        return Seq([node for row in self.rows for node in self._row(row, past_caches)])

    def _row(self, row: StreamRow, past_caches: bool) -> list[Node]:
        """The vectors of a row, segment by segment."""
        if row.stream.modulus > 1:
            return [self._vectors(row, 0, Interleave([p.op for p in row.phases]), past_caches)]
        stores = [Store(phase.op, is_streaming=past_caches) for phase in row.phases]
        return [self._vectors(row, n, store, past_caches) for n, store in enumerate(stores)]

    def _vectors(self, row: StreamRow, n: int, body: Node, past_caches: bool) -> Node:
        """The loop over the vectors of a segment."""
        column, lanes = self.axes[-1], self.lanes
        phases = row.phases if row.stream.modulus > 1 else [row.phases[n]]
        first, end = row.segments[n]
        tail = Tail.ALIGN if past_caches else tail_of(phases)
        body = For(column, body, Mark.SERIAL, lanes, tail, first=first, end=end, phases=phases)
        return For(column, body, Mark.VECTOR, lanes, lanes=lanes)


def tail_of(phases: Sequence[Phase]) -> Tail:
    """The tail of stores through the caches: the last vector shifts if no choice needs masks."""
    is_guarded = len(phases) > 1 or phases[0].inside.tests
    return Tail.BORDER if is_guarded else Tail.SHIFT


def _either(test: Exceeds | bool, made: Callable[[bool], Node]) -> Node:
    """Loops with stores past the caches where a test holds, and through them elsewhere."""
    if isinstance(test, bool):
        return made(test)
    return If([test], made(True), made(False))
