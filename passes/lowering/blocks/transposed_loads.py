"""Squares of elements that lie across rows: loaded along them, and transposed in registers.

y[i, j] = x[j, i]              x[j0 .. j0 + 3, i0 .. i0 + 3], four vectors along i: transposed
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.lowering.lanes.lanes_lowering import LanesLowering


def load_square(at: LanesLowering, op: tix.ReadOp) -> None:
    """Load the elements of a read for all rows of a block, and keep them."""
    first = at.at(0, at.vector)
    for row, lanes in enumerate(square(first, op, places_across(first, op))):
        at.loaded[at.at(row, at.vector).key(op, at.mask)] = lanes


def places_across(at: LanesLowering, op: tix.ReadOp) -> list[SSAValue]:
    """The positions of the elements of a read, one for each lane."""
    strides = at.strides[op.tensor, op.shape]
    return [at.at_lane(lane).index.linear(op.forms, strides) for lane in range(at.lanes)]


def square(
    at: LanesLowering, op: tix.ReadOp, places: Sequence[SSAValue], mask: SSAValue | None = None
) -> list[SSAValue]:
    """A transposed square of elements, whose rows are contiguous from each of `places` on.

    Rows have as many elements as there are lanes, or those of the mask.
    """
    rows = [at.neighbours(at.buffers[op.tensor], place, mask) for place in places]
    return [at.widened(lanes) for lanes in at.transposed(rows)]
