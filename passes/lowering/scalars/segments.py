"""Long sums in segments, whose totals are added with their rounding errors: accurate at any length.

    sum[j](x[j]),  j < N                  total = errors = 0
                                          for segment = 0 to N step 4096 {
    The terms of a segment are added        last = 0
    plainly, in any order. What a           for j = segment to min(segment + 4096, N) {
    segment comes to is added to the          last += x[j]
    running total, and what that            }
    addition rounds away is kept.           total, errors = total + last, errors + what is lost
                                          }
                                          total + errors

Without segments a number stops growing: in float32, 2**24 + 1 is 2**24. Literature calls segments
blocks, which in this package are those of tiles.

What is lost is a number of the same precision (`passes/lowering/accumulators.py`).

**Bound.** Let u be half the distance from 1 to the next number (2**-24 for f32, 2**-53 for f64),
S the sum, A the sum of the absolute values of its m terms, and n the number of segments, of at most
B terms each. Adding k terms in any order errs by at most g(k) A, where g(k) = (k - 1) u / (1 - (k -
1) u) (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). So

1. the totals t of segments err by at most g(B) A together, and the sum of |t| is at most
   (1 + g(B)) A;
2. `total + errors` over them is their sum within u |S'| + g(n)**2 sum |t|, with S' their exact sum
   (Ogita, Rump and Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26, 2005, prop. 4.5).

Together the sum errs by at most u |S| + (g(B) + g(n)**2) A, to first order: as one segment does, as
long as n**2 u is small beside B: in f32 up to some hundred million terms, in f64 up to any number.
Errors of terms come on top. B is `SEGMENT_TERMS`, and for sums in lanes
(`lane_sums`) that and the number of lanes. That is the worst case: rounding errors of segments
mostly cancel, and within a segment a loop on vectors has many totals.

**Which loops are cut.** A segment is a box of the sum's indices. From the innermost index outwards,
as long as numbers bound them to B terms together, loops run whole in each segment. The next one is
cut into parts of as many values as there is room for, and so are all outside it, where there is
room at run time for more than one value; otherwise they are outside the segments:

    sum[i, j](x[i, j]),  i < 1000, j < 8       i in parts of 512
                         i < N,    j < M       i in parts of max(1, 4096 / M), j in parts of 4096
                         i < N,    j <= i      j in parts of 4096, each i for itself

Sums that certainly have no more terms than a segment stay one loop nest, and so do those that must
round identically wherever they are computed (`passes/analysis/rounding.py`): these are added in
order. Where a total leaves the numbers (an infinity, or not a number), the errors do not count and
the sum is what a plain one is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.size_bounds import SizeBounds
from tadc.passes.lowering.accumulators import CarriedTotals
from tadc.passes.lowering.loop_builders import (
    any_of,
    at_least_one,
    carrying_loop,
)
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.scheduling.tiles.sum_lengths import SEGMENT_TERMS, constraints_of, most_values

FillSegment = Callable[[BodyLowering, Sequence[SSAValue], Sequence[SSAValue]], Sequence[SSAValue]]
"""Emits the terms of a segment: gets its lowering, the indices to loop over, and the carried
values; gives the next ones."""


class SegmentLowering(BodyLowering):
    """Emits sums in segments, all else as `BodyLowering` does."""

    def _sum(self, op: tix.SumOp) -> SSAValue:
        segments = self.segments_of(op)
        return self.one_segment(op, op.indices) if segments is None else self.several(segments)

    def segments_of(self, op: tix.SumOp) -> Segments | None:
        """The segments of a sum; None where it stays one loop nest."""
        return Segments.of(self, op, op.indices)

    def one_segment(self, op: tix.SumOp, own: Sequence[SSAValue]) -> SSAValue:
        """Emit the loops of a segment, over the indices `own`."""
        return self.reduce(op, own, self.constant(0.0))

    def several(self, segments: Segments) -> SSAValue:
        """The loops over segments, with the loops of a segment inside."""

        def fill(
            at: BodyLowering, own: Sequence[SSAValue], carried: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            assert isinstance(at, SegmentLowering)
            for value, hint in zip(carried, ("total", "errors"), strict=True):
                value.name_hint = hint
            return CarriedTotals.of(carried).plus(at, [at.one_segment(segments.op, own)]).carried

        zero = self.constant(0.0)
        return CarriedTotals.of(segments.emit(self, [zero, zero], fill)).sum(self)


@dataclass(frozen=True)
class Segments:
    """The segments of a sum."""

    op: tix.SumOp
    steps: dict[SSAValue, SSAValue | int]
    """The outermost indices, which are cut, each with its number of values in a segment."""

    @classmethod
    def of(
        cls, at: BodyLowering, op: tix.ReductionOp, own: Sequence[SSAValue], whole: int = 1
    ) -> Segments | None:
        """The segments of a sum; None where it, or another reduction, stays one loop nest.

        Terms are counted along the first indices, `own`: along others each has a total of its own.
        Parts of more than `whole` values are multiples of it, where their length is a number.
        """
        if (
            op in at.as_written
            or not isinstance(op, tix.SumOp)
            or _are_few(op, own, at.index.sizes)
        ):
            return None
        room: SSAValue | int = SEGMENT_TERMS
        steps: dict[SSAValue, SSAValue | int] = {}
        for n in reversed(range(len(own))):
            inside = op.indices[n:]
            most = most_values(op, inside)
            if not steps and isinstance(room, int) and most is not None and most <= room:
                room //= max(1, most)
                continue
            if isinstance(room, int) and room > whole:
                room -= room % whole
            steps[inside[0]] = room
            room = _room_outside(at, op, inside, room) if n else 1
        return cls(op, dict(reversed(steps.items()))) if steps else None

    def are_several(self, at: BodyLowering) -> SSAValue | None:
        """A test that there are several segments; None where bounds depend on other indices."""
        tests: list[SSAValue] = []
        for n, step in enumerate(self.steps.values()):
            if _depends_on_others(self.op, self.op.indices[n:]):
                return None
            low, high = at.bounds(self.op, self.op.indices[n:])
            width = at.index.constant(step) if isinstance(step, int) else step
            length = at.index.sub(high, low)
            tests.append(at.insert(arith.CmpiOp(length, width, "sgt")).result)
        return any_of(at, tests)

    def emit(
        self, at: BodyLowering, carried: Sequence[SSAValue], fill: FillSegment
    ) -> Sequence[SSAValue]:
        """The loops over the segments: gives the final carried values."""
        return self._nest(at, 0, [], carried, fill)

    def each(
        self, at: BodyLowering, fill: Callable[[BodyLowering, Sequence[SSAValue]], None]
    ) -> None:
        """The loops over the segments, which carry nothing."""

        def alone(
            inner: BodyLowering, own: Sequence[SSAValue], _: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            fill(inner, own)
            return ()

        self.emit(at, (), alone)

    def _nest(
        self,
        at: BodyLowering,
        n: int,
        parts: list[SSAValue],
        carried: Sequence[SSAValue],
        fill: FillSegment,
    ) -> Sequence[SSAValue]:
        """The loops over segments from the n-th on; segments loop over the outer `parts`, too."""
        if n == len(self.steps):
            return fill(at, [*parts, *self.op.indices[n:]], carried)
        index = self.op.indices[n]
        step = self.steps[index]
        low, high = at.bounds(self.op, self.op.indices[n:])
        width = at.index.constant(step) if isinstance(step, int) else step

        def one(
            inner: BodyLowering, k: SSAValue, carried: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            if step == 1:
                inner.index.values[index] = k
                return self._nest(inner, n + 1, parts, carried, fill)
            inner.ranges[index] = k, inner.index.min(inner.index.add(k, width), high)
            return self._nest(inner, n + 1, [*parts, index], carried, fill)

        hint = index.name_hint if step == 1 else "segment"
        return carrying_loop(at, low, high, width, hint, carried, one)


def _depends_on_others(op: tix.SumOp, own: Sequence[SSAValue]) -> bool:
    """True if the bounds of the first of `own` depend on other indices of the sum."""
    others = [v for v in op.indices if v is not own[0]]
    return any(c.form[v] for c in constraints_of(op, own) for v in others)


def _are_few(op: tix.SumOp, own: Sequence[SSAValue], sizes: SizeBounds) -> bool:
    """True if all terms are known to fit into one segment."""
    counts = [most_values(op, op.indices[op.indices.index(v) :], sizes) for v in own]
    return None not in counts and prod(n for n in counts if n is not None) <= SEGMENT_TERMS


def _room_outside(
    at: BodyLowering, op: tix.SumOp, own: Sequence[SSAValue], room: SSAValue | int
) -> SSAValue | int:
    """The number of full runs through the first of `own` that fit into a segment."""
    most = most_values(op, own)
    if room == 1 or (most is not None and isinstance(room, int)) or _depends_on_others(op, own):
        return 1
    low, high = at.bounds(op, own)
    length = at_least_one(at, at.index.sub(high, low))
    number = at.index.constant(room) if isinstance(room, int) else room
    return at_least_one(at, at.index.quotient(number, length))
