"""Statements of a tree: accumulators begin, get terms and are combined, elements are stored.

    vector j by 32 in 16
      begin max m.1[j]        two vectors of partial results
      for j by 32 mask
        add m.1               a term for each lane
      combine lanes of m.1    the largest of 32 numbers
    keep m                    a number for each jammed iteration

Statements of points run for one vector after the other, those about accumulators once for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.lowering.loop_builders import store_element, store_value
from tadc.passes.lowering.loop_tree.buffers import ResultAccumulators, StoredAccumulators
from tadc.passes.lowering.loop_tree.lane_scans import next_total, terms_ahead
from tadc.passes.lowering.loop_tree.points import Points
from tadc.passes.lowering.loop_tree.recurrences import next_element
from tadc.passes.lowering.loop_tree.scope import EmitScope
from tadc.passes.lowering.loop_tree.unroll_and_jam import Jammed
from tadc.passes.lowering.tails import lanes_before, under_mask
from tadc.passes.rewriting.programs import definition_around
from tadc.passes.scheduling.loop_tree.nodes import (
    Add,
    Begin,
    Carry,
    Combine,
    Interleave,
    Join,
    Store,
)
from tadc.passes.scheduling.recurrences import Recurrence
from tadc.passes.scheduling.scans import Scan

AtPoints = Add | Carry | Store | Interleave
"""Statements that are emitted point by point.

A vector has all of several such statements before the next vector, so that values which they share
stay in registers.
"""


def emit_statement(scope: EmitScope, node: Begin | Join | Combine) -> None:
    """Emit a statement about accumulators as a whole."""
    match node:
        case Begin(op) if op in scope.buffers:
            _clear(scope, scope.buffers[op])
        case Begin(op):
            _begin(scope, op)
        case Join(op):
            buffer = scope.buffers[op]
            assert isinstance(buffer, StoredAccumulators)
            buffer.join(scope.at)
        case Combine(op):
            _combine(scope, op)


def emit_at_points(scope: EmitScope, nodes: Sequence[AtPoints]) -> None:
    """Emit statements at all points."""
    vectors = range(scope.vectors.count)
    if scope.vector is None:
        for node in nodes:
            _emit_number(scope, node)
        return
    backwards = any(not scan.is_forwards for scan in scope.scans.values())
    for vector in reversed(vectors) if backwards else vectors:
        for node in nodes:
            _emit_vector(scope, node, vector)


# --- accumulators ---------------------------------------------------------------------------------


def _clear(scope: EmitScope, buffer: StoredAccumulators | ResultAccumulators) -> None:
    """Fill accumulators in memory with the identity of their reduction."""
    if isinstance(buffer, StoredAccumulators):
        return buffer.begin(scope.at)
    points = scope.points_of_reduction(buffer.of)
    for vector in range(scope.vectors.count):
        buffer.begin(points.at(None, vector))


def _begin(scope: EmitScope, op: tix.ReductionOp) -> None:
    """Begin accumulators with the identity, or those of a scan with the terms ahead of it."""
    if scope.vector is None:
        scope.accumulators[op] = [scope.at.constant(op.IDENTITY)]
        return
    points = scope.points_of_reduction(op)
    if op in scope.scans and op not in scope.before:
        scope.accumulators[op] = [terms_ahead(points, scope.scans[op])]
        return
    count = 1 if op in scope.scans else scope.vectors.count * len(points.rows)
    scope.accumulators[op] = [points.splat(points.constant(op.IDENTITY))] * count


def _combine(scope: EmitScope, op: tix.ReductionOp) -> None:
    """Reduce the vectors of each jammed iteration, and then their lanes, to one number."""
    points, held = scope.points_of_reduction(op), scope.accumulators[op]
    width = len(held) // len(points.rows)
    numbers: list[SSAValue] = []
    for first in range(0, len(held), width):
        whole = reduce(lambda a, b: points.add(a, b, op), held[first : first + width])
        numbers.append(points.all_lanes(op, whole))
    scope.accumulators[op] = numbers


# --- numbers --------------------------------------------------------------------------------------


def _emit_number(scope: EmitScope, node: AtPoints) -> None:
    match node:
        case Carry(Recurrence() as found):
            op = found.scan.op
            scope.accumulators[op] = [next_element(scope.at, found, *scope.accumulators[op])]
        case Store(op) if isinstance(scope.at, Jammed):
            _store_numbers(scope.at, node)
        case Store(op):
            root = tix.yielded(op.body).owner
            if isinstance(root, tix.ReductionOp) and root in scope.accumulators:
                store_value(scope.at, op, *scope.accumulators[root])
            else:
                store_element(scope.at, op)
        case _:
            raise AssertionError("terms are added in vectors")


def _store_numbers(at: Jammed, node: Store) -> None:
    """Keep or store the single element that a definition has in each jammed iteration."""
    op = node.of
    for inner in op.body.block.ops:
        if not isinstance(inner, tix.YieldOp) and not {*inner.results} <= at.scalars.keys():
            for each in at.every:
                each.operation(inner)
    for each in at.every:
        value = each.scalars[tix.yielded(op.body)]
        if node.is_kept:
            each.numbers[op.result] = value
        if node.is_stored:
            forms = [Affine.of(v) for v in op.indices]
            place = each.index.linear(forms, each.strides[op.result, op.shape])
            each.insert(memref.StoreOp.get(value, each.buffers[op.result], [place]))


# --- vectors --------------------------------------------------------------------------------------


def _emit_vector(scope: EmitScope, node: AtPoints, vector: int) -> None:
    match node:
        case Add(op):
            _add(scope, op, vector)
        case Carry(Scan() as scan) if scan.op in scope.scans:
            at = scope.points_of_reduction(scan.op).at(None, vector)
            (total,) = scope.accumulators[scan.op]
            before = scope.before.get(scan.op)
            scope.accumulators[scan.op] = [next_total(at, scan, before, total)]
        case Carry(Scan() as scan):
            scope.fix([scan.own], scope.at.index.form(scan.place))
            _add(scope, scan.op, vector)
        case Carry():
            raise AssertionError("recurrences have no lanes")
        case Store(op):
            _store(scope, node, vector)
        case Interleave(ops):
            _interleave(scope, ops, vector)


def _add(scope: EmitScope, op: tix.ReductionOp, vector: int) -> None:
    """Add the terms of a vector, in all jammed iterations."""
    points = scope.points_of_reduction(op)
    match scope.buffers.get(op):
        case StoredAccumulators() as buffer:
            scope.vectors.kept[op.results[0], vector] = buffer.add(points.at(None, vector))
        case ResultAccumulators() as buffer:
            buffer.add(points.at(None, vector), points.at_vector(vector))
        case None:
            found = list(scope.accumulators[op])
            width, is_term = len(found) // len(points.rows), scope.has_lanes_along(op)
            for n, at in enumerate(points.at_vector(vector)):
                place = n * width + vector
                after = at.add(found[place], at.lanes_of(tix.yielded(op.body)), op)
                # what lanes of columns hold that are not there, nobody reads
                found[place] = under_mask(at, after, found[place]) if is_term else after
            scope.accumulators[op] = found


def _store(scope: EmitScope, node: Store, vector: int) -> None:
    """Store the elements of a vector, or keep them, or both."""
    op = node.of
    points = scope.points_of(op, op.indices)
    for at in points.at_vector(vector):
        for reduction, buffer in scope.buffers.items():
            if definition_around(reduction) is op and isinstance(buffer, StoredAccumulators):
                total = scope.vectors.kept.get((reduction.results[0], vector))
                at.know(reduction.results[0], buffer.value(at, total))
        at.taken = node.taken
        value = at.lanes_of(tix.yielded(op.body))
        if node.is_kept:
            scope.vectors.kept[op.result, vector] = value
        if node.is_stored:
            at.store(value, is_streaming=node.is_streaming)


def _interleave(scope: EmitScope, ops: Sequence[tix.DefineOp], vector: int) -> None:
    """Store a vector of each phase of a row, with their elements interleaved."""
    points = [scope.points_of(op, op.indices).at(None, vector) for op in ops]
    first, count = points[0], len(ops)
    values = [at.lanes_of(tix.yielded(op.body)) for op, at in zip(ops, points, strict=True)]
    *_, column = ops[0].indices
    is_masked = first.mask is not None
    for n, value in enumerate(_interleaved(first, values)):
        place = Affine.of(column) * count + n * first.lanes
        if is_masked:
            end = first.index.form(ops[0].shape[-1])
            first.mask = lanes_before(first, end, first.index.form(place))
        first.store(value, place)


def _interleaved(at: Points, vectors: Sequence[SSAValue]) -> list[SSAValue]:
    """Interleave the elements of several vectors, into as many vectors."""
    count, width = len(vectors), at.lanes
    turns = [(place % count, place // count) for place in range(count * width)]
    return [at.picked(vectors, turns[n : n + width]) for n in range(0, count * width, width)]
