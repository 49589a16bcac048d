"""The order of the indices of sums: what programs mean, and which index is the last."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.algebra.interchange_sums import interchange_sums
from tadc.passes.derive.absorb_conditions import bounded_without_conditions
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.random_programs import EVERYTHING
from tests.support.random_sums import random_sum
from tests.support.rewritten import check_meaning


def interchanged(program: tix.ProgramOp) -> tix.ProgramOp:
    """The bounded program with sums in order."""
    return interchange_sums(bounded_without_conditions(program))


check = partial(check_meaning, interchanged)


@pytest.mark.parametrize("seed", seeds(8, of=300))
def test_random_sums_keep_their_meaning(seed: int) -> None:
    check(random_sum(random.Random(seed)))


@pytest.mark.parametrize("seed", seeds(6, of=300, start=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check(random_case(seed, **(EVERYTHING if seed % 2 else {})))


@pytest.mark.parametrize("seed", seeds(6, of=60))
def test_windows_keep_their_meaning(seed: int) -> None:
    """Windows inside of a sum, cut at both ends; bounds of one index move with the other."""
    rng = random.Random(seed)
    step, first, taps = rng.randint(1, 3), rng.randint(-4, 1), rng.randint(1, 17)
    numbers = np.random.default_rng(seed)
    x, w, z = numbers.normal(size=(3, 20)), numbers.normal(size=taps), numbers.normal(size=(3, 9))
    order = rng.choice(["j, v", "v, j"])
    read = f"pad(x[i, {step}*j + v + {first}])"
    check(Case(f"y[i] = sum[{order}]({read} * w[v] * z[i, j])", {"x": x, "w": w, "z": z}))


@pytest.mark.parametrize("seed", seeds(6, of=60))
def test_sums_in_any_order_keep_their_meaning(seed: int) -> None:
    rng = random.Random(seed)
    order = ", ".join(rng.sample("ijk", 3))
    numbers = np.random.default_rng(seed)
    x, w = numbers.normal(size=(4, 5, 6)), numbers.normal(size=(6, 3))
    check(Case(f"y[l] = sum[{order}](x[i, j, k] * w[k, l])", {"x": x, "w": w}))


def orders(source: str) -> list[str]:
    """The indices of each sum and extremum."""
    program = interchanged(tadc.compile(source).program.op)
    sums = (op for op in program.walk() if isinstance(op, tix.SumOp | tix.ExtremumOp))
    return ["".join(v.name_hint or "_" for v in op.indices) for op in sums]


@pytest.mark.parametrize(
    ("source", "order"),
    [
        ("y = sum[j, i](x[i, j])", "ij"),
        ("y = sum[j, v in range(5)](x[2*j + v] * z[j])", "vj"),
        ("y = sum[j, v in range(5)](x[3*j + v] * z[j])", "jv"),
        ("y = sum[k, j, i](x[i, j, k])", "ijk"),
        ("y[o] = sum[s, t, c](w[o, c, s, t] * x[c, s + 1, t])", "cst"),
        # one side by side in one tensor, and one in the other: as it stands
        ("y = sum[j, i](x[i, j] * z[j, i])", "ji"),
        ("y = sum[i, j](x[i, j] * z[j, i])", "ij"),
        # through a quotient, and with a stride
        ("y = sum[j, i](x[i, j // 2])", "ij"),
        ("y = sum[j, i](x[i, 2*j])", "ij"),
        # bounds of one depend on the other
        ("x: f64[N, N]\ny = sum[j, i in range(j)](x[i, j])", "ji"),
        # terms may be compared in any order
        ("y = max[j, i](x[i, j] * z[i])", "ij"),
        ("y[i] = min[k, j](x[i, j, k]) / i", "jk"),
    ],
)
def test_the_last_index_is_that_of_neighbours(source: str, order: str) -> None:
    assert order in orders(source)
    assert len(orders(source)) == 1


def test_a_maximum_compares_its_terms() -> None:
    assert orders("y = max[k](sum[j, i](x[k, i, j]))") == ["k", "ji"]


def test_columns_are_summed_row_by_row() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 200))
    y = tadc.compile("y = sum[j, i](x[i, j] * x[i, j])")(x)
    np.testing.assert_allclose(y, (x * x).sum())
