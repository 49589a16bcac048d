"""Elements that share dear terms: what programs mean, and which are split."""

from __future__ import annotations

import random
from functools import partial
from itertools import product

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.splitting import split_elements as split
from tadc.passes.splitting.split_elements import index_of_elements, split_elements
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.random_programs import EVERYTHING
from tests.support.rewritten import check_meaning

check = partial(check_meaning, split_elements)

FACTORS = (
    "a[j] * exp(-(x[i, {k}] - z[j, {k}])**2 * v[{k}])",
    "x[i, {k}] / (1 + z[j, {k}]**2)",
    "cos(x[i, {k}] * v[{k}]) + z[j, {k}]",
)
"""Terms of short products, and of short sums."""


@pytest.fixture
def short_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of any length are long: programs here are small."""
    monkeypatch.setattr(split, "FEWEST_TERMS", 1)


def random_short_product(rng: random.Random) -> Case:
    """A sum over products of few factors, of which some are 0 in places."""
    count, kind = rng.choice([2, 3, 4]), rng.choice(["prod", "prod", "sum"])
    term = rng.choice(FACTORS).format(k="k")
    inner = f"{kind}[k in range({rng.choice([0, 1])}, {count})]({term})"
    if kind == "sum":
        inner = f"prod[k in range({count})]({term} * sum[l in range(k)]({term.replace('k', 'l')}))"
    shapes = {"a": (3,), "x": (2, count), "z": (3, count), "v": (count,)}
    source = rng.choice(
        [f"y[i] = sum[j]({inner})", f"y[i, j] = {inner}", f"y = sum[i, j]({inner})"]
    )
    used = {name: shape for name, shape in shapes.items() if f"{name}[" in source}
    arrays = {
        name: np.where(generator.random(shape) < 0.3, 0, generator.normal(size=shape))
        for generator in [np.random.default_rng(rng.randrange(1 << 30))]
        for name, shape in used.items()
    }
    declared = "".join(f"{name}: f64{list(shape)}\n" for name, shape in used.items())
    return Case(declared + source, arrays)


# --- meaning --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("short_sums")
@pytest.mark.parametrize("seed", seeds(8, of=500))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check(random_case(seed, **(EVERYTHING if seed % 2 else {})))


@pytest.mark.usefixtures("short_sums")
@pytest.mark.parametrize("seed", seeds(20, of=1000, start=1000))
def test_random_short_products_keep_their_meaning(seed: int) -> None:
    check(random_short_product(random.Random(seed)))


@pytest.mark.usefixtures("short_sums")
def test_many_random_short_products_are_split() -> None:
    assert sum(check(random_short_product(random.Random(seed))) for seed in range(20)) > 7


# --- the choice -----------------------------------------------------------------------------------


def split_by(source: str, wrt: str) -> list[str]:
    """The definitions of a gradient that are split, each with the index."""
    program = tadc.compile(source).derivative(wrt).program.op
    found = ((d.label.data, index_of_elements(d)) for d in program.definitions)
    return [f"{label} by {index.name_hint}" for label, index in found if index]


def test_what_is_split() -> None:
    declared = "x: f64[9, {0}]\nz: f64[9, {0}]\n"
    kernel = "y[i] = sum[j](prod[d]({1}(x[i, d] * z[j, d])))"
    assert split_by((declared + kernel).format(3, "exp"), "x") == ["dx by d"]
    assert split_by((declared + kernel).format(8, "sin"), "z") == ["dz by d"]
    # not where the code would be long, and not where factors are cheap
    assert not split_by((declared + kernel).format(9, "exp"), "x")
    assert not split_by((declared + kernel).format(3, "abs"), "x")
    # not where products are no terms of long sums, and of lengths that nobody knows
    assert not split_by("x: f64[9, 3]\ny[i] = prod[d](exp(x[i, d]))", "x")
    assert not split_by("x: f64[9, D]\nz: f64[9, D]\n" + kernel.format(0, "exp"), "x")


def test_each_element_has_the_others_as_factors() -> None:
    """Written out from the ends that they share: of four, 1 and 2 and 3 are behind 0, from 3 on."""
    source = "x: f64[9, 4]\nz: f64[9, 4]\ny[i] = sum[j](prod[d](cos(x[i, d] * z[j, d])))"
    program = tadc.compile(source).derivative("x").program.op
    op = program.definitions[-1]
    index = index_of_elements(op)
    assert index is not None
    inner = [o for o in op.body.walk() if isinstance(o, tix.ProdOp)]
    found = [
        [[at[v].constant for v in at] for at in split.points_at(o, index, n) or ()]
        for o, n in product(inner, range(4))
    ]
    before = [[], [[0]], [[0], [1]], [[0], [1], [2]]]
    behind = [[[3], [2], [1]], [[3], [2]], [[3]], []]
    assert [found[:4], found[4:]] in ([before, behind], [behind, before])


# --- code -----------------------------------------------------------------------------------------

KERNEL = "y[i, j] = prod[d](exp(-(x[i, d] - z[j, d])**2 * v[d]) * cos((x[i, d] - z[j, d]) * v[d]))"


def test_loops_compute_each_factor_once() -> None:
    """All elements share loops, whose code has three functions for each of three factors."""
    f = tadc.compile("v: f32[3]\nx: f32[256, 3]\nz: f32[256, 3]\n" + KERNEL)
    plan = f.derivative("x").emit("plan")
    assert "# with dx_1, dx_2, in columns i by" in plan


@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_gradients_where_factors_are_zero(zeros: int) -> None:
    """The other factors are multiplied: a gradient by the factor that is 0 is their product, and
    with two such factors all are 0."""
    f = tadc.compile("y[i] = sum[j](a[j] * prod[d](sin(x[i, d]) * z[j, d]))")
    rng = np.random.default_rng(zeros)
    a, x, z = rng.normal(size=64), rng.normal(size=(200, 3)), rng.normal(size=(64, 3))
    x[:, :zeros] = 0
    dx = dict(
        zip([t.name for t in f.args], tadc.vjp(f, a=a, x=x, z=z)[1](np.ones(200)), strict=True)
    )
    weight = np.sum(a * np.prod(z, 1))
    others = [np.prod(np.delete(np.sin(x), d, 1), 1) for d in range(3)]
    np.testing.assert_allclose(dx["x"], weight * np.cos(x) * np.stack(others, 1), rtol=1e-11)
