"""Derivatives of random programs, and derivatives of their derivatives.

On the CPU they equal the interpreter's evaluation of the derivative program; the interpreter's
evaluation of the program, moved along random directions, says what they should be.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tests.support.campaign import seeds
from tests.support.derivations import (
    Arrays,
    assert_close,
    assert_derivative,
    check_seeds,
    interpret,
    random_case,
)
from tests.support.random_programs import EVERYTHING

CHUNK = 10


def assert_reads_back(function: tadc.Function, inputs: Arrays, expected: Arrays) -> None:
    """The function as text compiles to the same function, whose text then stays as it is."""
    text = str(function)
    again = tadc.compile(text, target="interpret")
    assert_close(again.call(inputs, {}), expected, 1e-12, "text")
    if (new := str(again)) != text:  # else it stays already
        assert str(tadc.compile(new)) == new


def check_first(seed: int) -> None:
    case = random_case(seed)
    derivative = case.function.derivative()
    names = [t.name for t in derivative.results]
    assert names == [f"d{t.name}" for t in case.function.args]
    expected = interpret(derivative.program.op, case.inputs)
    assert_close(derivative.call(case.inputs, {}), expected, 1e-9, "cpu")
    assert_reads_back(derivative, case.inputs, expected)
    program = case.function.program.op
    assert_derivative(
        lambda values: interpret(program, values), case.values, case.adjoints, expected, "first"
    )


def check_second(seed: int) -> None:
    case = random_case(seed)
    by = random.Random(seed).choice(case.function.args).name
    first = case.function.derivative(by)
    (value,) = interpret(first.program.op, case.inputs)
    adjoint = np.asarray(np.random.default_rng(seed).uniform(-1, 1, value.shape))
    second = first.derivative()
    found = interpret(second.program.op, [*case.inputs, adjoint])
    assert_reads_back(second, [*case.inputs, adjoint], found)
    program = first.program.op
    assert_derivative(
        lambda values: interpret(program, values), case.inputs, [adjoint], found, f"second by {by}"
    )
    if seed % 10 == 0:
        assert_close(second.call([*case.inputs, adjoint], {}), found, 1e-9, "cpu")


@pytest.mark.parametrize("first", seeds(20, of=1000)[::CHUNK])
def test_first_derivatives_are_those_of_differences(first: int) -> None:
    check_seeds(check_first, range(first, first + CHUNK))


@pytest.mark.parametrize("first", seeds(10, of=100)[::CHUNK])
def test_second_derivatives_are_those_of_differences(first: int) -> None:
    check_seeds(check_second, range(first, first + CHUNK))


def check_third(seed: int) -> None:
    """Derivatives of derivatives, each by one argument: of all that came before, also adjoints."""
    case = random_case(seed, **({} if seed % 3 else EVERYTHING | {"depth": 2}))
    function, values, rng = case.function, case.values, random.Random(seed)
    for order in (1, 2, 3):
        names = [t.name for t in function.args]
        by = rng.choice(names)
        n = names.index(by)
        derivative = function.derivative(by)
        shapes = [r.shape for r in interpret(function.program.op, values)]
        uniform = np.random.default_rng(seed + order).uniform
        adjoints = [np.asarray(uniform(-1, 1, shape)) for shape in shapes]
        inputs = [*values, *adjoints]
        found = interpret(derivative.program.op, inputs)

        def moved(x: Arrays) -> Arrays:
            return interpret(function.program.op, [*values[:n], *x, *values[n + 1 :]])  # noqa: B023

        assert_derivative(
            moved, [values[n]], adjoints, found, f"order {order} by {by}", seed % 3 == 0
        )
        if seed % 10 == 0:
            assert_close(derivative.call(inputs, {}), found, 1e-9, f"cpu, order {order}")
        function, values = derivative, inputs


@pytest.mark.parametrize("first", seeds(10, of=300)[::CHUNK])
def test_first_to_third_derivatives(first: int) -> None:
    check_seeds(check_third, range(first, first + CHUNK))


def check_everything(seed: int) -> None:
    case = random_case(seed, **EVERYTHING)
    assert_close(case.function.call(case.values, {}), case.results, 1e-9, "cpu, value")
    derivative = case.function.derivative()
    expected = interpret(derivative.program.op, case.inputs)
    assert_close(derivative.call(case.inputs, {}), expected, 1e-9, "cpu")
    assert_reads_back(derivative, case.inputs, expected)
    program = case.function.program.op
    assert_derivative(
        *(lambda values: interpret(program, values), case.values, case.adjoints, expected),
        *("first", True),
    )


@pytest.mark.parametrize("first", seeds(10, of=200)[::CHUNK])
def test_all_targets_and_stages_agree_on_random_programs(first: int) -> None:
    check_seeds(check_everything, range(first, first + CHUNK))


def check_single_precision(seed: int) -> None:
    case = random_case(seed, dtype="f32")
    found = case.function.derivative().call(case.inputs, {})
    assert all(g.dtype == np.float32 for g in found)
    program = case.function.derivative().program.op
    assert_close(found, interpret(program, case.inputs), 2e-3, "cpu", 1)


def test_derivatives_compute_in_single_precision() -> None:
    check_seeds(check_single_precision, seeds(10, of=30))


@pytest.mark.parametrize("rate", [1.0, 3e4, 1e6])
def test_differences_of_steep_functions(rate: float) -> None:
    """A right gradient passes however steep the function is, and a wrong one does not."""
    x = np.array([0.3, 0.7])

    def call(values: Arrays) -> list[np.ndarray]:
        return [np.sin(rate * values[0]), np.exp(-values[0])]

    adjoints = [np.array([1.0, 2.0]), np.array([0.5, -1.0])]
    right = adjoints[0] * rate * np.cos(rate * x) - adjoints[1] * np.exp(-x)
    assert_derivative(call, [x], adjoints, [right], "right")
    for wrong in (1.01 * right, right + np.array([0, 0.1 * rate]), 0 * right):
        with pytest.raises(AssertionError):
            assert_derivative(call, [x], adjoints, [wrong], "wrong")
    with pytest.raises(AssertionError):  # of a constant
        assert_derivative(lambda values: [np.ones(2)], [x], adjoints[:1], [x], "wrong")
    with pytest.raises(AssertionError):
        assert_derivative(call, [x], adjoints, [np.full(2, np.nan)], "nan")
