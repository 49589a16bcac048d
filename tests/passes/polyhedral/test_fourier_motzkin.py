"""Projections against brute force."""

import random

import pytest

from tadc.passes.polyhedral.division import lower_bound, upper_bound
from tadc.passes.polyhedral.fourier_motzkin import project_bounds
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
