"""Bounds without the other variables in them: the same integers, and only where that is so."""

import random
from itertools import product

import pytest

import tadc
from tadc.passes.polyhedral.steady_bounds import steady
from tests.support.campaign import seeds


def holds(row: tuple[int, ...], values: tuple[int, ...]) -> bool:
    return sum(x * v for x, v in zip(row, (*values, 1), strict=True)) >= 0


def box(ranges: list[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Rows that bound the variables behind the first one."""
    rows: list[tuple[int, ...]] = []
    for n, (low, high) in enumerate(ranges, 1):
        unit = [int(m == n) for m in range(len(ranges) + 1)]
        rows += [(*unit, -low), (*(-x for x in unit), high)]
    return rows


@pytest.mark.parametrize("seed", seeds(5, of=100))
def test_a_steady_bound_has_the_same_integers(seed: int) -> None:
    """And where none is found, bounds do differ."""
    rng, found = random.Random(seed), 0
    for _ in range(60):
        ranges = [sorted((rng.randrange(-9, 10), rng.randrange(-9, 10))) for _ in range(2)]
        ranges = [(low, high) for low, high in ranges]
        first = rng.choice([-1, 1]) * rng.randrange(1, 40)
        row = (first, *(rng.randrange(-2, 3) for _ in ranges), rng.randrange(-50, 51))
        bound = steady(row, 0, box(ranges))
        values = [*product(*(range(low, high + 1) for low, high in ranges))]
        kept = {tuple(v for v in range(-60, 61) if holds(row, (v, *p))) for p in values}
        if bound != row:
            found += 1
            assert not any(bound[1:-1])
            assert kept == {tuple(v for v in range(-60, 61) if holds(bound, (v, 0, 0)))}
        elif any(row[1:-1]) and abs(first) > 1:
            ends = [row[1] * p + row[2] * q + row[-1] for p, q in values]
            assert min(ends) // abs(first) != max(ends) // abs(first)
    assert found


def test_multiples_of_the_coefficient_stay() -> None:
    """2 N - 2 k - p - 7 >= 0 is N - k - 4 >= 0 for p in range(2), and not for p in range(3)."""
    row = (-2, -1, 2, -7)
    assert steady(row, 0, [(0, 1, 0, 0), (0, -1, 0, 1)]) == (-1, 0, 1, -4)
    assert steady(row, 0, [(0, 1, 0, 0), (0, -1, 0, 2)]) == row


def test_a_range_without_an_end_leaves_the_bound() -> None:
    assert steady((8, 1, 0), 0, [(0, 1, 0)]) == (8, 1, 0)
    assert steady((8, 1, 0), 0, [(0, 1, 0), (0, -1, 7)]) == (1, 0, 0)


def test_the_gradient_of_what_repeats_elements_has_plain_ranges() -> None:
    """768 k + p in range(3072) for p in range(768) is k in range(4)."""
    f = tadc.compile("x: f64[768]\ny[j in range(3072)] = x[j % 768]")
    assert "dx[p in range(768)] = sum[k](dy[p + 768*k])" in str(f.derivative())
