"""Calls as custom calls of XLA: when code is made, and where it runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tadc

pytest.importorskip("jax", reason="JAX is not installed")

import jax

import tadc.jax
from tadc.runtime.executable import Executable
from tests.support.jax_calls import arrays, assert_same, f, on, reference

W, X = arrays((3,), (9,))


def test_tracing_compiles_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Executable, "__init__", None)  # what every compiled program is
    g = tadc.jax.op("y[i] = sum[k](cosh(w[k]) * x[2*i + k])")
    w, x = (jax.ShapeDtypeStruct(a.shape, a.dtype) for a in (W, X))
    assert jax.eval_shape(g, w, x).shape == (4,)
    assert jax.eval_shape(jax.jit(jax.grad(lambda w, x: g(w, x).sum())), w, x).shape == (3,)
    jax.make_jaxpr(jax.value_and_grad(lambda w, x: g(w, x).sum()))(w, x)
    with pytest.raises(TypeError):
        g(W, X)


def test_compiling_ahead_of_time():
    compiled = jax.jit(f).lower(W, X).compile()
    assert_same(compiled(W, X), reference(W, X))


def test_lowered_code_names_a_target_and_no_address():
    first, second = (jax.jit(f).lower(W, X).as_text() for _ in range(2))
    assert "stablehlo.custom_call @tadc_" in first
    assert first == second


def test_export_is_refused():
    from jax import export

    with pytest.raises(tadc.TadcError, match=r"jax\.export cannot store"):
        export.export(jax.jit(f))(W, X)
    (n,) = export.symbolic_shape("n")
    shapes = jax.ShapeDtypeStruct((3,), np.float64), jax.ShapeDtypeStruct((n,), np.float64)
    with pytest.raises(tadc.TadcError, match="the size n is symbolic"):
        export.export(jax.jit(f))(*shapes)


def test_other_platforms_are_refused():
    lowered = jax.jit(f).trace(W, X)
    with pytest.raises(tadc.TadcError, match="run on the CPU, not on cuda"):
        lowered.lower(lowering_platforms=("cuda",))


def test_another_process_takes_the_executable_from_the_cache(tmp_path: Path):
    code = f"""
    import jax._src.monitoring as monitoring
    events = []
    monitoring.register_event_listener(lambda name, **_: events.append(name))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    jax.config.update("jax_compilation_cache_dir", {str(tmp_path)!r})
    w, x = np.float32([0.3, 0.4, 0.5]), np.linspace(0, 1, 9, dtype=np.float32)
    y = jax.jit(lambda w, x: f(w, x) * 2)(w, x)
    np.testing.assert_allclose(y, 2 * reference(w, x), rtol=1e-5)
    print(events.count("/jax/compilation_cache/cache_hits"))
    """
    assert int(on(code)) == 0
    assert int(on(code)) > 0


def test_several_devices():
    """Devices of a mesh run parts of a batch, or all of it where JAX divides the work."""
    on(
        """
        from functools import partial
        from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
        jax.config.update("jax_enable_x64", True)
        mesh = Mesh(np.array(jax.devices()), ("d",))
        shard_map = getattr(jax, "shard_map", None)
        if shard_map is None:
            from jax.experimental.shard_map import shard_map
        split = partial(shard_map, mesh=mesh, in_specs=(P(), P("d")), out_specs=P("d"))
        w, x = arrays((3,), (4, 9))
        def parts(g):
            return split(jax.vmap(g, (None, 0)))
        def loss(g):
            return lambda w, x: (parts(g)(w, x) ** 2).sum()
        def inner(g):
            return split(lambda w, x: jax.grad(lambda w: g(w, x[0]).sum())(w)[None])
        assert_same(parts(f)(w, x), jax.jit(parts(reference))(w, x))
        gradients = jax.jit(jax.grad(loss(f), (0, 1)))
        assert_same(gradients(w, x), jax.jit(jax.grad(loss(reference), (0, 1)))(w, x))
        assert_same(inner(f)(w, x), jax.jit(inner(reference))(w, x))
        row = jax.device_put(x[0, :8], NamedSharding(mesh, P("d")))
        assert_same(jax.jit(f)(w, row), reference(w, x[0, :8]))
        assert_same(f(w, row), reference(w, x[0, :8]))
        """,
        {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"},
    )
