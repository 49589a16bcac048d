"""Projections of a polyhedron by Fourier-Motzkin elimination.

A lower bound `a z ≥ -l` and an upper bound `b z ≤ u` with a, b > 0 allow a rational z if and only
if `a u + b l ≥ 0`: replacing all rows with z by all these pairs projects along z, exactly over the
rationals (Schrijver, *Theory of Linear and Integer Programming*, 1986, section 12.2).

Over the integers each step is exact where a = 1 or b = 1. Otherwise the projection may contain
points above which there is no integer z. Pugh 1991, "The Omega test", calls it the real shadow;
here it is the rational shadow. (His dark shadow, `a u + b l ≥ (a - 1) (b - 1)`, has an integer z
above every point, but lacks points above which there is one too.)

Naively, pairs multiply: 12 rows become 1,214,935 after five steps in an example where 14 suffice.
After each step the rows that the others imply are dropped, by an exact test (`irredundant`). It
subsumes the history rules of Chernikov 1960 and Kohler 1967 (compared in Imbert 1993, "Fourier's
elimination: which to choose?"), which say which pairs *must* be redundant: within one step from an
irredundant system these rules are void, and across steps they are only valid as long as no row is
dropped for any other reason.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import product

from tadc.passes.polyhedral.inequalities import irredundant, tidy
from tadc.passes.polyhedral.matrix import Matrix, Row, negate


class BudgetError(Exception):
    """Raised where more rows or points would be needed than were allowed."""


def project(
    rows: Iterable[Row], eliminate: Iterable[int], context: Iterable[Row] = ()
) -> Matrix | None:
    """The rational shadow along the columns `eliminate`: rows that are zero in them.

    Every integer point of the system meets them, and over the rationals they say no more than
    that there is a point above (rounded to integers at each step). They are irredundant given
    `context`, rows that are zero in the eliminated columns. With all loops eliminated these are the
    conditions on parameters under which a loop nest has any point. None where rows and
    context exclude each other. Columns go in the order of fewest pairs of bounds.
    """
    known, rest = tidy(context), set(eliminate)
    current = None if known is None else irredundant(rows, known)
    while rest and current is not None:
        j = min(rest, key=_pairs(current))
        rest.remove(j)
        shadow = eliminate_column(current, j)
        current = None if shadow is None else irredundant(shadow, known or ())
    return current


def eliminate_exactly(
    rows: Iterable[Row], eliminate: Iterable[int], context: Iterable[Row] = ()
) -> Sequence[Row] | None:
    """The rows projected along those of these columns that integers allow to.

    The integer points of the result are those above which the system has integers: a column goes if
    an equation has it with coefficient ±1, or no two bounds of it have larger ones. Other columns
    stay. None where rows and context, as in `project`, exclude each other.
    """
    known, rest = tidy(context), set(eliminate)
    current: Sequence[Row] | None = tidy(rows)
    # Substitution adds no rows: what is implied may stay until all equations are gone.
    while current is not None and (units := [j for j in rest if _has_unit(current, j)]):
        rest.remove(units[0])
        current = eliminate_column(current, units[0])
    if known is None or current is None:
        return None
    current = irredundant(current, known)
    while current is not None and (exact := [j for j in rest if _is_exact(current, j)]):
        rest.remove(j := min(exact, key=_pairs(current)))
        shadow = eliminate_column(current, j)
        current = None if shadow is None else irredundant(shadow, known)
    return current


def _has_unit(rows: Sequence[Row], j: int) -> bool:
    """True if an equation has column j with coefficient ±1."""
    lower, upper, _ = split_by_sign(rows, j)
    equation = _equation(lower, upper, j)
    return equation is not None and equation[j] == 1


def _is_exact(rows: Sequence[Row], j: int) -> bool:
    """True if the projection along column j has no integer point without one above it."""
    lower, upper, _ = split_by_sign(rows, j)
    if _equation(lower, upper, j) is not None:
        return _has_unit(rows, j)
    return all(row[j] == 1 for row in lower) or all(row[j] == -1 for row in upper)


def project_bounds(
    rows: Sequence[Row], variable: int, eliminate: Iterable[int], context: Sequence[Row] = ()
) -> tuple[Matrix, Matrix]:
    """Lower and upper rows of column `variable` after the columns `eliminate` are projected out.

    `eliminate` may name the variable itself, which stays. Rows keep their columns and are
    irredundant given `context`. A side without a row is unbounded. The range is the empty
    one, `v ≥ 1` and `v ≤ 0`, where rows and context exclude each other. As for `project`, the
    range contains that of the integer points and may be wider by rational points.
    """
    shadow = project(rows, set(eliminate) - {variable}, context)
    about = shadow and irredundant((row for row in shadow if row[variable]), context)
    if about is None:
        return _nothing((*rows, *context), variable)
    return tuple(r for r in about if r[variable] > 0), tuple(r for r in about if r[variable] < 0)


def split_by_sign(rows: Iterable[Row], j: int) -> tuple[list[Row], list[Row], list[Row]]:
    """The rows with positive, with negative, and without z_j."""
    lower: list[Row] = []
    upper: list[Row] = []
    rest: list[Row] = []
    for row in rows:
        (lower if row[j] > 0 else upper if row[j] < 0 else rest).append(row)
    return lower, upper, rest


def eliminate_column(
    rows: Iterable[Row], j: int, budget: int | None = None
) -> Sequence[Row] | None:
    """The rows projected along column j, tidy; None if one is false. For the steps of a projection.

    Raises BudgetError for more than `budget` rows.
    """
    lower, upper, rest = split_by_sign(rows, j)
    equation = _equation(lower, upper, j)
    if equation is not None:
        # The equation is substituted for z_j: it alone is paired with each of the bounds.
        low, high = equation, negate(equation)
        pairs = [(low, row) for row in upper if row != high]
        pairs += [(row, high) for row in lower if row != low]
    else:
        pairs = list(product(lower, upper))
    if budget is not None and len(rest) + len(pairs) > budget:
        raise BudgetError
    return tidy([*rest, *(_pair(low, high, j) for low, high in pairs)])


def _equation(lower: list[Row], upper: list[Row], j: int) -> Row | None:
    """The lower row of an equation with the least coefficient of column j."""
    opposite = set(upper)
    equations = [row for row in lower if negate(row) in opposite]
    return min(equations, key=lambda row: row[j], default=None)


def _pair(low: Row, high: Row, j: int) -> Row:
    """`a u + b l ≥ 0` from `a z + l ≥ 0` and `-b z + u ≥ 0`."""
    a, b = low[j], -high[j]
    return tuple(b * x + a * y for x, y in zip(low, high, strict=True))


def _pairs(rows: Sequence[Row]) -> Callable[[int], tuple[int, int]]:
    """By how many rows the elimination of a column would change the system; ties by column."""

    def count(j: int) -> tuple[int, int]:
        lower, upper, _ = split_by_sign(rows, j)
        return len(lower) * len(upper) - len(lower) - len(upper), j

    return count


def _nothing(rows: Sequence[Row], variable: int) -> tuple[Matrix, Matrix]:
    """The empty range `v ≥ 1` and `v ≤ 0`."""
    width = len(rows[0])
    low = tuple((j == variable) - (j == width - 1) for j in range(width))
    return (low,), ((*negate(low)[:-1], 0),)
