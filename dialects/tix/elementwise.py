"""Scalar operations of the `tix` dialect: what the body of a definition computes with.

`FUNCTION` says what an operation computes (`dialects/tix/elementary.py`); docs/new-function.md is
the recipe for another one.
"""

from __future__ import annotations

import math
import operator
from abc import ABC
from collections.abc import Callable
from typing import ClassVar

from xdsl.dialects import arith
from xdsl.dialects import math as machine
from xdsl.dialects.builtin import FloatData
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    eq,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Commutative, Pure

from tadc.dialects.quick import QuickOperation, operation
from tadc.dialects.tix.elementary import (
    APPROXIMATE,
    CONTRACT,
    Elementary,
    near,
    quotient,
    relu,
    sigmoid,
    sign,
)
from tadc.dialects.tix.types import real


@operation
class ConstantOp(QuickOperation):
    """A number: `tix.constant 2.5`."""

    name = "tix.constant"
    value = prop_def(FloatData)
    result = result_def(eq(real))
    traits = traits_def(Pure())

    def __init__(self, value: float):
        super().__init__(properties={"value": FloatData(float(value))}, result_types=[real])

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        sign = -1 if parser.parse_optional_punctuation("-") else 1
        if parser.parse_optional_keyword("inf"):
            return cls(sign * math.inf)
        if parser.parse_optional_keyword("nan"):
            return cls(math.nan)
        return cls(sign * float(parser.parse_number()))

    def print(self, printer: Printer) -> None:
        text = repr(self.value.data)
        if "e" in text and "." not in text:  # the lexer reads `1.0e-9`, not `1e-9`
            text = text.replace("e", ".0e")
        printer.print_string(f" {text}")


class UnaryOp(QuickOperation, ABC):
    """A function of one real: `tix.exp %x`."""

    FUNCTION: ClassVar[Elementary]
    operand = operand_def(eq(real))
    result = result_def(eq(real))
    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict"

    def __init__(self, operand: SSAValue):
        super().__init__(operands=(operand,), result_types=[real])


class StepOp(UnaryOp, ABC):
    """A function that is constant between jumps, with derivative 0, at these too."""


class BinaryOp(QuickOperation, ABC):
    """A function of two reals: `tix.add %x, %y`."""

    FUNCTION: ClassVar[Elementary]
    lhs = operand_def(eq(real))
    rhs = operand_def(eq(real))
    result = result_def(eq(real))
    assembly_format = "$lhs `,` $rhs attr-dict"

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        super().__init__(operands=(lhs, rhs), result_types=(real,))


@operation
class AddOp(BinaryOp):
    name = "tix.add"
    FUNCTION: ClassVar[Elementary] = Elementary(operator.add, arith.AddfOp, CONTRACT)
    traits = traits_def(Pure(), Commutative())


@operation
class SubOp(BinaryOp):
    name = "tix.sub"
    FUNCTION: ClassVar[Elementary] = Elementary(operator.sub, arith.SubfOp, CONTRACT)
    traits = traits_def(Pure())


@operation
class MulOp(BinaryOp):
    name = "tix.mul"
    FUNCTION: ClassVar[Elementary] = Elementary(operator.mul, arith.MulfOp, CONTRACT)
    traits = traits_def(Pure(), Commutative())


@operation
class DivOp(BinaryOp):
    name = "tix.div"
    FUNCTION: ClassVar[Elementary] = Elementary(quotient, arith.DivfOp, CONTRACT)
    traits = traits_def(Pure())


@operation
class PowOp(BinaryOp):
    """`x ** y`; a constant integer `y` is valid for every `x`, and `x ** 0` is 1."""

    name = "tix.pow"
    FUNCTION: ClassVar[Elementary] = Elementary(math.pow)
    traits = traits_def(Pure())


@operation
class Atan2Op(BinaryOp):
    """The angle of the point (`rhs`, `lhs`), as in C."""

    name = "tix.atan2"
    FUNCTION: ClassVar[Elementary] = Elementary(math.atan2, machine.Atan2Op, APPROXIMATE)
    traits = traits_def(Pure())


@operation
class MaximumOp(BinaryOp):
    name = "tix.maximum"
    FUNCTION: ClassVar[Elementary] = Elementary(max, arith.MaximumfOp)
    traits = traits_def(Pure(), Commutative())


@operation
class MinimumOp(BinaryOp):
    name = "tix.minimum"
    FUNCTION: ClassVar[Elementary] = Elementary(min, arith.MinimumfOp)
    traits = traits_def(Pure(), Commutative())


@operation
class NegOp(UnaryOp):
    """`-x`."""

    name = "tix.neg"
    FUNCTION: ClassVar[Elementary] = Elementary(float.__neg__, arith.NegfOp, CONTRACT)


@operation
class AbsOp(UnaryOp):
    """`|x|`, with derivative 0 at 0."""

    name = "tix.abs"
    FUNCTION: ClassVar[Elementary] = Elementary(float.__abs__, machine.AbsFOp)


@operation
class SignOp(StepOp):
    """-1, 0 or 1."""

    name = "tix.sign"
    FUNCTION: ClassVar[Elementary] = Elementary(sign)


@operation
class FloorOp(StepOp):
    """The largest integer that is not above."""

    name = "tix.floor"
    FUNCTION: ClassVar[Elementary] = Elementary(near(math.floor), machine.FloorOp)


@operation
class CeilOp(StepOp):
    """The smallest integer that is not below."""

    name = "tix.ceil"
    FUNCTION: ClassVar[Elementary] = Elementary(near(math.ceil), machine.CeilOp)


@operation
class RoundOp(StepOp):
    """The nearest integer, the even one of two, as in Python and NumPy."""

    name = "tix.round"
    FUNCTION: ClassVar[Elementary] = Elementary(near(round), machine.RoundEvenOp)


@operation
class SqrtOp(UnaryOp):
    name = "tix.sqrt"
    FUNCTION: ClassVar[Elementary] = Elementary(math.sqrt, machine.SqrtOp)


@operation
class ExpOp(UnaryOp):
    name = "tix.exp"
    FUNCTION: ClassVar[Elementary] = Elementary(math.exp, machine.ExpOp)


@operation
class LogOp(UnaryOp):
    name = "tix.log"
    FUNCTION: ClassVar[Elementary] = Elementary(math.log, machine.LogOp)


@operation
class Log10Op(UnaryOp):
    name = "tix.log10"
    FUNCTION: ClassVar[Elementary] = Elementary(math.log10, machine.Log10Op, APPROXIMATE)


@operation
class Log1pOp(UnaryOp):
    """`log(1 + x)`, exact near 0."""

    name = "tix.log1p"
    FUNCTION: ClassVar[Elementary] = Elementary(math.log1p, machine.Log1pOp)


@operation
class Expm1Op(UnaryOp):
    """`exp(x) - 1`, exact near 0."""

    name = "tix.expm1"
    FUNCTION: ClassVar[Elementary] = Elementary(math.expm1, machine.ExpM1Op)


@operation
class SinOp(UnaryOp):
    name = "tix.sin"
    FUNCTION: ClassVar[Elementary] = Elementary(math.sin, machine.SinOp)


@operation
class CosOp(UnaryOp):
    name = "tix.cos"
    FUNCTION: ClassVar[Elementary] = Elementary(math.cos, machine.CosOp)


@operation
class TanOp(UnaryOp):
    name = "tix.tan"
    FUNCTION: ClassVar[Elementary] = Elementary(math.tan, machine.TanOp, APPROXIMATE)


@operation
class AsinOp(UnaryOp):
    name = "tix.asin"
    FUNCTION: ClassVar[Elementary] = Elementary(math.asin, machine.AsinOp, APPROXIMATE)


@operation
class AcosOp(UnaryOp):
    name = "tix.acos"
    FUNCTION: ClassVar[Elementary] = Elementary(math.acos, machine.AcosOp, APPROXIMATE)


@operation
class AtanOp(UnaryOp):
    name = "tix.atan"
    FUNCTION: ClassVar[Elementary] = Elementary(math.atan, machine.AtanOp, APPROXIMATE)


@operation
class SinhOp(UnaryOp):
    name = "tix.sinh"
    FUNCTION: ClassVar[Elementary] = Elementary(math.sinh, machine.SinhOp)


@operation
class CoshOp(UnaryOp):
    name = "tix.cosh"
    FUNCTION: ClassVar[Elementary] = Elementary(math.cosh, machine.CoshOp)


@operation
class TanhOp(UnaryOp):
    name = "tix.tanh"
    FUNCTION: ClassVar[Elementary] = Elementary(math.tanh, machine.TanhOp)


@operation
class ErfOp(UnaryOp):
    """The error function."""

    name = "tix.erf"
    FUNCTION: ClassVar[Elementary] = Elementary(math.erf, code=machine.ErfOp)


@operation
class ErfcOp(UnaryOp):
    """`1 - erf(x)`, exact where that is near 0."""

    name = "tix.erfc"
    FUNCTION: ClassVar[Elementary] = Elementary(math.erfc, code="erfc", freedom=APPROXIMATE)


@operation
class SigmoidOp(UnaryOp):
    """`1 / (1 + exp(-x))`."""

    name = "tix.sigmoid"
    FUNCTION: ClassVar[Elementary] = Elementary(sigmoid)


@operation
class ReluOp(UnaryOp):
    """`max(x, 0)`, with derivative 0 at 0."""

    name = "tix.relu"
    FUNCTION: ClassVar[Elementary] = Elementary(relu)


_UNARY: tuple[type[UnaryOp], ...] = (
    *(NegOp, AbsOp, SignOp, FloorOp, CeilOp, RoundOp, SqrtOp),
    *(ExpOp, LogOp, Log10Op, Log1pOp, Expm1Op, SinOp, CosOp, TanOp, AsinOp, AcosOp, AtanOp),
    *(SinhOp, CoshOp, TanhOp, ErfOp, ErfcOp, SigmoidOp, ReluOp),
)
UNARY: dict[str, type[UnaryOp]] = {kind.name.removeprefix("tix."): kind for kind in _UNARY}
"""The unary operations by the word of the language (`neg` is the sign `-`)."""

BINARY: dict[str, type[BinaryOp]] = {
    "+": AddOp,
    "-": SubOp,
    "*": MulOp,
    "/": DivOp,
    "**": PowOp,
    "atan2": Atan2Op,
    "max": MaximumOp,
    "min": MinimumOp,
}
"""The binary operations by the word or sign of the language."""


ELEMENTWISE: tuple[type[Operation], ...] = (ConstantOp, *UNARY.values(), *BINARY.values())


def constant_value(value: SSAValue) -> float | None:
    """The number that `value` is, where it is a `tix.constant`."""
    return value.owner.value.data if isinstance(value.owner, ConstantOp) else None


def fold(kind: type[UnaryOp] | type[BinaryOp], *operands: float) -> float | None:
    """The value of an operation on numbers in float64, or None where it is not a finite number."""
    try:
        value = kind.FUNCTION.number(*operands)
    except (ArithmeticError, ValueError):
        return None
    return value if math.isfinite(value) else None


_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}


def compare(predicate: str, x: float, y: float) -> bool:
    """True if two numbers compare as a `tix.where` of this predicate asks."""
    return _COMPARISONS[predicate](x, y)
