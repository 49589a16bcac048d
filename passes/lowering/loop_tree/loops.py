"""Loops of a tree: which values their index has, and what they carry.

Each takes the scope around it and a function that fills the scope inside.

    jam i by 4                        four lowerings of numbers, one for each row
      for i by 4 peel                   scf.for over whole steps, then one for what is left
        vector j by 64 in 16              sixteen vectors of partial results,
          begin sum s.1[j]                which the loop carries
          for j by 64 mask                  scf.for: whole steps, and then masked vectors
            add s.1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.lowering.accumulators import CarriedTotals
from tadc.passes.lowering.loop_builders import (
    carrying_loop,
    loop,
    mirrored,
    one_of,
    rounded_up,
    select,
)
from tadc.passes.lowering.loop_tree.intervals import Interval, holds
from tadc.passes.lowering.loop_tree.lane_scans import joined, sum_before, terms_ahead
from tadc.passes.lowering.loop_tree.points import Guards
from tadc.passes.lowering.loop_tree.scope import EmitScope
from tadc.passes.lowering.loop_tree.unroll_and_jam import Jammed
from tadc.passes.lowering.loop_tree.vector_loops import Lanes, VectorLoop
from tadc.passes.lowering.needed_operations import missing
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.scalars.segments import Segments
from tadc.passes.lowering.tails import end_of_whole
from tadc.passes.rewriting.cloner import free_values
from tadc.passes.rewriting.programs import definition_around
from tadc.passes.scheduling.loop_tree.nodes import (
    Axis,
    Carry,
    Combine,
    For,
    Mark,
    Store,
    Tail,
    nodes_in,
)
from tadc.passes.scheduling.scans import Scan
from tadc.passes.scheduling.tiles.sum_lengths import SEGMENT_TERMS, constant_range

FillScope = Callable[[EmitScope], None]


# --- loops over results ---------------------------------------------------------------------------


def serial(scope: EmitScope, node: For, fill: FillScope) -> None:
    """A loop over an index, or over parts of its range."""
    at, step = scope.at, scope.at.index.constant(node.step)
    span = scope.interval(node.axis)
    last = span.high if node.step == 1 else rounded_up(at, span.high, step)

    def one(inner: EmitScope, n: SSAValue) -> None:
        index = inner.at.index
        k = mirrored(inner.at, span.low, last, step, n) if node.backwards else n
        if node.step == 1:
            inner.fix(node.axis.indices, k)
        else:
            part = Interval(k, index.min(index.add(k, step), span.high))
            inner.parts = {**inner.parts, node.axis: part}
        fill(inner)

    _hoist_elements(scope, node)
    scope.loop(Interval(span.low, last), step, node, one)


def _hoist_elements(scope: EmitScope, node: For) -> None:
    """Hoist values that are invariant in a block's loops over elements out of the outermost one."""
    op = next((n.of for n in nodes_in(node) if isinstance(n, Store)), None)
    if op is None or not scope.has_vectors:
        return
    inside = [n.axis.indices[0] for n in nodes_in(node) if isinstance(n, For)]
    if inside[0] is next(v for v in op.indices if v in inside):
        scope.points_of(op, op.indices).hoist(inside)


def jammed(scope: EmitScope, node: For, fill: FillScope) -> None:
    """Emit an unroll-and-jam loop, by its step, and then a loop over the remainder."""
    at, width, indices = scope.at, node.step, node.axis.indices
    assert isinstance(at, Jammed)
    span = scope.interval(node.axis)

    def several(inner: EmitScope, k: SSAValue) -> None:
        assert isinstance(inner.at, Jammed)
        fill(inner.inside(inner.at.jammed(indices, width, k)))

    def one(inner: EmitScope, k: SSAValue) -> None:
        inner.fix(indices, k)
        fill(inner)

    if node.tail is Tail.EXACT and node.limit is None and span.step == width:
        return several(scope, span.low)
    end = span.high
    if width > 1:
        if node.tail is not Tail.EXACT:
            end = end_of_whole(at, span.low, end, at.index.constant(width))
        if node.limit is not None:
            end = select(at, holds(at, node.limit), end, span.low)
        scope.loop(Interval(span.low, end), at.index.constant(width), node, several)
    if width == 1 or end is not span.high:
        first = span.low if width == 1 else end
        scope.loop(Interval(first, span.high), at.index.constant(1), node, one)


# --- loops over terms -----------------------------------------------------------------------------


def terms(scope: EmitScope, node: For, op: tix.ReductionOp, fill: FillScope) -> None:
    """Emit a loop over terms; the outermost one runs in segments if the sum may be long."""
    if scope.has_lanes_along(op) or node.axis.indices[0] is not op.indices[0]:
        return _over_terms(scope, node, fill)
    points, start = scope.points_of_reduction(op), scope.accumulators[op]
    segments = Segments.of(scope.at, op, op.indices)
    if segments is None:
        _over_terms(scope, node, fill)
    else:
        sums = _in_segments(scope, segments, start, lambda inner: _over_terms(inner, node, fill))
        scope.accumulators[op] = [sums.sum(points, n) for n in range(len(start))]
    totals = iter(scope.accumulators.pop(op))
    for at in points.every:
        at.know(op.results[0], next(totals))


def _in_segments(
    scope: EmitScope, segments: Segments, start: Lanes, fill: FillScope
) -> CarriedTotals:
    """Emit the loops over segments, whose accumulators begin with `start`; give all totals."""
    op = segments.op

    def segment(at: BodyLowering, own: Sequence[SSAValue], carried: Lanes) -> Lanes:
        inner = scope.inside(at)
        inner.accumulators[op] = start
        inner.fixed |= {v for v in op.indices if v not in own}
        fill(inner)
        points = inner.points_of_reduction(op)
        return CarriedTotals.of(carried).plus(points, inner.accumulators[op]).carried

    return CarriedTotals.of(segments.emit(scope.at, [*start, *start], segment))


def _over_terms(scope: EmitScope, node: For, fill: FillScope) -> None:
    """Emit a loop over terms, unrolled if marked so; none if a segment fixes the index."""
    if not scope.fixed.isdisjoint(node.axis.indices):
        return fill(scope)
    if node.mark is Mark.UNROLL:
        for number in _numbers(node.axis):
            inner = scope.placed({v: Affine(constant=number) for v in node.axis.indices})
            fill(inner)
            scope.accumulators.update(inner.accumulators)
        return

    def one(inner: EmitScope, k: SSAValue) -> None:
        inner.fix(node.axis.indices, k)
        fill(inner)

    scope.loop(scope.interval(node.axis), scope.at.index.constant(1), node, one)


def _numbers(axis: Axis) -> range:
    """The values of an axis of terms whose bounds are constants."""
    assert isinstance(axis.range, tix.ReductionOp)
    found = constant_range(axis.range, axis.indices[0])
    assert found is not None, "loops with other bounds are not unrolled"
    first, length = found
    return range(first, first + length)


def terms_before(scope: EmitScope, scan: Scan, fill: FillScope) -> None:
    """A loop over the terms of a scan before the first one that an element adds."""
    outside, op = scope.inside(scope.at.inside(scope.at.index.block)), definition_around(scan.op)
    size = op.shape[op.indices.index(scan.index)]
    outside.fix([scan.index], outside.at.index.form(scan.before(size)))
    low, high = outside.at.bounds(scan.op, scan.op.indices)

    def term(at: BodyLowering, k: SSAValue) -> None:
        inner = outside.inside(at)
        inner.fix([scan.own], k)
        fill(inner)

    loop(outside.at, low, high, scan.own.name_hint, term)


# --- vectors --------------------------------------------------------------------------------------


def whole(scope: EmitScope, node: For, fill: FillScope) -> None:
    """Emit the vectors of one whole step, without a loop."""
    span, lanes = scope.interval(node.axis), scope.vector.lanes if scope.vector else 1
    inner = scope.inside(scope.at.inside(scope.at.index.block))
    inner.begin_vectors(node.step // lanes, None)
    inner.guards = Guards(node.phases)
    inner.fix(node.axis.indices, span.low)
    fill(inner)


def masked(scope: EmitScope, node: For, fill: FillScope) -> None:
    """Emit a loop over vectors by whole steps, and then a loop over the remainder under masks."""
    vector = scope.vector
    assert vector is not None
    ahead = scope.inside(scope.at.inside(scope.at.index.block))
    ahead.hoist(node, _indices_in(node))
    ops = ahead.added_to(node)
    span, lanes, hint = ahead.interval(node.axis), vector.lanes, node.axis.indices[0].name_hint

    def some(
        at: BodyLowering, k: SSAValue, count: int, mask: SSAValue | None, carried: Lanes
    ) -> Lanes:
        inner = ahead.inside(at)
        inner.begin_vectors(count, mask)
        inner.fix(node.axis.indices, k)
        inner.give(ops, carried)
        fill(inner)
        return inner.held(ops)

    over = VectorLoop(span, vector.step // lanes, lanes, hint, node.backwards)
    scope.give(ops, over.emit(ahead.at, ahead.held(ops), some))


def vectors(scope: EmitScope, node: For, fill: FillScope) -> None:
    """Emit statements with the values of an axis in lanes: of elements, of terms, or of a scan."""
    scans = [n.of for n in nodes_in(node) if isinstance(n, Carry) and isinstance(n.of, Scan)]
    combined = [n.of for n in nodes_in(node) if isinstance(n, Combine)]
    if combined:
        _dots(scope, node, combined, fill)
    elif any(node.axis.index_in([scan.index]) for scan in scans):
        _scans(scope, node, scans, fill)
    else:
        fill(_ahead(scope, node))


def _ahead(scope: EmitScope, node: For) -> EmitScope:
    """The scope of vectors, with loop-invariant values hoisted, unless loops at borders do that."""
    inner = scope.along(node)
    if any(isinstance(n, For) and n.phases for n in nodes_in(node)):
        return inner
    inner.hoist(node, _indices_in(node))
    return inner


def _indices_in(node: For) -> list[SSAValue]:
    """The indices to which a loop and those inside give values."""
    return [v for n in nodes_in(node) if isinstance(n, For) for v in n.axis.indices]


def _dots(scope: EmitScope, node: For, ops: Sequence[tix.ReductionOp], fill: FillScope) -> None:
    """Emit reductions with their terms in lanes, as dot products, for each jammed iteration."""
    assert isinstance(scope.at, Jammed)
    rows, lead = scope.at.every, ops[0]
    for op in ops:
        for at in rows:
            for needed in missing(at, free_values(op), ())[0]:
                at.operation(needed)
    segments = None
    if isinstance(lead, tix.SumOp) and len(rows) == 1:  # rows that are jammed are short
        segments = scope.at.segments_of(lead)
    if segments is None:
        inner = _ahead(scope, node)
        fill(inner)
        found = inner.held(ops)
    else:
        found = _dots_in_segments(scope, node, ops, segments, fill)
    count = len(rows)
    for n, op in enumerate(ops):
        for at, value in zip(rows, found[n * count : (n + 1) * count], strict=True):
            at.scalars[op.results[0]] = value


def _dots_in_segments(
    scope: EmitScope, node: For, ops: Sequence[tix.ReductionOp], segments: Segments, fill: FillScope
) -> Lanes:
    """Emit the loops over segments; a single one gives its sums without the compensated totals.

    So nothing waits for the addition of totals.
    """
    at, count = scope.at, len(ops)
    axes = [n.axis for n in nodes_in(node) if isinstance(n, For)]

    def segment(block: BodyLowering, own: Sequence[SSAValue], carried: Lanes) -> Lanes:
        around = scope.inside(block)
        fixed = [v for v in segments.op.indices if v not in own]
        for v in fixed:
            axis = next(axis for axis in axes if v in axis.indices)
            around.fix(axis.indices, block.index.values[v])
        around.fixed |= {*fixed}
        inner = _ahead(around, node)
        fill(inner)
        last = inner.held(ops)
        return [*CarriedTotals.of(carried[: 2 * count]).plus(block, last).carried, *last]

    found = segments.emit(at, [at.constant(0.0)] * (3 * count), segment)
    sums, last = CarriedTotals.of(found[: 2 * count]), found[2 * count :]
    test = segments.are_several(at)
    if test is None:
        return [sums.sum(at, n) for n in range(count)]
    return [
        one_of(at, test, lambda inner, n=n: sums.sum(inner, n), lambda _, n=n: last[n])
        for n in range(count)
    ]


def _scans(scope: EmitScope, node: For, scans: Sequence[Scan], fill: FillScope) -> None:
    """Emit scans along lanes; sums that may have several segments run segment by segment."""
    ahead = replace(_ahead(scope, node), scans={scan.op: scan for scan in scans})
    span = ahead.interval(node.axis)
    sums = any(isinstance(scan.op, tix.SumOp) for scan in scans)
    if not sums or span.length[1] <= SEGMENT_TERMS:
        return fill(ahead)
    at = ahead.at
    width = at.index.constant(SEGMENT_TERMS)
    end = rounded_up(at, span.high, width)
    backwards = any(not scan.is_forwards for scan in scans)

    def segment(block: BodyLowering, k: SSAValue, carried: Lanes) -> Lanes:
        """Emit a segment, and give the totals with that segment added."""
        inner = ahead.inside(block)
        first = mirrored(block, span.low, end, width, k) if backwards else k
        last = block.index.min(block.index.add(first, width), span.high)
        inner.parts = {**inner.parts, node.axis: Interval(first, last, span.length)}
        before = [CarriedTotals.of(carried[n : n + 2]) for n in range(0, len(carried), 2)]
        points = inner.points_of_reduction(scans[0].op)
        inner.before = {
            scan.op: sum_before(points, scan, sums)
            for scan, sums in zip(scans, before, strict=True)
        }
        fill(inner)
        totals = inner.held([scan.op for scan in scans])
        return [
            number
            for scan, sums, total in zip(scans, before, totals, strict=True)
            for number in joined(points, scan, sums, total)
        ]

    points = ahead.points_of_reduction(scans[0].op)
    none = points.splat(points.constant(0.0))
    carried = [number for scan in scans for number in (terms_ahead(points, scan), none)]
    carrying_loop(at, span.low, end, width, "segment", carried, segment)
