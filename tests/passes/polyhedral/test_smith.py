"""The Smith form against python-flint."""

import random

import flint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tadc.passes.polyhedral.matrix import Matrix, identity, multiply
from tadc.passes.polyhedral.smith import smith_normal_form

exact = settings(derandomize=True, deadline=None, max_examples=300)


@st.composite
def matrices(draw: st.DrawFn) -> tuple[Matrix, int]:
    m, n = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    entry = st.integers(-8, 8) | st.integers(-(10**12), 10**12)
    return tuple(tuple(draw(entry) for _ in range(n)) for _ in range(m)), n


def check(a: Matrix, columns: int) -> None:
    form = smith_normal_form(a, columns)
    rows = len(a)
    assert multiply(multiply(form.u, a, columns), form.v, columns) == form.s
    for factor, size in ((form.u, rows), (form.v, columns)):
        assert len(factor) == size and all(len(row) == size for row in factor)
        assert size == 0 or abs(flint.fmpz_mat([list(row) for row in factor]).det()) == 1
    diagonal = [form.s[i][i] for i in range(min(rows, columns))]
    assert sum(x != 0 for row in form.s for x in row) == form.rank
    assert all(x > 0 for x in diagonal[: form.rank]) and not any(diagonal[form.rank :])
    assert all(y % x == 0 for x, y in zip(form.diagonal, form.diagonal[1:], strict=False))
    if rows and columns:
        expected = flint.fmpz_mat([list(row) for row in a]).snf()
        assert [[int(x) for x in row] for row in expected.tolist()] == [list(r) for r in form.s]


@exact
@given(matrices())
def test_the_factors_multiply_to_the_form_of_flint(case: tuple[Matrix, int]) -> None:
    check(*case)


@pytest.mark.parametrize("seed", range(12))
def test_factors_of_dense_matrices_stay_small(seed: int) -> None:
    random_ = random.Random(seed)
    size = 8 if seed < 10 else 10
    a = tuple(tuple(random_.randint(-3, 3) for _ in range(size)) for _ in range(size))
    check(a, size)
    form = smith_normal_form(a, size)
    digits = max(len(str(abs(x))) for row in (*form.u, *form.v) for x in row)
    assert digits <= (16 if size == 8 else 60)


def test_empty_and_zero_matrices_have_rank_zero() -> None:
    for a, columns in [((), 0), ((), 3), (((), ()), 0), (((0, 0),), 2), (((0,), (0,)), 1)]:
        check(a, columns)
        assert smith_normal_form(a, columns).rank == 0
    assert smith_normal_form((), 3).v == identity(3)


def test_each_diagonal_entry_divides_the_next() -> None:
    assert smith_normal_form(((2, 0), (0, 3)), 2).diagonal == (1, 6)
    assert smith_normal_form(((4, 0, 0), (0, 6, 0), (0, 0, 10)), 3).diagonal == (2, 2, 60)


def test_ragged_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="2 entries"):
        smith_normal_form(((1, 2), (3,)), 2)
