"""A scope: the block into which nodes of a tree are emitted, with what is known there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.passes.analysis.size_bounds import ANY_SIZE
from tadc.passes.index_sets.sets import index_set
from tadc.passes.lowering.loop_builders import all_of, carrying_loop
from tadc.passes.lowering.loop_tree.buffers import Accumulators, ResultAccumulators
from tadc.passes.lowering.loop_tree.intervals import Interval, size_of
from tadc.passes.lowering.loop_tree.nontemporal_guards import exceeds
from tadc.passes.lowering.loop_tree.points import Guards, Points, Reciprocals, Vectors
from tadc.passes.lowering.loop_tree.unroll_and_jam import Jammed
from tadc.passes.lowering.loop_tree.vector_loops import Lanes
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.rewriting.programs import definition_around
from tadc.passes.scheduling.loop_tree.nodes import (
    Add,
    Axis,
    Carry,
    Exceeds,
    For,
    Node,
    Store,
    nodes_in,
)
from tadc.passes.scheduling.scans import Scan
from tadc.passes.scheduling.tiles.sum_lengths import constraints_of
from tadc.passes.scheduling.tiles.tile import Tile


@dataclass
class EmitScope:
    """The block into which nodes are emitted, with the values that are available in it."""

    at: BodyLowering
    """The lowering of numbers, for all jammed iterations where there are any."""
    parts: Mapping[Axis, Interval]
    """The part of an axis that the loops around leave."""
    jam: For | None = None
    """The loop whose iterations are jammed."""
    vector: For | None = None
    """The loop whose values are in the lanes of vectors."""
    vectors: Vectors = field(default_factory=lambda: Vectors(0))
    """The vectors that this block computes at a time."""
    points: dict[SSAValue, Points] = field(default_factory=dict["SSAValue", Points])
    """The points of definitions, by the index that runs along the lanes."""
    accumulators: dict[tix.ReductionOp, Lanes] = field(
        default_factory=dict["tix.ReductionOp", Lanes]
    )
    """The accumulators in registers: numbers, or the vectors of each jammed iteration."""
    buffers: Mapping[tix.ReductionOp, Accumulators] = field(
        default_factory=dict["tix.ReductionOp", Accumulators]
    )
    """The accumulators in memory."""
    scans: Mapping[tix.ReductionOp, Scan] = field(default_factory=dict["tix.ReductionOp", Scan])
    """The scans along lanes."""
    before: Mapping[tix.ReductionOp, SSAValue] = field(
        default_factory=dict["tix.ReductionOp", SSAValue]
    )
    """The totals of these scans in all earlier segments."""
    reciprocals: Reciprocals = ()
    guards: Guards = field(default_factory=Guards)
    """The sides that choices take here."""
    fixed: frozenset[SSAValue] = frozenset()
    """The indices of terms to which loops over segments have given values."""

    # --- scopes inside ---

    def inside(self, at: BodyLowering) -> EmitScope:
        """The scope of a nested block."""
        vectors, own = self.vectors.copy(), dict(self.accumulators)
        points = {v: each.of_block(at.index.block, vectors) for v, each in self.points.items()}
        return replace(self, at=at, vectors=vectors, points=points, accumulators=own)

    def along(self, vector: For) -> EmitScope:
        """The scope in which the values of a loop are in the lanes of vectors."""
        inner = self.inside(self.at.inside(self.at.index.block))
        count = vector.step // vector.lanes
        return replace(inner, vector=vector, vectors=Vectors(count), points={})

    def placed(self, places: Mapping[Variable, Affine]) -> EmitScope:
        """The scope of the same block where indices have these places."""
        points = {column: each.placed(places) for column, each in self.points.items()}
        assert isinstance(self.at, Jammed)
        at, own = self.at.placed(places), dict(self.accumulators)
        return replace(self, at=at, points=points, accumulators=own)

    def begin_vectors(self, count: int, mask: SSAValue | None) -> None:
        """Begin `count` vectors in this block, without any values yet."""
        self.vectors, self.points = Vectors(count, mask), {}

    def alone(self, at: Jammed) -> EmitScope:
        """The scope of a single iteration."""
        return replace(self, at=at, jam=None, points={}, accumulators={})

    def fix(self, indices: Sequence[SSAValue], value: SSAValue) -> None:
        """Give indices one value, in all jammed iterations."""
        numbers = self.at.every if isinstance(self.at, Jammed) else [self.at]
        for at in (*numbers, *self.points.values()):
            at.index.values.update(dict.fromkeys(indices, value))

    def loop(
        self,
        span: Interval,
        step: SSAValue,
        node: For,
        fill: Callable[[EmitScope, SSAValue], None],
    ) -> None:
        """`scf.for`, which carries the accumulators that the node adds to."""
        ops = self.added_to(node)

        def one(at: BodyLowering, k: SSAValue, carried: Lanes) -> Lanes:
            inner = self.inside(at)
            inner.give(ops, carried)
            fill(inner, k)
            return inner.held(ops)

        hint, start = node.axis.indices[0].name_hint, self.held(ops)
        found = carrying_loop(self.at, span.low, span.high, step, hint, start, one)
        self.give(ops, found)

    def interval(self, axis: Axis) -> Interval:
        """The values of an axis: the part of its range that a loop around leaves, or all."""
        if axis in self.parts:
            return self.parts[axis]
        at = self.at
        if isinstance(axis.range, Affine):
            zero, size = at.index.constant(0), size_of(at, axis)
            return Interval(zero, size, at.index.sizes.of(axis.range))
        assert isinstance(axis.range, tix.ReductionOp)
        op = axis.range
        index = axis.index_in(op.indices)
        assert index is not None
        own = [v for v in op.indices[op.indices.index(index) :] if v not in self.fixed]
        low, high = at.bounds(op, own)
        is_part = index in at.ranges
        length = ANY_SIZE if is_part else at.index.sizes.lengths(index, constraints_of(op, own))
        return Interval(low, high, length)

    def test(self, tests: Sequence[Constraint | Exceeds]) -> SSAValue:
        """A conjunction of tests, as a bit; indices without a value begin their part."""
        at = self.at.inside(self.at.index.block)
        for axis, part in self.parts.items():
            for index in axis.indices:
                at.index.values.setdefault(index, part.low)
        constraints = [test for test in tests if isinstance(test, Constraint)]
        sizes = [exceeds(at.index, test) for test in tests if isinstance(test, Exceeds)]
        return all_of(at, [*sizes, *([at.index.holds([constraints])] if constraints else [])])

    # --- accumulators ---

    def added_to(self, node: Node) -> list[tix.ReductionOp]:
        """The reductions to whose accumulators a node adds."""
        found = {op_of(n) for n in nodes_in(node) if isinstance(n, Add | Carry)}
        return [op for op in self.accumulators if op in found]

    def held(self, ops: Sequence[tix.ReductionOp]) -> list[SSAValue]:
        """The values in the accumulators of reductions, one after the other."""
        return [value for op in ops for value in self.accumulators[op]]

    def give(self, ops: Sequence[tix.ReductionOp], values: Lanes) -> None:
        """Set the values in the accumulators of reductions."""
        for op in ops:
            count = len(self.accumulators[op])
            self.accumulators[op], values = [*values[:count]], values[count:]

    # --- points ---

    def points_of(self, op: tix.DefineOp, indices: Sequence[SSAValue]) -> Points:
        """The points of a definition in this block, for a statement with these indices."""
        assert self.vector is not None
        assert isinstance(self.at, Jammed)
        column = self.vector.axis.index_in(indices)
        assert column is not None
        if column not in self.points:
            height, row = len(self.at.every), None
            if height > 1 and self.jam:
                row = self.jam.axis.index_in(indices)
            tile = Tile(row, column, height, self.vector.step, self.vector.lanes)
            made = (self.guards.kind or Points)(self.at, op, tile, self.vectors, self.reciprocals)
            for phase in self.guards.phases:
                if phase.op is op:
                    made.follow(phase)
            self.points[column] = made
        return self.points[column]

    def points_of_reduction(self, op: tix.ReductionOp) -> Points:
        """The points of the terms of a reduction in this block."""
        around = definition_around(op)
        return self.points_of(around, [*op.indices, *around.indices])

    @property
    def has_vectors(self) -> bool:
        """True inside of the loop over vectors."""
        return bool(self.vector) and self.vector.axis.indices[0] in self.at.index.values

    def has_lanes_along(self, op: tix.ReductionOp) -> bool:
        """True if the terms of a reduction are in the lanes of vectors."""
        return bool(self.vector and self.vector.axis.index_in(op.indices))

    # --- hoisting ---

    def hoist(self, node: Node, inside: Collection[SSAValue]) -> None:
        """Hoist numbers of a node's statements that are invariant in the loops over `inside`."""
        assert isinstance(self.at, Jammed)
        for statement in nodes_in(node):
            match statement:
                case Store(op):
                    self._hoist(op, op.body, inside)
                case Add(op):
                    self._hoist(definition_around(op), op.body, inside, op)
                case Carry(Scan() as scan):
                    self._hoist(definition_around(scan.op), scan.op.body, {*inside, scan.own})
                case _:
                    pass

    def _hoist(
        self,
        op: tix.DefineOp,
        body: Region,
        inside: Collection[SSAValue],
        terms: tix.ReductionOp | None = None,
    ) -> None:
        assert isinstance(self.at, Jammed)
        # the constraints of rows hold wherever a row adds to a sum over them
        is_in_result = terms and isinstance(self.buffers.get(terms), ResultAccumulators)
        own = terms.constraints if terms and is_in_result else ()
        known = [c for c in (*index_set(op), *own) if not any(c.form[v] for v in inside)]
        self.at.compute_ahead(body, inside, known)


def op_of(node: Add | Carry) -> tix.ReductionOp:
    """The reduction to which a statement adds."""
    if isinstance(node, Add):
        return node.of
    scan = node.of if isinstance(node.of, Scan) else node.of.scan
    return scan.op
