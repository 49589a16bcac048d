"""Reductions that get definitions of their own: each one a label of its own."""

from __future__ import annotations

import numpy as np

import tadc


def test_a_product_in_a_product_has_another_name() -> None:
    """Both are shared by all elements, and the outer one is named first."""
    inner = "prod[r in range(-q, q - p)](sin(b))"
    source = "x: f64[3, J]\nb: f64[]\n"
    source += f"f[i, j] = x[i, j] * prod[p in range(3), q in range(3)](sin({inner}))"
    x, b = np.arange(15.0).reshape(3, 5), 0.5
    powers = [np.sin(b) ** max(0, 2 * q - p) for p in range(3) for q in range(3)]
    np.testing.assert_allclose(tadc.compile(source)(x, b), x * np.prod(np.sin(powers)), rtol=1e-12)
