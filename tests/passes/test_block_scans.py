"""Scans in blocks: what programs mean, what is a scan, and how accurate their sums are."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

import tadc
from passes import block_scans as scans
from passes.block_scans import block_scans
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.random_programs import EVERYTHING
from tests.support.random_sums import random_sum
from tests.support.rewritten import check_meaning

UP_TO = "y[b, i] = sum[k in range(i + 1)](x[b, k])"
AREAS = "y[i, j] = sum[k in range(i + 1), l in range(j + 1)](x[k, l] * w[l])"

check = partial(check_meaning, partial(block_scans, sizes={}))


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of few terms, in several levels: programs here are small."""
    monkeypatch.setattr(scans, "TERMS_OF_BLOCKS", (3, 2))
    monkeypatch.setattr(scans, "FEWEST_BLOCKS", 1)


# --- meaning --------------------------------------------------------------------------------------


def scan(rng: random.Random) -> Case:
    """A random scan, forwards or backwards, with a few terms more or less than an element has."""
    before, behind = rng.choice([("", ""), ("d, ", ""), ("", ", d")])
    offset, size = rng.randint(-2, 3), rng.randint(1, 13)
    ends = (f"max(0, i + {offset}), {size}", f"0, min({size}, i + {offset})")
    term = rng.choice(["x[k]", "x[k] * w[k, j]", "w[k, j]**2", "x[k] / (k + 1)"])
    inner = f"sum[{before}k in range({rng.choice(ends)}){behind}](u[d] * {term})"
    total = inner if before or behind else inner.replace("u[d] * ", "")
    head = f"x: f64[{size}]\nu: f64[2]\nw: f64[{size}, 3]\n"
    source = f"{head}y[j in range(3), i in range({size})] = {total}"
    numbers = np.random.default_rng(rng.randint(0, 999))
    shapes = {"x": size, "u": 2, "w": (size, 3)}
    return Case(source, {name: numbers.normal(size=shape) for name, shape in shapes.items()})


@pytest.mark.usefixtures("small_blocks")
def test_random_scans_keep_their_meaning() -> None:
    """Most are scans: not those that end far behind an element."""
    cases = [scan(random.Random(seed)) for seed in seeds(16, of=400)]
    assert sum(map(check, cases)) > len(cases) / 2


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("seed", seeds(6, of=300))
def test_random_sums_keep_their_meaning(seed: int) -> None:
    check(random_sum(random.Random(seed)))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("seed", seeds(6, of=300, start=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check(random_case(seed, **(EVERYTHING if seed % 2 else {})))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("size", [0, 1, 2, 3, 6, 7, 12, 13, 40])
def test_scans_of_any_length(size: int) -> None:
    rng = np.random.default_rng(size)
    assert check(Case(UP_TO, {"x": rng.normal(size=(2, size))})) == 2
    assert check(Case(AREAS, {"x": rng.normal(size=(size, 5)), "w": rng.normal(size=5)}))


# --- the choice -----------------------------------------------------------------------------------


def labels(source: str, **sizes: int) -> list[str]:
    """The definitions after the pass."""
    return [d.label.data for d in block_scans(tadc.compile(source).program.op, sizes).definitions]


def test_long_scans_have_blocks_of_blocks() -> None:
    assert labels(UP_TO, B=3, X_1=50) == ["y"]
    assert labels(UP_TO, B=3, X_1=500) == ["y_block", "y_before", "y"]
    long = ["y_block", "y_before_block", "y_before_before", "y_before", "y"]
    assert labels(UP_TO, B=3, X_1=512) == labels(UP_TO) == long


@pytest.mark.parametrize(
    "source",
    [
        "y[i] = sum[k in range(i + 1)](x[i - k])",
        "y[i] = sum[k in range(i + 1)](x[k] * i)",
        "y[i in range(99)] = sum[k in range(max(0, i - 5), i + 1)](x[k])",
        "x: f64[N]\ny[i in range(N)] = sum[k in range(i + 1)](x[k] * z[2*i])",
        "y[i] = max[k in range(i + 1)](x[k])",
        "y[i in range(50)] = sum[k in range(i + 1)](x[k])",
    ],
)
def test_what_is_no_scan(source: str) -> None:
    assert labels(source) == ["y"]


# --- code -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [255, 256, 1023, 40_000])
def test_cumulative_sums_and_their_gradients(size: int) -> None:
    rng = np.random.default_rng(size)
    x, dy = rng.normal(size=(2, 3, size))
    y, pullback = tadc.vjp(tadc.compile(UP_TO), x)
    np.testing.assert_allclose(y, np.cumsum(x, 1), rtol=1e-9, atol=1e-10)
    (dx,) = pullback(dy)
    np.testing.assert_allclose(dx, np.cumsum(dy[:, ::-1], 1)[:, ::-1], rtol=1e-9, atol=1e-10)


def test_a_million_ones_are_counted_in_single_precision() -> None:
    x = np.ones((1, 1 << 20), np.float32)
    np.testing.assert_array_equal(tadc.compile(UP_TO)(x)[0], np.arange(1, x.size + 1))
