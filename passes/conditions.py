"""Conditions as unions of convex sets: complement, and cutting into disjoint pieces."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from dialects.tix import Affine, Constraint
from passes.space import possible

Piece = list[Constraint]
"""A convex set: all constraints hold."""


def tightened(constraint: Constraint) -> Constraint:
    """The same integer points with the smallest coefficients: `2 k >= 3` is `k >= 2`.

    Dividing `c (e) + r >= 0` by `c` rounds `r / c` down, since `e` is an integer.
    """
    divisor = gcd(*constraint.form.terms.values())
    if divisor < 2 or constraint.equality:
        return constraint
    return Constraint(constraint.form // divisor)


def tidied(piece: Piece) -> Piece:
    """The piece without inequalities that are implied by one with the same linear part."""
    least: dict[Affine, int] = {}
    for c in piece:
        linear = c.form - c.form.constant
        least[linear] = min(c.form.constant, least.get(linear, c.form.constant))
    strictest = (c.equality or c.form.constant == least[c.form - c.form.constant] for c in piece)
    return [c for c, keep in zip(piece, strictest, strict=True) if keep]


def negate(constraint: Constraint) -> list[Constraint]:
    """The disjoint half-spaces outside: `e < 0`, and `e > 0` too for an equality."""
    below = Constraint(-constraint.form - 1)
    return [below, Constraint(constraint.form - 1)] if constraint.equality else [below]


def complement_of_piece(piece: Sequence[Constraint]) -> list[Piece]:
    """`not (c1 and c2 and ...)` = `not c1`, or `c1 and not c2`, or ..., which are disjoint."""
    return [[*piece[:n], outside] for n, c in enumerate(piece) for outside in negate(c)]


def complement(
    pieces: Sequence[Sequence[Constraint]], context: Sequence[Constraint] = ()
) -> list[Piece]:
    """The points of `context` in none of the pieces, as disjoint convex sets.

    Empty sets are left out on the way: their number would grow with the product of the pieces.
    """
    rest: list[Piece] = [[]]
    for piece in pieces:
        parts = ([*a, *b] for a in rest for b in complement_of_piece(piece))
        rest = [part for part in parts if possible([*context, *part])]
    return rest


def disjoint(
    pieces: Sequence[Sequence[Constraint]], context: Sequence[Constraint] = ()
) -> list[Piece]:
    """The points of `context` in at least one piece, as disjoint convex sets: each without those
    before."""
    return [
        [*piece, *outside]
        for n, piece in enumerate(pieces)
        if possible([*context, *piece])
        for outside in complement(pieces[:n], [*context, *piece])
    ]
