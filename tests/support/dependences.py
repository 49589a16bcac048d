"""Which elements of an argument each element of a result is made of: Python runs the program.

    y[i] = x[i] + pad(x[i - 1]) * x[i + 1]        at N = 3:  {x0} or {x0, x1},  {x0, x1, x2}

Each number carries the set of elements that it was made of, through any definitions between. It
carries two: with and without what only stands beside a factor that is the number 0, as the padding
above is. Branches that conditions on indices leave out are not run. Shares no code with tadc:
`tests/interpreter/source_reference.py` evaluates the text.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.interpreter.source_reference import FUNCTIONS, Arrays, PythonProgram


class Tracked:
    """A number without its value: the elements that it can be made of, and those that it must be.

    `zero` is True where it is 0 because a factor is.
    """

    def __init__(self, most: frozenset[int], least: frozenset[int], zero: bool = False):
        self.most = most
        self.least = least
        self.zero = zero

    def __add__(self, other: Any) -> Tracked:
        return joined(self, other, zero=is_zero(self) and is_zero(other))

    def __mul__(self, other: Any) -> Tracked:
        return joined(self, other, zero=is_zero(self) or is_zero(other))

    def __truediv__(self, other: Any) -> Tracked:
        return joined(self, other, zero=is_zero(self))

    def __rtruediv__(self, other: Any) -> Tracked:
        return joined(self, other, zero=is_zero(other))

    def __pow__(self, other: Any) -> Tracked:
        found = joined(self, other)
        return Tracked(found.most, frozenset()) if is_zero(other) else found

    def __rpow__(self, other: Any) -> Tracked:
        return joined(self, other)

    def __neg__(self) -> Tracked:
        return self

    __radd__ = __sub__ = __rsub__ = __add__
    __rmul__ = __mul__


def is_zero(number: Any) -> bool:
    return number.zero if isinstance(number, Tracked) else number == 0


def joined(*parts: Any, zero: bool = False) -> Tracked:
    """What is made of all these numbers."""
    tracked = [part for part in parts if isinstance(part, Tracked)]
    most = frozenset[int]().union(*(part.most for part in tracked))
    least = frozenset[int]().union(*(part.least for part in tracked))
    return Tracked(most, frozenset() if zero else least, zero)


def _tracking(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, or reduction; of numbers without a value where one of them is none."""

    def called(*parts: Any) -> Any:
        is_reduction = len(parts) == 1 and isinstance(parts[0], Iterator)
        terms = list(parts[0]) if is_reduction else list(parts)
        if any(isinstance(term, Tracked) for term in terms):
            zeros = [is_zero(term) for term in terms]
            return joined(
                *terms, zero=any(zeros) if name == "prod" else name == "sum" and all(zeros)
            )
        return function(terms) if is_reduction else function(*terms)

    return called


TRACKED = {
    **{name: _tracking(name, function) for name, function in FUNCTIONS.items()},
    "sign": lambda x: joined(),
    "range": range,
}


class _TrackingProgram(PythonProgram):
    def _scope(self) -> dict[str, Any]:
        return TRACKED | self.sizes | {"READ": self._read, "PAD": self._pad}

    def _dtype(self) -> Any:
        return object

    def _read(self, name: str, element: tuple[int, ...]) -> Any:
        return self.tensors[name][element]


def dependences(source: str, arguments: Arrays, wrt: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each result two matrices of truth values: which of its elements, numbered in C order,
    must be made of which ones of the argument, and which ones they can be made of."""
    shape = arguments[wrt].shape
    tracked = np.empty(shape, object)
    for number, element in enumerate(np.ndindex(shape)):
        tracked[element] = Tracked(frozenset([number]), frozenset([number]))
    numbers = {name: np.asarray(array).astype(object) for name, array in arguments.items()}
    tree = ast.parse(source.replace("[]", "[()]"))
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for result in _TrackingProgram(tree, {**numbers, wrt: tracked}).run():
        least, most = (np.zeros((result.size, tracked.size), bool) for _ in range(2))
        for row, number in enumerate(result.ravel()):
            if isinstance(number, Tracked):
                least[row, list(number.least)] = True
                most[row, list(number.most)] = True
        found.append((least, most))
    return found
