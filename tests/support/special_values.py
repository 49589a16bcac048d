"""Comparison of results of programs whose arguments are infinite or NaN in places."""

from __future__ import annotations

import numpy as np


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    """Compare finite elements; an infinity may become NaN, as terms are reordered."""
    expected = np.where(np.isfinite(expected), expected, np.nan)
    np.testing.assert_allclose(np.where(np.isfinite(found), found, np.nan), expected, atol=1e-9)
