"""Inverse modes of operations of JAX: values, derivatives, transforms, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tests.test_inverse_calls import BY_NAME, state_of

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp
from jax.test_util import check_grads

import tadc.jax


@pytest.mark.parametrize("name", ["diagonal", "banded", "tensors"])
def test_values_and_derivatives(name: str):
    layer = tadc.jax.op(BY_NAME[name])
    f = layer.function
    state = [np.asarray(a) for a in state_of(f, 3)]
    for mode in ("inverse_jvp", "inverse_vjp"):
        found = getattr(layer, mode)(state, state)
        for a, b in zip(found, getattr(tadc, mode)(f, state, state), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10)
    wanted = tadc.log_abs_det(f, state)
    np.testing.assert_allclose(layer.log_abs_det(state), wanted, rtol=1e-10)
    np.testing.assert_allclose(jax.jit(layer.log_abs_det)(state), wanted, rtol=1e-10)
    check_grads(lambda *x: layer.log_abs_det(x)[1], tuple(map(jnp.asarray, state)), order=1)


def test_second_derivatives_and_batches():
    layer = tadc.jax.op(BY_NAME["banded"])
    x = jnp.linspace(0.1, 1, 4)

    def dense(x):
        return jnp.linalg.slogdet(jax.jacrev(layer)(x))[1]

    def mode(x):
        return layer.log_abs_det((x,))[1]

    np.testing.assert_allclose(
        jax.hessian(mode)(x), jax.jit(jax.hessian(dense))(x), rtol=1e-8, atol=1e-10
    )
    batch = jnp.stack([x, 2 * x])
    found = jax.vmap(lambda x: layer.inverse_jvp((x,), x)[0])(batch)
    for a, x in zip(found, batch, strict=True):
        np.testing.assert_allclose(a, layer.inverse_jvp((x,), x)[0], rtol=1e-10)


@pytest.mark.parametrize("text", ["p[i] *= p[i]", "p[i] = p[i] * sum[j](p[j])"])
def test_what_is_singular_raises_as_on_numpy(text: str):
    layer = tadc.jax.op(f"p: f64[N]\n{text}")
    zero, one = np.zeros(3), np.ones(3)
    with pytest.raises(tadc.errors.SingularError) as wanted:
        tadc.inverse_jvp(layer.function, [zero], one)
    with pytest.raises(tadc.errors.SingularError) as found:
        layer.inverse_jvp((zero,), one)
    assert str(found.value) == str(wanted.value)
    traced = jax.jit(lambda x: layer.inverse_jvp((x,), one)[0])(zero)
    assert not np.isfinite(traced).all()
