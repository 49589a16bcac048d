"""Jacobians and Hessians of random programs: patterns against Python, values against tangents."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import count

import numpy as np
import pytest

import tadc
from tadc.api import Function
from tests.support.campaign import seeds
from tests.support.dependences import dependences
from tests.support.derivations import central_differences, check_seeds
from tests.support.random_programs import Program, random_program

CHUNK = 4


def as_list(found: object, of: Sequence[object]) -> list:
    return [found] if len(of) == 1 else list(found)


def dense(function: Function, arguments: dict[str, np.ndarray], wrt: str) -> list[np.ndarray]:
    """The Jacobians by one argument, column by column: tangents along unit vectors."""
    values = [arguments[t.name] for t in function.args]
    columns: list[list[np.ndarray]] = []
    if not arguments[wrt].size:
        results = as_list(function(*values), function.results)
        return [np.zeros((np.size(r), 0)) for r in results]
    for unit in np.eye(arguments[wrt].size):
        _, tangents = tadc.jvp(function, values, {wrt: unit.reshape(arguments[wrt].shape)})
        columns.append([np.ravel(t) for t in as_list(tangents, function.results)])
    return [np.stack(of_result, axis=1) for of_result in zip(*columns, strict=True)]


def exact_program(seed: int) -> tuple[Program, str, list[np.ndarray]]:
    """A program, an argument and the patterns of its results, which are well defined: no factor is
    the number 0 at some points alone, as padding is."""
    for turn in count():
        rng = random.Random(f"{seed} {turn}")
        program = random_program(
            rng, pads=True, reductions=True, updates=seed % 3 == 0, index_values=False
        )
        function = tadc.compile(program.source, target="interpret")
        wrt = rng.choice([t.name for t in function.args])
        found = dependences(program.source, program.arguments, wrt)
        if all((least == most).all() for least, most in found):
            return program, wrt, [most for _, most in found]
    raise AssertionError


def source_of(seed: int) -> str:
    program, wrt, _ = exact_program(seed)
    return f"{program.source}by {wrt}\n"


def check_pattern_and_values(seed: int) -> None:
    program, wrt, expected = exact_program(seed)
    function = tadc.compile(program.source, target="interpret")
    arguments = {t.name: program.arguments[t.name] for t in function.args}
    jacobian = function.jacobian(wrt)
    patterns = as_list(jacobian.pattern(**arguments), jacobian.results)
    for pattern, dependent in zip(patterns, expected, strict=True):
        np.testing.assert_array_equal(pattern.toarray(), dependent)
    matrices = as_list(jacobian(**arguments), jacobian.results)
    for matrix, pattern, exact in zip(
        matrices, patterns, dense(function, arguments, wrt), strict=True
    ):
        assert (matrix.nnz, *matrix.indices) == (pattern.nnz, *pattern.indices)
        np.testing.assert_allclose(matrix.toarray(), exact, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore::tadc.errors.EmptyRangeWarning")
@pytest.mark.parametrize("first", seeds(24, of=500)[::CHUNK])
def test_entries_are_those_that_reads_reach(first: int) -> None:
    check_seeds(check_pattern_and_values, range(first, first + CHUNK), source_of)


def check_everything(seed: int) -> None:
    """Where zeros are factors, the pattern may be as wide as the reads, and never misses one."""
    program = random_program(random.Random(seed), pads=True, reductions=True, updates=True)
    function = tadc.compile(program.source, target="interpret")
    arguments = {t.name: program.arguments[t.name] for t in function.args}
    for wrt in arguments:
        jacobian = function.jacobian(wrt)
        matrices = as_list(jacobian(**arguments), jacobian.results)
        reached = dependences(program.source, arguments, wrt)
        exact = dense(function, arguments, wrt)
        for matrix, values, (_, most) in zip(matrices, exact, reached, strict=True):
            np.testing.assert_allclose(matrix.toarray(), values, rtol=1e-12, atol=1e-12)
            matrix.data[:] = 1
            assert not (matrix.toarray() > most).any()


@pytest.mark.filterwarnings("ignore::tadc.errors.EmptyRangeWarning")
@pytest.mark.parametrize("first", seeds(8, of=200)[::CHUNK])
def test_values_are_those_of_tangents(first: int) -> None:
    check_seeds(check_everything, range(first, first + CHUNK))


def loss_of(seed: int) -> tuple[str, dict[str, np.ndarray]]:
    """The sum of the squares of all results of a random program."""
    program = random_program(random.Random(seed), pads=True, reductions=seed % 2 == 0)
    terms: list[str] = []
    for t in tadc.compile(program.source).results:
        indices = ", ".join("ijk"[: len(t.shape)])
        terms.append(f"sum[{indices}]({t.name}[{indices}]**2)" if indices else f"{t.name}**2")
    loss = f"{program.source.rstrip()}\nloss = {' + '.join(terms)}\nreturn loss\n"
    return loss, program.arguments


def check_hessian(seed: int) -> None:
    source, values = loss_of(seed)
    loss = tadc.compile(source, target="interpret")
    arguments = {t.name: values[t.name] for t in loss.args}
    wrt = random.Random(seed).choice(list(arguments))
    hessian = loss.hessian(wrt)
    matrix, pattern = hessian(**arguments), hessian.pattern(**arguments)
    assert (pattern != pattern.T).nnz == 0
    gradient = tadc.grad(loss, wrt)
    (exact,) = dense(gradient, arguments, wrt)
    np.testing.assert_allclose(matrix.toarray(), exact, rtol=1e-12, atol=1e-12)

    def along(x: np.ndarray) -> list[np.ndarray]:
        return [np.asarray(gradient(**{**arguments, wrt: x[0]}))]

    adjoint = np.random.default_rng(seed).standard_normal(arguments[wrt].shape)
    (difference,), scale = central_differences(along, [arguments[wrt]], [adjoint])
    product = (matrix.T @ adjoint.ravel()).reshape(adjoint.shape)
    np.testing.assert_allclose(product, difference, rtol=1e-6, atol=1e-8 * (1 + scale))


@pytest.mark.filterwarnings("ignore::tadc.errors.EmptyRangeWarning")
@pytest.mark.parametrize("first", seeds(8, of=200)[::CHUNK])
def test_hessians_are_those_of_differences(first: int) -> None:
    check_seeds(check_hessian, range(first, first + CHUNK), lambda seed: loss_of(seed)[0])
