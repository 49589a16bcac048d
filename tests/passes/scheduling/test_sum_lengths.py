"""Sums that are written out, and those that are loops, as short ones with long ones inside are."""

from __future__ import annotations

import numpy as np
import pytest

import tadc

EXPERTS = "y[n, o] = sum[e](q[n, e] * sum[d](x[n, d] * w[e, d, o]))"


@pytest.mark.parametrize("experts", [2, 6, 12])
def test_a_short_sum_of_long_ones_is_in_blocks(experts: int) -> None:
    """The total of both is in registers, however few experts there are."""
    sizes = {"N": 128, "E": experts, "D": 48, "O": 64}
    assert "y[n, o]: rows n by" in tadc.compile(EXPERTS).emit("plan", sizes, "f32")


@pytest.mark.parametrize("experts", [1, 3])
@pytest.mark.parametrize("other", ["exp(q[n, e])", "(q[n, e] if e > 0 else 1)"])
def test_sums_in_short_sums_agree_with_the_interpreter(experts: int, other: str) -> None:
    source = EXPERTS.replace("q[n, e]", other, 1)
    rng = np.random.default_rng(experts)
    shapes = {"q": (21, experts), "x": (21, 40), "w": (experts, 40, 37)}
    arguments = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    found = [tadc.compile(source, target=target)(**arguments) for target in ("cpu", "interpret")]
    np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-12)


SHARED = (
    "x: f64[{0}, W]\nf: f64[C, W]\nz[c, p in range(W + {0} - 1)] = "
    "sum[d in range(max(0, p - W + 1), min({0}, p + 1))](x[d, p - d] * f[c, p - d])"
)
"""Rows c share the windows of x."""


@pytest.mark.parametrize(("terms", "panels"), [(8, 0), (16, 0), (17, 1), (32, 1)])
def test_rows_share_one_of_several_long_windows(terms: int, panels: int) -> None:
    """A panel holds it, with zeros where it has no terms; short ones are written out."""
    f = tadc.compile(SHARED.format(terms))
    assert f.emit("plan", {"C": 32, "W": 512}, "f32").count(": panel (x[") == panels
    rng = np.random.default_rng(terms)
    for channels, width in ((5, 100), (32, 512), (3, 7)):
        arguments = {"x": rng.normal(size=(terms, width)), "f": rng.normal(size=(channels, width))}
        expected = f.with_target("interpret")(**arguments)
        np.testing.assert_allclose(f(**arguments), expected, rtol=1e-12, atol=1e-12)
