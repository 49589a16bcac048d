"""Emits the tree of loops: one walk for all recipes.

Parallel loops stand at the root, and become one parallel loop over several indices. Inside, each
node is emitted in a scope: the block at hand, with what is known there.

    parallel n                        loops.parallel (%n, %part) {
      parallel p by 64                  the columns of the part: [64 part, 64 part + 64)
        vector p by 64 in 16            points: four vectors of 16
          for p by 64 mask              scf.for: all four, and then one after the other, masked
            ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import ParallelOp
from tadc.dialects.tix import Affine
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.size_bounds import ANY_SIZE
from tadc.passes.lowering.accumulators import CarriedTotals
from tadc.passes.lowering.emit import (
    carrying_loop,
    loop,
    mirrored,
    quotient_up,
    rounded_up,
    store_element,
    store_value,
    when,
)
from tadc.passes.lowering.parallel import parallel, piece_of
from tadc.passes.lowering.rows.lane_loops import Lanes, over_vectors
from tadc.passes.lowering.rows.row_lanes import KnownNumbers, RowLanes
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.scalars.segments import Segments
from tadc.passes.lowering.tree.buffers import StoredAccumulators
from tadc.passes.lowering.tree.points import Kept, Points
from tadc.passes.lowering.tree.recurrences import next_element
from tadc.passes.rewriting.programs import definition_around
from tadc.passes.scheduling.recurrences import Recurrence
from tadc.passes.scheduling.scans import Scan
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tree.nodes import (
    Add,
    Ahead,
    Axis,
    Begin,
    Buffer,
    Carry,
    For,
    If,
    Join,
    Mark,
    Node,
    Seq,
    Store,
    Tail,
    nodes_in,
)

Part = tuple[SSAValue, SSAValue]
"""The first value of a part of a range, and the one behind its last."""


def emit_tree(outer: BodyLowering, tree: Node) -> ParallelOp:
    """The parallel loop of a tree, with all else inside."""
    loops: list[For] = []
    while isinstance(tree, For) and tree.mark is Mark.PARALLEL:
        loops.append(tree)
        tree = tree.body
    limits = [_iterations(outer, around) for around in loops]

    def fill(at: BodyLowering, numbers: Sequence[SSAValue]) -> None:
        parts: dict[Axis, Part] = {}
        for around, number in zip(loops, numbers, strict=True):
            if around.step == 1:
                at.index.values.update(dict.fromkeys(around.axis.indices, number))
            else:
                width, size = at.index.constant(around.step), _size(at, around.axis)
                parts[around.axis] = piece_of(at, number, width, size)
        _Scope(at, parts).emit(tree)

    return parallel(outer, limits, [around.axis.indices[0] for around in loops], fill)


def _iterations(at: BodyLowering, around: For) -> SSAValue:
    """The iterations of a parallel loop."""
    size = _size(at, around.axis)
    if around.step == 1:
        return size
    return quotient_up(at, size, at.index.constant(around.step))


def _size(at: BodyLowering, axis: Axis) -> SSAValue:
    """The number of values of an axis of results."""
    assert isinstance(axis.range, Affine), "loops over terms have bounds"
    return at.index.form(axis.range)


@dataclass(frozen=True)
class _Scope:
    """Emits nodes into a block, with what is known there."""

    at: BodyLowering
    parts: Mapping[Axis, Part]
    """The parts of ranges that loops around leave."""
    vector: For | None = None
    """The loop whose values are in the lanes of vectors."""
    count: int = 0
    """The vectors that there are here."""
    kept: Kept = field(default_factory=Kept)
    points: dict[tix.DefineOp, Points] = field(default_factory=dict["tix.DefineOp", Points])
    """The points of definitions in this block."""
    totals: dict[tix.ReductionOp, SSAValue] = field(
        default_factory=dict["tix.ReductionOp", SSAValue]
    )
    """The accumulators outside of vectors."""
    buffers: Mapping[tix.ReductionOp, StoredAccumulators] = field(
        default_factory=dict["tix.ReductionOp", StoredAccumulators]
    )
    """The accumulators in memory."""
    fixed: frozenset[SSAValue] = frozenset()
    """The indices of terms to which loops over segments have given values."""

    def emit(self, node: Node) -> None:
        """Emit a node and all that is inside it."""
        match node:
            case Seq(parts):
                for part in parts:
                    self.emit(part)
            case For(mark=Mark.VECTOR):
                replace(self, vector=node).emit(node.body)
            case If(tests, body):
                then = self.at.index.holds([tests])
                when(self.at, then, lambda inner: replace(self, at=inner).emit(body))
            case Buffer(op, axis):
                made = StoredAccumulators.allocate(self.at, node, self.parts[axis][0])
                replace(self, buffers={**self.buffers, op: made}).emit(node.body)
            case For(tail=Tail.MASK):
                self._masked(node)
            case For(axis=Axis(range=Ahead(scan))):
                _terms_ahead(self.at, scan, lambda at: replace(self, at=at).emit(node.body))
            case For(axis=Axis(range=tix.ReductionOp() as op)):
                self._terms(node, op)
            case For() if self.vector is None:
                self._serial(node)
            case For():
                self._elements(node)
            case Begin(op) if op in self.buffers:
                self.buffers[op].begin(self.at)
            case Begin(op) if self.vector is None:
                self.totals[op] = self.at.constant(op.IDENTITY)
            case Begin(op):
                self._points_of(definition_around(op)).begin(op)
            case Add(op) if op in self.buffers:
                points = self._points_of(definition_around(op))
                points.accumulators[op] = [self.buffers[op].add(at) for at in points.every]
            case Add(op):
                self._points_of(definition_around(op)).add_term(op)
            case Join(op):
                self.buffers[op].join(self.at)
            case Carry(Scan() as scan):
                self.at.index.values[scan.own] = self.at.index.form(scan.place)
                self.emit(Add(scan.op))
            case Carry(found):
                assert isinstance(found, Recurrence), "scans have accumulators in memory"
                op = found.scan.op
                self.totals[op] = next_element(self.at, found, self.totals[op])
            case Store(op) if self.vector is None:
                _store(self.at, op, self.totals)
            case Store(op, is_stored, is_kept):
                points = self._points_of(op)
                for reduction, stored in self.buffers.items():
                    if definition_around(reduction) is op:
                        points.show(reduction, stored.value)
                points.store(is_stored, is_kept)

    def _points_of(self, op: tix.DefineOp) -> Points:
        """The points of a definition in this block."""
        if op not in self.points:
            assert self.vector is not None and isinstance(self.at, RowLanes)
            around = self.vector
            index = around.axis.index_in(op.indices)
            assert index is not None
            self.at.index.values[index] = self.at.index.values[around.axis.indices[0]]
            tile = Tile(None, index, 1, around.step, around.lanes)
            self.points[op] = Points(self.at, op, tile, self.count, self.kept)
        return self.points[op]

    # --- loops ---

    def _serial(self, node: For) -> None:
        """A loop over an index of results, or over parts of its range, which carries totals."""
        at, ops = self.at, [*self.totals]
        (index,), step = node.axis.indices, at.index.constant(node.step)
        whole = at.index.constant(0), _size(at, node.axis)
        first, end = self.parts.get(node.axis, whole)
        last = end if node.step == 1 else rounded_up(at, end, step)

        def one(inner: BodyLowering, n: SSAValue, carried: Sequence[SSAValue]) -> Lanes:
            k = mirrored(inner, first, last, step, n) if node.backwards else n
            parts = self.parts
            if node.step == 1:
                inner.index.values[index] = k
            else:
                high = inner.index.min(inner.index.add(k, step), end)
                parts = {**parts, node.axis: (k, high)}
            totals = dict(zip(ops, carried, strict=True))
            scope = replace(self, at=inner, parts=parts, totals=totals)
            scope.emit(node.body)
            return [scope.totals[op] for op in ops]

        start = [self.totals[op] for op in ops]
        found = carrying_loop(at, first, last, step, index.name_hint, start, one)
        self.totals.update(zip(ops, found, strict=True))

    def _masked(self, node: For) -> None:
        """A loop over vectors, in whole steps, then under masks."""
        around = self.vector
        assert around is not None
        assert isinstance(self.at, KnownNumbers)
        index, first = node.axis.indices[0], _first_definition(node)
        tile = Tile(None, index, 1, around.step, around.lanes)
        start = RowLanes(self.at, first, tile, IndexUses())

        def emit(inner: RowLanes, count: int, _: Lanes) -> Lanes:
            replace(self, at=inner, count=count, kept={}, points={}).emit(node.body)
            return ()

        over_vectors(start, index, (*self.parts[node.axis], ANY_SIZE), (), emit)

    def _elements(self, node: For) -> None:
        """A loop over an index of results; what does not change in it is computed before."""
        (index,) = node.axis.indices
        op = _first_definition(node)
        points = self._points_of(op)
        inside = [n.axis.indices[0] for n in nodes_in(node) if isinstance(n, For)]
        if index is next(v for v in op.indices if v in inside):
            points.hoist(inside)

        def one(inner: BodyLowering, k: SSAValue) -> None:
            assert isinstance(inner, Points)
            inner.index.values[index] = k
            replace(self, points={op: inner}).emit(node.body)

        size = _size(points, node.axis)
        loop(points, points.index.constant(0), size, index.name_hint, one)

    def _terms(self, node: For, op: tix.ReductionOp) -> None:
        """A loop over terms, in segments where there may be many: the outermost one of them."""
        points = self._points_of(definition_around(op))
        if node.axis.indices[0] is not op.indices[0]:
            return self._loop_over_terms(node, op, points)
        start = points.accumulators[op]
        segments = Segments.of(points, op, op.indices)
        if segments is None:
            self._loop_over_terms(node, op, points)
            return points.end(op)

        def fill(inner: BodyLowering, own: Sequence[SSAValue], carried: Lanes) -> Lanes:
            assert isinstance(inner, Points)
            inner.accumulators[op] = start
            fixed = self.fixed | {v for v in op.indices if v not in own}
            self._with(inner, fixed)._loop_over_terms(node, op, inner)
            return CarriedTotals.of(carried).plus(inner, inner.accumulators[op]).carried

        sums = CarriedTotals.of(segments.emit(points, [*start, *start], fill))
        points.accumulators[op] = [sums.sum(points, n) for n in range(len(start))]
        points.end(op)

    def _loop_over_terms(self, node: For, op: tix.ReductionOp, points: Points) -> None:
        """A loop over terms that carries the accumulators; none over an index that has a value."""
        (index,) = node.axis.indices
        if index in self.fixed:
            return self.emit(node.body)

        def one(inner: BodyLowering, k: SSAValue, carried: Lanes) -> Lanes:
            assert isinstance(inner, Points)
            inner.index.values[index] = k
            inner.accumulators[op] = carried
            self._with(inner, self.fixed).emit(node.body)
            return inner.accumulators[op]

        low, high = points.bounds(op, op.indices[op.indices.index(index) :])
        step, start = points.index.constant(1), points.accumulators[op]
        found = carrying_loop(points, low, high, step, index.name_hint, start, one)
        points.accumulators[op] = found

    def _with(self, points: Points, fixed: frozenset[SSAValue]) -> _Scope:
        """The scope of a block inside, in which a definition has these points."""
        return replace(self, points={points.op: points}, fixed=fixed)


def _terms_ahead(at: BodyLowering, scan: Scan, fill: Callable[[BodyLowering], None]) -> None:
    """A loop over the terms of a scan before the first one that an element adds."""
    outside, op = at.inside(at.index.block), definition_around(scan.op)
    size = op.shape[op.indices.index(scan.index)]
    outside.index.values[scan.index] = outside.index.form(scan.before(size))
    low, high = outside.bounds(scan.op, scan.op.indices)

    def term(inner: BodyLowering, k: SSAValue) -> None:
        inner.index.values[scan.own] = k
        fill(inner)

    loop(outside, low, high, scan.own.name_hint, term)


def _store(at: BodyLowering, op: tix.DefineOp, totals: Mapping[tix.ReductionOp, SSAValue]) -> None:
    """Store an element, which an accumulator may hold."""
    root = tix.yielded(op.body).owner
    if isinstance(root, tix.ReductionOp) and root in totals:
        store_value(at, op, totals[root])
    else:
        store_element(at, op)


def _first_definition(node: Node) -> tix.DefineOp:
    """The definition of the first statement in a node."""
    for inner in nodes_in(node):
        match inner:
            case Begin(op) | Add(op) | Carry(Scan(op)):
                return definition_around(op)
            case Store(op):
                return op
            case _:
                pass
    raise AssertionError("a loop without statements")
