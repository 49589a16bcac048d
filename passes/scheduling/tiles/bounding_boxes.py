"""Boxes around the index sets of reductions: bounds that are the same for all elements.

k >= 0, k >= 1 - i, k <= 2, k <= N - i        a window, cut at the borders of a tensor
k >= 0, k <= 2                                its box
k >= 1 - i, k <= N - i                        what terms are tested for in a loop over it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.rewriting.programs import definition_around
from tadc.passes.scheduling.tiles.sum_lengths import MOST_TERMS_OF_WINDOW

MOST_MOVES = 8
"""The least ratio of the box of a long index to the distance that its bounds move."""

MOST_OF_BAND = 2
"""The highest ratio of the box of an index to the width of a band."""


def box_around(op: tix.ReductionOp, long: bool, bands: bool) -> list[Constraint] | None:
    """The constraints of a set whose indices go over boxes, where these are short; other indices
    keep theirs. None if no constraint becomes a test, or there is another reduction inside."""
    varying = [c for c in op.constraints if _varies(c, op)]
    if not varying or any(isinstance(o, tix.ReductionOp) for o in op.body.walk()):
        return None
    same = [c for c in op.constraints if not _varies(c, op)]
    extremes, wide, kept = _extremes(op), list[Constraint](), set[Constraint]()
    for index in op.indices:
        own = [c for c in varying if c.form[index]]
        sides = {c.form[index] > 0 for c in own}
        box = list(same)
        bounded = {c.form[index] > 0 for c in same if _is_bound_of(index, c, op)}
        for side in sides:
            around = [c.substitute(extremes(c)) for c in own if (c.form[index] > 0) == side]
            wider = [*box, *dict.fromkeys(c for c in around if not _varies(c, op))]
            if side not in bounded or (_is_short(index, wider) and not _is_short(index, box)):
                box = wider
        is_full = _is_half(index, sides, box) or _is_nearly_full(index, own, op, box)
        is_long = not _is_short(index, box) and not (long and is_full)
        asked = bands and not _is_same_in_vectors(own, op)
        if sides and (is_long or (not asked and _is_band(index, varying, box))):
            kept.update(own)
        else:
            wide += box[len(same) :]
    tests = [c for c in varying if c not in kept]
    return [*(c for c in op.constraints if c not in tests), *wide] if tests else None


def _is_bound_of(index: SSAValue, constraint: Constraint, op: tix.ReductionOp) -> bool:
    """True if `index` is the innermost of the reduction's indices in a constraint."""
    own = [v for v in op.indices if constraint.form[v]]
    return own[-1:] == [index]


def _is_band(index: SSAValue, varying: Sequence[Constraint], box: Sequence[Constraint]) -> bool:
    """True if two bounds of an index move together and leave a small part of its box.

    Of `a k - f >= 0` and `f + w - a k >= 0` the sum is w: there are at most w // a + 1 values of k.
    """
    length = constant_length(index, box)
    lower = [c.form for c in varying if c.form[index] > 0]
    upper = [c.form for c in varying if c.form[index] < 0]
    pairs = [(a[index], a + b) for a in lower for b in upper if a[index] == -b[index]]
    widths = [total.constant // factor + 1 for factor, total in pairs if not total.terms]
    return length is not None and any(length > MOST_OF_BAND * width for width in widths)


def _is_same_in_vectors(constraints: Sequence[Constraint], op: tix.ReductionOp) -> bool:
    """True if bounds do not move with the last index, so that the lanes of a vector share them."""
    return not any(c.form[v] for c in constraints for v in definition_around(op).indices[-1:])


def _extremes(op: tix.ReductionOp) -> Callable[[Constraint], dict[tix.Variable, Affine]]:
    """A function from a constraint to the definition's index values at which it is loosest."""
    around = definition_around(op)
    last = {v: n - 1 for v, n in zip(around.indices, around.shape, strict=True)}
    return lambda c: {v: end if c.form[v] > 0 else Affine() for v, end in last.items()}


def _is_short(index: SSAValue, box: Sequence[Constraint]) -> bool:
    """True if numbers, or sizes and numbers, bound `index` to few values."""
    length = _length(index, [c.form for c in box if c.form.indices == [index]])
    return length is not None and length <= MOST_TERMS_OF_WINDOW


def constant_length(index: SSAValue, box: Sequence[Constraint]) -> int | None:
    """The number of values that numbers leave an index; None if they do not bound it."""
    return _length(index, [c.form for c in box if len(c.form.terms) == 1])


def _length(index: SSAValue, forms: Sequence[Affine]) -> int | None:
    """The number of values between bounds of an index, which are at least 0; None where that is no
    number. Of `k - f >= 0` and `g - k >= 0` the sum is one less."""
    own = [form for form in forms if abs(form[index]) == 1]
    pairs = [low + high for low in own for high in own if low[index] > 0 > high[index]]
    return min((width.constant + 1 for width in pairs if not width.terms), default=None)


def _is_half(index: SSAValue, sides: Set[bool], box: Sequence[Constraint]) -> bool:
    """True if one side of `index` varies and the box bounds both."""
    return len(sides) == 1 and len({c.form[index] > 0 for c in box if c.form[index]}) == 2


def _is_nearly_full(
    index: SSAValue, varying: Sequence[Constraint], op: tix.ReductionOp, box: Sequence[Constraint]
) -> bool:
    """True if the bounds of an index are known to move little, against the length of its box."""
    length, around = constant_length(index, box), definition_around(op)
    moves = [
        abs(c.form[v]) * (n.constant - 1) if not n.terms else None
        for c in varying
        for v, n in zip(around.indices, around.shape, strict=True)
        if c.form[v]
    ]
    known = [move for move in moves if move is not None]
    inside = all(v in (index, *around.indices) for c in varying for v in c.form.indices)
    return length is not None and inside and moves == known and MOST_MOVES * sum(known) <= length


def _varies(constraint: Constraint, op: tix.ReductionOp) -> bool:
    """True if a constraint depends on an index from around the reduction."""
    return any(v not in op.indices for v in constraint.form.indices)
