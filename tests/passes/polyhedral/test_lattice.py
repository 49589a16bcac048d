"""The normal form of a basis: canonical, equivalent, and preferring unit pivots."""

from fractions import Fraction
from itertools import combinations

import flint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tadc.passes.polyhedral.lattice import echelon_basis, normal_basis, shortest
from tadc.passes.polyhedral.matrix import Matrix, multiply, transpose
from tadc.passes.polyhedral.smith import smith_normal_form

exact = settings(derandomize=True, deadline=None, max_examples=250)


@st.composite
def lattices(draw: st.DrawFn) -> tuple[Matrix, Matrix, tuple[int, ...]]:
    """A saturated basis (n x k), a unimodular k x k matrix and a preference."""
    n = draw(st.integers(1, 6))
    k = draw(st.integers(0, min(n, 4)))
    entry = st.integers(-3, 3)
    m = tuple(tuple(draw(entry) for _ in range(n)) for _ in range(n - k))
    form = smith_normal_form(m, n)
    width = n - form.rank
    mixing = tuple(tuple(draw(entry) for _ in range(width)) for _ in range(width))
    basis = tuple(row[form.rank :] for row in form.v)
    unimodular = smith_normal_form(mixing, width).u
    return basis, unimodular, tuple(draw(st.permutations(range(n))))


@exact
@given(lattices())
def test_the_normal_form_depends_on_the_lattice_alone(
    case: tuple[Matrix, Matrix, tuple[int, ...]],
) -> None:
    basis, mixing, preference = case
    width = len(mixing)
    normal, pivots = normal_basis(basis, preference)
    assert len(pivots) == width == len(set(pivots))
    # Canonical: it depends on the lattice alone.
    assert normal_basis(multiply(basis, mixing, width), preference) == (normal, pivots)
    # Equivalent: each spans the other, over the integers.
    assert hermite(normal) == hermite(basis)
    for c, pivot in enumerate(pivots):
        g = normal[pivot][c]
        assert g > 0
        assert all(x == 0 for x in normal[pivot][c + 1 :])
        assert all(-g < 2 * x <= g for x in normal[pivot][:c])
    units = [pivot for c, pivot in enumerate(pivots) if normal[pivot][c] == 1]
    assert sorted(units, key=preference.index) == units
    assert units == list(pivots[: len(units)])
    assert units == first_largest(basis, preference, width)


def hermite(basis: Matrix) -> list[list[int]]:
    columns = [list(column) for column in transpose(basis)]
    return [[int(x) for x in r] for r in flint.fmpz_mat(columns).hnf().tolist()] if columns else []


def first_largest(basis: Matrix, preference: tuple[int, ...], width: int) -> list[int]:
    """By trying every set of rows, largest first, in the order of preference."""
    for size in range(width, 0, -1):
        for rows in combinations(preference, size):
            form = smith_normal_form(tuple(basis[r] for r in rows), width)
            if form.diagonal == (1,) * size:
                return list(rows)
    return []


def test_preferred_rows_become_unit_pivots() -> None:
    # i + k = p has the null space (1, -1); prefer k.
    assert normal_basis(((1,), (-1,)), (1, 0)) == (((-1,), (1,)), (1,))
    assert normal_basis(((1,), (-1,)), (0, 1)) == (((1,), (-1,)), (0,))
    # 2 i + 3 k = 0: no unit pivot; the smaller one wins.
    assert normal_basis(((3,), (-2,)), (0, 1)) == (((-3,), (2,)), (1,))


def test_backtracking_finds_more_unit_pivots_than_greed() -> None:
    # Row 0 first leaves only a pivot of 2; rows 1 and 2 are both units.
    basis = ((1, 0), (1, 2), (0, 1), (1, 4))
    _, pivots = normal_basis(basis, (0, 1, 2, 3))
    assert pivots == (0, 2)
    _, pivots = normal_basis(((1, 0), (1, 2), (1, 3)), (0, 1, 2))
    assert pivots == (1, 2)


def test_no_columns_have_no_pivots() -> None:
    assert normal_basis(((), ()), (0, 1)) == (((), ()), ())
    assert normal_basis((), ()) == ((), ())


def test_dependent_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="dependent"):
        normal_basis(((1, 1), (2, 2)), (0, 1))


def test_the_shortest_vector_is_orthogonal_to_all_directions() -> None:
    assert shortest([(3, -2)], (-1, 1)) == [Fraction(5, 13)]
    # What is left is orthogonal to both directions.
    directions = [(5, -3, 0), (5, 0, -2)]
    z = shortest(directions, (-4, 1, 1))
    ends = [sum(x * d[n] for x, d in zip(z, directions, strict=True)) for n in range(3)]
    rest = [v + e for v, e in zip((-4, 1, 1), ends, strict=True)]
    assert all(sum(x * y for x, y in zip(rest, d, strict=True)) == 0 for d in directions)
    assert shortest([], (1, 2)) == []


@exact
@given(
    st.integers(0, 4).flatmap(
        lambda n: st.lists(st.tuples(*[st.integers(-4, 4)] * n), max_size=5).map(
            lambda columns: (n, columns)
        )
    )
)
def test_an_echelon_basis_generates_the_same_lattice(
    case: tuple[int, list[tuple[int, ...]]],
) -> None:
    rows, columns = case
    basis, pivots = echelon_basis(columns, rows)
    assert list(pivots) == sorted(set(pivots))
    for column, pivot in zip(basis, pivots, strict=True):
        assert column[pivot] > 0 and not any(column[:pivot])
    own = transpose(tuple(basis), rows) if basis else ()
    given_ = transpose(tuple(columns), rows) if columns else ()
    without_zeros = [row for row in hermite(given_) if any(row)] if rows and columns else []
    assert [row for row in hermite(own) if any(row)] == without_zeros
