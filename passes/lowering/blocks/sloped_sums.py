"""Sums of a block whose bounds move with the column: the ends of their range under masks.

    y[j] = sum[k](x[k] * w[j - k]),  j - 9 <= k <= j          columns j0 ... j0 + 15:

    k      j0 - 9 ...  j0 + 6 ... j0 ... j0 + 15
    lane 0   |-----------------|                       for k = j0 - 9 to j0 + 6:    masked
    lane 1     |-----------------|                     for k = j0 + 6 to j0 + 1:    all lanes
    ...                                                for k = ...    to j0 + 16:   masked
    lane 15               |-----------------|

A constraint `c k + b j + r >= 0` is weakest, and strongest, at the first or the last column. The
weakest ones bound all terms of the block, the strongest ones those of all columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from dialects import tix
from dialects.loops import SelectLanesOp
from dialects.tix import Affine, Constraint, Variable
from passes.lowering.emit import all_of, carrying_loop, larger, smaller
from passes.lowering.lanes.lanes_lowering import LanesLowering
from passes.lowering.scalars.body_lowering import BodyLowering
from passes.lowering.trees import provide_bounds
from passes.scheduling.tiles.sum_lengths import constraints_of

Sums = Sequence[SSAValue]
"""A vector for each point of a block: row by row, from the first vector to the last."""

Terms = Callable[[SSAValue, SSAValue, Sums], Sums]
"""The loop over terms that all columns have: from the first one to the one behind the last."""


def provide_range(at: LanesLowering, op: tix.ReductionOp) -> None:
    """Let the innermost index run over the terms of all columns."""
    provide_bounds(at, op)
    low, high = _bounds(at, op, weakest=True)
    at.ranges[op.indices[-1]] = low, high


def add_sloped(
    at: LanesLowering, op: tix.ReductionOp, low: SSAValue, high: SSAValue, sums: Sums, inside: Terms
) -> Sums:
    """The terms from `low` to `high`, of each column those that it has."""
    first, last = _bounds(at, op, weakest=False)
    first = smaller(at, larger(at, first, low), high)
    last = smaller(at, larger(at, last, first), high)
    sums = _masked(at, op, low, first, sums)
    sums = inside(first, last, sums)
    return _masked(at, op, last, high, sums)


def _bounds(at: LanesLowering, op: tix.ReductionOp, weakest: bool) -> tuple[SSAValue, SSAValue]:
    """The bounds of the innermost index for any column, or for all columns."""
    index = op.indices[-1]
    constraints = [_at_end(at, c, weakest) for c in constraints_of(op, [index])]
    low, high = at.index.bounds(index, constraints)
    return low, high


def _at_end(at: LanesLowering, constraint: Constraint, weakest: bool) -> Constraint:
    """A constraint at the column where it is weakest, or strongest."""
    column = at.tile.column_index
    grows = constraint.form[column] > 0
    offset = at.tile.columns - 1 if grows == weakest else 0
    places: dict[Variable, Affine] = {column: Affine.of(column) + offset}
    return Constraint(constraint.form.substitute(places), constraint.equality)


def _masked(
    at: LanesLowering, op: tix.ReductionOp, low: SSAValue, high: SSAValue, sums: Sums
) -> Sums:
    """Terms that some columns lack."""
    index, column = op.indices[-1], at.tile.column_index
    moving = [c for c in op.constraints if c.form[column]]

    def term(inner: BodyLowering, k: SSAValue, carried: Sums) -> Sums:
        assert isinstance(inner, LanesLowering)
        inner.index.values[index] = k
        found: list[SSAValue] = []
        for (_, value, *point), before in zip(inner.totals(op), carried, strict=True):
            here = inner.at(*point).apart()
            here.mask = all_of(here, [here.holds_in(c.form, c.equality) for c in moving])
            after = here.add(before, here.lanes_of(value), op)
            found.append(here.insert(SelectLanesOp(here.mask, after, before)).result)
        return found

    one = at.index.constant(1)
    return carrying_loop(at, low, high, one, index.name_hint, sums, term)
