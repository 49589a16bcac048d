"""Programs whose derivatives were wrong, slow or refused once."""

from __future__ import annotations

import time

import numpy as np
import pytest

import tadc
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.index_sets.disjuncts import complement, disjoint
from tadc.runtime import size_class
from tests.support.derivations import (
    Case,
    assert_close,
    central_differences,
    derivative_stages,
    interpret,
)
from tests.support.derivations import program_of as first_program


def check_gradients(source: str, **arguments: np.ndarray) -> list[np.ndarray]:
    """The derivative on the CPU and after every pass against finite differences."""
    case = Case(source, arguments)
    f = case.function
    expected, _ = central_differences(lambda v: f.call(v, {}), case.values, case.adjoints)
    for name, module in derivative_stages(f.program.module):
        assert_close(interpret(first_program(module), case.inputs), expected, 1e-7, name)
    gradients = f.derivative().call(case.inputs, {})
    assert_close(gradients, expected, 1e-7, "cpu")
    return gradients


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.5, 1.5, shape)


def test_a_lifted_sum_reads_nothing_where_the_sum_around_it_is_empty() -> None:
    inner = "sum[q in range(j, min(4, j + i + 2))](x[j])"
    source = f"f[i in range(4), j in range(3)] = sum[p in range(max(1, i + j), 2)](cos({inner}))"
    check_gradients(source, x=numbers(2))


def test_a_lifted_sum_reads_nothing_where_an_argument_is_empty() -> None:
    source = "f[j in range(4)] = sum[i](a[i] * log(sum[k](x[j + k] * w[k])))"
    assert "f_sum" in tadc.compile(source).ir("derivative"), "it must not be computed for each i"
    check_gradients(source, a=numbers(2), x=numbers(12), w=numbers(9))
    gradients = check_gradients(source, a=numbers(0), x=numbers(1), w=numbers(9))
    assert [float(g.sum()) for g in gradients] == [0, 0, 0]


@pytest.mark.parametrize("factor", ["exp(x[j])", "1 / x[j]", "log(x[j])", "x[j]**-2"])
def test_factors_that_are_not_finite_do_not_multiply_empty_sums(factor: str) -> None:
    """The element 0 of `f` is an empty sum: `x[0]` must not matter."""
    source = f"x: f64[N]\ny: f64[M]\nf[j] = sum[i in range(j)](y[i] * {factor})"
    for first in (0.0, 2000.0):
        x = np.array([first, 0.25, 0.125])
        dx, dy = tadc.vjp(tadc.compile(source), x, numbers(2))[1](np.ones(3))
        assert dx[0] == 0 and np.all(np.isfinite(dx)) and np.all(np.isfinite(dy))
    check_gradients(source, x=numbers(3), y=numbers(2))


def test_conditions_are_cut_into_few_pieces() -> None:
    """Six disjuncts that overlap: without a look at which are empty, hundreds of sums."""
    i, j = Affine.of("i"), Affine.of("j")
    first = [[Constraint(i - n, equality=n % 2 == 0), Constraint(j - n)] for n in range(3)]
    second = [[Constraint(i - n), Constraint(-j + n)] for n in range(3)]
    assert len(complement(first + second)) <= 12
    assert len(disjoint(first + second)) <= 16
    source = """
x: f64[4, 1]
y: f64[12]
f[i in range(1), j in range(2), k in range(3)] = (
    sum[p in range(4)](x[p, 2*i] * y[4*k - p + 3])
    if (-3*k - 3*j >= -3 or (i - k) // 2 == 0 or (i + k) // 2 >= 0) and -3*k - 3*j != -7
    else x[3*k + 3*j - 9, 0]
)
"""
    start = time.process_time()
    check_gradients(source, x=numbers(4, 1), y=numbers(12))
    assert time.process_time() - start < 10


def test_an_index_without_an_integer_value_removes_its_sum() -> None:
    """At `i = 0` the `else` holds where `3 * j == 1`, nowhere: `y[0, 3]` must not be read."""
    source = """
h[i in range(3), j in range(3)] = (
    x[0] if (i >= 1 or 2*j + i < 5) and 2*i - 3*j != -1 else y[0, -2*j - i + 3] * z
)
"""
    check_gradients(source, x=numbers(1), y=numbers(1, 1), z=numbers())


def test_a_choice_in_a_product_that_is_decided_by_a_quotient() -> None:
    factor = "a[p] if sin(y) > 0 else 0 if j % 2 != 0 else 1"
    source = f"g[j in range(4)] = prod[p in range(2)]({factor})"
    check_gradients(source, a=numbers(2), y=numbers())


@pytest.mark.parametrize(
    "source",
    [
        "x: real[N]\ny[i] = x[2*i] + w[i + 1]\nz = sum[i](y[i] * 2) / N",
        "y[i, j] = x[i] if j < 5 and not (i == 1e0 or 2 == 1) else x[j] if i != j else 0",
        "r[i] = x\u0301 + sum[k](p[i, k])",
        "_3[_4] = sum[_5](_2[_5] * _4) + _2[_4]",
    ],
)
def test_derivatives_can_be_written(source: str) -> None:
    """The least of two sizes in a condition; a number compared with an index; an accent;
    names that are suffixes in the IR.
    """
    text = str(tadc.compile(source).derivative())
    assert str(tadc.compile(text)) == text


@pytest.mark.parametrize("depth", [20, 40])
def test_the_derivative_of_a_chain_grows_like_the_chain(depth: int) -> None:
    """Each level reads `x[i]` again: it is one read, with one adjoint."""
    chain, factors = "x[i]", " * ".join(["x[i]"] * depth)
    for _ in range(depth):
        chain = f"x[i] + sin({chain})"
    for source in (f"y[i] = {chain}", f"y[i] = {factors}"):
        function = tadc.compile(source)
        size = len(list(function.program.op.walk()))
        assert len(list(function.derivative().program.op.walk())) <= 6 * size
    check_gradients(f"y[i] = {chain}", x=numbers(2))


def test_conditions_on_indices_of_a_definition_in_the_making() -> None:
    source = """x: f64[]
y: f64[10]
z: f64[N, N]
f[i in range(3)] = abs(sin(sum[p in range(max(1, 2*i + 1), 5)](x - y[3*p - 3])) + 1.5)
g[i in range(N), j in range(1)] = min(sin((pad(y[j + 1]) if (i == 1 or (-i - j) % 3 == 0) and \
(2*j + 2*i) % 2 == 0 else f[j - i]) if (-i <= -1 or (-3*i) // 3 <= 1) or (-i) // 2 > 1 else 0), \
tanh(atan2(min(sin(f[j]), tanh(f[j]) - 2.5), 2 + (pad(z[i + 1, i - 2]) if -3 < sin(2) + 1.5 > 0 \
else pad(z[0, j - 1], 0.5))**2)) + 2.5)
x *= 0.5 * sin(x)
y[i] += 0.5"""
    check_gradients(source, x=numbers(), y=numbers(10), z=numbers(1, 1))


@pytest.mark.parametrize("declaration", ["x: f64[3]", "x: f64[N]"])
def test_loops_inside_of_loops_may_be_empty(declaration: str):
    f = tadc.compile(f"{declaration}\ny[i, j in range(0)] = x[i]")
    y, pullback = tadc.vjp(f, np.ones(3))
    assert y.shape == (3, 0)
    assert np.array_equal(pullback(y)[0], np.zeros(3))


def test_phases_with_guarded_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A phase stands alone: what is there ahead of a guard is asked of no program around it."""
    monkeypatch.setattr(size_class, "MOST_WORK_WITHOUT_TILES", -1)
    source = (
        "x: f32[2*N]\nz: f32[M]\nv: f32[N, M + N - 1]\ns: f32[]\nw: f32[34, 2*N + 2]\n"
        "y[i in range(N), j in range(N), k in range(M)] = "
        "(v[i, k + i] * s if z[M - 1 - k] > 0 else "
        "(w[N - 1 - j, 2*i + 3] if 0 <= N - 1 - j < 34 else 1))"
        " if x[2*i + 1] > 0 else erf(x[N - 1 - i]) - v[j, i]\n"
        "u[i in range(3)] = log1p((i * 0.25)**2)"
    )
    rng = np.random.default_rng(0)
    shapes = {"x": 14, "z": 31, "v": (7, 37), "s": (), "w": (34, 16)}
    arguments = {n: np.asarray(rng.normal(size=size), np.float32) for n, size in shapes.items()}
    f = tadc.compile(source)
    values = [arguments[t.name] for t in f.args]
    adjoints = np.ones((7, 7, 31), np.float32), np.ones(3, np.float32)
    found, wanted = (tadc.vjp(g, *values)[1](*adjoints) for g in (f, f.with_target("interpret")))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_a_sum_over_rows_before_all_rows() -> None:
    """The overlap of boxes: a nest whose first member has no rows of its own."""
    source = (
        "w[i, j] = max(min(a[i, 2], b[j, 2]) - max(a[i, 0], b[j, 0]), 0)"
        " * max(min(a[i, 3], b[j, 3]) - max(a[i, 1], b[j, 1]), 0)\n"
        "y[i, j] = w[i, j] / ((a[i, 2] - a[i, 0]) * (a[i, 3] - a[i, 1])"
        " + (b[j, 2] - b[j, 0]) * (b[j, 3] - b[j, 1]) - w[i, j])"
    )
    rng = np.random.default_rng(0)
    boxes = [np.cumsum(rng.random((n, 2, 2)), 1).reshape(n, 4) for n in (305, 306)]
    f = tadc.compile(source)
    dy = np.ones((305, 306))
    found, wanted = (tadc.vjp(g, *boxes)[1](dy) for g in (f, f.with_target("interpret")))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)
