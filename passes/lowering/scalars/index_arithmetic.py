"""Arithmetic of indices as `arith` operations of a block, each once.

Arithmetic of numbers is done here, and nothing is emitted for `k + 0`, `1 * k` or `k // 1`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from dialects.quick import INDEX, append, constant_integer
from passes.lowering import operations
from passes.lowering.operations import OpT

LARGEST_NUMBER = 2**62
"""Numbers beyond are left to the machine, whose words have 64 bits."""


class Arithmetic(NamedTuple):
    """An operation on two indices, and what it makes of two numbers."""

    op: type[Operation]
    of: Callable[[int, int], int]
    neutral: int | None = None
    """The second operand with which nothing changes."""
    commutes: bool = False


ADD = Arithmetic(arith.AddiOp, operator.add, 0, commutes=True)
SUBTRACT = Arithmetic(arith.SubiOp, operator.sub, 0)
MULTIPLY = Arithmetic(arith.MuliOp, operator.mul, 1, commutes=True)
DIVIDE = Arithmetic(arith.FloorDivSIOp, int.__floordiv__, 1)
MAXIMUM = Arithmetic(arith.MaxSIOp, max)
MINIMUM = Arithmetic(arith.MinSIOp, min)


class IndexArithmetic:
    """Emits arithmetic of indices into a block, which computes nothing twice."""

    def __init__(self, block: Block, location: LocationAttr):
        self.block = block
        self.location = location
        self.known: dict[object, SSAValue] = {}

    def insert(self, op: OpT) -> OpT:
        op.location = self.location
        append(self.block, op)
        return op

    def once(self, key: object, make: Callable[[], Operation]) -> SSAValue:
        found = self.known.get(key)
        if found is None:
            (found,) = self.insert(make()).results
            self.known[key] = found
        return found

    def constant(self, value: int) -> SSAValue:
        return self.once(("constant", value), lambda: _index_constant(value))

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._result(ADD, a, b)

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.constant(0) if a is b else self._result(SUBTRACT, a, b)

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._result(MULTIPLY, a, b)

    def quotient(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a / b`, rounded down. The divisor is 1 or more where this is computed: no iteration of
        none divides by its number of values."""
        return self._result(DIVIDE, a, b) if constant_integer(b) != 0 else self.constant(0)

    def max(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._result(MAXIMUM, a, b)

    def min(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._result(MINIMUM, a, b)

    def _result(self, what: Arithmetic, a: SSAValue, b: SSAValue) -> SSAValue:
        """The result of an operation, which is emitted where it is not known here."""
        x, y = constant_integer(a), constant_integer(b)
        if x is not None and y is not None and abs(number := what.of(x, y)) <= LARGEST_NUMBER:
            return self.constant(number)
        if what.neutral is not None and y == what.neutral:
            return a
        if what.commutes and what.neutral is not None and x == what.neutral:
            return b
        return self.once((what.op, a, b), lambda: operations.binary(what.op, a, b))


@lru_cache(maxsize=1024)
def _index(value: int) -> IntegerAttr[IndexType]:
    return IntegerAttr(value, INDEX)


def _index_constant(value: int) -> arith.ConstantOp:
    op = operations.constant(_index(value))
    (result,) = op.results
    result.name_hint = f"c{value}" if value >= 0 else f"cm{-value}"
    return op
