"""What calls in JAX accept, and in which precision they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tadc

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp

import tadc.jax
from tests.support.jax_calls import assert_same, on

F = tadc.jax.op("y[i] = s * x[i]")
X = np.linspace(0.1, 1, 4)
X32 = X.astype(np.float32)

PRECISIONS = {
    "number": (2.0, X, "float64"),
    "integer beside f32": (2, X32, "float32"),
    "number beside f32": (2.0, X32, "float32"),
    "f32 of numpy": (np.float32(2), X32, "float32"),
    "f64 of numpy": (np.float64(2), X32, "float64"),
    "arrays": (np.array(2.0), X32, "float64"),
    "f32 beside f64": (np.array(2.0, np.float32), X, "float64"),
}


@pytest.mark.parametrize("call", [F, jax.jit(F)], ids=["eager", "jit"])
@pytest.mark.parametrize("convert", [lambda x: x, jnp.asarray], ids=["numpy", "jax"])
@pytest.mark.parametrize("name", PRECISIONS)
def test_precision_is_that_of_the_widest_array(call: Any, convert: Any, name: str):
    s, x, dtype = PRECISIONS[name]
    y = call(s if isinstance(s, int | float) else convert(s), convert(x))
    assert y.dtype == dtype
    assert not y.weak_type
    np.testing.assert_array_equal(y, F.function(np.asarray(s, dtype), np.asarray(x, dtype)))


@pytest.mark.parametrize("s", [2.0, np.array(2.0)], ids=["number", "array"])
def test_gradients_have_the_dtype_of_their_argument(s: Any):
    ds, dx = jax.grad(lambda s, x: F(s, x).sum(), (0, 1))(s, X32)
    assert (ds.dtype, dx.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(dx, np.full(4, 2.0))


def test_numbers_may_be_integers_of_python():
    x = jnp.asarray(X)
    assert_same(jax.jit(lambda x: F(3, x))(x), 3 * x)
    assert_same(jax.jvp(lambda x: F(3, x), (x,), (x,)), (3 * x, 3 * x))
    zero = np.zeros((), jax.dtypes.float0)
    assert_same(jax.jvp(F, (3, x), (zero, x))[1], 3 * x)


def test_arrays_of_others_are_taken():
    class Other:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return X

    np.testing.assert_array_equal(F(2.0, Other()), F(2.0, X))


BAD = {
    "half": (2.0, np.ones(4, np.float16), "x has dtype float16, not float32 or float64"),
    "bfloat": (2.0, np.ones(4, jnp.bfloat16), "x has dtype bfloat16, not float32 or float64"),
    "integers": (2.0, np.ones(4, np.int64), "x has dtype int64, not float32 or float64"),
    "booleans": (True, X, "s has dtype bool, not"),
    "complex": (2.0, np.ones(4, np.complex64), "x has dtype complex64, not"),
    "complex number": (2j, X, "s has dtype complex128, not"),
    "list": (2.0, [1.0, 2.0], "x is a list, not an array"),
    "none": (None, X, "s is a NoneType, not an array"),
}


@pytest.mark.parametrize("call", [F, jax.jit(F)], ids=["eager", "jit"])
@pytest.mark.parametrize("name", BAD)
def test_what_is_no_array_of_floats_is_an_error(name: str, call: Any):
    s, x, message = BAD[name]
    with pytest.raises(tadc.TadcError, match=message) as error:
        call(s, x)
    assert error.value.argument in "sx"
    assert error.value.line == 1


@pytest.mark.parametrize("value", ["text", np.ma.array(X, mask=X < 0.5), np.array([object()])])
def test_what_jax_does_not_know_is_an_error(value: Any):
    with pytest.raises(tadc.TadcError, match="the argument x "):
        F(2.0, value)


def test_declared_precision_is_kept():
    g = tadc.jax.op("x: f32[N]\ny[i] = x[i]")
    assert g(X32).dtype == np.float32
    with pytest.raises(tadc.TadcError, match="x has dtype float64, not float32"):
        g(X)


def test_without_x64_all_is_float32_and_f64_an_error():
    on(
        """
        assert f(np.ones(3), np.ones(9)).dtype == np.float32
        w, x = np.float32([0.3, 0.4, 0.5]), np.linspace(0, 1, 9, dtype=np.float32)
        np.testing.assert_array_equal(f(w, x), f.function(w, x))
        assert jax.grad(lambda w: f(w, x).sum())(w).dtype == np.float32
        s = tadc.jax.op("y = a * b")
        assert s(2.0, 3).dtype == np.float32 and s(2.0, 3) == 6
        g = tadc.jax.op("x: f64[N]\\ny[i] = x[i]")
        for call in (g, jax.jit(g)):
            try:
                call(np.ones(3))
            except tadc.TadcError as error:
                assert "jax_enable_x64" in str(error) and error.line == 1
            else:
                raise AssertionError
        jax.config.update("jax_enable_x64", True)
        assert g(np.ones(3)).dtype == np.float64
        assert f(np.ones(3), np.ones(9)).dtype == np.float64
        """
    )
