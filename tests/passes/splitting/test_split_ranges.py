"""Results by ranges: what programs mean, what is split, and the sizes of parts."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

import tadc
from tadc.passes.splitting import split_ranges as split
from tadc.passes.splitting.split_ranges import ranges_of, split_ranges
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.random_choices import random_choice
from tests.support.random_programs import EVERYTHING
from tests.support.random_sums import random_sum
from tests.support.rewritten import check_meaning

check = partial(check_meaning, split_ranges)


@pytest.fixture
def short_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of any length are worth a copy: programs here are small."""
    monkeypatch.setattr(split, "FEWEST_TERMS", 1)


# --- meaning --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("short_sums")
@pytest.mark.parametrize("seed", seeds(8, of=500))
def test_random_sums_keep_their_meaning(seed: int) -> None:
    check(random_sum(random.Random(seed)))


@pytest.mark.usefixtures("short_sums")
@pytest.mark.parametrize("seed", seeds(8, of=500, start=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check(random_case(seed, **(EVERYTHING if seed % 2 else {})))


@pytest.mark.usefixtures("short_sums")
@pytest.mark.parametrize("seed", seeds(25, of=2000, start=2000))
def test_random_choices_keep_their_meaning(seed: int) -> None:
    check(random_choice(random.Random(seed)))


@pytest.mark.usefixtures("short_sums")
def test_many_random_choices_are_split() -> None:
    assert sum(check(random_choice(random.Random(seed))) for seed in range(20)) > 7


# --- sizes ----------------------------------------------------------------------------------------

BEHIND = """w: f64[O, K]
v: f64[P, K]
y[i, o in range(O + P)] = sum[k](x[i, k] * w[o, k]) if o < O else sum[k](x[i, k] * v[o - O, k])
"""
FIRST, SECOND = "sum[k in range(9)](x[i, k] * w[o, k])", "sum[k in range(9)](x[i, k + 9] * v[o, k])"
HALVES = f"y[i, o] = {FIRST} + {SECOND}"


@pytest.mark.parametrize("sizes", [(2, 3), (0, 4), (3, 0), (1, 1)])
def test_one_tensor_behind_another(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    w, v = (rng.normal(size=(n, 9)) for n in sizes)
    assert check(Case(BEHIND, {"w": w, "v": v, "x": rng.normal(size=(4, 9))})) == 1


def test_sizes_of_parts() -> None:
    """Of O + P elements the first O, and P; of K elements 9 at most, and 9 of what is left."""
    program = split_ranges(tadc.compile(BEHIND).program.op)
    assert [d.label.data for d in program.definitions] == ["y_0", "y_1", "y"]
    assert [str(d.shape[1]) for d in program.definitions[:2]] == ["Affine(O)", "Affine(P)"]
    assert not program.derived
    gradient = tadc.compile(HALVES).derivative("x").program.op
    parts = split_ranges(gradient)
    (size,) = {s for d in gradient.definitions for s in d.shape[1].sizes}
    for length, wanted in ((18, [9, 9]), (30, [9, 9]), (12, [9, 3]), (5, [5, 0])):
        derived = {d.data.name: d.evaluate({size: length}) for d in parts.derived}
        shapes = [d.shape[1] for d in parts.definitions if d.label.data != "dx"]
        assert [s.constant or derived[s.sizes[0]] for s in shapes] == wanted


# --- the choice -----------------------------------------------------------------------------------


def begins(source: str) -> list[str]:
    """The values of which index begin ranges of the last definition."""
    found = ranges_of(tadc.compile(source).program.op.definitions[-1])
    return [f"{found.index.name_hint} from {b}" for b in found.begins[1:]] if found else []


def test_what_is_split() -> None:
    head = "x: f64[N, 9]\nw: f64[N, 9]\n"
    chosen = "sum[k](x[i, k]) if {} else sum[k](w[i, k])"
    wanted = ["i from Affine(5)"]
    assert begins(head + "y[i] = " + chosen.format("i < 5")) == wanted
    assert begins(head + "y[i] = exp(" + chosen.format("i >= 5") + ") * x[i, 0]") == wanted
    assert begins(head + "y[i] = " + chosen.format("i == 5")) == [*wanted, "i from Affine(6)"]
    # not by several indices, and not where sums are short, or there are none
    assert not begins(head + "y[i, j] = sum[k](x[i, k] * w[j, k]) if i < j else sum[k](x[i, k])")
    assert not begins(head + "y[i] = " + chosen.replace("[k]", "[k in range(3)]").format("i < 5"))
    assert not begins(head + "y[i] = x[i, 0] if i < 5 else w[i, 0]")
    # nothing tells which of both comes first
    either = "sum[k](x[i, k]) if i < 5 else sum[k](w[i, k]) if i < M else 0"
    assert not begins(head + "z: f64[M]\ny[i] = z[0] * (" + either + ")")


def test_what_most_elements_need_stays() -> None:
    """One range of nine columns: of ten it stays, of thirty, or of nobody knows how many, not."""
    program = tadc.compile(f"w: f64[K, L]\ny[i, o] = {FIRST}").derivative("w").program.op
    (size,) = program.definitions[-1].shape[1].sizes
    assert split_ranges(program, {size: 10}) is program
    assert split_ranges(program, {size: 30}) is not program
    assert split_ranges(program) is not program


def test_what_is_compared_stays() -> None:
    source = "x: f64[9, 9]\ny[i] = max[j](sum[k](x[i, k]) if j < 3 else sum[k](x[j, k]))"
    for f in (tadc.compile(source), tadc.compile(source).derivative("x")):
        program = f.program.op
        assert split_ranges(program).result_names == program.result_names


# --- code -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [18, 31])
def test_gradients_of_parts_of_tensors(columns: int) -> None:
    """Compiled for tiles: the gradient is that of NumPy, with zeros for what nobody reads."""
    f = tadc.compile(HALVES)
    rng = np.random.default_rng(columns)
    x, w, v = (rng.normal(size=(40, n)).astype(np.float32) for n in (columns, 9, 9))
    pullback = tadc.vjp(f, x, w, v)[1]
    dy = rng.normal(size=(40, 40)).astype(np.float32)
    wanted = np.zeros((40, columns))
    wanted[:, :9], wanted[:, 9:18] = dy @ w, dy @ v
    np.testing.assert_allclose(pullback(dy)[0], wanted, rtol=1e-4, atol=1e-4)
