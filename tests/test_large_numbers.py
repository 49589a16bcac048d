"""Large coefficients: right where 64 bits hold all numbers, refused where they do not."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

import tadc
from tests.support.derivations import interpret, program_of

LARGE = [10**12, 2**40, 2**40 - 1, 10**15 + 37, 2**52]
X = np.arange(1.0, 11.0)


def padded(form: Callable[[int, int, int], int]) -> tuple[np.ndarray, np.ndarray]:
    """`f[i, j, k] = pad(x[form])` for 0 <= i, j, k < 3, and the element read, or -1."""
    at = np.full((3, 3, 3), -1)
    for point in product(range(3), repeat=3):
        value = form(*point)
        at[point] = value if 0 <= value < len(X) else -1
    return np.where(at < 0, 0.0, X[at]), at


def check(text: str, form: Callable[[int, int, int], int]) -> str:
    """Values and the gradient on the CPU and by the interpreter; the text of the gradient in C."""
    head = "i in range(3), j in range(3), k in range(3)"
    f = tadc.compile(f"x: f64[N]\nf[{head}] = pad(x[{text}])")
    expected, at = padded(form)
    np.testing.assert_array_equal(f(X), expected)
    adjoint = np.random.default_rng(0).uniform(size=(3, 3, 3))
    gradient = np.bincount(at[at >= 0], adjoint[at >= 0], len(X))
    derivative = f.derivative()
    np.testing.assert_allclose(derivative(X, adjoint), gradient, rtol=1e-15)
    (interpreted,) = interpret(program_of(derivative.program.module), [X, adjoint])
    np.testing.assert_allclose(interpreted, gradient, rtol=1e-15)
    return derivative.emit("cuda")


@pytest.mark.parametrize("c", LARGE)
def test_large_coefficients_are_right_or_refused(c: int) -> None:
    text = check(f"{c}*i - {c}*j + k", lambda i, j, k: c * i - c * j + k)
    assert "long long" in text
    text = check(f"{c}*i - {c - 1}*j + k", lambda i, j, k: c * i - (c - 1) * j + k)
    assert "long long" in text


@pytest.mark.parametrize(("a", "b", "c"), [(10**9 + 7, 10**9 + 9, 10**9 + 21), (6, 10, 2**40)])
def test_products_of_coefficients(a: int, b: int, c: int) -> None:
    """Elimination multiplies: the bounds hold numbers larger than those of the program."""
    check(f"{a}*i - {b}*j + {c}*k", lambda i, j, k: a * i - b * j + c * k)


@pytest.mark.parametrize("c", [10**12, 2**50])
def test_quotients_by_large_numbers(c: int) -> None:
    check(f"({c}*i + j) // {c} + k", lambda i, j, k: (c * i + j) // c + k)
    check(f"({c}*i + j) % {c} + k", lambda i, j, k: (c * i + j) % c + k)


@pytest.mark.parametrize("c", [10**12, 2**50])
def test_numbers_that_elimination_makes_too_long_are_refused(c: int) -> None:
    """The basis of the null space has a product of two coefficients, of up to 100 bits."""
    read = f"x[{c - 1}*i - {c + 61}*j + {c + 63}*k, {c + 61}*i + j - {c + 63}*k]"
    text = f"f[i in range(3), j in range(3), k in range(3)] = 1 + pad({read})"
    f = tadc.compile(f"x: f64[N, M]\n{text}")
    with pytest.raises(tadc.TadcError, match=r"takes numbers of \d+ bits, beyond 62") as caught:
        f.derivative()
    assert (caught.value.line, caught.value.column) == (2, text.index("x[") + 1)


def test_sizes_that_make_indices_too_long_are_refused_at_the_call() -> None:
    f = tadc.compile(f"x: f64[10]\ny: f64[N]\nf[i] = pad(x[{2**50}*i]) + y[i]")
    y = np.arange(2.0**14)
    np.testing.assert_array_equal(f(X, y[:99]), y[:99] + (y[:99] == 0))
    with pytest.raises(tadc.TadcError, match="exceed 64 bits"):
        f(X, y)


def test_indices_are_checked_where_rows_lie_apart() -> None:
    f = tadc.compile(f"y[i, j] = 2 * x[i, j] if i < {2**50} else 0")
    x = np.arange(2.0**21).reshape(2**10, 2**11)[:, : 2**10]
    np.testing.assert_array_equal(f(x), 2 * x)


@pytest.mark.parametrize("c", [2**62, 2**63, 10**30])
def test_what_no_index_can_have_is_refused_where_it_is_written(c: int) -> None:
    with pytest.raises(tadc.TadcError, match="too large numbers") as caught:
        tadc.compile(f"x: f64[N]\nf[i in range(3), j in range(3)] = pad(x[{c}*i - {c}*j])")
    assert caught.value.line == 2


def test_every_number_in_the_code_has_64_bits() -> None:
    f = tadc.compile(
        "x: f64[N]\nf[i in range(3), j in range(3), k in range(3)]"
        f" = pad(x[{2**50 + 1}*i - {2**50 - 1}*j + {2**50 + 3}*k])"
    )
    for kind in ("llvm", "cuda"):
        numbers = map(int, re.findall(r"(?<![\w.])\d+(?![\w.])", f.derivative().emit(kind)))
        assert max(numbers) < 2**63
