"""Scans along a row, a vector after the other: prefixes in its lanes, and a total that is carried.

    y[i, j] = sum[k in range(j + 1)](x[i, k])      j along the lanes, 16 of them

    p = x[i, j .. j + 15]                          x_0    x_1        x_2          x_3     ...
    p = p + (0, p_0, p_1, ...)                     x_0    x_0 + x_1  x_1 + x_2    x_2 + x_3
    p = p + (0, 0, p_0, p_1, ...)                  x_0    x_0 + x_1  x_0 + .. x_2 x_0 + .. x_3
    ... by 4 lanes, by 8 lanes                     now p_n is the sum of x_0 to x_n
    y[i, j .. j + 15] = total + p
    total = total + p_15

By induction p_n has the last min(n + 1, 2 s) terms up to n after the step by s lanes (Hillis and
Steele, Data parallel algorithms, 1986): four shifts and additions for 16 elements. One addition
alone waits for that of the vector before. Backwards all runs the other way.

**Accuracy.** Of n terms, an element has about n / 16 + 6 additions in a row instead of n. Beyond
4,096 elements totals of segments are added with their rounding errors, as those of sums are
(`passes/lowering/scalars/segments.py`). The order is a function of the definition and its sizes
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.index_sets.sets import index_set
from tadc.passes.lowering.accumulators import CarriedTotals
from tadc.passes.lowering.emit import all_of, carrying_loop, mirrored, rounded_up
from tadc.passes.lowering.rows.lane_loops import Lanes
from tadc.passes.lowering.rows.row_lanes import KnownNumbers, RowLanes
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.tails import under_mask
from tadc.passes.scheduling.scans import Scan, row_scans
from tadc.passes.scheduling.tiles.sum_lengths import SEGMENT_TERMS
from tadc.passes.scheduling.tiles.tile import Tile

EmitPart = Callable[[RowLanes, SSAValue, SSAValue, Lanes], Lanes]
"""Emits the elements from a place to another one: gets the totals before, gives those behind."""


class RowScans:
    """Emits the scans of a definition along its rows."""

    def __init__(self, op: tix.DefineOp, uses: IndexUses):
        self.op = op
        self.uses = uses
        self.scans = row_scans(op, uses)
        self.before: dict[SSAValue, SSAValue] = {}
        """For each scan what the segments before come to, in all lanes."""

    @property
    def are_backwards(self) -> bool:
        """True if totals go from the last element to the first."""
        return any(not scan.is_forwards for scan in self.scans)

    def in_order(self, vectors: Iterable[int]) -> Iterable[int]:
        """The vectors from the first to the last that totals come to."""
        return reversed(list(vectors)) if self.are_backwards else vectors

    def compute_ahead(self, at: KnownNumbers) -> None:
        """Compute what terms have that is the same for the whole row."""
        for scan in self.scans:
            at.compute_ahead(scan.op.body, [scan.own], index_set(self.op))

    def rows(self, at: RowLanes, emit: EmitPart) -> None:
        """The elements of a row: in segments, where these may be several and have sums."""
        size = self.op.shape[-1]
        ahead = [self._ahead(at, scan) for scan in self.scans]
        low, high = at.index.constant(0), at.index.form(size)
        sums = any(isinstance(scan.op, tix.SumOp) for scan in self.scans)
        if not sums or at.index.sizes.of(size)[1] <= SEGMENT_TERMS:
            emit(at, low, high, ahead)
            return
        width = at.index.constant(SEGMENT_TERMS)
        end = rounded_up(at, high, width)

        def segment(inner: BodyLowering, k: SSAValue, carried: Lanes) -> Lanes:
            """The totals behind a segment, whose elements show those before it and its own."""
            assert isinstance(inner, RowLanes)
            first = mirrored(inner, low, end, width, k) if self.are_backwards else k
            last = inner.index.min(inner.index.add(first, width), high)
            before = [CarriedTotals.of(carried[n : n + 2]) for n in range(0, len(carried), 2)]
            for scan, sums in zip(self.scans, before, strict=True):
                is_sum = isinstance(scan.op, tix.SumOp)
                self.before[scan.result] = sums.sum(inner) if is_sum else sums.totals[0]
            totals = emit(inner, first, last, [_identity(inner, scan) for scan in self.scans])
            return [
                number
                for scan, sums, total in zip(self.scans, before, totals, strict=True)
                for number in _joined(inner, scan, sums, total)
            ]

        none = at.splat(at.constant(0.0))
        carried = [number for total in ahead for number in (total, none)]
        carrying_loop(at, low, end, width, "segment", carried, segment)

    def emit(self, at: RowLanes, totals: Lanes) -> Lanes:
        """The scans at a vector, as values that are known there; gives the totals behind it."""
        found: list[SSAValue] = []
        for scan, total in zip(self.scans, totals, strict=True):
            prefixes = _prefixes(at, scan, self._terms(at, scan))
            value = at.add(total, prefixes, scan.op)
            if scan.result in self.before:
                value = at.add(self.before[scan.result], value, scan.op)
            at.known[scan.result, None, at.vector] = value
            found.append(at.add(total, _end(at, scan, prefixes), scan.op))
        return found

    def _ahead(self, at: RowLanes, scan: Scan) -> SSAValue:
        """The terms before all of those that elements add, in all lanes."""
        size = self.op.shape[-1]
        if not scan.has_terms_ahead(size):
            return _identity(at, scan)
        inner = at.outer[0].inside(at.index.block)
        place = Affine(constant=-1) if scan.is_forwards else size
        inner.index.values[scan.index] = inner.index.form(place)
        start = inner.constant(scan.op.IDENTITY)
        return at.splat(inner.reduce(scan.op, scan.op.indices, start))

    def _terms(self, at: RowLanes, scan: Scan) -> SSAValue:
        """The terms that the elements of a vector add; those that are not there change nothing."""
        tile = Tile(None, scan.own, 1, at.lanes, at.lanes)
        terms = RowLanes(at, self.op, tile, self.uses)
        terms.index.values[scan.own] = at.index.form(Affine.of(scan.index) + scan.offset)
        terms.vector = 0
        tests = scan.tests(self.op.shape[-1])
        terms.provide_quotients([c.form for c in tests])
        masks = [terms.holds_in(c.form, equality=False) for c in tests]
        masks += [at.mask] if at.mask else []
        if not masks:
            return terms.lanes_of(tix.yielded(scan.op.body))
        terms.mask = all_of(terms, masks)
        value = terms.lanes_of(tix.yielded(scan.op.body))
        return under_mask(terms, value, _identity(at, scan))


def _identity(at: RowLanes, scan: Scan) -> SSAValue:
    return at.splat(at.constant(scan.op.IDENTITY))


def _joined(at: RowLanes, scan: Scan, before: CarriedTotals, total: SSAValue) -> Lanes:
    """The total before the next segment, and the rounding errors of that."""
    if isinstance(scan.op, tix.SumOp):
        return before.plus(at, [total]).carried
    return [at.add(before.totals[0], total, scan.op), *before.errors]


def _prefixes(at: RowLanes, scan: Scan, terms: SSAValue) -> SSAValue:
    """In each lane the terms up to it: by doubling their number."""
    step = 1
    while step < at.lanes:
        terms = at.add(_shifted(at, scan, terms, step), terms, scan.op)
        step *= 2
    return terms


def _shifted(at: RowLanes, scan: Scan, lanes: SSAValue, step: int) -> SSAValue:
    """The lanes moved in the direction of the scan; what moves in changes nothing."""
    signed = step if scan.is_forwards else -step
    sources = (lane - signed for lane in range(at.lanes))
    order = [n if 0 <= n < at.lanes else at.lanes for n in sources]
    # to -0 a number can be added, too, and there is no instruction that looks better than it is
    none = at.splat(at.constant(-0.0)) if isinstance(scan.op, tix.SumOp) else _identity(at, scan)
    return at.shuffled(lanes, none, order)


def _end(at: RowLanes, scan: Scan, prefixes: SSAValue) -> SSAValue:
    """The last of these prefixes, in all lanes."""
    last = at.lanes - 1 if scan.is_forwards else 0
    return at.shuffled(prefixes, prefixes, [last] * at.lanes)
