"""Flows of differential equations as users meet them: names, precisions, errors."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

import tadc
from tadc.errors import ArgumentError, IntegrationError, SizeError, UnknownNameError
from tadc.ode import flow
from tests.ode.test_ode import CASES, FORCED, LINEAR, PENDULUM, close, flat


def test_tangents_of_any_size():
    """Tolerances are relative to the tangent: the modes are linear."""
    f, a = flow(tadc.compile(LINEAR), 0, 1, state="x"), np.array([[0.0, 1.0], [-1.0, 0.0]])
    x, v = np.ones(2), np.array([0.3, -0.7])
    for scale in (1e-200, 1e200):
        tiny = f.jvp((x, a), (v * scale, None))[1], f.vjp(x, a)[1](v * scale)[0]
        back = f.inverse_jvp((x, a), v * scale)[0], f.inverse_vjp((x, a), v * scale)[0]
        close(tiny[0] / scale, expm(a) @ v, 1e-8)
        close(tiny[1] / scale, expm(a).T @ v, 1e-8)
        close(back[0] / scale, expm(-a) @ v, 1e-8)
        close(back[1] / scale, expm(-a).T @ v, 1e-8)
    assert not np.any(f.jvp((x, a), (None, None))[1])
    assert not any(np.any(d) for d in f.vjp(x, a)[1](np.zeros(2)))


def test_states_without_time_or_elements():
    x, a = np.array([1.0, 2.0]), np.eye(2)
    still = flow(tadc.compile(LINEAR), 1, 1, state="x")
    assert np.array_equal(still(x, a), x)
    assert np.array_equal(still.vjp(x, a)[1](x)[0], x)
    assert np.array_equal(still.inverse_jvp((x, a), x)[0], x)
    empty = flow(tadc.compile(LINEAR), 0, 1, state="x")
    assert empty(np.ones(0), np.ones((0, 0))).shape == (0,)
    assert empty.log_abs_det((np.ones(0), np.ones((0, 0)))) == (1, 0)


def test_names_shapes_and_precisions():
    f = flow(tadc.compile(PENDULUM), 0, 1, state=("q", "p"))
    assert [t.name for t in f.args] == ["q", "p", "damping"]
    assert [t.name for t in f.results] == ["q", "p"]
    assert "(q, p, damping) -> q, p" in repr(f)
    q = np.ones(2)
    by_name = f(damping=0.1, p=q, q=q)
    assert all(map(np.array_equal, by_name, f(q, q, 0.1)))
    narrow = flow(tadc.compile("x: f32[N]\ny[i] = -x[i]"), 0, 1)
    x = np.ones(3, np.float32)
    assert narrow(x).dtype == np.float32
    assert narrow.jvp((x,), (x,))[1].dtype == np.float32
    assert narrow.vjp(x)[1](x)[0].dtype == np.float32
    assert narrow.inverse_jvp((x,), x)[0].dtype == np.float32
    close(narrow.inverse_vjp((x,), x)[0], np.e * x, 1e-4)
    undeclared = flow(tadc.compile("y[i] = -x[i] * a"), 0, 1, state="x")
    assert undeclared(x, np.float32(1)).dtype == np.float32
    close(undeclared(x, np.float32(1)), np.exp(-1), 1e-7)


MIXED = """
xdot[i, j] = -k[j] * x[i, j] + sin(y[i + j])
ydot[i] = 0.3 * sum[j](k[j]) - y[i] * x[0, 1]
"""


def test_arguments_in_any_order():
    """The state comes in the order of the results, everything else in that of the arguments."""
    declared = {"x": "x: f64[2, 3]\n", "y": "y: f64[4]\n", "k": "k: f64[3]\n"}
    rng = np.random.default_rng(7)
    given = {"x": rng.normal(size=(2, 3)), "y": rng.normal(size=4), "k": rng.uniform(size=3)}
    tangent = {name: rng.normal(size=a.shape) for name, a in given.items()}
    state = tangent["x"], tangent["y"]
    found: list[Any] = []
    for order in ("xyk", "kyx"):
        f = flow(tadc.compile("".join(declared[n] for n in order) + MIXED), 0, 1, state=("x", "y"))
        arguments = [given[n] for n in order]
        gradients = dict(zip(order, f.vjp(*arguments)[1](*state), strict=True))
        moved = f.jvp(arguments, [tangent[n] for n in order])[1]
        back = f.inverse_jvp(arguments, state), f.inverse_vjp(arguments, state)
        assert all(gradients[n].shape == given[n].shape for n in order)
        found.append([*moved, *back[0], *back[1], *(gradients[n] for n in "xyk")])
    for one, other in zip(*found, strict=True):
        close(one, other, 1e-9)


def test_the_interpreter_as_target():
    a, x = np.array([[0.1, 1.0], [-1.0, 0.2]]), np.ones(2)
    f = flow(tadc.compile(LINEAR, target="interpret"), 0, 0.1, state="x", rtol=1e-6)
    close(tadc.vjp(f, x, A=a)[1](x)[0], expm(0.1 * a).T @ x, 1e-6)


def test_the_operators_take_flows():
    f, a, x = CASES[0].flow, CASES[0].arguments, (1.0, -0.5)
    y, pullback = tadc.vjp(f, *a)
    assert np.array_equal(flat(y), flat(f.vjp(*a)[0]))
    assert np.array_equal(flat(pullback(*x)), flat(f.vjp(*a)[1](*x)))
    assert np.array_equal(flat(tadc.jvp(f, a, (*x, None))[1]), flat(f.jvp(a, (*x, None))[1]))
    assert np.array_equal(flat(tadc.inverse_jvp(f, a, x)), flat(f.inverse_jvp(a, x)))
    assert np.array_equal(flat(tadc.inverse_vjp(f, a, x)), flat(f.inverse_vjp(a, x)))
    assert tadc.log_abs_det(f, a) == f.log_abs_det(a)


def test_results_are_the_users():
    f = flow(tadc.compile("x: f64[2]\ny[i] = -x[i]"), 0, 1)
    x = np.ones(2)
    y, pullback = f.vjp(x)
    y[:] = np.nan
    x[:] = np.nan
    close(pullback(np.ones(2))[0], np.exp(-1), 1e-9)


def test_updates_are_the_state():
    program = "q: f64[]\np: f64[]\nk: f64[]\nold = q\nq = p\np = -k * old"
    f = flow(tadc.compile(program), 0, np.pi)
    assert f.state == ("q", "p")
    close(flat(f(1.0, 0.5, 1.0)), np.array([-1.0, -0.5]), 1e-9)
    v, arguments = np.array([0.3, 0.7]), (1.0, 0.5, 1.0)
    close(flat(f.jvp(arguments, (*v, None))[1]), -v, 1e-9)  # after half a period
    close(flat(f.vjp(*arguments)[1](*v)[:2]), -v, 1e-9)
    close(flat(f.inverse_jvp(arguments, tuple(v))), -v, 1e-9)
    close(flat(f.inverse_vjp(arguments, tuple(v))), -v, 1e-9)


def test_a_state_that_its_equation_does_not_read():
    f = flow(tadc.compile("x: f64[N]\nk: f64[N]\ny[i] = 2 * k[i]"), 0, 3, state="x")
    x, k, v = np.array([1.0, 2.0]), np.array([0.5, -1.0]), np.array([3.0, 4.0])
    close(f(x, k), x + 6 * k, 1e-9)
    close(f.jvp((x, k), (v, k))[1], v + 6 * k, 1e-9)
    close(flat(f.vjp(x, k)[1](v)), flat((v, 6 * v)), 1e-9)
    assert np.array_equal(f.inverse_jvp((x, k), v)[0], v)
    assert np.array_equal(f.inverse_vjp((x, k), v)[0], v)
    assert f.log_abs_det((x, k)) == (1, 0)


def test_pickled_and_in_threads():
    f = pickle.loads(pickle.dumps(CASES[1].flow))
    arguments = CASES[1].arguments
    expected = flat(f.vjp(*arguments)[1](*arguments[:2]))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: f.vjp(*arguments)[1](*arguments[:2]), range(8)))
    assert all(np.array_equal(flat(g), expected) for g in found)


def test_scipy_is_imported_when_it_is_needed():
    code = "import sys, tadc.ode; assert not any(m.startswith('scipy') for m in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "program, how, kind, message",
    [
        (LINEAR, {}, ArgumentError, "which arguments are the state"),
        (LINEAR, {"state": "z"}, ArgumentError, "no argument z for the state"),
        (LINEAR, {"state": ("x", "A")}, ArgumentError, "x, A cannot be the state"),
        (PENDULUM, {"state": ("q", "q")}, ArgumentError, "q, q cannot be the state"),
        (PENDULUM, {"state": "q"}, ArgumentError, "for the results qdot, pdot"),
        (FORCED, {"state": "t", "time": "t"}, ArgumentError, "no argument t for the state"),
        (FORCED, {"state": "x", "time": "x"}, ArgumentError, "no argument x for the state"),
        (LINEAR, {"state": "x", "time": "A"}, ArgumentError, "A is no scalar"),
        (LINEAR, {"state": "x", "time": "t"}, ArgumentError, "t is no scalar"),
        (LINEAR, {"state": "A"}, SizeError, r"y has the shape \(N\), and A has \(N, N\)"),
        ("x: f64[3]\ny[i in range(2)] = x[i]", {}, SizeError, r"y has the shape \(2\)"),
        (LINEAR, {"state": "x", "method": "RK4"}, UnknownNameError, "no method 'RK4'"),
        (LINEAR, {"state": "x", "rtol": 1e-16}, ArgumentError, "tolerances"),
        (LINEAR, {"state": "x", "atol": float("nan")}, ArgumentError, "tolerances"),
        (LINEAR, {"state": "x", "max_step": 0}, ArgumentError, "tolerances"),
        (LINEAR, {"state": "x", "t1": np.inf}, ArgumentError, "finite times"),
        (LINEAR, {"state": "x", "t1": "later"}, ArgumentError, "t1 is a number, not 'later'"),
        (LINEAR, {"state": "x", "rtol": []}, ArgumentError, r"rtol is a number, not \[\]"),
        (LINEAR, {"state": ()}, ArgumentError, "nothing cannot be the state"),
        ("y = 2", {}, ArgumentError, "which arguments are the state"),
    ],
)
def test_flows_that_make_no_sense(program: str, how: dict[str, Any], kind: Any, message: str):
    span = {"t0": 0, "t1": 1}
    with pytest.raises(kind, match=message):
        flow(tadc.compile(program), **(span | how))


def test_arguments_that_do_not_fit():
    f = flow(tadc.compile("x: f64[N]\nz: f64[M]\ny[i in range(M)] = x[i] * z[i]"), 0, 1, state="x")
    x = np.ones(3)
    with pytest.raises(SizeError, match=r"y has the shape \(2\), and x has \(3\)"):
        f(x, np.ones(2))
    with pytest.raises(ArgumentError, match="the argument z is missing"):
        f(x)
    with pytest.raises(ArgumentError, match="rank 2, not 1") as caught:
        f(x, np.ones((3, 3)))
    assert caught.value.line == 2
    with pytest.raises(ArgumentError, match="adjoints come as a tuple of 1: for x"):
        f.vjp(x, x)[1]()
    with pytest.raises(SizeError, match=r"the adjoint of x has the shape \(2\), not \(3\)"):
        f.vjp(x, x)[1](np.ones(2))
    with pytest.raises(ArgumentError, match="arguments come as a tuple of 2: for x, z"):
        f.inverse_vjp(x, x)
    with pytest.raises(ArgumentError, match="tangents come as a tuple of 2: for x, z"):
        f.jvp((x, x), (x,))
    with pytest.raises(SizeError, match=r"the tangent of z has the shape \(\), not \(3\)"):
        f.jvp((x, x), (x, 1.0))
    with pytest.raises(ArgumentError, match="the tangent of x is no array of numbers"):
        f.inverse_jvp((x, x), "abc")
    with pytest.raises(ArgumentError, match="the first state is not finite"):
        f(np.array([1, np.inf, 2]), x)


def test_solutions_that_end():
    explosion = flow(tadc.compile("x: f64[]\ny = x**2"), 0, 2)
    with pytest.raises(IntegrationError, match="stopped at t = 1, between 0 and 2") as caught:
        explosion(1.0)
    assert caught.value.time == pytest.approx(1)
    for attempt in (
        lambda: explosion.jvp((1.0,), (1.0,)),
        lambda: explosion.vjp(1.0),
        lambda: explosion.inverse_jvp((1.0,), 1.0),
        lambda: explosion.inverse_vjp((1.0,), 1.0),
        lambda: explosion.log_abs_det((1.0,)),
    ):
        with pytest.raises(IntegrationError, match="stopped at t = "):
            attempt()
    root = flow(tadc.compile("x: f64[]\ny = -0.5 / sqrt(x)"), 0, 5)
    with pytest.raises(IntegrationError, match="not finite"):
        root(1.0)
    with pytest.raises(IntegrationError, match="y is not finite at the first state, t = 0"):
        root(-1.0)
