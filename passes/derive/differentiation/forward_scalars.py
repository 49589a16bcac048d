"""The tangent of one definition: forward mode over scalars, in gather form as it is.

The tangent of an operation is the sum over its operands of partial derivative times tangent; that
of a sum is the sum of the tangents over the same points. `LocalForward` goes through the old body
in order and emits tangents of the values that depend on a read which has one, with the forward
values that they need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias

from xdsl.ir import Block, Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.dialects.tix import elementwise as ew
from tadc.once import cached_property
from tadc.passes.derive.differentiation.forward_values import (
    Frame,
    LocalValues,
    count_ties,
    hints,
    number,
)
from tadc.passes.derive.differentiation.rules import rule_of
from tadc.passes.rewriting.builder import Body, BodyBuilder
from tadc.passes.rewriting.cloner import Cloner

Tangent: TypeAlias = Callable[[BodyBuilder, Sequence[Affine]], SSAValue]
"""Emits one element of a tensor's tangent, given the indices of the element."""


@dataclass(frozen=True)
class LocalForward(LocalValues):
    """Forward mode over the scalars of one definition.

    Recursion follows the nesting of regions only: a chain of operations may be of any length.
    """

    tangent_of: Callable[[tix.ReadOp], Tangent | None] = field(kw_only=True)
    """The tangent of what a read reads; None where that is 0."""

    @cached_property
    def active(self) -> frozenset[SSAValue]:
        """The values that have a tangent."""
        found: set[SSAValue] = set()
        for op in _inside_first(self.definition.body.block):
            if self._is_active(op, found):
                found.update(op.results)
        return frozenset(found)

    def _is_active(self, op: Operation, active: set[SSAValue]) -> bool:
        match op:
            case tix.ReadOp():
                return self.tangent_of(op) is not None
            case tix.WhereOp():  # what only decides has the derivative 0
                return any(tix.yielded(region) in active for region in op.regions)
            case _:
                inner = (tix.yielded(region) for region in op.regions)
                return any(v in active for v in [*op.operands, *inner])

    @property
    def vanishes(self) -> bool:
        """True if the tangent is 0 for every element."""
        return tix.yielded(self.definition.body) not in self.active

    def at(self, cloner: Cloner) -> SSAValue:
        """The tangent of the element whose indices the cloner gives."""
        return self._of_block(Frame(self.definition.body.block, cloner, None))

    def _of_block(self, frame: Frame) -> SSAValue:
        """The tangent of what the block yields."""
        e = frame.cloner.builder
        for op in frame.block.ops:
            if op.results and op.results[0] in self.active:
                e.location = op.location
                frame.derivatives[op.results[0]] = self._of(op, frame)
        last = frame.block.last_op
        assert last is not None
        return self._tangent(last.operands[0], frame)

    def _tangent(self, value: SSAValue, frame: Frame) -> SSAValue:
        if value not in self.active:
            return frame.cloner.builder.constant(0)
        return frame.holding(value).derivatives[value]

    def _of(self, op: Operation, frame: Frame) -> SSAValue:
        cloner, e = frame.cloner, frame.cloner.builder
        match op:
            case tix.ReadOp():
                self.require(op, frame)
                tangent = self.tangent_of(op)
                assert tangent is not None
                return tangent(e, [cloner.form(f) for f in op.forms])
            case tix.ReductionOp():
                return self._of_reduction(op, frame)
            case tix.IfOp():
                self.require(op, frame)
                disjuncts = [cloner.constraints(disjunct) for disjunct in op.condition]
                return e.choose(disjuncts, *self._branches(op, frame))
            case tix.WhereOp():
                x, y = self.value(op.lhs, frame), self.value(op.rhs, frame)
                return e.where(op.comparison, x, y, *self._branches(op, frame))
            case _:
                return self._by_rule(op, frame)

    def _by_rule(self, op: Operation, frame: Frame) -> SSAValue:
        operands = [lambda v=v: self.value(v, frame) for v in op.operands]
        result = lambda: self.value(op.results[0], frame)
        partials = rule_of(op)(frame.cloner.builder, operands, result)
        parts = [
            partial(self._tangent(v, frame))
            for v, partial in zip(op.operands, partials, strict=True)
            if v in self.active
        ]
        return reduce(frame.cloner.builder.add, parts)

    def _branches(self, op: tix.IfOp | tix.WhereOp, frame: Frame) -> tuple[Body, Body]:
        def branch(region: Region) -> Body:
            return lambda e, _: self._of_block(Frame(region.block, frame.cloner.inner(e), frame))

        return branch(op.then), branch(op.otherwise)

    def _of_reduction(self, op: tix.ReductionOp, frame: Frame) -> SSAValue:
        """`Σ t`, over the terms that are the extremum `Σ t / their number`, and `Σ t Π others`."""
        cloner, e = frame.cloner, frame.cloner.builder
        self.require(op, frame)
        extremum = self.value(op.result, frame) if isinstance(op, tix.ExtremumOp) else None

        def domain(own: list[SSAValue]) -> list[Constraint]:
            return cloner.inner(cloner.builder, op.indices, own).constraints(op.constraints)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            inner = Frame(op.body.block, cloner.inner(e, op.indices, own), frame)
            match op:
                case tix.ExtremumOp():
                    assert extremum is not None
                    return self._where_extreme(op, extremum, inner)
                case tix.ProdOp():
                    return e.mul(self._of_block(inner), self.other_factors(op, inner))
                case _:
                    return self._of_block(inner)

        total = e.sum(hints(op), domain, body)
        if isinstance(op, tix.ExtremumOp) and extremum is not None:
            # no term is equal to the extremum of none, whose tangent is 0
            ties = count_ties(cloner, op, extremum)
            return e.div(total, e.binary(ew.MaximumOp, ties, e.constant(1)))
        return total

    def _where_extreme(self, op: tix.ExtremumOp, extremum: SSAValue, frame: Frame) -> SSAValue:
        """The tangent of a term that is equal to the extremum, else 0."""

        def taken(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            return self._of_block(Frame(frame.block, frame.cloner.inner(e), frame.parent))

        term = self.value(tix.yielded(op.body), frame)
        return frame.cloner.builder.where("eq", term, extremum, taken, number(0))


def _inside_first(block: Block) -> Iterator[Operation]:
    """The operations of a block in order, each after those in its regions."""
    for op in block.ops:
        for region in op.regions:
            yield from _inside_first(region.block)
        yield op
