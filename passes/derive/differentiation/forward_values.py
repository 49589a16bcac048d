"""The forward values that derivatives of a definition need, wherever in its body they need them.

A derivative walks the regions of an old definition while it emits new ones: a `Frame` is an old
block that is being emitted. `LocalValues` copies forward values into frames when they are asked
for, and reads from the stored result what is cheaper read than computed again.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from functools import reduce

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.analysis.costs import ARITHMETIC
from tadc.passes.rewriting.builder import Body, BodyBuilder
from tadc.passes.rewriting.cloner import Cloner, free_values
from tadc.passes.rewriting.guards import is_guard


@dataclass
class Frame:
    """An old block while it is being emitted: its cloner, and the derivatives known in it."""

    block: Block
    cloner: Cloner
    parent: Frame | None
    derivatives: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The adjoints, or the tangents, of values of this block."""
    place: LocationAttr | None = None
    """Of the outermost block of a read: where the read stands in the text."""

    def holding(self, value: SSAValue) -> Frame:
        """The frame that `value` is defined in, this one or one around it."""
        frame: Frame | None = self
        while frame is not None and frame.block is not block_of(value):
            frame = frame.parent
        assert frame is not None, "a value is used outside the region that defines it"
        return frame


def block_of(value: SSAValue) -> Block | None:
    """The block that defines a value, or has it as an index."""
    return value.owner if isinstance(value.owner, Block) else value.owner.parent


_RECOMPUTED = (*ARITHMETIC, tix.ReadOp, tix.ConstantOp)
"""No dearer to compute again than to read from the forward result."""


@dataclass(frozen=True)
class LocalValues:
    """The forward values of one definition, whose elements `forward` holds."""

    definition: tix.DefineOp
    forward: SSAValue
    elements: Container[SSAValue]
    """The values that are the element of the definition wherever they are computed."""

    def value(self, value: SSAValue, frame: Frame) -> SSAValue:
        """The forward value, copied into the frame that defines it."""
        self._make_available(value, frame)
        return frame.holding(value).cloner.values[value]

    def _is_element(self, value: SSAValue) -> bool:
        """True if it is read from the forward result: extrema are, which are dear, and compared."""
        if value is tix.yielded(self.definition.body):
            return True
        return isinstance(value.owner, tix.ExtremumOp) and value in self.elements

    def _make_available(self, value: SSAValue, frame: Frame) -> None:
        """Copy what defines a value, or a quotient of indices, and all that it needs."""
        pending = [value]
        while pending:
            v = pending[-1]
            home = frame.holding(v)
            op = v.owner
            assert isinstance(op, Operation)
            if is_available(v, home):
                pending.pop()
            elif self._is_element(v) and not isinstance(op, _RECOMPUTED):
                cloner = home.cloner
                cloner.values[v] = cloner.builder.read(self.forward, self.element(home))
            elif missing := [n for n in free_values(op) if not is_available(n, home)]:
                pending += reversed(missing)
            else:
                home.cloner.copy(op)

    def element(self, frame: Frame) -> list[Affine]:
        """The indices of the definition at the point of the frame."""
        return [frame.cloner.form(Affine.of(v)) for v in self.definition.indices]

    def other_factors(self, op: tix.ProdOp, frame: Frame) -> SSAValue:
        """The product without the factor at the point of the frame, which may be 0.

        The other points are disjoint sets: those that agree with this one in the first n indices,
        and are smaller, or larger, in the next one.
        """
        assert frame.parent is not None
        self.require(op, frame.parent)
        cloner = frame.cloner
        here = [cloner.form(Affine.of(v)) for v in op.indices]

        def part(n: int, sign: int) -> SSAValue:
            def domain(own: list[SSAValue]) -> list[Constraint]:
                away = [Affine.of(v) - form for v, form in zip(own, here, strict=True)]
                same = [Constraint(d, equality=True) for d in away[:n]]
                points = cloner.inner(cloner.builder, op.indices, own).constraints(op.constraints)
                return [*same, Constraint(away[n] * sign - 1), *points]

            def factor(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
                return cloner.inner(e, op.indices, own).copy_body(op.body)

            return cloner.builder.reduce(tix.ProdOp, hints(op), domain, factor)

        parts = [part(n, sign) for n in range(len(op.indices)) for sign in (-1, 1)]
        return reduce(cloner.builder.mul, parts)

    def require(self, op: Operation, frame: Frame) -> None:
        """Copy what `op` uses from outside."""
        self.require_values(free_values(op), frame)

    def require_values(self, values: Iterable[SSAValue], frame: Frame) -> None:
        """Copy what defines these scalars, and quotients of indices."""
        for v in values:
            if not is_available(v, frame):
                self._make_available(v, frame)


def count_ties(cloner: Cloner, op: tix.ExtremumOp, extremum: SSAValue) -> SSAValue:
    """The number of terms of `op` equal to `extremum`; `cloner` has what they use from outside."""

    def domain(own: list[SSAValue]) -> list[Constraint]:
        return cloner.inner(cloner.builder, op.indices, own).constraints(op.constraints)

    def equal(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        term = cloner.inner(e, op.indices, own).copy_body(op.body)
        guard = term.owner
        if is_guard(guard, op.IDENTITY):
            # a point at which there is no term does not count

            def inside(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
                value = Cloner(e).copy_body(guard.then)
                return e.where("eq", value, extremum, number(1), number(0))

            return e.guard(guard.condition[0], inside)
        return e.where("eq", term, extremum, number(1), number(0))

    return cloner.builder.sum(hints(op), domain, equal)


def number(value: float) -> Body:
    """A body that is this number."""
    return lambda e, _: e.constant(value)


def hints(op: tix.ReductionOp) -> list[str | None]:
    """The names of the indices of a reduction."""
    return [v.name_hint for v in op.indices]


def is_available(value: SSAValue, frame: Frame) -> bool:
    """True if `value` needs no code: an index, a tensor, or copied into a frame around already."""
    if isinstance(value, BlockArgument) or isinstance(value.owner, tix.DefineOp):
        return True
    cloner = frame.holding(value).cloner
    return value in cloner.values or value in cloner.indices
