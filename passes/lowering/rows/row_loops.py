"""Emits definitions row by row: the loops of `passes/scheduling/rows/rows.py`.

    loops.parallel (%i) to (%I) {
      %m = ...                              m[i] = max[j](x[i, j]): vectors of running maxima
      scf.for %j = ... step 32              e[i, j] = exp(x[i, j] - m[i]), a vector or two at a time
      scf.for %j = ... step 16              the last few j, under a mask
      %s = ...                              s[i] = sum[j](e[i, j]): the row of e is in a near cache
      scf.for %j = ...                      y[i, j] = e[i, j] / s[i]
    }

**Rows side by side.** A row waits for the end of each of its reductions: for vectors that are
combined, lanes that are added up, a root or a logarithm of one number. So `height` rows go on
together, in loops over vectors of all of them; what is left at the end goes one by one.

    loops.parallel (%p) to ((%I + 3) // 4) {
      %m0, %m1, %m2, %m3 = ...              one loop over j, with vectors of four rows
      ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import prod
from typing import Any

from xdsl.dialects import arith, memref
from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import ParallelOp
from tadc.dialects.tix import Affine
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.index_sets.sets import index_set
from tadc.passes.lowering.emit import either, loop, select
from tadc.passes.lowering.parallel import parallel
from tadc.passes.lowering.rows.lane_loops import Lanes, is_heavy, over_vectors, store_elements
from tadc.passes.lowering.rows.part_loops import VECTORS_OF_ELEMENTS, PartLoop
from tadc.passes.lowering.rows.piece_loops import clear
from tadc.passes.lowering.rows.row_group import RowGroup
from tadc.passes.lowering.rows.row_lanes import RowLanes
from tadc.passes.lowering.rows.row_quotients import are_safe, divisors, reciprocal
from tadc.passes.lowering.rows.row_scans import RowScans
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.tails import end_of_whole
from tadc.passes.rewriting.programs import definition_around
from tadc.passes.scheduling.nest import Rows
from tadc.passes.scheduling.rows.row_parts import Part, has_loops_of_its_own, is_long
from tadc.passes.scheduling.scans import is_scanned
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import constant_extent, lanes_of


def row_loops(outer: RowLowering, members: Sequence[tix.DefineOp], rows: Rows) -> ParallelOp:
    """The loops of a nest: an iteration computes some rows of each member, one after the other."""
    shape, height = rows.shape, rows.height
    limits = [outer.index.form(size) for size in shape.values()]
    if rows.pieces:
        limits[-1] = outer.index.form(rows.pieces[0].count)
    elif height > 1:
        limits[-1] = outer.index.floordiv([*shape.values()][-1] + (height - 1), height)

    def fill(at: RowLowering, places: Sequence[SSAValue]) -> None:
        at.plan, at.height = rows, height
        if rows.pieces:
            _pieces(at, members, rows, places)
        elif height == 1:
            at.row(members, places)
        else:
            _block(at, members, rows, places)

    return parallel(outer, limits, [*shape], fill)


# --- which rows go side by side -------------------------------------------------------------------


def _block(
    at: RowLowering,
    members: Sequence[tix.DefineOp],
    rows: Rows,
    places: Sequence[SSAValue],
) -> None:
    """The rows of the block at a place: as many as the height, or those that are left."""
    *outer, place = places
    *_, size = rows.shape.values()
    extent = constant_extent(size)
    height = at.index.constant(at.height)
    low = at.index.mul(place, height)
    if extent is not None and extent % at.height == 0 and _are_short(at, rows) is None:
        at.side_by_side().row(members, [*outer, low])
    else:
        high = at.index.min(at.index.add(low, height), at.index.form(size))
        _span(at, members, rows, outer, (low, high))


def _pieces(
    at: RowLowering, members: Sequence[tix.DefineOp], rows: Rows, places: Sequence[SSAValue]
) -> None:
    """All rows of a piece, and the sums over them."""
    *outer, place = places
    first = rows.pieces[0]
    place.name_hint = first.op.indices[len(outer)].name_hint
    for piece in rows.pieces:
        at.index.values.update(zip(piece.op.indices, places, strict=False))
        at.along(piece.op, piece.inside, lambda inner, piece=piece: clear(inner, piece))
    length = constant_extent(first.length)
    is_whole = length is not None and not (length % at.height or first.height % at.height)
    _span(at, members, rows, outer, at.bounds(first.total, [first.row]), is_whole)


def _span(
    at: RowLowering,
    members: Sequence[tix.DefineOp],
    rows: Rows,
    outer: Sequence[SSAValue],
    span: tuple[SSAValue, SSAValue],
    is_whole: bool = False,
) -> None:
    """The rows from one to another: as many side by side as possible, and one by one the rest."""

    def several(inner: BodyLowering, row: SSAValue) -> None:
        assert isinstance(inner, RowLowering)
        inner.side_by_side().row(members, [*outer, row])

    def one(inner: BodyLowering, row: SSAValue) -> None:
        assert isinstance(inner, RowLowering)
        inner.row(members, [*outer, row])

    low, high = span
    hint = [*rows.shape][-1].name_hint
    if at.height > 1:
        end, test = high, _are_short(at, rows)
        if not is_whole:
            end = end_of_whole(at, low, high, at.index.constant(at.height))
        if test is not None:
            end = select(at, test, end, low)
        loop(at, low, end, hint, several, at.height)
        low = end
    if low is not high:
        loop(at, low, high, hint, one)


def _are_short(at: RowLowering, rows: Rows) -> SSAValue | None:
    """A test that rows are short enough to go side by side; None where numbers say so."""
    if prod(at.index.sizes.of(size)[1] for size in rows.lengths) <= rows.longest:
        return None
    length = reduce(at.index.mul, map(at.index.form, rows.lengths))
    most = at.index.constant(rows.longest)
    return at.index.once(("short", length), lambda: arith.CmpiOp(length, most, "sle"))


# --- a row of each member -------------------------------------------------------------------------


class RowLowering(RowGroup):
    """Emits a row of each definition, or some rows side by side."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.plan = Rows({}, (), {})
        """The rows of the nest; none in loops that share no rows."""

    def row(self, members: Sequence[tix.DefineOp], places: Sequence[SSAValue]) -> None:
        """A row of each member, and of those beside it, one member after the other."""
        self.place(self.plan.lines, places)
        taken = {part.source for parts in self.plan.along.values() for part in parts}
        for op in members:
            inside = self.plan.inside(op)
            if not inside:
                self._number(op)
            elif not self.plan.piece(op) and has_loops_of_its_own(op, inside[-1]):
                self.along(op, inside, lambda at, op=op: at._elements(op))
            elif op not in taken:
                self._loop(Part(op))

    def _number(self, op: tix.DefineOp) -> None:
        """The only element that a definition has in each row."""
        for inner in op.body.block.ops:
            if isinstance(inner, tix.YieldOp) or {*inner.results} <= self.scalars.keys():
                continue
            if is_long(inner):
                self._loop(Part(op, inner))
            else:
                for row in self.rows:
                    row.operation(inner)
        for row in self.rows:
            value = row.scalars[tix.yielded(op.body)]
            row.numbers[op.result] = value
            if op in self.plan.written:
                forms = [Affine.of(v) for v in op.indices]
                place = row.index.linear(forms, row.strides[op.result, op.shape])
                row.insert(memref.StoreOp.get(value, row.buffers[op.result], [place]))

    def _loop(self, part: Part) -> None:
        """The loop of a part, with all that it takes along."""
        PartLoop(self.plan, [part, *self.plan.along.get(part.source, ())]).emit(self)

    def _scalar(self, op: Operation) -> SSAValue:
        """A value of this row alone: a reduction in a choice is for those rows that make it."""
        if not is_long(op):
            return super()._scalar(op)
        alone = self.alone()
        PartLoop(self.plan, [Part(definition_around(op), op)]).emit(alone)
        return alone.scalars[op.results[0]]

    # --- elements that have loops of their own ---

    def along(
        self, op: tix.DefineOp, own: Sequence[SSAValue], emit: Callable[[RowLowering], None]
    ) -> None:
        """The loops over all indices of a definition in a row but the last one."""
        index, *rest = own
        if not rest:
            return emit(self)

        def one(inner: BodyLowering, k: SSAValue) -> None:
            assert isinstance(inner, RowLowering)
            inner.fix([index], k)
            inner.along(op, rest, emit)

        size = op.shape[op.indices.index(index)]
        loop(self, self.index.constant(0), self.index.form(size), index.name_hint, one)

    def _elements(self, op: tix.DefineOp) -> None:
        """The elements that a definition has along its last index, in vectors."""
        column = op.indices[-1]
        known = [c for c in index_set(op) if not c.form[column]]
        for row in self.rows:
            row.compute_ahead(op.body, [column], known)
        numbers = [divisors(op, column, row) for row in self.rows]
        if not numbers[0]:
            return self._fill(op, [])

        def by_reciprocals(at: BodyLowering) -> None:
            assert isinstance(at, RowLowering)
            at._fill(op, [{v: reciprocal(at, s) for v, s in own.items()} for own in numbers])

        def by_division(at: BodyLowering) -> None:
            assert isinstance(at, RowLowering)
            at._fill(op, [])

        safe = are_safe(self, [number for own in numbers for number in own.values()])
        either(self, safe, by_reciprocals, by_division)

    def _fill(self, op: tix.DefineOp, reciprocals: Sequence[Mapping[SSAValue, SSAValue]]) -> None:
        """The elements along the last index, by the reciprocals of what they are divided by."""
        if is_scanned(op):
            return self._scan(op, reciprocals)
        PartLoop(self.plan, [Part(op)], reciprocals).along(self, op.indices[-1], ())

    def _scan(self, op: tix.DefineOp, reciprocals: Sequence[Mapping[SSAValue, SSAValue]]) -> None:
        """Elements that show totals on the way."""
        column, size, uses, width = op.indices[-1], op.shape[-1], IndexUses(), lanes_of(op)
        vectors = 1 if is_heavy(op.body) else VECTORS_OF_ELEMENTS
        lanes = RowLanes(self, op, Tile(None, column, 1, width * vectors, width), uses)
        lanes.reciprocals = reciprocals
        scans = RowScans(op, uses)
        scans.compute_ahead(lanes)

        def store(at: RowLanes, vectors: int, carried: Lanes) -> Lanes:
            for number in scans.in_order(range(vectors)):
                here = at.at(None, number)
                carried = scans.emit(here, carried)
                store_elements(here, op, here.lanes_of(tix.yielded(op.body)))
            return carried

        def part(at: RowLanes, low: SSAValue, high: SSAValue, carried: Lanes) -> Lanes:
            span = low, high, at.index.sizes.of(size)
            return over_vectors(at, column, span, carried, store, scans.are_backwards)

        scans.rows(lanes, part)
