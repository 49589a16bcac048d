"""Long sums have bounds that do not move, and few terms are beside them, in all sizes."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import tadc
import tadc.passes.splitting.peel_sums
from tadc.dialects import tix
from tadc.passes.splitting.peel_sums import peel_sums
from tests.support.campaign import seeds
from tests.support.long_calls import count_all_calls_as_long


def sums(source: str, **sizes: int) -> list[tix.SumOp]:
    program = peel_sums(tadc.compile(source).program.op, sizes)
    return [op for op in program.walk() if isinstance(op, tix.SumOp)]


def test_the_first_sum_has_the_same_bounds_for_all_elements() -> None:
    source = "w[u in range(3)] = sum[i in range(max(0, 1 - u), min(N, N + 1 - u))](x[u + i - 1])"
    first, *others = sums(f"x: f64[N]\n{source}", N=2048)
    assert [v for c in first.constraints for v in c.form.indices if v not in first.indices] == []
    assert others == [], "what is left at an end is one term here"
    wide = (
        source.replace("3)] =", "5)] =").replace("1 - u", "2 - u").replace("u + i - 1", "u + i - 2")
    )
    assert len(sums(f"x: f64[N]\n{wide.replace('N + 1', 'N + 2')}", N=2048)) == 3


@pytest.mark.parametrize(
    "source",
    [
        # few values of the index
        "x: f64[100]\nw[u in range(3)] = sum[i in range(max(0, 1 - u), 98)](x[u + i - 1])",
        # bounds that move by many
        "x: f64[4000]\nw[u in range(2000)] = sum[i in range(u, 2000)](x[u + i])",
        # nothing tells by how many
        "x: f64[N]\nw: f64[K]\ny[u in range(K)] = w[u] * sum[i in range(u, N)](x[i])",
        # extrema stay whole
        "x: f64[2048]\nw[u in range(3)] = max[i in range(max(0, 1 - u), 2046)](x[u + i - 1])",
    ],
)
def test_other_reductions_stay(source: str) -> None:
    program = tadc.compile(source).program.op
    assert peel_sums(program, {"N": 2048, "K": 3}) is program


def random_windows(seed: int) -> str:
    """A sum of products over the places of a tensor of windows in another, of one to two axes."""
    rng = random.Random(seed)
    rank = rng.choice([1, 2])
    axes = list(zip("ij"[:rank], "uv"[:rank], "NM"[:rank], strict=True))
    places = [f"{i} + {rng.choice([1, 1, 2])}*{u} - {rng.randrange(4)}" for i, u, _ in axes]
    word = rng.choice(["pad", "clamp", "reflect", "wrap"])
    read = f"pad(x[{', '.join(places)}])"
    if word != "pad":
        read = f"x[{', '.join(f'{word}({place})' for place in places)}]"
    sizes, terms = (", ".join(axis[n] for axis in axes) for n in (2, 1))
    ranges = ", ".join(f"{i} in range({n})" for i, _, n in axes)
    return (
        f"x: f64[{sizes}]\nw: f64[{', '.join('3' * rank)}]\n"
        f"y[{ranges}] = sum[{terms}](w[{terms}] * {read})"
    )


@pytest.mark.parametrize("seed", seeds(12, of=600))
def test_gradients_by_weights_are_exact_in_all_sizes(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    count_all_calls_as_long(monkeypatch)
    monkeypatch.setattr(tadc.passes.splitting.peel_sums, "LONG", 1)
    source = random_windows(seed)
    rng = np.random.default_rng(seed)
    n, m = (int(rng.integers(8, 40)) for _ in range(2))
    if seed % 2:
        source = re.sub(r"\b[NM]\b", lambda size: str({"N": n, "M": m}[size[0]]), source)
    f, plain = (tadc.compile(source, target=target) for target in ("cpu", "interpret"))
    numbers = {"N": n, "M": m}
    shapes = [[k if isinstance(k, int) else numbers[k] for k in t.shape] for t in f.args]
    arguments = [rng.standard_normal(shape) for shape in shapes]
    y, pullback = tadc.vjp(f, *arguments)
    expected, there = tadc.vjp(plain, *arguments)
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)
    dy = rng.standard_normal(y.shape)
    for own, other in zip(pullback(dy), there(dy), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-11, atol=1e-11)
