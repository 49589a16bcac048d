"""Bounds of forms and of derived sizes, against all sizes between the bounds of sizes."""

from __future__ import annotations

import random
from itertools import product
from math import inf

import pytest
from xdsl.dialects.builtin import IndexType
from xdsl.utils.test_value import create_ssa_value

import tadc
from tadc.dialects.tix import Affine, Constraint
from tadc.dialects.tix.affine import SizeValues
from tadc.passes.analysis.size_bounds import SizeBounds

PROGRAM = tadc.compile("y[i] = sum[k](w[k] * x[3*i + k])").program.op


def random_form(rng: random.Random) -> Affine:
    return Affine({n: rng.randint(-3, 3) for n in ("N", "M", "M * N")}, rng.randint(-5, 5))


@pytest.mark.parametrize("seed", range(60))
def test_forms_stay_within_their_bounds_and_reach_those_of_one_size(seed: int) -> None:
    rng = random.Random(seed)
    least = {name: rng.randint(0, 4) for name in "NM"}
    most = {name: n + rng.randint(0, 4) for name, n in least.items()}
    bounds, form = SizeBounds(PROGRAM, least, most), random_form(rng)
    ranges = [range(least[name], most[name] + 1) for name in "NM"]
    values = [form.evaluate(SizeValues(N=n, M=m)) for n, m in product(*ranges)]
    low, high = bounds.of(form)
    assert low <= min(values) and max(values) <= high
    alone = form - Affine({"M * N": form["M * N"]})
    exact = [alone.evaluate(SizeValues(N=n, M=m)) for n, m in product(*ranges)]
    assert bounds.of(alone) == (min(exact), max(exact))


@pytest.mark.parametrize("seed", range(30))
def test_derived_sizes_stay_within_their_bounds(seed: int) -> None:
    rng = random.Random(seed)
    (derived,) = PROGRAM.derived
    names = sorted(derived.needs)
    least = {name: rng.randint(1, 9) for name in names}
    most = {name: n + rng.randint(0, 9) for name, n in least.items()}
    low, high = SizeBounds(PROGRAM, least, most).known[derived.data.name]
    for values in product(*(range(least[n], most[n] + 1) for n in names)):
        assert low <= derived.evaluate(dict(zip(names, values, strict=True))) <= high


def test_of_unknown_sizes_nothing_is_known() -> None:
    bounds = SizeBounds(PROGRAM, {"N": 3}, {})
    assert bounds.of(Affine.of("N")) == (3, inf)
    assert bounds.of(Affine.of("M") * -2) == (-inf, 0)


@pytest.mark.parametrize("seed", range(60))
def test_lengths_of_ranges_stay_within_their_bounds(seed: int) -> None:
    """Of an index with one or two first values, and one or two ends."""
    rng, k = random.Random(seed), create_ssa_value(IndexType())
    least = {name: rng.randint(0, 4) for name in "NM"}
    most = {name: n + rng.randint(0, 4) for name, n in least.items()}
    low = [random_form(rng) for _ in range(rng.randint(1, 2))]
    high = [random_form(rng) for _ in range(rng.randint(1, 2))]
    tests = [Constraint(Affine.of(k) - form) for form in low]
    tests += [Constraint(form - Affine.of(k)) for form in high]
    first, last = SizeBounds(PROGRAM, least, most).lengths(k, tests)
    ranges = [range(least[name], most[name] + 1) for name in "NM"]
    for n, m in product(*ranges):
        sizes = SizeValues(N=n, M=m)
        begin = max(form.evaluate(sizes) for form in low)
        length = min(form.evaluate(sizes) for form in high) - begin + 1
        assert first <= max(0, length) <= last
