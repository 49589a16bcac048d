"""Sums over several indices that are products of sums."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.algebra.factoring.separate_sums import separate_sums

LEFT = "a[s] * prod[k in range(s + 1, r)](w[k])"
RIGHT = "a[t] * prod[k in range(r + 1, t + 1)](w[k])"


def sums(body: str, parted: bool) -> int:
    """The sums of an element, before or behind the pass."""
    source = f"a: f64[N]\nw: f64[N]\ny[r in range(N)] = {body}"
    program = tadc.compile(source).program.op.clone()
    (op,) = program.definitions
    made = separate_sums(op) if parted else op
    return sum(isinstance(o, tix.SumOp) for o in made.walk())


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (f"sum[t in range(r, N), s in range(r)]({LEFT} * {RIGHT})", 2),
        (f"sum[t in range(r, N), s in range(r), q]({LEFT} * {RIGHT} * w[q])", 3),
        (f"sum[t in range(r, N), s in range(r)](-{LEFT} * {RIGHT} / w[r])", 2),
        # one bound has both, and one factor
        (f"sum[t in range(r, N), s in range(min(r, t))]({LEFT} * {RIGHT})", 1),
        (f"sum[t in range(r, N), s in range(r)]({LEFT} * {RIGHT} * sin(a[s] * w[t]))", 1),
        # what has no products is for `factor-sums`
        ("sum[t in range(r, N), s in range(r)](a[s] * w[t])", 1),
    ],
)
def test_groups_of_indices_have_sums(body: str, count: int) -> None:
    assert sums(body, parted=False) == 1
    assert sums(body, parted=True) == count


@pytest.mark.parametrize("size", [1, 33, 150])
def test_gradients_of_averages_that_forget(size: int) -> None:
    """A recurrence with weights has gradients that are recurrences, too."""
    rng = np.random.default_rng(size)
    u, w, dy = rng.normal(size=(3, 20, size))
    w = np.tanh(w)
    w[5, size // 2] = 0
    total = "sum[s in range(t + 1)](u[i, s] * prod[r in range(s + 1, t + 1)](w[i, r]))"
    f = tadc.compile(f"u: f64[I, T]\nw: f64[I, T]\ny[i, t] = {total}")
    y, pullback = tadc.vjp(f, u, w)
    du, dw = pullback(dy)
    before, behind = np.zeros((2, 20, size))
    for t in range(size):
        before[:, t] = u[:, t] + (w[:, t] * before[:, t - 1] if t else 0)
    for t in reversed(range(size)):
        behind[:, t] = dy[:, t] + (w[:, t + 1] * behind[:, t + 1] if t + 1 < size else 0)
    shifted = np.pad(before, [(0, 0), (1, 0)])[:, :-1]
    for found, expected in ((y, before), (du, behind), (dw, behind * shifted)):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
