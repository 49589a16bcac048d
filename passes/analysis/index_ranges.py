"""The interval in which each integer of a scheduled function lies.

Exact integers, no fixed point: a value that a loop carries may be anything. It decides whether the
indices of a function fit in 32 bits, which costs half the registers and a fraction of the
instructions of 64 on a GPU, and whether a division needs the care that a negative number asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import cast

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, Region, SSAValue

from tadc.dialects import loops

Range = tuple[int, int]
INT32: Range = (-(2**31), 2**31 - 1)
INT64: Range = (-(2**63), 2**63 - 1)


def corners(function: Callable[[int, int], int]) -> Callable[[Range, Range], Range]:
    """The image of two intervals under a function that is monotone in each argument."""

    def image(a: Range, b: Range) -> Range:
        values = [function(x, y) for x, y in product(a, b)]
        return min(values), max(values)

    return image


def quotient(divide: Callable[[int, int], int]) -> Callable[[Range, Range], Range]:
    """Division is monotone where the divisor is positive; elsewhere nothing is known."""
    image = corners(divide)
    return lambda a, b: image(a, b) if b[0] > 0 else INT64


def truncating(a: int, b: int) -> int:
    """Division as the hardware does it: towards zero."""
    return abs(a) // b * (1 if a >= 0 else -1)


def remainder(a: Range, b: Range) -> Range:
    """The remainder of the truncating division: it has the sign of the dividend."""
    if b[0] <= 0:
        return INT64
    return max(min(a[0], 0), 1 - b[1]), min(max(a[1], 0), b[1] - 1)


def bits(a: Range, b: Range) -> Range:
    """Any bitwise operation on two numbers that are not negative."""
    if min(a[0], b[0]) < 0:
        return INT64
    return 0, (1 << max(a[1], b[1]).bit_length()) - 1


IMAGE: dict[type[Operation], Callable[[Range, Range], Range]] = {
    arith.AddiOp: corners(lambda a, b: a + b),
    arith.SubiOp: corners(lambda a, b: a - b),
    arith.MuliOp: corners(lambda a, b: a * b),
    arith.FloorDivSIOp: quotient(lambda a, b: a // b),
    arith.CeilDivSIOp: quotient(lambda a, b: -(-a // b)),
    arith.DivSIOp: quotient(truncating),
    arith.RemSIOp: remainder,
    arith.MinSIOp: corners(min),
    arith.MaxSIOp: corners(max),
    arith.AndIOp: bits,
    arith.OrIOp: bits,
    arith.XOrIOp: bits,
}


def hull(a: Range, b: Range) -> Range:
    """The smallest interval around both."""
    return min(a[0], b[0]), max(a[1], b[1])


def every(type: Attribute) -> Range:
    """The range of all values of a type."""
    if isinstance(type, IntegerType):
        half = 1 << (type.bitwidth - 1)
        return -half, half - 1
    return INT64


def yielded(region: Region) -> Sequence[SSAValue]:
    """The values that a region hands to the operation around it."""
    last = region.block.last_op
    return last.operands if isinstance(last, scf.YieldOp) else ()


class Ranges:
    """Intervals of the integers of a function, given those of some of its arguments.

    An index wider than 64 bits is a mistake of the program, not a wrap-around, so the interval of
    an index may exceed 64 bits; that of an `iN` that may wrap is all of `iN`.
    """

    def __init__(self, known: Mapping[SSAValue, Range] | None = None):
        self.known = dict(known or {})

    def of(self, value: SSAValue) -> Range:
        """The interval of `value`."""
        if value not in self.known:
            found = (
                self._argument(value) if isinstance(value, BlockArgument) else self._result(value)
            )
            most = every(value.type)
            inside = isinstance(value.type, IndexType) or hull(found, most) == most
            self.known[value] = found if inside else most
        return self.known[value]

    def _argument(self, value: BlockArgument) -> Range:
        """A loop index runs from 0 or its lower bound to just below its size or upper bound."""
        match value.block.parent_op():
            case loops.ParallelOp() as loop:
                return 0, max(0, self.of(loop.sizes[value.index])[1] - 1)
            case scf.ForOp() as loop if value.index == 0:
                first = self.of(loop.lb)[0]
                return first, max(first, self.of(loop.ub)[1] - 1)
            case _:
                return every(value.type)

    def _result(self, value: SSAValue) -> Range:
        op = cast(OpResult, value).op
        match op:
            case arith.ConstantOp(value=IntegerAttr(value=number)):
                return number.data, number.data
            case arith.SelectOp():
                return hull(self.of(op.lhs), self.of(op.rhs))
            case arith.IndexCastOp():
                return self.of(op.input)
            case scf.IfOp():
                index = cast(OpResult, value).index
                then, other = (yielded(r)[index] for r in (op.true_region, op.false_region))
                return hull(self.of(then), self.of(other))
            case _ if type(op) in IMAGE:
                return IMAGE[type(op)](*(self.of(operand) for operand in op.operands))
            case _:
                return every(value.type)


def indices(function: func.FuncOp) -> list[SSAValue]:
    """Every index that the function computes with; an argument counts where it is used."""
    found: list[SSAValue] = [a for a in function.body.block.args if a.first_use]
    for op in function.body.walk():
        found += op.results
        found += (a for region in op.regions for block in region.blocks for a in block.args)
    return [v for v in found if isinstance(v.type, IndexType)]


def fits(function: func.FuncOp, known: Mapping[SSAValue, Range]) -> bool:
    """True if every index stays within 32 bits, the value that ends a loop included.

    Of some arguments the range is `known`.
    """
    ranges = Ranges(known)
    values = [ranges.of(v) for v in indices(function)]
    for op in function.body.walk():
        if isinstance(op, scf.ForOp) and isinstance(op.lb.type, IndexType):
            values.append((0, ranges.of(op.body.block.args[0])[1] + ranges.of(op.step)[1]))
    return all(INT32[0] <= low and high <= INT32[1] for low, high in values)
