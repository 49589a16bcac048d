"""Integer points of bounded systems: against isl, and fast where extents are large."""

import random
import time

import pytest

from tadc.passes.polyhedral.loop_nests import Unbounded, integer_point
from tadc.passes.polyhedral.matrix import Row, dot, negate
from tests.passes.polyhedral.boxed_systems import box, to_isl


@pytest.mark.parametrize("seed", range(25))
def test_a_point_is_found_where_isl_says_that_there_is_one(seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(16):
        variables = random_.randint(1, 5)
        rows = box(variables, 0, random_.choice([2, 10, 1000]))
        big = random_.choice([1, 3, 9])
        for _ in range(random_.randint(0, 4)):
            row = (*(random_.randint(-big, big) for _ in range(variables)), random_.randint(-5, 5))
            rows.append(row)
            if random_.random() < 0.4:
                rows.append(negate(row))
        point = integer_point(rows, variables)
        assert (point is None) == to_isl(rows, variables, 0).is_empty()
        if point is not None:
            assert all(dot(row, (*point, 1)) >= 0 for row in rows)


N = 10**6


@pytest.mark.parametrize(
    ("rows", "variables", "expected"),
    [
        # 0 ≤ i, j ≤ N and 2 i + 3 j ≥ N + 5.
        ([(1, 0, 0), (-1, 0, N), (0, 1, 0), (0, -1, N), (2, 3, -N - 5)], 2, (0, 333335)),
        # 2 i - 2 j = 1.
        ([(1, 0, 0), (-1, 0, N), (0, 1, 0), (2, -2, -1), (-2, 2, 1)], 2, None),
        # x + y = 2 a and x - y = 2 b + 1: no parity fits, and no loop shows it.
        (
            [
                *[(1, 0, 0, 0, 0), (-1, 0, 0, 0, N), (0, 1, 0, 0, 0), (0, -1, 0, 0, N)],
                *[(1, 1, -2, 0, 0), (-1, -1, 2, 0, 0), (1, -1, 0, -2, -1), (-1, 1, 0, 2, 1)],
            ],
            4,
            None,
        ),
        # x mod 4 in {0, 1} and in {2, 3}: the order x, a, b would scan all x.
        (
            [
                *[(1, 0, 0, 0), (-1, 0, 0, N)],
                *[(1, -4, 0, 0), (-1, 4, 0, 1), (1, 0, -4, -2), (-1, 0, 4, 3)],
            ],
            3,
            None,
        ),
        ([], 0, ()),
        ([(-1,)], 0, None),
    ],
)
def test_large_extents_take_no_longer(
    rows: list[Row], variables: int, expected: Row | None
) -> None:
    start = time.process_time()
    assert integer_point(rows, variables) == expected
    assert time.process_time() - start < 0.2


def test_the_point_is_the_lexicographically_least() -> None:
    rows = [(1, 0, 0), (-1, 0, 5), (0, 1, 0), (0, -1, 5), (1, 1, -3)]
    assert integer_point(rows, 2) == (0, 3)


def test_unbounded_systems_are_refused() -> None:
    with pytest.raises(Unbounded):
        integer_point([(1, 0)], 1)
