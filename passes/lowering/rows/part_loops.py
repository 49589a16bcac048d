"""Emits a loop along rows side by side, for all parts that share it (`row_parts`).

    scf.for %j = ... iter_args(%s, %t, ...) {        s[i] = sum[j](dy[i, j] * g[j])
      %g = vector.load %g[%j]                        t[i] = sum[j](dy[i, j] * x[i, j])
      %d = vector.load %dy[i, %j]                    db[p, j] += dy[i, j]
      %s' = %s + %d * %g
      %t' = %t + %d * vector.load %x[i, %j]          and the same for rows i + 1, i + 2, i + 3,
      db[p, %j] += %d                                with the same %g
    }

A reduction has some vectors of partial results in each row, which advance side by side and are
combined in the end. Of long sums that happens once per segment
(`passes/lowering/scalars/segments.py`). The order depends on sizes alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from xdsl.ir import Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.size_bounds import ANY_SIZE, Bounds
from tadc.passes.index_sets.sets import index_set
from tadc.passes.lowering.accumulators import CarriedTotals
from tadc.passes.lowering.emit import carrying_loop, one_of
from tadc.passes.lowering.rows.lane_loops import Lanes, is_heavy, over_vectors, store_elements
from tadc.passes.lowering.rows.piece_loops import add_terms
from tadc.passes.lowering.rows.row_group import RowGroup
from tadc.passes.lowering.rows.row_lanes import RowLanes
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.scalars.segments import (
    Segments,
)
from tadc.passes.lowering.tails import under_mask
from tadc.passes.lowering.trees import missing
from tadc.passes.rewriting.cloner import free_values
from tadc.passes.scheduling.nest import Rows
from tadc.passes.scheduling.rows.piece_sums import PieceSum
from tadc.passes.scheduling.rows.row_parts import Part
from tadc.passes.scheduling.tiles.sum_lengths import SEGMENT_TERMS, constraints_of
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import lanes_of

MOST_VECTORS_OF_REDUCTION = 4
"""Vectors of partial results of a row at most: an addition waits four cycles for the one before."""

VECTORS_OF_REDUCTIONS = 16
"""Vectors of partial results of all reductions and rows together: half of the registers."""

VECTORS_BESIDE_OTHERS = 8
"""Vectors of partial results, together, where the loop adds to sums over rows, too."""

VECTORS_OF_ELEMENTS = 2
"""Vectors of elements of all rows, which are written out one after the other."""


@dataclass(frozen=True)
class PartLoop:
    """A loop along rows, with the parts that it computes."""

    rows: Rows
    parts: Sequence[Part]
    reciprocals: Sequence[Mapping[SSAValue, SSAValue]] = ()
    """For each row the reciprocals of numbers that elements are divided by."""

    def emit(self, at: RowGroup) -> None:
        """Emit the loop; rows then know the values of its reductions."""
        for _, op in self._reductions:
            for row in at.rows:
                for needed in missing(row, free_values(op), ())[0]:
                    row.operation(needed)
        lead = self._lead.reduction
        # rows that go side by side have at most the `longest` number of elements
        are_short = at.beside and self.rows.longest <= SEGMENT_TERMS
        segments = None
        if isinstance(lead, tix.SumOp) and not are_short:
            segments = at.segments_of(lead)
        if segments is None:
            found = self._of_terms(at, self._indices(self._lead))
        else:
            found = self._of_segments(at, segments)
        count = len(at.rows)
        for n, (_, op) in enumerate(self._reductions):
            for row, value in zip(at.rows, found[n * count : (n + 1) * count], strict=True):
                row.scalars[op.results[0]] = value

    @property
    def _reductions(self) -> list[tuple[Part, tix.ReductionOp]]:
        return [(part, part.reduction) for part in self.parts if part.reduction]

    @property
    def _lead(self) -> Part:
        """The part whose bounds and segments the loop has: those of all others are the same."""
        return next((part for part, _ in self._reductions), self.parts[0])

    def _indices(self, part: Part) -> Sequence[SSAValue]:
        """The indices of a part that run along the row."""
        return part.reduction.indices if part.reduction else self.rows.inside(part.op)

    def _body(self, part: Part) -> Region:
        if part.reduction:
            return part.reduction.body
        piece = self.rows.piece(part.op)
        return piece.total.body if piece else part.op.body

    # --- reductions ---

    def _of_segments(self, at: RowGroup, segments: Segments) -> Lanes:
        """The loops over segments; where there is one, nothing waits for how totals are added."""
        count = len(at.rows) * len(self._reductions)

        def fill(inner: BodyLowering, own: Lanes, carried: Lanes) -> Lanes:
            assert isinstance(inner, RowGroup)
            for n, v in enumerate(segments.op.indices):
                if v not in own:
                    self._fix(inner, n, inner.index.values[v])
            last = self._of_terms(inner, own)
            return [*CarriedTotals.of(carried[: 2 * count]).plus(inner, last).carried, *last]

        zero = at.constant(0.0)
        found = segments.emit(at, [zero] * (3 * count), fill)
        sums, last = CarriedTotals.of(found[: 2 * count]), found[2 * count :]
        test = segments.are_several(at)

        def chosen(n: int) -> SSAValue:
            if test is None:
                return sums.sum(at, n)
            return one_of(at, test, lambda inner: sums.sum(inner, n), lambda _: last[n])

        return [chosen(n) for n in range(count)]

    def _of_terms(self, at: RowGroup, own: Sequence[SSAValue]) -> Lanes:
        """Each reduction in each row, over the values that the indices `own` have here."""
        ahead = at.inside(at.index.block)
        for part in self.parts:
            self._compute_ahead(ahead, part, self._indices(part))
        width, count = self._vectors(at), len(at.rows)
        lanes = [(self._lanes(ahead, part, width), op) for part, op in self._reductions]
        start = [each.splat(each.constant(op.IDENTITY)) for each, op in lanes]
        found = self._nest(ahead, own, [v for v in start for _ in range(width * count)])
        numbers: list[SSAValue] = []
        for n, (each, op) in enumerate(lanes):
            for first in range(n * count * width, (n + 1) * count * width, width):
                partial_results = found[first : first + width]
                whole = reduce(lambda a, b, op=op, each=each: each.add(a, b, op), partial_results)
                numbers.append(each.all_lanes(op, whole))
        return numbers

    # --- loops ---

    def _nest(self, at: RowGroup, own: Sequence[SSAValue], carried: Lanes) -> Lanes:
        """The loops over some indices, those of the part that leads, the last one in vectors."""
        index, *rest = own
        if not rest:
            return self.along(at, index, carried)
        place = list(self._indices(self._lead)).index(index)

        def one(inner: BodyLowering, k: SSAValue, carried: Lanes) -> Lanes:
            assert isinstance(inner, RowGroup)
            self._fix(inner, place, k)
            return self._nest(inner, rest, carried)

        low, high, _ = self._span(at, own)
        step = at.index.constant(1)
        return carrying_loop(at, low, high, step, index.name_hint, carried, one)

    def _fix(self, at: RowGroup, place: int, value: SSAValue) -> None:
        """Give an index its value, in all parts and rows."""
        at.fix([self._indices(part)[place] for part in self.parts], value)

    def _span(self, at: RowGroup, own: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue, Bounds]:
        """The bounds of the first of some indices, and those of its length."""
        index, lead = own[0], self._lead
        if lead.reduction:
            return *at.bounds(lead.reduction, own), _length(at, lead.reduction, own)
        size = lead.op.shape[lead.op.indices.index(index)]
        return at.index.constant(0), at.index.form(size), at.index.sizes.of(size)

    def along(self, at: RowGroup, index: SSAValue, carried: Lanes) -> Lanes:
        """The loop over vectors along the last index of the part that leads."""
        ahead = at.inside(at.index.block)
        for part in self.parts:
            self._compute_ahead(ahead, part, self._indices(part)[-1:])
        width = self._vectors(at)
        lanes = {part: self._lanes(ahead, part, width) for part in self.parts}
        places = {part: n for n, (part, _) in enumerate(self._reductions)}
        lead = lanes[self._lead]
        rows = lead.tile.rows_in([lead.tile.row_index])

        def fill(inner: RowLanes, vectors: int, carried: Lanes) -> Lanes:
            """The partial results with the terms of these vectors, whose elements are stored."""
            found = list(carried)
            here = {part: self._joined(inner, each, part, index) for part, each in lanes.items()}
            for vector in range(vectors):
                for part, each in here.items():
                    points = [each.at(row, vector) for row in rows]
                    if part.reduction:
                        first = places[part] * len(rows) * width + vector
                        for n, point in enumerate(points):
                            number = first + n * width
                            found[number] = _with_term(point, part.reduction, found[number])
                    elif piece := self.rows.piece(part.op):
                        add_terms(each.at(None, vector), points, piece)
                    else:
                        for point in points:
                            value = point.lanes_of(tix.yielded(part.op.body))
                            store_elements(point, part.op, value)
            return found

        return over_vectors(lead, index, self._span(at, [index]), carried, fill)

    def _joined(self, lead: RowLanes, each: RowLanes, part: Part, index: SSAValue) -> RowLanes:
        """The lowering of a part in the block of the one that leads, with the same elements."""
        if part is self._lead:
            return lead
        inner = each.inside(lead.index.block)
        inner.index.values[self._indices(part)[-1]] = lead.index.values[index]
        inner.mask, inner.loaded = lead.mask, lead.loaded
        return inner

    # --- values ---

    def _vectors(self, at: RowGroup) -> int:
        """The vectors of a row that the loop computes at a time: where they are partial results, as
        many for rows side by side as for those that are left, so that all add in the same order."""
        if any(is_heavy(self._body(part)) for part in self.parts):
            return 1
        reductions = [op for _, op in self._reductions]
        count = len(reductions)
        if not count:
            return max(1, VECTORS_OF_ELEMENTS // len(at.rows))
        room = VECTORS_OF_REDUCTIONS if count == len(self.parts) else VECTORS_BESIDE_OTHERS
        _, length = _length(at, reductions[0], reductions[0].indices[-1:])
        whole = int(min(MOST_VECTORS_OF_REDUCTION, length / lanes_of(self._lead.op)))
        return max(1, min(whole, room // (count * at.height)))

    def _lanes(self, at: RowGroup, part: Part, vectors: int) -> RowLanes:
        """The lowering of vectors of a part, of all rows."""
        lanes, rows = lanes_of(part.op), at.rows
        row = self.rows.lines[part.op][-1] if len(rows) > 1 else None
        tile = Tile(row, self._indices(part)[-1], len(rows), lanes * vectors, lanes)
        found = RowLanes(at, part.op, tile, IndexUses(), rows)
        found.reciprocals = self.reciprocals
        return found

    def _compute_ahead(self, at: RowGroup, part: Part, inside: Sequence[SSAValue]) -> None:
        """Compute what a part has that is the same for all values of the indices `inside`."""
        known = _known(part, self.rows.piece(part.op), inside)
        for row in at.rows:
            row.compute_ahead(self._body(part), inside, known)


def _known(part: Part, piece: PieceSum | None, inside: Sequence[SSAValue]) -> list[Constraint]:
    """The constraints that hold wherever a part is computed."""
    own = [*index_set(part.op), *(piece.total.constraints if piece else ())]
    return own if part.reduction else [c for c in own if not any(c.form[v] for v in inside)]


def _length(at: RowGroup, op: tix.ReductionOp, own: Sequence[SSAValue]) -> Bounds:
    """The bounds of the length of the first of some indices, whatever values others have."""
    return ANY_SIZE if own[0] in at.ranges else at.index.lengths(own[0], constraints_of(op, own))


def _with_term(at: RowLanes, op: tix.ReductionOp, before: SSAValue) -> SSAValue:
    """A vector of partial results with the terms at a point."""
    after = at.add(before, at.lanes_of(tix.yielded(op.body)), op)
    return under_mask(at, after, before)
