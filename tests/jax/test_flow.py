"""Flows as operations of JAX: values, first derivatives and transforms against steps in JAX."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tadc
import tadc.ode
from tadc.errors import ArgumentError, DtypeError, IntegrationError, SizeError, UnsupportedError

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp

import tadc.jax

PENDULUM = "q: f64[N]\np: f64[N]\nk: f64[]\nv[i] = p[i]\nw[i] = -k * sin(q[i])\nreturn v, w"
INPUTS = np.array([0.1, 0.7]), np.array([1.0, 0.3]), np.array(1.3)
ALL = (0, 1, 2)


@pytest.fixture
def flow() -> tadc.ode.Flow:
    return tadc.ode.flow(tadc.compile(PENDULUM), 0, 0.5, state=("q", "p"))


def reference(q: Any, p: Any, k: Any) -> Any:
    """The flow by steps of Runge and Kutta's method, whose error is of fourth order."""
    steps = 200
    h = 0.5 / steps

    def slope(x: Any) -> Any:
        return jnp.stack([x[1], -k * jnp.sin(x[0])])

    def step(x: Any, _: None) -> Any:
        a = slope(x)
        b = slope(x + h / 2 * a)
        c = slope(x + h / 2 * b)
        return x + h / 6 * (a + 2 * b + 2 * c + slope(x + h * c)), None

    return tuple(jax.lax.scan(step, jnp.stack([q, p]), None, steps)[0])


def loss(f: Callable[..., Any]) -> Callable[..., Any]:
    def run(*inputs: Any) -> Any:
        q, p = f(*inputs)
        return (jnp.sin(q) * p).sum()

    return run


def assert_close(found: Any, wanted: Any) -> None:
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)


def test_values_are_those_of_the_flow(flow: tadc.ode.Flow):
    layer = tadc.jax.op(flow)
    q, p, k = INPUTS
    for found in (layer(*INPUTS), layer(k=k, p=p, q=q), jax.jit(layer)(*INPUTS)):
        for a, b in zip(found, flow(*INPUTS), strict=True):
            np.testing.assert_array_equal(a, b)
    assert_close(layer(*INPUTS), reference(*INPUTS))
    for mode in ("inverse_jvp", "inverse_vjp"):
        found = getattr(layer, mode)(INPUTS, (q, p))
        for a, b in zip(found, getattr(flow, mode)(INPUTS, (q, p)), strict=True):
            np.testing.assert_array_equal(a, b)
    assert tuple(map(float, layer.log_abs_det(INPUTS))) == flow.log_abs_det(INPUTS)
    assert repr(pickle.loads(pickle.dumps(layer))) == repr(layer)


DERIVATIVES: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "gradient": lambda f: jax.grad(loss(f), ALL)(*INPUTS),
    "of a result by an argument": lambda f: jax.grad(lambda k: f(*INPUTS[:2], k)[1].sum())(1.3),
    "jacrev": lambda f: jax.jacrev(f, ALL)(*INPUTS),
    "jacfwd": lambda f: jax.jacfwd(f, ALL)(*INPUTS),
    "linearize": lambda f: jax.linearize(f, *INPUTS)[1](*INPUTS),
    "vmap": lambda f: jax.vmap(f, (0, None, 0))(np.outer([1, 2], INPUTS[0]), *_two()),
    "vmap of gradient": lambda f: jax.vmap(jax.grad(loss(f), ALL), (None, 1, None))(
        INPUTS[0], np.outer(INPUTS[1], [1, 2, 3]), INPUTS[2]
    ),
    "gradient of vmap": lambda f: jax.grad(
        lambda k: jax.jit(jax.vmap(f, (0, 0, None)))(*_two_states(), k)[0].sum()
    )(INPUTS[2]),
    "scan": lambda f: jax.grad(
        lambda k: jax.lax.scan(lambda x, _: (f(*x, k), None), INPUTS[:2], None, 2)[0][0].sum()
    )(INPUTS[2]),
}


def _two() -> tuple[Any, Any]:
    return INPUTS[1], np.array([1.3, 0.2])


def _two_states() -> tuple[Any, Any]:
    return np.outer([1, 2], INPUTS[0]), np.outer([1, 2], INPUTS[1])


@pytest.mark.parametrize("name", DERIVATIVES)
def test_transforms_are_those_of_the_reference(flow: tadc.ode.Flow, name: str):
    layer, transformed = tadc.jax.op(flow), DERIVATIVES[name]
    found = transformed(layer)
    assert_close(found, jax.jit(lambda: transformed(reference))())
    assert_close(jax.jit(lambda: transformed(layer))(), found)


def test_inverse_modes_are_linear_in_their_vectors(flow: tadc.ode.Flow):
    layer = tadc.jax.op(flow)
    q, p, _ = INPUTS
    inverse, back = jax.vjp(lambda v: layer.inverse_jvp(INPUTS, v), (q, p))
    assert_close(jax.jvp(lambda x: layer(*x, INPUTS[2]), ((q, p),), (inverse,))[1], (q, p))
    assert_close(back((p, q))[0], layer.inverse_vjp(INPUTS, (p, q)))


def test_second_derivatives_are_refused_with_a_place(flow: tadc.ode.Flow):
    layer = tadc.jax.op(flow)
    q, p, k = map(jnp.asarray, INPUTS)

    def first(x: Any) -> Any:
        return layer(x, p, k)[0].sum()

    for refused in (
        lambda: jax.hessian(first)(q),
        lambda: jax.grad(lambda x: jax.grad(first)(x).sum())(q),
        lambda: jax.grad(lambda x: layer.log_abs_det((x, p, k))[1])(q),
        lambda: jax.jvp(lambda x: layer.inverse_jvp((x, p, k), (q, p))[0], (q,), (q,)),
    ):
        with pytest.raises(UnsupportedError, match="no derivatives") as error:
            refused()
        assert error.value.span is not None and error.value.span.line == 1


def test_a_flow_of_tangents_has_second_derivatives():
    """x' = sin x is solved by tan(x/2) = e^t tan(x0/2)."""
    g = tadc.compile("x: f64[N]\ny[i] = sin(x[i])\nreturn y")
    both = tadc.jax.op(tadc.ode.flow(g.forward(keep_values=True), 0, 1, state=("x", "x_dot")))
    x = jnp.array([0.3, 1.1])
    found = jax.grad(lambda x: both(x, jnp.ones(2))[1].sum())(x)
    solution = jax.grad(lambda x: 2 * jnp.arctan(np.e * jnp.tan(x / 2)))
    np.testing.assert_allclose(found, jax.vmap(jax.grad(solution))(x), rtol=1e-7)


def test_precision_is_that_of_the_arguments():
    layer = tadc.jax.op(tadc.ode.flow(tadc.compile("x: real[N]\ny[i] = -x[i]"), 0, 1))
    for dtype in (np.float32, np.float64):
        x = jnp.ones(2, dtype)
        assert layer(x).dtype == jax.grad(lambda x: layer(x).sum())(x).dtype == dtype


def test_large_states_do_not_wait_for_each_other():
    """XLA runs calls on threads of its own, and converts long arrays on others."""
    g = tadc.compile("x: real[N]\ny[i] = -x[i]")
    layer = tadc.jax.op(tadc.ode.flow(g, 0, 0.1, rtol=1e-3, atol=1e-3, method="RK23"))
    x = jnp.ones(50_000)
    run = jax.jit(lambda x: layer(layer(x + 1) * 2))
    for found in [run(x) for _ in range(4)]:
        np.testing.assert_allclose(found, 4 * np.exp(-0.2), rtol=1e-3)


def test_what_does_not_fit_is_said_when_a_function_is_traced(flow: tadc.ode.Flow):
    layer = tadc.jax.op(flow)
    q, p, k = INPUTS
    for call in (layer, jax.jit(layer)):
        with pytest.raises(DtypeError, match="q has dtype float32"):
            call(q.astype(np.float32), p, k)
        with pytest.raises(SizeError, match="dimension 0 of p is 1"):
            call(q, p[:1], k)
        with pytest.raises(ArgumentError, match="the argument k is missing"):
            call(q, p)
    with pytest.raises(tadc.TadcError):
        layer.inverse_jvp(INPUTS, (q,))
    with pytest.raises(UnsupportedError, match=r"jax\.export cannot store a flow"):
        jax.export.export(jax.jit(layer))(*INPUTS)


def test_a_solution_that_ends_is_an_error_also_in_compiled_functions():
    layer = tadc.jax.op(tadc.ode.flow(tadc.compile("x: f64[]\ny = x**2"), 0, 2))
    with pytest.raises(IntegrationError, match="the solver stopped at t = 1"):
        layer(1.0)
    with pytest.raises(jax.errors.JaxRuntimeError, match="the solver stopped at t = 1"):
        jax.jit(layer)(1.0).block_until_ready()
