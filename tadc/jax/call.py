"""`Call`: an operation with everything that is fixed when JAX traces a call of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tadc.errors import UnsupportedError
from tadc.frameworks.operation import Numbers, Operation
from tadc.jax import private
from tadc.jax.package import jax
from tadc.runtime.arguments import DTYPES

MOST_REMEMBERED = 4096
"""The number of calls for which operations made of them, and what JAX compiled, are remembered."""

Shape = tuple[int, ...]
Argument = Any
"""An array of JAX, or a `jax.ShapeDtypeStruct` for what nothing reads."""


@dataclass(frozen=True)
class Call:
    """An operation in a precision; only arguments that are read are operands of JAX.

    Of the others only the shape is kept, so that a linear function keeps nothing for its gradients.
    """

    operation: Operation
    precision: str
    """The one of tensors of undeclared precision, f32 or f64."""
    unread: tuple[Shape | None, ...]
    """For each argument its shape, or None where it is an operand."""

    @staticmethod
    def of(
        operation: Operation,
        precision: str,
        arguments: Sequence[Argument],
        linear: Sequence[int] = (),
    ) -> tuple[Call, list[Any]]:
        """The call with these arguments, and its operands.

        Those in `linear` are no operands either: see `tadc/jax/transposed.py`.
        """
        apart = {*unread_of(operation), *linear}
        unread = tuple(tuple(a.shape) if n in apart else None for n, a in enumerate(arguments))
        return Call(operation, precision, unread), [
            a for a, shape in zip(arguments, unread, strict=True) if shape is None
        ]

    def arguments(self, operands: Sequence[Any]) -> list[Argument]:
        """All arguments: the operands, and shapes for the others."""
        rest = iter(operands)
        args = zip(self.operation.function.args, self.unread, strict=True)
        return [
            next(rest) if shape is None else jax.ShapeDtypeStruct(shape, self.dtype(t.dtype))
            for t, shape in args
        ]

    @property
    def numbers(self) -> list[int]:
        """The number of the argument that each operand is."""
        return [n for n, shape in enumerate(self.unread) if shape is None]

    def dtype(self, declared: str) -> np.dtype[Any]:
        """The dtype of a tensor that is declared as f32, f64 or real."""
        return DTYPES[self.precision if declared == "real" else declared]

    def result_types(self, operands: Sequence[Any]) -> list[Any]:
        """The abstract values of the results; nothing is compiled."""
        shapes = [tuple(a.shape) for a in self.arguments(operands)]
        check_numbers(shapes)
        found = self.operation.result_shapes(shapes)
        dtypes = map(DTYPES.__getitem__, self.operation.result_dtypes(self.precision))
        return [private.result_type(s, d, operands) for s, d in zip(found, dtypes, strict=True)]

    def __repr__(self) -> str:
        return f"[{self.precision}: {self.operation!r}]"


def unread_of(operation: Operation) -> frozenset[int]:
    """The arguments of which the program reads no element, also those that decide the precision."""
    read = operation.function.program.summary.read
    return frozenset(n for n, name in enumerate(operation.names) if name not in read)


def tangents_of(operation: Operation, wrt: Numbers) -> Operation:
    """The operation of the same arguments and tangents of `wrt` that gives those of all results."""
    derived = operation.forward(wrt)
    assert derived, "only a pullback with a meaning has tangents that are zero"
    return derived.operation


def gradients_of(operation: Operation, wrt: Numbers, of: Numbers) -> Operation:
    """The operation of the same arguments and adjoints of the results `of`, for gradients."""
    derived = operation.reverse(wrt, of)
    assert derived, "only a pullback with a meaning has gradients that are zero"
    return derived.operation


@lru_cache(MOST_REMEMBERED)
def without(operation: Operation, arguments: Numbers) -> Operation:
    """The operation for zeros in place of these arguments, which it no longer takes."""
    names = (operation.names[n] for n in arguments)
    return Operation(operation.function.without(*names)) if arguments else operation


def results_of(operation: Operation) -> Numbers:
    """The numbers of all results."""
    return tuple(range(len(operation.function.results)))


def check_numbers(shapes: Sequence[Sequence[Any]]) -> None:
    """Raise `UnsupportedError` where a size is a symbol of `jax.export`."""
    for size in (size for shape in shapes for size in shape):
        if not isinstance(size, int | np.integer):
            raise UnsupportedError(
                f"the size {size} is symbolic, and machine code is made for numbers",
                hint="call the operation with arrays whose shapes are numbers",
            )
