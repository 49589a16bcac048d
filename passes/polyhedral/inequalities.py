"""Inequalities `row·(v, 1) ≥ 0` over integers v: feasibility, implication and irredundance.

The constant is the last entry of a row. Equations, which are pairs of opposite rows, are solved in
integers; everything else is decided over the rationals, so that answers say what they prove.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd

from tadc.passes.polyhedral.diophantine import solve
from tadc.passes.polyhedral.matrix import Matrix, Row, dot, negate, transpose
from tadc.passes.polyhedral.simplex import Tableau

_ROWS_PRUNED_AT_ONCE = 24
"""Rows that join the survivors of those before in one dictionary of the simplex method, whose every
exchange costs time in proportion to its rows."""


def tightened(row: Row) -> Row:
    """The row divided by the gcd of its coefficients, with the constant rounded down.

    `g a·v + b ≥ 0` and `a·v + ⌊b / g⌋ ≥ 0` have the same integer points. A constant row stays.
    """
    g = gcd(*row[:-1])
    return tuple(x // g for x in row) if g > 1 else row


def tidy(rows: Iterable[Row]) -> list[Row] | None:
    """Tightened rows, of equal linear parts the strictest; None where a constant row is false.

    The order of first occurrence is kept, constant rows are left out. Linear in the number of
    entries.
    """
    strictest: dict[Row, int] = {}
    for row in map(tightened, rows):
        linear, constant = row[:-1], row[-1]
        if any(linear):
            strictest[linear] = min(constant, strictest.get(linear, constant))
        elif constant < 0:
            return None
    return [(*linear, constant) for linear, constant in strictest.items()]


def rows_feasible(rows: Iterable[Row]) -> bool:
    """True if rational numbers meet all rows; False is a proof that no integers do.

    Equations are solved in integers first, so that False goes further than for rational numbers.
    True leaves open whether there is an integer point.
    """
    solved = solve_equations(rows)
    return solved is not None and Tableau(solved.rows).make_feasible()


def implied(row: Row, rows: Sequence[Row]) -> bool:
    """True if `rows` are shown to imply `row`: a proof that every *integer* point of them meets it.

    False leaves that open: there is a rational point that meets `rows` and breaks `row` by one,
    which need not be an integer point. All variables are free. Cheap tests come first (equal linear
    part, bounds of single variables), then `rows_feasible`.
    """
    row = tightened(row)
    if _evident(row, rows):
        return True
    # For integers, breaking `row ≥ 0` means `row ≤ -1`, or `-row - 1 ≥ 0`.
    opposite = negate(row)
    return not rows_feasible([*rows, (*opposite[:-1], opposite[-1] - 1)])


def irredundant(rows: Iterable[Row], context: Sequence[Row] = ()) -> Matrix | None:
    """A subset of `rows`, no member of which the `context` and the other members imply.

    Together with the context it has the same integer points and bounds the same variables. Over
    the rationals it may be wider, since a row is dropped once `row ≤ -1` is excluded. Simple
    rows are preferred; the result is sorted, simple rows first, whatever the order given. None
    where rows and context exclude each other as far as `rows_feasible` can tell.
    Batches keep the dictionary small: cost is one feasibility test per row, each against the
    survivors and at most 24 more; where rows are equations, one more for each survivor.
    """
    tidied, known = tidy(rows), solve_equations(context)
    if tidied is None or known is None:
        return None
    # Of rows that are the same where the equations of the context hold, the simplest stays.
    simplest = {known.image(row): row for row in sorted(tidied, key=_simplicity, reverse=True)}
    images = tidy(simplest)
    if images is None:
        return None
    images = [row for row in images if not _evident(row, known.rows)]
    images.sort(key=lambda image: _simplicity(simplest[image]))
    kept: list[Row] = []
    for start in range(0, max(len(images), 1), _ROWS_PRUNED_AT_ONCE):
        pruned = _prune(kept + images[start : start + _ROWS_PRUNED_AT_ONCE], known.rows)
        if pruned is None:
            return None
        kept = pruned
    # The tableau takes equations for two rows each; solved in integers, they imply more.
    needed = _without_implied(kept, known.rows) if _equations(kept) else kept
    return None if needed is None else tuple(simplest[image] for image in needed)


@dataclass(frozen=True, slots=True)
class Solved:
    """Inequalities in coordinates of the integer solutions of all their equations."""

    rows: list[Row]
    """The other inequalities in these coordinates, tidy; there are no equations among them."""
    steps: tuple[tuple[Matrix, Row], ...]
    """For equations that were found in turn, a basis and a point of their solutions: with columns K
    and point k, `v = K w + k` for the next coordinates w."""

    def image(self, row: Row) -> Row:
        """A row in the coordinates that remain, tightened: `a·v + b = (a K)·w + a·k + b`."""
        for columns, point in self.steps:
            linear = row[:-1]
            row = (*(dot(linear, column) for column in columns), dot(linear, point) + row[-1])
        return tightened(row)


def solve_equations(rows: Iterable[Row]) -> Solved | None:
    """The rows on the integer solutions of their equations; None is a proof that there are none.

    On the solutions more rows may turn out as equations, as `2 v ≥ 1` and `2 v ≤ 3` do.
    """
    current = tidy(rows)
    solved = Solved(current or [], ())
    while current and (equations := _equations(current)):
        width = len(equations[0]) - 1
        right = tuple((-row[-1],) for row in equations)
        solution = solve(tuple(row[:-1] for row in equations), right, width, 0, range(width))
        if solution.empty:
            return None
        step = transpose(solution.basis, len(solution.pivots)), transpose(solution.particular)[0]
        current = tidy(Solved([], (step,)).image(row) for row in current)
        solved = Solved(current or [], (*solved.steps, step))
    return None if current is None else solved


def _equations(rows: Sequence[Row]) -> list[Row]:
    """One row of each opposite pair."""
    seen: set[Row] = set()
    return [row for row in rows if negate(row) in seen or seen.add(row)]


def _without_implied(rows: list[Row], context: list[Row]) -> list[Row] | None:
    """`rows`, simple ones first, without those that `implied` finds, one by one.

    None where rows and context have no point.
    """
    if not rows_feasible([*context, *rows]):
        return None
    kept = list(rows)
    for row in reversed(rows):
        others = [other for other in kept if other != row]
        if implied(row, [*context, *others]):
            kept = others
    return kept


def _prune(rows: list[Row], context: list[Row]) -> list[Row] | None:
    """`rows`, simple ones first, without those that the others imply over the rationals.

    None where rows and context have no rational point.
    """
    tableau = Tableau([*context, *rows])
    if not tableau.make_feasible():
        return None
    kept: list[Row] = []
    for i in reversed(range(len(rows))):
        slack = len(context) + i
        if tableau.redundant(slack):
            tableau.drop(slack)
            tableau.make_feasible()
        else:
            kept.append(rows[i])
    return kept[::-1]


def _simplicity(row: Row) -> tuple[int, int, Row]:
    """The order of rows: few variables first, then small coefficients."""
    linear = row[:-1]
    return len(linear) - linear.count(0), sum(map(abs, linear)), negate(row)


def _evident(row: Row, rows: Iterable[Row]) -> bool:
    """True if one of `rows` dominates `row`, or bounds of its variables among them add up to it.

    That is a proof of implication; False leaves it open.
    """
    linear, total = row[:-1], row[-1]
    missing = {j for j, x in enumerate(linear) if x}
    bounds: dict[int, int] = {}
    for other in rows:
        if other[:-1] == linear and other[-1] <= row[-1]:
            return True
        j = _single(other)
        if j in missing and linear[j] * other[j] > 0:
            # a v_j + b ≥ 0 gives c v_j ≥ -c b / a for c a > 0, here with |a| = 1.
            least = -abs(linear[j]) * other[-1]
            bounds[j] = max(least, bounds.get(j, least))
    return len(bounds) == len(missing) and total + sum(bounds.values()) >= 0


def _single(row: Row) -> int:
    """The column of the only variable of a row, if its coefficient is ±1; else -1."""
    linear = row[:-1]
    if linear.count(0) != len(linear) - 1:
        return -1
    j = next(j for j, x in enumerate(linear) if x)
    return j if abs(linear[j]) == 1 else -1
