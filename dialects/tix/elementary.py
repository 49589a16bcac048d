"""The facts of an elementary function: its values, and the operation that computes it in code.

Each operation of `elementwise` holds them as `FUNCTION`. Everything that has to know functions one
by one reads them there: the language, constant folding, interpreters and `schedule`. Only the
derivative is a formula of passes (`passes/differentiation/rules.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
CONTRACT = FastMathFlag.ALLOW_CONTRACT
APPROXIMATE = FastMathFlag.APPROX_FUNC


@dataclass(frozen=True)
class Elementary:
    """A function of one real or two."""

    number: Callable[..., float]
    """The value for Python's floats; raises an `ArithmeticError` or a `ValueError` where there is
    none."""
    array: Callable[..., Array] | None = None
    """The values for NumPy arrays; None: those of `number`, one by one."""
    code: Callable[..., Operation] | str | None = None
    """The operation of `arith` or `math` that computes it, or its name in C's mathematical library
    where `math` has none; None: `passes/scheduling/elementary.py` composes it of others."""
    freedom: FastMathFlag | None = None
    """The freedom to round otherwise, where bits need not be the same everywhere: `CONTRACT`
    fuses a product with a sum, `APPROXIMATE` takes a library's form for vectors."""

    def of_arrays(self, *arrays: Array) -> Array:
        """The values for NumPy arrays of one shape."""
        if self.array is not None:
            return self.array(*arrays)
        first = arrays[0]
        values = map(self.number, *(x.ravel() for x in arrays))
        return np.fromiter(values, np.float64, first.size).reshape(first.shape)


def from_numpy(function: Callable[[Any], Any], code: Callable[..., Operation]) -> Elementary:
    """A function whose values for numbers are NumPy's, too."""

    def number(x: float) -> float:
        return float(function(x))

    return Elementary(number, function, code)


def sign(x: float) -> float:
    return x if math.isnan(x) else float((x > 0) - (x < 0))


def quotient(x: float, y: float) -> float:
    return x / y


def relu(x: float) -> float:
    return max(x, 0.0)


def relus(x: Array) -> Array:
    return np.maximum(x, 0)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def sigmoids(x: Array) -> Array:
    """Written so that neither branch overflows."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)
