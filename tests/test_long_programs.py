"""Programs of many terms: derived, called and printed, whatever their length."""

from __future__ import annotations

import numpy as np
import pytest

import tadc


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).uniform(0.99, 1.01, 9)


def test_a_long_sum(x: np.ndarray) -> None:
    derivative = tadc.compile("x: f64[9]\ny = " + " + ".join(["x[0]*2"] * 1000)).derivative()
    assert derivative(x, 1.0).tolist() == [2000.0] + [0.0] * 8


def test_a_long_difference(x: np.ndarray) -> None:
    f = tadc.compile("x: f64[9]\ny = x[1]" + " - x[0] + x[1]" * 150)
    assert f.derivative()(x, 1.0).tolist() == [-150.0, 151.0] + [0.0] * 7


def test_a_long_product(x: np.ndarray) -> None:
    f = tadc.compile("x: f64[9]\ny = " + " * ".join(f"x[{k % 9}]" for k in range(45)))
    np.testing.assert_allclose(f.derivative()(x, 1.0), 5 * f(x) / x, rtol=1e-12)


def test_a_long_mixture(x: np.ndarray) -> None:
    f = tadc.compile("x: f64[9]\ny = x[0]" + " + x[1]*2 - x[2] * x[3] / x[4]" * 50)
    a, _, c, d, e = x[:5]
    known = [1, 100, -50 * d / e, -50 * c / e, 50 * c * d / e**2, 0, 0, 0, 0]
    np.testing.assert_allclose(f.derivative()(x, 1.0), known, rtol=1e-12)


def test_a_long_product_in_a_sum(x: np.ndarray) -> None:
    f = tadc.compile("x: f64[9]\ny = sum[i](" + " * ".join(["x[i]"] * 40) + ")")
    np.testing.assert_allclose(f.derivative()(x, 1.0), 40 * x**39, rtol=1e-12)
