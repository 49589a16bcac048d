"""Indices that wrap around: what programs mean, and which reads become choices."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.splitting.unwrap_indices import unwrap_indices
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.random_programs import EVERYTHING
from tests.support.rewritten import check_meaning


@pytest.mark.parametrize("seed", seeds(20, of=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check_meaning(unwrap_indices, random_case(seed, **EVERYTHING))


def circle(rng: random.Random) -> str:
    """Windows on a torus of 7 x 5 points, or on one of its circles."""
    i, j = (
        f"(i + {rng.choice(['', '6*'])}k + {rng.randrange(8)}) % 7",
        f"({rng.choice(['', '-'])}j + {rng.choice(['l', '4*l', '2'])} + {rng.randrange(5)}) % 5",
    )
    i, j = rng.choice([(i, j), (i, "j"), ("i", j)])
    body = f"x[{i}, {j}] * w[k, l]"
    return (
        f"x: f64[7, 5]\nw: f64[3, 2]\ny[i in range(7), j in range(5)] = sum[k, l]({body}) + x[i, j]"
    )


@pytest.mark.parametrize("seed", seeds(30, of=1000))
def test_tori_keep_their_meaning(seed: int) -> None:
    source = circle(random.Random(seed))
    x, w = np.random.default_rng(seed).standard_normal((2, 35))
    case = Case(source, {"x": x.reshape(7, 5), "w": w[:6].reshape(3, 2)})
    assert check_meaning(unwrap_indices, case) == 2


QUOTIENTS = {
    "x: f64[9]\ny[i in range(9)] = x[(i + 1) % 9]": 0,
    "x: f64[9]\ny[i in range(9)] = x[(i + 8) % 9]": 0,
    "x: f64[9]\ny[i in range(9), j in range(9)] = x[(i + 8*j) % 9]": 0,
    "x: f64[9, 4]\ny[i in range(9), j in range(4)] = x[(i + 2) % 9, (j + 1) % 4]": 0,
    "x: f64[9]\ny[i in range(9)] = sum[k in range(3)](x[(i + k + 8) % 9])": 0,
    # it counts
    "x: f64[9]\ny[i in range(18)] = x[i // 2]": 1,
    "x: f64[9]\ny[i in range(18)] = x[i % 9]": 1,
    # twice around
    "x: f64[9]\ny[i in range(9), j in range(9), k in range(9)] = x[(i + j + k) % 9]": 0,
    "x: f64[9]\ny[i in range(9), j in range(9)] = sum[k in range(9), l in range(9)](\
x[(i + j + k + l) % 9])": 1,
    "x: f64[9]\ny[i in range(9)] = x[(2*i) % 9]": 1,
}


@pytest.mark.parametrize("source", QUOTIENTS)
def test_what_wraps_around_once_has_no_quotient(source: str) -> None:
    made = unwrap_indices(tadc.compile(source).program.op)
    assert sum(isinstance(op, tix.FloorDivOp) for op in made.walk()) == QUOTIENTS[source]


COPIES = {
    "sum[k in range(3)](x[(i + k + 8) % 9, j] * w[k])": ["x_around", "y"],
    "sum[k in range(9)](x[(i - k + 9) % 9, j] * w[k])": ["x_around", "y"],
    "x[(i + 1) % 9, j] * w[0]": ["y"],
    # one column of the tensor
    "sum[k in range(3)](x[(i + k + 8) % 9, 2] * w[k]) * w[j]": ["y"],
}


@pytest.mark.parametrize("body", COPIES)
def test_windows_of_whole_tensors_read_a_copy(body: str) -> None:
    source = f"x: f64[9, 4]\nw: f64[9]\ny[i in range(9), j in range(4)] = {body}"
    made = unwrap_indices(tadc.compile(source).program.op)
    assert [d.label.data for d in made.definitions] == COPIES[body]


def test_many_reads_stay() -> None:
    terms = [f"x[(i + {a}) % 9, (j + {b}) % 9]" for a in range(5) for b in range(5)]
    source = f"x: f64[9, 9]\ny[i in range(9), j in range(9)] = {' + '.join(terms)}"
    program = tadc.compile(source).program.op
    assert unwrap_indices(program) is program
