"""Every construct of the language: it runs, its derivative is right, and misuse is explained.

What a program means is written in NumPy here; derivatives are compared with differences of that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import tadc
from tadc import errors
from tests.support.derivations import assert_close, central_differences

Meaning = Callable[..., object]


@dataclass
class Example:
    """A program, the shapes of its arguments, and what it means."""

    source: str
    shapes: tuple[tuple[int, ...], ...]
    meaning: Meaning
    low: float = -1.0
    high: float = 1.0


def padded(x: np.ndarray, i: int, otherwise: float = 0.0) -> float:
    return float(x[i]) if 0 <= i < len(x) else otherwise


def elementwise(word: str, function: Meaning, low: float = -0.9, high: float = 0.9) -> Example:
    return Example(f"y[i] = {word}", ((5,),), function, low, high)


SIGMOID = lambda x: 1 / (1 + np.exp(-x))
ERF = np.vectorize(math.erf)

EXAMPLES: dict[str, Example] = {
    # declarations
    "numbers": Example("x: f64[3, 2]\ny[i] = x[i, 0]**2", ((3, 2),), lambda x: x[:, 0] ** 2),
    "scalar": Example("s: f64[]\nx: f64[N]\ny[i] = s * x[i]", ((), (4,)), lambda s, x: s * x),
    "affine size": Example(
        "x: f64[N + 1]\nw: f64[N]\ny[i in range(N)] = w[i] * (x[i + 1] - x[i])",
        ((5,), (4,)),
        lambda x, w: w * np.diff(x),
    ),
    "undeclared": Example(
        "y[i] = sum[k](w[k] * x[i + k])", ((3,), (7,)), lambda w, x: np.correlate(x, w, "valid")
    ),
    # definitions
    "range": Example(
        "y[i in range(3), j] = x[i] * w[j]", ((5,), (2,)), lambda x, w: np.outer(x[:3], w)
    ),
    "scalar result": Example("s = sum[i](x[i]**3)", ((4,),), lambda x: np.sum(x**3)),
    "several": Example(
        "s = sum[i](x[i])\ny[i] = x[i] / (3 + s)", ((4,),), lambda x: x / (3 + np.sum(x))
    ),
    # updates
    "updates": Example(
        "p: f64[N]\nx: f64[N]\np[i] += x[i]\np[i] -= 2 * p[N - 1 - i]\np[i] *= x[i]\np[i] /= 3",
        ((4,), (4,)),
        lambda p, x: ((p + x) - 2 * (p + x)[::-1]) * x / 3,
    ),
    "new version": Example(
        "p: f64[N]\nq: f64[N]\n"
        "p[i] = q[i]**2 + pad(p[i - 1])\nq[i] = p[i] * q[i]\ns = sum[i](p[i])",
        ((4,), (4,)),
        lambda p, q: (
            q**2 + np.append(0, p[:-1]),
            (q**2 + np.append(0, p[:-1])) * q,
            np.sum(q**2 + np.append(0, p[:-1])),
        ),
    ),
    "update of a definition": Example(
        "h[i] = x[i]**2\nh[i] += x[i]\nh[i] += h[i] * x[0]",
        ((4,),),
        lambda x: (x**2 + x) * (1 + x[0]),
    ),
    "update of a scalar": Example(
        "s += sum[i](x[i])\ns /= 4", ((), (3,)), lambda s, x: (s + np.sum(x)) / 4
    ),
    # reductions
    "bounds": Example(
        "y[i in range(4)] = sum[k in range(max(0, i - 2), min(5, i + 1)), l](x[k, l] * w[l])",
        ((5, 2), (2,)),
        lambda x, w: np.array([np.sum(x[max(0, i - 2) : min(5, i + 1)] @ w) for i in range(4)]),
    ),
    "max": Example("y[i] = max[k](x[i, k] * w[k])", ((3, 4), (4,)), lambda x, w: np.max(x * w, 1)),
    "min": Example(
        "y[i] = exp(min[k in range(i, 4)](x[i, k]))",
        ((3, 4),),
        lambda x: np.exp([np.min(x[i, i:]) for i in range(3)]),
    ),
    "prod": Example(
        "y[i] = prod[k, l](x[k, l] + w[i])",
        ((2, 3), (2,)),
        lambda x, w: [np.prod(x + v) for v in w],
    ),
    "empty sum": Example("y[i] = x[i] + sum[k in range(0)](x[k])", ((3,),), lambda x: x),
    "empty product": Example("y[i] = x[i] * prod[k in range(i, i)](x[k])", ((3,),), lambda x: x),
    # elements
    "affine index": Example(
        "y[i in range(3), k in range(2)] = x[2*i - k + 1, 0]",
        ((6, 2),),
        lambda x: np.array([[x[2 * i - k + 1, 0] for k in range(2)] for i in range(3)]),
    ),
    "size in an index": Example(
        "x: f64[N]\ny[i in range(N)] = x[N - 1 - i]**2", ((4,),), lambda x: x[::-1] ** 2
    ),
    "quotients": Example(
        "y[i in range(6)] = x[i // 2] * w[i % 3] * x[(-i) // 4 + 2]",
        ((3,), (3,)),
        lambda x, w: np.array([x[i // 2] * w[i % 3] * x[-i // 4 + 2] for i in range(6)]),
    ),
    # padding
    "pad": Example(
        "y[i] = sum[k in range(3)](pad(x[i + k - 1]) * w[i])",
        ((4,), (4,)),
        lambda x, w: w * np.convolve(x, np.ones(3), "same"),
    ),
    "pad with a value": Example(
        "y[i in range(5)] = x[i] * pad(x[i - 1], x[0])",
        ((5,),),
        lambda x: x * np.array([padded(x, i - 1, x[0]) for i in range(5)]),
    ),
    # conditions
    "condition on indices": Example(
        "y[i, k] = x[i, k] if i + k >= 3 and k != 0 else w[i]",
        ((3, 4), (3,)),
        lambda x, w: np.where(
            (np.add.outer(np.arange(3), np.arange(4)) >= 3) & (np.arange(4) != 0), x, w[:, None]
        ),
    ),
    "divisibility": Example(
        "y[i, j] = x[i] * w[j] if (i - j) % 2 == 0 else 0",
        ((3,), (4,)),
        lambda x, w: np.outer(x, w) * (np.subtract.outer(np.arange(3), np.arange(4)) % 2 == 0),
    ),
    "condition on values": Example(
        "y[i] = x[i]**2 if x[i] > w[i] else -w[i]",
        ((6,), (6,)),
        lambda x, w: np.where(x > w, x**2, -w),
    ),
    "condition on both": Example(
        "y[i] = x[i - 1] if i >= 1 and 0 < x[i] <= 0.5 else 2 * x[i]",
        ((8,),),
        lambda x: np.array(
            [x[i - 1] if i >= 1 and 0 < x[i] <= 0.5 else 2 * x[i] for i in range(8)]
        ),
    ),
    "not and or": Example(
        "y[i] = x[i] if not (i == 0 or x[i] > x[i - 1]) else 3 * x[i]**2",
        ((8,),),
        lambda x: np.array(
            [x[i] if not (i == 0 or x[i] > x[i - 1]) else 3 * x[i] ** 2 for i in range(8)]
        ),
    ),
    "root in a condition": Example(
        "y[i] = sqrt(x[i]) if x[i] > 0 else 0", ((6,),), lambda x: np.sqrt(np.maximum(x, 0))
    ),
    # indices as values
    "index as value": Example(
        "y[i] = x[i] * (i * 0.5) + i", ((4,),), lambda x: x * np.arange(4) / 2 + np.arange(4)
    ),
    "size as value": Example("x: f64[N]\ny = sum[i](x[i]) / N", ((4,),), np.mean),
    # operators
    "+ - * /": Example(
        "y[i] = (x[i] + w[i]) * x[i] - x[i] / w[i]",
        ((4,), (4,)),
        lambda x, w: (x + w) * x - x / w,
        0.5,
    ),
    "powers": Example(
        "y[i] = -x[i]**2 + x[i]**-1 + x[i]**0 + x[i]**w[i]",
        ((4,), (4,)),
        lambda x, w: -(x**2) + 1 / x + 1 + x**w,
        0.5,
    ),
    "abs": elementwise("abs(x[i])", np.abs),
    "sign": elementwise("sign(x[i]) * x[i]", np.abs),
    "sqrt": elementwise("sqrt(x[i])", np.sqrt, 0.2),
    "exp": elementwise("exp(x[i])", np.exp),
    "log": elementwise("log(x[i])", np.log, 0.2),
    "log10": elementwise("log10(x[i])", np.log10, 0.2),
    "log1p": elementwise("log1p(x[i])", np.log1p),
    "expm1": elementwise("expm1(x[i])", np.expm1),
    "sin": elementwise("sin(x[i])", np.sin),
    "cos": elementwise("cos(x[i])", np.cos),
    "tan": elementwise("tan(x[i])", np.tan),
    "asin": elementwise("asin(x[i])", np.arcsin),
    "acos": elementwise("acos(x[i])", np.arccos),
    "atan": elementwise("atan(x[i])", np.arctan),
    "atan2": Example("y[i] = atan2(x[i], w[i])", ((4,), (4,)), np.arctan2),
    "sinh": elementwise("sinh(x[i])", np.sinh),
    "cosh": elementwise("cosh(x[i])", np.cosh),
    "tanh": elementwise("tanh(x[i])", np.tanh),
    "erf": elementwise("erf(x[i])", ERF),
    "erfc": elementwise("erfc(x[i])", np.vectorize(math.erfc)),
    "floor": elementwise("floor(3 * x[i]) * x[i]", lambda x: np.floor(3 * x) * x),
    "ceil": elementwise("ceil(3 * x[i]) * x[i]", lambda x: np.ceil(3 * x) * x),
    "round": elementwise("round(3 * x[i]) * x[i]", lambda x: np.round(3 * x) * x),
    "sigmoid": elementwise("sigmoid(x[i])", SIGMOID),
    "relu": elementwise("relu(x[i])", lambda x: np.maximum(x, 0)),
    "max of values": Example(
        "y[i] = max(x[i], w[i], 0)", ((6,), (6,)), lambda x, w: np.maximum(np.maximum(x, w), 0)
    ),
    "min of values": Example("y[i] = min(x[i], w[i])", ((6,), (6,)), np.minimum),
    # results
    "return": Example(
        "f[i] = x[i]**2\ng = sum[i](f[i])\nreturn g, f", ((3,),), lambda x: (np.sum(x**2), x**2)
    ),
    "last ones": Example(
        "f[i] = x[i]**2\ng = sum[i](f[i])\nh[i] = x[i]", ((3,),), lambda x: (np.sum(x**2), x)
    ),
}


def as_list(value: object) -> list[np.ndarray]:
    return [np.asarray(v, np.float64) for v in (value if isinstance(value, tuple) else (value,))]


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_meaning_and_derivative(name: str, target: str) -> None:
    example = EXAMPLES[name]
    rng = np.random.default_rng(7)
    values = [np.asarray(rng.uniform(example.low, example.high, s)) for s in example.shapes]
    expected = as_list(example.meaning(*values))
    function = tadc.compile(example.source, target)
    assert_close(function.call(values, {}), expected, 1e-12, name)
    adjoints = [np.asarray(rng.uniform(-1, 1, e.shape)) for e in expected]
    found = function.derivative().call([*values, *adjoints], {})
    gradients, scale = central_differences(
        lambda changed: as_list(example.meaning(*changed)), values, adjoints
    )
    assert_close(found, gradients, 1e-7, name, max(1.0, scale))
    again = tadc.compile(str(function.derivative()), "interpret")
    assert_close(again.call([*values, *adjoints], {}), found, 1e-12, "its text")


# --- conventions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source, x, gradient",
    [
        ("y = abs(x[0])", [0.0], [0.0]),
        ("y = relu(x[0])", [0.0], [0.0]),
        ("y = x[0]**0", [0.0], [0.0]),
        ("y = x[0]**1 + x[0]**2 + x[0]**3", [0.0], [1.0]),
        ("y = max(x[0], x[1])", [2.0, 2.0], [0.5, 0.5]),
        ("y = max[i](x[i])", [1.0, 3.0, 3.0, 2.0], [0.0, 0.5, 0.5, 0.0]),
        ("y = min[i](x[i])", [1.0, 1.0, 1.0, 2.0], [1 / 3, 1 / 3, 1 / 3, 0.0]),
        ("y = max[i](sqrt(x[i]))", [0.0, 4.0], [0.0, 0.25]),
        ("y = prod[i](x[i])", [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
        ("y = prod[i](x[i])", [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
        ("y = sum[i](sqrt(x[i]) if x[i] > 0 else 0)", [0.0, 4.0], [0.0, 0.25]),
        ("y = sum[i](x[i]**2 if x[i] != 0 else 5 * x[i])", [0.0, 4.0], [5.0, 8.0]),
    ],
)
@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_derivatives_at_kinks_follow_the_conventions(
    source: str, x: list[float], gradient: list[float], target: str
) -> None:
    function = tadc.grad(tadc.compile(f"x: f64[{len(x)}]\n{source}", target))
    np.testing.assert_allclose(function(np.array(x)), gradient, rtol=1e-14)


def test_second_derivative_of_a_product_where_factors_are_zero() -> None:
    """Of `x0 x1 x2` by x0 and x1 is x2, whatever x0 and x1 are."""
    gradient = tadc.grad(tadc.compile("y = prod[i](x[i])"))
    second = gradient.derivative("x")
    found = [second(np.array([0.0, 0.0, 3.0]), np.eye(3)[n]) for n in range(3)]
    np.testing.assert_array_equal(found, [[0, 3, 0], [3, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("terms", [7, 64, 1000])
def test_terms_of_an_extremum_round_alike(dtype: type, terms: int) -> None:
    """The winner is found again: products and sums in a term round the same way both times."""
    function = tadc.compile("y[i] = max[k](sum[l](a[i, l] * b[l, k]) * c[k] + a[i, 0] * b[0, k])")
    rng = np.random.default_rng(terms)
    a, b, c = (rng.standard_normal(s).astype(dtype) for s in ((9, 5), (5, terms), (terms,)))
    y, pullback = tadc.vjp(function, a, b, c)
    _, _, dc = pullback(np.ones_like(y))
    dots = a.astype(np.float64) @ b.astype(np.float64)
    winner = np.argmax(dots * c + a[:, :1] * b[:1], 1)
    expected = np.zeros(terms)
    np.add.at(expected, winner, dots[np.arange(9), winner])
    np.testing.assert_allclose(dc, expected, rtol=1e-4 if dtype is np.float32 else 1e-12, atol=1e-5)


def test_extrema_of_nothing_are_infinite() -> None:
    function = tadc.compile("y = max[k](x[k])\nz = min[k](x[k])")
    assert function(np.zeros(0)) == (-np.inf, np.inf)


# --- updates --------------------------------------------------------------------------------------


def test_the_results_are_the_updated_arguments_and_what_is_not_read() -> None:
    function = tadc.compile("p[i] += x[i]\nu[i] = p[i]**2\nx[i] -= u[i]\nv[i] = u[i]")
    assert [t.name for t in function.args] == ["p", "x"]
    assert [t.name for t in function.results] == ["p", "x", "v"]
    derivative = function.derivative()
    assert [t.name for t in derivative.args] == ["p", "x", "dp", "dx", "dv"]
    assert [t.name for t in derivative.results] == ["dp", "dx"]
    assert [t.name for t in tadc.compile(str(derivative)).results] == ["dp", "dx"]


def test_a_derivative_that_does_not_read_an_adjoint_has_it_as_an_argument() -> None:
    derivative = tadc.compile("x: f64[4]\ns = x[0]\nx[i] = 9").derivative()
    again = tadc.compile(str(derivative))
    assert [t.name for t in again.args] == ["x", "dx", "ds"]
    inputs = np.arange(4.0), np.ones(4), 2.0
    np.testing.assert_array_equal(derivative(*inputs), [2, 0, 0, 0])
    np.testing.assert_array_equal(again(*inputs), [2, 0, 0, 0])


def test_arguments_that_are_updated_stay_what_they_are_for_the_caller() -> None:
    p = np.arange(3.0)
    new, pullback = tadc.vjp(tadc.compile("p[i] *= p[i]"), p)
    np.testing.assert_array_equal(p, [0, 1, 2])
    np.testing.assert_array_equal(new, [0, 1, 4])
    np.testing.assert_array_equal(pullback(np.ones(3)), [[0, 2, 4]])


# --- errors ---------------------------------------------------------------------------------------

ERRORS = [
    ("y[i] = x[i]\nx: f65[3]", "DtypeError", "f65"),
    ("y[i] = x[i]\nx: f64[N*M]", "AffineError", "multiplies"),
    ("y[i] = x[i]\nx: f64[3]\nx: f64[3]", "TadcSyntaxError", "declared twice"),
    ("y[i, i] = x[i]", "TadcSyntaxError", "index here already"),
    ("y[i in range(j)] = x[i]", "UnknownNameError", "j"),
    ("y[i in range(2, 5)] = x[i]", "RangeError", "from 0"),
    ("y[i] = x[0]", "RangeError", "range of i"),
    ("y[i] = sum[k](x[i])", "RangeError", "range of k"),
    ("y[i] = max[i](x[i])", "TadcSyntaxError", "index here already"),
    ("y[i] = prod(x[i])", "TadcSyntaxError", "indices"),
    ("y[i] = mean[k](x[i, k])", "TadcSyntaxError", "mean"),
    ("y[i] = sum[k in range(0, 3, 2)](x[i, k])", "TadcSyntaxError", "one or two ends"),
    ("y[i] = x[i, x[i, 0]]", "RangeError", "elements of x cannot be inferred"),
    ("y[i] = x[i // k]", "UnknownNameError", "k"),
    ("y[i] = x[i // 0]", "AffineError", "positive integer"),
    ("y[i] = pad(x)", "TadcSyntaxError", "pad takes"),
    ("y[i] = x[i] if i else 0", "TadcSyntaxError", "not a condition"),
    ("y[i] = x[i] if x[i] else 0", "TadcSyntaxError", "not a condition"),
    ("y[i] = x[i] > 0", "TadcSyntaxError", "not a value"),
    ("y[i] = x[i] if 0 <= x[i] in x else 0", "TadcSyntaxError", "compare by"),
    ("x: f64[4]\ny[i in range(4)] = x[i + 1] if x[i] > 0 else 0", "RangeError", "x[i + 1]"),
    (
        "x: f64[4]\ny[i in range(4)] = x[i + 1] if i < 3 or x[i] > 0 else 0",
        "RangeError",
        "x[i + 1]",
    ),
    ("y[i] = exp(x[i], 2)", "RankError", "one argument"),
    ("y[i] = gamma(x[i])", "UnknownNameError", "gamma"),
    ("y[i] = x[i] @ x[i]", "TadcSyntaxError", "operator"),
    ("y[i] = x[i]\nreturn z", "UnknownNameError", "z"),
    ("y[i] = x[i]\nreturn x", "TadcSyntaxError", "argument"),
]


@pytest.mark.parametrize("source, kind, message", ERRORS)
def test_misuse_is_explained(source: str, kind: str, message: str) -> None:
    with pytest.raises(getattr(errors, kind)) as caught:
        tadc.compile(source)
    assert message in str(caught.value)
    assert caught.value.line == source.count("\n") + 1
    assert caught.value.column is not None and caught.value.column >= 1
