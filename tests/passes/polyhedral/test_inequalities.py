"""Tightening, implication and irredundance, against isl over the rationals."""

import random

import islpy as isl
import pytest

from tadc.passes.polyhedral.inequalities import implied, irredundant, rows_feasible, tidy, tightened
from tadc.passes.polyhedral.matrix import Row, negate


def exclusive(rows: list[Row], width: int) -> bool:
    """True if no rational point meets the rows, as a question about integers.

    `A v + b ≥ 0` has a rational point if and only if `A w + b s ≥ 0, s ≥ 1` has an integer one.
    """
    names = [*(f"w{j}" for j in range(width)), "s"]
    texts = [" + ".join(f"{x}*{n}" for x, n in zip(row, names, strict=True)) for row in rows]
    conditions = " and ".join(["s >= 1", *(f"{text} >= 0" for text in texts)])
    return isl.BasicSet(f"{{ [{', '.join(names)}] : {conditions} }}").is_empty()


def integers(rows: list[Row], width: int) -> isl.BasicSet:
    names = [f"v{j}" for j in range(width)]
    texts = [" + ".join(f"{x}*{n}" for x, n in zip(r, [*names, "1"], strict=True)) for r in rows]
    conditions = " and ".join(f"{text} >= 0" for text in texts) or "true"
    return isl.BasicSet(f"{{ [{', '.join(names)}] : {conditions} }}")


def excluded(row: Row, rows: list[Row], width: int) -> bool:
    """isl's opinion on `rows` and `row ≤ -1`."""
    opposite = negate(row)
    return exclusive([*rows, (*opposite[:-1], opposite[-1] - 1)], width)


def random_rows(random_: random.Random, width: int, count: int) -> list[Row]:
    reach = random_.choice([1, 2, 5])
    linear = [tuple(random_.randint(-reach, reach) for _ in range(width)) for _ in range(count)]
    return [(*row, random_.randint(-3, 8)) for row in linear]


def test_tightened_rows_round_inwards() -> None:
    assert tightened((2, -4, 5)) == (1, -2, 2)
    assert tightened((2, -4, -5)) == (1, -2, -3)
    assert tightened((0, 0, -6)) == (0, 0, -6)
    assert tightened((3, 2, 5)) == (3, 2, 5)


def test_tidy_keeps_the_strictest() -> None:
    assert tidy([(1, 0, 5), (2, 0, 3), (0, 1, 0), (0, 0, 7)]) == [(1, 0, 1), (0, 1, 0)]
    assert tidy([(1, 0, 5), (0, 0, -1)]) is None


@pytest.mark.parametrize("seed", range(40))
def test_implication_is_that_of_isl(seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(25):
        width = random_.randint(1, 5)
        rows = [
            tightened(r) for r in random_rows(random_, width, random_.randint(0, 2 * width + 2))
        ]
        row = tightened(random_rows(random_, width, 1)[0])
        if rows and random_.random() < 0.5:
            # A combination: implied, or nearly so.
            a, b = random_.choice(rows), random_.choice(rows)
            row = tightened(tuple(x + 2 * y for x, y in zip(a, b, strict=True)))
            row = (*row[:-1], row[-1] - random_.randint(0, 1))
        assert_exclusion(not rows_feasible(rows), rows, width)
        opposite = negate(row)
        assert_exclusion(implied(row, rows), [*rows, (*opposite[:-1], opposite[-1] - 1)], width)


def assert_exclusion(found: bool, rows: list[Row], width: int) -> None:
    """All that rational numbers show is found, with equations more, and nothing else is."""
    if any(negate(row) in rows for row in map(tightened, rows)):
        assert found >= exclusive(rows, width)
        assert not found or integers(rows, width).is_empty()
    else:
        assert found == exclusive(rows, width)


@pytest.mark.parametrize("seed", range(20))
def test_equations_are_solved_in_integers(seed: int) -> None:
    random_ = random.Random(seed)
    decided = 0
    for _ in range(15):
        width = random_.randint(2, 4)
        rows = random_rows(random_, width, random_.randint(2, 2 * width))
        for equation in random_rows(random_, width, random_.randint(1, 2)):
            rows += [equation, negate(equation)]
        empty = integers(rows, width).is_empty()
        assert rows_feasible(rows) >= (not empty)
        decided += rows_feasible(rows) != empty
    assert decided >= 14


def test_equations_decide_parity() -> None:
    """For p = 2 t, p ≥ 1 means p ≥ 2; and of 0 ≤ p ≤ 1 only p = 0 is left, so that t = 0."""
    even = [(1, -2, 0), (-1, 2, 0)]
    assert implied((1, 0, -2), [*even, (1, 0, -1)])
    assert implied((0, -1, 0), [*even, (1, 0, 0), (-1, 0, 1)])
    assert irredundant([(1, 0, -1), (1, 0, -2), (-1, 0, 9), (0, -1, 4)], even) == (
        (1, 0, -2),
        (0, -1, 4),
    )
    assert irredundant([(1, 0, -1), (-1, 0, 1)], even) is None


@pytest.mark.parametrize("seed", [*range(30), 100202])
def test_irredundant_rows_imply_the_others(seed: int) -> None:
    random_ = random.Random(seed)
    width, count = random_.randint(1, 4), random_.randint(0, 60)
    rows = random_rows(random_, width, count)
    context = random_rows(random_, width, random_.randint(0, 3))
    kept = irredundant(rows, context)
    if kept is None:
        assert not rows_feasible([*rows, *context])
        return
    assert rows_feasible([*rows, *context])
    assert set(kept) <= set(tidy(rows) or ())
    # Implication excludes `row ≤ -1` only and is not transitive over the rationals: the integer
    # points are what stays the same.
    assert integers([*kept, *context], width).is_equal(integers([*rows, *context], width))
    for row in kept:
        others = [other for other in kept if other != row]
        assert not excluded(row, [*others, *(tightened(r) for r in context)], width)


def test_irredundant_rows_keep_equations() -> None:
    rows = [(1, -1, 0), (-1, 1, 0), (1, 0, 0), (0, 1, 0), (0, 1, 3)]
    assert irredundant(rows) == ((1, 0, 0), (1, -1, 0), (-1, 1, 0))


def test_rows_without_variables_are_true_or_false() -> None:
    assert implied((0, 3), [])
    assert not implied((0, -3), [])
    assert implied((0, -3), [(1, 0), (-1, -1)])
    assert irredundant([]) == () and irredundant([(0, 0)]) == ()
    assert irredundant([(0, -1)]) is None
    assert irredundant([], [(1, 0), (-1, -1)]) is None


def test_integer_implication_is_not_rational_implication() -> None:
    """v ≥ 1/2 as `2 v - 1 ≥ 0` is tightened to v ≥ 1."""
    assert implied((1, -1), [(2, -1)])
    # A row may be dropped that cuts rational points only: it excludes nothing at or below -1.
    assert implied((2, 2, -1), [(1, 1, -1)])


def test_degenerate_systems_terminate() -> None:
    """Many rows through one point: Bland's rule has to break the ties."""
    random_ = random.Random(5)
    for _ in range(50):
        width = random_.randint(2, 5)
        rows = [(*row[:-1], 0) for row in random_rows(random_, width, 14)]
        row = (*random_rows(random_, width, 1)[0][:-1], -1)
        assert implied(row, rows) == excluded(tightened(row), [tightened(r) for r in rows], width)
