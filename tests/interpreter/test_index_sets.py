"""Enumerated sets against brute force."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue

from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.interpreter import index_sets
from tadc.interpreter.index_sets import expand
from tadc.interpreter.points import Points
from tests.support.campaign import seeds

REACH = 4
SIZES = {"N": 3}


def random_form(rng: random.Random, keys: list[SSAValue]) -> Affine:
    terms: dict[Variable, int] = {v: rng.choice([-2, -1, -1, 0, 1, 1, 2, 3]) for v in keys}
    return Affine(terms | {"N": rng.choice([0, 0, 1, -1])}, rng.randint(-4, 4))


def boxed(rng: random.Random, own: list[SSAValue]) -> list[Constraint]:
    """Constraints within the brute force's reach: of each index, or of sums and differences."""
    forms = [Affine.of(v) for v in own]
    if len(own) > 1 and rng.random() < 0.5:
        forms[:2] = [forms[0] + forms[1], forms[0] - forms[1]]
    return [Constraint(c) for f in forms for c in (f + REACH, REACH - f)]


@pytest.mark.parametrize("seed", seeds(56, of=150))
def test_random_sets_have_the_points_of_brute_force(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(index_sets, "POINTS_AT_ONCE", rng.choice([5, 1 << 17]))
    block = Block(arg_types=[IndexType()] * 4)
    own, outer = list(block.args[: rng.randint(1, 3)]), list(block.args[3:])
    constraints = boxed(rng, own)
    for _ in range(rng.randint(0, 3)):
        form = random_form(rng, [*own, *outer])
        constraints.append(Constraint(form, equality=rng.random() < 0.4))
    rng.shuffle(constraints)

    values = np.arange(-2, 3)
    found = sorted(
        (int(origin), *(int(points[v][n]) for v in own))
        for points, origins in expand(Points(5, {outer[0]: values}), own, constraints, SIZES)
        for n, origin in enumerate(origins)
    )
    expected = [
        (n, *point)
        for n, value in enumerate(values)
        for point in itertools.product(range(-REACH, REACH + 1), repeat=len(own))
        if holds(constraints, {**SIZES, outer[0]: int(value), **dict(zip(own, point, strict=True))})
    ]
    assert found == expected


def holds(constraints: list[Constraint], values: dict[Variable, int]) -> bool:
    numbers = [(c.form.evaluate(values), c.equality) for c in constraints]
    return all(n == 0 if equality else n >= 0 for n, equality in numbers)
