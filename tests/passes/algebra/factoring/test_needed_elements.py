"""Reductions under conditions, as tensors: which indices these have, and which elements."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.derive.outline_reductions import outline_reductions
from tests.support.campaign import seeds
from tests.support.derivations import interpret

ROWS, COLUMNS = 7, 5
SOURCE = f"x: f64[{ROWS}, 3]\ny[i in range({ROWS}), j in range({COLUMNS})] = "


def outlined(condition: str) -> tix.ProgramOp:
    """The program in which the sum of a row has a name, which it needs under a condition."""
    source = f"{SOURCE}log(sum[k](x[i, k])) if {condition} else 0"
    program = tadc.compile(source).program.op
    return outline_reductions(program, lambda op, _: isinstance(op, tix.SumOp))


INDICES = {
    "j <= i": 1,
    "j < i": 1,
    "i < 3 and j < i": 1,
    "2*j <= i": 1,
    "not (j > i)": 1,
    "j == i": 1,
    "i != j": 2,  # two sides
    "2*j == i": 2,  # for even i alone
    "j == i or j == 0": 2,
    "(i + j) // 2 < 2": 2,
}


@pytest.mark.parametrize("condition", INDICES)
def test_conditions_are_projected_along_other_indices(condition: str) -> None:
    named, _ = outlined(condition).definitions
    assert len(named.indices) == INDICES[condition]


@pytest.mark.parametrize("seed", seeds(40, of=1000))
def test_an_element_is_there_if_a_point_needs_it(seed: int) -> None:
    rng = random.Random(seed)
    condition = " and ".join(
        f"{rng.randint(-2, 2)}*i + {rng.randint(-2, 2)}*j + {rng.randint(-4, 6)} >= 0"
        for _ in range(rng.randint(1, 3))
    )
    program = outlined(condition)
    x = np.random.default_rng(seed).random((ROWS, 3)) + 0.5
    points = np.array(
        [[eval(condition, {"i": i, "j": j}) for j in range(COLUMNS)] for i in range(ROWS)]
    )
    (y,) = interpret(program, [x])
    np.testing.assert_allclose(y, np.where(points, np.log(x.sum(1))[:, None], 0), rtol=1e-12)
    named = program.definitions[0]
    if len(named.indices) == 1:
        program.definitions[-1].detach()
        program.body.block.last_op.operands[0] = named.result
        (found,) = interpret(program, [x])
        np.testing.assert_allclose(found, np.where(points.any(1), x.sum(1), 0), rtol=1e-12)
