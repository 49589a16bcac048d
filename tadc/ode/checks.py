"""Checks that a right-hand side, its state and the arguments of a flow fit together."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from tadc.errors import ArgumentError, SizeError, UnknownNameError
from tadc.function import Function
from tadc.ode.solver import METHODS, Solver

LEAST_RTOL = 100 * float(np.finfo(float).eps)
"""The least relative tolerance of SciPy's solvers, which replace smaller ones and warn."""

Shape = Sequence[int | str]


def number(name: str, value: Any) -> float:
    """The value as a float; raises `ArgumentError`."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} is a number, not {value!r}") from None


def check_solver(span: tuple[float, float], solver: Solver) -> None:
    """Raise `ArgumentError` for times, methods and tolerances that the solver does not take."""
    if solver.method not in METHODS:
        hint = f"there are {', '.join(METHODS)}"
        raise UnknownNameError(f"there is no method {solver.method!r}", hint=hint)
    if not all(map(isfinite, span)):
        raise ArgumentError(f"t0 and t1 are finite times, not {span[0]:g} and {span[1]:g}")
    if not (solver.rtol >= LEAST_RTOL and solver.atol >= 0 and solver.max_step > 0):
        raise ArgumentError(
            "tolerances or a step that the solver cannot keep to",
            hint=f"rtol is at least {LEAST_RTOL:.1e}, atol at least 0, max_step more than 0",
        )


def state_names(
    g: Function, state: str | Sequence[str] | None, time: str | None
) -> tuple[str, ...]:
    """The arguments that make up the state, one for each result of `g`; raises `ArgumentError`."""
    names = [t.name for t in g.args if t.name != time]
    if state is None:
        return _default_state(g, names)
    chosen = (state,) if isinstance(state, str) else tuple(state)
    for name in chosen:
        if name not in names:
            raise ArgumentError(f"there is no argument {name} for the state", hint=_are(names))
    if len(set(chosen)) < len(chosen) or len(chosen) != len(g.results):
        raise ArgumentError(
            f"{', '.join(chosen) or 'nothing'} cannot be the state for the results {_results(g)}",
            hint="each result is the derivative by time of one argument, in the same order",
        )
    return chosen


def _default_state(g: Function, names: Sequence[str]) -> tuple[str, ...]:
    results = tuple(t.name for t in g.results)
    if set(results) <= set(names):  # updates
        return results
    if len(names) == 1 == len(results):
        return tuple(names)
    raise ArgumentError(
        "which arguments are the state?",
        hint=f"state=(...) names them, one for each result ({_results(g)}); {_are(names)}",
    )


def _results(g: Function) -> str:
    return ", ".join(t.name for t in g.results)


def _are(names: Sequence[str]) -> str:
    return f"the arguments are {', '.join(names) or 'none'}"


def check_fit(g: Function, state: Sequence[str], time: str | None) -> None:
    """Raise an error where the program alone says that results and state differ, or the time is
    no scalar; sizes with names are known at the call."""
    shapes = {t.name: t.shape for t in g.args}
    if time is not None and shapes.get(time) != ():
        raise ArgumentError(f"the time {time} is no scalar argument", hint=_are(list(shapes)))
    for name, result in zip(state, g.results, strict=True):
        if _differ(shapes[name], result.shape):
            raise _mismatch(name, shapes[name], result.name, result.shape)


def _differ(a: Shape, b: Shape) -> bool:
    pairs = zip(a, b, strict=False)
    return len(a) != len(b) or any(
        isinstance(p, int) and isinstance(q, int) and p != q for p, q in pairs
    )


def check_shape(name: str, shape: Shape, result: str, actual: Shape) -> None:
    """Raise `SizeError` where a result differs from its part of the state."""
    if tuple(shape) != tuple(actual):
        raise _mismatch(name, shape, result, actual)


def _mismatch(name: str, shape: Shape, result: str, actual: Shape) -> SizeError:
    return SizeError(
        f"{result} has the shape {_shown(actual)}, and {name} has {_shown(shape)}",
        hint=f"{result} is the derivative of {name} by time, element by element",
        argument=name,
    )


def one_each(what: str, values: Any, names: Sequence[str]) -> Sequence[Any]:
    """The values, one for each name; raises `ArgumentError`."""
    if not isinstance(values, tuple | list) or len(values) != len(names):  # pyright: ignore[reportUnknownArgumentType]
        raise ArgumentError(f"{what} come as a tuple of {len(names)}: for {', '.join(names)}")
    return values  # pyright: ignore[reportUnknownVariableType]


def shaped(what: str, value: Any, shape: tuple[int, ...]) -> Any:
    """The value as an array in float64; raises an error where it has another shape."""
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{what} is no array of numbers: {error}") from None
    if array.shape != shape:
        raise SizeError(f"{what} has the shape {_shown(array.shape)}, not {_shown(shape)}")
    return array


def _shown(shape: Shape) -> str:
    return f"({', '.join(map(str, shape))})"
