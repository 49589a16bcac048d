"""Powers of distances as products: what programs mean, and which have them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.algebra.outline_scans import outline_scans
from tadc.passes.scheduling.recurrences import is_recurrence
from tests.support.derivations import Case
from tests.support.rewritten import check_meaning


def rewritten(program: tix.ProgramOp) -> tix.ProgramOp:
    """A copy of a program in which scans have names."""
    return outline_scans(program.clone(), {})


FORGETTING = (
    "y[i, j] = sum[k in range(j + 1)](0.9**(j - k) * x[i, k])",
    "y[i, j in range(K)] = sum[k in range(j)](0.9**(j - k - 1) * x[i, k])",
    "y[i, j] = 0.1 * sum[k in range(j + 1)](0.9**(j - k + 1) * x[i, k])",
    "y[i, j in range(K)] = sum[k in range(j, K)](0.5**(k - j) * x[i, k])",
    "y[i, j in range(K)] = sum[k in range(j + 1, K)](0.5**(k - j + i) * x[i, k] / g[i])",
    "y[i, j] = sum[k in range(j + 1)](g[i]**(j - k) * x[i, k])",
    "y[j, i in range(I)] = sum[k in range(j + 1)]((1 - g[i])**(j - k) * x[i, k]) * x[i, j]",
    "y[i, j] = x[i, j] - sum[k in range(j + 1)](-0.5**(j - k) * x[i, k])",
)
OTHERS = (
    "y[i, j] = sum[k in range(j + 1)](x[i, k]**(j - k) * x[i, k])",
    "y[i, j] = sum[k in range(j + 1)](0.9**(k - j) * x[i, k])",
    "y[i, j] = sum[k in range(j + 1)](0.9**(j - k - 1) * x[i, k])",
    "y[i, j] = sum[k in range(j + 1)](0.9**(2*j - 2*k) * x[i, k])",
    "y[i, j] = sum[k in range(j + 1)](0.9**(j - k) * x[i, j - k])",
    "y[i, j in range(K)] = sum[k in range(K)](0.9**(j + k) * x[i, k])",
    "y[i, j] = sum[k in range(j + 1)](0.9**(j - k) + x[i, k])",
)


def case(text: str, columns: int = 6) -> Case:
    rng = np.random.default_rng(columns)
    tensors = {"x": rng.normal(size=(3, columns)), "g": rng.uniform(0.2, 0.9, 3)}
    head = {"x": "x: f64[I, K]", "g": "g: f64[I]"}
    used = [name for name in head if f"{name}[" in text]
    source = "\n".join([*(head[name] for name in used), text])
    return Case(source, {name: tensors[name] for name in used})


@pytest.mark.parametrize("columns", [1, 2, 6])
@pytest.mark.parametrize("text", [*FORGETTING, *OTHERS])
def test_programs_keep_their_meaning(text: str, columns: int) -> None:
    check_meaning(rewritten, case(text, columns))


def recurrences(text: str) -> int:
    """The number of definitions that are recurrences in the end."""
    return sum(map(is_recurrence, rewritten(case(text).function.program.op).definitions))


def test_which_become_recurrences() -> None:
    assert [recurrences(text) for text in FORGETTING] == [1] * len(FORGETTING)
    assert [recurrences(text) for text in OTHERS] == [0] * len(OTHERS)


@dataclass(frozen=True)
class _Average:
    """An average that forgets, as a loop."""

    decay: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        found = np.zeros(x.shape, np.float64)
        total = np.zeros(len(x))
        for k in range(x.shape[1]):
            total = found[:, k] = self.decay * total + x[:, k]
        return found


@pytest.mark.parametrize("decay", [0.9, 0.999, 0.0, -0.5])
def test_averages_that_forget(decay: float) -> None:
    """The values and gradients of a loop, for rows of a thousand elements."""
    f = tadc.compile(f"y[i, j] = sum[k in range(j + 1)](({decay})**(j - k) * x[i, k])")
    rng = np.random.default_rng(0)
    x, dy = (rng.normal(size=(4, 1000)).astype(np.float32) for _ in range(2))
    y, pullback = tadc.vjp(f, x)
    (dx,) = pullback(dy)
    average = _Average(decay)
    np.testing.assert_allclose(y, average(x), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(dx, average(dy[:, ::-1])[:, ::-1], rtol=1e-4, atol=1e-3)
