"""Values of a body at the points of a register block: numbers, and vectors along the columns.

    y[i, j] = sum[k](x[i, k] * w[k, j])          row 1, vector 2 of 16 lanes:

    x[i, k]              the same for all lanes       %0 = memref.load %x[(i + 1) * K + k]
    w[k, j]              along the lanes              %1 = vector.load %w[k * J + j + 32]
    x[i, k] * w[k, j]    a vector                     %2 = arith.mulf (vector.broadcast %0), %1

A value is asked for at a point, a row and a vector of the block, and emitted where it is asked for
first; what is the same for all rows, or for all vectors, is one value. Two rows may read the same
element at different terms, as `x[i + k]` does: then it is loaded once.

What has no form for vectors is computed lane by lane, in a loop.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import ConvertLanesOp, SelectLanesOp
from tadc.dialects.quick import operands_of
from tadc.dialects.tix import Affine, Variable
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.lowering.lanes.lane_tests import LaneTests, block_limits
from tadc.passes.lowering.lanes.vector_lowering import load_vector, store_vector
from tadc.passes.lowering.loop_builders import buffer, either, load, loop, store
from tadc.passes.lowering.needed_operations import missing
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.scalars.elementary import AS_WRITTEN, CONTRACT
from tadc.passes.rewriting.shallow_copy import shallow_copy
from tadc.passes.scheduling.tiles.sum_lengths import is_short
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import points_of

Key = tuple[SSAValue, int | None, int | None]
"""A value, and its row and vector, where it depends on them."""


@dataclass(frozen=True)
class Panel:
    """A value that is packed into a buffer for all columns of a block and the terms of a sum."""

    buffer: SSAValue
    columns: int
    ranges: Sequence[tuple[SSAValue, Affine, int]]
    """Indices of a sum, each with its first value and the number of values with room."""

    def position(self, at: LanesLowering, column: Affine) -> SSAValue:
        """The position in the panel of a column, for the term at hand."""
        term = Affine()
        for index, low, length in self.ranges:
            term = term * length + Affine.of(index) - low
        return at.index.form(term * self.columns + column)


class LanesLowering(LaneTests):
    """Emits values at points of a block; its indices have the values of the first row and
    column."""

    def __init__(self, at: BodyLowering, op: tix.DefineOp, tile: Tile, uses: IndexUses):
        super().__init__(
            at.index.inside(at.index.block),
            op.type,
            at.buffers,
            at.strides,
            at.scalars,
            at.as_written,
            at.strided,
        )
        self.tile = tile
        self.uses = uses
        self.limits = block_limits(op, tile)
        self.row: int | None = None
        self.vector: int | None = None
        self.known: dict[Key, SSAValue] = {}
        """The values that are emitted, by value, row and vector."""
        self._places: dict[tuple[int, int], dict[Variable, Affine]] = {}
        self.loaded = {}
        for index, _ in tile.whole:
            self.index.values[index] = self.index.constant(0)
        self.panels: dict[SSAValue, Panel] = {}
        """The values that are packed into panels."""

    def inside(self, block: Block) -> Self:
        inner = super().inside(block)
        inner.known = dict(self.known)
        inner.loaded = dict(self.loaded)
        return inner

    def apart(self) -> Self:
        """A copy of this lowering for another term: both share loads, but no other new values."""
        inner = shallow_copy(self)
        inner.scalars, inner.known = dict(self.scalars), dict(self.known)
        inner.index = self.index.placed({})
        return inner

    def at(self, row: int | None, vector: int | None) -> Self:
        """The lowering of the same block at this row and vector."""
        inner = shallow_copy(self)
        inner.row, inner.vector = row, vector
        inner.scalars = dict(self.scalars)
        if (point := (row or 0, vector or 0)) not in self._places:
            self._places[point] = _places(self.tile, *point)
        axes = () if row is None else self.tile.distances(row)
        first = {v: Affine.of(v) for v in axes if v in self.index.places}
        inner.index = self.index.placed({**first, **self._places[point]})
        return inner

    def from_column(self, column: SSAValue) -> Self:
        """The lowering of a block that begins with another column, without any values yet."""
        inner = self.apart()
        inner.scalars, inner.known, inner.loaded = {}, {}, {}
        inner.index = self.index.elsewhere({self.tile.column_index: column})
        return inner

    # --- values at this point ---

    def value(self, value: SSAValue) -> SSAValue:
        """A value at this point: a number where it is the same for all lanes, else a vector."""
        key = _, row, vector = _key(self, value)
        if key not in self.known:
            here = self if (row, vector) == (self.row, self.vector) else self.at(row, vector)
            asking = self.index.location, self.flags
            self.known[key] = here._emitted(value)
            self.index.location, self.flags = asking
        return self.known[key]

    def know(self, value: SSAValue, found: SSAValue) -> None:
        """Record what a value is at this point."""
        self.known[_key(self, value)] = found

    def lanes_of(self, value: SSAValue) -> SSAValue:
        """A value at this point as a vector."""
        return self.splat(self.value(value))

    def _emitted(self, value: SSAValue) -> SSAValue:
        op = value.owner
        assert isinstance(op, Operation)
        self.index.location = op.location
        if value in self.panels:
            panel, column = self.panels[value], Affine(constant=(self.vector or 0) * self.lanes)
            return load_vector(self, panel.buffer, panel.position(self, column))
        match op:
            case tix.ConstantOp():
                return self.constant(op.value.data)
            case tix.UnaryOp() | tix.BinaryOp():
                operands = self.unified([self.value(v) for v in operands_of(op)])
                self.flags = AS_WRITTEN if op in self.as_written else CONTRACT
                return self.elementwise(op, operands)
            case tix.ReductionOp() if is_short(op):
                return self._unrolled(op)
            case tix.IfOp() if (side := self.decided(op)) is not None:
                return self.value(tix.yielded(side))
            case _ if self.vector is None:
                return self.number(op) if isinstance(op, tix.ReadOp) else self._number(value)
            case tix.IndexToRealOp() if not self.is_divided([op.form]):
                self.provide_quotients([op.form])
                return self.insert(ConvertLanesOp(self.integers(op.form), self.element)).result
            case tix.IfOp():
                return self.choice(op)
            case tix.WhereOp():
                return self.choice_by_values(op)
            case _:
                found = self.elements(op) if isinstance(op, tix.ReadOp) else None
                return self.lane_by_lane(value) if found is None else found

    def _number(self, value: SSAValue) -> SSAValue:
        """Emit a value and its operands as numbers at this point; totals of the block are given."""
        self.scalars.update(_totals_of_row(self))
        for op in missing(self, [value], ())[0]:
            self.operation(op)
        return self.scalars[value]

    def _unrolled(self, op: tix.ReductionOp) -> SSAValue:
        """Unroll all terms of a short reduction."""
        total = self.constant(op.IDENTITY)
        for places in points_of(op):
            inner = self.apart()
            inner.index = self.index.placed(places)
            total = inner.with_term(total, op)
        return total

    def with_term(self, total: SSAValue, op: tix.ReductionOp) -> SSAValue:
        """Combine the total of a short reduction with the term at hand."""
        return self.combined(op, *self.unified([total, self.value(tix.yielded(op.body))]))

    @abstractmethod
    def choice(self, op: tix.IfOp) -> SSAValue:
        """The value of a choice by indices that differs by lane."""

    @abstractmethod
    def choice_by_values(self, op: tix.WhereOp) -> SSAValue:
        """The value of a choice by values that differ by lane."""

    def points(self, value: SSAValue) -> list[tuple[int | None, int | None]]:
        """The rows and vectors in which a value differs."""
        found = self.uses.of(value)
        vectors = range(self.tile.columns // self.lanes)
        along = vectors if self.tile.column_index in found else [None]
        return [(r, v) for r in self.tile.rows_in(found) for v in along]

    def totals(
        self, op: tix.ReductionOp
    ) -> list[tuple[SSAValue, SSAValue, int | None, int | None]]:
        """Each vector of sums of the block: a result with its term, and the row and the vector."""
        pairs = zip(op.results, tix.all_yielded(op.body), strict=True)
        return [(total, term, *point) for total, term in pairs for point in self.points(total)]

    # --- lane by lane ---

    def lane_by_lane(self, value: SSAValue) -> SSAValue:
        """A vector of numbers, each computed in an iteration of a loop; 0 in lanes that a mask
        leaves out."""
        target = buffer(self, self.lanes, "gathered")
        sources = _in_memory(self, value)
        taken = _mask_in_memory(self)

        def compute(inner: BodyLowering, lane: SSAValue) -> None:
            assert isinstance(inner, LanesLowering)
            inner.index.values[lane] = lane
            inner.index.places[self.tile.column_index] = self._column(Affine.of(lane))
            for v, source in sources.items():
                inner.scalars[v] = load(inner, source, lane)
            store(inner, inner._number(value), target, lane)

        def one(inner: BodyLowering, lane: SSAValue) -> None:
            if taken is None:
                return compute(inner, lane)
            zero = inner.constant(0.0)
            holds = inner.insert(arith.CmpfOp(load(inner, taken, lane), zero, "one")).result
            either(
                inner,
                holds,
                lambda then: compute(then, lane),
                lambda otherwise: store(otherwise, zero, target, lane),
            )

        zero = self.index.constant(0)
        loop(self, zero, self.index.constant(self.lanes), "lane", one)
        return load_vector(self, target, zero)

    def _column(self, lane: Affine) -> Affine:
        """The column of a lane of this vector, as an affine form."""
        column = self.tile.column_index
        return self.index.places.get(column, Affine.of(column)) + lane

    def at_lane(self, lane: int) -> Self:
        """The lowering of the same block for one lane of this vector."""
        inner = self.apart()
        places: dict[Variable, Affine] = {
            self.tile.column_index: self._column(Affine(constant=lane))
        }
        inner.index = self.index.placed(places)
        return inner


def _key(at: LanesLowering, value: SSAValue) -> Key:
    """A value, with the row and the vector of this point, where it depends on them."""
    used = at.uses.of(value)
    vector = at.vector if at.tile.column_index in used else None
    return value, at.tile.row_like(at.row, used), vector


def _totals_of_row(at: LanesLowering) -> dict[SSAValue, SSAValue]:
    """The reductions whose totals, the same for all lanes, are known in this row."""
    return {
        v: number
        for (v, row, vector), number in at.known.items()
        if isinstance(v.owner, tix.ReductionOp)
        and (row, vector) == (at.tile.row_like(at.row, at.uses.of(v)), None)
    }


def _places(tile: Tile, row: int, vector: int) -> dict[Variable, Affine]:
    """The places of indices that differ from those of the first row and column."""
    offsets = {**tile.distances(row), tile.column_index: vector * tile.lanes}
    return {v: Affine.of(v) + n for v, n in offsets.items() if n}


def _in_memory(at: LanesLowering, root: SSAValue) -> dict[SSAValue, SSAValue]:
    """Buffers that hold those vectors which a value needs and which are already computed."""
    own = (None, at.row), (None, at.vector)
    there = {v for v, row, vector in at.known if row in own[0] and vector in own[1]}
    _, needed = missing(at, [root], there - {root})
    found: dict[SSAValue, SSAValue] = {}
    for v in needed:
        found[v] = buffer(at, at.lanes, "known")
        store_vector(at, at.lanes_of(v), found[v], at.index.constant(0))
    return found


def _mask_in_memory(at: LanesLowering) -> SSAValue | None:
    """A buffer with 1 in the lanes that the mask has, else 0; None without a mask."""
    if at.mask is None:
        return None
    taken = buffer(at, at.lanes, "taken")
    one, zero = (at.splat(at.constant(number)) for number in (1.0, 0.0))
    flags = at.insert(SelectLanesOp(at.mask, one, zero)).result
    store_vector(at, flags, taken, at.index.constant(0))
    return taken
