"""Inverse modes on arrays of a framework: here NumPy itself, against `tadc`'s own calls."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.dialects.tix import MatrixForm
from tadc.frameworks.inverse import Arrays, InverseMode, log_abs_det, permutation_sign
from tadc.frameworks.operation import Operation
from tadc.runtime.linear_systems import log_abs_det as expected_log_abs_det
from tadc.runtime.linear_systems import permutation_sign as expected_sign
from tests.frameworks.test_operation import run
from tests.support.campaign import seeds
from tests.support.random_updates import random_update
from tests.test_inverse_calls import BY_NAME, DENSE, state_of

Array = np.ndarray[Any, Any]


class NumPyArrays(Arrays):
    """NumPy as a framework; `traced` as one whose elements cannot be looked at."""

    numpy = np

    def __init__(self, traced: bool = False):
        self.traced = traced

    def function_of(self, operation: Operation) -> Callable[[Sequence[Array]], Sequence[Array]]:
        return lambda arrays: run(operation, [np.asarray(a, order="C") for a in arrays])

    def precision(self, array: Array) -> str:
        return "f32" if array.dtype == np.float32 else "f64"

    def converted(self, array: Array, precision: str) -> Array:
        return array.astype(np.float32 if precision == "f32" else np.float64)

    def solve(self, matrix: Array, rhs: Array) -> Array:
        try:
            return np.linalg.solve(matrix, rhs)
        except np.linalg.LinAlgError:
            return np.full_like(rhs, np.nan)

    def solve_triangular(self, matrix: Array, rhs: Array, lower: bool) -> Array:
        return self.solve(np.tril(matrix) if lower else np.triu(matrix), rhs)

    def elements(self, array: Array) -> Array | None:
        return None if self.traced else array


def modes(
    f: tadc.Function, arguments: Sequence[Array], vectors: Sequence[Array], arrays: Arrays
) -> list[list[Array]]:
    found: list[list[Array]] = []
    for mode in ("inverse-jvp", "inverse-vjp", "log-abs-det"):
        made = InverseMode(f.inverse(mode), arrays)
        found.append(made(arguments, () if mode == "log-abs-det" else vectors))
    return found


def expected(f: tadc.Function, arguments: Sequence[Array], vectors: Sequence[Array]) -> Any:
    return [
        tadc.inverse_jvp(f, arguments, list(vectors)),
        tadc.inverse_vjp(f, arguments, list(vectors)),
        tadc.log_abs_det(f, arguments),
    ]


def assert_same(found: list[list[Array]], wanted: Any, rtol: float = 1e-9) -> None:
    for results, others in zip(found, wanted, strict=True):
        for a, b in zip(results, others, strict=True):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", [*BY_NAME, "parameters"])
def test_values_are_those_of_calls(name: str) -> None:
    f = tadc.compile(BY_NAME.get(name, DENSE))
    for size in (0, 4):
        state = state_of(f, size)
        given = dict(zip((t.name for t in f.args), state, strict=True))
        vectors = [given[t.name] + 0.5 for t in f.results]
        wanted = expected(f, state, vectors)
        for traced in (False, True):
            assert_same(modes(f, state, vectors, NumPyArrays(traced)), wanted)


@pytest.mark.parametrize("seed", seeds(4, of=200))
def test_values_of_random_programs_are_those_of_calls(seed: int) -> None:
    update = random_update(random.Random(seed))
    f = tadc.compile(update.source)
    arguments = [update.arguments[t.name] for t in f.args]
    vectors = [update.arguments[t.name] * 2 + 1 for t in f.results]
    assert_same(modes(f, arguments, vectors, NumPyArrays()), expected(f, arguments, vectors), 1e-7)


@pytest.mark.parametrize(
    "source",
    [
        "p: f64[N]\np[i] *= p[i]",
        "p: f64[N]\np[i] = p[i] * sum[j](p[j])",
        "p: f64[N]\np[i] = p[i] * (p[i] + pad(p[i - 1]))",
        "p: f64[N]\np[i] = p[i] * sum[j in range(i + 1)](p[j])",
    ],
)
def test_what_is_singular_raises_the_same(source: str) -> None:
    f, state = tadc.compile(source), [np.zeros(3)]
    with pytest.raises(tadc.TadcError) as wanted:
        tadc.inverse_jvp(f, state, state)
    with pytest.raises(tadc.TadcError) as found:
        InverseMode(f.inverse("inverse-jvp"), NumPyArrays())(state, state)
    assert str(found.value) == str(wanted.value)
    assert type(found.value) is type(wanted.value)


def test_systems_of_both_precisions_are_solved_in_the_wider_one() -> None:
    f = tadc.compile(
        "p: f64[N]\nq: f32[N]\ns = 0.1 * sum[i](p[i])\nt = 0.1 * sum[i](q[i])\n"
        "p[i] += sin(t)\nq[i] += s"
    )
    state = [np.linspace(0, 1, 3), np.linspace(1, 2, 3, dtype=np.float32)]
    found = modes(f, state, state, NumPyArrays())
    wanted = expected(f, state, state)
    assert [a.dtype for a in found[0]] == [a.dtype for a in wanted[0]]
    assert_same(found, wanted, 1e-6)


@pytest.mark.parametrize("kind", ["dense", "lower", "upper", "banded"])
def test_determinants_are_those_of_calls(kind: str) -> None:
    numbers = np.random.default_rng(0)
    bounds = {"lower": 1, "upper": 2} if kind == "banded" else {}
    form = MatrixForm(kind, 1, (1,), **bounds)
    for size in (1, 2, 3, 9):
        array = numbers.normal(size=(2, size, 4 if kind == "banded" else size))
        found = log_abs_det(NumPyArrays(), form, [array])
        np.testing.assert_allclose(found, expected_log_abs_det(form, [array]), rtol=1e-10)


def test_signs_of_permutations_are_those_by_cycles() -> None:
    numbers = np.random.default_rng(1)
    for size in [0, 1, 2, 3, 4, 5, 8, 9, 33, 100] * 4:
        places = numbers.permutation(size).astype(float)
        assert permutation_sign(np, places) == expected_sign(places)
    for values in ([np.nan, 0.0], [5.0, np.inf]):  # some sign, and no error
        assert permutation_sign(np, np.array(values)) in (1, -1)
