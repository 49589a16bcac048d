"""The names of JAX that are not public, in the versions of JAX that this is tested with.

Where a test fails, `tadc/jax/private.py` has to look for the new name. Operations are right without
any of them: gradients then compute values again, and `shard_map` needs `check_vma=False`.
"""

from __future__ import annotations

import inspect

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

import jax

from tadc.jax import private
from tadc.jax.primitive import call_p
from tests.support.jax_calls import arrays, assert_same, calls_in, f, reference

W, X = arrays((3,), (9,))


def test_jax_asks_the_rule_for_linearization():
    assert call_p in private.LINEARIZATIONS
    parameters = list(inspect.signature(private.FALLBACK).parameters)
    assert parameters[0] == "_prim"
    assert parameters[-3:] == ["_nonzeros", "primals", "params"]
    jaxpr = jax.make_jaxpr(jax.grad(lambda w: f(w, X).sum()))(W)
    value, pullback = calls_in(jaxpr.jaxpr)
    assert len(value.outvars) == 2  # y, and h for the pullback
    assert value.outvars[1] in pullback.invars


def test_jax_has_functions_for_axes_of_meshes():
    assert private.VARY_ALIKE and private.VARIES and private.SHARDING


def test_derivatives_are_right_without_private_names(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(private.LINEARIZATIONS, call_p)
    for name in ("VARY_ALIKE", "VARIES", "SHARDING"):
        monkeypatch.setattr(private, name, None)
    jax.clear_caches()
    loss = lambda g: lambda w, x: (g(w, x) ** 2).sum()
    expected = jax.grad(loss(reference), (0, 1))(W, X)
    assert_same(jax.grad(loss(f), (0, 1))(W, X), expected)
    assert_same(jax.jit(jax.grad(loss(f), (0, 1)))(W, X), expected)
    jax.clear_caches()
