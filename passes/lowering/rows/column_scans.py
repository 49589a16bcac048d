"""Scans along another index than the last one: each lane of a vector has a total of its own.

    y[i, j] = sum[k in range(i + 1)](x[k, j])       loops.parallel (%strip) {
                                                      total[all j of the strip] = 0
    One addition for an element, whose total            scf.for %i {
    lies in the nearest cache. All else is as             for the vectors j of the strip {
    in rows (`row_scans`): the other way round              total[j] = total[j] + x[i, j]
    for sums from an element on, in segments                y[i, j] = total[j]
    where there are many terms.                     }}}

Strips and all other indices run in parallel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import ParallelOp
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.size_bounds import ANY_SIZE
from tadc.passes.lowering.accumulators import StoredTotals
from tadc.passes.lowering.emit import (
    buffer,
    loop,
    mirrored,
    quotient_up,
    rounded_up,
    store,
    when,
)
from tadc.passes.lowering.lanes.vector_lowering import load_vector, store_vector
from tadc.passes.lowering.parallel import parallel, piece_of
from tadc.passes.lowering.rows.lane_loops import Lanes, over_vectors, store_elements
from tadc.passes.lowering.rows.row_lanes import KnownNumbers, RowLanes
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.scalars.segments import SEGMENT_TERMS
from tadc.passes.scheduling.scans import Scan, column_scans
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import constant_extent, indices_of, lanes_of

COLUMNS_OF_STRIP = 512
"""Columns that have totals at the same time: their buffers take 8 KB of the nearest cache."""

VECTORS_AT_ONCE = 4
"""Vectors that are written out one after the other."""


def column_loops(outer: KnownNumbers, op: tix.DefineOp) -> ParallelOp:
    """The loops of a definition with scans along another index than the last one."""
    uses = IndexUses()
    scans = column_scans(op, uses)
    others = [v for v in op.indices[:-1] if v is not scans[0].index]
    column, columns = op.indices[-1], outer.index.form(op.shape[-1])
    shape = dict(zip(op.indices, op.shape, strict=True))
    width = outer.index.constant(COLUMNS_OF_STRIP)
    limits = [*(outer.index.form(shape[v]) for v in others), quotient_up(outer, columns, width)]

    def strip(at: KnownNumbers, places: Sequence[SSAValue]) -> None:
        at.index.values.update(zip(others, places, strict=False))
        _Strip(op, scans, uses, *piece_of(at, places[-1], width, columns)).emit(at)

    return parallel(outer, limits, [*others, column], strip)


@dataclass(frozen=True)
class _Strip:
    """Emits a strip of columns."""

    op: tix.DefineOp
    scans: Sequence[Scan]
    uses: IndexUses
    low: SSAValue
    high: SSAValue
    """Its columns are those from `low` on, before `high`."""

    def emit(self, at: KnownNumbers) -> None:
        """Emit the loops over rows of a strip, in segments where the scans are long."""
        totals = [(scan, _Total.begin(at, scan, self._has_segments)) for scan in self.scans]
        for scan, total in totals:
            if scan.has_terms_ahead(self._size):
                self._add_terms_ahead(at, scan, total)
        first, end = at.index.constant(0), at.index.form(self._size)
        if not self._has_segments:
            self._rows(at, totals, first, end)
            return
        width = at.index.constant(SEGMENT_TERMS)
        up = rounded_up(at, end, width)

        def segment(inner: BodyLowering, k: SSAValue) -> None:
            assert isinstance(inner, KnownNumbers)
            low = self._turned(inner, first, up, width, k)
            high = inner.index.min(inner.index.add(low, width), end)
            self._rows(inner, totals, low, high)
            for _, total in totals:
                total.take(inner)

        loop(at, first, up, "segment", segment, SEGMENT_TERMS)

    @property
    def _index(self) -> SSAValue:
        """The index along which totals grow."""
        return self.scans[0].index

    @property
    def _size(self) -> Affine:
        return self.op.shape[self.op.indices.index(self._index)]

    @property
    def _has_segments(self) -> bool:
        extent = constant_extent(self._size)
        return extent is None or extent > SEGMENT_TERMS

    def _turned(
        self, at: BodyLowering, low: SSAValue, high: SSAValue, step: SSAValue, k: SSAValue
    ) -> SSAValue:
        """The step k of a loop, in the direction of the scans."""
        return k if self.scans[0].is_forwards else mirrored(at, low, high, step, k)

    def _add_terms_ahead(self, at: KnownNumbers, scan: Scan, total: _Total) -> None:
        """Add the terms before all of those that elements add."""
        inner = at.inside(at.index.block)
        place = Affine(constant=-1) if scan.is_forwards else self._size
        inner.index.values[scan.index] = inner.index.form(place)
        low, high = inner.bounds(scan.op, scan.op.indices)

        def term(inner: BodyLowering, k: SSAValue) -> None:
            assert isinstance(inner, KnownNumbers)
            inner.index.values[scan.own] = k
            self._each_vector(inner, [(scan, total)])

        loop(inner, low, high, scan.own.name_hint, term)

    def _rows(
        self, at: KnownNumbers, totals: Sequence[Pair], low: SSAValue, high: SSAValue
    ) -> None:
        """The elements from one value of the index to another one."""
        tested = [(pair, self._tests(pair[0], by_column=False)) for pair in totals]
        always = [pair for pair, tests in tested if not tests]

        def row(inner: BodyLowering, k: SSAValue) -> None:
            assert isinstance(inner, KnownNumbers)
            k = self._turned(inner, low, high, inner.index.constant(1), k)
            inner.index.values[self._index] = k
            for scan, _ in totals:
                place = Affine.of(scan.index) + scan.offset
                inner.index.values[scan.own] = inner.index.form(place)
            for pair, tests in tested:
                if tests:
                    add = partial(self._each_vector, added=[pair])
                    when(inner, inner.index.holds([tests]), add)
            self._each_vector(inner, always, totals)

        loop(at, low, high, self._index.name_hint, row)

    def _each_vector(
        self, at: BodyLowering, added: Sequence[Pair], shown: Sequence[Pair] = ()
    ) -> None:
        """Add a term to totals in all vectors, and store the elements that they are shown in."""
        assert isinstance(at, KnownNumbers)
        column, lanes = self.op.indices[-1], lanes_of(self.op)
        tile = Tile(None, column, 1, lanes * VECTORS_AT_ONCE, lanes)

        def fill(inner: RowLanes, vectors: int, _: Lanes) -> Lanes:
            for number in range(vectors):
                here = inner.at(None, number)
                place = here.index.sub(here.index.form(Affine.of(column)), self.low)
                for scan, total in added:
                    total.add(here, place, self._term(here, scan))
                for scan, total in shown:
                    here.known[scan.result, None, number] = total.value(here, place)
                if shown:
                    store_elements(here, self.op, here.lanes_of(tix.yielded(self.op.body)))
            return ()

        start = RowLanes(at, self.op, tile, self.uses)
        over_vectors(start, column, (self.low, self.high, ANY_SIZE), (), fill)

    def _term(self, at: RowLanes, scan: Scan) -> SSAValue:
        """The next term of a scan, which changes nothing in columns that do not have it."""
        tests = self._tests(scan, by_column=True)
        if not tests:
            return at.lanes_of(tix.yielded(scan.op.body))
        return at.where(tests, scan.op.body, scan.op.IDENTITY)

    def _tests(self, scan: Scan, by_column: bool) -> list[Constraint]:
        """The tests of a term that differ by column, or those that are the same for all."""
        column = self.op.indices[-1]
        tests = scan.tests(self._size)
        return [c for c in tests if (column in indices_of([c.form], self.uses)) == by_column]


@dataclass(frozen=True)
class _Total:
    """The totals of a scan in the columns of a strip, in buffers."""

    op: tix.ReductionOp
    here: SSAValue
    """The totals of the segment."""
    before: SSAValue | None = None
    """The totals of all segments before, where there may be any: those of `sums`."""
    sums: StoredTotals | None = None

    @classmethod
    def begin(cls, at: BodyLowering, scan: Scan, has_segments: bool) -> _Total:
        """Totals of nothing yet."""
        count = at.index.constant(COLUMNS_OF_STRIP)
        here = buffer(at, COLUMNS_OF_STRIP, "total")

        def clear(inner: BodyLowering, n: SSAValue) -> None:
            store(inner, inner.constant(scan.op.IDENTITY), here, n)

        loop(at, at.index.constant(0), count, "n", clear)
        if not (isinstance(scan.op, tix.SumOp) and has_segments):
            return cls(scan.op, here)
        sums = StoredTotals.of(at, count, COLUMNS_OF_STRIP)
        before = buffer(at, COLUMNS_OF_STRIP, "before")
        sums.clear(at, before, sums.total, sums.errors)
        return cls(scan.op, here, before, sums)

    def add(self, at: RowLanes, place: SSAValue, term: SSAValue) -> None:
        """Add a vector of terms."""
        after = at.add(load_vector(at, self.here, place), term, self.op)
        store_vector(at, after, self.here, place)

    def value(self, at: RowLanes, place: SSAValue) -> SSAValue:
        """A vector of totals of all segments so far."""
        here = load_vector(at, self.here, place)
        if self.before is None:
            return here
        return at.add(load_vector(at, self.before, place), here, self.op)

    def take(self, at: BodyLowering) -> None:
        """Count the totals of the segment to those before."""
        if self.sums is None or self.before is None:
            return
        self.sums.add(at, self.here)
        self.sums.store_sums(at, self.before)
        self.sums.clear(at, self.here)


Pair = tuple[Scan, _Total]
"""A scan and its totals."""
