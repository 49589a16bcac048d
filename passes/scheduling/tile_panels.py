"""Panels: what a sum reads, copied so that the columns of a block lie side by side.

    y[i, j] = sum[k](x[i, k] * w[j, k])        panel[k, q] = w[j0 + q, k]        a term is a row

Where the terms of what is copied lie side by side in memory, as those of `w[j, k]` do along k,
squares of as many terms as lanes are loaded along the terms, and transposed in registers
(`squares`):

    a b     lanes of two rows of w        a c     lanes of two rows of the panel
    c d                                   b d
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from dialects import tix
from dialects.tix import Affine
from passes.scheduling.body_lowering import BodyLowering
from passes.scheduling.emit import buffer, difference, loop, quotient, repeat
from passes.scheduling.lanes_lowering import LanesLowering, Panel
from passes.scheduling.squares import square
from passes.scheduling.sum_lengths import constant_range
from passes.scheduling.tile import Hoisted
from passes.scheduling.vector_lowering import store_vector


@dataclass(frozen=True)
class Chunk:
    """The part [low, high) of the range of a sum's index, at most `length` long."""

    index: SSAValue
    low: SSAValue
    high: SSAValue
    length: int

    def inside(self, op: tix.ReductionOp) -> list[SSAValue]:
        """The index with those inside it."""
        return op.indices[op.indices.index(self.index) :]


def fill_panel(
    at: LanesLowering, op: tix.ReductionOp, hoisted: Hoisted, chunk: Chunk | None
) -> Panel:
    """A value of a sum for all its terms, or those of a chunk, side by side along columns."""
    indices = [v for v in hoisted.indices if chunk is None or v in chunk.inside(op)]
    ranges = [(v, *_range(op, v, chunk)) for v in indices]
    size = at.tile.columns
    for _, _, length in ranges:
        size *= length
    panel = Panel(buffer(at, size, "panel"), at.tile.columns, ranges)
    if chunk is not None:
        at.index.values[chunk.low] = chunk.low
    _Filling(op, hoisted.value, chunk, panel).emit(at, indices)
    return panel


@dataclass(frozen=True)
class _Filling:
    """Fills a panel with a value of a sum."""

    op: tix.ReductionOp
    value: SSAValue
    chunk: Chunk | None
    panel: Panel

    def emit(self, at: BodyLowering, indices: Sequence[SSAValue]) -> None:
        """The loops over the indices of the panel, with a term inside."""
        assert isinstance(at, LanesLowering)
        if not indices:
            return self._term(at)
        index, *rest = indices
        low, high = _bounds(at, self.op, index, self.chunk)

        def one(inner: BodyLowering, k: SSAValue) -> None:
            inner.index.values[index] = k
            self.emit(inner, rest)

        if not rest and self._lies_along(at, index):
            self._along(at, index, low, high)
        else:
            loop(at, low, high, index.name_hint, one)

    def _term(self, at: LanesLowering) -> None:
        for n in range(at.tile.columns // at.lanes):
            lanes = at.at(None, n).lanes_of(self.value)
            place = self.panel.position(at, Affine(constant=n * at.lanes))
            store_vector(at, lanes, self.panel.buffer, place)

    def _lies_along(self, at: LanesLowering, index: SSAValue) -> bool:
        """True if terms lie side by side along an index, and columns apart."""
        read = self.value.owner
        if not isinstance(read, tix.ReadOp) or at.is_divided(read.forms):
            return False
        quotients = [
            v for f in read.forms for v in f.indices if isinstance(v.owner, tix.FloorDivOp)
        ]
        strides = at.strides[read.tensor, read.shape]
        steps = [form[index] for form in read.forms]
        alone = steps[-1] == 1 and not any(steps[:-1]) and strides[-1] == 1
        return alone and not quotients and at.step(read) not in (0, 1, -1)

    def _along(self, at: LanesLowering, index: SSAValue, low: SSAValue, high: SSAValue) -> None:
        """Squares of terms and lanes, as long as they fit, and what is left term by term."""
        width = at.index.constant(at.lanes)
        squares = at.index.mul(quotient(at, difference(at, high, low), width), width)
        whole = at.index.add(low, squares)

        def square(inner: LanesLowering, column: Affine) -> None:
            self._square(inner, index, column)

        def one(inner: LanesLowering, column: Affine) -> None:
            place = self.panel.position(inner, column)
            store_vector(inner, inner.at(None, 0).lanes_of(self.value), self.panel.buffer, place)

        self._vectors(at, index, (low, whole), at.lanes, square)
        if not self._is_square(index, at.lanes):
            self._vectors(at, index, (whole, high), 1, one)

    def _vectors(
        self,
        at: LanesLowering,
        index: SSAValue,
        ends: tuple[SSAValue, SSAValue],
        step: int,
        fill: Callable[[LanesLowering, Affine], None],
    ) -> None:
        """Loops over terms and, inside, over vectors of columns, each from its first one on."""

        def term(inner: BodyLowering, k: SSAValue) -> None:
            inner.index.values[index] = k
            repeat(inner, at.tile.columns // at.lanes, "vector", vector_)

        def vector_(inner: BodyLowering, n: SSAValue) -> None:
            assert isinstance(inner, LanesLowering)
            inner.index.values[n] = n
            column = Affine.of(n) * at.lanes
            first = inner.index.form(Affine.of(at.tile.column_index) + column)
            fill(inner.from_column(first), column)

        loop(at, *ends, index.name_hint, term, step)

    def _is_square(self, index: SSAValue, lanes: int) -> bool:
        """True if squares certainly leave no term."""
        found = constant_range(self.op, index)
        lengths = [found[1] if found else 1]
        if self.chunk is not None and index is self.chunk.index:
            lengths.append(self.chunk.length)
        return not any(length % lanes for length in lengths)

    def _square(self, at: LanesLowering, index: SSAValue, column: Affine) -> None:
        """As many terms as lanes, from the one at hand on, of one vector of columns."""
        read = self.value.owner
        assert isinstance(read, tix.ReadOp)
        for term, lanes in enumerate(square(at, read)):
            inner = at.apart()
            inner.index = at.index.placed({index: Affine.of(index) + term})
            place = self.panel.position(inner, column)
            store_vector(at, lanes, self.panel.buffer, place)


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
