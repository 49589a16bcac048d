"""Projections against brute force."""

import random

import pytest

from tadc.passes.polyhedral.division import lower_bound, upper_bound
from tadc.passes.polyhedral.fourier_motzkin import eliminate_exactly, project_bounds
from tests.passes.polyhedral.boxed_systems import brute_force, parameter_points, random_system


@pytest.mark.parametrize("seed", range(20))
def test_projected_bounds_hold_for_every_point(seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(10):
        rows, context, loops, parameters = random_system(random_, 3)
        v = random_.randrange(loops)
        lower, upper = project_bounds(rows, v, range(loops), context)
        for row in (*lower, *upper):
            assert row[v] and not any(row[:v]) and not any(row[v + 1 : loops])
        for p in parameter_points(context, loops, parameters):
            found = [point[v] for point in brute_force(rows, loops, p)]
            values = (*[0] * loops, *p)
            for x in found:
                assert max(lower_bound(row, v, values) for row in lower) <= x
                assert min(upper_bound(row, v, values) for row in upper) >= x


def test_projected_bounds_are_those_derived_by_hand() -> None:
    # i + 2 k for 0 ≤ i < N, 0 ≤ k < 3, as v in column 2 with N in column 3.
    rows = [(1, 0, 0, 0, 0), (-1, 0, 0, 1, -1), (0, 1, 0, 0, 0), (0, -1, 0, 0, 2)]
    rows += [(1, 2, -1, 0, 0), (-1, -2, 1, 0, 0)]
    lower, upper = project_bounds(rows, 2, (0, 1))
    assert lower == ((0, 0, 1, 0, 0),) and upper == ((0, 0, -1, 1, 3),)
    # One-sided, and none.
    assert project_bounds([(1, 0, 0), (0, 1, 0)], 0, (1,)) == (((1, 0, 0),), ())
    assert project_bounds([], 0, ()) == ((), ())
    assert project_bounds([(1, 0), (-1, -1)], 0, ()) == (((1, -1),), ((-1, 0),))


@pytest.mark.parametrize("seed", range(20))
def test_exact_elimination_keeps_the_points_below(seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(10):
        rows, context, loops, parameters = random_system(random_, 3)
        gone = set(range(1, loops))
        found = eliminate_exactly(rows, gone, context)
        for p in parameter_points(context, loops, parameters):
            expected = {point[0] for point in brute_force(rows, loops, p)}
            if found is None:
                assert not expected
                continue
            # columns that stay, if any, are eliminated by looking at all their points
            left = [*found, *(row for row in rows if not any(row[j] for j in gone))]
            box = brute_force([*left, *_unused(left, gone, loops, len(rows[0]))], loops, p)
            assert {point[0] for point in box} == expected


def _unused(rows: list[tuple[int, ...]], gone: set[int], loops: int, width: int):
    """Rows that make columns 0 in which there is nothing else."""
    for j in gone:
        if not any(row[j] for row in rows):
            unit = tuple(int(k == j) for k in range(width))
            yield unit
            yield tuple(-x for x in unit)


def test_columns_go_where_integers_allow_it() -> None:
    # i = 2 k + l, 0 <= k < 5, 0 <= l < 2: k goes by the bounds of l, which has coefficient 1
    rows = [(1, -2, -1, 0), (-1, 2, 1, 0), (0, 1, 0, 0), (0, -1, 0, 4), (0, 0, 1, 0), (0, 0, -1, 1)]
    found = eliminate_exactly(rows, (2,))
    assert found is not None and not any(row[2] for row in found) and any(row[1] for row in found)
    # i = 2 k: no inequality says that i is even
    rows = [(1, -2, 0), (-1, 2, 0), (0, 1, 0), (0, -1, 4)]
    found = eliminate_exactly(rows, (1,))
    assert found is not None and any(row[1] for row in found)
    assert eliminate_exactly([(1, 1, 0), (-1, -1, -1)], (1,)) is None
