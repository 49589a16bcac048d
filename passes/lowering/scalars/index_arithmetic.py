"""Arithmetic of indices as `arith` operations, each once, and outside of all loops around it.

    for i in (0, 64):                    %n = i * 512
      for k in (0, 512):
        ... x[i * 512 + k] ...           %n + %k: the product is the same for all k

Arithmetic of numbers is done here, and nothing is emitted for `k + 0`, `1 * k` or `k // 1`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple, Self

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, LocationAttr
from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects.quick import INDEX, append, constant_integer
from tadc.passes.lowering import operations
from tadc.passes.lowering.operations import OpT

LARGEST_NUMBER = 2**62
"""The largest constant that is folded; larger results are left to the machine's 64-bit words."""


class Arithmetic(NamedTuple):
    """A binary operation on indices, and the function that folds it for constants."""

    op: type[Operation]
    of: Callable[[int, int], int]
    neutral: int | None = None
    """The neutral second operand, as 0 is for an addition."""
    commutes: bool = False


ADD = Arithmetic(arith.AddiOp, operator.add, 0, commutes=True)
SUBTRACT = Arithmetic(arith.SubiOp, operator.sub, 0)
MULTIPLY = Arithmetic(arith.MuliOp, operator.mul, 1, commutes=True)
DIVIDE = Arithmetic(arith.FloorDivSIOp, int.__floordiv__, 1)
REMAINDER = Arithmetic(arith.RemSIOp, int.__mod__)
MAXIMUM = Arithmetic(arith.MaxSIOp, max)
MINIMUM = Arithmetic(arith.MinSIOp, min)


class Term(NamedTuple):
    """A term of a sum of indices."""

    value: SSAValue
    is_negative: bool


class IndexArithmetic:
    """Emits index arithmetic once, with loop-invariant operations hoisted into enclosing blocks.

    Hoisting appends: while a block is filled, the operation that is to hold it is not yet in the
    block around.
    """

    def __init__(self, block: Block, location: LocationAttr):
        self.block = block
        self.location = location
        self.known: dict[object, SSAValue] = {}
        self.outer: Self | None = None
        """The arithmetic of the enclosing block, or an earlier one of the same block."""
        self.depth = 0
        """The number of blocks around this one."""
        self.depths = {block: 0}
        """The nesting depth of this block, its enclosing ones, and all emitted before."""

    def stand_in(self, outer: Self) -> None:
        """Nest this arithmetic in `outer`, whose results so far it can use."""
        self.outer = outer
        self.known = dict(outer.known)
        self.depth = outer.depth + (self.block is not outer.block)
        self.depths = outer.depths
        self.depths[self.block] = self.depth

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
        """A constant, in the outermost block."""
        key = "constant", value
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._at(0).once(key, lambda: _index_constant(value))
        return found

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._result(ADD, a, b)

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.constant(0) if a is b else self._result(SUBTRACT, a, b)

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._result(MULTIPLY, a, b)

    def quotient(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a / b`, rounded down.

        The divisor is at least 1 wherever this runs: in a loop with a trip count of 0, no iteration
        divides by that.
        """
        return self._result(DIVIDE, a, b) if constant_integer(b) != 0 else self.constant(0)

    def remainder(self, a: SSAValue, divisor: int) -> SSAValue:
        """The remainder of a value that is not negative, by a constant."""
        return self._result(REMAINDER, a, self.constant(divisor))

    def max(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._result(MAXIMUM, a, b)

    def min(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._result(MINIMUM, a, b)

    def _result(self, what: Arithmetic, a: SSAValue, b: SSAValue) -> SSAValue:
        """The result of an operation: folded, known, or emitted in the outermost possible block.

        That is the block in which its operands are available.
        """
        x, y = constant_integer(a), constant_integer(b)
        if x is not None and y is not None and abs(number := what.of(x, y)) <= LARGEST_NUMBER:
            return self.constant(number)
        if what.neutral is not None and y == what.neutral:
            return a
        if what.commutes and what.neutral is not None and x == what.neutral:
            return b
        key = what.op, a, b
        found = self.known.get(key)
        if found is None:
            # a divisor may be 0 where this block is not reached
            stays = what is DIVIDE and y is None
            level = self if stays else self._at(max(self.depth_of(a), self.depth_of(b)))
            found = level.once(key, lambda: operations.binary(what.op, a, b))
            self.known[key] = found
        return found

    def total(self, terms: Iterable[Term]) -> Term:
        """The sum of terms, outer loops first, so that loop-invariant parts are hoisted."""
        ordered = sorted(terms, key=lambda term: self.depth_of(term.value))
        if not ordered:
            return Term(self.constant(0), False)
        total, is_negative = ordered[0]
        for term in ordered[1:]:
            if term.is_negative == is_negative:
                total = self.add(total, term.value)
            elif is_negative:
                total, is_negative = self.sub(term.value, total), False
            else:
                total = self.sub(total, term.value)
        return Term(total, is_negative)

    def plus(self, term: Term, number: int) -> SSAValue:
        """The sum of a term and a number."""
        value, is_negative = term
        if is_negative:
            return self.sub(self.constant(number), value)
        if number < 0:
            return self.sub(value, self.constant(-number))
        return self.add(value, self.constant(number))

    def stepped(self, value: SSAValue, stride: SSAValue, count: int) -> SSAValue:
        """The position `count` strides behind another, from the one just before it if known."""
        key = "steps", value, stride
        before = self.known.get((*key, count - 1))
        if before is not None:
            return self.once((*key, count), lambda: operations.binary(arith.AddiOp, before, stride))
        kind = arith.AddiOp if count > 0 else arith.SubiOp
        by = self.mul(stride, self.constant(abs(count)))
        return self.once((*key, count), lambda: operations.binary(kind, value, by))

    def plus_here(self, value: SSAValue, number: int) -> SSAValue:
        """The sum of a value and a number, emitted into this block rather than hoisted."""
        if not number or constant_integer(value) is not None:
            return self.plus(Term(value, False), number)
        kind = arith.AddiOp if number > 0 else arith.SubiOp
        by = self.constant(abs(number))
        return self.once(("here", value, number), lambda: operations.binary(kind, value, by))

    def depth_of(self, value: SSAValue) -> int:
        """The nesting depth of the block that defines a value."""
        return self.depths.get(_block_of(value), self.depth)

    def _at(self, depth: int) -> Self:
        """The arithmetic of the enclosing block at a nesting depth."""
        found = self
        while found.outer is not None and found.outer.depth >= depth:
            found = found.outer
        return found


def _block_of(value: SSAValue) -> Block:
    owner = value.owner
    block = owner.parent if isinstance(owner, Operation) else owner
    assert block is not None
    return block


@lru_cache(maxsize=1024)
def _index(value: int) -> IntegerAttr[IndexType]:
    return IntegerAttr(value, INDEX)


def _index_constant(value: int) -> arith.ConstantOp:
    op = operations.constant(_index(value))
    (result,) = op.results
    result.name_hint = f"c{value}" if value >= 0 else f"cm{-value}"
    return op
