"""Buffers of programs on a GPU, with the memory of this machine in its place."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tests.host_shim import host_shim
from tests.support.host_device import OnHost, put_host_in_place


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    put_host_in_place(monkeypatch)


@host_shim.needs_compiler
def test_a_chain_of_updates_takes_two_buffers() -> None:
    f = tadc.compile("p: f64[N]\nq: f64[N]\n" + "p[i] += 0.1 * q[i] * p[i]\n" * 100, "cuda")
    p, q = np.random.default_rng(0).uniform(-1, 1, (2, 50))
    np.testing.assert_allclose(f(p, q), p * (1 + 0.1 * q) ** 100, rtol=1e-10)
    memory = f.memory(p, q)
    assert OnHost.peak == memory.peak + memory.arguments == 4 * 400
    assert OnHost.alive == 0


@host_shim.needs_compiler
def test_tensors_of_several_sizes() -> None:
    text = "m[i, j] = a[i, j] * x[j]\ns = sum[i, j](m[i, j])\ny[i] = x[i] * s\nreturn y"
    f = tadc.compile(f"a: f64[N, N]\nx: f64[N]\n{text}", "cuda")
    a, x = np.linspace(0, 1, 49).reshape(7, 7), np.linspace(0, 1, 7)
    np.testing.assert_allclose(f(a, x), x * (a @ x).sum(), rtol=1e-12)
    memory = f.memory(a, x)
    assert OnHost.peak == memory.peak + memory.arguments
    assert memory.peak == 8 * (49 + 1)
    assert f(np.zeros((0, 0)), np.zeros(0)).shape == (0,)
