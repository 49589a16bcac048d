"""Affine maps seen through their image: coordinates of the values that several forms take together.

Forms `a·v` of a vector v of integers take the values of all integer combinations of *coordinates*
`B v`, where B has as many rows as the forms have rank: of `2 p - 2 k` and `k - p` one coordinate
`p - k` is enough. If B extends to a unimodular matrix then `B v` takes every value, and there is
a *section* P, with `B P = 1`. A form depends on the coordinates alone, `a = c B` for an integer
row c, if and only if `a P B = a`:

    a = c B    =>  a P B = c B P B = c B = a,        a P B = a    =>  c = a P.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

from tadc.passes.polyhedral.diophantine import solve
from tadc.passes.polyhedral.matrix import Matrix, Row, identity, multiply
from tadc.passes.polyhedral.smith import smith_normal_form

MOST_CHOICES = 64
"""The number of sets of coordinates that are tried."""


def rank(rows: Sequence[Row], width: int) -> int:
    """The rank of a matrix of so many columns."""
    return smith_normal_form(tuple(rows), width).rank


def coordinates(
    forms: Sequence[Row], candidates: Sequence[Row], width: int
) -> tuple[tuple[int, ...], Matrix] | None:
    """The first set of candidates, by their numbers, that are coordinates of the forms.

    Also the section, which has a row for each of the `width` variables and a column for each
    coordinate. None where no such set is found among the first 64.
    """
    count = rank(forms, width) if forms else 0
    if not count:
        return (), ((),) * width
    fitting = [n for n, row in enumerate(candidates) if rank([*forms, row], width) == count]
    for chosen, _ in zip(combinations(fitting, count), range(MOST_CHOICES), strict=False):
        basis = tuple(candidates[n] for n in chosen)
        section = _section(basis, width)
        if section is not None and all(_depends_on(row, basis, section, width) for row in forms):
            return chosen, section
    return None


@lru_cache(maxsize=4096)  # the same forms are read by many parts of a program
def _section(basis: Matrix, width: int) -> Matrix | None:
    """P with `B P = 1`; None where B does not extend to a unimodular matrix."""
    count = len(basis)
    right = tuple((*row, 0) for row in identity(count))
    solution = solve(basis, right, width, count)
    if solution.empty or solution.zero or solution.quotients:
        return None
    return tuple(row[:-1] for row in solution.particular)


def _depends_on(row: Row, basis: Matrix, section: Matrix, width: int) -> bool:
    return multiply(multiply((row,), section, len(basis)), basis, width) == (row,)
