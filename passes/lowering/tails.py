"""Tails: what is left of a loop behind its last whole vector, or block.

    scf.for %j = 0 to 512 step 16          530 elements by 16: all lanes
    scf.for %j = 512 to 530 step 16        the tail: lanes under a mask

Here are the end of the whole ones, and masks. Tails run in one of these ways:

    masked            lanes behind the end are off: trees, sums along lanes, sums over pairs, panels
    shifted inwards   the last block begins earlier, and computes elements twice: blocks, streams
    peeled            blocks of one: jammed rows, sums over pairs
    narrower          blocks of fewer columns: blocks (`tile_grid`)
    border            tests, vector by vector: streams, stages that roll
    exact             nothing is left, as numbers say
"""

from __future__ import annotations

from xdsl.dialects import vector
from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import SSAValue

from tadc.dialects.loops import SelectLanesOp
from tadc.passes.lowering import operations
from tadc.passes.lowering.lanes.lane_reads import LaneReads
from tadc.passes.lowering.lanes.vector_lowering import VectorLowering, store_vector
from tadc.passes.lowering.scalars.body_lowering import BodyLowering


def end_of_whole(at: BodyLowering, low: SSAValue, high: SSAValue, width: SSAValue) -> SSAValue:
    """The end of the whole blocks of a width from `low` on, to `high` at most.

    It is below `low` where `high` is, as it is in the bounds of a sum without terms.
    """
    whole = at.index.mul(at.index.quotient(at.index.sub(high, low), width), width)
    return at.index.add(low, whole)


def first_lanes(at: BodyLowering, count: SSAValue, lanes: int) -> SSAValue:
    """A mask in which the first `count` lanes are on."""
    return at.insert(operations.first_lanes(count, lanes)).mask_vector


def lanes_before(at: VectorLowering, end: SSAValue, first: SSAValue) -> SSAValue:
    """A mask of the elements before `end`, in a vector that begins with `first`."""
    return first_lanes(at, at.index.sub(end, first), at.lanes)


def under_mask(at: LaneReads, value: SSAValue, otherwise: SSAValue) -> SSAValue:
    """A vector where the mask is on, and another where it is off; without a mask, the first one."""
    if at.mask is None:
        return value
    return at.insert(SelectLanesOp(at.mask, value, otherwise)).result


def store_under_mask(
    at: LaneReads,
    value: SSAValue,
    target: SSAValue,
    place: SSAValue,
    is_streaming: bool = False,
) -> None:
    """Store the lanes of a vector that the mask has; without a mask, all of them, which bypass the
    caches if they are `is_streaming`."""
    if at.mask is not None:
        at.insert(vector.MaskedStoreOp(target, [place], at.mask, value))
    elif is_streaming:
        at.insert(vector.StoreOp(value, target, [place], BoolAttr.from_bool(True)))
    else:
        store_vector(at, value, target, place)
