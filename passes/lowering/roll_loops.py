"""Emits a stage that rolls along with its reader (`rolls`).

    loops.parallel (%block, %piece) to (...)          eight rows, and a piece of their columns
      z of the first vector of each row
      scf.for %j = ... iter_args(%a = z[.., %j ..])   one vector of each row after the other
        if all lanes are elements for which no condition changes
          %b = z[.., %j + 16 ..];  y[.., %j ..] = f(%a, %b);  yield %b
        else
          the same, under masks
    if there are fewer rows, or a condition on rows may fail: row by row, likewise

All places compute an element by the same operations (`border_lanes`), so that bits depend on none
of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith
from xdsl.ir import Block, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import ParallelOp
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.lowering import operations
from tadc.passes.lowering.lanes.border_lanes import BorderLowering, not_fused
from tadc.passes.lowering.loop_builders import (
    all_of,
    at_least_one,
    carrying_loop,
    either,
    loop,
    quotient_up,
)
from tadc.passes.lowering.parallel import parallel
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.tails import lanes_before, store_under_mask
from tadc.passes.scheduling.bands.band_stages import Bands, Roll
from tadc.passes.scheduling.bands.rolls import tile_of
from tadc.passes.scheduling.streams.interior import Inside
from tadc.passes.scheduling.streams.stream_guards import for_all_terms, guards_of
from tadc.passes.scheduling.streams.stream_tiles import inside_of_all
from tadc.passes.scheduling.tiles.tile_analysis import lanes_of

VECTORS_OF_PIECE = 256
"""The largest number of vectors of a row that one iteration computes."""

Vectors = Sequence[SSAValue]


def roll_loops(outer: BodyLowering, bands: Bands, roll: Roll) -> ParallelOp:
    """The loops of a stage and the root: an iteration computes a piece of some rows."""
    stage, root = bands.stages
    buffers, strides = dict(outer.buffers), dict(outer.strides)
    buffers[root.op.result] = outer.buffers[root.of.result]
    strides[root.op.result, root.op.shape] = outer.index.strides(root.op.shape)
    op = root.op
    row, column = op.indices[roll.row], op.indices[-1]
    sizes = dict(zip(op.indices, op.shape, strict=True))
    others = [v for v in op.indices if v not in (row, column)]
    limits = [outer.index.form(sizes[v]) for v in others]
    limits.append(outer.index.floordiv(sizes[row] + (roll.rows - 1), roll.rows))
    pieces, width = _pieces(outer, sizes[column], lanes_of(op))
    limits.append(pieces)
    rows, columns = (outer.index.form(sizes[v]) for v in (row, column))

    def fill(at: BodyLowering, places: Sequence[SSAValue]) -> None:
        at.buffers, at.strides = buffers, strides
        for v, place in zip(others, places, strict=False):
            at.index.values[v] = at.index.values[stage.op.indices[op.indices.index(v)]] = place
        first = at.index.mul(places[-2], at.index.constant(roll.rows))
        low = at.index.min(columns, at.index.mul(places[-1], width))
        last = at.index.min(rows, at.index.add(first, at.index.constant(roll.rows)))
        high = at.index.min(columns, at.index.add(low, width))
        _Block(stage.op, op, roll, low, high).emit(at, first, last)

    return parallel(outer, limits, [*others, "block", "piece"], fill)


def _pieces(at: BodyLowering, columns: Affine, lanes: int) -> tuple[SSAValue, SSAValue]:
    """The number of pieces of a row, and the columns of each but the last one: whole vectors."""
    most = lanes * VECTORS_OF_PIECE
    count = at_least_one(at, at.index.floordiv(columns + (most - 1), most))
    vectors = at.index.floordiv(columns + (lanes - 1), lanes)
    return count, at.index.mul(quotient_up(at, vectors, count), at.index.constant(lanes))


class RollingLanes(BorderLowering):
    """Emits values of the stage or the root, where some tests are known to hold."""

    rows_hold = False
    """True if all tests hold that are the same for all columns."""
    columns_hold = False
    """True if all tests hold that vary with the column, in all lanes."""
    rolling: tuple[SSAValue, int, Vectors, Vectors] | None = None
    """The stage, the first column that is read of it, and its two vectors of each row."""

    where_tests_hold: Inside
    """The sides that choices take where tests hold."""

    def _holds(self, test: Constraint) -> bool:
        return (self._is_known(test) and test in self.where_tests_hold.tests) or super()._holds(
            test
        )

    def _is_known(self, test: Constraint) -> bool:
        return self.columns_hold if self.is_of_columns(test) else self.rows_hold

    def decided(self, op: tix.IfOp) -> Region | None:
        is_known = all(self._is_known(c) for disjunct in op.condition for c in disjunct)
        side = self.where_tests_hold.sides.get(op) if is_known else None
        return super().decided(op) if side is None else side

    def may_leave_lanes_out(self, op: tix.ReadOp, anyway: Callable[[tix.ReadOp], bool]) -> bool:
        """True for reads of the stage too, all lanes of which are in registers."""
        is_stage = self.rolling is not None and op.tensor is self.rolling[0]
        return is_stage or super().may_leave_lanes_out(op, anyway)

    def elements(self, op: tix.ReadOp) -> SSAValue | None:
        if self.rolling is None or op.tensor is not self.rolling[0]:
            return super().elements(op)
        _, low, before, behind = self.rolling
        place = op.forms[-1].substitute(self.index.places) - Affine.of(self.tile.column_index)
        begin, row = place.constant - low, self.row or 0
        key = "rolling", row, begin
        if key not in self.loaded:
            self.loaded[key] = self._window(before[row], behind[row], begin)
        return self.loaded[key]

    def _window(self, before: SSAValue, behind: SSAValue, begin: int) -> SSAValue:
        """A vector of contiguous lanes of two vectors, from lane `begin` on."""
        if begin in (0, self.lanes):
            return behind if begin else before
        return self.shuffled(before, behind, range(begin, begin + self.lanes))


@dataclass(frozen=True)
class _Block:
    """A block of rows of both definitions, over a piece of their columns."""

    stage: tix.DefineOp
    root: tix.DefineOp
    roll: Roll
    low: SSAValue
    """The first column."""
    high: SSAValue

    def emit(self, at: BodyLowering, first: SSAValue, last: SSAValue) -> None:
        """The rows of a block: together if it is whole and the tests of its rows hold."""
        self._place(at, first)
        if self.roll.rows == 1:
            return self._strip(at)
        whole = at.index.sub(last, first)
        tests = [
            at.insert(arith.CmpiOp(whole, at.index.constant(self.roll.rows), "eq")).result,
            *self._tests_of_rows(at),
        ]
        single = replace(self, roll=replace(self.roll, rows=1))

        def one(inner: BodyLowering, row: SSAValue) -> None:
            single._place(inner, row)
            single._strip(inner)

        def in_rows(inner: BodyLowering) -> None:
            loop(inner, first, last, self.root.indices[self.roll.row].name_hint, one)

        either(at, all_of(at, tests), self._strip, in_rows)

    def _place(self, at: BodyLowering, row: SSAValue) -> None:
        """Set the first row of the block."""
        for op in (self.stage, self.root):
            at.index.values[op.indices[self.roll.row]] = row

    def _strip(self, at: BodyLowering) -> None:
        """Emit all columns of the block."""
        at.index.values[self.low], at.index.values[self.high] = self.low, self.high
        begin, end = self._inside(at)
        lanes = at.index.constant(self._lanes)
        before = self._border(at, self.low).of_stage(Affine.of(self.low) + self.roll.low)
        last = at.index.sub(end, lanes)

        def one(inner: BodyLowering, column: SSAValue, carried: Vectors) -> Vectors:
            inner.index.values[column] = column
            tests: list[SSAValue] = [
                inner.insert(arith.CmpiOp(column, begin, "sge")).result,
                inner.insert(arith.CmpiOp(column, last, "sle")).result,
            ]
            blocks = Block(), Block()
            for block, kind in zip(blocks, (self._whole, self._border), strict=True):
                part = kind(inner.inside(block), column)
                block.add_op(operations.end(*part.emit(carried)))
            types = [v.type for v in carried]
            return inner.insert(operations.branch(all_of(inner, tests), *blocks, types)).results

        hint = self.root.indices[-1].name_hint
        carrying_loop(at, self.low, self.high, lanes, hint, before, one)

    # --- where all tests hold ---

    @property
    def _lanes(self) -> int:
        return lanes_of(self.root)

    @property
    def ahead(self) -> int:
        """The distance in columns from an element of the root to the stage's vector computed with
        it."""
        return self.roll.low + self._lanes

    def _constraints(self, op: tix.DefineOp) -> Iterator[Constraint]:
        """The tests under which no choice of a definition changes sides in a block."""
        row, rows = op.indices[self.roll.row], self.roll.rows
        for c in dict.fromkeys(map(for_all_terms, inside_of_all(op).tests)):
            yield Constraint(c.form + min(0, c.form[row] * (rows - 1)))

    def _tests_of_rows(self, at: BodyLowering) -> list[SSAValue]:
        """The tests that are the same for all columns, as bits."""
        return [
            at.index.holds([[c]])
            for op in (self.stage, self.root)
            for c in self._constraints(op)
            if not c.form[op.indices[-1]]
        ]

    def _inside(self, at: BodyLowering) -> tuple[SSAValue, SSAValue]:
        """The interior [begin, end) of the root's columns: no lane is off, and no test fails."""
        size = at.index.form(self.stage.shape[-1] - self.ahead)
        begin, end = self.low, at.index.min(self.high, size)
        for op, moved in ((self.root, 0), (self.stage, self.ahead)):
            column = op.indices[-1]
            for c in (c for c in self._constraints(op) if c.form[column]):
                bound = at.index.bound(column, c)
                bound = at.index.sub(bound, at.index.constant(moved)) if moved else bound
                if c.form[column] > 0:
                    begin = at.index.max(begin, bound)
                else:
                    end = at.index.min(end, bound)
        return begin, end

    def _whole(self, at: BodyLowering, column: SSAValue) -> _Part:
        return _Part(self, at, column, is_inside=True)

    def _border(self, at: BodyLowering, column: SSAValue) -> _Part:
        return _Part(self, at, column, is_inside=False)


@dataclass(frozen=True)
class _Part:
    """One vector of each row of a block."""

    of: _Block
    at: BodyLowering
    column: SSAValue
    is_inside: bool

    def emit(self, before: Vectors) -> Vectors:
        """Emit the root's vectors, given the stage's `before`; give the stage's next ones."""
        of, op = self.of, self.of.root
        behind = self.of_stage(Affine.of(self.column) + of.ahead)
        self.at.index.values[op.indices[-1]] = self.column
        lanes = self._lowering(op)
        lanes.rolling = of.stage.result, of.roll.low, before, behind
        lanes.mask = None if self.is_inside else lanes_before(lanes, of.high, self.column)
        target, strides = self.at.buffers[op.result], self.at.strides[op.result, op.shape]
        for row in range(of.roll.rows):
            here = lanes.at(row, 0)
            value = here.lanes_of(tix.yielded(op.body))
            place = here.index.linear([Affine.of(v) for v in op.indices], strides)
            store_under_mask(here, value, target, place)
        return behind

    def of_stage(self, first: Affine) -> Vectors:
        """The vectors of the stage from a column on, of which lanes may be off."""
        op, at = self.of.stage, self.at
        column = at.index.form(first)
        at.index.values[op.indices[-1]] = column
        lanes = self._lowering(op)
        if not self.is_inside:
            at.index.values[column] = column
            inside = lanes_before(lanes, at.index.form(op.shape[-1]), column)
            before = lanes_before(lanes, at.index.constant(0), column)
            lanes.mask = all_of(lanes, [inside, lanes.others(before)])
        return [lanes.at(row, 0).lanes_of(tix.yielded(op.body)) for row in range(self.of.roll.rows)]

    def _lowering(self, op: tix.DefineOp) -> RollingLanes:
        uses = IndexUses()
        lanes = RollingLanes(self.at, op, tile_of(op, self.of.roll), uses)
        lanes.where_tests_hold = inside_of_all(op)
        lanes.columns_hold, lanes.rows_hold = self.is_inside, self.of.roll.rows > 1
        lanes.as_written = {*self.at.as_written, *not_fused(guards_of(op, uses))}
        return lanes
