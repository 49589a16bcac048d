"""Results in arrays of the caller: as without `out`, wherever these lie."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tests.support.campaign import seeds
from tests.support.derivations import random_case

TWO = "y[i] = x[i] + 1\nz[i, j] = x[i] * x[j]\nreturn y, z"


def test_results_come_in_the_given_arrays() -> None:
    f = tadc.compile("y[i] = x[i] * 2")
    x, y = np.arange(5.0), np.empty(5)
    assert f(x, out=y) is y
    np.testing.assert_array_equal(y, 2 * x)
    assert f(x=x, out=(y,)) is y


def test_several_results() -> None:
    f = tadc.compile(TWO)
    x, y, z = np.arange(4.0), np.empty(4), np.empty((4, 4))
    results = f(x, out=(y, z))
    assert results.y is y
    assert results.z is z
    np.testing.assert_array_equal(z, np.outer(x, x))


@pytest.mark.parametrize("name", ["cpu", "interpret"])
def test_arrays_that_are_not_dense_or_overlap(name: str) -> None:
    f = tadc.compile("x: f64[5]\ny[i in range(5)] = x[4 - i] * 2", target=name)
    x = np.arange(5.0)
    wide = np.zeros(10)
    assert f(x, out=wide[::2]).base is wide
    np.testing.assert_array_equal(wide, [8, 0, 6, 0, 4, 0, 2, 0, 0, 0])
    both = x.copy()
    f(both, out=both)  # each element reads another one
    np.testing.assert_array_equal(both, 2 * x[::-1])


def test_results_that_overlap_each_other() -> None:
    memory = np.empty(6)
    f = tadc.compile("y[i] = x[i] + 1\nz[i] = x[i] + 10\nreturn y, z")
    f(np.zeros(4), out=(memory[:4], memory[2:]))
    np.testing.assert_array_equal(memory, [1, 1, 10, 10, 10, 10])  # the last one wins


def test_an_argument_named_out() -> None:
    f = tadc.compile("y[i] = out[i] * 2")
    np.testing.assert_array_equal(f(out=np.ones(3)), [2, 2, 2])


def test_what_cannot_hold_the_result() -> None:
    f, x = tadc.compile("y[i] = x[i] * 2"), np.arange(5.0)
    frozen = np.empty(5)
    frozen.setflags(write=False)
    for out, message in (
        (np.empty(4), r"out for y has shape \(4,\), not \(5,\)"),
        (np.empty(5, np.float32), "out for y has dtype float32, not float64"),
        ((np.empty(5), np.empty(5)), "out has 2 arrays for 1 results"),
        ([0.0] * 5, "out has 5 arrays for 1 results"),
        (3.0, "out for y is a float, not an array"),
        (frozen, "out for y is read-only"),
    ):
        with pytest.raises(tadc.TadcError, match=message):
            f(x, out=out)
    np.testing.assert_array_equal(f(x), 2 * x)


@pytest.mark.parametrize("seed", seeds(9, of=25))
def test_random_programs_give_the_same_bits(seed: int) -> None:
    case = random_case(seed)
    expected = case.function.call(case.values, {})
    out = tuple(np.full_like(r, np.nan) for r in expected)
    found = case.function.runner.call(case.values, {}, out)
    for a, b, given in zip(found, expected, out, strict=True):
        assert a is given
        np.testing.assert_array_equal(a, b)
