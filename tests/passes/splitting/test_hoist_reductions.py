"""Reductions that leave choices: what programs mean, and which leave."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

import tadc
from tadc.passes.derive.outline_reductions import OutlineReductionsPass
from tadc.passes.splitting import hoist_reductions as hoist
from tadc.passes.splitting.hoist_reductions import hoist_reductions, hoisted
from tadc.support.ir_text import context
from tests.support.campaign import seeds
from tests.support.derivations import program_of, random_case
from tests.support.random_choices import random_choice
from tests.support.random_programs import EVERYTHING
from tests.support.rewritten import check_meaning

check = partial(check_meaning, hoist_reductions)


@pytest.fixture
def short_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of any length are long: programs here are small."""
    monkeypatch.setattr(hoist, "FEWEST_TERMS", 1)


# --- meaning --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("short_sums")
@pytest.mark.parametrize("seed", seeds(8, of=500, start=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check(random_case(seed, **(EVERYTHING if seed % 2 else {})))


@pytest.mark.usefixtures("short_sums")
@pytest.mark.parametrize("seed", seeds(25, of=2000, start=2000))
def test_random_choices_keep_their_meaning(seed: int) -> None:
    check(random_choice(random.Random(seed)))


@pytest.mark.usefixtures("short_sums")
def test_reductions_leave_many_random_choices() -> None:
    assert sum(check(random_choice(random.Random(seed))) for seed in range(80)) > 7


# --- the choice -----------------------------------------------------------------------------------


def count(condition: str, then: str, otherwise: str) -> int:
    """The number of reductions that leave the choice of a definition."""
    head = "x: f64[N, 9]\nw: f64[N, 9]\n"
    source = f"{head}y[i in range(N), j in range(N)] = {then} if {condition} else {otherwise}"
    return len(hoisted(tadc.compile(source).program.op.definitions[-1]))


def test_which_reductions_leave() -> None:
    first, second = "sum[k](x[i, k] * w[j, k])", "sum[k](x[j, k] * w[i, k])"
    assert count("i != j", f"exp({first})", "0") == 1
    assert count("i == j", "x[i, 0]", first) == 1
    assert count("i <= j", first, f"tanh({second})") == 2
    # not what few elements need, nor one of two that half of them need
    assert count("i == j", first, "x[i, 0]") == 0
    assert count("i < j", f"exp({first})", "0") == 0
    # not three in the place of one
    assert count("i < j", f"exp({first}) * {second}", "sum[k](w[i, k])") == 0
    # not where what it reads is not there
    assert count("i != j", "sum[k](pad(x[i - 1, k]) * w[j, k])", "0") == 1
    assert count("i < j", "sum[k](x[i + 1, k] * w[j, k])", second) == 0


# --- code -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("condition", ["i != j", "i < j", "j < i", "i == j"])
def test_pairs_without_a_diagonal(condition: str) -> None:
    """Compiled for tiles: the values and gradients of NumPy."""
    f = tadc.compile(f"y[i] = sum[j](exp(sum[k](z[i, k] * z[j, k])) if {condition} else 0)")
    z = np.random.default_rng(0).normal(size=(70, 33)) / 8
    i, j = np.indices((70, 70))
    kept = {"i != j": i != j, "i < j": i < j, "j < i": j < i, "i == j": i == j}[condition]
    pairs = np.exp(z @ z.T) * kept
    y, pullback = tadc.vjp(f, z.astype(np.float32))
    np.testing.assert_allclose(y, pairs.sum(1), rtol=1e-4)
    weights = pairs + pairs.T
    (dz,) = pullback(np.ones(70, np.float32))
    np.testing.assert_allclose(dz, weights @ z, rtol=1e-3, atol=1e-3)


def test_sums_of_pairs_have_blocks_alone() -> None:
    """Products of pairs are tensors where all pairs are summed up but those on a diagonal."""
    sizes = ("I=200", "K=64")

    def labels(condition: str) -> list[str]:
        source = f"y[i] = sum[j](exp(sum[k](z[i, k] * z[j, k])) if {condition} else 0)"
        module = tadc.compile("z: f32[I, K]\n" + source).program.module.clone()
        OutlineReductionsPass(True, True, sizes).apply(context(), module)
        return [d.label.data for d in program_of(module).definitions]

    assert labels("i != j") == labels("i < j") == ["y_sum", "y"]
    assert labels("i == j + 3 or i == j") == ["y"]
