"""Sums of a block whose bounds move with the column: the ends of their range under masks.

    y[j] = sum[k](x[k] * w[j - k]),  j - 9 <= k <= j          columns j0 ... j0 + 15:

    k      j0 - 9 ...  j0 + 6 ... j0 ... j0 + 15
    lane 0   |-----------------|                       for k = j0 - 9 to j0 + 6:    masked
    lane 1     |-----------------|                     for k = j0 + 6 to j0 + 1:    all lanes
    ...                                                for k = ...    to j0 + 16:   masked
    lane 15               |-----------------|

A constraint `c k + b j + r >= 0` is weakest, and strongest, at the first or the last column. The
weakest ones bound all terms of the block, the strongest ones those of all columns.

In a block of several vectors, each has ends of its own, shorter than those of the block; what is
between its end and the terms of all columns, it adds without masks:

    vector 0   |.----------------|            . masked
    vector 1        |.----------------|.      - all lanes of this vector
    block           first    last             |...| all vectors

Where no term is one of all columns, all vectors have masks from the first term to the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from xdsl.dialects import arith
from xdsl.ir import Block, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.passes.lowering import operations
from tadc.passes.lowering.lanes.lanes_lowering import LanesLowering
from tadc.passes.lowering.loop_builders import all_of, carrying_loop
from tadc.passes.lowering.needed_operations import provide_bounds
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.tails import under_mask
from tadc.passes.scheduling.tiles.sum_lengths import constraints_of

Sums = Sequence[SSAValue]
"""A vector for each point of a block: row by row, from the first vector to the last."""

Columns = tuple[int, int]
"""The first and the last of some columns of a block, counted from 0."""

BlockT = TypeVar("BlockT", bound=LanesLowering)

Terms = Callable[[BlockT, SSAValue, SSAValue, Sums], Sums]
"""Emits the loop over terms that all columns have, between two bounds."""


def provide_range(at: LanesLowering, op: tix.ReductionOp) -> None:
    """Let the innermost index run from the first term of any column to the last term of any."""
    provide_bounds(at, op)
    low, high = _bounds(at, op, _all_columns(at), weakest=True)
    at.ranges[op.indices[-1]] = low, high


def add_sloped(
    at: BlockT,
    op: tix.ReductionOp,
    low: SSAValue,
    high: SSAValue,
    sums: Sums,
    inside: Terms[BlockT],
    is_small: bool = False,
) -> Sums:
    """Add the terms from `low` to `high` that each column has: masked at both ends of the range.

    Each vector has ends of its own; code that `is_small` masks all vectors at the ends of the
    block.
    """
    first, last = _bounds(at, op, _all_columns(at), weakest=False)
    first = at.index.min(at.index.max(first, low), high)
    last = at.index.min(at.index.max(last, first), high)
    if is_small or len(_vectors(at, op)) == 1 or any(c.equality for c in _moving(at, op)):
        sums = _masked(at, op, low, first, sums)
        sums = inside(at, first, last, sums)
        return _masked(at, op, last, high, sums)
    whole, masked = Block(), Block()
    inner = at.inside(whole)
    found = _ends(inner, op, low, first, sums, are_first=True)
    found = inside(inner, first, last, found)
    found = _ends(inner, op, last, high, found, are_first=False)
    whole.add_op(operations.end(*found))
    masked.add_op(operations.end(*_masked(at.inside(masked), op, low, high, sums)))
    some = at.insert(arith.CmpiOp(first, last, "slt")).result
    branch = operations.branch(some, whole, masked, [at.type] * len(sums))
    return at.insert(branch).results


def _ends(
    at: LanesLowering,
    op: tix.ReductionOp,
    low: SSAValue,
    high: SSAValue,
    sums: Sums,
    are_first: bool,
) -> Sums:
    """Add the terms of each vector before those of all columns if `are_first`, or after them."""
    sign = 1 if are_first else -1
    if not any(c.form[op.indices[-1]] * sign > 0 for c in _moving(at, op)):
        return sums
    found = list(sums)
    for columns, own in _vectors(at, op).items():
        bounds = (_bounds(at, op, columns, weakest) for weakest in (True, False))
        weak, strong = (ends[not are_first] for ends in bounds)
        middle = at.index.min(at.index.max(strong, low), high)
        part: Sums = [found[n] for n in own]
        if are_first:
            part = _masked(at, op, at.index.max(weak, low), middle, part, own)
            part = _whole(at, op, middle, high, part, own)
        else:
            part = _whole(at, op, low, middle, part, own)
            part = _masked(at, op, middle, at.index.min(weak, high), part, own)
        for n, value in zip(own, part, strict=True):
            found[n] = value
    return found


def _all_columns(at: LanesLowering) -> Columns:
    return 0, at.tile.columns - 1


def _vectors(at: LanesLowering, op: tix.ReductionOp) -> dict[Columns, list[int]]:
    """The columns of each vector of the block, and the numbers of its sums."""
    found: dict[Columns, list[int]] = {}
    for n, (_, _, _, vector) in enumerate(at.totals(op)):
        first = (vector or 0) * at.lanes
        found.setdefault((first, first + at.lanes - 1), []).append(n)
    return found


def _moving(at: LanesLowering, op: tix.ReductionOp) -> list[Constraint]:
    """The constraints that move with the column."""
    return [c for c in op.constraints if c.form[at.tile.column_index]]


def _bounds(
    at: LanesLowering, op: tix.ReductionOp, columns: Columns, weakest: bool
) -> tuple[SSAValue, SSAValue]:
    """The bounds of the innermost index: for any of these columns if `weakest`, else for all."""
    index = op.indices[-1]
    constraints = [_at_end(at, c, columns, weakest) for c in constraints_of(op, [index])]
    low, high = at.index.bounds(index, constraints)
    return low, high


def _at_end(
    at: LanesLowering, constraint: Constraint, columns: Columns, weakest: bool
) -> Constraint:
    """A constraint at the column where it is weakest, or strongest."""
    column = at.tile.column_index
    grows = constraint.form[column] > 0
    places: dict[Variable, Affine] = {column: Affine.of(column) + columns[grows == weakest]}
    return Constraint(constraint.form.substitute(places), constraint.equality)


def _masked(
    at: LanesLowering,
    op: tix.ReductionOp,
    low: SSAValue,
    high: SSAValue,
    sums: Sums,
    own: Sequence[int] | None = None,
) -> Sums:
    """Add terms that some columns lack, under masks: to the sums numbered `own`, or to all."""
    moving = _moving(at, op)

    def add(here: LanesLowering, before: SSAValue, value: SSAValue) -> SSAValue:
        here = here.apart()
        here.mask = all_of(here, [here.holds_in(c.form, c.equality) for c in moving])
        after = here.add(before, here.lanes_of(value), op)
        return under_mask(here, after, before)

    return _loop(at, op, low, high, sums, own, add)


def _whole(
    at: LanesLowering,
    op: tix.ReductionOp,
    low: SSAValue,
    high: SSAValue,
    sums: Sums,
    own: Sequence[int],
) -> Sums:
    """Add terms that all columns of the sums numbered `own` have."""

    def add(here: LanesLowering, before: SSAValue, value: SSAValue) -> SSAValue:
        return here.add(before, here.lanes_of(value), op)

    return _loop(at, op, low, high, sums, own, add)


def _loop(
    at: LanesLowering,
    op: tix.ReductionOp,
    low: SSAValue,
    high: SSAValue,
    sums: Sums,
    own: Sequence[int] | None,
    add: Callable[[LanesLowering, SSAValue, SSAValue], SSAValue],
) -> Sums:
    """The loop over [low, high) that adds terms to the sums numbered `own`, or to all."""
    index = op.indices[-1]

    def term(inner: BodyLowering, k: SSAValue, carried: Sums) -> Sums:
        assert isinstance(inner, LanesLowering)
        inner.index.values[index] = k
        totals = inner.totals(op)
        points = totals if own is None else [totals[n] for n in own]
        return [
            add(inner.at(row, vector), before, value)
            for (_, value, row, vector), before in zip(points, carried, strict=True)
        ]

    one = at.index.constant(1)
    return carrying_loop(at, low, high, one, index.name_hint, sums, term)
