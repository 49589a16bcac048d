"""What the scalar operations of `tix` compute, on NumPy arrays of one precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from dialects.tix import BINARY, UNARY, BinaryOp, UnaryOp

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def erf(x: Array) -> Array:
    """NumPy has none."""
    return np.fromiter(map(math.erf, x.ravel()), np.float64, x.size).reshape(x.shape)


def sigmoid(x: Array) -> Array:
    """`1 / (1 + exp(-x))`, written so that neither branch overflows."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


UNARY_FUNCTIONS: dict[type[UnaryOp], Callable[[Array], Array]] = {
    UNARY[word]: function
    for word, function in {
        "neg": np.negative,
        "abs": np.abs,
        "sign": np.sign,
        "sqrt": np.sqrt,
        "exp": np.exp,
        "log": np.log,
        "log10": np.log10,
        "log1p": np.log1p,
        "expm1": np.expm1,
        "sin": np.sin,
        "cos": np.cos,
        "tan": np.tan,
        "asin": np.arcsin,
        "acos": np.arccos,
        "atan": np.arctan,
        "sinh": np.sinh,
        "cosh": np.cosh,
        "tanh": np.tanh,
        "erf": erf,
        "sigmoid": sigmoid,
        "relu": relu,
    }.items()
}

BINARY_FUNCTIONS: dict[type[BinaryOp], Callable[[Array, Array], Array]] = {
    BINARY[word]: function
    for word, function in {
        "+": np.add,
        "-": np.subtract,
        "*": np.multiply,
        "/": np.divide,
        "**": np.power,  # as C's pow: integer exponents suit every base, x ** 0 is 1
        "atan2": np.arctan2,
        "max": np.maximum,
        "min": np.minimum,
    }.items()
}
