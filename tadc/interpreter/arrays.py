"""Elementary functions on NumPy arrays: NumPy's own where it has them, else number by number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import Operation

from tadc.dialects.tix import BINARY, UNARY

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def sigmoid(x: Array) -> Array:
    """Written so that neither branch overflows."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


UNARY_OF_ARRAYS: dict[str, Callable[[Array], Array]] = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
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
    "sigmoid": sigmoid,
    "relu": relu,
}
"""By the word of the language; functions that are not here are computed number by number."""

BINARY_OF_ARRAYS: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "atan2": np.arctan2,
    "max": np.maximum,
    "min": np.minimum,
}
"""By the word or sign of the language."""


def one_by_one(number: Callable[..., float]) -> Callable[..., Array]:
    """A function of numbers as one of arrays of one shape."""

    def of_arrays(*arrays: Array) -> Array:
        first = arrays[0]
        values = map(number, *(x.ravel() for x in arrays))
        return np.fromiter(values, np.float64, first.size).reshape(first.shape)

    return of_arrays


FUNCTIONS: dict[type[Operation], Callable[..., Array]] = {
    **{
        kind: UNARY_OF_ARRAYS.get(word) or one_by_one(kind.FUNCTION.number)
        for word, kind in UNARY.items()
    },
    **{kind: BINARY_OF_ARRAYS[word] for word, kind in BINARY.items()},
}
"""The values of each elementary operation on arrays of one shape."""
