"""Numbers that values of real type are never less than, whatever a program is called with.

    x**2 >= 0        x**2 + 0.01 >= 0.01        sqrt(x**2 + 4) >= 2

A value that is not a number is below nothing. So `1 / (x**2 + 0.01)` overflows nowhere.
"""

from __future__ import annotations

import math

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import elementwise as ew

LEAST_DIVISOR = 2.0**-64
"""The least value that is far from 0: its reciprocal, and powers of that, are numbers in f32."""


def is_far_from_zero(value: SSAValue) -> bool:
    """True if a value is positive, and its reciprocal certainly is no large number."""
    bound = lower_bound(value)
    return bound is not None and bound >= LEAST_DIVISOR


def lower_bound(value: SSAValue) -> float | None:
    """A number of 0 or more that a value is never less than, but for rounding; None if unknown."""
    op = value.owner
    match op:
        case tix.ConstantOp():
            number = tix.constant_value(value)
            return number if number is not None and number >= 0 else None
        case ew.AbsOp() | ew.ExpOp() | ew.ReluOp() | ew.CoshOp():
            return 1.0 if isinstance(op, ew.CoshOp) else 0.0
        case ew.SqrtOp():
            return math.sqrt(lower_bound(op.operand) or 0.0)
        case ew.MulOp() if op.lhs is op.rhs:
            return 0.0
        case ew.AddOp() | ew.MulOp() | ew.MaximumOp():
            return _of_two(op, lower_bound(op.lhs), lower_bound(op.rhs))
        case ew.PowOp():
            return _of_power(lower_bound(op.lhs), tix.constant_value(op.rhs))
        case tix.SumOp():
            return None if lower_bound(tix.yielded(op.body)) is None else 0.0
        case _:
            return None


def _of_two(op: Operation, a: float | None, b: float | None) -> float | None:
    if isinstance(op, ew.MaximumOp):
        return max((n for n in (a, b) if n is not None), default=None)
    if a is None or b is None:
        return None
    return a + b if isinstance(op, ew.AddOp) else a * b


def _of_power(base: float | None, exponent: float | None) -> float | None:
    if exponent is None:
        return None
    if base is not None and exponent > 0:
        return base**exponent
    return 0.0 if base is not None or exponent % 2 == 0 else None
