"""The facts of an elementary function: its value, and the operation that computes it in code.

Each operation of `elementwise` holds them as `FUNCTION`. Everything that has to know functions one
by one reads them there: the language, constant folding, interpreters and `schedule`. The derivative
is a formula of passes (`passes/derive/differentiation/rules.py`), and values of arrays are up to
the interpreter (`tadc/interpreter/arrays.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

CONTRACT = FastMathFlag.ALLOW_CONTRACT
APPROXIMATE = FastMathFlag.APPROX_FUNC


@dataclass(frozen=True)
class Elementary:
    """A function of one real or two."""

    number: Callable[..., float]
    """The value for Python's floats; raises an `ArithmeticError` or a `ValueError` where there is
    none."""
    code: Callable[..., Operation] | str | None = None
    """The operation of `arith` or `math` that computes it, or its name in C's mathematical library
    where `math` has none; None: `passes/lowering/scalars/elementary.py` composes it of others."""
    freedom: FastMathFlag | None = None
    """The freedom to round otherwise, where bits need not be the same everywhere: `CONTRACT`
    fuses a product with a sum, `APPROXIMATE` takes a library's form for vectors."""


def near(integer: Callable[[float], int]) -> Callable[[float], float]:
    """The integer near a number that `integer` chooses, as a float with the sign of the number.

    That is never the other sign, but 0 has one: `ceil(-0.5)` is -0.0. Numbers that are not finite
    stay what they are.
    """

    def number(x: float) -> float:
        return math.copysign(float(integer(x)), x) if math.isfinite(x) else x

    return number


def sign(x: float) -> float:
    return x if math.isnan(x) else float((x > 0) - (x < 0))


def quotient(x: float, y: float) -> float:
    return x / y


def relu(x: float) -> float:
    return max(x, 0.0)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))
