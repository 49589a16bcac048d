"""Coordinates of forms: they tell all forms, take all values, and are found if there are some."""

from __future__ import annotations

import random

import pytest

from tadc.passes.polyhedral.images import coordinates, rank
from tadc.passes.polyhedral.matrix import Row, identity, multiply
from tests.support.campaign import seeds


def random_rows(rng: random.Random, count: int, width: int) -> list[Row]:
    return [tuple(rng.choice([-2, -1, 0, 0, 1, 2]) for _ in range(width)) for _ in range(count)]


@pytest.mark.parametrize("seed", seeds(112, of=1500))
def test_forms_are_integer_combinations_of_coordinates(seed: int) -> None:
    rng = random.Random(seed)
    width = rng.randint(1, 4)
    forms = random_rows(rng, rng.randint(1, 4), width)
    candidates = random_rows(rng, rng.randint(0, 4), width) + rng.sample(forms, 1)
    found = coordinates(forms, candidates, width)
    if found is None:
        return
    chosen, section = found
    basis = tuple(candidates[n] for n in chosen)
    assert len(chosen) == rank(forms, width)
    assert multiply(basis, section, len(basis)) == identity(len(basis))
    for row in forms:
        combination = multiply((row,), section, len(basis))
        assert multiply(combination, basis, width) == (row,)


@pytest.mark.parametrize("seed", seeds(37, of=500, start=2000))
def test_variables_are_coordinates_of_all_forms_of_full_rank(seed: int) -> None:
    rng = random.Random(seed)
    width = rng.randint(1, 4)
    forms = random_rows(rng, 6, width)
    if rank(forms, width) == width:
        found = coordinates(forms, identity(width), width)
        assert found == (tuple(range(width)), identity(width))


@pytest.mark.parametrize(
    ("forms", "candidates", "chosen"),
    [
        ([(1, -1), (2, -2)], [(1, 0), (1, -1)], (1,)),
        ([(1, -1), (0, 1)], [(1, -1), (0, 1), (1, 0)], (0, 1)),
        ([(2, 3)], [(2, 3)], (0,)),
        ([(0, 0)], [(1, 0)], ()),
        ([], [], ()),
    ],
)
def test_the_first_candidates_are_chosen(
    forms: list[Row], candidates: list[Row], chosen: tuple[int, ...]
) -> None:
    found = coordinates(forms, candidates, 2)
    assert found is not None
    assert found[0] == chosen


@pytest.mark.parametrize(
    ("forms", "candidates"),
    [
        ([(2, 0)], [(2, 0)]),  # takes even values only
        ([(1, 0), (0, 1)], [(1, 1)]),  # too few
        ([(1, 0)], [(2, 0)]),  # not an integer combination
        ([(1, 1)], [(1, 0), (0, 1)]),  # they tell more than the form
    ],
)
def test_there_are_no_coordinates(forms: list[Row], candidates: list[Row]) -> None:
    assert coordinates(forms, candidates, 2) is None
