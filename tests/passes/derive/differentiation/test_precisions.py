"""Derivatives of definitions that compare values of several precisions.

A derivative compares again what the value has compared. It must do so in the same precision:
elements that are apart in float64 may be equal in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

import tadc

DTYPES = {"f32": np.float32, "f64": np.float64}

EXTREMA = {"max": np.max, "min": np.min}
CHOICES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "abs": ("abs(x[i, k] - w[k])", np.sign),
    "relu": ("relu(x[i, k] - w[k])", lambda v: np.heaviside(v, 0)),
    "max": ("max(x[i, k] - w[k], 0)", lambda v: (1 + np.sign(v)) / 2),
    "min": ("min(x[i, k] - w[k], 0)", lambda v: (1 - np.sign(v)) / 2),
    "choice": (
        "3 * (x[i, k] - w[k]) if x[i, k] - w[k] > 0 else x[i, k]",
        lambda v: 1 + 2 * (v > 0),
    ),
}
"""Formulas, and the slope by `x` as a function of `x - w`."""

KINDS = list(product(DTYPES, repeat=3))
TARGETS = ["cpu", "interpret"]


def arguments(x: str, w: str) -> tuple[np.ndarray, np.ndarray]:
    """Tensors whose differences are 0 in float32 or in float64, or in none."""
    rng = np.random.default_rng(0)
    columns = rng.integers(1, 4, 6).astype(DTYPES[w])
    steps = rng.choice([-1.0, -1e-12, 0.0, 1e-12, 1.0], (5, 6))
    return (columns + steps).astype(DTYPES[x]), columns


def differences(x: np.ndarray, w: np.ndarray, result: str) -> np.ndarray:
    """The differences `x - w`, of shape (N, K), in the precision of the result."""
    return x.astype(DTYPES[result]) - w.astype(DTYPES[result])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("extremum", EXTREMA)
@pytest.mark.parametrize(("x", "w", "m"), KINDS)
def test_the_terms_of_an_extremum_are_found(x: str, w: str, m: str, extremum: str, target: str):
    source = f"x: {x}[N, K]\nw: {w}[K]\nm: {m}[N]\nm[i] = {extremum}[k](x[i, k] - w[k])"
    f = tadc.compile(source, target=target)
    a, b = arguments(x, w)
    terms = differences(a, b, m)
    shares = terms == EXTREMA[extremum](terms, axis=1, keepdims=True)
    shares = shares / shares.sum(axis=1, keepdims=True)

    value, pullback = tadc.vjp(f, a, b)
    dx, dw = pullback(np.ones_like(value))
    np.testing.assert_allclose(dx, shares, rtol=1e-6)
    np.testing.assert_allclose(dw, -shares.sum(axis=0), rtol=1e-6)
    assert (dx.dtype, dw.dtype) == (a.dtype, b.dtype)
    tangents = np.arange(30.0).reshape(5, 6).astype(a.dtype)
    _, found = tadc.jvp(f, (a, b), (tangents, np.zeros_like(b)))
    np.testing.assert_allclose(found, (shares * tangents).sum(axis=1), rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("formula", CHOICES)
@pytest.mark.parametrize(("x", "w", "y"), KINDS)
def test_a_derivative_takes_the_side_of_the_value(
    x: str, w: str, y: str, formula: str, target: str
):
    text, slope = CHOICES[formula]
    f = tadc.compile(f"x: {x}[N, K]\nw: {w}[K]\ny: {y}[N, K]\ny[i, k] = {text}", target=target)
    a, b = arguments(x, w)
    expected = slope(differences(a, b, y))

    value, pullback = tadc.vjp(f, a, b)
    dx, dw = pullback(np.ones_like(value))
    np.testing.assert_array_equal(dx, expected)
    if formula != "choice":  # there, `w` stands on one side alone
        np.testing.assert_array_equal(dw, -expected.sum(axis=0))
    _, found = tadc.jvp(f, (a, b), (np.ones_like(a), np.zeros_like(b)))
    np.testing.assert_array_equal(found, expected)


def test_second_derivatives_find_the_terms():
    """The gradient of a product of extrema is one of elements that the first one has compared."""
    source = "x: f64[N, K]\nm: f32[N]\nm[i] = max[k](x[i, k])\ns: f32[]\ns = sum[i](m[i]**2)"
    f = tadc.compile(source)
    x = np.random.default_rng(1).standard_normal((4, 7))
    gradient = tadc.grad(f, wrt=("x",))
    _, rows = tadc.jvp(gradient, (x,), (np.ones_like(x),))
    np.testing.assert_allclose(rows, 2.0 * (x == x.max(axis=1, keepdims=True)))


def test_one_precision_needs_no_other_tensor():
    text = str(tadc.compile("m[i] = max[k](x[i, k] - w[k])").derivative("w"))
    assert "dw_" not in text
