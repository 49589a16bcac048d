"""Loops over the vectors of a row: all lanes of most, under a mask those of the last one.

scf.for %j = 0 to 512 step 32          J = 530: vectors of 16 lanes, two at a time
scf.for %j = 512 to 530 step 16        one at a time, under a mask

Rows that are known to have few vectors, only the last of which may lack lanes, have no loops:

%j = 0                                 17 <= J <= 23: all lanes
%j = 16                                under a mask
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from xdsl.ir import Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.analysis.costs import FREE, weight
from tadc.passes.analysis.size_bounds import Bounds
from tadc.passes.lowering.emit import (
    carrying_loop,
    mirrored,
    rounded_up,
)
from tadc.passes.lowering.rows.row_lanes import RowLanes
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.tails import (
    end_of_whole,
    first_lanes,
    lanes_before,
    store_under_mask,
)

Lanes = Sequence[SSAValue]
"""Vectors of partial results."""

Emit = Callable[[RowLanes, int, Lanes], Lanes]
"""Emits so many vectors from the index on, under the mask if there is one."""

MOST_VECTORS_IN_LINE = 4
"""Vectors of the longest rows without loops."""


def is_heavy(body: Region) -> bool:
    """True if an elementary function keeps units busy, so that one vector at a time does."""
    return any(not isinstance(o, FREE) and weight(o) > 1 for o in body.walk())


def over_vectors(
    at: RowLanes,
    index: SSAValue,
    span: tuple[SSAValue, SSAValue, Bounds],
    carried: Lanes,
    emit: Emit,
    backwards: bool = False,
) -> Lanes:
    """The loop over all vectors of a span, whose length has these bounds; the last one is masked.

    Backwards, that one comes first, and the first one last. A span that ends before it begins, as
    bounds that differ from row to row may say, has none.
    """
    low, high, (least, most) = span
    full = int(max(0, least)) // at.lanes  # a difference of sizes may be less than 0
    count = ceil(min(most / at.lanes, MOST_VECTORS_IN_LINE + 1))
    if count <= min(full + 1, MOST_VECTORS_IN_LINE):
        return _in_line(at, index, (low, high), (full, count), carried, emit, backwards)
    if least != most:
        high = at.index.max(low, high)
    vectors = at.tile.columns // at.lanes
    width, lanes = at.index.constant(at.tile.columns), at.index.constant(at.lanes)
    end = end_of_whole(at, low, high, width)

    def all_lanes(inner: BodyLowering, k: SSAValue, carried: Lanes) -> Lanes:
        assert isinstance(inner, RowLanes)
        inner.index.values[index] = mirrored(inner, low, end, width, k) if backwards else k
        return emit(inner, vectors, carried)

    def some_lanes(inner: BodyLowering, k: SSAValue, carried: Lanes) -> Lanes:
        assert isinstance(inner, RowLanes)
        k = mirrored(inner, end, up, lanes, k) if backwards else k
        inner.index.values[index] = k
        inner.mask = first_lanes(inner, inner.index.min(inner.index.sub(high, k), lanes))
        return emit(inner, 1, carried)

    up = at.index.add(end, rounded_up(at, at.index.sub(high, end), lanes)) if backwards else high
    hint = index.name_hint
    loops = [(low, end, width, all_lanes)]
    if least != most or most % at.tile.columns:
        loops.append((end, up, lanes, some_lanes))
    for first, last, step, fill in reversed(loops) if backwards else loops:
        carried = carrying_loop(at, first, last, step, hint, carried, fill)
    return carried


def _in_line(
    at: RowLanes,
    index: SSAValue,
    span: tuple[SSAValue, SSAValue],
    counts: tuple[int, int],
    carried: Lanes,
    emit: Emit,
    backwards: bool,
) -> Lanes:
    """So many full vectors, and one more under a mask if there are more in all."""
    low, high = span
    full, count = counts
    vectors = at.tile.columns // at.lanes
    whole = full // vectors * vectors
    places = [*range(0, whole, vectors), *range(whole, count)]
    for place in reversed(places) if backwards else places:
        inner = at.inside(at.index.block)
        k = inner.index.add(low, inner.index.constant(place * at.lanes)) if place else low
        inner.index.values[index] = k
        if place >= full:
            inner.mask = lanes_before(inner, high, k)
        carried = emit(inner, vectors if place < whole else 1, carried)
    return carried


def store_elements(at: RowLanes, op: tix.DefineOp, value: SSAValue) -> None:
    """Store a vector of a definition in its place, less the lanes that a mask leaves out."""
    place = at.index.linear([Affine.of(v) for v in op.indices], at.strides[op.result, op.shape])
    store_under_mask(at, value, at.buffers[op.result], place)
