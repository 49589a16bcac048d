"""Equal values of a formula have one name and one adjoint."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.program import Program
from tadc.verify.gradients import verify

SOFTMAX = "y[i, j] = exp(x[i, j] - max[k](x[i, k])) / sum[l](exp(x[i, l] - max[k](x[i, k])))"
LAYER_NORM = (
    "y[i, j] = (x[i, j] - sum[k](x[i, k]) / 7)"
    " / sqrt(sum[k]((x[i, k] - sum[l](x[i, l]) / 7)**2) / 7 + 0.1)"
)
KERNEL = "y[i] = sum[j](exp(-sum[k]((a[i, k] - b[j, k])**2)) * sum[k]((b[j, k] - a[i, k])**2))"


def values(program: Program) -> int:
    """The number of definitions but for adjoints, the terms of maxima, and the result."""
    labels = [op.label.data for op in program.op.definitions]
    return sum(name.startswith("y_") and "ties" not in name for name in labels)


@pytest.mark.parametrize(
    ("source", "count"), [(SOFTMAX, 2), (LAYER_NORM, 2), (KERNEL, 1)], ids=["softmax", "norm", "k"]
)
def test_equal_values_have_one_name_and_gradients_are_right(source: str, count: int) -> None:
    f = tadc.compile(source)
    assert values(f.derivative().program) == count
    verdicts = verify(f)
    assert all(verdict.ok for verdict in verdicts)


def test_names_of_the_user_stay() -> None:
    f = tadc.compile("s[i] = sum[j](x[i, j])\nt[i] = sum[j](x[i, j])\ny[i] = exp(s[i]) * exp(t[i])")
    seen = dict[str, np.ndarray]()

    def look(name: str, adjoint: np.ndarray) -> None:
        seen[name] = adjoint

    y, pullback = tadc.vjp(f, np.ones((2, 3)))
    pullback(np.ones(2), observe=look)
    np.testing.assert_allclose(seen["s"], y)
    np.testing.assert_allclose(seen["t"], y)


def test_sums_of_other_elements_keep_names_of_their_own() -> None:
    f = tadc.compile("y[i] = exp(sum[j](x[i, j])) * exp(sum[j](x[j, i]))")
    assert values(f.derivative().program) == 2
    verdicts = verify(f)
    assert all(verdict.ok for verdict in verdicts)


def test_sums_under_conditions_of_their_own_are_not_exchanged() -> None:
    f = tadc.compile(
        "y[i in range(4)] = exp(sum[j](x[i, j])) if i < 2 else 2 * exp(sum[j](x[i, j]))"
    )
    verdicts = verify(f)
    assert all(verdict.ok for verdict in verdicts)
