"""Loops over vectors: all lanes of most, under a mask those of the last one.

scf.for %j = 0 to 512 step 32          J = 530: vectors of 16 lanes, two at a time
scf.for %j = 512 to 530 step 16        one at a time, under a mask

Spans that are known to have few vectors, only the last of which may lack lanes, have no loops:

%j = 0                                 17 <= J <= 23: all lanes
%j = 16                                under a mask
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

from xdsl.ir import SSAValue

from tadc.passes.lowering.loop_builders import carrying_loop, mirrored, rounded_up
from tadc.passes.lowering.loop_tree.intervals import Interval
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.tails import end_of_whole, first_lanes

Lanes = Sequence[SSAValue]
"""Vectors of partial results."""

EmitVectors = Callable[[BodyLowering, SSAValue, int, SSAValue | None, Lanes], Lanes]
"""Emits a number of vectors from a value of the index on, under the mask if there is one."""

MOST_VECTORS_IN_LINE = 4
"""The largest number of vectors that are emitted without a loop."""


@dataclass(frozen=True)
class VectorLoop:
    """A loop over all vectors of a span, several at a time, with a masked remainder.

    Backwards, the remainder comes first, and the first vector last. A span that ends before it
    begins, as bounds that differ from row to row may say, has no vectors.
    """

    span: Interval
    vectors: int
    lanes: int
    hint: str | None
    backwards: bool = False

    def emit(self, at: BodyLowering, carried: Lanes, emit: EmitVectors) -> Lanes:
        """Emit the loop, which carries partial results, and give their final values."""
        least, most = self.span.length
        full = int(max(0, least)) // self.lanes  # a difference of sizes may be less than 0
        count = ceil(min(most / self.lanes, MOST_VECTORS_IN_LINE + 1))
        if count <= min(full + 1, MOST_VECTORS_IN_LINE):
            return self._in_line(at, full, count, carried, emit)
        return self._loops(at, carried, emit)

    def _loops(self, at: BodyLowering, carried: Lanes, emit: EmitVectors) -> Lanes:
        """Emit the loop over whole steps, and the loop over the remainder."""
        low, high, (least, most) = self.span.low, self.span.high, self.span.length
        if least != most:
            high = at.index.max(low, high)
        columns = self.vectors * self.lanes
        width, lanes = at.index.constant(columns), at.index.constant(self.lanes)
        end = end_of_whole(at, low, high, width)

        def all_lanes(inner: BodyLowering, k: SSAValue, carried: Lanes) -> Lanes:
            k = mirrored(inner, low, end, width, k) if self.backwards else k
            return emit(inner, k, self.vectors, None, carried)

        def some_lanes(inner: BodyLowering, k: SSAValue, carried: Lanes) -> Lanes:
            k = mirrored(inner, end, up, lanes, k) if self.backwards else k
            count = inner.index.min(inner.index.sub(high, k), lanes)
            return emit(inner, k, 1, first_lanes(inner, count, self.lanes), carried)

        up = high
        if self.backwards:
            up = at.index.add(end, rounded_up(at, at.index.sub(high, end), lanes))
        loops = [(low, end, width, all_lanes)]
        if least != most or most % columns:
            loops.append((end, up, lanes, some_lanes))
        for first, last, step, fill in reversed(loops) if self.backwards else loops:
            carried = carrying_loop(at, first, last, step, self.hint, carried, fill)
        return carried

    def _in_line(
        self, at: BodyLowering, full: int, count: int, carried: Lanes, emit: EmitVectors
    ) -> Lanes:
        """Emit `full` whole vectors without a loop, and a masked one if `count` is more."""
        whole = full // self.vectors * self.vectors
        places = [*range(0, whole, self.vectors), *range(whole, count)]
        for place in reversed(places) if self.backwards else places:
            inner, low = at.inside(at.index.block), self.span.low
            k = inner.index.add(low, inner.index.constant(place * self.lanes)) if place else low
            is_full, vectors = place < full, self.vectors if place < whole else 1
            mask = None if is_full else self._mask(inner, k)
            carried = emit(inner, k, vectors, mask, carried)
        return carried

    def _mask(self, at: BodyLowering, k: SSAValue) -> SSAValue:
        """The mask of a vector that begins at `k` and may lack lanes."""
        return first_lanes(at, at.index.sub(self.span.high, k), self.lanes)
