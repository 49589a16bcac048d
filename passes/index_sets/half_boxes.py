"""Boxes around index sets that fill about half of them or more, as triangles do.

    sum[i, j in range(i)](...)                i and j from 0, j up to N - 2
    sum[i, k in range(i + 1, N)](...)         i and k from 0, k up to N - 1

What is needed for pairs of a triangle may be computed for all pairs: a tensor over a box costs at
most twice as much, and its loops all have the same length. Windows, of which both bounds move with
another index, are small parts of a box.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.passes.index_sets.paths import Path
from tadc.passes.index_sets.sets import boxed_indices

MOST_LEFT_OUT = 8
"""The largest number at which a range begins whose box begins at 0."""

Boxes = Mapping[SSAValue, Affine]
"""The sizes of indices that run from 0."""


def boxes_around(path: Path) -> Boxes:
    """The indices around an operation that run over boxes from 0."""
    boxes = dict(zip(path.definition.indices, path.definition.type.shape, strict=True))
    for op in path.reductions:
        boxes |= boxed_indices(op)
    return boxes


def half_boxes_around(path: Path) -> Boxes:
    """The indices around an operation that run over boxes from 0, all of which are points but for
    about half, as one bound of one index moves with another."""
    boxes, moving = dict(boxes_around(path)), 0
    for op in path.reductions:
        for n, index in enumerate(op.indices):
            bounds = _bounds(index, op.indices[n + 1 :], op)
            moving += len({c.form[index] > 0 for c in bounds if len(c.form.indices) > 1})
            if index not in boxes and moving <= 1:
                boxes |= _half_box(index, bounds, boxes)
    return boxes


def is_triangle(disjuncts: Sequence[Sequence[Constraint]]) -> bool:
    """True for the points on one side of a diagonal, as `i < j`: about half of those around."""
    match disjuncts:
        case [[Constraint(form=form, equality=False)]]:
            steps = [form[v] for v in form.indices]
            return sorted(steps) == [-1, 1] and not form.sizes and -form.constant <= MOST_LEFT_OUT
        case _:
            return False


def _bounds(
    index: SSAValue, behind: Sequence[SSAValue], op: tix.ReductionOp
) -> Sequence[Constraint]:
    """The bounds of an index by those before it."""
    own = (c for c in op.constraints if c.form[index])
    return [c for c in own if not any(c.form[v] for v in behind)]


def _half_box(index: SSAValue, bounds: Sequence[Constraint], boxes: Boxes) -> Boxes:
    """The box of an index with these bounds; none where it may hold much else.

    `k + f >= 0` and `g - k >= 0` leave the values from -f to g, and at most those from the least -f
    to the greatest g of all values of other indices.
    """
    if any(abs(c.form[v]) > 1 or c.equality for c in bounds for v in c.form.indices):
        return {}
    lower = [c.form - Affine.of(index) for c in bounds if c.form[index] > 0]
    upper = [c.form + Affine.of(index) for c in bounds if c.form[index] < 0]
    if any(v not in boxes for form in (*lower, *upper) for v in form.indices):
        return {}
    firsts, ends = ([_greatest(f, boxes) for f in forms] for forms in (lower, upper))
    numbers = [end for end in ends if not end.terms]
    if any(first.terms or first.constant < -MOST_LEFT_OUT for first in firsts):
        return {}
    if all(first.constant > 0 for first in firsts) or (len(ends) > 1 and not numbers):
        return {}
    end = min(numbers, key=lambda end: end.constant, default=ends[0])
    return {index: end + 1}


def _greatest(form: Affine, boxes: Boxes) -> Affine:
    """The greatest value of a form whose indices run over boxes."""
    places: dict[Variable, Affine] = {
        v: boxes[v] - 1 if form[v] > 0 else Affine() for v in form.indices
    }
    return form.substitute(places)
