"""The normal form of a lattice basis: which unknowns become summation variables.

The null space of an index map has many bases; bounds, strides and generated text depend on the
one chosen. Here it is the Hermite normal form (Cohen, *A Course in Computational Algebraic Number
Theory*, 1993, section 2.4) for an order of the unknowns in which those that can be a summation
variable themselves (`ξ_r = z`) go first, with remainders of least absolute value. For example,
`i + k = p` has the null space (1, -1): with k preferred, the basis is (-1, 1), or `k = z`.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import comb, gcd
from typing import TypeAlias

from tadc.passes.polyhedral.division import nearest
from tadc.passes.polyhedral.matrix import Matrix, Row, add_multiple, dot, negate, transpose

_MOST_SETS_OF_PIVOTS_TO_SEARCH = 5_000
"""Beyond so many sets of rows, unit pivots are chosen greedily."""

_Columns: TypeAlias = list[Row]


def normal_basis(basis: Matrix, preference: Sequence[int]) -> tuple[Matrix, tuple[int, ...]]:
    """The normal form of an n x k lattice basis (its columns), and the pivot row of each column.

    `preference` lists the rows that may become pivots, the best first. Column c is zero in the
    pivot rows of the columns before it and has `g_c > 0` in its own; the columns before it are
    there reduced to `-g_c < 2 x ≤ g_c`, so that a unit pivot (`g_c = 1`) is alone in its row.
    Columns are in the order in which the pivots were chosen: as many unit pivots as there can
    be (of the largest sets, the first by preference), then repeatedly the row of smallest gcd,
    the first by preference. The answer depends on the lattice and on `preference` alone.

    Raises ValueError where `basis` has dependent columns on the rows of `preference`.
    One Euclidean elimination per column; the search for unit pivots backtracks only where the
    greedy choice ends early, and not at all beyond 5,000 sets of rows.
    """
    columns = list(transpose(basis))
    chosen: _Columns = []
    pivots: list[int] = []
    # Each turn splits off the column that has the gcd of a row; the others become zero there.
    for row in _unit_rows(columns, preference):
        columns = _take(chosen, columns, row)
        pivots.append(row)
    while columns:
        row = _smallest(columns, preference)
        columns = _take(chosen, columns, row)
        pivots.append(row)
    return transpose(tuple(chosen), len(basis)) if chosen else ((),) * len(basis), tuple(pivots)


def echelon_basis(generators: Sequence[Row], rows: int) -> tuple[Matrix, Row]:
    """A basis of the lattice that vectors of so many rows generate, and the pivot row of each.

    Each basis vector is zero in the rows above its pivot, where it is positive; pivots ascend.
    """
    columns: _Columns = list(generators)
    basis: _Columns = []
    pivots: list[int] = []
    for row in range(rows):
        if any(column[row] for column in columns):
            pivot, columns = _eliminate(columns, row)
            basis.append(pivot)
            pivots.append(row)
    return tuple(basis), tuple(pivots)


def shortest(directions: Sequence[Row], vector: Row) -> list[Fraction]:
    """The rational z for which `vector + Σ z_c K_c` is shortest, for independent directions K.

    The gradient of `|vector + K z|²` vanishes where `KᵀK z = -Kᵀ vector`, which Gauss-Jordan
    elimination solves.
    """
    rows = [
        [Fraction(x) for x in (*(dot(a, b) for b in directions), -dot(a, vector))]
        for a in directions
    ]
    for c in range(len(rows)):
        # KᵀK is positive definite: no pivot is zero.
        rows[c] = [x / rows[c][c] for x in rows[c]]
        for r, row in enumerate(rows):
            if r != c:
                rows[r] = [x - row[c] * y for x, y in zip(row, rows[c], strict=True)]
    return [row[-1] for row in rows]


def _unit_rows(columns: _Columns, preference: Sequence[int]) -> tuple[int, ...]:
    """The longest, then first, list of rows that can all have unit pivots.

    Rows r_1 … r_m have unit pivots if and only if they extend to a unimodular matrix; then so
    does each subset, in any order, so that searching lists in the order of `preference` suffices.
    Greed does not: of the rows (1, 0), (1, 2), (1, 3) the first leaves only 2 and 3 as pivots, but
    the last two are the rows of a unimodular matrix.
    """
    if not columns:
        return ()
    backtrack = (
        comb(len(preference), min(len(columns), len(preference))) <= _MOST_SETS_OF_PIVOTS_TO_SEARCH
    )
    return _search(columns, tuple(preference), backtrack)


def _search(columns: _Columns, rows: tuple[int, ...], backtrack: bool) -> tuple[int, ...]:
    """The longest, then first, list of unit pivots out of `rows`; the first at all, if greedy."""
    best: tuple[int, ...] = ()
    for position, row in enumerate(rows):
        # No later row can start a longer list.
        if len(best) >= min(len(columns), len(rows) - position):
            break
        if gcd(*(column[row] for column in columns)) != 1:
            continue
        _, rest = _eliminate(columns, row)
        found = (row, *_search(rest, rows[position + 1 :], backtrack)) if rest else (row,)
        if len(found) > len(best):
            best = found
        if not backtrack:
            break
    return best


def _smallest(columns: _Columns, preference: Sequence[int]) -> int:
    """The first preferred row of smallest positive gcd."""
    sizes = {row: gcd(*(column[row] for column in columns)) for row in preference}
    candidates = [row for row in preference if sizes[row]]
    if not candidates:
        raise ValueError("the columns are dependent on the preferred rows")
    return min(candidates, key=lambda row: sizes[row])


def _take(chosen: _Columns, columns: _Columns, row: int) -> _Columns:
    """Move the column with its pivot in `row` from `columns` to `chosen`; return the others."""
    pivot, rest = _eliminate(columns, row)
    for i, column in enumerate(chosen):
        chosen[i] = add_multiple(column, -nearest(column[row], pivot[row]), pivot)
    chosen.append(pivot)
    return rest


def _eliminate(columns: _Columns, row: int) -> tuple[Row, _Columns]:
    """Euclid's algorithm on columns: one keeps the gcd of `row`, positive, the others zero."""
    live = [column for column in columns if column[row]]
    rest = [column for column in columns if not column[row]]
    while len(live) > 1:
        least = min(range(len(live)), key=lambda i: abs(live[i][row]))
        pivot = _positive(live.pop(least), row)
        reduced = [add_multiple(c, -nearest(c[row], pivot[row]), pivot) for c in live]
        live = [pivot, *(column for column in reduced if column[row])]
        rest += [column for column in reduced if not column[row]]
    return _positive(live[0], row), rest


def _positive(column: Row, row: int) -> Row:
    """The column or its opposite, whichever is positive in `row`."""
    return column if column[row] > 0 else negate(column)
