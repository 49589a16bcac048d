"""Conditions as unions of convex sets: complement, and cutting into disjoint disjuncts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from tadc.dialects.tix import Affine, Constraint
from tadc.passes.index_sets.space import feasible

Disjunct = list[Constraint]
"""A convex set: all constraints hold."""


def tightened(constraint: Constraint) -> Constraint:
    """The constraint with the same integer points and the smallest coefficients.

    `2 k >= 3` becomes `k >= 2`: dividing `c (e) + r >= 0` by `c` rounds `r / c` down, since
    `e` is an integer.
    """
    divisor = gcd(*constraint.form.terms.values())
    if divisor < 2 or constraint.equality:
        return constraint
    return Constraint(constraint.form // divisor)


def tidied(disjunct: Disjunct) -> Disjunct:
    """The disjunct without inequalities that are implied by one with the same linear part."""
    least: dict[Affine, int] = {}
    for c in disjunct:
        linear = c.form - c.form.constant
        least[linear] = min(c.form.constant, least.get(linear, c.form.constant))
    strictest = (c.equality or c.form.constant == least[c.form - c.form.constant] for c in disjunct)
    return [c for c, keep in zip(disjunct, strictest, strict=True) if keep]


def with_equations(constraints: Sequence[Constraint]) -> list[Constraint]:
    """The set with `f >= 0` and `f <= 0` as one equation, which implies others in `f`."""
    constraints = [tightened(c) for c in constraints]
    inequalities = {c.form for c in constraints if not c.equality}
    constants = {form.constant for form in inequalities}
    found: dict[Constraint, None] = {}
    values = {Affine(): 0}
    for c in constraints:
        is_alone = -c.form.constant not in constants or -c.form not in inequalities
        if not c.equality and is_alone:
            found[c] = None
        elif Constraint(-c.form, equality=True) not in found:
            found[Constraint(c.form, equality=True)] = None
            values |= {_linear(c.form): -c.form.constant, _linear(-c.form): c.form.constant}
    if len(values) == 1 and all(c.form.terms for c in found):
        return [*found]  # as mostly
    return [c for c in found if c.equality or not _follows(c.form, values)]


def is_thin(disjuncts: Sequence[Disjunct]) -> bool:
    """True for points that are few among those around them: they lie on diagonals, as `i = j`."""
    return all(any(c.equality for c in with_equations(disjunct)) for disjunct in disjuncts)


def _linear(form: Affine) -> Affine:
    return form - form.constant


def _follows(form: Affine, values: Mapping[Affine, int]) -> bool:
    """True if `form >= 0` follows from the values of linear forms alone."""
    value = values.get(_linear(form))
    return value is not None and value + form.constant >= 0


def negate(constraint: Constraint) -> list[Constraint]:
    """The disjoint half-spaces outside: `e < 0`, and `e > 0` too for an equality."""
    below = Constraint(-constraint.form - 1)
    return [below, Constraint(constraint.form - 1)] if constraint.equality else [below]


def complement_of_disjunct(disjunct: Sequence[Constraint]) -> list[Disjunct]:
    """`not (c1 and c2 and ...)` = `not c1`, or `c1 and not c2`, or ..., which are disjoint."""
    return [[*disjunct[:n], outside] for n, c in enumerate(disjunct) for outside in negate(c)]


def complement(
    disjuncts: Sequence[Sequence[Constraint]], context: Sequence[Constraint] = ()
) -> list[Disjunct]:
    """The points of `context` in none of the disjuncts, as disjoint convex sets.

    Empty sets are left out on the way, and sets apart from a disjunct are not cut by it: their
    number would grow with the product of the disjuncts.
    """
    rest: list[Disjunct] = [[]] if feasible(context) else []
    for disjunct in disjuncts:
        outside = complement_of_disjunct(disjunct)
        rest = [part for a in rest for part in _cut(a, disjunct, outside, context)]
    return rest


def _cut(
    part: Disjunct,
    disjunct: Sequence[Constraint],
    outside: Sequence[Disjunct],
    context: Sequence[Constraint],
) -> list[Disjunct]:
    """The points of a set that are `outside` a disjunct: all of it where the two are apart."""
    if not feasible([*context, *part, *disjunct]):
        return [part]
    return [cut for b in outside if feasible([*context, *(cut := [*part, *b])])]


def disjoint(
    disjuncts: Sequence[Sequence[Constraint]], context: Sequence[Constraint] = ()
) -> list[Disjunct]:
    """The points of `context` in at least one disjunct, as disjoint convex sets: each without those
    before."""
    return [
        [*disjunct, *outside]
        for n, disjunct in enumerate(disjuncts)
        if feasible([*context, *disjunct])
        for outside in complement(disjuncts[:n], [*context, *disjunct])
    ]
