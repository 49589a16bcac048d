"""Programs that a GPU runs in tests, with arguments, and results compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

PROGRAMS = {
    "paper": (
        "f[i, j] = exp(-sum[k]((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))",
        {"a": (30, 5), "b": (40, 5), "c": (30, 30), "d": (34,)},
    ),
    "strided convolution": (
        "y[n, o, i] = sum[c, k](x[n, c, 2*i + k] * w[o, c, k])",
        {"x": (3, 4, 65), "w": (5, 4, 3)},
    ),
    "softmax": (
        "e[i, j] = exp(x[i, j] - max[k](x[i, k]))\ny[i, j] = e[i, j] / sum[k](e[i, k])",
        {"x": (70, 33)},
    ),
    "padding and rests": (
        "y[i in range(300)] = sum[k](pad(x[i // 2 + k - 1]) * w[k] * sin(u[i % 7]))",
        {"x": (150,), "w": (3,), "u": (7,)},
    ),
    "updates": (
        "p: real[N]\nq: real[N]\np[i] = p[i] * exp(sin(q[i])) + q[i]**2\nq[i] += tanh(p[i])",
        {"p": (1000,), "q": (1000,)},
    ),
    "cumulative products": ("y[i, j] = prod[k in range(j + 1)](x[i, k])", {"x": (9, 12)}),
}
TOLERANCE = {np.float32: 2e-4, np.float64: 1e-11}


def case(name: str, dtype: Any) -> tuple[str, list[np.ndarray]]:
    """The text, and arguments."""
    source, shapes = PROGRAMS[name]
    rng = np.random.default_rng(len(source))
    return source, [(rng.standard_normal(s) * 0.4).astype(dtype) for s in shapes.values()]


def compare(found: Sequence[Any], expected: Sequence[Any], dtype: Any) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == dtype and one.shape == other.shape
        scale = max(1.0, float(np.abs(other).max()))
        np.testing.assert_allclose(one, other, atol=TOLERANCE[dtype] * scale, rtol=0)


def listed(results: Any) -> list[np.ndarray]:
    return list(results) if isinstance(results, tuple) else [results]
