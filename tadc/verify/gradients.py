"""Derivatives compared with central differences, on random arguments: `verify`.

The derivative program runs as machine code; the differences come from the reference interpreter on
the program itself, in float64, so the two share nothing but the program. For an element `x` of an
argument and an adjoint `v` of the results

    D(h) = sum(v * (f(x + h) - f(x - h))) / 2h        (4 D(h/2) - D(h)) / 3 = df/dx + O(h**4)

is compared with the derivative, relative to max(1, |difference|). Where the two differences
disagree, a step has crossed a kink or a pole and says nothing; new arguments are drawn then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Any

import numpy as np
from xdsl.rewriter import Rewriter

from tadc.dialects.tix import ELEMENT_TYPES, ProgramOp, TensorType
from tadc.errors import ArgumentError, RangeError, SizeError, UnknownNameError
from tadc.function import Function
from tadc.language.check import check_ranges
from tadc.passes.rewriting.programs import type_of
from tadc.program import Program
from tadc.runtime.arguments import Array
from tadc.sizes import SizeMismatch, SizeUnknown, bind_sizes, shape_of
from tadc.summary import Summary
from tadc.verify.random_arguments import RandomArguments

TOLERANCE = 1e-6
"""The largest error that counts as rounding."""
INTERVALS = ((-1, 1), (0.5, 1.5), (0.1, 0.9), (-0.2, 0.2), (1.5, 2.5), (-1, 1), (0.5, 1.5))
"""Intervals to draw arguments from, in turn, until the program is smooth and finite there."""
WIDER_STEP = 2.0**-12
"""The wider step h; the narrower one is half of it."""
LARGEST_GAP_OF_STEPS = 2e-4
"""The largest difference of D(h) and D(h/2) that says something, relative to max(1, |D|)."""
MOST_ELEMENTS_TO_COMPARE = 200
"""The number of elements compared per argument; of larger arguments, a random choice."""
MOST_WORK_ON_DIFFERENCES = 4 * 10**7
"""The number of scalar operations to spend on differences, about."""
MOST_WORK_TO_INTERPRET = 10**7
"""The scalar operations of an evaluation above which machine code replaces the interpreter."""

Values = list[Array]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Verdict:
    """The error of the derivative with respect to one argument, against differences."""

    argument: str
    shape: tuple[int, ...]
    compared: int
    """The number of its elements that were compared."""
    error: float
    """The largest error, relative to max(1, |difference|); infinite where one is not a number."""
    tolerance: float
    interval: tuple[float, float]
    """The interval of the random arguments."""

    @property
    def ok(self) -> bool:
        """True if the error is rounding."""
        return self.error <= self.tolerance


def verify(
    function: Function,
    seed: int = 0,
    *,
    tolerance: float = TOLERANCE,
    sizes: Mapping[str, int] | None = None,
    progress: Progress | None = None,
    wrt: Sequence[str] = (),
) -> list[Verdict]:
    """Compare derivatives of `function` with central differences; one verdict per argument.

    `wrt` names the arguments, all of them by default: the derivative by these alone is compared.
    Tensors of f32 are computed in float64. `sizes` gives named sizes; small ones are chosen for the
    others (`choose_sizes`). `progress` is told the evaluations that are done, and their number.
    """
    function = widened(function)
    values = choose_sizes(function, seed, sizes)
    trial = _Trial(function, values, progress or (lambda done, total: None), wrt)
    return trial.verdicts(np.random.default_rng(seed), tolerance)


# --- precision and sizes --------------------------------------------------------------------------


def widened(function: Function) -> Function:
    """The function with float64 in place of float32; itself where it has none."""
    f32 = [v for v in _tensors(function.program.op) if type_of(v).dtype == "f32"]
    if not f32:
        return function
    module = function.program.module.clone()
    copy = next(op for op in module.ops if isinstance(op, ProgramOp))
    for value in _tensors(copy):
        type = type_of(value)
        if type.dtype == "f32":
            wide = TensorType.of(type.shape, ELEMENT_TYPES["f64"])
            Rewriter.replace_value_with_new_type(value, wide)
    return Function(Program(module, ""), function.target)


def _tensors(program: ProgramOp) -> list[Any]:
    return [*program.arguments.values(), *(d.result for d in program.definitions)]


def named_sizes(function: Function) -> list[str]:
    """The sizes that a call determines, in order of the arguments."""
    shapes = (type_of(v).shape for v in function.program.op.arguments.values())
    return list(dict.fromkeys(name for shape in shapes for form in shape for name in form.sizes))


def choose_sizes(
    function: Function, seed: int = 0, given: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Small values for the named sizes at which the program is valid and no tensor is empty.

    Different sizes and tensors of some elements per dimension are preferred, so that a wrong index
    shows. Raises `SizeError` where no such sizes are found.
    """
    given = given or {}
    names = named_sizes(function)
    for name in given:
        if name not in names:
            hint = f"there are {', '.join(names)}" if names else "all its sizes are numbers"
            raise UnknownNameError(f"the program has no size {name}", hint=hint, size=name)
    if not names:
        return {}
    enough = 3 if len(names) < 3 else 2  # elements in each dimension
    valid: dict[int, dict[str, int]] = {}
    for sizes in _candidates(names, given, seed):
        score = _score(function.program.op, sizes)
        if score is not None and score not in valid:
            valid[score] = sizes
        if (score or 0) >= enough or (valid and sizes.keys() == given.keys()):
            break
    if valid:
        return valid[max(valid)]
    raise SizeError(
        "no small sizes make every element exist"
        if set(names) != set(given)
        else "these sizes leave an element outside, or a tensor empty",
        hint=f"give sizes of {', '.join(names)}",
    )


def _candidates(
    names: Sequence[str], given: Mapping[str, int], seed: int
) -> Iterator[dict[str, int]]:
    """Assignments to try: ascending ones, then random ones, small before large."""
    for first in (5, 4, 3) if len(names) < 3 else (2, 3, 4):
        yield {n: given.get(n, first + k) for k, n in enumerate(names)}
        yield {n: given.get(n, first + k) for k, n in enumerate(reversed(names))}
    rng = np.random.default_rng(seed)
    for most in (8,) * 60 + (16,) * 60 + (40,) * 60:
        yield {n: given.get(n, int(rng.integers(1, most + 1))) for n in names}


def _score(program: ProgramOp, sizes: Mapping[str, int]) -> int | None:
    """None where the program is not valid, else the smallest dimension that varies, at most 3."""
    arguments = {name: shape_of(type_of(v), sizes) for name, v in program.arguments.items()}
    try:
        values = bind_sizes(program, arguments)
        check_ranges(program, values)
    except (SizeMismatch, SizeUnknown, RangeError):
        return None
    if any(values[name] != size for name, size in sizes.items()):
        return None
    shapes = [*arguments.values(), *(shape_of(d.type, values) for d in program.definitions)]
    if not all(prod(shape) for shape in shapes):
        return None
    types = [type_of(v) for v in _tensors(program)]
    open = [
        n
        for type, shape in zip(types, shapes, strict=True)
        for form, n in zip(type.shape, shape, strict=True)
        if form.terms
    ]
    lengths = [_values_each(type, values) for type in types if type.end is not None]
    return min([3, *open, *lengths])


def _values_each(type: TensorType, sizes: Mapping[str, int]) -> int:
    """The score of an index tensor: where it has fewer elements than values, segments are empty."""
    assert type.end is not None
    return 3 if prod(shape_of(type, sizes)) >= type.end.evaluate(sizes) else 1


# --- differences ----------------------------------------------------------------------------------


class _Trial:
    """A function with fixed sizes, compared at random arguments."""

    def __init__(
        self,
        function: Function,
        sizes: Mapping[str, int],
        progress: Progress,
        wrt: Sequence[str],
    ):
        program = function.program.op
        self.names = [t.name for t in function.args]
        self.shapes = [shape_of(type_of(v), sizes) for v in program.arguments.values()]
        values = bind_sizes(program, dict(zip(self.names, self.shapes, strict=True)))
        self.results = [shape_of(type_of(v), values) for v in program.returned]
        self.work = 1 + Summary.of(program).total_work(values)
        self.random = RandomArguments(program, values)
        target = "interpret" if self.work <= MOST_WORK_TO_INTERPRET else "cpu"
        self.function = function.with_target(target)
        self.derivative = function.with_target("cpu").derivative(*wrt)
        real = [t.name for t in function.args if t.is_real]
        self.compared = [self.names.index(name) for name in wrt or real]
        self.progress = progress

    def verdicts(self, rng: np.random.Generator, tolerance: float) -> list[Verdict]:
        """One per argument, at the first arguments where all differences say something."""
        first: list[Verdict] = []
        for interval in INTERVALS:
            arguments = self.random.draw(rng, interval)
            adjoints = [rng.uniform(-1, 1, shape) for shape in self.results]
            if not self._finite(self.call(arguments)):
                continue
            gradients = self.derivative.call([*arguments, *adjoints], {})
            with np.errstate(all="ignore"):
                verdicts, settled = self._compare(
                    arguments, adjoints, gradients, (tolerance, interval), rng
                )
            if settled:
                return verdicts
            first = first or verdicts
        if first:
            return first
        raise ArgumentError(
            "the results are not finite at any of the random arguments tried",
            hint="tadc tries numbers between -1 and 2.5; other numbers need a check of your own",
        )

    def call(self, arguments: Values) -> Values:
        return [np.asarray(a, np.float64) for a in self.function.call(arguments, {})]

    @staticmethod
    def _finite(values: Values) -> bool:
        return all(bool(np.isfinite(v).all()) for v in values)

    def _compare(
        self,
        arguments: Values,
        adjoints: Values,
        gradients: Values,
        how: tuple[float, tuple[float, float]],
        rng: np.random.Generator,
    ) -> tuple[list[Verdict], bool]:
        # an element takes four evaluations
        affordable = MOST_WORK_ON_DIFFERENCES // (4 * self.work * max(1, len(arguments)))
        most = max(4, min(MOST_ELEMENTS_TO_COMPARE, affordable))
        chosen = [_choice(rng, prod(self.shapes[n]), most) for n in self.compared]
        total, done, settled = sum(map(len, chosen)), 0, True
        verdicts: list[Verdict] = []
        for n, gradient, elements in zip(self.compared, gradients, chosen, strict=True):
            error = 0.0
            for element in elements:
                exact = float(np.ravel(gradient)[element])
                near, sure = self._difference(arguments, adjoints, n, element)
                error = max(error, _error(exact, near))
                settled = settled and sure
                done += 1
                self.progress(done, total)
            verdicts.append(Verdict(self.names[n], self.shapes[n], len(elements), error, *how))
        return verdicts, settled

    def _difference(
        self, arguments: Values, adjoints: Values, n: int, element: int
    ) -> tuple[float, bool]:
        """The derivative by one element, and True if the steps agree about it."""

        def central(step: float) -> float:
            ends = [self._moved(arguments, n, element, s) for s in (step, -step)]
            pairs = zip(adjoints, *ends, strict=True)
            return sum(float(np.sum(v * (up - down))) for v, up, down in pairs) / (2 * step)

        wide, narrow = central(WIDER_STEP), central(WIDER_STEP / 2)
        value = (4 * narrow - wide) / 3
        return value, abs(wide - narrow) <= LARGEST_GAP_OF_STEPS * max(1, abs(value))

    def _moved(self, arguments: Values, n: int, element: int, step: float) -> Values:
        moved = arguments[n].copy()
        moved.reshape(-1)[element] += step
        return self.call([*arguments[:n], moved, *arguments[n + 1 :]])


def _choice(rng: np.random.Generator, count: int, most: int) -> Sequence[int]:
    if count <= most:
        return range(count)
    return sorted(int(i) for i in rng.choice(count, most, replace=False))


def _error(exact: float, near: float) -> float:
    error = abs(exact - near) / max(1.0, abs(near))
    return error if error == error else inf
