"""Names for scans and their terms: what programs mean, and what gets a name."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.algebra import outline_scans as scans
from tadc.passes.algebra.outline_scans import outline_scans
from tadc.passes.scheduling.scans import is_scanned
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.random_programs import EVERYTHING
from tests.support.random_scans import random_scan
from tests.support.random_sums import random_sum
from tests.support.rewritten import check_meaning

UP_TO = "y[b, i] = sum[k in range(i + 1)](x[b, k])"
TURNED = "y[b, i] = sum[k in range(i + 1)](x[k, b])"
AREAS = "y[i, j] = sum[k in range(i + 1), l in range(j + 1)](x[k, l] * w[l])"

check = partial(check_meaning, partial(outline_scans, sizes={}))


@pytest.fixture
def short_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scans of any length: programs here are small."""
    monkeypatch.setattr(scans, "FEWEST_ELEMENTS", 1)


# --- meaning --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("short_scans")
def test_random_scans_keep_their_meaning() -> None:
    """Loops can carry the totals of some as they stand."""
    cases = [random_scan(random.Random(seed)) for seed in seeds(12, of=400)]
    assert sum(map(check, cases)) > len(cases) / 2


@pytest.mark.usefixtures("short_scans")
@pytest.mark.parametrize("seed", seeds(6, of=300))
def test_random_sums_keep_their_meaning(seed: int) -> None:
    check(random_sum(random.Random(seed)))


@pytest.mark.usefixtures("short_scans")
@pytest.mark.parametrize("seed", seeds(6, of=300, start=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check(random_case(seed, **(EVERYTHING if seed % 2 else {})))


@pytest.mark.usefixtures("short_scans")
@pytest.mark.parametrize("size", [0, 1, 2, 3, 6, 7, 12, 13, 40])
def test_scans_of_any_length(size: int) -> None:
    rng = np.random.default_rng(size)
    assert check(Case(TURNED, {"x": rng.normal(size=(size, 2))})) == 2
    assert check(Case(AREAS, {"x": rng.normal(size=(size, 5)), "w": rng.normal(size=5)}))


# --- the choice -----------------------------------------------------------------------------------


def labels(source: str, **sizes: int) -> list[str]:
    """The definitions after the pass."""
    return [d.label.data for d in outline_scans(tadc.compile(source).program.op, sizes).definitions]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("y[i, j] = sum[k in range(j + 1), d](x[i, k, d] * w[d])", ["y_term", "y"]),
        ("y[i, j] = exp(sum[k in range(j + 1)](exp(x[i, k])))", ["y"]),
        ("y[i, j] = exp(sum[k in range(j + 1), d](x[i, k, d]))", ["y_sum_term", "y_sum", "y"]),
        (AREAS, ["y_term", "y"]),
        ("y[i, j] = sum[k in range(j + 1)](x[k, i])", ["y_turned", "y"]),
        ("z[i, j] = sum[k in range(j + 1)](x[k, i])\ny[i, j] = exp(z[i, j])", ["z_turned", "y"]),
        ("y[i, a] = sum[b](q[i, b] * sum[k in range(i + 1)](u[k, a, b]))", ["y_sum", "y"]),
        ("x: f64[N]\ny[i in range(N)] = sum[k in range(i + 1)](x[k] * z[2*i])", ["y_sum", "y"]),
        ("y[i, j] = prod[k in range(j + 1)](x[k, i] * w[k])", ["y_term", "y"]),
    ],
)
def test_what_gets_a_name(source: str, expected: list[str]) -> None:
    assert labels(source) == expected


def test_factors_leave_under_a_condition_that_there_are_terms() -> None:
    """There may be fewer elements of w than j has values, and terms only where these are."""
    f = tadc.compile("y[i, j] = sum[k in range(j + 1)](x[i, k] * w[k])")
    made = outline_scans(f.derivative("x").program.op, {})
    assert all(is_scanned(op) for op in made.definitions)
    assert any(isinstance(o, tix.IfOp) for op in made.definitions for o in op.walk())


def test_few_elements_are_left_as_they_are() -> None:
    assert labels(AREAS, X_0=50, J=31) == ["y_term", "y"]
    assert labels(AREAS, X_0=31, J=31, W_0=31, X_1=31) == ["y"]


@pytest.mark.parametrize(
    "source",
    [
        "y[i] = sum[k in range(i + 1)](x[k])",
        "y[i, j] = sum[k in range(i + 1)](x[k, j] * w[j])",
        "y[i] = sum[k in range(i + 1)](x[i - k])",
        "y[i] = sum[k in range(i + 1)](x[k] * i)",
        "y[i in range(99)] = sum[k in range(max(0, i - 5), i + 1)](x[k])",
    ],
)
def test_what_gets_none(source: str) -> None:
    assert labels(source) == ["y"]
