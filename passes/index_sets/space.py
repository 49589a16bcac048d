"""Constraints on indices and sizes as rows for the exact mathematics of `passes/polyhedral`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.passes.polyhedral.inequalities import implied, rows_feasible
from tadc.passes.polyhedral.matrix import Row
from tadc.passes.rewriting.failure import PassFailure

MOST_BITS_OF_A_NUMBER = 62
"""The length of numbers in an index or a bound: loops compute with 64 bits."""


def require_short_numbers(location: LocationAttr, forms: Iterable[Affine]) -> None:
    """Raise `PassFailure` where solving or elimination made numbers that no loop can have."""
    longest = max(
        (x.bit_length() for f in forms for x in (*f.terms.values(), f.constant)), default=0
    )
    if longest > MOST_BITS_OF_A_NUMBER:
        reason = (
            f"which points read the same element takes numbers of {longest} bits, "
            f"beyond {MOST_BITS_OF_A_NUMBER}: smaller coefficients in its indices take smaller ones"
        )
        raise PassFailure(location, reason)


class Space:
    """Numbered columns: the `first` variables, then all that `constraints` mention, then 1."""

    def __init__(self, first: Sequence[Variable], constraints: Iterable[Constraint]):
        used = (v for c in constraints for v in c.form.terms)
        self.variables = list(dict.fromkeys([*first, *used]))

    def rows(self, constraints: Iterable[Constraint]) -> list[Row]:
        """Rows `row·(variables, 1) >= 0`; an equality gives two."""
        rows: list[Row] = []
        for c in constraints:
            row = (*(c.form[v] for v in self.variables), c.form.constant)
            rows += [row, tuple(-x for x in row)] if c.equality else [row]
        return rows

    def sizes_not_negative(self) -> list[Row]:
        columns = [n for n, v in enumerate(self.variables) if isinstance(v, str)]
        return [tuple(int(m == n) for m in range(len(self.variables) + 1)) for n in columns]

    def constraint(self, row: Row) -> Constraint:
        return Constraint(Affine(dict(zip(self.variables, row[:-1], strict=True)), row[-1]))

    def implied(self, constraint: Constraint, known: Sequence[Row]) -> bool:
        """True if `constraint` holds wherever the rows `known` do."""
        return all(implied(row, known) for row in self.rows([constraint]))


def implied_by(constraint: Constraint, known: Sequence[Constraint]) -> bool:
    """True if the known constraints, on sizes that are not negative, imply another one."""
    space = Space(list(constraint.form.terms), known)
    return space.implied(constraint, space.rows(known) + space.sizes_not_negative())


def feasible(constraints: Sequence[Constraint]) -> bool:
    """False where no point meets all constraints, as far as rational numbers can tell."""
    space = Space([], constraints)
    return rows_feasible(space.rows(constraints) + space.sizes_not_negative())


def conditions_of_a_point(
    own: Sequence[SSAValue], constraints: Iterable[Constraint]
) -> list[Constraint] | None:
    """Conditions on the other indices and on sizes under which the set has a point.

    Inequalities `a v >= l` and `b v <= u` leave an integer between them where `a u >= b l`, exactly
    if `a` or `b` is 1. None where no exact answer is found in this way.
    """
    current = list(constraints)
    for v in reversed(own):
        around = [c for c in current if c.form[v]]
        low = [c.form for c in around if c.form[v] > 0]
        high = [c.form for c in around if c.form[v] < 0]
        exact = all(a[v] == 1 or b[v] == -1 for a in low for b in high)
        if not exact or any(c.equality for c in around):
            return None
        shadow = [Constraint(a * -b[v] + b * a[v]) for a in low for b in high]
        current = [*(c for c in current if not c.form[v]), *shadow]
    return list(dict.fromkeys(c for c in current if c.form.terms or c.form.constant < 0))


def is_bounded(indices: Sequence[SSAValue], constraints: Sequence[Constraint]) -> bool:
    """True if each index has bounds by those before it, on both sides."""
    sides: set[tuple[SSAValue, bool]] = set()
    for c in constraints:
        own = [v for v in indices if c.form[v]]
        if own:
            sides.add((own[-1], c.form[own[-1]] > 0))
    return len(sides) == 2 * len(indices)
