"""A program `g` as a differential equation of vectors, and the derivatives of `g`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.errors import ArgumentError, IntegrationError
from tadc.function import Function
from tadc.ode.checks import check_shape, one_each, shaped
from tadc.ode.solver import Field, Vector
from tadc.runtime.arguments import DTYPES
from tadc.runtime.results import named

if TYPE_CHECKING:
    from tadc.runtime.results import Named

Along = Callable[[float, Vector, Vector], Vector]
"""J_g(x) v or J_g(x)^T v, of a time, the state and a vector."""


class Equation:
    """dx/dt = g(x) for given values of all arguments of `g`, its state as one vector.

    Raises `TadcError` where `g` does not take the arguments or is not of the shape of the state,
    and `IntegrationError` where it is not finite.
    """

    def __init__(
        self,
        g: Function,
        state: tuple[str, ...],
        time: str | None,
        given: Mapping[str, Any],
        t0: float,
    ):
        self.g = g
        self.state = state
        self.time = time
        self._inputs = {t.name: t0 if t.name == time else given[t.name] for t in g.args}
        self._wide = {t.name: t.dtype != "f32" for t in g.args}
        slopes = g.call(list(self._inputs.values()), {})  # its errors point into the text
        arrays = {name: np.asarray(value) for name, value in given.items()}
        self.dtypes = {name: a.dtype for name, a in arrays.items()}
        self.shapes = {name: a.shape for name, a in arrays.items()}
        for name, result, slope in zip(state, g.results, slopes, strict=True):
            check_shape(name, self.shapes[name], result.name, np.shape(slope))
        self.layout = Layout([self.shapes[name] for name in state])
        self.start = self.layout.pack([arrays[name] for name in state])
        self._check_finite(slopes, t0)

    def _check_finite(self, slopes: Sequence[Any], t0: float) -> None:
        if not np.isfinite(self.start).all():
            raise ArgumentError("the first state is not finite")
        if not all(np.isfinite(slope).all() for slope in slopes):
            names = ", ".join(t.name for t in self.g.results)
            raise IntegrationError(
                f"{names} is not finite at the first state, t = {t0:g}",
                hint="the equation must be defined at the state that it starts from",
                time=t0,
            )

    def _at(self, t: float, x: Vector) -> list[Any]:
        """The arguments of `g` at a time and state."""
        inputs = dict(self._inputs)
        if self.time is not None:
            inputs[self.time] = t
        for name, part in zip(self.state, self.layout.unpack(x), strict=True):
            inputs[name] = part if self._wide[name] else part.astype(np.float32)
        return list(inputs.values())

    def value(self, t: float, x: Vector) -> Vector:
        """g(x)."""
        return self.layout.pack(self.g.call(self._at(t, x), {}))

    def with_tangents(self, directions: Mapping[str, Any]) -> Field:
        """g(x) and behind it J_g(x) v, of x and v as one vector, where parameters move too."""
        forward = self.g.forward(*self.state, *directions, keep_values=True)

        def both(t: float, z: Vector) -> Vector:
            x, v = np.split(z, 2)
            vectors = [*self.layout.unpack(v), *directions.values()]
            return self.layout.pack(_call(forward, self._at(t, x), vectors))

        return both

    def tangents(self) -> Along:
        """J_g(x) v."""
        forward = self.g.forward(*self.state)

        def along(t: float, x: Vector, v: Vector) -> Vector:
            return self.layout.pack(_call(forward, self._at(t, x), self.layout.unpack(v)))

        return along

    def cotangents(self, parameters: Sequence[str] = ()) -> Along:
        """J_g(x)^T w, with the derivatives by these parameters behind it."""
        reverse = self.g.derivative(*self.state, *parameters)
        layout = Layout([self.shapes[name] for name in (*self.state, *parameters)])

        def back(t: float, x: Vector, w: Vector) -> Vector:
            return layout.pack(_call(reverse, self._at(t, x), self.layout.unpack(w)))

        return back

    def pack(self, what: str, values: Any) -> Vector:
        """Tangents or adjoints, one per tensor of the state, as a vector."""
        pairs = zip(self.state, one_each(f"{what}s", values, self.state), strict=True)
        return self.layout.pack(
            [shaped(f"the {what} of {name}", v, self.shapes[name]) for name, v in pairs]
        )

    def like(self, name: str, value: Any) -> Any:
        """The value as a new array in the precision of an argument."""
        narrow = self.dtypes[name] == np.float32
        return np.array(value, np.float32 if narrow else np.float64)

    def as_tuple(self, vector: Vector) -> Named:
        """The tensors of the state, as a named tuple."""
        parts = zip(self.state, self.layout.unpack(vector), strict=True)
        return named(self.state, [self.like(name, part) for name, part in parts])

    def as_results(self, vector: Vector) -> Any:
        """The state as a program returns it: an array, or a tuple of several."""
        parts = self.as_tuple(vector)
        return parts[0] if len(parts) == 1 else parts


def _call(f: Function, inputs: Sequence[Any], vectors: Sequence[Any]) -> list[Any]:
    """The results of a derivative, whose last arguments get the precision that they declare."""
    last = f.args[len(inputs) :]
    typed = (np.asarray(v, DTYPES.get(t.dtype)) for t, v in zip(last, vectors, strict=True))
    return f.call([*inputs, *typed], {})


class Layout:
    """Arrays of given shapes as one vector."""

    def __init__(self, shapes: Sequence[tuple[int, ...]]):
        self.shapes = shapes
        self._ends: list[int] = np.cumsum([0, *map(prod, shapes)]).tolist()

    @property
    def size(self) -> int:
        return self._ends[-1]

    def pack(self, arrays: Sequence[Any]) -> Vector:
        """The elements of the arrays, one array after another."""
        return np.concatenate([np.empty(0), *map(np.ravel, arrays)])

    def unpack(self, vector: Vector) -> list[Any]:
        """The arrays again, as views."""
        parts = (vector[a:b] for a, b in pairwise(self._ends))
        return [p.reshape(shape) for p, shape in zip(parts, self.shapes, strict=True)]


class Joint:
    """A state and what moves along with it, as one vector."""

    def __init__(self, value: Field, along: Along, size: int):
        self.value = value
        self.along = along
        self.size = size

    def __call__(self, t: float, z: Vector) -> Vector:
        x, v = self.split(z)
        return np.concatenate([self.value(t, x), self.along(t, x, v)])

    def split(self, z: Vector) -> tuple[Vector, Vector]:
        """The state, and the rest."""
        return z[: self.size], z[self.size :]
