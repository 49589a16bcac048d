"""Scalar operations of the `tix` dialect: what the body of a definition computes with.

Operations of bodies build themselves by `Operation.__init__`: the constructor of IRDL, which sorts
operands into groups of any length, would take twice the time, and passes make thousands of them.
"""

from __future__ import annotations

import math
import operator
from abc import ABC
from collections.abc import Callable

from xdsl.dialects.builtin import FloatData
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    eq,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Commutative, Pure

from dialects.tix.types import real


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A number: `tix.constant 2.5`."""

    name = "tix.constant"
    value = prop_def(FloatData)
    result = result_def(eq(real))
    traits = traits_def(Pure())

    def __init__(self, value: float):
        Operation.__init__(self, properties={"value": FloatData(float(value))}, result_types=[real])

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


class UnaryOp(IRDLOperation, ABC):
    """A function of one real: `tix.exp %x`."""

    operand = operand_def(eq(real))
    result = result_def(eq(real))
    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict"

    def __init__(self, operand: SSAValue | Operation):
        Operation.__init__(self, operands=[SSAValue.get(operand)], result_types=[real])


class BinaryOp(IRDLOperation, ABC):
    """A function of two reals: `tix.add %x, %y`."""

    lhs = operand_def(eq(real))
    rhs = operand_def(eq(real))
    result = result_def(eq(real))
    assembly_format = "$lhs `,` $rhs attr-dict"

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        Operation.__init__(
            self, operands=[SSAValue.get(lhs), SSAValue.get(rhs)], result_types=[real]
        )


@irdl_op_definition
class AddOp(BinaryOp):
    name = "tix.add"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class SubOp(BinaryOp):
    name = "tix.sub"
    traits = traits_def(Pure())


@irdl_op_definition
class MulOp(BinaryOp):
    name = "tix.mul"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class DivOp(BinaryOp):
    name = "tix.div"
    traits = traits_def(Pure())


@irdl_op_definition
class PowOp(BinaryOp):
    """`x ** y`; a constant integer `y` is valid for every `x`, and `x ** 0` is 1."""

    name = "tix.pow"
    traits = traits_def(Pure())


@irdl_op_definition
class Atan2Op(BinaryOp):
    """The angle of the point (`rhs`, `lhs`), as in C."""

    name = "tix.atan2"
    traits = traits_def(Pure())


@irdl_op_definition
class MaximumOp(BinaryOp):
    name = "tix.maximum"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class MinimumOp(BinaryOp):
    name = "tix.minimum"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class NegOp(UnaryOp):
    """`-x`."""

    name = "tix.neg"


@irdl_op_definition
class AbsOp(UnaryOp):
    """`|x|`, with derivative 0 at 0."""

    name = "tix.abs"


@irdl_op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1, with derivative 0."""

    name = "tix.sign"


@irdl_op_definition
class SqrtOp(UnaryOp):
    name = "tix.sqrt"


@irdl_op_definition
class ExpOp(UnaryOp):
    name = "tix.exp"


@irdl_op_definition
class LogOp(UnaryOp):
    name = "tix.log"


@irdl_op_definition
class Log10Op(UnaryOp):
    name = "tix.log10"


@irdl_op_definition
class Log1pOp(UnaryOp):
    """`log(1 + x)`, exact near 0."""

    name = "tix.log1p"


@irdl_op_definition
class Expm1Op(UnaryOp):
    """`exp(x) - 1`, exact near 0."""

    name = "tix.expm1"


@irdl_op_definition
class SinOp(UnaryOp):
    name = "tix.sin"


@irdl_op_definition
class CosOp(UnaryOp):
    name = "tix.cos"


@irdl_op_definition
class TanOp(UnaryOp):
    name = "tix.tan"


@irdl_op_definition
class AsinOp(UnaryOp):
    name = "tix.asin"


@irdl_op_definition
class AcosOp(UnaryOp):
    name = "tix.acos"


@irdl_op_definition
class AtanOp(UnaryOp):
    name = "tix.atan"


@irdl_op_definition
class SinhOp(UnaryOp):
    name = "tix.sinh"


@irdl_op_definition
class CoshOp(UnaryOp):
    name = "tix.cosh"


@irdl_op_definition
class TanhOp(UnaryOp):
    name = "tix.tanh"


@irdl_op_definition
class ErfOp(UnaryOp):
    """The error function."""

    name = "tix.erf"


@irdl_op_definition
class SigmoidOp(UnaryOp):
    """`1 / (1 + exp(-x))`."""

    name = "tix.sigmoid"


@irdl_op_definition
class ReluOp(UnaryOp):
    """`max(x, 0)`, with derivative 0 at 0."""

    name = "tix.relu"


UNARY: dict[str, type[UnaryOp]] = {
    "neg": NegOp,
    "abs": AbsOp,
    "sign": SignOp,
    "sqrt": SqrtOp,
    "exp": ExpOp,
    "log": LogOp,
    "log10": Log10Op,
    "log1p": Log1pOp,
    "expm1": Expm1Op,
    "sin": SinOp,
    "cos": CosOp,
    "tan": TanOp,
    "asin": AsinOp,
    "acos": AcosOp,
    "atan": AtanOp,
    "sinh": SinhOp,
    "cosh": CoshOp,
    "tanh": TanhOp,
    "erf": ErfOp,
    "sigmoid": SigmoidOp,
    "relu": ReluOp,
}
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


def _sign(x: float) -> float:
    return x if math.isnan(x) else float((x > 0) - (x < 0))


def _quotient(x: float, y: float) -> float:
    return x / y


def _relu(x: float) -> float:
    return max(x, 0.0)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _larger(x: float, y: float) -> float:
    return max(x, y)


def _smaller(x: float, y: float) -> float:
    return min(x, y)


def _folders() -> dict[type[Operation], Callable[..., float]]:
    table: dict[type[Operation], Callable[..., float]] = {
        AddOp: operator.add,
        SubOp: operator.sub,
        MulOp: operator.mul,
        DivOp: _quotient,
        PowOp: math.pow,
        Atan2Op: math.atan2,
        MaximumOp: _larger,
        MinimumOp: _smaller,
        NegOp: float.__neg__,
        AbsOp: float.__abs__,
        SignOp: _sign,
        SigmoidOp: _sigmoid,
        ReluOp: _relu,
    }
    return table | {UNARY[w]: getattr(math, w) for w in UNARY if hasattr(math, w)}


_FOLDERS = _folders()


def fold(kind: type[Operation], *operands: float) -> float | None:
    """The value of an operation on numbers in float64, or None where it is not a finite number."""
    try:
        value = _FOLDERS[kind](*operands)
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
    """Whether two numbers compare as a `tix.where` of this predicate asks."""
    return _COMPARISONS[predicate](x, y)
