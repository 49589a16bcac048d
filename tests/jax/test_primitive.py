"""Transformations of calls, each against the same in JAX's own words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tadc

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp
from jax.test_util import check_grads

import tadc.jax
from tests.support.jax_calls import arrays, assert_same, f, reference

W, X = arrays((3,), (9,))
MANY_W, MANY_X = arrays((4, 3), (4, 9), seed=1)


def loss(g: Any) -> Any:
    return lambda w, x: (g(w, x) ** 2).sum()


TRANSFORMED = {
    "jit": lambda g: jax.jit(g)(W, X),
    "jvp": lambda g: jax.jvp(g, (W, X), (W, X)),
    "jvp by one argument": lambda g: jax.jvp(lambda x: g(W, x), (X,), (X,)),
    "jacfwd": lambda g: jax.jacfwd(g, (0, 1))(W, X),
    "jacrev": lambda g: jax.jacrev(g, (0, 1))(W, X),
    "grad": lambda g: jax.grad(loss(g), (0, 1))(W, X),
    "jit of grad": lambda g: jax.jit(jax.grad(loss(g), (0, 1)))(W, X),
    "hessian": lambda g: jax.hessian(loss(g), (0, 1))(W, X),
    "jit of hessian": lambda g: jax.jit(jax.hessian(loss(g)))(W, X),
    "reverse over reverse": lambda g: jax.jacrev(jax.jacrev(loss(g)))(W, X),
    "reverse over forward": lambda g: jax.jacrev(jax.jacfwd(loss(g)))(W, X),
    "checkpoint": lambda g: jax.grad(jax.checkpoint(loss(g)))(W, X),
    "scan": lambda g: jax.grad(lambda w: _scanned(g, w))(W),
    "linearize": lambda g: jax.linearize(g, W, X)[1](W, X),
    "vjp": lambda g: jax.vjp(g, W, X)[1](jnp.ones(4)),
    "vmap of grad": lambda g: jax.vmap(jax.grad(loss(g), (0, 1)), (None, 0))(W, MANY_X),
    "grad of vmap": lambda g: jax.grad(lambda w: (jax.vmap(g, (None, 0))(w, MANY_X) ** 2).sum())(W),
    "vmap of vmap": lambda g: jax.vmap(jax.vmap(g, (None, 0)), (0, None))(MANY_W, MANY_X),
    "vmap of jit of grad": lambda g: jax.vmap(jax.jit(jax.grad(loss(g))), (0, 0))(MANY_W, MANY_X),
    "while": lambda g: jax.lax.fori_loop(0, 3, lambda _, w: w + g(w, X)[:3], jnp.asarray(W)),
    "cond": lambda g: jax.grad(lambda w: jax.lax.cond(True, loss(g), loss(g), w, X))(W),
}


def _scanned(g: Any, w: Any) -> Any:
    def step(total: Any, x: Any) -> tuple[Any, Any]:
        return total + g(w, x).sum() * total, None

    return jax.lax.scan(step, jnp.float64(1), MANY_X)[0]


@pytest.mark.parametrize("name", TRANSFORMED)
def test_every_transformation_is_that_of_the_reference(name: str):
    with jax.checking_leaks():
        found = TRANSFORMED[name](f)
    expected = jax.jit(lambda: TRANSFORMED[name](reference))()  # one operation by one takes longer
    assert_same(found, expected, 1e-9)


@pytest.mark.parametrize("out", [0, 1, -1])
@pytest.mark.parametrize("axes", [(None, 0), (None, 1), (None, -1), (0, None), (0, 0), (1, 1)])
def test_batches_lie_along_any_axis(axes: tuple[int | None, int | None], out: int):
    given = [
        single if axis is None else np.moveaxis(many, 0, axis)
        for single, many, axis in ((W, MANY_W, axes[0]), (X, MANY_X, axes[1]))
    ]
    found = jax.vmap(f, axes, out)(*given)
    np.testing.assert_array_equal(found, jax.jit(jax.vmap(f, axes, out))(*given))
    assert_same(found, jax.vmap(reference, axes, out)(*given))


def test_what_depends_on_no_batch_is_computed_once():
    g = tadc.jax.op("y[i] = 2 * a[i]\nz[i] = y[i] * b[i]\nreturn y, z")
    (a,) = arrays((9,), seed=2)
    y, z = jax.vmap(g, (None, 0), (None, 0))(a, MANY_X)
    assert_same((y, z), (2 * a, 2 * a * MANY_X))


def test_arguments_that_are_updated_are_batched_with_what_they_become():
    g = tadc.jax.op("p: f64[N]\nq: f64[N]\np[i] += q[i]")
    assert_same(jax.vmap(g, (None, 0))(X, MANY_X), X + MANY_X)


def test_sizes_of_unread_arguments_follow_batches():
    """A tangent of a product reads all of its arguments; that of a sum reads none of them."""
    g = tadc.jax.op("y[i] = 2 * x[2*i + 1]")
    gradient = jax.grad(lambda x: g(x).sum())
    assert_same(jax.vmap(gradient)(MANY_X), np.tile([0.0, 2] * 4 + [0.0], (4, 1)))
    assert jax.vmap(jax.vmap(gradient))(MANY_X[None]).shape == (1, 4, 9)
    assert_same(
        jax.hessian(lambda x: (g(x) ** 2).sum())(X), jnp.diag(jnp.array([0.0, 8] * 4 + [0]))
    )


@pytest.mark.parametrize("modes", ["fwd", "rev"])
def test_derivatives_are_those_of_differences(modes: str):
    check_grads(f, (W, X), order=2, modes=[modes])


def test_tangents_of_numbers_and_results_that_nobody_reads():
    g = tadc.jax.op("y[i] = s * x[i]**2\nz = sum[i](x[i]**3)\nreturn y, z")
    assert_same(jax.grad(lambda x: g(2.0, x)[1])(X), 3 * X**2)
    assert_same(jax.grad(lambda x: g(2.0, x)[0].sum())(X), 4 * X)
    assert_same(jax.grad(lambda s: g(s, X)[0].sum())(2.0), jnp.sum(X**2))
    assert_same(jax.grad(lambda s: g(s, X)[1])(2.0), jnp.float64(0))
    assert_same(jax.hessian(lambda x: g(2.0, x)[1])(X), jnp.diag(6 * X))


# --- transposition --------------------------------------------------------------------------------

LINEAR = tadc.jax.op("y[i] = sum[k](w[k] * x[2*i + k])")


def test_programs_are_transposed_in_what_they_are_linear_in():
    y = np.arange(4.0)
    for by, at in ((lambda x: LINEAR(W, x), X), (lambda w: LINEAR(w, X), W)):
        (found,) = jax.linear_transpose(by, at)(y)
        (expected,) = jax.vjp(by, at)[1](y)
        assert_same(found, expected)
    both = tadc.jax.op("y[i] = 2 * x[i]\nz[i] = 3 * x[i]\nreturn y, z")
    assert_same(jax.linear_transpose(lambda x: both(x)[1], X)(X)[0], jnp.asarray(3 * X))
    twice = jax.linear_transpose(lambda y: jax.linear_transpose(lambda x: LINEAR(W, x), X)(y)[0], y)
    assert_same(twice(X)[0], LINEAR(W, X))


def test_scalars_may_be_unread():
    g = tadc.jax.op("y[i] = s + 2 * x[i]")
    assert_same(
        jax.grad(lambda s, x: g(s, x).sum(), (0, 1))(0.5, X), (jnp.array(9.0), jnp.full(9, 2.0))
    )


def test_arguments_that_decide_the_precision_are_not_read_for_that():
    g = tadc.jax.op("w: f64[N]\nx: real[N]\ny: f64[N]\ny[i] = w[i] * x[i] + y[i]")
    w, x, y = arrays((9,), (9,), (9,))
    (found,) = jax.linear_transpose(lambda x: g(w, x, y), x)(y)
    assert_same(found, jnp.asarray(w * y))
    assert_same(jax.grad(lambda x: g(w, x, y).sum())(x), jnp.asarray(w))


def test_a_program_that_is_not_linear_has_no_transpose():
    with pytest.raises(tadc.TadcError, match="not linear in x"):
        jax.linear_transpose(lambda x: f(W, x), X)(jnp.ones(4))
    with pytest.raises(tadc.TadcError, match="not linear in w, x"):
        jax.linear_transpose(LINEAR, W, X)(jnp.ones(4))


def test_a_jaxpr_shows_the_programs():
    text = str(jax.make_jaxpr(jax.grad(lambda x: LINEAR(W, x).sum()))(X))
    assert "y[i] = sum[k](w[k] * x[2*i + k])" in text
    assert (
        "sum[i in range(max(0, (p - K + 2) // 2), min(I, p // 2 + 1))](dy[i] * w[p - 2*i])" in text
    )
