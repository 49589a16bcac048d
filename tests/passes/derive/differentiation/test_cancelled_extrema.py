"""Extrema that results do not depend on: found, and only these, by adding something to them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

import tadc
from tadc.passes.derive.differentiation.cancelled_extrema import cancelled_extrema
from tadc.passes.rewriting.programs import label_of
from tests.support.derivations import Case, assert_derivative, interpret

SCORES = "s[i, j] = sum[d](x[i, d] * x[j, d]) * 0.125\nm[i] = max[j in range(i + 1)](s[i, j]){t}\n"
ROWS = "m[i] = max[k](x[i, k]){t}\n"
COLUMNS = "m[k] = max[i](x[i, k]){t}\n"

CANCELLED = {
    "softmax": ROWS + "e[i, j] = exp(x[i, j] - m[i])\ny[i, j] = e[i, j] / sum[k](e[i, k])",
    "softmax of columns": COLUMNS
    + "e[i, j] = exp(x[i, j] - m[j])\ny[i, j] = e[i, j] / sum[k](e[k, j])",
    "logarithm of sums": ROWS + "y[i] = m[i] + log(sum[k](exp(x[i, k] - m[i])))",
    "log-softmax": ROWS + "y[i, j] = x[i, j] - m[i] - log(sum[k](exp(x[i, k] - m[i])))",
    "colder": ROWS + "e[i, j] = exp((x[i, j] - m[i]) / 0.1)\ny[i, j] = e[i, j] / sum[k](e[i, k])",
    "minus the minimum": "m[i] = min[k](-x[i, k]){t}\n"
    "y[i] = log(sum[k](exp(x[i, k] + m[i]))) - m[i]",
    "causal attention": SCORES + "e[i, j] = exp(s[i, j] - m[i]) if j <= i else 0\n"
    "y[i, d] = sum[j](e[i, j] * x[j, d]) / sum[j](e[i, j])",
    "one for all": "m = max[i, k](x[i, k]){t}\ny[i] = m + log(sum[k](exp(x[i, k] - m)))",
    "powers": ROWS + "z[i] = sum[k](exp(x[i, k] - m[i]))\n"
    "y[i] = sqrt(sum[k](exp(x[i, k] - m[i])**2) / z[i]**2) + abs(z[i]) / z[i]",
    "the largest of two": ROWS + "z[i] = sum[k](exp(x[i, k] - m[i]))\n"
    "y[i] = log(max(z[i], 0)) + max(m[i], m[i] - 1)",
    "backwards": "x: f64[5, 5]\n"
    + ROWS
    + "z[i] = sum[k](exp(x[i, k] - m[i]))\ny[i] = m[4 - i] + log(z[4 - i])",
}

NOT_CANCELLED = {
    "returned": ROWS + "y[i] = log(sum[k](exp(x[i, k] - m[i])))",
    "twice": ROWS + "y[i] = 2 * m[i] + log(sum[k](exp(x[i, k] - m[i])))",
    "of another row": "x: f64[5, 5]\n"
    + ROWS
    + "y[i] = m[4 - i] + log(sum[k](exp(x[i, k] - m[i])))",
    "within a sum": ROWS + "y[i] = m[i] + log(sum[k](exp(x[k, i] - m[k])))",
    "sums of shifts": ROWS + "y[i] = sum[k](x[i, k] - m[i])",
    "a product": ROWS + "y[i] = m[i] * sum[k](x[i, k])",
    "and a number": ROWS + "z[i] = 1 + sum[k](exp(x[i, k] - m[i]))\ny[i] = m[i] + log(z[i])",
    "a branch": ROWS + "y[i] = x[i, 0] - m[i] if i < 2 else x[i, 0]",
    "the largest of factors and others": ROWS + "y[i] = max(exp(x[i, 0] - m[i]), 0.5) * exp(m[i])",
    "twice on a diagonal": ROWS + "f[i, j] = m[i] + m[j]\ny[i] = f[i, i] - m[i]",
    "a sine": ROWS + "y[i] = sin(m[i]) - m[i]",
    "a quotient of indices": ROWS + "y[i] = sum[k](m[k // 2] - m[i])",
}

X = np.random.default_rng(0).standard_normal((5, 5))


def cancelled(source: str) -> set[str]:
    """The labels of the extrema that are found."""
    program = tadc.compile(source.format(t="")).program.op
    return {label_of(tensor) for tensor in cancelled_extrema(program, program.returned)}


def change(source: str) -> float:
    """By how much the result changes, of its size, when t is added to the extremum."""
    (line,) = (line for line in source.splitlines() if "{t}" in line)
    indices = line.split(" = ")[0].removeprefix("m")
    before = tadc.compile(source.format(t=""), target="interpret")(X)
    shifted = tadc.compile(source.format(t=f" + t{indices}"), target="interpret")
    t = np.random.default_rng(1).uniform(-1, 1, (5,) if indices else ())
    with np.errstate(all="ignore"):
        return float(np.max(np.abs(shifted(x=X, t=t) - before)) / np.max(np.abs(before)))


@pytest.mark.parametrize("name", CANCELLED)
def test_extrema_that_cancel_are_found(name: str) -> None:
    assert change(CANCELLED[name]) < 1e-12
    assert cancelled(CANCELLED[name]) == {"m"}


@pytest.mark.parametrize("name", NOT_CANCELLED)
def test_extrema_that_do_not_cancel_are_not(name: str) -> None:
    assert change(NOT_CANCELLED[name]) > 0.01
    assert not cancelled(NOT_CANCELLED[name])


def random_value(rng: random.Random, depth: int) -> str:
    """Text of a value at i, of x and m and what keeps shifts, as often as not."""
    if not depth:
        return rng.choice(["x[i, 0]", "m[i]", "z[i]", "1.5", "0", "(x[i, 1] - m[i])"])
    u, v = random_value(rng, depth - 1), random_value(rng, rng.randrange(depth))
    forms = "{u} + {v}|{u} - {v}|{u} * {v}|exp({u})|log({u})|2 * {u}|{u} / {v}|sqrt({u})|{u} ** 2"
    forms += "|max({u}, {v})|({u} if i < 2 else {v})|({u} if x[i, 0] < 0 else {v})|-{u}|abs({u})"
    return "(" + rng.choice(forms.split("|")).format(u=u, v=v) + ")"


@pytest.mark.parametrize("block", range(4))
def test_random_values_are_free_of_what_is_found(block: int) -> None:
    """Some cancel, written with m; what is no number says nothing."""
    cancelling = 0
    for seed in range(50 * block, 50 * block + 50):
        rng = random.Random(seed)
        first = random_value(rng, rng.randrange(1, 4))
        z = rng.choice(["m[i]", "exp(x[i, 2] - m[i])", "sum[k](exp(m[i] - x[i, k]))"])
        for last in (first, f"({first}) * z[i]", f"({first}) / z[i]", f"({first}) - z[i]"):
            source = f"{ROWS}z[i] = {z}\ny[i in range(5)] = {last}"
            if "m" in cancelled(source):
                assert not change(source) > 1e-6, f"seed {seed}: {source}"
                cancelling += last.count("m[") + last.count("z[") > 1
    assert cancelling


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("name", [*CANCELLED, *NOT_CANCELLED])
def test_derivatives_equal_differences(name: str, mode: str) -> None:
    case = Case((CANCELLED | NOT_CANCELLED)[name].format(t=""), {"x": X})

    def call(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        return interpret(case.function.program.op, arrays)

    if mode == "reverse":
        (gradient,) = case.interpreted.derivative().call(case.inputs, {})
    else:
        unit = np.eye(X.size).reshape(X.size, *X.shape)
        forward = case.interpreted.forward()
        tangents = [forward.call([X, tangent], {})[0] for tangent in unit]
        gradient = np.reshape([np.vdot(case.adjoints[0], t) for t in tangents], X.shape)
    assert_derivative(call, [X], case.adjoints, [gradient], name)


def test_an_adjoint_is_observed_where_a_maximum_cancels() -> None:
    f = tadc.compile(CANCELLED["softmax"].format(t=""))
    seen: dict[str, np.ndarray] = {}
    y, pullback = tadc.vjp(f, X)
    (dx,) = pullback(np.cos(X), observe=seen.__setitem__)
    np.testing.assert_allclose(seen["m"], np.zeros(5), atol=1e-15)
    np.testing.assert_allclose(dx, y * (np.cos(X) - (np.cos(X) * y).sum(1)[:, None]), atol=1e-15)
