"""Random programs with all that tests of derivatives compare: values, adjoints, gradients, stages.

    case = random_case(7)
    case.function.derivative().call(case.inputs, {})   against   case.finite_differences()

A failure among the programs of a range of seeds names the seed.
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import dropwhile, pairwise

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.dialects.tix import ProgramOp
from tadc.interpreter.tensor_index import evaluate
from tadc.passes.derive.differentiate import DifferentiatePass
from tadc.passes.pipeline import derivative_passes
from tests.support.contracts import apply_checked
from tests.support.random_programs import random_program

Arrays = Sequence[np.ndarray]


def program_of(module: ModuleOp) -> ProgramOp:
    program = module.body.block.first_op
    assert isinstance(program, ProgramOp)
    return program


def interpret(program: ProgramOp, arrays: Arrays) -> list[np.ndarray]:
    """The results for arguments in the order of the program."""
    return evaluate(program, dict(zip(program.arguments, arrays, strict=True)))


def stages(
    module: ModuleOp, wrt: Sequence[str] = (), between: Callable[[ModuleOp], ModuleOp] | None = None
) -> Iterator[tuple[str, ModuleOp]]:
    """The module after each pass to its derivative, which keeps what it states; `between` replaces
    what goes on to the next."""
    current = module.clone()
    for step in derivative_passes(DifferentiatePass(tuple(wrt))).passes:
        apply_checked(step, current)
        if between:
            current = between(current)
        yield step.name, current


def derivative_stages(module: ModuleOp) -> Iterator[tuple[str, ModuleOp]]:
    """The module after each pass from `differentiate` on, which takes adjoints."""
    found = stages(module)
    yield from dropwhile(lambda stage: stage[0] != "differentiate", found)


@dataclass
class Case:
    """A program with arguments and adjoints of its results."""

    source: str
    arguments: Mapping[str, np.ndarray]
    seed: int = 0

    @cached_property
    def function(self) -> tadc.Function:
        return tadc.compile(self.source)

    @cached_property
    def interpreted(self) -> tadc.Function:
        """The function for the interpreter; what is derived of it is kept with it."""
        return self.function.with_target("interpret")

    @cached_property
    def values(self) -> list[np.ndarray]:
        """The arguments in the order of the function."""
        return [self.arguments[t.name] for t in self.function.args]

    @cached_property
    def results(self) -> list[np.ndarray]:
        """What the interpreter makes of the program."""
        return interpret(self.function.program.op, self.values)

    @cached_property
    def adjoints(self) -> list[np.ndarray]:
        rng = np.random.default_rng(self.seed)
        return [np.asarray(rng.uniform(-1, 1, r.shape), r.dtype) for r in self.results]

    @property
    def inputs(self) -> list[np.ndarray]:
        """The arguments of the derivative."""
        return [*self.values, *self.adjoints]


def random_case(seed: int, **options: object) -> Case:
    program = random_program(random.Random(seed), **options)
    return Case(program.source, program.arguments, seed)


# --- comparisons ----------------------------------------------------------------------------------


def assert_close(
    actual: Arrays, expected: Arrays, tolerance: float, what: str, scale: float = 1.0
) -> None:
    """Equal within `tolerance` of the largest element there, or of `scale` where that is larger."""
    assert len(actual) == len(expected), f"{what}: {len(actual)} results, not {len(expected)}"
    for n, (a, e) in enumerate(zip(actual, expected, strict=True)):
        assert a.shape == e.shape, f"{what}, result {n}: shape {a.shape}, not {e.shape}"
        bound = tolerance * max(scale, float(np.max(np.abs(e), initial=0)))
        error = float(np.max(np.abs(a - e), initial=0))
        assert error <= bound, f"{what}, result {n}: error {error:.2e} > {bound:.2e}"


def central_differences(
    call: Callable[[Arrays], Arrays], values: Arrays, adjoints: Arrays, step: float = 1e-4
) -> tuple[list[np.ndarray], float]:
    """Gradients of `sum(adjoint * result)`, element by element, and how large the sum can be.

    The formula of fourth order: its error is about 1e-12 of the values, and step**4.
    """

    def total(position: int, element: tuple[int, ...], shift: float) -> float:
        moved = values[position].copy()
        moved[element] += shift
        results = call([*values[:position], moved, *values[position + 1 :]])
        return sum(float(np.vdot(a, r)) for a, r in zip(adjoints, results, strict=True))

    gradients = [np.zeros(v.shape) for v in values]
    for position, gradient in enumerate(gradients):
        for element in np.ndindex(gradient.shape):
            near = total(position, element, step) - total(position, element, -step)
            far = total(position, element, 2 * step) - total(position, element, -2 * step)
            gradient[element] = (8 * near - far) / (12 * step)
    results = call(values)
    scale = sum(float(np.sum(np.abs(a * r))) for a, r in zip(adjoints, results, strict=True))
    return gradients, scale


def directional_differences(
    call: Callable[[Arrays], Arrays],
    values: Arrays,
    adjoints: Arrays,
    directions: Arrays,
    kinks: bool = False,
) -> tuple[list[float], float]:
    """Derivatives of `sum(adjoint * result)` along a direction for each argument in turn.

    Also a bound of their error: what differences of two orders differ by, and rounding. Where there
    may be `kinks`, one within a step makes an error as large as that difference.
    """

    def total(position: int, shift: float) -> float:
        moved = [*values]
        moved[position] = values[position] + shift * directions[position]
        return sum(float(np.vdot(a, r)) for a, r in zip(adjoints, call(moved), strict=True))

    results = call(values)
    scale = sum(float(np.sum(np.abs(a * r))) for a, r in zip(adjoints, results, strict=True))
    step, found, error = 1e-4, [], 1e-9 + 1e-9 * scale
    for position in range(len(values)):
        near = (total(position, step) - total(position, -step)) / (2 * step)
        far = (total(position, 2 * step) - total(position, -2 * step)) / (4 * step)
        found.append((4 * near - far) / 3)
        error = max(error, abs(near - far) * (4 if kinks else 0.1), 1e-8 * abs(near))
    return found, error


def refined_difference(difference: Callable[[float], float]) -> tuple[float, float]:
    """A derivative from central differences of smaller and smaller steps, and how sure it is.

    For a function that is too steep for one step. Of the extrapolated estimates, each of steps a
    quarter of those before, the pair that agrees best is taken: later ones are off by rounding.
    """
    steps = [1e-4 / 4**n for n in range(7)]
    found = [(4 * difference(step / 2) - difference(step)) / 3 for step in steps]
    wide, narrow = min(pairwise(found), key=lambda pair: abs(pair[0] - pair[1]))
    return narrow, abs(wide - narrow)


def assert_derivative(
    call: Callable[[Arrays], Arrays],
    values: Arrays,
    adjoints: Arrays,
    gradients: Arrays,
    what: str,
    kinks: bool = False,
) -> None:
    """The gradients agree with differences of `call` along random directions.

    Where they seem not to, smaller steps decide; a difference counts only where it is larger than
    what these differ by themselves.
    """
    rng = np.random.default_rng(len(values))
    directions = [rng.standard_normal(v.shape) for v in values]
    expected, bound = directional_differences(call, values, adjoints, directions, kinks)
    for n, (g, v, e) in enumerate(zip(gradients, directions, expected, strict=True)):
        along = float(np.vdot(g, v))
        if abs(along - e) <= bound:
            continue

        def difference(step: float, n: int = n, v: np.ndarray = v) -> float:
            ends = [[*values[:n], values[n] + s * v, *values[n + 1 :]] for s in (step, -step)]
            results = zip(adjoints, *map(call, ends), strict=True)
            return sum(float(np.vdot(a, up - down)) for a, up, down in results) / (2 * step)

        refined, unsure = refined_difference(difference)
        error, bound = abs(along - refined), max(1e-9, 10 * unsure, 1e-8 * abs(refined))
        assert error <= bound, f"{what}, argument {n}: error {error:.2e} > {bound:.2e}"


# --- many seeds -----------------------------------------------------------------------------------


def source_of(seed: int) -> str:
    return random_program(random.Random(seed)).source


def check_seeds(
    check: Callable[[int], None], seeds: Iterable[int], source: Callable[[int], str] = source_of
) -> None:
    """Call `check` for every seed; fails with the programs that failed, as `source` gives them."""
    failures: list[str] = []
    for seed in seeds:
        try:
            check(seed)
        except Exception as error:
            tail = "".join(traceback.format_tb(error.__traceback__)[-3:])
            failures.append(f"seed {seed}: {type(error).__name__}: {error}\n{tail}{source(seed)}")
    assert not failures, f"{len(failures)} failures\n\n" + "\n".join(failures)
