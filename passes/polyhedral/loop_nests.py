"""Loop nests over the integer points of a polyhedron, and single points of it.

Loops are eliminated from the innermost one outwards (`fourier_motzkin`). The rows in which a loop
is then the innermost one are its bounds, which speak of the loops around it and of parameters only
(Ancourt and Irigoin 1991, "Scanning polyhedra with DO loops"). Where an elimination is not exact
over the integers, a loop may be empty at a point of the loops around it: harmless for a sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tadc.passes.polyhedral.diophantine import solve
from tadc.passes.polyhedral.division import lower_bound, upper_bound
from tadc.passes.polyhedral.fourier_motzkin import BudgetError, eliminate_column, split_by_sign
from tadc.passes.polyhedral.inequalities import implied, irredundant, rows_feasible, tidy
from tadc.passes.polyhedral.matrix import Matrix, Row, dot, negate
from tadc.passes.polyhedral.steady_bounds import steady

_MOST_POINTS_TO_DECIDE_A_BOUND = 1000
"""Points that a scan meets before it gives up proving that a row holds for all integers."""
_FEWEST_POINTS_PER_ORDER = 1000
"""Points that a scan meets before it tries another order of the loops: the first time around."""
_GROWTH_OF_SCANS = 4
"""The factor by which the budget of a scan grows once all orders were tried."""
_POINTS_PER_ROW = 10
"""The points of a scan that take as long as one row of an elimination."""

Direction: TypeAlias = Literal["lower", "upper"]


class Unbounded(Exception):
    """Raised for a system in which column `variable` has no bound in `direction`."""

    def __init__(self, variable: int, direction: Direction) -> None:
        super().__init__(f"variable {variable} has no {direction} bound")
        self.variable = variable
        self.direction: Direction = direction


@dataclass(frozen=True, slots=True)
class LoopNest:
    """A nest of loops over z_0 (outermost), z_1, … that meets the integer points of a system.

    It meets each of them once, in lexicographic order, and no other point, where the guards hold.
    All rows have the columns of the system, `row·(z, p, 1) ≥ 0`.
    """

    guards: Matrix
    """Rows without z: conditions on the parameters alone, for the nest as a whole."""
    lower: tuple[Matrix, ...]
    """For each loop j the rows with z_j positive and without the loops inside j, at least one: z_j
    starts at the greatest `division.lower_bound`."""
    upper: tuple[Matrix, ...]
    """Likewise the rows with z_j negative: z_j ends at the least `division.upper_bound`."""
    empty: bool = False
    """True is a proof that there is no point for any parameters (then there are no rows). False
    leaves open whether there is one."""


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

    Implied is what `irredundant` finds so, and if `exact` what `implied_by_integers` does too.

    Raises `Unbounded`, if the system has a rational point, for the innermost z_j without a bound,
    and `BudgetError` where the projection along one variable has more than `budget` rows
    before those are dropped that others imply.
    Each step costs one feasibility test per pair of bounds; six dimensions and 12 rows take
    some milliseconds, and the worst case is exponential in `loops`, as is the projection itself.
    """
    known, tidied = tidy(context), tidy(rows)
    if known is None or tidied is None or not rows_feasible([*known, *tidied]):
        return _empty(loops)
    # Guards first: loops are pruned by what the guards around them say.
    inside = [row for row in tidied if any(row[:loops])]
    guards = _guards(tidied, loops, known)
    if exact:
        guards = _needed(guards, [*known, *inside])
    known = [*known, *guards]
    # Inside out, each loop is eliminated; the rows in which it was the innermost one bound it.
    levels = _project(inside, loops, known, budget)
    # Outside in, rows that guards and outer loops imply are dropped.
    lower: list[Matrix] = []
    upper: list[Matrix] = []
    for j, level in enumerate(levels or ()):
        # Everything used to drop a row is kept itself or was kept further out: by induction
        # from the outermost loop, the kept rows imply the system.
        found = irredundant((steady(row, j, known) for row in level), known)
        if found is None:
            return _empty(loops)
        kept = _needed(found, known, j) if exact else found
        lower.append(tuple(row for row in kept if row[j] > 0))
        upper.append(tuple(row for row in kept if row[j] < 0))
        known += kept
    if levels is None:
        return _empty(loops)
    return LoopNest(tuple(guards), tuple(lower), tuple(upper))


def implied_by_integers(row: Row, rows: Sequence[Row]) -> bool:
    """True if every integer point of `rows` is shown to meet `row`: a proof.

    False leaves open whether it does: as for `implied`, where a variable is unbounded, where a scan
    for an integer point that breaks the row meets more than 1,000 points, or where all coefficients
    are ±1, so that integers and rational numbers differ little: then nothing is scanned.
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
    # The equations hold at v = offset + basis w for integers w, in which the other rows are
    # `row·basis w + row·(offset, 1) ≥ 0`: more of these may be equations, so that this recurs.
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
    """True if a short scan proves that no integer point of `rows` breaks `row`.

    That is, none meets `-row - 1 ≥ 0` as well. Rows that share no variable with it, nor through
    others, are left out: if they had no integer point, False would be no error.
    """
    broken = _connected((*negate(row)[:-1], -row[-1] - 1), rows)
    columns = [*zip(*broken, strict=True)]
    used = [column for column in columns[:-1] if any(column)]
    if all(-1 <= x <= 1 for column in used for x in column):
        return False
    compact = [*zip(*used, columns[-1], strict=True)]
    try:
        return integer_point(compact, len(used), _MOST_POINTS_TO_DECIDE_A_BOUND) is None
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
    """`rows`, irredundant and simple ones first, without those that a scan shows to be implied.

    Where no integers meet the others, all are; column j keeps a bound on each side anyway.
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
        lower, upper, _ = split_by_sign(rows, j)
        if not lower or not upper:
            raise Unbounded(j, "lower" if not lower else "upper")
        levels[j] = lower + upper
        shadow = eliminate_column(rows, j, budget)
        if shadow is not None and j > 1:
            shadow = irredundant((row for row in shadow if any(row[:j])), known)
        if shadow is None:
            return None
        rows = [row for row in shadow if any(row[:j])]
    return levels


def _scan_orders(rows: list[Row], variables: int, limit: int | None) -> Row | None:
    """The first point of a scan with the loops in one rotation of the columns or another.

    Rotations take turns, with growing budgets; with a `limit` there is only the first one.
    """
    if limit is not None:
        nest = loop_nest(rows, variables, budget=limit // _POINTS_PER_ROW)
        return _scan(nest, variables, limit)
    nests: dict[int, LoopNest] = {}
    budget = _FEWEST_POINTS_PER_ORDER
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
        budget *= _GROWTH_OF_SCANS


def _scan(nest: LoopNest, variables: int, budget: int) -> Row | None:
    """The first point of the nest, or None; by a stack of loops under way.

    Raises BudgetError once more than `budget` values were given to loops.
    """
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
    """The values of loop j, given those of the loops around it."""
    low = max(lower_bound(row, j, values) for row in nest.lower[j])
    high = min(upper_bound(row, j, values) for row in nest.upper[j])
    return range(low, high + 1)
