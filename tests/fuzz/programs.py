"""Random programs through stages and targets, against the interpreter and Python itself.

Each program is compiled, evaluated (interpreter against Python) and differentiated (interpreter
against differences along random directions). Of every two hundred programs

     10  are large: up to three definitions, nested three times; of the others, each with one
         definition, a third is nested twice and the rest once
     12  also run as machine code, values and gradients in one (2 of them large)
     10  also are printed and read back, program and derivative
      5  also are derived twice
      4  also keep their meaning after every pass (half of them after a way through text)
      1  also becomes CUDA C, which runs on the CPU (in batches; needs g++)
      2  run in single precision instead

One in three may have functions with kinks (away from them), one in three reductions by `max`, `min`
and `prod`, one in three conditions on values, one in three `pad`, one in three updates.
"""

from __future__ import annotations

import random
import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np

import tadc
from tadc.passes.derive.differentiate import DifferentiatePass
from tadc.passes.pipeline import derivative_passes
from tadc.program import Program
from tadc.support.ir_text import context
from tests.fuzz.failures import Failure, report, signature
from tests.host_shim import host_shim
from tests.passes.derive.differentiation.test_derivatives import assert_reads_back
from tests.passes.test_meaning import check_passes
from tests.support.derivations import (
    Arrays,
    Case,
    assert_close,
    assert_derivative,
    interpret,
)
from tests.support.gradient_kernels import GradientKernels, gradient_kernels
from tests.support.random_programs import EVERYTHING, random_program, reference

BATCH = 20
"""Programs whose CUDA C is compiled together."""
LARGEST = 1e6
"""Values above are not compared with differences: a shrunk program may leave the smooth ones."""


def case_of(source: str, shapes: Mapping[str, Sequence[int]], seed: int, single: bool) -> Case:
    """The program with random arguments, the same for the same seed and shapes."""
    rng = np.random.default_rng(seed)
    dtype = np.float32 if single else np.float64
    values = {name: np.asarray(rng.uniform(-1, 1, s), dtype) for name, s in shapes.items()}
    return Case(source, values, seed)


def random_case(seed: int) -> Case:
    """The program of a seed: its place among a hundred decides how large it is."""
    rng = random.Random(seed)
    options: dict[str, object] = {}
    if seed % 20:
        options = {"definitions": 1, "depth": 1 if seed % 3 else 2}
    for name in EVERYTHING:
        options[name] = rng.random() < 0.3
    if is_single(seed):
        options["dtype"] = "f32"
    program = random_program(rng, **options)
    shapes = {name: a.shape for name, a in program.arguments.items()}
    return case_of(program.source, shapes, seed, is_single(seed))


def is_single(seed: int) -> bool:
    return seed % 100 == 99


# --- checks ---------------------------------------------------------------------------------------


def check_value(case: Case) -> None:
    expected = reference(case.source, case.arguments)
    assert_close(case.results, expected, 1e-9, "interpreter against Python", 1)


def redrawn(case: Case) -> Case:
    """The program with other arguments, away from the kink that the first were perhaps at."""
    shapes = {name: a.shape for name, a in case.arguments.items()}
    return case_of(case.source, shapes, case.seed + (1 << 40), single=False)


def check_first(case: Case) -> None:
    """The derivative, interpreted, against differences of the interpreted program.

    Two elements of an extremum are sometimes closer than the step of the differences. A wrong
    derivative is wrong elsewhere, too.
    """
    try:
        _check_first(case)
    except AssertionError:
        _check_first(redrawn(case))


def _check_first(case: Case) -> None:
    program = case.function.program.op
    gradients = interpret(case.function.derivative().program.op, case.inputs)
    assert_derivative(
        lambda values: interpret(program, values), case.values, case.adjoints, gradients, "first"
    )


def check_cpu(case: Case) -> None:
    """Machine code of the derivative program that returns the values too."""
    module = case.function.program.module.clone()
    for step in derivative_passes(DifferentiatePass(keep_values=True)).passes:
        step.apply(context(), module)
    both = tadc.Function(Program(module, ""), "cpu")
    expected = interpret(both.program.op, case.inputs)
    assert_close(expected[: len(case.results)], case.results, 1e-9, "values kept", 1)
    assert_close(both.call(case.inputs, {}), expected, 1e-9, "cpu", 1)


def check_text(case: Case) -> None:
    """Program and derivative, printed and read back."""
    assert_reads_back(case.function, case.values, case.results)
    derivative = case.function.derivative()
    assert_reads_back(derivative, case.inputs, interpret(derivative.program.op, case.inputs))


def check_second(case: Case) -> None:
    """The derivative of the derivative by one argument; twice where there may be a kink."""
    try:
        _check_second(case)
    except AssertionError:
        _check_second(redrawn(case))


def _check_second(case: Case) -> None:
    arguments = case.function.args
    first = case.function.derivative(arguments[case.seed // 40 % len(arguments)].name)
    (value,) = interpret(first.program.op, case.inputs)
    adjoint = np.asarray(np.random.default_rng(case.seed).uniform(-1, 1, value.shape))
    found = interpret(first.derivative().program.op, [*case.inputs, adjoint])
    program = first.program.op
    assert_derivative(
        lambda values: interpret(program, values), case.inputs, [adjoint], found, "second"
    )


def check_meaning(case: Case) -> None:
    check_passes(case, through_text=case.seed % 100 == 20)


def check_single(case: Case) -> None:
    """Machine code in single precision, against the interpreter in the same."""
    derivative = case.function.derivative()
    found = derivative.call(case.inputs, {})
    assert all(g.dtype == np.float32 for g in found)
    assert_close(found, interpret(derivative.program.op, case.inputs), 2e-3, "single", 1)


def check_cuda(case: Case) -> None:
    """CUDA C of the derivative alone, run on the CPU."""
    kernels = cuda_kernels(case)
    assert_close(kernels.run(host_shim.load(kernels.text)), kernels.expected, 1e-9, "CUDA C", 1)


def cuda_kernels(case: Case) -> GradientKernels:
    derivative = case.function.derivative()
    expected = interpret(derivative.program.op, case.inputs)
    found = gradient_kernels(case.seed, derivative, case.inputs, expected)
    assert "atomic" not in found.text
    return found


CHECKS: dict[str, Callable[[Case], None]] = {
    "value": check_value,
    "first": check_first,
    "cpu": check_cpu,
    "text": check_text,
    "second": check_second,
    "meaning": check_meaning,
    "single": check_single,
    "cuda": check_cuda,
}


def checks_of(seed: int) -> list[str]:
    """The names of the checks of a seed; CUDA C comes in batches, apart."""
    if is_single(seed):
        return ["single"]
    places = {"cpu": seed % 20 == 3 or seed % 100 == 0, "text": seed % 20 == 1}
    places |= {"second": seed % 40 == 2, "meaning": seed % 50 == 20}
    return ["value", "first", *(name for name, wanted in places.items() if wanted)]


# --- runs -----------------------------------------------------------------------------------------


class Programs:
    """Checks programs seed by seed; `check` gives the failures that it has seen."""

    kind = "programs"

    def __init__(self) -> None:
        self.waiting: list[Case] = []
        self.can_run_cuda = shutil.which(host_shim.COMPILER) is not None

    def check(self, seed: int) -> list[Failure]:
        case = random_case(seed)
        failure = first_failure(case, checks_of(seed))
        if failure:
            return [failure]
        if self.can_run_cuda and seed % 200 == 7:
            self.waiting.append(case)
        return self.flush() if len(self.waiting) >= BATCH else []

    def flush(self) -> list[Failure]:
        """Run the CUDA C of those that wait."""
        cases, self.waiting = self.waiting, []
        if not cases:
            return []
        try:
            kernels = [cuda_kernels(case) for case in cases]
            compiled = host_shim.load("\n".join(k.text for k in kernels))
            for k in kernels:
                assert_close(k.run(compiled), k.expected, 1e-9, "CUDA C", 1)
        except Exception:  # one by one: whose fault it is
            return [f for f in (first_failure(case, ["cuda"]) for case in cases) if f]
        return []


def first_failure(case: Case, checks: Sequence[str]) -> Failure | None:
    """The first of the checks that fails."""
    for name in checks:
        try:
            CHECKS[name](case)
        except Exception as error:
            shapes = {n: list(a.shape) for n, a in case.arguments.items()}
            single = any(a.dtype == np.float32 for a in case.arguments.values())
            facts = {"check": name, "shapes": shapes, "single": single}
            how = f"{name}: {signature(error)}"
            return Failure("programs", case.seed, how, case.source, facts, report(error))
    return None


def again(failure: Failure) -> Failure | None:
    """The failure of the program in `failure`; None where it is none, or the program not valid."""
    facts = failure.facts
    case = case_of(failure.text, facts["shapes"], failure.seed, facts["single"])
    return first_failure(case, [facts["check"]]) if is_valid(case) else None


def is_valid(case: Case) -> bool:
    """Can Python run it, with moderate results?"""
    try:
        with warnings.catch_warnings(action="ignore"):
            results: Arrays = reference(case.source, case.arguments)
    except Exception:
        return False
    return all(bool(np.all(np.abs(r) < LARGEST)) for r in results)
