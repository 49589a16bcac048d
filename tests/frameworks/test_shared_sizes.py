"""Sizes that two windows share, in operations of PyTorch and JAX: shapes, derivatives, errors."""

import numpy as np
import pytest

from tadc.errors import SizeError

WINDOWS = """
m[i] = sum[k](w[k] * x[i + k])
n[i] = sum[k](v[k] * z[i + k])
y[i] = m[i] * n[i]
"""
LENGTHS = (2, 8, 3, 9)


def test_windows_in_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    import tadc.torch

    op = tadc.torch.op(WINDOWS)
    arguments = [torch.rand(n, dtype=torch.float64, requires_grad=True) for n in LENGTHS]
    assert op(*arguments).shape == (7,)
    assert torch.autograd.gradcheck(op, arguments)
    with pytest.raises(SizeError, match=r"of z is 8, expected .* = 9"):
        op(*arguments[:3], torch.rand(8, dtype=torch.float64))


def test_windows_in_jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    import tadc.jax

    op, arguments = tadc.jax.op(WINDOWS), [np.ones(n, np.float32) for n in LENGTHS]
    assert jax.jit(op)(*arguments).shape == (7,)
    batch = jax.vmap(op, (0, None, None, None))(np.ones((4, 2), np.float32), *arguments[1:])
    assert batch.shape == (4, 7)
    with pytest.raises(SizeError, match=r"of z is 8, expected .* = 9"):
        jax.jit(op)(*arguments[:3], np.ones(8, np.float32))
