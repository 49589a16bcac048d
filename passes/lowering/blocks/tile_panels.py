"""Panels: what a sum reads, copied so that the columns of a block lie side by side.

    y[i, j] = sum[k](x[i, k] * w[j, k])        panel[k, q] = w[j0 + q, k]        a term is a row

Where the terms of what is copied lie side by side in memory, as those of `w[j, k]` do along k
(`packed_runs`), squares of as many terms as lanes are loaded along the terms, and transposed in
registers (`squares`):

    a b     lanes of two rows of w        a c     lanes of two rows of the panel
    c d                                   b d

The last square of a run may have fewer terms. A mask then leaves out what lies behind them, and the
rows of these are written again by the terms that follow, or lie at the end of the buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.lowering.blocks.transposed_loads import places_across, square
from tadc.passes.lowering.lanes.lanes_lowering import LanesLowering, Panel
from tadc.passes.lowering.lanes.vector_lowering import store_vector
from tadc.passes.lowering.loop_builders import buffer, loop, repeat
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.tails import end_of_whole, lanes_before
from tadc.passes.scheduling.tiles.packed_runs import run_of
from tadc.passes.scheduling.tiles.sum_lengths import constant_range
from tadc.passes.scheduling.tiles.tile import Hoisted


@dataclass(frozen=True)
class Chunk:
    """The part [low, high) of the range of a sum's index, at most `length` long."""

    index: SSAValue
    low: SSAValue
    high: SSAValue
    length: int

    def inside(self, op: tix.ReductionOp) -> list[SSAValue]:
        """The index that is cut into chunks, and the indices of the loops inside it."""
        return op.indices[op.indices.index(self.index) :]


def fill_panel(
    at: LanesLowering, op: tix.ReductionOp, hoisted: Hoisted, chunk: Chunk | None
) -> Panel:
    """Pack a value of a sum into a panel, contiguous along columns, for all terms or a chunk."""
    indices = [v for v in hoisted.indices if chunk is None or v in chunk.inside(op)]
    ranges = [(v, *_range(op, v, chunk)) for v in indices]
    found = run_of(hoisted, op, at.tile.column_index, at.uses, at.strided)
    run = [v for v in found if v in indices]
    filling = _Filling(op, hoisted.value, chunk, run)
    terms = prod(length for _, _, length in ranges)
    rows = terms if filling.has_whole_squares(at.lanes) else terms + at.lanes - 1
    panel = Panel(buffer(at, rows * at.tile.columns, "panel"), at.tile.columns, ranges)
    if chunk is not None:
        at.index.values[chunk.low] = chunk.low
    filling.emit(at, panel, indices[: len(indices) - len(run)])
    return panel


@dataclass(frozen=True)
class _Filling:
    """Fills a panel with a value of a sum."""

    op: tix.ReductionOp
    value: SSAValue
    chunk: Chunk | None
    run: Sequence[SSAValue]
    """The innermost indices of the panel, if the terms along them are contiguous in memory."""

    def emit(self, at: BodyLowering, panel: Panel, outside: Sequence[SSAValue]) -> None:
        """Emit the loops over the indices outside of the run, with the run or a term inside."""
        assert isinstance(at, LanesLowering)
        if not outside:
            return self._run(at, panel) if self.run else self._term(at, panel)
        index, *rest = outside
        low, high = _bounds(at, self.op, index, self.chunk)

        def one(inner: BodyLowering, k: SSAValue) -> None:
            inner.index.values[index] = k
            self.emit(inner, panel, rest)

        loop(at, low, high, index.name_hint, one)

    def has_whole_squares(self, lanes: int) -> bool:
        """True if the terms of a run are known to be a multiple of the lanes."""
        if not self.run:
            return True
        lengths = [constant_range(self.op, v) for v in self.run]
        first, *inside = [found[1] if found else 1 for found in lengths]
        chunk = self.chunk.length if self.chunk and self.run[0] is self.chunk.index else first
        return not any(n * prod(inside) % lanes for n in (first, chunk))

    def _term(self, at: LanesLowering, panel: Panel) -> None:
        for n in range(at.tile.columns // at.lanes):
            lanes = at.at(None, n).lanes_of(self.value)
            place = panel.position(at, Affine(constant=n * at.lanes))
            store_vector(at, lanes, panel.buffer, place)

    def _run(self, at: LanesLowering, panel: Panel) -> None:
        """Copy the terms of a run, one vector of columns at a time."""
        ends = [_bounds(at, self.op, v, self.chunk) for v in self.run]
        lengths = [at.index.sub(high, low) for low, high in ends]
        terms = reduce(at.index.mul, lengths)
        at.index.values.update({v: low for v, (low, _) in zip(self.run, ends, strict=True)})

        def columns(inner: BodyLowering, n: SSAValue) -> None:
            assert isinstance(inner, LanesLowering)
            inner.index.values[n] = n
            column = Affine.of(n) * inner.lanes
            first = inner.index.form(Affine.of(at.tile.column_index) + column)
            place = panel.position(inner, column)
            self._squares(inner.from_column(first), panel, place, terms)

        repeat(at, at.tile.columns // at.lanes, "vector", columns)

    def _squares(self, at: LanesLowering, panel: Panel, place: SSAValue, terms: SSAValue) -> None:
        """Copy terms of one vector of columns in transposed squares, the first term to `place`."""
        read = self.value.owner
        assert isinstance(read, tix.ReadOp)
        firsts = places_across(at, read)
        width = at.index.constant(at.lanes)
        zero = at.index.constant(0)
        whole = end_of_whole(at, zero, terms, width)

        def fill(inner: BodyLowering, term: SSAValue, mask: SSAValue | None = None) -> None:
            assert isinstance(inner, LanesLowering)
            places = [inner.index.add(first, term) for first in firsts]
            row = inner.index.mul(term, inner.index.constant(panel.columns))
            for n, lanes in enumerate(square(inner, read, places, mask)):
                below = inner.index.add(row, inner.index.constant(n * panel.columns))
                store_vector(inner, lanes, panel.buffer, inner.index.add(place, below))

        def rest(inner: BodyLowering, term: SSAValue) -> None:
            assert isinstance(inner, LanesLowering)
            fill(inner, term, lanes_before(inner, terms, term))

        loop(at, zero, whole, "term", fill, at.lanes)
        if not self.has_whole_squares(at.lanes):
            loop(at, whole, terms, "term", rest, at.lanes)


def _range(op: tix.ReductionOp, v: SSAValue, chunk: Chunk | None) -> tuple[Affine, int]:
    """The first value of an index of a panel, and the number of values that there is room for."""
    if chunk is not None and v is chunk.index:
        return Affine.of(chunk.low), chunk.length
    found = constant_range(op, v)
    assert found is not None
    return Affine(constant=found[0]), found[1]


def _bounds(
    at: BodyLowering, op: tix.ReductionOp, v: SSAValue, chunk: Chunk | None
) -> tuple[SSAValue, SSAValue]:
    """The bounds of an index of a panel."""
    if chunk is not None and v is chunk.index:
        return chunk.low, chunk.high
    low, length = constant_range(op, v) or (0, 0)
    return at.index.constant(low), at.index.constant(low + length)
