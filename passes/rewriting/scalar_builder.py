"""Building scalars: a `ScalarBuilder` appends operations to a block and folds what it can.

Constants are folded, neutral elements vanish and signs move outwards, so that no pass leaves
`1 * x` behind. `0 * x` stays: it is not 0 for every x.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import append
from tadc.dialects.tix import elementwise

OpT = TypeVar("OpT", bound=Operation)


class ScalarBuilder:
    """Appends scalar operations to `block`; every operation gets `location`."""

    def __init__(self, block: Block, location: LocationAttr):
        self.block = block
        self.location = location

    def insert(self, op: OpT) -> OpT:
        op.location = self.location
        append(self.block, op)
        return op

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


_ALGEBRA: Mapping[type[Operation], Callable[[ScalarBuilder, SSAValue, SSAValue], SSAValue]] = {
    elementwise.AddOp: ScalarBuilder.add,
    elementwise.SubOp: ScalarBuilder.sub,
    elementwise.MulOp: ScalarBuilder.mul,
    elementwise.DivOp: ScalarBuilder.div,
    elementwise.PowOp: ScalarBuilder.pow,
}
