"""Terms that conditions on indices leave out of sums: their other factors do not count.

Values, and values beside gradients and tangents, against sums term by term in Python.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

import tadc
from tests.support.campaign import seeds
from tests.support.special_values import assert_same

Arrays = Mapping[str, np.ndarray]

CONDITIONS: Mapping[str, Callable[[int, int, int], bool]] = {
    "i < k": lambda i, k, n: i < k,
    "k != i": lambda i, k, n: k != i,
    "k == i": lambda i, k, n: k == i,
    "i + k < N": lambda i, k, n: i + k < n,
    "k >= 2": lambda i, k, n: k >= 2,
    "i != 0": lambda i, k, n: i != 0,
    "(i + k) % 2 == 0": lambda i, k, n: (i + k) % 2 == 0,
    "k < 2 or k > i": lambda i, k, n: k < 2 or k > i,
    "i <= k <= i + 2": lambda i, k, n: i <= k <= i + 2,
    "i == N - 1": lambda i, k, n: i == n - 1,
}
ELEMENTS: Mapping[str, Callable[[Arrays, int, int], float]] = {
    "a[i]": lambda x, i, k: x["a"][i],
    "b[k]": lambda x, i, k: x["b"][k],
    "c[i, k]": lambda x, i, k: x["c"][i, k],
    "c[k, i]": lambda x, i, k: x["c"][k, i],
    "sin(a[i] + b[k])": lambda x, i, k: np.sin(x["a"][i] + x["b"][k]),
    "(a[i] - c[k, i])": lambda x, i, k: x["a"][i] - x["c"][k, i],
}


@dataclass(frozen=True)
class Factor:
    """An element, as it is or where conditions hold and 0 elsewhere."""

    element: str
    conditions: Sequence[str] = ()

    @property
    def text(self) -> str:
        text = self.element
        for condition in self.conditions:
            text = f"({text} if {condition} else 0)"
        return text

    def counts(self, i: int, k: int, n: int) -> bool:
        return all(CONDITIONS[c](i, k, n) for c in self.conditions)


def random_term(rng: random.Random) -> list[Factor]:
    def factor() -> Factor:
        count = rng.choice((0, 0, 1, 1, 2))
        return Factor(rng.choice([*ELEMENTS]), rng.sample([*CONDITIONS], count))

    return [factor() for _ in range(rng.randint(1, 4))]


def sum_of(terms: Sequence[Sequence[Factor]], x: Arrays, i: int, n: int) -> float:
    """The sum over k of the terms of which all factors count."""
    total = 0.0
    for k in range(n):
        for term in terms:
            if all(f.counts(i, k, n) for f in term):
                total += float(np.prod([ELEMENTS[f.element](x, i, k) for f in term]))
    return total


def numbers(rng: np.random.Generator, shape: tuple[int, ...], share: float) -> np.ndarray:
    """Small integers, of which a share is NaN or infinite."""
    found = rng.integers(-2, 3, shape).astype(float)
    return np.where(rng.random(shape) < share, rng.choice([np.nan, np.inf, -np.inf], shape), found)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", seeds(12, of=400))
def test_excluded_terms_read_nothing(seed: int):
    rng, draw = random.Random(seed), np.random.default_rng(seed)
    terms = [random_term(rng) for _ in range(rng.choice((1, 1, 2)))]
    text = " + ".join(" * ".join(f.text for f in term) for term in terms)
    source = f"a: f64[N]\nb: f64[N]\nc: f64[N, N]\ny[i in range(N)] = sum[k in range(N)]({text})"
    n = rng.choice((1, 6, 17, 40))
    shapes = {"a": (n,), "b": (n,), "c": (n, n)}
    x = {name: numbers(draw, shape, rng.choice((0.02, 0.1))) for name, shape in shapes.items()}
    expected = np.array([sum_of(terms, x, i, n) for i in range(n)])
    for target in ("cpu", "interpret"):
        f = tadc.compile(source, target=target)
        arguments = [x[tensor.name] for tensor in f.args]
        assert_same(f(*arguments), expected)
        assert_same(tadc.vjp(f, *arguments)[0], expected)
        assert_same(tadc.jvp(f, arguments, arguments)[0], expected)


@pytest.mark.parametrize("target", ["cpu", "interpret"])
@pytest.mark.parametrize("n", [5, 200])
def test_a_factor_of_all_terms_stays_where_none_counts(n: int, target: str):
    """The last element has no term; its factor may be anything, and all sizes agree."""
    f = tadc.compile("y[i] = sum[k]((c[i, k] if k > i else 0) * a[i])", target=target)
    c, a = np.ones((n, n)), np.ones(n)
    a[-1] = np.nan
    expected = np.arange(n - 1, -1, -1.0)
    assert_same(f(c, a), expected)
    value, pullback = tadc.vjp(f, c, a)
    assert_same(value, expected)
    dc, da = pullback(np.ones(n))
    assert_same(da, expected)
    assert_same(dc, np.triu(np.ones((n, n)), 1))
