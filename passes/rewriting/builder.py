"""Building bodies: a `BodyBuilder` appends operations to a block and folds what it can on the way.

Passes that make new bodies write `e.mul(x, y)`. Constants are folded, neutral elements vanish and
signs move outwards, so that no pass leaves `1 * x` behind. `0 * x` stays: it is not 0 for every x.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from xdsl.dialects.builtin import IndexType, LocationAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from dialects import tix
from dialects.tix import Affine, Constraint, elementwise
from passes.rewriting.scoped_map import ScopedMap

OpT = TypeVar("OpT", bound=Operation)
Body = Callable[["BodyBuilder", list[SSAValue]], SSAValue]
"""Fills the block of a region operation: gets its builder and its own indices, gives its value."""


Quotients: TypeAlias = ScopedMap[tuple[Affine, int], SSAValue]


class BodyBuilder:
    """Appends to `block`; every operation gets `location`."""

    def __init__(
        self,
        block: Block,
        location: LocationAttr,
        quotients: Quotients | None = None,
    ):
        self.block = block
        self.location = location
        # what `floordiv` emitted here and, in maps further on, in the blocks around
        self.quotients = Quotients() if quotients is None else quotients

    def insert(self, op: OpT) -> OpT:
        op.location = self.location
        self.block.add_op(op)
        return op

    # --- scalars ---

    def constant(self, value: float) -> SSAValue:
        return self.insert(tix.ConstantOp(value)).result

    def unary(self, kind: type[tix.UnaryOp], x: SSAValue) -> SSAValue:
        if kind is elementwise.NegOp:
            return self.neg(x)
        value = tix.constant_value(x)
        folded = None if value is None else elementwise.fold(kind, value)
        return self.insert(kind(x)).result if folded is None else self.constant(folded)

    def binary(self, kind: type[tix.BinaryOp], x: SSAValue, y: SSAValue) -> SSAValue:
        rule = _ALGEBRA.get(kind)
        return rule(self, x, y) if rule else self._plain(kind, x, y)

    def _plain(self, kind: type[tix.BinaryOp], x: SSAValue, y: SSAValue) -> SSAValue:
        a, b = tix.constant_value(x), tix.constant_value(y)
        folded = None if a is None or b is None else elementwise.fold(kind, a, b)
        return self.insert(kind(x, y)).result if folded is None else self.constant(folded)

    def neg(self, x: SSAValue) -> SSAValue:
        if (value := tix.constant_value(x)) is not None:
            return self.constant(-value)
        if isinstance(x.owner, elementwise.NegOp):
            return x.owner.operand
        return self.insert(elementwise.NegOp(x)).result

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        if tix.constant_value(x) == 0:
            return y
        if tix.constant_value(y) == 0:
            return x
        if isinstance(y.owner, elementwise.NegOp):
            return self.sub(x, y.owner.operand)
        if isinstance(x.owner, elementwise.NegOp):
            return self.sub(y, x.owner.operand)
        return self._plain(elementwise.AddOp, x, y)

    def sub(self, x: SSAValue, y: SSAValue) -> SSAValue:
        if tix.constant_value(y) == 0:
            return x
        if tix.constant_value(x) == 0:
            return self.neg(y)
        if isinstance(y.owner, elementwise.NegOp):
            return self.add(x, y.owner.operand)
        return self._plain(elementwise.SubOp, x, y)

    def mul(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """A product with at most one number, which comes first, and the sign outside."""
        if tix.constant_value(y) is not None:
            x, y = y, x
        match tix.constant_value(x):
            case None:
                return self._product(x, y)
            case 1.0:
                return y
            case factor if factor < 0:
                return self.neg(self.mul(self.constant(-factor), y))
            case factor:
                if isinstance(y.owner, elementwise.MulOp):
                    inner = tix.constant_value(y.owner.lhs)
                    if inner is not None:
                        return self.mul(self.constant(factor * inner), y.owner.rhs)
                return self._product(x, y)

    def _product(self, x: SSAValue, y: SSAValue) -> SSAValue:
        if isinstance(x.owner, elementwise.NegOp):
            return self.neg(self.mul(x.owner.operand, y))
        if isinstance(y.owner, elementwise.NegOp):
            return self.neg(self.mul(x, y.owner.operand))
        return self._plain(elementwise.MulOp, x, y)

    def div(self, x: SSAValue, y: SSAValue) -> SSAValue:
        if tix.constant_value(y) == 1:
            return x
        if isinstance(x.owner, elementwise.NegOp):
            return self.neg(self.div(x.owner.operand, y))
        return self._plain(elementwise.DivOp, x, y)

    def pow(self, x: SSAValue, y: SSAValue) -> SSAValue:
        match tix.constant_value(y):
            case 0.0:
                return self.constant(1)
            case 1.0:
                return x
            case -1.0:
                return self.div(self.constant(1), x)
            case _:
                return self._plain(elementwise.PowOp, x, y)

    def call(self, function: str, arguments: Sequence[SSAValue]) -> SSAValue:
        """A call of a function that the program brings along."""
        return self.insert(tix.CallOp(function, arguments)).result

    # --- reads, regions, indices ---

    def read(self, tensor: SSAValue, forms: Sequence[Affine]) -> SSAValue:
        return self.insert(tix.ReadOp(tensor, forms)).result

    def index_to_real(self, form: Affine) -> SSAValue:
        if not form.terms:
            return self.constant(form.constant)
        return self.insert(tix.IndexToRealOp(form)).result

    def floordiv(self, form: Affine, divisor: int) -> Affine:
        """`form // divisor`: multiples of the divisor need no operation, equal quotients one.

        As `form // m = -((m - 1 - form) // m)`, `(1 - p) // 2` is `-(p // 2)` too.
        """
        whole, opposite = whole_part(form, divisor), divisor - 1 - form
        other = whole_part(opposite, divisor)
        if len(other.terms) < len(whole.terms):
            return -(other + self._quotient(opposite - other * divisor, divisor))
        return whole + self._quotient(form - whole * divisor, divisor)

    def _quotient(self, rest: Affine, divisor: int) -> Affine:
        """The quotient of a form with numbers from 0 to `divisor - 1`."""
        if not rest.terms:
            return Affine()
        if (rest, divisor) not in self.quotients:
            self.quotients[rest, divisor] = self.insert(tix.FloorDivOp(rest, divisor)).result
        return Affine.of(self.quotients[rest, divisor])

    def region(self, names: Sequence[str | None], body: Body) -> Region:
        """A region with own indices of these names, filled by `body`."""
        block = Block(arg_types=[IndexType()] * len(names))
        for argument, name in zip(block.args, names, strict=True):
            argument.name_hint = name
        inner = BodyBuilder(block, self.location, self.quotients.new_child())
        inner.insert(tix.YieldOp(body(inner, list(block.args))))
        _drop_unused(block)
        return Region(block)

    def reduce(
        self,
        kind: type[tix.ReductionOp],
        names: Sequence[str | None],
        domain: Callable[[list[SSAValue]], Sequence[Constraint]],
        body: Body,
    ) -> SSAValue:
        """A reduction over own indices of these names; `domain` and `body` get the indices."""
        region = self.region(names, body)
        return self.insert(kind(domain(list(region.block.args)), region)).result

    def sum(
        self,
        names: Sequence[str | None],
        domain: Callable[[list[SSAValue]], Sequence[Constraint]],
        body: Body,
    ) -> SSAValue:
        """`reduce` by `tix.sum`."""
        return self.reduce(tix.SumOp, names, domain, body)

    def guard(
        self, constraints: Sequence[Constraint], body: Body, otherwise: float = 0.0
    ) -> SSAValue:
        """The value of `body` where all constraints hold, else a number."""
        if not constraints:
            return body(self, [])
        return self.choose([constraints], body, lambda e, _: e.constant(otherwise))

    def choose(
        self, disjuncts: Sequence[Sequence[Constraint]], then: Body, otherwise: Body
    ) -> SSAValue:
        """One of two values by indices, or just that value where both are the same number."""
        regions = self.region([], then), self.region([], otherwise)
        return self._unless_equal(regions, lambda: tix.IfOp(disjuncts, *regions))

    def where(
        self, predicate: tix.Predicate, x: SSAValue, y: SSAValue, then: Body, otherwise: Body
    ) -> SSAValue:
        """One of two values by a comparison, or just that value where both are the same number."""
        a, b = tix.constant_value(x), tix.constant_value(y)
        if a is not None and b is not None:
            return (then if elementwise.compare(predicate, a, b) else otherwise)(self, [])
        if predicate == "ne" and b == 0 and isinstance(x.owner, tix.WhereOp | tix.IfOp):
            match [tix.constant_value(tix.yielded(region)) for region in x.owner.regions]:
                case [1, 0]:
                    return self._as(x.owner, then, otherwise)
                case [0, 1]:
                    return self._as(x.owner, otherwise, then)
                case _:
                    pass
        regions = self.region([], then), self.region([], otherwise)
        return self._unless_equal(regions, lambda: tix.WhereOp(predicate, x, y, *regions))

    def _as(self, test: tix.IfOp | tix.WhereOp, then: Body, otherwise: Body) -> SSAValue:
        """One of two values, decided as `test` decides."""
        if isinstance(test, tix.IfOp):
            return self.choose(test.condition, then, otherwise)
        return self.where(test.comparison, test.lhs, test.rhs, then, otherwise)

    def _unless_equal(
        self, regions: Sequence[Region], choice: Callable[[], tix.IfOp | tix.WhereOp]
    ) -> SSAValue:
        first, second = (tix.constant_value(tix.yielded(r)) for r in regions)
        if first is not None and first == second:
            for region in regions:
                region.drop_all_references()  # what they use may be unused without them
            return self.constant(first)
        return self.insert(choice()).result


def whole_part(form: Affine, divisor: int) -> Affine:
    """The `w` with smallest `form - w * divisor` that has no negative number."""
    return Affine({k: c // divisor for k, c in form.terms.items()}, form.constant // divisor)


def _drop_unused(block: Block) -> None:
    """Bodies are pure: what nobody uses need not be there."""
    for op in reversed(list(block.ops)):
        if op.results and not any(r.uses for r in op.results):
            op.detach()
            op.erase()


_ALGEBRA: Mapping[type[Operation], Callable[[BodyBuilder, SSAValue, SSAValue], SSAValue]] = {
    elementwise.AddOp: BodyBuilder.add,
    elementwise.SubOp: BodyBuilder.sub,
    elementwise.MulOp: BodyBuilder.mul,
    elementwise.DivOp: BodyBuilder.div,
    elementwise.PowOp: BodyBuilder.pow,
}
