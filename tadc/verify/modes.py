"""Forward mode and the inverse modes on random arguments: `verify_modes`.

Forward mode is compared with central differences of the program in one random direction, as
`tadc.verify.gradients` does element by element. An inverse mode is compared with the mode that it
inverts, on random vectors v, and the determinant with that of J, row by row from reverse mode:

    J x = v    for x = inverse-jvp of v        transpose(J) x = v    for x = inverse-vjp of v

Where J is singular or nearly so, new arguments are drawn.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from tadc.errors import IllConditionedWarning, SingularError, UnsupportedError
from tadc.function import Function
from tadc.modes import INVERSE_MODES
from tadc.passes.rewriting.programs import type_of
from tadc.runtime.arguments import Array
from tadc.sizes import bind_sizes, shape_of
from tadc.summary import Summary
from tadc.verify.gradients import (
    INTERVALS,
    LARGEST_GAP_OF_STEPS,
    MOST_ELEMENTS_TO_COMPARE,
    MOST_WORK_TO_INTERPRET,
    TOLERANCE,
    WIDER_STEP,
    choose_sizes,
    widened,
)
from tadc.verify.random_arguments import RandomArguments

Values = list[Array]


@dataclass(frozen=True)
class ModeVerdict:
    """The error of a mode against what it must agree with."""

    mode: str
    against: str
    error: float | None
    """The largest one, relative to max(1, |expected|); None where there was nothing to compare."""
    tolerance: float

    @property
    def ok(self) -> bool:
        """True if the error is rounding, or nothing could be compared."""
        return self.error is None or self.error <= self.tolerance


def verify_modes(
    function: Function,
    seed: int = 0,
    *,
    tolerance: float = TOLERANCE,
    sizes: Mapping[str, int] | None = None,
    wrt: Sequence[str] = (),
) -> list[ModeVerdict]:
    """Compare forward mode by `wrt` (all arguments by default), and the inverse modes if `function`
    has them; one verdict per mode. Tensors of f32 are computed in float64.
    """
    trial = _Trial(widened(function), sizes, seed)
    verdicts = [ModeVerdict("forward", "central differences", trial.forward(wrt), tolerance)]
    if why_no_inverse(function) is None:
        for mode, (against, error) in trial.inverses().items():
            verdicts.append(ModeVerdict(mode, against, error, tolerance))
    return verdicts


def why_no_inverse(function: Function) -> str | None:
    """The reason why a program has no inverse modes; None if it has them."""
    try:
        for mode in INVERSE_MODES:
            function.module_at("derivative", mode=mode)
    except UnsupportedError as error:
        return error.message
    return None


def updates(function: Function) -> bool:
    """True if the results are arguments that the program updates, as inverse modes need."""
    return {t.name for t in function.results} <= {t.name for t in function.args}


class _Trial:
    """A function with fixed sizes."""

    def __init__(self, function: Function, sizes: Mapping[str, int] | None, seed: int):
        program = function.program.op
        given = choose_sizes(function, seed, sizes)
        self.function = function.with_target("cpu")
        self.shapes = [shape_of(type_of(v), given) for v in program.arguments.values()]
        names = [t.name for t in function.args]
        values = bind_sizes(program, dict(zip(names, self.shapes, strict=True)))
        self.results = [shape_of(type_of(v), values) for v in program.returned]
        work = Summary.of(program).total_work(values)
        self.plain = function.with_target("interpret" if work <= MOST_WORK_TO_INTERPRET else "cpu")
        self.seed = seed
        self.random = RandomArguments(program, values)

    def _arguments(self) -> Iterator[tuple[np.random.Generator, Values]]:
        """Random ones at which the results are finite."""
        rng = np.random.default_rng(self.seed)
        for interval in INTERVALS:
            arguments = self.random.draw(rng, interval)
            if _finite(self._values(arguments)):
                yield rng, arguments

    def _values(self, arguments: Values) -> Values:
        with np.errstate(all="ignore"):
            return [np.asarray(a, np.float64) for a in self.plain.call(arguments, {})]

    # --- forward ---

    def forward(self, wrt: Sequence[str]) -> float | None:
        """The largest error, at the first arguments where all differences say something."""
        first: float | None = None
        names = [t.name for t in self.function.args]
        real = [t.name for t in self.function.args if t.is_real]
        places = [names.index(name) for name in wrt or real]
        derivative = self.function.forward(*wrt)
        for rng, arguments in self._arguments():
            directions = {n: rng.uniform(-1, 1, self.shapes[n]) for n in places}
            exact = derivative.call([*arguments, *directions.values()], {})
            near, settled = self._difference(arguments, directions)
            error = _error(exact, near)
            if settled:
                return error
            first = error if first is None else first
        return first

    def _difference(
        self, arguments: Values, directions: Mapping[int, Array]
    ) -> tuple[Values, bool]:
        """The derivative in a direction, and True if the steps agree about it."""

        def central(step: float) -> Values:
            up, down = (
                self._values(
                    [
                        a + s * directions[n] if n in directions else a
                        for n, a in enumerate(arguments)
                    ]
                )
                for s in (step, -step)
            )
            return [(a - b) / (2 * step) for a, b in zip(up, down, strict=True)]

        wide, narrow = central(WIDER_STEP), central(WIDER_STEP / 2)
        near = [(4 * b - a) / 3 for a, b in zip(wide, narrow, strict=True)]
        gaps = (np.abs(a - b) for a, b in zip(wide, narrow, strict=True))
        sure = (
            g <= LARGEST_GAP_OF_STEPS * np.maximum(1, np.abs(d))
            for g, d in zip(gaps, near, strict=True)
        )
        return near, all(bool(np.all(s)) for s in sure)

    # --- inverse modes ---

    def inverses(self) -> dict[str, tuple[str, float | None]]:
        """For each mode what must hold, and the largest error."""
        return {
            "inverse-jvp": ("J x = v", self._first(self._inverse_jvp)),
            "inverse-vjp": ("transpose(J) x = v", self._first(self._inverse_vjp)),
            "log-abs-det": ("det J", self._first(self._log_abs_det)),
        }

    def _first(self, error_at: Callable[[Values, Values], float | None]) -> float | None:
        """The error at the first arguments where the Jacobian is regular."""
        for rng, arguments in self._arguments():
            vectors = [rng.uniform(-1, 1, shape) for shape in self.results]
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("error", IllConditionedWarning)
                try:
                    return error_at(arguments, vectors)
                except (SingularError, IllConditionedWarning, np.linalg.LinAlgError):
                    pass
        return None

    @property
    def _state(self) -> list[str]:
        return [t.name for t in self.function.results]

    def _inverse_jvp(self, arguments: Values, vectors: Values) -> float:
        x = self.function.inverse("inverse-jvp")(arguments, vectors)
        return _error(self.function.forward(*self._state).call([*arguments, *x], {}), vectors)

    def _inverse_vjp(self, arguments: Values, vectors: Values) -> float:
        x = self.function.inverse("inverse-vjp")(arguments, vectors)
        return _error(self.function.derivative(*self._state).call([*arguments, *x], {}), vectors)

    def _log_abs_det(self, arguments: Values, vectors: Values) -> float | None:
        count = sum(v.size for v in vectors)
        if count > MOST_ELEMENTS_TO_COMPARE:
            return None
        found = self.function.inverse("log-abs-det")(arguments, ())
        ends = np.cumsum([v.size for v in vectors])[:-1]
        rows: list[Array] = []
        for unit in np.eye(count):
            parts = zip(np.split(unit, ends), vectors, strict=True)
            adjoints = [part.reshape(v.shape) for part, v in parts]
            row = self.function.derivative(*self._state).call([*arguments, *adjoints], {})
            rows.append(np.concatenate([np.ravel(r) for r in row]))
        sign, logarithm = np.linalg.slogdet(np.array(rows).reshape(count, count))
        if not np.isfinite(logarithm):
            raise np.linalg.LinAlgError
        return _error([np.asarray(v) for v in found], [np.asarray(sign), np.asarray(logarithm)])


def _finite(values: Values) -> bool:
    return all(bool(np.isfinite(v).all()) for v in values)


def _error(found: Sequence[Array], expected: Sequence[Array]) -> float:
    """The largest one, relative to max(1, |expected|); infinite where one is not a number."""
    largest = 0.0
    for a, b in zip(found, expected, strict=True):
        errors = np.abs(a - b) / np.maximum(1, np.abs(b))
        largest = max(largest, float(np.max(np.nan_to_num(errors, nan=inf), initial=0.0)))
    return largest
