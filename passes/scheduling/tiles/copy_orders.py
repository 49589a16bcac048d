"""Orders of axes in which copies of tensors may pay: what vectors and rows of blocks read.

    y[n, o] = sum[c, k](x[n, c, k] * w[o, c, k])          columns o: w[c, k, o]
    y[i, j] = sum[k](a[k, i] * b[k, j])                   rows i: a[i, k], where terms lie far apart

Which of them does is for `pack-reads` to find out.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.rewriting.axis_copies import Order, Orders
from tadc.passes.rewriting.programs import reads_of
from tadc.passes.scheduling.costs.conflict_misses import displaced_rows
from tadc.passes.scheduling.costs.strided_lines import reads_in_one_place
from tadc.passes.scheduling.costs.tile_cost import Sizes
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums
from tadc.passes.scheduling.tiles.tile_analysis import lanes_of


def orders_for(op: tix.DefineOp, column: SSAValue, sizes: Sizes) -> Sequence[Orders]:
    """The copies that vectors along a column may read: without those for rows, and with them."""
    vectors = {r: order for r in reads_of(op) if (order := order_along(r, column)) is not None}
    sums = blocked_sums(op.body) if column in op.indices else []
    uses, lanes = IndexUses(), lanes_of(op)
    elements = {
        read: order
        for s in sums
        for read in reads_in_one_place(s, column, lanes, uses, sizes)
        if (order := order_along(read, s.indices[-1])) is not None
    }
    rows = [
        {
            read: order
            for s in sums
            for read in displaced_rows(s, [row], column, lanes, uses, sizes)[0]
            if (order := _order_of_rows(read, row)) is not None
        }
        for row in op.indices
        if row is not column
    ]
    return [vectors, *(vectors | copies for copies in (elements, *rows) if copies)]


def order_along(read: tix.ReadOp, column: SSAValue) -> Order | None:
    """The order of axes that makes a read contiguous along an index; None where no single axis
    moves with it, by one, or where that is the last one already."""
    uses, rank = IndexUses(), len(read.forms)
    axis = _axis_alone(read, column, uses)
    if axis is None or axis == rank - 1:
        return None
    form = read.forms[axis]
    through_quotients = any(column in uses.of(v) for v in form.indices if v is not column)
    if abs(form[column]) != 1 or through_quotients:
        return None
    return Order.with_last(axis, rank, form[column] == -1)


def _order_of_rows(read: tix.ReadOp, row: SSAValue) -> Order | None:
    """The order that makes the single axis which moves with a row the last but one; None where
    there is none, or where it is one of the last two."""
    axis, rank = _axis_alone(read, row, IndexUses()), len(read.forms)
    return None if axis is None or axis >= rank - 2 else Order.with_rows(axis, rank)


def _axis_alone(read: tix.ReadOp, index: SSAValue, uses: IndexUses) -> int | None:
    """The single axis of a read that moves with an index; None for several, none, or a view."""
    forms = [{used for v in form.indices for used in uses.of(v)} for form in read.forms]
    moving = [axis for axis, used in enumerate(forms) if index in used]
    return moving[0] if len(moving) == 1 and read.view is None else None
