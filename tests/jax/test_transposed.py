"""Gradients: what they keep, and what their linear functions compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tadc

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp

import tadc.jax
from tadc.jax.transposed import transposed_p
from tests.support.jax_calls import arrays, assert_same, calls_in, f, reference

W, X = arrays((3,), (9,))
MANY = arrays((4, 9))[0]


def gradient_calls(g: Any, *values: Any) -> list[Any]:
    jaxpr = jax.make_jaxpr(jax.grad(lambda *v: g(*v).sum(), tuple(range(len(values)))))(*values)
    return calls_in(jaxpr.jaxpr)


def test_gradients_take_values_that_the_call_has_kept():
    value, pullback = gradient_calls(f, W, X)
    kept = value.outvars[1]
    assert kept in pullback.invars
    assert "tanh" in str(value.params["call"])


def test_linear_functions_keep_nothing():
    g = tadc.jax.op("y[i] = 3 * x[i] - sum[k](x[i + k])")
    _, pullback = gradient_calls(g, X)
    assert [v.aval.shape for v in pullback.invars] == [pullback.outvars[0].aval.shape[:0] or (9,)]


def test_only_the_gradients_that_are_asked_for_are_computed():
    jaxpr = jax.make_jaxpr(jax.grad(lambda x: f(W, x).sum()))(X)
    _, pullback = calls_in(jaxpr.jaxpr)
    assert [v.aval.shape for v in pullback.outvars] == [(9,)]


LINEAR = {
    "applied": lambda g: jax.linearize(g, W, X)[1](W, X),
    "applied in jit": lambda g: jax.jit(lambda w, x: jax.linearize(g, w, x)[1](w, x))(W, X),
    "many at once": lambda g: jax.vmap(lambda x: jax.linearize(g, W, X)[1](W, x))(MANY),
    "derived": lambda g: jax.jvp(lambda x: jax.linearize(g, W, x)[1](W, x), (X,), (X,)),
    "transposed": lambda g: jax.linear_transpose(jax.linearize(g, W, X)[1], W, X)(jnp.ones(4)),
    "gradient": lambda g: jax.grad(lambda x: jax.linearize(g, W, x)[1](W, x).sum())(X),
    "of parts": lambda g: jax.linearize(lambda x: g(W, x), X)[1](X),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_functions_are_those_of_the_reference(name: str):
    assert_same(LINEAR[name](f), LINEAR[name](reference), 1e-9)


def test_a_linear_function_reads_what_was_kept():
    _, linear = jax.linearize(f, W, X)
    jaxpr = jax.make_jaxpr(linear)(W, X)
    equations = calls_in(jaxpr.jaxpr)
    assert [e.primitive for e in equations] == [transposed_p]
    np.testing.assert_allclose(linear(W, X), jax.jvp(f, (W, X), (W, X))[1], rtol=1e-12)


def test_adjoints_of_results_that_nobody_reads_cost_nothing():
    g = tadc.jax.op("h[i] = exp(x[i])\ny[i] = h[i]**2\nz[i] = sin(x[i])\nreturn y, z")
    jaxpr = jax.make_jaxpr(jax.grad(lambda x: g(x)[1].sum()))(X)
    *_, pullback = calls_in(jaxpr.jaxpr)
    assert "dz[i] * cos(x[i])" in str(pullback.params["call"])
    assert "dy" not in str(pullback.params["call"])
    assert_same(jax.grad(lambda x: g(x)[1].sum())(X), jnp.cos(X))
    assert_same(jax.hessian(lambda x: g(x)[0].sum())(X), jnp.diag(4 * jnp.exp(2 * X)))
