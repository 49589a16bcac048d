"""The scalar operations of `arith` and `math` on Python integers and NumPy floats.

The caller rounds the results to their type.
"""

from __future__ import annotations

import math as python
import operator
from collections.abc import Callable
from math import copysign, inf, isfinite, nextafter
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import arith, math
from xdsl.ir import Operation

from tadc.dialects.tix import UNARY

Function: TypeAlias = Callable[..., Any]


class LoopsError(Exception):
    """An operation that has no meaning with the values it was given."""

    def __init__(self, op: Operation, message: str):
        self.op = op
        super().__init__(f"{message}: {op}")


PYTHON: dict[type[Operation], str] = {
    arith.AddiOp: "add",
    arith.SubiOp: "sub",
    arith.MuliOp: "mul",
    arith.AndIOp: "and_",
    arith.OrIOp: "or_",
    arith.XOrIOp: "xor",
    arith.ShLIOp: "lshift",
    arith.ShRSIOp: "rshift",
    arith.FloorDivSIOp: "floordiv",
    arith.AddfOp: "add",
    arith.SubfOp: "sub",
    arith.MulfOp: "mul",
    arith.DivfOp: "truediv",
    arith.NegfOp: "neg",
}
"""Functions of Python's `operator`."""

NUMPY: dict[type[Operation], str] = {
    arith.MaxnumfOp: "fmax",
    arith.MinnumfOp: "fmin",
    math.AbsFOp: "abs",
    math.AcosOp: "arccos",
    math.AcoshOp: "arccosh",
    math.AsinOp: "arcsin",
    math.AsinhOp: "arcsinh",
    math.AtanOp: "arctan",
    math.AtanhOp: "arctanh",
    math.Atan2Op: "arctan2",
    math.CbrtOp: "cbrt",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.ExpOp: "exp",
    math.FloorOp: "floor",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.LogOp: "log",
    math.PowFOp: "power",
    math.RoundEvenOp: "rint",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.SqrtOp: "sqrt",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
    math.TruncOp: "trunc",
}
"""Functions of NumPy."""

CONVERSIONS: tuple[type[Operation], ...] = (
    arith.ExtFOp,
    arith.ExtSIOp,
    arith.IndexCastOp,
    arith.SIToFPOp,
    arith.TruncFOp,
    arith.TruncIOp,
)
"""All that these do is to give the value another type."""


def truncating_quotient(a: int, b: int) -> int:
    """Towards zero, as C divides."""
    return -(-a // b) if (a < 0) != (b < 0) else a // b


def truncating_remainder(a: int, b: int) -> int:
    return a - b * truncating_quotient(a, b)


def ceiling_quotient(a: int, b: int) -> int:
    return -(-a // b)


def select(condition: bool, a: Any, b: Any) -> Any:
    return a if condition else b


def maximum(a: Any, b: Any) -> Any:
    """NaN if one is, and 0 is above -0, of which NumPy does not say which it gives."""
    return a + b if a == b == 0 else np.maximum(a, b)


def minimum(a: Any, b: Any) -> Any:
    return -maximum(-a, -b)


def fused(a: Any, b: Any, c: Any) -> Any:
    """`a b + c`, rounded once: the fraction of integers that it is, as the nearest number."""
    if not (isfinite(a) and isfinite(b)):
        return a * b + c
    if not isfinite(c):
        return c
    (i, p), (j, q), (k, r) = (float(x).as_integer_ratio() for x in (a, b, c))
    numerator, denominator = i * j * r + k * p * q, p * q * r
    if numerator == 0:
        return a * b + c  # both terms are exact, and give the sign of zero
    return type(a)(_nearest(numerator, denominator, odd=type(a) is np.float32))


def _nearest(numerator: int, denominator: int, odd: bool) -> float:
    """A fraction as the nearest number; an inexact one that is `odd` as its odd neighbour.

    The last bit of an odd neighbour says that there is more behind it, so that it can be rounded
    again to half as many bits, as if it were the fraction: it is no tie.
    """
    try:
        x = numerator / denominator  # which Python rounds rightly
    except OverflowError:
        return copysign(inf, numerator)
    n, d = x.as_integer_ratio()
    rest = numerator * d - n * denominator
    if rest and odd and not np.float64(x).view(np.int64) & 1:
        x = nextafter(x, copysign(inf, rest))
    return x


def integer_power(x: Any, n: int) -> Any:
    return np.power(x, type(x)(n))


def reciprocal_root(x: Any) -> Any:
    return 1 / np.sqrt(x)


def identity(x: Any) -> Any:
    return x


SCALAR: dict[type[Operation], Function] = {
    **{op: getattr(operator, name) for op, name in PYTHON.items()},
    **{op: getattr(np, name) for op, name in NUMPY.items()},
    **dict.fromkeys(CONVERSIONS, identity),
    arith.CeilDivSIOp: ceiling_quotient,
    arith.DivSIOp: truncating_quotient,
    arith.FPToSIOp: int,
    arith.MaximumfOp: maximum,
    arith.MaxSIOp: max,
    arith.MinimumfOp: minimum,
    arith.MinSIOp: min,
    arith.RemSIOp: truncating_remainder,
    arith.SelectOp: select,
    math.ErfOp: python.erf,
    math.FPowIOp: integer_power,
    math.FmaOp: fused,
    math.RsqrtOp: reciprocal_root,
}

LIBRARY: dict[str, Function] = {
    kind.FUNCTION.code: kind.FUNCTION.number
    for kind in UNARY.values()
    if isinstance(kind.FUNCTION.code, str)
}
"""Functions of C's mathematical library that `math` lacks."""

# --- comparisons, by the number of the predicate --------------------------------------------------

INTEGER_RELATIONS: tuple[Function, ...] = tuple(
    getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
)
FLOAT_RELATIONS: tuple[Function, ...] = tuple(
    getattr(operator, name) for name in ("eq", "gt", "ge", "lt", "le", "ne")
)


def compare_integers(predicate: int, a: int, b: int) -> bool:
    """0-5 with signs; from 6 on without: then negative numbers, in their order, are above all."""
    if predicate < len(INTEGER_RELATIONS):
        return INTEGER_RELATIONS[predicate](a, b)
    return INTEGER_RELATIONS[predicate - 4]((a < 0, a), (b < 0, b))


def compare_floats(predicate: int, a: Any, b: Any) -> bool:
    """0 `false`, 1-6 relations false for NaN, 7 `ord`, 8-13 true for NaN, 14 `uno`, 15 `true`."""
    unordered = bool(np.isnan(a) or np.isnan(b))
    if predicate % 7 == 0 or predicate == 15:
        return {0: False, 7: not unordered, 14: unordered, 15: True}[predicate]
    return predicate > 7 if unordered else bool(FLOAT_RELATIONS[predicate % 7 - 1](a, b))
