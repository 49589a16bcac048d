"""Inequalities `row·(v, 1) ≥ 0` over integers v: the constant is the last entry of a row."""

from collections.abc import Iterable, Sequence
from math import gcd

from passes.polyhedral.matrix import Matrix, Row, negate
from passes.polyhedral.simplex import Tableau

_BATCH = 24


def normalize(row: Row) -> Row:
    """Divide by the gcd of the coefficients and round the constant down.

    `g a·v + b ≥ 0` and `a·v + ⌊b / g⌋ ≥ 0` have the same integer points. A constant row stays.
    """
    g = gcd(*row[:-1])
    return tuple(x // g for x in row) if g > 1 else row


def tidy(rows: Iterable[Row]) -> list[Row] | None:
    """Normalized rows, of equal linear parts the strictest; None where a constant row is false.

    The order of first occurrence is kept. Linear in the number of entries.
    """
    strictest: dict[Row, int] = {}
    for row in map(normalize, rows):
        linear, constant = row[:-1], row[-1]
        if any(linear):
            strictest[linear] = min(constant, strictest.get(linear, constant))
        elif constant < 0:
            return None
    return [(*linear, constant) for linear, constant in strictest.items()]


def feasible(rows: Sequence[Row]) -> bool:
    """Whether some rational point meets all rows (after integer tightening). Exact over Q.

    False proves that there is no integer point; True proves nothing about integers.
    """
    tidied = tidy(rows)
    return tidied is not None and Tableau(tidied).feasible()


def implied(row: Row, rows: Sequence[Row]) -> bool:
    """Whether `rows` and `row ≤ -1` exclude each other over the rationals.

    True proves that every *integer* point of `rows` meets `row`. Exact over Q: False means
    that a rational point meets `rows` and breaks `row` by one; it need not be an integer point.
    All variables are free. Cheap tests come first (equal linear part, bounds of single
    variables), then the simplex method with Bland's rule in integers (see `simplex`).
    """
    row = normalize(row)
    if _evident(row, rows):
        return True
    opposite = negate(row)
    return not feasible([*rows, (*opposite[:-1], opposite[-1] - 1)])


def irredundant(rows: Iterable[Row], context: Sequence[Row] = ()) -> Matrix | None:
    """A subset of `rows`, no member of which the `context` and the other members imply.

    Together with the context it has the same integer points and bounds the same variables. Over
    the rationals it may be wider, since a row is dropped once `row ≤ -1` is excluded. Simple
    rows are preferred; the result is sorted, simple rows first, whatever the order given. None
    where rows and context exclude each other over the rationals.
    Batches keep the dictionary small: cost is one feasibility test per row, each against
    the survivors and at most 24 more.
    """
    tidied, known = tidy(rows), tidy(context)
    if tidied is None or known is None:
        return None
    tidied = sorted((row for row in tidied if not _evident(row, known)), key=_simplicity)
    kept: list[Row] = []
    for start in range(0, max(len(tidied), 1), _BATCH):
        pruned = _prune(kept + tidied[start : start + _BATCH], known)
        if pruned is None:
            return None
        kept = pruned
    return tuple(kept)


def _prune(rows: list[Row], context: list[Row]) -> list[Row] | None:
    """`rows`, simple ones first, without those that the others imply."""
    tableau = Tableau([*context, *rows])
    if not tableau.feasible():
        return None
    kept: list[Row] = []
    for i in reversed(range(len(rows))):
        if tableau.redundant(len(context) + i):
            tableau.drop(len(context) + i)
            tableau.feasible()
        else:
            kept.append(rows[i])
    return kept[::-1]


def _simplicity(row: Row) -> tuple[int, int, Row]:
    linear = row[:-1]
    return len(linear) - linear.count(0), sum(map(abs, linear)), negate(row)


def _evident(row: Row, rows: Iterable[Row]) -> bool:
    """A sufficient test of implication: one row dominates, or bounds of variables add up."""
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
    """The only variable of a row, with coefficient ±1; or -1."""
    linear = row[:-1]
    if linear.count(0) != len(linear) - 1:
        return -1
    j = next(j for j, x in enumerate(linear) if x)
    return j if abs(linear[j]) == 1 else -1
