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

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import ParallelOp
from tadc.dialects.tix import Affine
from tadc.passes.index_sets.sets import index_set
from tadc.passes.lowering.loop_builders import either, quotient_up, when
from tadc.passes.lowering.loop_tree import loops
from tadc.passes.lowering.loop_tree.border_loops import aligned_parts, bordered
from tadc.passes.lowering.loop_tree.buffers import ResultAccumulators, StoredAccumulators
from tadc.passes.lowering.loop_tree.intervals import Interval, size_of
from tadc.passes.lowering.loop_tree.reciprocals import are_safe, divisors, reciprocal
from tadc.passes.lowering.loop_tree.scope import EmitScope
from tadc.passes.lowering.loop_tree.statements import AtPoints, emit_at_points, emit_statement
from tadc.passes.lowering.loop_tree.unroll_and_jam import Jammed
from tadc.passes.lowering.parallel import parallel, piece_of
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.scheduling.loop_tree.legality import require_legal
from tadc.passes.scheduling.loop_tree.nodes import (
    Add,
    Ahead,
    Axis,
    Buffer,
    ByReciprocals,
    Carry,
    For,
    If,
    Interleave,
    Lazy,
    Mark,
    Node,
    Seq,
    Storage,
    Store,
    Tail,
    nodes_in,
)


def emit_tree(outer: BodyLowering, tree: Node) -> ParallelOp:
    """The parallel loop at the root of a tree, with all other nodes inside.

    Raises `ValueError` where an unroll-and-jam is illegal.
    """
    require_legal(tree)
    around: list[For] = []
    while isinstance(tree, For) and tree.mark is Mark.PARALLEL:
        around.append(tree)
        tree = tree.body
    limits = [_iterations(outer, node) for node in around]

    def fill(at: BodyLowering, numbers: Sequence[SSAValue]) -> None:
        scope = EmitScope(at, {})
        for node, number in zip(around, numbers, strict=True):
            if node.step == 1:
                scope.fix(node.axis.indices, number)
            else:
                width = at.index.constant(node.step)
                low, high = piece_of(at, number, width, size_of(at, node.axis))
                scope.parts = {**scope.parts, node.axis: Interval(low, high, step=node.step)}
        emit(scope, tree)

    return parallel(outer, limits, [node.axis.indices[0] for node in around], fill)


def _iterations(at: BodyLowering, node: For) -> SSAValue:
    """The trip count of a parallel loop."""
    axis, step = node.axis, node.step
    if axis.divisor == 1 and isinstance(axis.range, Affine):
        return at.index.floordiv(axis.range + (step - 1), step)
    return quotient_up(at, size_of(at, axis), at.index.constant(step))


def emit(scope: EmitScope, node: Node) -> None:
    """Emit a node and all that is inside it."""
    match node:
        case Seq(parts):
            for are_at_points, nodes in groupby(parts, lambda part: isinstance(part, AtPoints)):
                _emit_all(scope, nodes, are_at_points)
        case If():
            _if(scope, node)
        case Lazy(op, body):
            assert isinstance(scope.at, Jammed)
            for at in scope.at.every:
                at.lazy[op] = lambda alone: emit(scope.alone(alone), body)
        case ByReciprocals():
            _by_reciprocals(scope, node)
        case Buffer(of, axis, body=body, storage=storage):
            if storage is Storage.STACK:
                made = StoredAccumulators.allocate(scope.at, node, scope.parts[axis].low)
            else:
                made = ResultAccumulators(of)
            emit(replace(scope, buffers={**scope.buffers, of: made}), body)
        case For():
            _loop(scope, node)
        case Add() | Carry() | Store() | Interleave():
            emit_at_points(scope, [node])
        case _:
            emit_statement(scope, node)


def _if(scope: EmitScope, node: If) -> None:
    """A branch, of two sides or one."""

    def side(of: Node, at: BodyLowering) -> None:
        emit(scope.inside(at), of)

    test, then = scope.test(node.tests), partial(side, node.body)
    if node.otherwise is None:
        when(scope.at, test, then)
    else:
        either(scope.at, test, then, partial(side, node.otherwise))


def _emit_all(scope: EmitScope, nodes: Iterator[Node], are_at_points: bool) -> None:
    if are_at_points:
        emit_at_points(scope, [node for node in nodes if isinstance(node, AtPoints)])
    else:
        for node in nodes:
            emit(scope, node)


def _loop(scope: EmitScope, node: For) -> None:
    """Emit a loop, by its mark, its tail and its range."""

    def fill(inner: EmitScope) -> None:
        emit(inner, node.body)

    match node:
        case For(mark=Mark.JAM):
            fill(replace(scope, jam=node))
        case For(mark=Mark.VECTOR):
            loops.vectors(scope, node, fill)
        case For(tail=Tail.MASK):
            loops.masked(scope, node, fill)
        case For(tail=Tail.SHIFT | Tail.BORDER | Tail.ALIGN) if node.phases:
            bordered(scope, node, fill)
        case For(tail=Tail.ALIGN):
            aligned_parts(scope, node, fill)
        case For(tail=Tail.EXACT) if scope.vector is not None:
            loops.whole(scope, node, fill)
        case For(tail=Tail.PEEL | Tail.EXACT):
            loops.jammed(scope, node, fill)
        case For(axis=Axis(range=Ahead(scan))):
            loops.terms_before(scope, scan, fill)
        case For(axis=Axis(range=tix.ReductionOp() as op)):
            loops.terms(scope, node, op, fill)
        case For():
            loops.serial(scope, node, fill)


def _by_reciprocals(scope: EmitScope, node: ByReciprocals) -> None:
    """Emit a node twice: with reciprocals for divisors that are safe, else with divisions."""
    op, at = node.of, scope.at
    assert isinstance(at, Jammed)
    column = next(
        n.axis.indices[0] for n in nodes_in(node) if isinstance(n, For) and n.mark is Mark.VECTOR
    )
    at.compute_ahead(op.body, [column], [c for c in index_set(op) if not c.form[column]])
    numbers = [divisors(op, column, each) for each in at.every]
    if not numbers[0]:
        return emit(scope, node.body)

    def by_products(inner: BodyLowering) -> None:
        found = [{v: reciprocal(inner, s) for v, s in own.items()} for own in numbers]
        emit(replace(scope.inside(inner), reciprocals=found), node.body)

    def by_quotients(inner: BodyLowering) -> None:
        emit(scope.inside(inner), node.body)

    safe = are_safe(at, [number for own in numbers for number in own.values()])
    either(at, safe, by_products, by_quotients)
