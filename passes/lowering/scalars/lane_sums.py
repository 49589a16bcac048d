"""Sums over several indices, the innermost of a known length: one partial sum per value of it.

    sum[j, k](E(j, k)),  k < 64                 for j { for k < 64 { lane[k] += E(j, k) } }
                                                sum of lane

The plain nest adds the 64 terms of each j to one number, and ends every j by adding the elements of
a vector to each other, which takes longer than the 64 terms. Here that happens once. It needs reads
that lie side by side along k. Long sums empty their lanes after each segment
(`passes/lowering/scalars/segments.py`).

A sum that may have several segments, but outside other sums mostly has few terms, gets a loop nest
of its own for a single segment, where each instruction around the terms counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import INDEX, block_with
from tadc.passes.analysis.access import IN_ORDER, access
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.lowering import operations
from tadc.passes.lowering.loop_builders import load, loop, one_of, store, zeros
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.scalars.elementary import CONTRACT, REASSOCIATED
from tadc.passes.lowering.scalars.segments import SegmentLowering, Segments
from tadc.passes.scheduling.tiles.sum_lengths import constant_range, is_short

FEWEST_LANES, MOST_LANES = 16, 256
"""The trip counts of the innermost loop with which partial sums in lanes pay."""


class LaneLowering(SegmentLowering):
    """Emits sums with a partial sum for each value of the innermost index, where that pays."""

    versions: bool
    """True if sums get a second loop nest, for a single segment; sums inside them do not."""

    def __init__(self, *arguments: Any, versions: bool, **options: Any):
        super().__init__(*arguments, **options)
        self.versions = versions

    def _sum(self, op: tix.SumOp) -> SSAValue:
        at = self.without_versions()
        segments = at.segments_of(op)
        several = segments.are_several(at) if segments and self.versions else None
        if segments is None or several is None:
            return SegmentLowering._sum(at, op)

        def segmented(inner: BodyLowering) -> SSAValue:
            assert isinstance(inner, LaneLowering)
            return inner.several(segments)

        def plain(inner: BodyLowering) -> SSAValue:
            assert isinstance(inner, LaneLowering)
            return inner.one_segment(op, op.indices)

        return one_of(at, several, segmented, plain)

    def without_versions(self) -> LaneLowering:
        """The lowering of the same block, with one loop nest for each sum."""
        inner = self.inside(self.index.block)
        inner.versions = False
        return inner

    def segments_of(self, op: tix.SumOp) -> Segments | None:
        """The segments of a sum: each lane has as many terms as a segment."""
        return Segments.of(self, op, op.indices[:-1] if self._has_lanes(op) else op.indices)

    def one_segment(self, op: tix.SumOp, own: Sequence[SSAValue]) -> SSAValue:
        """Emit the loops of a segment, over the indices `own`."""
        if not self._has_lanes(op):
            return super().one_segment(op, own)
        low, length = constant_range(op, op.indices[-1]) or (0, 0)
        lanes = zeros(self, length, "lanes")
        self._add_terms(op, own, lanes, low, length)
        return self._total(lanes, length)

    def _has_lanes(self, op: tix.SumOp) -> bool:
        return op not in self.as_written and has_lanes(op)

    def _add_terms(
        self, op: tix.SumOp, own: Sequence[SSAValue], lanes: SSAValue, low: int, length: int
    ) -> None:
        index, *rest = own

        def term(inner: BodyLowering, k: SSAValue) -> None:
            first = inner.index.constant(low)
            inner.index.values[index] = inner.index.add(k, first) if low else k
            term = load(inner, lanes, k), inner.region(op.body)
            total = operations.binary(arith.AddfOp, *term, fastmath=CONTRACT)
            store(inner, inner.insert(total).result, lanes, k)

        def outer(inner: BodyLowering, k: SSAValue) -> None:
            assert isinstance(inner, LaneLowering)
            inner.index.values[index] = k
            inner._add_terms(op, rest, lanes, low, length)

        if rest:
            begin, end = self.bounds(op, own)
            loop(self, begin, end, index.name_hint, outer)
        else:
            zero = self.index.constant(0)
            loop(self, zero, self.index.constant(length), index.name_hint, term)

    def _total(self, lanes: SSAValue, length: int) -> SSAValue:
        block = block_with([INDEX, self.element])
        inner = self.inside(block)
        value = load(inner, lanes, block.args[0])
        total = operations.binary(arith.AddfOp, block.args[1], value, fastmath=REASSOCIATED)
        block.add_op(operations.end(inner.insert(total).result))
        low, high, step = (self.index.constant(n) for n in (0, length, 1))
        start = self.constant(0.0)
        return self.insert(operations.loop(low, high, step, [start], block)).results[0]


def has_lanes(op: tix.SumOp) -> bool:
    """True if partial sums in lanes pay, by the trip count and the reads of the innermost loop."""
    last = op.indices[-1]
    found = constant_range(op, last)
    if len(op.indices) < 2 or found is None or not FEWEST_LANES <= found[1] <= MOST_LANES:
        return False
    uses = IndexUses()
    inner = list(op.body.walk())
    if any(isinstance(o, tix.SumOp) and not is_short(o) for o in inner):
        return False
    return all(access(o, last, uses) in IN_ORDER for o in inner if isinstance(o, tix.ReadOp))
