"""Sums that wait in memory are added to running totals every 4096 terms, with rounding errors.

    total[n], errors[n] = 0, 0                     n: an element of the block, or of the strip
    for segment = ... {
      acc[n] += ...                                at most as many terms as a segment has
      last[n] = acc[n];  acc[n] = 0
      total[n], errors[n] += last[n]               `passes/lowering/scalars/segments.py`
    }
    acc[n] = total[n] + errors[n]

All but the terms is left out at run time where there is one segment only. Accumulators in registers
are only copied and cleared as a whole: where arithmetic on them stands in loops, LLVM leaves them
in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.passes.lowering.emit import Fill, buffer, load, loop, store, when
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.scalars.segments import Segments, add_segment, whole_sum


@dataclass(frozen=True)
class Totals:
    """Running totals for `count` elements of an accumulator."""

    several: SSAValue | None
    """True if there are several segments; None where there may always be."""
    accumulator: SSAValue
    count: SSAValue
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
        """Totals of nothing yet; `count` is at most `most`."""
        total, errors = buffer(at, most, "total"), buffer(at, most, "errors")
        totals = cls(segments.are_several(at), accumulator, count, total, errors)

        def clear(inner: BodyLowering) -> None:
            totals._clear(inner, total)
            totals._clear(inner, errors)

        when(at, totals.several, clear)
        return totals

    def take(self, at: BodyLowering) -> None:
        """Empty the accumulator into the totals, if there are several segments."""

        def add(inner: BodyLowering, n: SSAValue) -> None:
            total, errors, last = (
                load(inner, source, n) for source in (self.total, self.errors, self.accumulator)
            )
            new = add_segment(inner, total, errors, last)
            for value, target in zip(new, (self.total, self.errors), strict=True):
                store(inner, value, target, n)

        def empty(inner: BodyLowering) -> None:
            self._each(inner, add)
            self._clear(inner, self.accumulator)

        when(at, self.several, empty)

    def end(self, at: BodyLowering) -> None:
        """Let the accumulator hold the sums of all segments, if there are several."""

        def join(inner: BodyLowering, n: SSAValue) -> None:
            total, errors = (load(inner, source, n) for source in (self.total, self.errors))
            store(inner, whole_sum(inner, total, errors), self.total, n)

        def fill(inner: BodyLowering) -> None:
            self._each(inner, join)
            self._copy(inner, self.total, self.accumulator)

        when(at, self.several, fill)

    def _clear(self, at: BodyLowering, target: SSAValue) -> None:
        self._each(at, lambda inner, n: store(inner, inner.constant(0.0), target, n))

    def _copy(self, at: BodyLowering, source: SSAValue, target: SSAValue) -> None:
        self._each(at, lambda inner, n: store(inner, load(inner, source, n), target, n))

    def _each(self, at: BodyLowering, fill: Fill) -> None:
        loop(at, at.index.constant(0), self.count, "n", fill)
