"""Infinite factors of terms that do not contribute to an element of a gradient leave it finite.

An element is the sum over the points that read it: nobody wrote a zero for others, which an
infinity could make NaN.
"""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.dialects.tix import AVX_512, Registers
from tests.support.registers import AVX2, choose_loops_for

ON_LINES = {
    "forwards": "y[i in range({m})] = sum[k in range({k})](x[i + k] * w[k])",
    "backwards": "y[i in range({m})] = sum[k in range({k})](x[i + {k} - 1 - k] * w[k])",
}
ON_IMAGES = {
    "channels": "y[o, i in range({m}), j in range({m})] = "
    "sum[c, p in range({k}), q in range({k})](x[c, i + p, j + q] * w[o, c, p, q])",
    "depthwise, every other": "y[c, i in range({h}), j in range({h})] = "
    "sum[p in range({k}), q in range({k})](x[c, 2*i + p, 2*j + q] * w[0, c, p, q])",
}


@pytest.mark.parametrize("registers", [AVX_512, AVX2], ids=["AVX-512", "AVX2"])
@pytest.mark.parametrize(("n", "k"), [(60, 3), (60, 9), (200, 40), (1000, 9), (1000, 100)])
@pytest.mark.parametrize("source", ON_LINES.values(), ids=ON_LINES)
def test_ends_of_lines_have_their_own_terms(
    source: str, n: int, k: int, registers: Registers, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, text = np.linspace(-1, 1, n, dtype="float32"), source.format(m=n - k + 1, k=k)
    for place in (0, k // 2, k - 1):
        w = np.ones(k, "float32")
        w[place] = np.inf
        assert_finite_alike(text, x, w, registers, monkeypatch)


@pytest.mark.parametrize("registers", [AVX_512, AVX2], ids=["AVX-512", "AVX2"])
@pytest.mark.parametrize(("c", "n", "k"), [(1, 9, 3), (4, 30, 3), (3, 40, 5), (8, 20, 3)])
@pytest.mark.parametrize("source", ON_IMAGES.values(), ids=ON_IMAGES)
def test_borders_of_images_have_their_own_terms(
    source: str, c: int, n: int, k: int, registers: Registers, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(n)
    x = rng.standard_normal((c, n, n)).astype("float32")
    w = rng.standard_normal((c, c, k, k)).astype("float32")
    w[0, 0, 0, 0], w[-1, 0, k - 1, 0] = np.inf, np.nan
    text = source.format(m=n - k + 1, h=(n - k) // 2 + 1, k=k)
    assert_finite_alike(text, x, w, registers, monkeypatch)


def assert_finite_alike(
    text: str,
    x: np.ndarray,
    w: np.ndarray,
    registers: Registers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Gradients are finite where those of the interpreter are."""
    y, pullback = tadc.vjp(tadc.compile(text, target="interpret"), x, w)
    dy = np.ones_like(y)
    expected = pullback(dy)
    choose_loops_for(registers, monkeypatch)
    found = tadc.vjp(tadc.compile(text), x, w)[1](dy)
    monkeypatch.undo()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.isfinite(one), np.isfinite(other))
        assert np.isfinite(other).any()
