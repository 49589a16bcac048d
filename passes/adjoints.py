"""The adjoint of a value inside one definition: reverse mode over scalars, on demand.

A gradient asks, for each read in a definition, for `df[α] · ∂E/∂(read)` at a point of the index
set of that read. `LocalReverse.adjoint` walks from the read along its uses to the value of the
definition and emits the product of partial derivatives on the way back, with the forward values
that they need; nothing that this read does not need is emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from xdsl.ir import Block, BlockArgument, Operation, SSAValue, Use

from dialects import tix
from dialects.tix import Affine, Constraint
from dialects.tix import elementwise as ew
from passes.derivative_rules import RULES
from passes.emitter import Body, Emitter, Scope, free_values
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
    ties: SSAValue | None = None
    """How many terms are equal to each element, where the definition is an extremum."""
    elements: Container[SSAValue] = ()
    """The values that are the element of the definition wherever they are computed."""
    carriers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """For the terms of a sum `x + y - ...`, the value that has the same adjoint."""

    def at(self, value: SSAValue, path: Path, scope: Scope) -> SSAValue:
        """The adjoint of a value that stands at the end of `path`, at the point of the scope."""

        def descend(blocks: Sequence[Block], frame: _Frame) -> SSAValue:
            if not blocks:
                return self.adjoint(value, frame)
            block, *rest = blocks
            return self._enter(block, frame, frame.scope, lambda inner: descend(rest, inner))

        return descend(path.blocks, _Frame(self.definition.body.block, scope, None))

    def _enter(
        self, block: Block, frame: _Frame, scope: Scope, body: Callable[[_Frame], SSAValue]
    ) -> SSAValue:
        """`body` in a block inside, 0 where the block does not enter the value around it.

        Nothing is multiplied by that 0: a partial derivative need not be finite there.
        """
        inner = _Frame(block, scope, frame)

        def taken(e: Emitter, _: list[SSAValue]) -> SSAValue:
            return body(_Frame(block, scope.inner(e, [], []), frame))

        match block.parent_op():
            case tix.WhereOp() as op:
                x, y = self.value(op.lhs, frame), self.value(op.rhs, frame)
                branches = (taken, _number(0)) if block is op.then.block else (_number(0), taken)
                return scope.emitter.where(op.comparison, x, y, *branches)
            case tix.ExtremumOp() as op:
                term, extremum = (
                    self.value(tix.yielded(op.body), inner),
                    self.value(op.result, frame),
                )
                return scope.emitter.where("eq", term, extremum, taken, _number(0))
            case _:
                return body(inner)

    def adjoint(self, value: SSAValue, frame: _Frame) -> SSAValue:
        """The adjoint of a value of the frame or of one around it, emitted where that is."""
        home = frame.holding(value)
        value = self._carrier(value)
        pending = [value]
        while pending:
            v = pending[-1]
            # what only decides has the derivative 0
            uses = _in_order(u for u in v.uses if not isinstance(u.operation, tix.WhereOp))
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
        """The adjoint of a region's value, from that of the operation, or of the element."""
        e, op = frame.scope.emitter, frame.block.parent_op()
        if op is self.definition:
            return adjoint_element(e, self.seed, self._element(frame))
        assert op is not None and frame.parent is not None
        above = self.adjoint(op.results[0], frame.parent)
        match op:
            case tix.ExtremumOp():
                return e.div(above, self._ties_of(op, frame.parent))
            case tix.ProdOp():
                return e.mul(above, self._other_factors(op, frame))
            case _:
                return above

    def _ties_of(self, op: tix.ExtremumOp, frame: _Frame) -> SSAValue:
        if self.ties is not None and op.result in self.elements:
            return frame.scope.emitter.read(self.ties, self._element(frame))
        extremum = self.value(op.result, frame)
        self._require(op, frame)
        return count_ties(frame.scope, op, extremum)

    def _other_factors(self, op: tix.ProdOp, frame: _Frame) -> SSAValue:
        """The product without the factor at the point of the frame, which may be 0.

        The other points are disjoint sets: those that agree with this one in the first n indices,
        and are smaller, or larger, in the next one.
        """
        assert frame.parent is not None
        self._require(op, frame.parent)
        scope = frame.scope
        here = [scope.form(Affine.of(v)) for v in op.own]

        def part(n: int, sign: int) -> SSAValue:
            def domain(own: list[SSAValue]) -> list[Constraint]:
                away = [Affine.of(v) - form for v, form in zip(own, here, strict=True)]
                same = [Constraint(d, equality=True) for d in away[:n]]
                points = scope.inner(scope.emitter, op.own, own).constraints(op.constraints)
                return [*same, Constraint(away[n] * sign - 1), *points]

            def factor(e: Emitter, own: list[SSAValue]) -> SSAValue:
                return scope.inner(e, op.own, own).copy_body(op.body)

            return scope.emitter.reduce(tix.ProdOp, _hints(op), domain, factor)

        parts = [part(n, sign) for n in range(len(op.own)) for sign in (-1, 1)]
        return reduce(scope.emitter.mul, parts)

    def _require(self, op: Operation, frame: _Frame) -> None:
        """Copy what `op` uses from outside."""
        for v in free_values(op):
            if not _available(v, frame):
                self._make_available(v, frame)

    def _element(self, frame: _Frame) -> list[Affine]:
        return [frame.scope.form(Affine.of(v)) for v in self.definition.indices]

    def _inside(self, op: Operation, use: Use, frame: _Frame) -> SSAValue:
        """A use in a region of `op`: the sum, or the choice, over the region's adjoints."""
        scope = frame.scope

        def through(inner: _Frame) -> SSAValue:
            return self._through(use, inner)

        def region(block: Block) -> Callable[[Emitter, list[SSAValue]], SSAValue]:
            def body(e: Emitter, own: list[SSAValue]) -> SSAValue:
                if not block.is_ancestor(use.operation):
                    return e.constant(0)
                inner = scope.inner(e, list(block.args), own)
                return self._enter(block, frame, inner, through)

            return body

        match op:
            case tix.ReductionOp():

                def domain(own: list[SSAValue]) -> list[Constraint]:
                    return scope.inner(scope.emitter, op.own, own).constraints(op.constraints)

                return scope.emitter.sum(_hints(op), domain, region(op.body.block))
            case tix.WhereOp():
                first = op.then.block.is_ancestor(use.operation)
                block = op.then.block if first else op.otherwise.block
                return self._enter(block, frame, scope, through)
            case _:
                assert isinstance(op, tix.IfOp)
                pieces = [scope.constraints(piece) for piece in op.condition]
                branches = region(op.then.block), region(op.otherwise.block)
                return scope.emitter.choose(pieces, *branches)

    def value(self, value: SSAValue, frame: _Frame) -> SSAValue:
        """The forward value, copied into the frame that defines it."""
        self._make_available(value, frame)
        return frame.holding(value).scope.values[value]

    def _is_element(self, value: SSAValue) -> bool:
        """Is it read from the forward result? Extrema are, since they are dear, and compared."""
        if value is tix.yielded(self.definition.body):
            return True
        return isinstance(value.owner, tix.ExtremumOp) and value in self.elements

    def _make_available(self, value: SSAValue, frame: _Frame) -> None:
        """Copy what defines a value, or a quotient of indices, and all that it needs."""
        pending = [value]
        while pending:
            v = pending[-1]
            home = frame.holding(v)
            op = v.owner
            assert isinstance(op, Operation)
            if _available(v, home):
                pending.pop()
            elif self._is_element(v) and not isinstance(op, _RECOMPUTED):
                scope = home.scope
                scope.values[v] = scope.emitter.read(self.forward, self._element(home))
            elif missing := [n for n in free_values(op) if not _available(n, home)]:
                pending += reversed(missing)
            else:
                home.scope.copy(op)


def count_ties(scope: Scope, op: tix.ExtremumOp, extremum: SSAValue) -> SSAValue:
    """How many terms of `op` are equal to `extremum`: `scope` has what these use from outside."""

    def domain(own: list[SSAValue]) -> list[Constraint]:
        return scope.inner(scope.emitter, op.own, own).constraints(op.constraints)

    def equal(e: Emitter, own: list[SSAValue]) -> SSAValue:
        term = scope.inner(e, op.own, own).copy_body(op.body)
        return e.where("eq", term, extremum, _number(1), _number(0))

    return scope.emitter.sum(_hints(op), domain, equal)


def _number(value: float) -> Body:
    return lambda e, _: e.constant(value)


def _hints(op: tix.ReductionOp) -> list[str | None]:
    return [v.name_hint for v in op.own]


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
