"""Elementary functions as operations of `arith` and `math`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import LibmOp
from tadc.dialects.tix import elementwise as ew
from tadc.passes.lowering import operations
from tadc.passes.lowering.operations import OpT
from tadc.passes.lowering.scalars.index_lowering import IndexLowering

REASSOCIATED = arith.FastMathFlagsAttr([FastMathFlag.REASSOC, FastMathFlag.ALLOW_CONTRACT])
"""Terms of a sum may be added in any order, which lets a loop use vectors."""
CONTRACT = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])
"""`a * b + c` may be one operation, which rounds once."""
APPROXIMATE = arith.FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
"""An elementary function may come from another library for vectors than for a number alone."""
SIGNLESS = arith.FastMathFlagsAttr([FastMathFlag.NO_SIGNED_ZEROS])
"""The maximum of 0 and -0 may be either: processors have no instruction that tells them apart."""
AS_WRITTEN = arith.FastMathFlagsAttr("none")
"""For values that must round identically everywhere (`passes/analysis/rounding.py`)."""

_ARITHMETIC = {arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp}

_FREEDOM = {
    None: AS_WRITTEN,
    FastMathFlag.ALLOW_CONTRACT: CONTRACT,
    FastMathFlag.APPROX_FUNC: APPROXIMATE,
}


class ScalarLowering:
    """Emits operations on real numbers into the block of an `IndexLowering`."""

    def __init__(self, index: IndexLowering, element: Float32Type | Float64Type):
        self.index = index
        self.element = element
        self.flags = CONTRACT

    def insert(self, op: OpT) -> OpT:
        return self.index.insert(op)

    def constant(self, value: float) -> SSAValue:
        return self.index.once(
            ("real", repr(value)), lambda: operations.constant(FloatAttr(value, self.element))
        )

    def elementwise(self, op: tix.UnaryOp | tix.BinaryOp, operands: Sequence[SSAValue]) -> SSAValue:
        """The value of an operation on these operands."""
        if isinstance(op, ew.PowOp):
            return self._power(operands[0], operands[1], tix.constant_value(op.rhs))
        function = op.FUNCTION
        if function.code is None:
            return _COMPOSED[type(op)](self, *operands)
        flags = AS_WRITTEN if self.flags is AS_WRITTEN else _FREEDOM[function.freedom]
        if isinstance(function.code, str):
            return self.insert(LibmOp(function.code, operands[0], flags)).result
        return self._rounding(function.code, operands, flags)

    @staticmethod
    def can_emit(kind: type[tix.UnaryOp]) -> bool:
        """True if an operation is one of `arith`, `math` or C's library, or composed of others."""
        return kind.FUNCTION.code is not None or kind in _COMPOSED

    def arith(self, kind: Callable[..., Operation], *operands: SSAValue) -> SSAValue:
        return self._rounding(kind, operands, self.flags)

    def _rounding(
        self,
        kind: Callable[..., Operation],
        operands: Sequence[SSAValue],
        flags: arith.FastMathFlagsAttr,
    ) -> SSAValue:
        """Emit an operation with fast-math flags, and give its result."""
        if kind in _ARITHMETIC:
            a, b = operands
            op = operations.binary(cast("type[Operation]", kind), a, b, fastmath=flags)
        else:
            op = kind(*operands, flags)
        (result,) = self.insert(op).results
        return result

    def math(self, kind: Callable[..., Operation], *operands: SSAValue) -> SSAValue:
        return self.insert(kind(*operands)).results[0]

    def select(self, predicate: str, a: SSAValue, b: SSAValue, x: SSAValue, y: SSAValue):
        """`x` where `a predicate b`, else `y`."""
        test = self.insert(arith.CmpfOp(a, b, predicate)).result
        return self.insert(arith.SelectOp(test, x, y)).result

    def _power(self, x: SSAValue, y: SSAValue, exponent: float | None) -> SSAValue:
        """Small integers by multiplication, one half as a root, all else by `pow`."""
        if exponent is None or (exponent != 0.5 and not _small_integer(exponent)):
            return self.math(math.PowFOp, x, y)
        if exponent == 0.5:
            return self.math(math.SqrtOp, x)
        power = self._by_squaring(x, abs(int(exponent)))
        return power if exponent >= 0 else self.arith(arith.DivfOp, self.constant(1.0), power)

    def _by_squaring(self, x: SSAValue, n: int) -> SSAValue:
        if n == 0:
            return self.constant(1.0)
        half = x if n == 1 else self._by_squaring(x, n // 2)
        if n == 1:
            return half
        square = self.arith(arith.MulfOp, half, half)
        return self.arith(arith.MulfOp, square, x) if n % 2 else square


LARGEST_POWER = 16
"""Integer exponents up to this are multiplied out: `x**16` is four multiplications."""


def _small_integer(value: float) -> bool:
    return value == int(value) and abs(value) <= LARGEST_POWER if abs(value) < 2**31 else False


def _sign(b: ScalarLowering, x: SSAValue) -> SSAValue:
    """x itself where it is 0 or not a number, else 1 with the sign of x: one comparison."""
    unit = b.math(math.CopySignOp, b.constant(1.0), x)
    return b.select("one", x, b.constant(0.0), unit, x)


def _sigmoid(b: ScalarLowering, x: SSAValue) -> SSAValue:
    power = b.math(math.ExpOp, b.arith(arith.NegfOp, x))
    one = b.constant(1.0)
    return b.arith(arith.DivfOp, one, b.arith(arith.AddfOp, one, power))


def _relu(b: ScalarLowering, x: SSAValue) -> SSAValue:
    zero = b.constant(0.0)
    return b.select("ole", x, zero, zero, x)


_COMPOSED: Mapping[type[Operation], Callable[[ScalarLowering, SSAValue], SSAValue]] = {
    ew.SignOp: _sign,
    ew.SigmoidOp: _sigmoid,
    ew.ReluOp: _relu,
}
"""Functions that are composed of other operations."""
