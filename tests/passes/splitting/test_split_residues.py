"""Results by residues: what programs mean, what is split, and the sizes of parts."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.derive.absorb_conditions import bounded_without_conditions
from tadc.passes.splitting import split_residues as split
from tadc.passes.splitting.split_residues import best_moduli, split_residues
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.random_programs import EVERYTHING
from tests.support.random_sums import random_sum
from tests.support.rewritten import check_meaning

check = partial(check_meaning, split_residues)


@pytest.fixture
def short_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of any length are worth a copy: programs here are small."""
    monkeypatch.setattr(split, "FEWEST_TERMS", 1)


# --- meaning --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("short_sums")
@pytest.mark.parametrize("seed", seeds(9, of=500))
def test_random_sums_keep_their_meaning(seed: int) -> None:
    check(random_sum(random.Random(seed)))


@pytest.mark.usefixtures("short_sums")
@pytest.mark.parametrize("seed", seeds(6, of=400, start=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check(random_case(seed, **(EVERYTHING if seed % 2 else {})))


@pytest.mark.usefixtures("short_sums")
def test_many_random_sums_are_split() -> None:
    assert sum(check(random_sum(random.Random(seed))) for seed in range(20)) > 4


# --- sizes ----------------------------------------------------------------------------------------


STRIDED = "y[n, t] = sum[c, s](w[c, s] * x[n, c, 2*t + 3*s])"


@pytest.mark.usefixtures("short_sums")
@pytest.mark.parametrize("length", [13, 14, 15, 16, 30])
def test_parts_of_any_size(length: int) -> None:
    """Odd and even lengths, and lengths at which the last elements have no terms."""
    rng = np.random.default_rng(length)
    x, w = rng.normal(size=(2, 3, length)), rng.normal(size=(3, 5))
    case = Case("w: f64[C, 5]\n" + STRIDED, {"w": w, "x": x})
    assert check(case) == 1


def test_sizes_of_parts() -> None:
    """Of N elements along an index half, rounded up or down; of 2 N as many each."""
    program = tadc.compile("w: f64[C, 5]\n" + STRIDED).derivative("x").program.op
    parts = split_residues(program)
    assert [d.label.data for d in parts.definitions] == ["dx_0", "dx_1", "dx"]
    (size,) = (d.data.name for d in program.derived)
    added = {d.data.name: d.evaluate({"X_2": 15, size: 2}) for d in parts.derived}
    assert list(added.values()) == [2, 8, 7]
    even = "w: f64[2, 9]\ny[i in range(2*N)] = sum[k](x[i // 2 + k] * w[i % 2, k] * z[i // 2])"
    halves = split_residues(tadc.compile("z: f64[N]\n" + even).program.op)
    assert [str(d.shape[0]) for d in halves.definitions[:2]] == ["Affine(N)"] * 2
    assert not halves.derived


# --- the choice -----------------------------------------------------------------------------------


def moduli(source: str) -> list[dict[str | None, int]]:
    """By how much which indices of each definition of the narrow program are split."""
    program = bounded_without_conditions(tadc.compile(source).program.op)
    return [{v.name_hint: m for v, m in best_moduli(d).items()} for d in program.definitions]


def test_what_is_split() -> None:
    taps = "0 <= p - 2*i < 4 and 0 <= q - 3*j < 5"
    transposed = f"sum[c, i, j](x[c, i, j] * w[c, p - 2*i, q - 3*j] if {taps} else 0)"
    head = "w: f64[C, 4, 5]\n"
    assert moduli(f"{head}y[p in range(9), q in range(9)] = {transposed}") == [{"p": 2, "q": 3}]
    # by no coefficient beyond a short one: there would be too many parts
    assert moduli(
        "w: f64[3]\ny[p in range(99)] = sum[i](x[i] * w[p - 50*i] if 0 <= p - 50*i < 3 else 0)"
    ) == [{}]
    # not what has no sums, short ones, or strides along a sum alone
    assert moduli("y[p in range(8)] = x[p // 2] * w[p % 2]") == [{}]
    assert moduli("w: f64[2, 3]\ny[p in range(8)] = sum[k](x[p // 2 + k] * w[p % 2, k])") == [{}]
    assert moduli("w: f64[9]\ny[i] = sum[k](w[k] * x[2*i + 3*k])") == [{}]


def test_what_is_compared_stays() -> None:
    source = "w: f64[2, 9]\ny[p in range(8)] = max[k](x[p // 2 + k] * w[p % 2, k])"
    for program in (
        tadc.compile(source).program.op,
        tadc.compile(source).derivative("w").program.op,
    ):
        assert split_residues(program) is program


def test_results_keep_their_names_and_places() -> None:
    program = tadc.compile("w: f64[C, 5]\n" + STRIDED).derivative().program.op
    parts = split_residues(program)
    assert parts.result_names == program.result_names
    labels = [d.label.data for d in parts.definitions]
    assert len(set(labels)) == len(labels)
    assert isinstance(parts, tix.ProgramOp)


# --- code -----------------------------------------------------------------------------------------


def test_calls_of_many_sizes() -> None:
    """Compiled for tiles, on sizes that share code: the gradient is that of NumPy."""
    f = tadc.compile("w: f32[O, C, 3]\ny[n, o, i] = sum[c, s](w[o, c, s] * x[n, c, 2*i + s])")
    rng = np.random.default_rng(0)
    w = rng.normal(size=(16, 16, 3))
    for length in (1025, 1026, 1031):
        x, dy = rng.normal(size=(2, 16, length)), rng.normal(size=(2, 16, (length - 1) // 2))
        _, pullback = tadc.vjp(f, w=w.astype(np.float32), x=x.astype(np.float32), wrt="x")
        (dx,) = pullback(dy.astype(np.float32))
        expected = np.zeros(x.shape)
        for s in range(3):
            there = expected[:, :, s : s + 2 * dy.shape[2] - 1 : 2]
            there += np.einsum("oc,noi->nci", w[:, :, s], dy)
        np.testing.assert_allclose(dx, expected, atol=1e-4)
