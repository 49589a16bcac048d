"""Loop bounds, projections and integer points of a polyhedron, by Fourier-Motzkin elimination.

A lower bound `a z ≥ -l` and an upper bound `b z ≤ u` with a, b > 0 allow a rational z if and only
if `a u + b l ≥ 0`: replacing all rows with z by all these pairs projects along z, exactly over the
rationals. Over the integers each step is exact where a = 1 or b = 1; otherwise the projection may
contain points above which there is no integer z (the rational shadow), and a loop may be
empty there. That is harmless for a sum.

Naively, pairs multiply: 12 rows become 1,214,935 after five steps in an example where 14 suffice.
After each step the rows that the others imply are dropped, by an exact test (`irredundant`). It
subsumes the history rules of Chernikov and Kohler, which say which pairs *must* be redundant:
within one step from an irredundant system these rules are void, and across steps they are only
valid as long as no row is dropped for any other reason.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

from passes.polyhedral.diophantine import solve
from passes.polyhedral.division import lower_bound, upper_bound
from passes.polyhedral.inequalities import implied, irredundant, rows_feasible, tidy
from passes.polyhedral.matrix import Matrix, Row, dot, negate

Direction: TypeAlias = Literal["lower", "upper"]
_Split: TypeAlias = tuple[list[Row], list[Row], list[Row]]


class Unbounded(Exception):
    """Column `variable` has no bound in `direction`, "lower" or "upper"."""

    def __init__(self, variable: int, direction: Direction) -> None:
        super().__init__(f"variable {variable} has no {direction} bound")
        self.variable = variable
        self.direction: Direction = direction


class BudgetError(Exception):
    """More rows or steps would be needed than were allowed."""


@dataclass(frozen=True, slots=True)
class LoopNest:
    """A nest of loops over z_0 (outermost) … that meets exactly the integer points of a system.

    `guards`: rows without z. `lower[j]` and `upper[j]`: rows with positive or negative z_j and
    without the loops inside j, both non-empty; z_j runs from the greatest `lower_bound` to the
    least `upper_bound`. Columns are those of the system. `empty`: there is no point for any
    parameters, and everything else is empty.
    """

    guards: Matrix
    lower: tuple[Matrix, ...]
    upper: tuple[Matrix, ...]
    empty: bool = False


def loop_nest(
    rows: Sequence[Row],
    loops: int,
    context: Sequence[Row] = (),
    *,
    exact: bool = False,
    budget: int | None = None,
) -> LoopNest:
    """The loop nest over the first `loops` columns of `rows·(z, p, 1) ≥ 0`, outermost first.

    The nest has exactly the integer points of the system, given `context`: rows without z that
    are known to hold. No row is implied by context, guards, the rows of outer loops and the
    others of its own loop together. Ranges of outer loops are the rational shadow: a point
    there may have no integer point inside.

    Guards are rows of the system that have no z and that its other rows do not imply. The
    conditions that the *loops* put on parameters are not repeated: where `N ≥ 1` follows from
    `0 ≤ z ≤ N - 1`, the loop is empty without it. `project` gives these conditions; without
    them as context, outer loops may run in vain where an inner one has no room.

    What is implied is for `irredundant` to say, and if `exact` for `implied_by_integers` too.

    Raises `Unbounded`, if the system has a rational point, for the innermost z_j without a bound,
    and `BudgetError` where the projection along one variable has more than `budget` rows
    before those are dropped that others imply.
    Each step costs one feasibility test per pair of bounds; six dimensions and 12 rows take
    some milliseconds, and the worst case is exponential in `loops`, as is the projection itself.
    """
    known, tidied = tidy(context), tidy(rows)
    if known is None or tidied is None or not rows_feasible([*known, *tidied]):
        return _empty(loops)
    inside = [row for row in tidied if any(row[:loops])]
    guards = _guards(tidied, loops, known)
    if exact:
        guards = _needed(guards, [*known, *inside])
    known = [*known, *guards]
    levels = _project(inside, loops, known, budget)
    lower: list[Matrix] = []
    upper: list[Matrix] = []
    for j, level in enumerate(levels or ()):
        # Everything used to drop a row is kept itself or was kept further out: by induction
        # from the outermost loop, the kept rows imply the system.
        found = irredundant(level, known)
        if found is None:
            return _empty(loops)
        kept = _needed(found, known, j) if exact else found
        lower.append(tuple(row for row in kept if row[j] > 0))
        upper.append(tuple(row for row in kept if row[j] < 0))
        known += kept
    if levels is None:
        return _empty(loops)
    return LoopNest(tuple(guards), tuple(lower), tuple(upper))


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
        shadow = _eliminate(current, j)
        current = None if shadow is None else irredundant(shadow, known or ())
    return current


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


def implied_by_integers(row: Row, rows: Sequence[Row]) -> bool:
    """Whether every integer point of `rows` meets `row`; True is a proof.

    False says no more than that of `implied` where a variable is unbounded, where a scan for an
    integer point that breaks the row takes more than 1,000 steps, or where all coefficients are
    ±1, so that integers and rational numbers differ little: then nothing is scanned.
    """
    return implied(row, rows) or _unbreakable(row, rows)


def integer_point(rows: Sequence[Row], variables: int, budget: int | None = None) -> Row | None:
    """An integer point of the bounded system `rows·(v, 1) ≥ 0`, or None if there is none. Exact.

    Equations (a row together with its negative) are solved first; the rest is scanned through
    its loop bounds. The point is the lexicographically least if there are no equations and the
    scan is short. Raises `Unbounded` for a rationally feasible system with an unbounded variable.

    Fast where the rational shadow is empty or nearly exact. Scanning is exponential in
    `variables` in the worst case; orders of the loops take turns with growing budgets, since a
    poor order may run through many points of the shadow without an integer point inside. With a
    `budget`, raises `BudgetError` once that many points of the first order were met, or a tenth
    as many rows at once.
    """
    tidied = tidy(rows)
    if tidied is None:
        return None
    equations = [row for row in tidied if negate(row) in set(tidied)]
    if not equations:
        return _scan_orders(tidied, variables, budget)
    matrix, right = tuple(e[:-1] for e in equations), tuple((-e[-1],) for e in equations)
    solution = solve(matrix, right, variables, 0, range(variables))
    if solution.empty:
        return None
    offset = tuple(row[0] for row in solution.particular)
    columns = tuple(zip(*solution.basis, strict=True))
    inner = [
        (*(dot(row[:-1], column) for column in columns), dot(row[:-1], offset) + row[-1])
        for row in tidied
    ]
    found = integer_point(inner, len(columns), budget)
    if found is None:
        return None
    return tuple(x + dot(row, found) for x, row in zip(offset, solution.basis, strict=True))


def _empty(loops: int) -> LoopNest:
    return LoopNest((), ((),) * loops, ((),) * loops, empty=True)


def _guards(rows: list[Row], loops: int, context: list[Row]) -> list[Row]:
    """The rows without z that context, each other and the rows with z do not imply."""
    inside = [row for row in rows if any(row[:loops])]
    outside = [row for row in rows if not any(row[:loops])]
    return list(irredundant(outside, [*context, *inside]) or ()) if outside else []


def _unbreakable(row: Row, rows: Sequence[Row]) -> bool:
    """Whether a short scan proves that no integer point of `rows` breaks `row`.

    Only rows count that share variables with it, through others too.
    """
    broken = _connected((*negate(row)[:-1], -row[-1] - 1), rows)
    columns = [*zip(*broken, strict=True)]
    used = [column for column in columns[:-1] if any(column)]
    if all(-1 <= x <= 1 for column in used for x in column):
        return False
    try:
        return integer_point([*zip(*used, columns[-1], strict=True)], len(used), 1000) is None
    except (Unbounded, BudgetError):
        return False


def _connected(row: Row, rows: Sequence[Row]) -> list[Row]:
    """`row` and those of `rows` that share variables with it or with one another."""
    found, rest, pending = [row], list(rows), [row]
    while pending:
        variables = {j for j, x in enumerate(pending.pop()[:-1]) if x}
        pending += (linked := [r for r in rest if any(r[j] for j in variables)])
        rest = [r for r in rest if not any(r[j] for j in variables)]
        found += linked
    return found


def _needed(rows: Sequence[Row], context: list[Row], j: int | None = None) -> list[Row]:
    """Irredundant rows, simple ones first, without those that a scan shows not to be needed.

    Where no integers meet the others, none is needed; column j keeps a bound on each side anyway.
    """
    kept = list(rows)
    for row in reversed(rows):
        others = [other for other in kept if other != row]
        last = j is not None and not any(other[j] * row[j] > 0 for other in others)
        if not last and _unbreakable(row, [*context, *others]):
            kept = others
    return kept


def _project(
    rows: list[Row], loops: int, known: list[Row], budget: int | None
) -> list[list[Row]] | None:
    """For each loop the rows in which it is the innermost one, after projecting those inside.

    None where integer tightening on the way shows the system to be empty.
    """
    levels: list[list[Row]] = [[] for _ in range(loops)]
    for j in reversed(range(loops)):
        lower, upper, _ = _split(rows, j)
        if not lower or not upper:
            raise Unbounded(j, "lower" if not lower else "upper")
        levels[j] = lower + upper
        shadow = _eliminate(rows, j, budget)
        if shadow is not None and j > 1:
            shadow = irredundant((row for row in shadow if any(row[:j])), known)
        if shadow is None:
            return None
        rows = [row for row in shadow if any(row[:j])]
    return levels


def _split(rows: Iterable[Row], j: int) -> _Split:
    lower: list[Row] = []
    upper: list[Row] = []
    rest: list[Row] = []
    for row in rows:
        (lower if row[j] > 0 else upper if row[j] < 0 else rest).append(row)
    return lower, upper, rest


def _eliminate(rows: Iterable[Row], j: int, budget: int | None = None) -> Sequence[Row] | None:
    """Project along column j; an equation makes it a substitution. None if a row is false."""
    lower, upper, rest = _split(rows, j)
    equation = _equation(lower, upper, j)
    if equation is not None:
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
    def count(j: int) -> tuple[int, int]:
        lower, upper, _ = _split(rows, j)
        return len(lower) * len(upper) - len(lower) - len(upper), j

    return count


def _nothing(rows: Sequence[Row], variable: int) -> tuple[Matrix, Matrix]:
    width = len(rows[0])
    low = tuple((j == variable) - (j == width - 1) for j in range(width))
    return (low,), ((*negate(low)[:-1], 0),)


def _scan_orders(rows: list[Row], variables: int, limit: int | None) -> Row | None:
    """Scan with the loops in each rotation of the columns, with growing budgets."""
    if limit is not None:
        return _scan(loop_nest(rows, variables, budget=limit // 10), variables, limit)
    nests: dict[int, LoopNest] = {}
    budget = 1000
    while True:
        for turn in range(max(variables, 1)):
            if turn not in nests:
                turned = [(*row[turn:-1], *row[:turn], row[-1]) for row in rows]
                nests[turn] = loop_nest(turned, variables)
            try:
                point = _scan(nests[turn], variables, budget)
            except BudgetError:
                continue
            return None if point is None else point[variables - turn :] + point[: variables - turn]
        budget *= 4


def _scan(nest: LoopNest, variables: int, budget: int) -> Row | None:
    """The first point of the nest, by a stack of loops under way."""
    if nest.empty or not variables:
        return None if nest.empty else ()
    values = [0] * variables
    stack = [iter(_range(nest, 0, values))]
    while stack:
        value = next(stack[-1], None)
        if value is None:
            stack.pop()
            continue
        budget -= 1
        if budget < 0:
            raise BudgetError
        values[len(stack) - 1] = value
        if len(stack) == variables:
            return tuple(values)
        stack.append(iter(_range(nest, len(stack), values)))
    return None


def _range(nest: LoopNest, j: int, values: list[int]) -> range:
    low = max(lower_bound(row, j, values) for row in nest.lower[j])
    high = min(upper_bound(row, j, values) for row in nest.upper[j])
    return range(low, high + 1)
