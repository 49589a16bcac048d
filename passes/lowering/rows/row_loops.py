"""Emits definitions row by row: the loops of `passes/scheduling/rows/rows.py`.

    loops.parallel (%i) to (%I) {
      %m = ...                              m[i] = max[j](x[i, j]): vectors of running maxima
      scf.for %j = ... step 32              e[i, j] = exp(x[i, j] - m[i]), a vector or two at a time
      scf.for %j = ... step 16              the last few j, under a mask
      %s = ...                              s[i] = sum[j](e[i, j]): the row of e is in a near cache
      scf.for %j = ...                      y[i, j] = e[i, j] / s[i]
    }

A reduction has four vectors of partial results, which advance side by side along its innermost
index, and are combined in the end. Long sums do that once per segment
(`passes/lowering/scalars/segments.py`). The order depends on sizes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, Region, SSAValue

from dialects import tix
from dialects.loops import ParallelOp, SelectLanesOp
from dialects.tix import Affine
from passes.analysis.index_uses import IndexUses
from passes.index_sets.sets import index_set
from passes.lowering.emit import carrying_loop, either, loop, one_of
from passes.lowering.rows.lane_loops import Lanes, over_vectors, store_elements, tile_along
from passes.lowering.rows.piece_loops import add_row, clear
from passes.lowering.rows.row_lanes import KnownNumbers, RowLanes
from passes.lowering.rows.row_quotients import are_safe, divisors, reciprocal
from passes.lowering.rows.row_scans import RowScans
from passes.lowering.scalars.body_lowering import BodyLowering
from passes.lowering.scalars.segments import Segments, add_segment, whole_sum
from passes.rewriting.programs import definition_around
from passes.scheduling.nest import Rows
from passes.scheduling.tiles.sum_lengths import constant_range, is_short
from passes.scheduling.tiles.tile_analysis import constant_extent

VECTORS_OF_REDUCTION = 4
"""Vectors of partial results: an addition waits four cycles for the one before."""

VECTORS_OF_ELEMENTS = 2
"""Vectors of elements that are written out one after the other."""


def row_loops(outer: RowLowering, members: Sequence[tix.DefineOp], rows: Rows) -> ParallelOp:
    """The loops of a nest: an iteration computes a row of each member, one after the other."""
    first, shared = members[0], rows.shared[members[0]]
    body = Block(arg_types=[IndexType()] * len(shared))
    for new, old in zip(body.args, shared, strict=True):
        new.name_hint = old.name_hint
    shape = dict(zip(first.indices, first.shape, strict=True))
    limits = [outer.index.form(shape[index]) for index in shared]
    at = outer.inside(body)
    if not rows.pieces:
        at.row(members, rows, body.args)
        return ParallelOp(limits, Region(body))
    limits[-1] = outer.index.form(rows.pieces[0].count)
    at.pieces(members, rows, body.args)
    return ParallelOp(limits, Region(body))


class RowLowering(KnownNumbers):
    """Emits one row of each definition."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.numbers = dict[SSAValue, SSAValue]()

    def pieces(
        self, members: Sequence[tix.DefineOp], rows: Rows, places: Sequence[SSAValue]
    ) -> None:
        """All rows of a piece, and the sums over them."""
        *outer, place = places
        first = rows.pieces[0]
        place.name_hint = first.op.indices[len(outer)].name_hint
        for piece in rows.pieces:
            self.index.values.update(zip(piece.op.indices, places, strict=False))
            self._along(piece.op, piece.inside, lambda at, piece=piece: clear(at, piece))

        def one(at: BodyLowering, row: SSAValue) -> None:
            assert isinstance(at, RowLowering)
            at.row(members, rows, [*outer, row])

        low, high = self.bounds(first.total, [first.row])
        loop(self, low, high, first.row.name_hint, one)

    def row(self, members: Sequence[tix.DefineOp], rows: Rows, places: Sequence[SSAValue]) -> None:
        """One row of each member, one after the other."""
        pieces = {piece.op: piece for piece in rows.pieces}
        for op in members:
            piece = pieces.get(op)
            own = piece.rows if piece else rows.shared[op]
            self.index.values.update(zip(own, places, strict=True))
            if piece:
                self._along(op, piece.inside, lambda at, piece=piece: add_row(at, piece))
            elif inside := [v for v in op.indices if v not in own]:
                self._along(op, inside, lambda at, op=op: at.elements(op))
            else:
                self.number(op, op in rows.written)

    def number(self, op: tix.DefineOp, stored: bool) -> None:
        """The only element that a definition has in this row."""
        value = self.region(op.body)
        self.numbers[op.result] = value
        if stored:
            place = self._place(op)
            self.insert(memref.StoreOp.get(value, self.buffers[op.result], [place]))

    def _along(
        self, op: tix.DefineOp, own: Sequence[SSAValue], emit: Callable[[RowLowering], None]
    ) -> None:
        """The loops over all indices of a definition in a row but the last one."""
        index, *rest = own
        if not rest:
            return emit(self)

        def one(inner: BodyLowering, k: SSAValue) -> None:
            assert isinstance(inner, RowLowering)
            inner.index.values[index] = k
            inner._along(op, rest, emit)

        size = op.shape[op.indices.index(index)]
        loop(self, self.index.constant(0), self.index.form(size), index.name_hint, one)

    def elements(self, op: tix.DefineOp) -> None:
        """The elements that a definition has along its last index, in vectors."""
        column = op.indices[-1]
        known = [c for c in index_set(op) if not c.form[column]]
        self.compute_ahead(op.body, [column], known)
        numbers = divisors(op, column, self)
        if not numbers:
            return self._elements_of_row(op, {})

        def by_reciprocals(at: BodyLowering) -> None:
            assert isinstance(at, RowLowering)
            at._elements_of_row(op, {v: reciprocal(at, s) for v, s in numbers.items()})

        def by_division(at: BodyLowering) -> None:
            assert isinstance(at, RowLowering)
            at._elements_of_row(op, {})

        either(self, are_safe(self, numbers.values()), by_reciprocals, by_division)

    def _elements_of_row(self, op: tix.DefineOp, reciprocals: Mapping[SSAValue, SSAValue]) -> None:
        column, size = op.indices[-1], op.shape[-1]
        tile = tile_along(op, column, op.body, VECTORS_OF_ELEMENTS)
        uses = IndexUses()
        lanes = RowLanes(self, op, tile, uses)
        lanes.reciprocals = reciprocals
        scans = RowScans(op, uses)
        scans.compute_ahead(lanes)

        def store(at: RowLanes, vectors: int, carried: Lanes) -> Lanes:
            for number in scans.in_order(range(vectors)):
                here = at.at(None, number)
                carried = scans.emit(here, carried)
                value = here.lanes_of(tix.yielded(op.body))
                store_elements(here, op, value)
            return carried

        def part(at: RowLanes, low: SSAValue, high: SSAValue, carried: Lanes) -> Lanes:
            span = low, high, constant_extent(size)
            return over_vectors(at, column, span, carried, store, scans.are_backwards)

        scans.rows(lanes, part)

    def _place(self, op: tix.DefineOp) -> SSAValue:
        forms = [Affine.of(v) for v in op.indices]
        return self.index.linear(forms, self.strides[op.result, op.shape])

    # --- reductions ---

    def _scalar(self, op: Operation) -> SSAValue:
        if isinstance(op, tix.ReductionOp) and not isinstance(op, tix.SumOp) and not is_short(op):
            return self._reduced(op, op.indices)
        return super()._scalar(op)

    def one_segment(self, op: tix.SumOp, own: Sequence[SSAValue]) -> SSAValue:
        return super().one_segment(op, own) if is_short(op) else self._reduced(op, own)

    def several(self, segments: Segments) -> SSAValue:
        """The loops over segments; where there is one, nothing waits for how totals are added."""

        def fill(at: BodyLowering, own: Lanes, carried: Lanes) -> Lanes:
            assert isinstance(at, RowLowering)
            total, errors, _ = carried
            last = at.one_segment(segments.op, own)
            return *add_segment(at, total, errors, last), last

        zero = self.constant(0.0)
        total, errors, last = segments.emit(self, [zero] * 3, fill)
        test = segments.are_several(self)
        if test is None:
            return whole_sum(self, total, errors)
        return one_of(self, test, lambda at: whole_sum(at, total, errors), lambda _: last)

    def _reduced(self, op: tix.ReductionOp, own: Sequence[SSAValue]) -> SSAValue:
        """A reduction over the values that the indices `own` have here."""
        definition = definition_around(op)
        ahead = self.inside(self.index.block)
        ahead.compute_ahead(op.body, op.indices, index_set(definition))
        tile = tile_along(definition, op.indices[-1], op.body, VECTORS_OF_REDUCTION)
        lanes = RowLanes(ahead, definition, tile, IndexUses())
        start = lanes.splat(lanes.constant(op.IDENTITY))
        found = _add_terms(lanes, op, own, [start] * (tile.columns // tile.lanes))
        return lanes.all_lanes(op, reduce(lambda a, b: lanes.add(a, b, op), found))


def _add_terms(at: RowLanes, op: tix.ReductionOp, own: Sequence[SSAValue], sums: Lanes) -> Lanes:
    """The loops of some indices of a reduction, the innermost one in vectors."""
    index, *rest = own
    low, high = at.bounds(op, own)

    def outside(inner: BodyLowering, k: SSAValue, carried: Lanes) -> Lanes:
        assert isinstance(inner, RowLanes)
        inner.index.values[index] = k
        return _add_terms(inner, op, rest, carried)

    if rest:
        one = at.index.constant(1)
        return carrying_loop(at, low, high, one, index.name_hint, sums, outside)

    def terms(inner: RowLanes, vectors: int, carried: Lanes) -> Lanes:
        found = list(carried)
        for number in range(vectors):
            here = inner.at(None, number)
            after = here.add(found[number], here.lanes_of(tix.yielded(op.body)), op)
            if inner.mask is not None:
                after = here.insert(SelectLanesOp(inner.mask, after, found[number])).result
            found[number] = after
        return found

    known = None if index in at.ranges else constant_range(op, index)
    return over_vectors(at, index, (low, high, known and known[1]), sums, terms)
