"""Running totals of the sums of a tile: what their accumulators are emptied into after each segment.

    total[n], errors[n] = 0, 0                     n: an element of the block, or of the strip
    for segment = ... {
      acc[n] += ...                                at most as many terms as a segment has
      total[n], errors[n] += acc[n];  acc[n] = 0   `passes/scheduling/segments.py`
    }
    acc[n] = total[n] + errors[n]

All but the terms is left out at run time where there is one segment only.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from passes.scheduling.body_lowering import BodyLowering
from passes.scheduling.emit import Fill, buffer, load, loop, store, when
from passes.scheduling.segments import Segments, add_segment, whole_sum


@dataclass(frozen=True)
class Totals:
    """Running totals for the elements of an accumulator, which are `count` at run time."""

    accumulator: SSAValue
    count: SSAValue
    several: SSAValue | None
    """True if there are several segments; None where there may always be."""
    total: SSAValue
    errors: SSAValue

    @classmethod
    def begin(
        cls,
        at: BodyLowering,
        segments: Segments,
        accumulator: SSAValue,
        count: SSAValue,
        most: int,
    ) -> Totals:
        """Totals of nothing yet; there is room for `most` elements."""
        several = segments.are_several(at)
        total, errors = buffer(at, most, "total"), buffer(at, most, "errors")
        totals = cls(accumulator, count, several, total, errors)

        def clear(inner: BodyLowering, n: SSAValue) -> None:
            for target in (total, errors):
                store(inner, inner.constant(0.0), target, n)

        totals._each(at, clear)
        return totals

    def take(self, at: BodyLowering) -> None:
        """Empty the accumulator into the totals."""

        def move(inner: BodyLowering, n: SSAValue) -> None:
            old = (load(inner, source, n) for source in (self.total, self.errors))
            new = add_segment(inner, *old, load(inner, self.accumulator, n))
            for value, target in zip(new, (self.total, self.errors), strict=True):
                store(inner, value, target, n)
            store(inner, inner.constant(0.0), self.accumulator, n)

        self._each(at, move)

    def end(self, at: BodyLowering) -> None:
        """Let the accumulator hold the sums of all segments."""

        def move(inner: BodyLowering, n: SSAValue) -> None:
            parts = (load(inner, source, n) for source in (self.total, self.errors))
            store(inner, whole_sum(inner, *parts), self.accumulator, n)

        self._each(at, move)

    def _each(self, at: BodyLowering, fill: Fill) -> None:
        """Do something with each element, if there are several segments."""
        when(
            at,
            self.several,
            lambda inner: loop(inner, inner.index.constant(0), self.count, "n", fill),
        )
