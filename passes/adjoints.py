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

from xdsl.ir import Block, BlockArgument, Operation, SSAValue, Use

from dialects import tix
from dialects.tix import Affine, Constraint
from dialects.tix import elementwise as ew
from passes.derivative_rules import RULES
from passes.emitter import Emitter, Scope, free_values
from passes.regions import Path

Adjoint = SSAValue | float
"""The adjoint of a definition: a tensor, or the same number for every element."""


def adjoint_element(e: Emitter, adjoint: Adjoint, element: Sequence[Affine]) -> SSAValue:
    """One element of an adjoint."""
    return e.read(adjoint, element) if isinstance(adjoint, SSAValue) else e.constant(adjoint)


@dataclass
class _Frame:
    """An old block while it is being emitted: its scope, and the adjoints known in it."""

    block: Block
    scope: Scope
    parent: _Frame | None
    adjoints: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def holding(self, value: SSAValue) -> _Frame:
        """This frame or the one around it that `value` is defined in."""
        frame: _Frame | None = self
        while frame is not None and frame.block is not _block_of(value):
            frame = frame.parent
        assert frame is not None, "a value is used outside the region that defines it"
        return frame


def _block_of(value: SSAValue) -> Block | None:
    return value.owner if isinstance(value.owner, Block) else value.owner.parent


_RECOMPUTED = (ew.AddOp, ew.SubOp, ew.MulOp, ew.NegOp, tix.ReadOp, tix.ConstantOp)
"""Cheaper to compute again than to read from the forward result."""


@dataclass(frozen=True)
class LocalReverse:
    """Reverse mode over the scalars of one definition, on demand from the value that is asked for.

    `adjoint(v)` sums over the uses of `v`; a use in a region further inside sums over that region.
    """

    definition: tix.DefineOp
    forward: SSAValue
    seed: Adjoint

    def enter(self, path: Path, scope: Scope) -> _Frame:
        """Frames of the blocks around the read; all emit into the same new block."""
        frame = _Frame(self.definition.body.block, scope, None)
        for block in path.blocks:
            frame = _Frame(block, scope, frame)
        return frame

    def adjoint(self, value: SSAValue, frame: _Frame) -> SSAValue:
        home = frame.holding(value)
        if value not in home.adjoints:
            e = home.scope.emitter
            parts = [self._through(use, home) for use in _in_order(value.uses)]
            home.adjoints[value] = reduce(e.add, parts) if parts else e.constant(0)
        return home.adjoints[value]

    def _through(self, use: Use, frame: _Frame) -> SSAValue:
        """What one use of a value of `frame` adds to its adjoint."""
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
        partials = RULES[type(op)](frame.scope.emitter, operands, result)
        return partials[use.index](above)

    def _yielded(self, frame: _Frame) -> SSAValue:
        """The adjoint of a region's value: that of the sum or condition, or of the element."""
        op = frame.block.parent_op()
        if op is not self.definition:
            assert op is not None and frame.parent is not None
            return self.adjoint(op.results[0], frame.parent)
        return adjoint_element(frame.scope.emitter, self.seed, self._element(frame))

    def _element(self, frame: _Frame) -> list[Affine]:
        return [frame.scope.form(Affine.of(v)) for v in self.definition.indices]

    def _inside(self, op: Operation, use: Use, frame: _Frame) -> SSAValue:
        """A use in a region of `op`: the sum, or the condition, over the region's adjoints."""
        scope = frame.scope

        def region(block: Block) -> Callable[[Emitter, list[SSAValue]], SSAValue]:
            def body(e: Emitter, own: list[SSAValue]) -> SSAValue:
                if not block.is_ancestor(use.operation):
                    return e.constant(0)
                inner = scope.inner(e, list(block.args), own)
                return self._through(use, _Frame(block, inner, frame))

            return body

        if isinstance(op, tix.SumOp):

            def domain(own: list[SSAValue]) -> list[Constraint]:
                return scope.inner(scope.emitter, op.own, own).constraints(op.constraints)

            names = [v.name_hint for v in op.own]
            return scope.emitter.sum(names, domain, region(op.body.block))
        assert isinstance(op, tix.IfOp)
        pieces = [scope.constraints(piece) for piece in op.condition]
        return scope.emitter.choose(pieces, region(op.then.block), region(op.otherwise.block))

    def value(self, value: SSAValue, frame: _Frame) -> SSAValue:
        """The forward value, copied into the frame that defines it."""
        home = frame.holding(value)
        scope = home.scope
        if value in scope.values:
            return scope.values[value]
        op = value.owner
        assert isinstance(op, Operation)
        if value is tix.yielded(self.definition.body) and not isinstance(op, _RECOMPUTED):
            scope.values[value] = scope.emitter.read(self.forward, self._element(home))
            return scope.values[value]
        for needed in free_values(op):
            self._make_available(needed, home)
        scope.copy(op)
        return scope.values[value]

    def _make_available(self, value: SSAValue, frame: _Frame) -> None:
        if isinstance(value.owner, tix.FloorDivOp):
            home = frame.holding(value)
            if value not in home.scope.indices:
                for needed in free_values(value.owner):
                    self._make_available(needed, home)
                home.scope.copy(value.owner)
        elif not isinstance(value, BlockArgument) and not isinstance(value.owner, tix.DefineOp):
            self.value(value, frame)


def _in_order(uses: Iterable[Use]) -> list[Use]:
    """Uses in the order of the text, so that the same input gives the same output."""
    found = list(uses)
    if len(found) < 2:
        return found
    return sorted(found, key=lambda use: (_position(use.operation), use.index))


def _position(op: Operation) -> tuple[int, ...]:
    """Where an operation stands: the numbers of its ancestors in their blocks, outermost first."""
    position: list[int] = []
    current: Operation | None = op
    while current is not None and current.parent is not None:
        block = current.parent
        position.append(block.get_operation_index(current))
        current = block.parent_op()
    return tuple(reversed(position))


def _child_of(block: Block, op: Operation) -> Operation:
    """The operation of `block` that `op` stands in."""
    found = block.find_ancestor_op_in_block(op)
    assert found is not None
    return found
