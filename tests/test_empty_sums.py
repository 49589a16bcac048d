"""An empty sum is 0 in values, gradients and tangents, whatever its terms would be."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tadc.passes.derive.differentiate import DifferentiatePass
from tadc.support.ir_text import context
from tests.support.campaign import seeds
from tests.support.derivations import interpret, program_of
from tests.support.special_values import assert_same

RANGES = (
    *("range(i)", "range(i + 1, N)", "range(max(0, i - 2), i)", "range(2*i, N)"),
    *("range(i // 2)", "range(max(0, i - 1), min(N, 3))", "range(i, min(N, i + 3))"),
)
FACTORS = (
    *("a[i]", "b[l]", "c[i, l]", "a[i]**2", "sin(a[i])", "exp(b[l])"),
    *("(a[i] + b[l])", "(a[i] - b[i])", "abs(a[i])"),
)


def random_sum(rng: random.Random) -> str:
    kind = rng.choice(("sum", "sum", "sum", "max", "prod"))
    factors = " * ".join(rng.sample(FACTORS, rng.randint(1, 3)))
    return f"{kind}[l in {rng.choice(RANGES)}]({factors})"


def random_program(rng: random.Random) -> str:
    first, second, within = random_sum(rng), random_sum(rng), rng.choice(RANGES)
    lines = rng.choice(
        (
            f"y[i in range(N)] = {first}",
            f"y[i in range(N)] = {first} + {second}",
            f"y[i in range(N)] = a[i] * {first}",
            f"u[i in range(N)] = {first}\ny[i] = sum[l in {within}](u[l] * a[i] * c[i, l])",
        )
    )
    return f"a: f64[N]\nb: f64[N]\nc: f64[N, N]\n{lines}\n"


def numbers(rng: np.random.Generator, shape: tuple[int, ...], special: float) -> np.ndarray:
    """Small integers, of which a share is NaN or infinite."""
    found = rng.integers(-2, 3, shape).astype(float)
    return np.where(rng.random(shape) < special, rng.choice([np.nan, np.inf]), found)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", seeds(12, of=400))
def test_empty_sums_read_nothing(seed: int):
    """Against the interpreter, of programs and derivatives in which no factor has moved."""
    rng, draw = random.Random(seed), np.random.default_rng(seed)
    f = tadc.compile(random_program(rng))
    derivative = f.program.module.clone()
    DifferentiatePass(()).apply(context(), derivative)
    size = rng.choice((1, 6, 40))
    shapes = [(size,) * len(tensor.shape) for tensor in f.args]

    special = [numbers(draw, shape, 0.05) for shape in shapes]
    assert_same(f(*special), interpret(program_of(f.program.module), special)[0])

    arguments = [numbers(draw, shape, 0.0) for shape in shapes]
    value, pullback = tadc.vjp(f, *arguments)
    adjoint = numbers(draw, value.shape, 0.2)
    expected = interpret(program_of(derivative), [*arguments, adjoint])
    for found, gradient in zip(pullback(adjoint), expected, strict=True):
        assert_same(found, gradient)


def test_indices_of_a_sum_with_steps_stay_inside():
    """A factor that is a number leaves such a sum; one that is an index of the sum does not."""
    f = tadc.compile("y[i] = sum[k](w[k] * x[4*i + 2*k]**2 * i * (k + 1))")
    rng = np.random.default_rng(0)
    w, x = rng.standard_normal(3), rng.standard_normal(30)
    value, pullback = tadc.vjp(f, w, x)
    dy = rng.standard_normal(value.shape)
    dw, dx = np.zeros(3), np.zeros(30)
    for i in range(len(value)):
        for k in range(3):
            at = 4 * i + 2 * k
            dw[k] += dy[i] * x[at] ** 2 * i * (k + 1)
            dx[at] += dy[i] * w[k] * 2 * x[at] * i * (k + 1)
    for found, expected in zip(pullback(dy), (dw, dx), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_what_no_term_reads_reaches_nothing(target: str):
    f = tadc.compile("y[i] = sum[l in range(i)](x[i] * w[l])", target=target)
    x, w = np.array([np.nan, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])
    value, pullback = tadc.vjp(f, x, w)
    assert value.tolist() == [0, 1, 6]
    dx, dw = pullback(np.array([np.inf, 1.0, 1.0]))
    assert dx.tolist() == [0, 1, 3]
    assert dw.tolist() == [3, 2, 0]
    _, tangent = tadc.jvp(f, (x, w), (np.ones(3), np.zeros(3)))
    assert tangent.tolist() == [0, 1, 3]


@pytest.mark.parametrize("target", ["cpu", "interpret"])
@pytest.mark.parametrize("extremum", ["max", "min"])
def test_the_tangent_of_an_extremum_of_nothing_is_0(extremum: str, target: str):
    f = tadc.compile(f"m[i] = {extremum}[k](x[i, k])", target=target)
    x = np.zeros((3, 0))
    value, tangent = tadc.jvp(f, (x,), (x,))
    assert np.isinf(value).all()
    assert tangent.tolist() == [0, 0, 0]
    _, pullback = tadc.vjp(f, x)
    assert pullback(np.ones(3))[0].shape == (3, 0)
