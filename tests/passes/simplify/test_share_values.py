"""Equal values are computed once, and all results keep their bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.ir import Block, Operation

import tadc
from tadc.dialects import tix
from tadc.dialects.tix import elementwise as ew
from tadc.interpreter import tensor_index
from tadc.passes.analysis.costs import FREE, weight
from tadc.passes.analysis.value_numbers import ValueNumbers
from tadc.passes.rewriting.programs import copy_program
from tadc.passes.simplify.share_values import share_values
from tests.support.campaign import seeds
from tests.support.derivations import Arrays, check_seeds, interpret, random_case
from tests.support.random_programs import EVERYTHING

CHUNK = 5

STENCIL = """\
x: f64[N + 2]
y[i in range(N)] = (x[i] - x[i + 1]) * exp(-(x[i] - x[i + 1])**2) + exp(-(x[i + 2] - x[i + 1])**2)
"""


@pytest.fixture(autouse=True)
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of arrays element by element.

    NumPy's round otherwise at the end of an array, and its power is not even to the last bit.
    """
    functions = tensor_index.FUNCTIONS
    for kind, function in functions.items():
        monkeypatch.setitem(functions, kind, each(pow if kind is ew.PowOp else function))


def each(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The function, one element at a time."""

    def values(*arrays: np.ndarray) -> np.ndarray:
        whole = np.broadcast_arrays(*arrays)
        parts = [function(*element) for element in zip(*(a.flat for a in whole), strict=True)]
        return np.array(parts, whole[0].dtype).reshape(whole[0].shape)

    return values


def count(program: tix.ProgramOp, kind: type[Operation]) -> int:
    return sum(isinstance(op, kind) for op in program.walk())


def cost(program: tix.ProgramOp) -> int:
    """The cost of all operations in the text."""
    ops = (op for d in program.definitions for op in d.body.walk())
    return sum(weight(op) for op in ops if not isinstance(op, (*FREE, tix.IfOp)))


def repeated(block: Block, numbers: ValueNumbers, seen: frozenset[int] = frozenset()) -> list[str]:
    """Values, but reads and constants, that are computed again where an equal one is visible."""
    found: list[str] = []
    for op in block.ops:
        found += (t for r in op.regions for t in repeated(r.block, numbers, seen))
        if not isinstance(op, tix.YieldOp | tix.FloorDivOp | tix.ConstantOp | tix.ReadOp):
            number = numbers[op.results[0]]
            found += [str(op)] if number in seen else []
            seen |= {number}
    return found


def check_program(given: tix.ProgramOp, arrays: Arrays) -> None:
    program = copy_program(given)  # which folds, as the pass does
    shared = share_values(program.clone())
    shared.verify()
    before, after = interpret(program, arrays), interpret(shared, arrays)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a, b)
    assert cost(shared) <= cost(program)
    for op in shared.definitions:
        assert not repeated(op.body.block, ValueNumbers(op))


def check(seed: int) -> None:
    case = random_case(seed, **(EVERYTHING if seed % 2 else {}))
    check_program(case.function.program.op, case.values)
    check_program(case.function.derivative().program.op, case.inputs)


@pytest.mark.parametrize("first", seeds(10, of=200)[::CHUNK])
def test_random_programs_keep_their_bits(first: int) -> None:
    check_seeds(check, range(first, first + CHUNK))


@pytest.mark.parametrize("n", range(12))
def test_the_gradient_of_a_stencil_has_one_exponential_for_each_edge(n: int) -> None:
    gradient = tadc.compile(STENCIL, "interpret").derivative().program.op
    shared = share_values(gradient.clone())
    kinds = ew.ExpOp
    assert (count(gradient, kinds), count(shared, kinds)) == (4, 2)
    rng = np.random.default_rng(n)
    check_program(gradient, [rng.normal(size=n + 2), rng.normal(size=n)])


def test_equal_sums_become_one() -> None:
    f = tadc.compile("y[i] = x[i] * sum[k](exp(x[k])) + sum[l](exp(x[l]))", "interpret")
    assert count(share_values(f.program.op.clone()), tix.SumOp) == 1
    check_program(f.program.op, [np.random.default_rng(0).normal(size=7)])


def test_values_of_bodies_apart_stay() -> None:
    text = "y[i] = exp(x[i]) * x[0] if i < 1 else (exp(x[i]) * x[1] if i > 5 else 2 * x[i])"
    program = tadc.compile(f"x: f64[9]\n{text}", "interpret").program.op
    assert count(share_values(program.clone()), tix.IfOp) == count(program, tix.IfOp)
    check_program(program, [np.random.default_rng(0).normal(size=9)])


def test_a_condition_may_have_several_convex_sets() -> None:
    text = "y[i] = (exp(x[i]) if i < 4 else 0) + (x[0] * exp(x[i]) if i > 5 or i == 2 else 0)"
    program = tadc.compile(f"x: f64[9]\n{text}", "interpret").program.op
    shared = share_values(program.clone())
    assert (count(program, ew.ExpOp), count(shared, ew.ExpOp)) == (2, 1)
    check_program(program, [np.random.default_rng(0).normal(size=9)])
