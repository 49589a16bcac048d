"""The adjoint of a value inside one definition: reverse mode over scalars, on demand.

A gradient asks, for each read in a definition, for `df[α] · ∂E/∂(read)` at a point of the index
set of that read. `LocalReverse.adjoint` walks from the read along its uses to the value of the
definition and emits the product of partial derivatives on the way back, with the forward values
that they need; nothing that this read does not need is emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from xdsl.ir import Block, Operation, SSAValue, Use

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.dialects.tix import elementwise as ew
from tadc.passes.derive.differentiation.forward_values import (
    Frame,
    LocalValues,
    block_of,
    count_ties,
    hints,
    number,
)
from tadc.passes.derive.differentiation.rules import rule_of
from tadc.passes.index_sets.paths import Path
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner


@dataclass(frozen=True)
class Negated:
    """The adjoint that is minus a tensor."""

    tensor: SSAValue


Adjoint = SSAValue | Negated | float
"""The adjoint of a definition: a tensor, or the same number for every element."""


def adjoint_element(e: BodyBuilder, adjoint: Adjoint, element: Sequence[Affine]) -> SSAValue:
    """One element of an adjoint."""
    match adjoint:
        case SSAValue():
            return e.read(adjoint, element)
        case Negated():
            return e.neg(e.read(adjoint.tensor, element))
        case _:
            return e.constant(adjoint)


@dataclass(frozen=True)
class LocalReverse(LocalValues):
    """Reverse mode over the scalars of one definition, on demand from the value that is asked for.

    `adjoint(v)` sums over the uses of `v`; a use in a region further inside sums over that region.
    Recursion follows the nesting of regions only: a chain of operations may be of any length.
    """

    seed: Adjoint
    ties: SSAValue | None = None
    """The number of terms equal to each element, where the definition is an extremum."""
    carriers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """For the terms of a sum `x + y - ...`, the value that has the same adjoint."""
    numbers: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """The numbers of operations in their blocks."""

    def at(self, value: SSAValue, path: Path, cloner: Cloner) -> SSAValue:
        """The adjoint of a value that stands at the end of `path`, at the point of the cloner.

        It reads that of the definition at the place where the cloner begins: so a term tells which
        read of the text it stems from.
        """

        def descend(blocks: Sequence[Block], frame: Frame) -> SSAValue:
            if not blocks:
                return self.adjoint(value, frame)
            block, *rest = blocks
            return self._enter(block, frame, frame.cloner, lambda inner: descend(rest, inner))

        place = cloner.builder.location
        frame = Frame(self.definition.body.block, cloner, None, place=place)
        return descend(path.blocks, frame)

    def _enter(
        self, block: Block, frame: Frame, cloner: Cloner, body: Callable[[Frame], SSAValue]
    ) -> SSAValue:
        """`body` in a block inside, 0 where the block does not enter the value around it.

        Nothing is multiplied by that 0: a partial derivative need not be finite there.
        """
        inner = Frame(block, cloner, frame)

        def taken(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            return body(Frame(block, cloner.inner(e), frame))

        match block.parent_op():
            case tix.WhereOp() as op:
                x, y = self.value(op.lhs, frame), self.value(op.rhs, frame)
                branches = (taken, number(0)) if block is op.then.block else (number(0), taken)
                return cloner.builder.where(op.comparison, x, y, *branches)
            case tix.ExtremumOp() as op:
                term, extremum = (
                    self.value(tix.yielded(op.body), inner),
                    self.value(op.result, frame),
                )
                return cloner.builder.where("eq", term, extremum, taken, number(0))
            case _:
                return body(inner)

    def adjoint(self, value: SSAValue, frame: Frame) -> SSAValue:
        """The adjoint of a value of the frame or of one around it, emitted where that is."""
        home = frame.holding(value)
        value = self._carrier(value)
        pending = [value]
        while pending:
            v = pending[-1]
            # what only decides has the derivative 0
            uses = self._in_order(u for u in v.uses if not isinstance(u.operation, tix.WhereOp))
            above = [self._carrier(u.operation.results[0]) for u in uses if _stays(u, home)]
            if v in home.derivatives:
                pending.pop()
            elif missing := [a for a in above if a not in home.derivatives]:
                pending += reversed(missing)
            else:
                e = home.cloner.builder
                parts = [self._through(use, home) for use in uses]
                home.derivatives[v] = reduce(e.add, parts) if parts else e.constant(0)
        return home.derivatives[value]

    def _in_order(self, uses: Iterable[Use]) -> list[Use]:
        """Uses in the order of the text, so that the same input gives the same output."""
        found = list(uses)
        if len(found) < 2:
            return found
        return sorted(found, key=lambda use: (self._position(use.operation), use.index))

    def _position(self, op: Operation) -> tuple[int, ...]:
        """The place of an operation: the numbers of its ancestors in their blocks, outermost
        first."""
        position: list[int] = []
        current: Operation | None = op
        while not isinstance(current, tix.DefineOp) and current is not None and current.parent:
            block = current.parent
            if current not in self.numbers:
                self.numbers.update((inner, n) for n, inner in enumerate(block.ops))
            position.append(self.numbers[current])
            current = block.parent_op()
        return tuple(reversed(position))

    def _carrier(self, value: SSAValue) -> SSAValue:
        """The last value of a chain of additions, where nothing else uses what is between."""
        chain: list[SSAValue] = []
        while value not in self.carriers and (above := _sum_of(value)) is not None:
            chain.append(value)
            value = above
        value = self.carriers.get(value, value)
        self.carriers.update(dict.fromkeys(chain, value))
        return value

    def _through(self, use: Use, frame: Frame) -> SSAValue:
        """The contribution of one use of a value of `frame` to its adjoint."""
        op = use.operation
        if op.parent is not frame.block:
            return self._inside(_child_of(frame.block, op), use, frame)
        if isinstance(op, tix.YieldOp):
            return self._yielded(frame)
        above = self.adjoint(op.results[0], frame)
        if tix.constant_value(above) == 0:
            return above
        operands = [lambda v=v: self.value(v, frame) for v in op.operands]
        result = lambda: self.value(op.results[0], frame)
        partials = rule_of(op)(frame.cloner.builder, operands, result)
        return partials[use.index](above)

    def _yielded(self, frame: Frame) -> SSAValue:
        """The adjoint of a region's value, from that of the operation, or of the element."""
        e, op = frame.cloner.builder, frame.block.parent_op()
        if op is self.definition:
            element, e.location = self.element(frame), frame.place or e.location
            return adjoint_element(e, self.seed, element)
        assert op is not None and frame.parent is not None
        above = self.adjoint(op.results[0], frame.parent)
        match op:
            case tix.ExtremumOp():
                return e.div(above, self._ties_of(op, frame.parent))
            case tix.ProdOp():
                return e.mul(above, self.other_factors(op, frame))
            case _:
                return above

    def _ties_of(self, op: tix.ExtremumOp, frame: Frame) -> SSAValue:
        if self.ties is not None and op.result in self.elements:
            return frame.cloner.builder.read(self.ties, self.element(frame))
        extremum = self.value(op.result, frame)
        self.require(op, frame)
        return count_ties(frame.cloner, op, extremum)

    def _inside(self, op: Operation, use: Use, frame: Frame) -> SSAValue:
        """A use in a region of `op`: the sum, or the choice, over the region's adjoints."""
        cloner = frame.cloner

        def through(inner: Frame) -> SSAValue:
            return self._through(use, inner)

        def region(block: Block) -> Callable[[BodyBuilder, list[SSAValue]], SSAValue]:
            def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
                if not block.is_ancestor(use.operation):
                    return e.constant(0)
                inner = cloner.inner(e, list(block.args), own)
                return self._enter(block, frame, inner, through)

            return body

        match op:
            case tix.ReductionOp():

                def domain(own: list[SSAValue]) -> list[Constraint]:
                    return cloner.inner(cloner.builder, op.indices, own).constraints(op.constraints)

                return cloner.builder.sum(hints(op), domain, region(op.body.block))
            case tix.WhereOp():
                first = op.then.block.is_ancestor(use.operation)
                block = op.then.block if first else op.otherwise.block
                return self._enter(block, frame, cloner, through)
            case _:
                assert isinstance(op, tix.IfOp)
                disjuncts = [cloner.constraints(disjunct) for disjunct in op.condition]
                branches = region(op.then.block), region(op.otherwise.block)
                return cloner.builder.choose(disjuncts, *branches)


def _stays(use: Use, frame: Frame) -> bool:
    """True for a use by an operation of the frame's own block that has a value."""
    op = use.operation
    return op.parent is frame.block and not isinstance(op, tix.YieldOp)


def _sum_of(value: SSAValue) -> SSAValue | None:
    """`value + x`, `x + value` or `value - x`, if nothing else uses `value`."""
    use = value.get_unique_use()
    if use is None or use.operation.parent is not block_of(value):
        return None
    op = use.operation
    added = isinstance(op, ew.AddOp) or (isinstance(op, ew.SubOp) and use.index == 0)
    return op.results[0] if added else None


def _child_of(block: Block, op: Operation) -> Operation:
    """The operation of `block` that `op` stands in."""
    found = block.find_ancestor_op_in_block(op)
    assert found is not None
    return found
