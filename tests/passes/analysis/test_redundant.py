"""Redundant constraints: the same points are left, and which ends go, and which stay."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import product

import pytest
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.utils.test_value import create_ssa_value

from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.dialects.tix.affine import SizeValues
from tadc.passes.analysis.redundant import without_redundant
from tadc.passes.analysis.size_bounds import SizeBounds


@pytest.mark.parametrize("seed", range(60))
def test_without_redundant_constraints_there_are_the_same_points(seed: int) -> None:
    """For all sizes between the bounds, and all values of an index of the result."""
    rng, k, p = random.Random(seed), *(create_ssa_value(IndexType()) for _ in range(2))
    least, size = rng.randint(0, 4), Affine.of("N") + rng.randint(-1, 1)
    terms = [Affine.of(k) * rng.choice((1, -1)) + Affine.of(p) * rng.randint(-1, 1)]
    terms += [Affine.of(k) * rng.choice((1, -1)) for _ in range(4)]
    forms = [form + Affine({"N": rng.randint(-1, 1)}, rng.randint(-2, 2)) for form in terms]
    tests = [Constraint(form, equality=rng.random() < 0.1) for form in forms]
    left = without_redundant(tests, {p: size}, SizeBounds(None, {"N": least}, {}))
    for n in range(least, least + 6):
        for i, j in product(range(size.evaluate(SizeValues(N=n))), range(-12, 13)):
            numbers: dict[Variable, int] = {"N": n, p: i, k: j}
            values = {v: Affine(constant=number) for v, number in numbers.items()}
            assert _hold(tests, values) == _hold(left, values)


def _hold(tests: Sequence[Constraint], values: Mapping[Variable, Affine]) -> bool:
    numbers = ((c.substitute(values).form.constant, c.equality) for c in tests)
    return all(number == 0 if equality else number >= 0 for number, equality in numbers)


N = Affine.of("N")
AT_LEAST_2 = SizeBounds(None, {"N": 2}, {})


def left_of(tests: Sequence[Constraint], known: SizeBounds, p: SSAValue) -> list[int]:
    """The places of the constraints that are left."""
    left = without_redundant(tests, {p: N}, known)
    return [n for n, test in enumerate(tests) if test in left]


def test_ends_of_short_ranges_go_where_sizes_say_that_they_follow() -> None:
    k, p = (create_ssa_value(IndexType()) for _ in range(2))
    near = 1 - Affine.of(k) - Affine.of(p)
    tests = [Constraint(form) for form in (Affine.of(k), N - 1 - Affine.of(k), near)]
    assert left_of(tests, AT_LEAST_2, p) == [0, 2]
    assert left_of(tests, SizeBounds.unknown(), p) == [0, 1, 2]
    # the first value is N - 2 + p at least
    tests = [Constraint(form) for form in (Affine.of(k), N - 1 - Affine.of(k))]
    tests += [Constraint(Affine.of(k) - N + 2 - Affine.of(p))]
    assert left_of(tests, AT_LEAST_2, p) == [1, 2]


def test_the_size_goes_beside_a_range_of_numbers() -> None:
    k, p = (create_ssa_value(IndexType()) for _ in range(2))
    tests = [Constraint(form) for form in (Affine.of(k), 3 - Affine.of(k), N - 1 - Affine.of(k))]
    assert left_of(tests, SizeBounds(None, {"N": 4}, {}), p) == [0, 1]
    assert left_of(tests, SizeBounds(None, {"N": 3}, {}), p) == [0, 1, 2]


def test_the_size_stays_beside_a_range_of_known_length_that_moves() -> None:
    """Of 8*p <= o < min(N, 8*p + 8), o < N says that what a term reads is there."""
    o, p = (create_ssa_value(IndexType()) for _ in range(2))
    first = Affine.of(o) - Affine.of(p) * 8
    tests = [Constraint(form) for form in (first, 7 - first, N - 1 - Affine.of(o))]
    known = SizeBounds(None, {"N": 24}, {})
    assert without_redundant(tests, {p: Affine(constant=3)}, known) == tests


def test_ends_of_long_ranges_and_of_those_of_known_length_stay() -> None:
    k, p = (create_ssa_value(IndexType()) for _ in range(2))
    ends = [Constraint(form) for form in (Affine.of(k), 7 - Affine.of(k))]
    near = Constraint(1 - Affine.of(k) - Affine.of(p))
    assert left_of([*ends, near], AT_LEAST_2, p) == [0, 1, 2]
    far = [Constraint(Affine.of(k) - Affine.of(p)), Constraint(39 - Affine.of(k))]
    tests = [*far, Constraint(N - 1 - Affine.of(k))]
    assert left_of(tests, SizeBounds(None, {"N": 64}, {}), p) == [0, 1, 2]
