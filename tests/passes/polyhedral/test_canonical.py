"""The example of `canonicalize`, step by step: its comments show what the code computes."""

import pytest

from tadc.passes.polyhedral import canonical
from tadc.passes.polyhedral.canonical import canonicalize
from tadc.passes.polyhedral.diophantine import Quotient, solve
from tadc.passes.polyhedral.matrix import Matrix
from tadc.passes.polyhedral.particular import Particular, QuotientTerm, ZeroGuards

GUARD = ZeroGuards(((-1, 1, 0),), (1,))
"""q - p = 0, for parameters (p, q)."""


def state(offset: Matrix, coefficients: tuple[int, ...], row: tuple[int, ...]) -> Particular:
    return Particular(offset, (QuotientTerm(row, 2, coefficients),))


STEPS = [
    # t = p / 2, and then t' = (2 q - p) / 2, which is p / 2 by the guard.
    ("_shift", state(((0, 0, 0), (0, 0, 0), (0, 1, 0)), (1, -1, -1), (1, 0, 0))),
    ("_name_quotients", state(((0, 1, 0), (0, -1, 0), (0, 0, 0)), (-1, 1, 1), (1, 0, 0))),
    ("_shift", state(((0, 1, 0), (0, -1, 0), (0, 0, 0)), (1, -2, 1), (1, 0, 0))),
    ("_center", state(((1, 0, 0), (-1, 0, 0), (0, 0, 0)), (-1, 1, 1), (1, 0, 0))),
]


def test_each_step_of_the_example_is_as_its_comment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, Particular]] = []

    def recorded(name: str):
        step = getattr(canonical, name)

        def run(*args: object) -> Particular:
            seen.append((name, step(*args)))
            return seen[-1][1]

        return run

    for name in {name for name, _ in STEPS}:
        monkeypatch.setattr(canonical, name, recorded(name))
    arrived = STEPS[0][1]
    final, directions, pivots = canonicalize(arrived, GUARD, [(-2, 3, 0)], (2, 1, 0))
    assert seen == STEPS
    assert final == STEPS[-1][1]
    assert (directions, pivots) == (((-2, 3, 0),), (0,))


def test_the_equations_of_the_example_have_this_form() -> None:
    """3 i + 2 j + k = q and 2 k = p where p = q."""
    m, h = ((3, 2, 1), (0, 0, 2), (0, 0, 0)), ((0, 1, 0), (1, 0, 0), (1, -1, 0))
    solution = solve(m, h, 3, 2, (2, 1, 0))
    assert solution.zero == ((1, -1, 0),)
    assert solution.quotients == (Quotient((1, 0, 0), 2),)
    assert solution.particular == ((1, 0, 0), (-1, 0, 0), (0, 0, 0))
    assert solution.quotient_coefficients == ((-1,), (1,), (1,))
    assert solution.basis == ((-2,), (3,), (0,))
