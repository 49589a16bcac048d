"""Redundant constraints: ends of short ranges that follow from others for the sizes of a call.

    0 <= k,  k + i <= 1,  k < N              k < N follows from k + i <= 1 where N is 2 at least

A constraint follows from another one if the difference of their forms is never negative: at each
point it is the larger one. Without it k has the values 0 and 1 at most, and its loop is written
out. Ends stay where ranges are long, since the sizes of the call are not known to all passes, and
where they are both ends of a range of known length. So does a third end where these two move, as in
`8 * p <= o < min(N, 8 * p + 8)`: the range is a box without it, and `o < N` the test that keeps a
read inside of its tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine, Constraint
from tadc.passes.analysis.size_bounds import SizeBounds

FEW = 16
"""The values of an index in a short range: those of a border of a window."""

Shape = Mapping[SSAValue, Affine]
"""Indices with their sizes: values from 0 on."""


def without_redundant(
    constraints: Sequence[Constraint], shape: Shape, known: SizeBounds
) -> list[Constraint]:
    """The constraints that not all sizes decide as true, less redundant ends of short ranges."""
    left = [c for c in constraints if known.decided(c) is not True]
    fixed = _of_known_length(left)
    moving = {v for c in fixed if len(c.form.indices) > 1 for v in c.form.indices}
    stays = [c for c in left if c.equality or c in fixed or not moving.isdisjoint(c.form.indices)]
    for constraint in [c for c in left if c not in stays]:
        others = [c for c in left if c is not constraint]
        follows = any(_least(constraint.form - c.form, shape, known) >= 0 for c in others)
        if follows and _leave_few(others, constraint, shape, known):
            left = others
    return left


def _of_known_length(constraints: Sequence[Constraint]) -> list[Constraint]:
    """The constraints that are the ends of ranges of known length, as `2 * i <= k < 2 * i + 5`."""
    return [c for c in constraints if any(not (c.form + d.form).terms for d in constraints)]


def _leave_few(
    constraints: Sequence[Constraint], end: Constraint, shape: Shape, known: SizeBounds
) -> bool:
    """True if constraints leave few values of an index that another one ends the range of."""
    return any(
        _least(FEW - 1 - a.form - b.form, shape, known) >= 0
        for v in end.form.indices
        if v not in shape
        for a in constraints
        for b in constraints
        if a.form[v] == 1 and b.form[v] == -1
    )


def _least(form: Affine, shape: Shape, known: SizeBounds) -> float:
    """The least value of a form at all points of a shape, for all sizes."""
    last = {v: size - 1 for v, size in shape.items() if form[v] < 0}
    return known.of(form.substitute({v: last.get(v, Affine()) for v in shape}))[0]
