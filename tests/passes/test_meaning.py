"""Every pass keeps the meaning of random programs, and leaves what it promises.

The interpreter says what a program means. Up to `differentiate` the results are compared, from
there on the gradients for random adjoints. A pass must also take its input as text from a file.
"""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from dialects import tix
from passes.set_precision import set_precision
from tadc.support.ir_text import module_text, parse_module
from tests.support.campaign import seeds
from tests.support.derivations import (
    Case,
    assert_close,
    check_seeds,
    interpret,
    program_of,
    random_case,
    stages,
)
from tests.support.random_programs import EVERYTHING

CHUNK = 25


def again(module: ModuleOp) -> ModuleOp:
    """The module after a way through its text."""
    result = parse_module(module_text(module))
    result.verify()
    return result


def check_passes(case: Case, through_text: bool) -> None:
    gradients: list[np.ndarray] = []
    for name, module in stages(
        case.function.program.module, between=again if through_text else None
    ):
        program = program_of(module)
        INVARIANTS.get(name, lambda program: None)(program)
        if name == "outline-reductions":
            assert_close(interpret(program, case.values), case.results, 1e-11, name)
        else:
            found = interpret(program, case.inputs)
            gradients = gradients or found
            assert_close(found, gradients, 1e-11, name)
    assert [r.shape for r in gradients] == [v.shape for v in case.values]


# --- invariants -----------------------------------------------------------------------------------


def reductions(program: tix.ProgramOp) -> list[tix.ReductionOp]:
    return [op for op in program.walk() if isinstance(op, tix.ReductionOp)]


def no_equation(program: tix.ProgramOp) -> None:
    """No equation holds an own index of its reduction."""
    for op in reductions(program):
        for c in op.constraints:
            assert not (c.equality and any(c.form[v] for v in op.indices)), f"{op}"


def bounded(program: tix.ProgramOp) -> None:
    """Every constraint bounds an own index, and every own index has bounds by those before it."""
    for op in reductions(program):
        bounds: dict[tuple[int, bool], int] = {}
        for c in op.constraints:
            assert not c.equality, f"{op}"
            last = max((n for n, v in enumerate(op.indices) if c.form[v]), default=None)
            assert last is not None, f"a constraint without own index: {op}"
            side = last, c.form[op.indices[last]] > 0
            bounds[side] = bounds.get(side, 0) + 1
        assert len(bounds) == 2 * len(op.indices), f"{op}"


def simple(program: tix.ProgramOp) -> None:
    """Bounded, and no reduction is over a single point."""
    bounded(program)
    assert all(op.indices for op in reductions(program))


def precise(program: tix.ProgramOp) -> None:
    """No tensor is left without precision."""
    tensors = [*program.arguments.values(), *(d.result for d in program.definitions)]
    assert all(t.type.dtype in ("f32", "f64") for t in tensors)


INVARIANTS = {
    "solve-index-kernels": no_equation,
    "absorb-conditions": no_equation,
    "infer-ranges": bounded,
    "simplify-sums": simple,
    "join-guards": simple,
    "inline-definitions": simple,
}


# --- random programs ------------------------------------------------------------------------------


def check(seed: int) -> None:
    check_passes(random_case(seed), through_text=False)


def check_through_text(seed: int) -> None:
    check_passes(random_case(seed), through_text=True)


def check_everything(seed: int) -> None:
    check_passes(random_case(seed, **EVERYTHING), through_text=seed % 2 == 0)


def check_precision(seed: int) -> None:
    case = random_case(seed, declarations=("none", "symbolic"))
    narrow = [v.astype(np.float32) for v in case.values]
    for real, values, tolerance in (("f64", case.values, 1e-14), ("f32", narrow, 1e-3)):
        program = set_precision(case.function.program.op, real)
        program.verify()
        precise(program)
        if real == "f32" and any(t.dtype != "real" for t in case.function.args):
            continue  # declared arguments are f64
        assert_close(interpret(program, values), case.results, tolerance, real, 10)


def chunks(some: int, of: int, start: int = 0) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("first", seeds(some, of, start)[::CHUNK])


@chunks(75, of=150)
def test_every_pass_keeps_the_meaning(first: int) -> None:
    check_seeds(check, range(first, first + CHUNK))


@chunks(25, of=50, start=1000)
def test_every_pass_runs_alone_on_a_file(first: int) -> None:
    check_seeds(check_through_text, range(first, first + CHUNK))


@chunks(25, of=50, start=2000)
def test_every_pass_with_everything(first: int) -> None:
    check_seeds(check_everything, range(first, first + CHUNK))


@chunks(25, of=50)
def test_set_precision(first: int) -> None:
    check_seeds(check_precision, range(first, first + CHUNK))
