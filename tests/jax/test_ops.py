"""What users call: programs as functions of JAX."""

from __future__ import annotations

import copy
import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tadc
from tests.support.workloads import WORKLOADS, workload

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp

import tadc.jax
from tests.support.jax_calls import SOURCE, arrays, assert_same, f, reference

W, X = arrays((3,), (9,))


def test_a_call_gives_an_array_of_jax():
    y = f(W, X)
    assert isinstance(y, jax.Array)
    assert y.dtype == np.float64
    assert_same(y, reference(W, X))


def test_several_results_are_a_tuple():
    g = tadc.jax.op("y[i] = x[i]**2\nz = sum[i](x[i])\nreturn y, z")
    found = g(X)
    assert type(found) is tuple
    assert_same(found, (X**2, jnp.sum(X)))


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_are_those_in_numpy_to_the_last_bit(name: str, dtype: type):
    g, values = workload(name)
    values = [v.astype(dtype) for v in values]
    op = tadc.jax.op(g)
    expected = g(*values)
    for call in (op, jax.jit(op)):
        found = call(*values)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_tangents_and_gradients_are_those_in_numpy_to_the_last_bit():
    g, values = workload("steps")
    op = tadc.jax.op(g)
    _, tangent = jax.jvp(op, tuple(values), tuple(values))
    np.testing.assert_array_equal(tangent, g.forward()(*values, *values))
    value, pullback = jax.vjp(op, *values)
    expected, pull = tadc.vjp(g, *values)
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(pullback(value)[0], pull(expected)[0])


def test_arguments_come_by_position_or_by_name():
    @tadc.jax.op
    def conv(x, w):
        """y[i] = sum[k](w[k] * x[2*i + k])"""

    expected = conv.function(x=np.asarray(X), w=np.asarray(W))
    for found in (conv(X, W), conv(X, w=W), conv(w=W, x=X)):
        np.testing.assert_array_equal(found, expected)
    assert list(inspect.signature(conv).parameters) == ["x", "w"]
    assert conv.__name__ == "conv"
    assert conv.__doc__ == "y[i] = sum[k](w[k] * x[2*i + k])"
    assert repr(conv) == "<tadc.jax.op (x, w) -> y>"


def test_an_argument_may_be_called_self():
    assert_same(tadc.jax.op("y[i] = 2 * self[i]")(self=X), 2 * X)


def test_a_copy_is_the_same_program():
    tadc.define_function("double", "x", value="2*x", derivative="2")
    g = tadc.jax.op("y[i] = double(x[i])")
    tadc.define_function("double", "x", value="3*x", derivative="3")
    for other in (pickle.loads(pickle.dumps(g)), copy.deepcopy(g), tadc.jax.op(g.function)):
        assert_same(jax.grad(lambda x, other=other: other(x).sum())(X), jnp.full(9, 2.0))
    later = tadc.jax.op("y[i] = double(x[i])")
    assert_same(jax.grad(lambda x: later(x).sum())(X), jnp.full(9, 3.0))


def test_updates_give_new_arrays():
    step = tadc.jax.op("q: f64[N]\np: f64[N]\np[i] -= sin(q[i])\nq[i] += p[i]")
    q, p = arrays((5,), (5,))
    before = np.array(q), np.array(p)
    found = step(q, p)
    np.testing.assert_array_equal(q, before[0])
    for a, b in zip(found, step.function(*before), strict=True):
        np.testing.assert_array_equal(a, b)


def test_an_argument_may_be_given_twice():
    g = tadc.jax.op("y[i] = a[i] * b[i]")
    assert_same(g(X, X), X**2)
    assert_same(jax.grad(lambda x: g(x, x).sum())(X), 2 * X)


def test_tensors_may_be_empty_or_scalars():
    g = tadc.jax.op("z = sum[i](s * x[i])")
    assert_same(g(jnp.float64(3), jnp.zeros(0)), jnp.float64(0))
    assert_same(jax.grad(g, (0, 1))(jnp.float64(3), jnp.zeros(0)), (jnp.float64(0), jnp.zeros(0)))
    assert_same(jax.grad(g)(jnp.float64(3), X), jnp.sum(X))


def test_programs_may_read_nothing():
    ramp = tadc.jax.op("x: f64[N]\ny[i in range(N)] = 2 * i")
    expected = 2 * jnp.arange(9.0)
    assert_same(ramp(X), expected)
    assert_same(jax.jit(ramp)(X), expected)
    assert_same(jax.grad(lambda x: ramp(x).sum())(X), jnp.zeros(9))
    assert_same(jax.jvp(ramp, (X,), (X,))[1], jnp.zeros(9))


def test_threads_may_call_at_once():
    g = jax.jit(jax.grad(lambda w, x: f(w, x).sum()))
    inputs = [arrays((3,), (9 + n % 3,), seed=n) for n in range(24)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda pair: (f(*pair), g(*pair)), inputs))
    for pair, both in zip(inputs, found, strict=True):
        assert_same(both, (reference(*pair), jax.grad(lambda w, x: reference(w, x).sum())(*pair)))


def test_sizes_that_do_not_fit_are_errors_of_the_program():
    g = tadc.jax.op("a: f64[N]\nb: f64[N]\ny[i] = a[i] * b[i]")
    for call in (g, jax.jit(g), jax.grad(lambda a, b: g(a, b).sum())):
        with pytest.raises(tadc.TadcError, match="dimension 0 of b is 3, expected") as error:
            call(X, W)
        assert error.value.line == 2


def test_a_program_that_is_none_is_an_error():
    with pytest.raises(tadc.TadcError, match="<program>:1:"):
        tadc.jax.op("y[i] = x[i")


def test_an_op_of_a_text_says_what_it_takes():
    assert repr(tadc.jax.op(SOURCE)) == "<tadc.jax.op (w, x) -> y>"


def test_programs_with_index_tensors_are_refused():
    for source in (
        "idx: range(V)[N]\nx: f64[V]\ny[i] = x[idx[i]]",
        "B: size\ny[i in range(B)] = i",
    ):
        with pytest.raises(tadc.TadcError, match="operations of JAX do not take yet"):
            tadc.jax.op(source)
