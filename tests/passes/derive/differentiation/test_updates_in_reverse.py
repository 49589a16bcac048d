"""Reverse mode through updates: random programs that overwrite what they have read."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

import tadc
from tests.support.campaign import seeds
from tests.support.derivations import (
    Case,
    assert_close,
    assert_derivative,
    check_seeds,
    interpret,
    random_case,
)

CHUNK = 10

APART = 100_000
"""Between seeds that are tried until a program has updates."""


def updates(case: Case) -> int:
    """How many lines make new versions of tensors that exist."""
    heads = [line.split("=")[0] for line in case.source.splitlines() if "=" in line]
    made = [head.rstrip("+-*/ ").split("[")[0].strip() for head in heads]
    arguments = set(case.arguments)
    return sum(name in arguments or name in made[:n] for n, name in enumerate(made))


def case_with_updates(seed: int) -> Case:
    cases = (random_case(seed + n * APART, updates=True, depth=2) for n in count())
    return next(case for case in cases if updates(case))


def interpreted_gradients(case: Case) -> list[np.ndarray]:
    """The interpreter's, of the same value and pullback."""
    both = case.interpreted.with_pullback()
    saved = both.saved_of(both.value.call(case.values, {}))
    return both.gradients.call([*case.values, *saved, *case.adjoints], {})


def check_gradients(seed: int) -> None:
    """The gradients of machine code, through what the value saved, equal the interpreter's."""
    case = case_with_updates(seed)
    value, pullback = tadc.vjp(case.function, *case.values)
    values = list(value) if len(case.results) > 1 else [value]
    assert_close(values, case.results, 1e-9, "values")
    found, expected = pullback(*case.adjoints), interpreted_gradients(case)
    assert_close(found, expected, 1e-9, "gradients")
    if seed % 5 == 0:
        program = case.function.program.op
        assert_derivative(
            lambda values: interpret(program, values),
            case.values,
            case.adjoints,
            expected,
            "differences",
        )
    if seed % 10 == 0:
        assert_close(pullback(*case.adjoints), found, 0, "gradients once more")
        whole = case.function.derivative().program.op
        assert_close(interpret(whole, case.inputs), expected, 1e-9, "in one program")


@pytest.mark.parametrize("first", seeds(10, of=500)[::CHUNK])
def test_gradients_through_updates(first: int) -> None:
    check_seeds(check_gradients, range(first, first + CHUNK))


def test_the_programs_update() -> None:
    cases = [case_with_updates(seed) for seed in range(100)]
    assert all(map(updates, cases))
    assert sum(updates(case) > 1 for case in cases) > 30
