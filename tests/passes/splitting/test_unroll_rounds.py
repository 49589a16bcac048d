"""Sums over the rounds of circles: what programs mean, and which sums are over rounds."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.splitting.unroll_rounds import unroll_rounds
from tests.passes.splitting.test_unwrap_indices import circle
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.random_programs import EVERYTHING
from tests.support.rewritten import check_meaning


@pytest.mark.parametrize("seed", seeds(10, of=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check_meaning(unroll_rounds, random_case(seed, **EVERYTHING))


@pytest.mark.parametrize("seed", seeds(20, of=1000))
def test_gradients_on_tori_keep_their_meaning(seed: int) -> None:
    source = str(tadc.compile(circle(random.Random(seed))).derivative("x"))
    shapes = {t.name: t.shape for t in tadc.compile(source).args}
    rng = np.random.default_rng(seed)
    values = {name: rng.standard_normal([*map(int, shape)]) for name, shape in shapes.items()}
    check_meaning(unroll_rounds, Case(source, values))


def sums(source: str) -> tuple[int, int]:
    """The sums of the gradient by x before and after, and whether one runs over two indices."""
    before = tadc.compile(source).derivative("x").program.op
    after = unroll_rounds(before)
    assert not any(isinstance(op, tix.FloorDivOp) for op in after.walk())
    first, second = (
        sum(isinstance(op, tix.SumOp) for op in program.walk()) for program in (before, after)
    )
    return first, second


@pytest.mark.parametrize(("width", "reach"), [(3, 1), (5, 2), (9, 4)])
def test_a_window_on_a_circle_has_three_rounds(width: int, reach: int) -> None:
    source = (
        f"x: f64[99]\nw: f64[{width}]\ny[i in range(99)] = sum[u](w[u] * x[wrap(i + u - {reach})])"
    )
    assert sums(source) == (1, 3)


@pytest.mark.parametrize(
    "source",
    [
        # an index that counts no rounds: elements that are read by every other one
        "x: f64[99]\nw: f64[3]\ny[i in range(48)] = sum[u](w[u] * x[2*i + u])",
        # rounds by symbols are choices already
        "x: f64[N]\nw: f64[3]\ny[i in range(N)] = sum[u](w[u] * x[wrap(i + u - 1)])",
    ],
)
def test_other_sums_stay(source: str) -> None:
    program = tadc.compile(source).derivative("x").program.op
    assert unroll_rounds(program) is program
