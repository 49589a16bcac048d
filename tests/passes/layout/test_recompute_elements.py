"""Elements computed where they are read: what programs mean, what is stored, and what is saved."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.layout.recompute_elements import recompute_elements
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.random_programs import EVERYTHING
from tests.support.rewritten import check_meaning


def recomputed(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program in which sizes that are not numbers count as long."""
    return recompute_elements(program.clone(), {})


check = partial(check_meaning, recomputed)

PAIRS = (
    "r[i, j] = sum[d in range(3)]((x[i, d] - z[j, d])**2)",
    "r[i, j] = abs(x[i, 0] - z[j, 1]) + x[i, 2]",
    "r[i, j] = x[i, 1] * z[j, 0] if i >= j else 0",
)
STRENGTHS = (
    "w[i, j] = exp(-r[i, j]) * b[j]",
    "w[i, j] = (1 - r[i, j])**2 / (r[i, j] + 0.5) if r[i, j] < 1 else 0",
    "w[i, j] = max(r[i, j], b[j])",
)
SUMS = (
    "y[i, d] = sum[j](w[i, j] * (x[i, d] - z[j, d]))",
    "y[j] = sum[i](w[i, j]) + sum[k](r[k, j])",
    "y = sum[i, j](w[i, j] * r[i, j])",
    "y[i] = max[j](w[i, j])",
)


@pytest.mark.parametrize("seed", seeds(8, of=200))
def test_kernels_between_points_keep_their_meaning(seed: int) -> None:
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    source = "\n".join(map(rng.choice, (PAIRS, STRENGTHS, SUMS)))
    x, z, b = numbers.normal(size=(5, 3)), numbers.normal(size=(4, 3)), numbers.normal(size=4)
    check(Case(source, {"x": x, "z": z, "b": b}))


@pytest.mark.parametrize("seed", seeds(6, of=300, start=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check(random_case(seed, **(EVERYTHING if seed % 2 else {})))


def stored(source: str) -> list[str]:
    """The labels of the definitions that are left."""
    program = recomputed(tadc.compile(source).program.op)
    return [op.label.data for op in program.definitions]


POINTS = "x: f32[N, 3]\n"
WEIGHTS = "w[i, j, u in range(9)] = {}\ny[i, j] = sum[u](w[i, j, u]**2)"


@pytest.mark.parametrize(
    ("source", "labels"),
    [
        # all pairs of points, and what is made of them
        (f"{POINTS}{PAIRS[0]}\n{STRENGTHS[0]}\n{SUMS[0]}", ["y"]),
        # a result is stored, and read as any other
        (f"{POINTS}{PAIRS[0]}\ny[i] = sum[j](exp(r[i, j]))\nreturn r, y", ["r", "y"]),
        # nothing is known of the length of the sum: it may be long
        ("r[i, j] = sum[d]((x[i, d] - z[j, d])**2)\ny[i] = sum[j](exp(-r[i, j]))", ["r", "y"]),
        # as many numbers are read as elements are made
        ("e[i, j] = exp(x[i, j] - m[i])\ny[i] = sum[j](e[i, j]) / e[i, 0]", ["e", "y"]),
        # an element would be computed for each of many columns
        (f"{POINTS}{PAIRS[0]}\ny[i, k] = sum[j](exp(-r[i, j]) * v[j, k])", ["r", "y"]),
        # elements are few, but cost no more than to read them
        (WEIGHTS.format("a[i, j] * x[i, j + u]"), ["y"]),
        (WEIGHTS.format("exp(a[i, j] * x[i, j + u])"), ["w", "y"]),
        # an element would be computed for each window that it is in
        (f"{POINTS}{PAIRS[0]}\ny[i, j] = sum[k in range(3)](r[i + k, j])", ["r", "y"]),
    ],
)
def test_what_is_stored(source: str, labels: list[str]) -> None:
    assert stored(source) == labels


def test_terms_that_are_compared_stay() -> None:
    """The derivative of a maximum goes to the terms that are equal to it."""
    derivative = tadc.compile(f"{POINTS}{PAIRS[0]}\ny[i] = max[j](r[i, j])").derivative()
    labels = [op.label.data for op in recomputed(derivative.program.op).definitions]
    assert labels[0] == "r"


def saved_by(source: str, points: int) -> list[str]:
    """The tensors that a value saves for its gradients."""
    f = tadc.compile(source)
    rng = np.random.default_rng(0)
    shapes = {"x": (points, 3), "z": (points, 3), "b": (points,)}
    both = f.pullback_of((), {t.name: rng.normal(size=shapes[t.name]) for t in f.args}, ())
    return list(both.saved)


def test_long_calls_save_no_pairs_for_gradients() -> None:
    source = f"{PAIRS[0]}\n{STRENGTHS[1]}\n{SUMS[0]}"
    assert not {"r", "w"} & {*saved_by(source, 400)}
    assert {"r", "w"} <= {*saved_by(source, 4)}


def test_gradients_that_compute_pairs_again_are_right() -> None:
    f = tadc.compile(f"{PAIRS[0]}\n{STRENGTHS[1]}\n{SUMS[0]}")
    rng = np.random.default_rng(0)
    x, z = rng.uniform(0, 1, (300, 3)), rng.uniform(0, 1, (300, 3))
    y, pullback = tadc.vjp(f, x=x, z=z)
    e = x[:, None] - z
    r = (e**2).sum(-1)
    w = np.where(r < 1, (1 - r) ** 2 / (r + 0.5), 0)
    slope = np.where(r < 1, -2 * (1 - r) / (r + 0.5) - ((1 - r) / (r + 0.5)) ** 2, 0)
    np.testing.assert_allclose(y, (w[..., None] * e).sum(1), rtol=1e-10, atol=1e-10)
    dy = rng.normal(size=(300, 3))
    work = 2 * slope * (dy[:, None] * e).sum(-1)
    terms = work[..., None] * e + w[..., None] * dy[:, None]
    for found, expected in zip(pullback(dy), (terms.sum(1), -terms.sum(0)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
