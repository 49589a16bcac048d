"""Matrices and divisions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tadc.passes.polyhedral import division
from tadc.passes.polyhedral.matrix import (
    apply,
    dot,
    hstack,
    identity,
    matrix,
    multiply,
    transpose,
    zeros,
)

exact = settings(derandomize=True, deadline=None, max_examples=200)


def test_products_are_those_by_hand() -> None:
    a, b = ((1, 2), (3, 4), (5, 6)), ((1, 0, 2), (0, 1, 3))
    assert multiply(a, b) == ((1, 2, 8), (3, 4, 18), (5, 6, 28))
    assert apply(a, (10, 1)) == (12, 34, 56)
    assert transpose(b) == ((1, 0), (0, 1), (2, 3))
    assert hstack(a, identity(3)) == ((1, 2, 1, 0, 0), (3, 4, 0, 1, 0), (5, 6, 0, 0, 1))
    assert matrix([[1, 2], range(2)]) == ((1, 2), (0, 1))
    assert dot((1, 2, 3), (4, 5, 6)) == 32


def test_empty_matrices_keep_their_shapes() -> None:
    assert transpose((), 3) == ((), (), ())
    assert transpose(((), ()), 0) == ()
    assert multiply(((), ()), (), 3) == zeros(2, 3)
    assert multiply((), ((1, 2),)) == ()


@exact
@given(st.integers(), st.integers(1, 10**20))
def test_divisions_round_as_they_say(numerator: int, divisor: int) -> None:
    low, high = division.floordiv(numerator, divisor), division.ceildiv(numerator, divisor)
    assert low * divisor <= numerator < (low + 1) * divisor
    assert (high - 1) * divisor < numerator <= high * divisor
    rest = numerator - divisor * division.nearest(numerator, divisor)
    assert -divisor < 2 * rest <= divisor


@pytest.mark.parametrize("divisor", [0, -3])
def test_divisors_are_positive(divisor: int) -> None:
    with pytest.raises(ValueError, match="positive"):
        division.floordiv(1, divisor)
    with pytest.raises(ValueError, match="positive"):
        division.ceildiv(1, divisor)


rows = st.lists(st.integers(-9, 9), min_size=4, max_size=4)


@exact
@given(rows, st.lists(st.integers(-50, 50), min_size=3, max_size=3), st.integers(1, 7))
def test_bounds_are_the_extreme_values(row: list[int], values: list[int], c: int) -> None:
    def holds(r: list[int], x: int) -> bool:
        return dot(r, (x, *values[1:], 1)) >= 0

    low = division.lower_bound([c, *row[1:]], 0, values)
    assert holds([c, *row[1:]], low) and not holds([c, *row[1:]], low - 1)
    high = division.upper_bound([-c, *row[1:]], 0, values)
    assert holds([-c, *row[1:]], high) and not holds([-c, *row[1:]], high + 1)
