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
    Recursion follows the nesting of regions only: a chain of operations may be of any length.
    """

    definition: tix.DefineOp
    forward: SSAValue
    seed: Adjoint
    carriers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """For the terms of a sum `x + y - ...`, the value that has the same adjoint."""

    def enter(self, path: Path, scope: Scope) -> _Frame:
        """Frames of the blocks around the read; all emit into the same new block."""
        frame = _Frame(self.definition.body.block, scope, None)
        for block in path.blocks:
            frame = _Frame(block, scope, frame)
        return frame

    def adjoint(self, value: SSAValue, frame: _Frame) -> SSAValue:
        home = frame.holding(value)
        value = self._carrier(value)
        pending = [value]
        while pending:
            v = pending[-1]
            uses = _in_order(v.uses)
            above = [self._carrier(u.operation.results[0]) for u in uses if _stays(u, home)]
            if v in home.adjoints:
                pending.pop()
            elif missing := [a for a in above if a not in home.adjoints]:
                pending += reversed(missing)
            else:
                e = home.scope.emitter
                parts = [self._through(use, home) for use in uses]
                home.adjoints[v] = reduce(e.add, parts) if parts else e.constant(0)
        return home.adjoints[value]

    def _carrier(self, value: SSAValue) -> SSAValue:
        """The last value of a chain of additions, where nothing else uses what is between."""
        chain: list[SSAValue] = []
        while value not in self.carriers and (above := _sum_of(value)) is not None:
            chain.append(value)
            value = above
        value = self.carriers.get(value, value)
        self.carriers.update(dict.fromkeys(chain, value))
        return value

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
        pending = [value]
        while pending:
            v = pending[-1]
            home = frame.holding(v)
            op = v.owner
            assert isinstance(op, Operation)
            if _available(v, home):
                pending.pop()
            elif v is tix.yielded(self.definition.body) and not isinstance(op, _RECOMPUTED):
                scope = home.scope
                scope.values[v] = scope.emitter.read(self.forward, self._element(home))
            elif missing := [n for n in free_values(op) if not _available(n, home)]:
                pending += reversed(missing)
            else:
                home.scope.copy(op)
        return frame.holding(value).scope.values[value]


def _available(value: SSAValue, frame: _Frame) -> bool:
    """Is it there without emitting anything? Indices and tensors are."""
    if isinstance(value, BlockArgument) or isinstance(value.owner, tix.DefineOp):
        return True
    scope = frame.holding(value).scope
    return value in scope.values or value in scope.indices


def _stays(use: Use, frame: _Frame) -> bool:
    """Is it a use by an operation of the frame's own block that has a value?"""
    op = use.operation
    return op.parent is frame.block and not isinstance(op, tix.YieldOp)


def _sum_of(value: SSAValue) -> SSAValue | None:
    """`value + x`, `x + value` or `value - x`, if nothing else uses `value`."""
    use = value.get_unique_use()
    if use is None or use.operation.parent is not _block_of(value):
        return None
    op = use.operation
    added = isinstance(op, ew.AddOp) or (isinstance(op, ew.SubOp) and use.index == 0)
    return op.results[0] if added else None


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
