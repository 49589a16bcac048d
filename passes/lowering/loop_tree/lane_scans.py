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

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.lowering.accumulators import CarriedTotals
from tadc.passes.lowering.loop_builders import all_of
from tadc.passes.lowering.loop_tree.points import Points, Vectors
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.tails import under_mask
from tadc.passes.scheduling.scans import Scan
from tadc.passes.scheduling.tiles.tile import Tile


def terms_ahead(at: Points, scan: Scan) -> SSAValue:
    """The initial total of a scan, in all lanes: of the terms ahead of the first element."""
    size = at.op.shape[-1]
    if not scan.has_terms_ahead(size):
        return identity(at, scan)
    inner = at.rows[0].inside(at.index.block)
    inner.index.values[scan.index] = inner.index.form(scan.before(size))
    start = inner.constant(scan.op.IDENTITY)
    return at.splat(inner.reduce(scan.op, scan.op.indices, start))


def next_total(at: Points, scan: Scan, before: SSAValue | None, total: SSAValue) -> SSAValue:
    """Set the values of a scan at a vector, and give the total behind it.

    A value combines the earlier segments, `before`, with the total of this segment so far and the
    prefix in its lane.
    """
    prefixes = _prefixes(at, scan, _terms(at, scan))
    value = at.add(total, prefixes, scan.op)
    if before is not None:
        value = at.add(before, value, scan.op)
    at.know(scan.result, value)
    return at.add(total, _end(at, scan, prefixes), scan.op)


def identity(at: Points, scan: Scan) -> SSAValue:
    """The identity of the reduction, in all lanes."""
    return at.splat(at.constant(scan.op.IDENTITY))


def sum_before(at: BodyLowering, scan: Scan, before: CarriedTotals) -> SSAValue:
    """The total of all earlier segments."""
    return before.sum(at) if isinstance(scan.op, tix.SumOp) else before.totals[0]


def joined(at: Points, scan: Scan, before: CarriedTotals, total: SSAValue) -> Sequence[SSAValue]:
    """The total with that of one more segment, and its rounding errors."""
    if isinstance(scan.op, tix.SumOp):
        return before.plus(at, [total]).carried
    return [at.add(before.totals[0], total, scan.op), *before.errors]


def _terms(at: Points, scan: Scan) -> SSAValue:
    """A vector of the terms that elements add, with the identity in lanes without a term."""
    tile = Tile(None, scan.own, 1, at.lanes, at.lanes)
    terms = Points(at, at.op, tile, Vectors(1))
    terms.index.values[scan.own] = at.index.form(Affine.of(scan.index) + scan.offset)
    terms.vector = 0
    tests = scan.tests(at.op.shape[-1])
    terms.provide_quotients([c.form for c in tests])
    masks = [terms.holds_in(c.form, equality=False) for c in tests]
    masks += [at.mask] if at.mask else []
    if not masks:
        return terms.lanes_of(tix.yielded(scan.op.body))
    terms.mask = all_of(terms, masks)
    value = terms.lanes_of(tix.yielded(scan.op.body))
    return under_mask(terms, value, identity(at, scan))


def _prefixes(at: Points, scan: Scan, terms: SSAValue) -> SSAValue:
    """The inclusive prefixes of the lanes, by log n steps that shift and add."""
    step = 1
    while step < at.lanes:
        terms = at.add(_shifted(at, scan, terms, step), terms, scan.op)
        step *= 2
    return terms


def _shifted(at: Points, scan: Scan, lanes: SSAValue, step: int) -> SSAValue:
    """Shift the lanes in the direction of the scan, with an identity of the reduction moved in."""
    signed = step if scan.is_forwards else -step
    sources = (lane - signed for lane in range(at.lanes))
    order = [n if 0 <= n < at.lanes else at.lanes for n in sources]
    # to -0 a number can be added, too, and there is no instruction that looks better than it is
    none = at.splat(at.constant(-0.0)) if isinstance(scan.op, tix.SumOp) else identity(at, scan)
    return at.shuffled(lanes, none, order)


def _end(at: Points, scan: Scan, prefixes: SSAValue) -> SSAValue:
    """Broadcast the last of these prefixes."""
    last = at.lanes - 1 if scan.is_forwards else 0
    return at.shuffled(prefixes, prefixes, [last] * at.lanes)
