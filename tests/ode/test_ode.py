"""The modes of differential equations, against closed forms and differences of the solution."""

from __future__ import annotations

import runpy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm, expm_frechet

import tadc
from tadc.ode import Flow, flow
from tests.support.campaign import seeds
from tests.support.paths import DOCS

LINEAR = """
x: f64[N]
A: f64[N, N]
y[i] = sum[j](A[i, j] * x[j])
"""
VAN_DER_POL = """
x: f64[]
v: f64[]
mu: f64[]
xdot = v
vdot = mu * (1 - x**2) * v - x
"""
PENDULUM = """
q: f64[N]
p: f64[N]
damping: f64[]
qdot[i] = p[i]
pdot[i] = -sin(q[i]) - damping * p[i]
"""
LOTKA_VOLTERRA = """
x: f64[2]
r: f64[2, 2]
y[i] = x[i] * (r[i, 0] - r[i, 1] * x[1 - i]) * (1 - 2*i)
"""
REACTION_DIFFUSION = """
u: f64[N, N]
d: f64[]
rows[i in range(N), j in range(N)] = pad(u[i - 1, j]) - 2*u[i, j] + pad(u[i + 1, j])
columns[i in range(N), j in range(N)] = pad(u[i, j - 1]) - 2*u[i, j] + pad(u[i, j + 1])
y[i, j] = d * (rows[i, j] + columns[i, j]) + u[i, j] * (1 - u[i, j])
"""
FORCED = """
x: f64[2]
t: f64[]
w: f64[]
y[i] = (x[1] if i == 0 else -x[0] + cos(w * t)) + 0.1 * x[i] * t
"""


@dataclass(frozen=True)
class Case:
    """A flow with arguments, the state first."""

    name: str
    flow: Flow
    arguments: tuple[Any, ...]

    @property
    def states(self) -> int:
        return len(self.flow.state)

    def solution(self, state: Sequence[Any], *parameters: Any) -> Any:
        return flat(several(self.flow(*state, *parameters)))


def several(values: Any) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)


def flat(values: Sequence[Any]) -> Any:
    return np.concatenate([np.ravel(v) for v in values])


def cases() -> list[Case]:
    rng = np.random.default_rng(0)
    van_der_pol = flow(tadc.compile(VAN_DER_POL), 0, 2, state=("x", "v"))
    pendulum = flow(tadc.compile(PENDULUM), 0, 3, state=("q", "p"))
    lotka_volterra = flow(tadc.compile(LOTKA_VOLTERRA), 0, 4, state="x")
    reaction = flow(tadc.compile(REACTION_DIFFUSION), 0, 0.5, state="u")
    forced = flow(tadc.compile(FORCED), 0.5, 3, state="x", time="t")
    backwards = flow(tadc.compile(PENDULUM), 1, -1, state=("q", "p"))
    angles = rng.normal(size=3), rng.normal(size=3)
    rates = np.array([[1.1, 0.4], [0.4, 0.1]])
    return [
        Case("van der Pol", van_der_pol, (1.0, 0.5, 1.3)),
        Case("pendulum", pendulum, (*angles, 0.1)),
        Case("Lotka-Volterra", lotka_volterra, (np.array([10.0, 5.0]), rates)),
        Case("reaction-diffusion", reaction, (rng.uniform(size=(4, 4)), 0.7)),
        Case("forced", forced, (rng.normal(size=2), 1.7)),
        Case("backwards", backwards, (*angles, 0.1)),
    ]


CASES = cases()
each_case = pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)


def random_state(case: Case, seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=np.shape(a)) for a in case.arguments[: case.states])


def difference(case: Case, place: int, direction: Any, h: float = 1e-3) -> Any:
    """The derivative of the solution by an argument, by central differences of order 4."""

    def at(step: float) -> Any:
        arguments = list(case.arguments)
        arguments[place] = arguments[place] + step * direction
        return flat(several(case.flow(*arguments)))

    d1, d2 = ((at(k * h) - at(-k * h)) / (2 * k * h) for k in (1, 2))
    return (4 * d1 - d2) / 3


def jacobian(case: Case) -> Any:
    """By the state, one column for each of its elements, from differences."""
    columns: list[Any] = []
    for place in range(case.states):
        shape = np.shape(case.arguments[place])
        for k in range(int(np.prod(shape, dtype=int))):
            unit = np.zeros(shape)
            unit.flat[k] = 1
            columns.append(difference(case, place, unit))
    return np.array(columns).T


def close(actual: Any, expected: Any, tolerance: float) -> None:
    assert np.abs(actual - expected).max() <= tolerance * max(1, np.abs(expected).max())


# --- against closed forms and differences ---------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_linear_equations_have_the_modes_of_exponentials(seed: int):
    rng = np.random.default_rng(seed)
    n, t0, t1 = 4, 0.3, 1.5
    a, da, x, v = (rng.normal(size=s) for s in ((n, n), (n, n), n, n))
    exact, by_a = expm_frechet((t1 - t0) * a, (t1 - t0) * da)
    f = flow(tadc.compile(LINEAR), t0, t1, state="x")
    close(f(x, a), exact @ x, 1e-8)
    y, along = f.jvp((x, a), (v, da))
    close(y, exact @ x, 1e-8)
    close(along, exact @ v + by_a @ x, 1e-8)
    y, pullback = f.vjp(x, a)
    close(y, exact @ x, 1e-8)
    dx, d_a = pullback(v)
    close(dx, exact.T @ v, 1e-8)
    close(np.sum(d_a * da), v @ by_a @ x, 1e-8)
    (back,) = f.inverse_jvp((x, a), v)
    close(back, np.linalg.solve(exact, v), 1e-8)
    (back,) = f.inverse_vjp((x, a), (v,))
    close(back, np.linalg.solve(exact.T, v), 1e-8)
    sign, log = f.log_abs_det((x, a))
    assert sign == 1
    close(log, (t1 - t0) * np.trace(a), 1e-8)


@each_case
def test_modes_agree_with_differences_of_the_solution(case: Case):
    dense = jacobian(case)
    v, w = random_state(case, 1), random_state(case, 2)
    rest = [None] * (len(case.arguments) - case.states)
    y, along = case.flow.jvp(case.arguments, (*v, *rest))
    close(
        flat(several(y)),
        case.solution(case.arguments[: case.states], *case.arguments[case.states :]),
        1e-9,
    )
    close(flat(several(along)), dense @ flat(v), 1e-6)
    y, pullback = case.flow.vjp(*case.arguments)
    close(flat(pullback(*w)[: case.states]), dense.T @ flat(w), 1e-6)
    close(flat(case.flow.inverse_jvp(case.arguments, v)), np.linalg.solve(dense, flat(v)), 1e-6)
    close(flat(case.flow.inverse_vjp(case.arguments, w)), np.linalg.solve(dense.T, flat(w)), 1e-6)
    close(case.flow.log_abs_det(case.arguments)[1], np.linalg.slogdet(dense)[1], 1e-6)


RANDOM = tadc.compile("""
t: f64[]
A: f64[N + M, N + M]
x: f64[N]
b: f64[N + M]
z: f64[M]
both[i in range(N + M)] = x[i] if i < N else z[i - N]
slope[i] = sum[j](A[i, j] * tanh(both[j] + 0.1 * i)) + b[i] * sin(t) - 0.1 * both[i]
xdot[i in range(N)] = slope[i]
zdot[i in range(M)] = slope[N + i]
""")


@pytest.mark.parametrize("seed", seeds(5, of=20))
def test_modes_of_random_equations_agree(seed: int):
    """Networks of random sizes, followed for some time in either direction."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 4, 2)
    ends = rng.uniform(-1.5, 1.5, 2)
    f = flow(RANDOM, *ends, state=("x", "z"), time="t")
    a, b = rng.normal(size=(n + m, n + m)), rng.normal(size=n + m)
    start, v, w, da, db = (rng.normal(size=s) for s in (n + m, n + m, n + m, a.shape, b.shape))
    arguments = (a, start[:n], b, start[n:])

    def after(x: Any) -> Any:
        return flat(f(a, x[:n], b, x[n:]))

    h = 1e-3
    units = h * np.eye(n + m)
    dense = [
        (8 * (after(start + e) - after(start - e)) - after(start + 2 * e) + after(start - 2 * e))
        / (12 * h)
        for e in units
    ]
    dense = np.array(dense).T
    by = [flat(f(a + k * h * da, start[:n], b + k * h * db, start[n:])) for k in (-2, -1, 1, 2)]
    moved = (by[0] - 8 * by[1] + 8 * by[2] - by[3]) / (12 * h)
    close(flat(tadc.jvp(f, arguments, (da, v[:n], db, v[n:]))[1]), dense @ v + moved, 1e-6)
    d_a, dx, d_b, dz = tadc.vjp(f, *arguments)[1](w[:n], w[n:])
    close(flat((dx, dz)), dense.T @ w, 1e-6)
    close(np.sum(d_a * da) + d_b @ db, w @ moved, 1e-6)
    halves = v[:n], v[n:]
    close(flat(tadc.inverse_jvp(f, arguments, halves)), np.linalg.solve(dense, v), 1e-6)
    close(flat(tadc.inverse_vjp(f, arguments, halves)), np.linalg.solve(dense.T, v), 1e-6)
    close(tadc.log_abs_det(f, arguments)[1], np.linalg.slogdet(dense)[1], 1e-6)


@each_case
def test_derivatives_by_parameters_agree_with_differences(case: Case):
    place = case.states
    rng = np.random.default_rng(3)
    direction = rng.normal(size=np.shape(case.arguments[place]))
    expected = difference(case, place, direction)
    none = [None] * case.states
    close(flat(several(case.flow.jvp(case.arguments, (*none, direction))[1])), expected, 1e-6)
    w = random_state(case, 4)
    gradient = case.flow.vjp(*case.arguments)[1](*w)[place]
    assert np.shape(gradient) == np.shape(case.arguments[place])
    close(np.sum(gradient * direction), flat(w) @ expected, 1e-6)


@each_case
def test_modes_keep_their_invariants(case: Case):
    """Equations (4.7a-d)."""
    f, arguments = case.flow, case.arguments
    rest = [None] * (len(arguments) - case.states)
    v, w = random_state(case, 5), random_state(case, 6)

    def forward(v: Any) -> Any:
        return several(f.jvp(arguments, (*v, *rest))[1])

    def reverse(w: Any) -> Any:
        return f.vjp(*arguments)[1](*w)[: case.states]

    def inverse(v: Any) -> Any:
        return f.inverse_jvp(arguments, v)

    def inverse_transposed(w: Any) -> Any:
        return f.inverse_vjp(arguments, w)

    close(flat(reverse(w)) @ flat(v), flat(w) @ flat(forward(v)), 1e-7)
    close(flat(w) @ flat(inverse(v)), flat(inverse_transposed(w)) @ flat(v), 1e-7)
    for a, b in ((forward, inverse), (inverse_transposed, reverse)):
        close(flat(a(b(v))), flat(v), 1e-7)
        close(flat(b(a(v))), flat(v), 1e-7)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"])
def test_every_method_has_the_four_modes(method: str):
    a = np.array([[-0.5, 1.0], [-1.0, -0.1]])
    f = flow(tadc.compile(LINEAR), 0, 1, state="x", method=method, rtol=1e-7, atol=1e-9)
    x, v = np.array([1.0, 2.0]), np.array([0.5, -1.0])
    close(f.jvp((x, a), (v, None))[1], expm(a) @ v, 1e-4)
    close(f.vjp(x, a)[1](v)[0], expm(a).T @ v, 1e-4)
    close(f.inverse_jvp((x, a), v)[0], np.linalg.solve(expm(a), v), 1e-4)
    close(f.inverse_vjp((x, a), v)[0], np.linalg.solve(expm(a).T, v), 1e-4)


def test_an_implicit_method_solves_a_stiff_equation():
    g = tadc.compile("x: f64[]\nk: f64[]\nt: f64[]\ny = -k * (x - cos(t))")
    f = flow(g, 0, 1, state="x", time="t", method="Radau", rtol=1e-9)
    k = 1e6
    y, (dx, dk) = f(0.0, k), f.vjp(0.0, k)[1](1.0)
    close(y, (k * k * np.cos(1) + k * np.sin(1)) / (1 + k * k), 1e-8)
    assert abs(dx) < 1e-9
    # d/dk of cos(1) + sin(1) / k, but for terms in 1 / k**2 and smaller
    close(dk * k * k, -np.sin(1), 1e-3)


# --- stability ------------------------------------------------------------------------------------


def test_the_page_says_how_errors_grow():
    """The tables of docs/ode.md are those of its script, to the order of magnitude."""
    script = runpy.run_path(str(DOCS / "ode_stability.py"))
    shown = [row.split("|")[1:-1] for row in (DOCS / "ode.md").read_text().splitlines()]
    rows = [
        [float(cell) for cell in row] for row in shown if len(row) == 6 and row[0].strip().isdigit()
    ]
    measured = [e for system in script["SYSTEMS"] for e in script["measure"](system)]
    for row, errors in zip(rows, measured, strict=True):
        stable, unstable = row[1:3], row[3:5]
        assert row[0] == errors.time
        assert max(stable) < 1e-10
        assert all(0.02 * 1e-10 < error * errors.contraction < 2e-10 for error in unstable)
        found = [*unstable, errors.contraction]
        expected = [errors.inverse, errors.inverse_transposed, row[5]]
        assert np.abs(np.log10(found) - np.log10(expected)).max() < 0.5
        assert max(errors.forward, errors.reverse) < 1e-9
