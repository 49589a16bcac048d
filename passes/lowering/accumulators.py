"""Accumulators of long sums: running totals whose rounding errors are kept.

    total, errors = total + last, errors + what is lost         `last`: what a segment comes to
    ...
    total + errors                                              the sum

**What is lost** is a number of the same precision, and six operations compute it exactly whatever
the sizes of a and b (Knuth, The Art of Computer Programming 2, section 4.2.2):

    s = a + b,  b' = s - a,  a' = s - b',  (a - a') + (b - b')

They must stay as written: with leave to reassociate a compiler finds that they give 0. How far off
such a sum is at most, `passes/lowering/scalars/segments.py` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Self

from xdsl.dialects import arith, math
from xdsl.ir import SSAValue

from tadc.dialects.loops import vector_of
from tadc.passes.lowering import operations
from tadc.passes.lowering.loop_builders import Fill, buffer, load, loop
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.scalars.elementary import AS_WRITTEN


@dataclass(frozen=True)
class CarriedTotals:
    """Accumulators that loops carry, of numbers or vectors."""

    totals: Sequence[SSAValue]
    errors: Sequence[SSAValue]

    @classmethod
    def of(cls, carried: Sequence[SSAValue]) -> Self:
        """Accumulators as loops carry them: all totals, and the errors of each."""
        count = len(carried) // 2
        return cls(carried[:count], carried[count:])

    @property
    def carried(self) -> list[SSAValue]:
        """All totals, and the errors of each."""
        return [*self.totals, *self.errors]

    def plus(self, at: BodyLowering, last: Sequence[SSAValue]) -> Self:
        """The accumulators with the sum of one more segment added to each."""
        parts = zip(self.totals, self.errors, last, strict=True)
        pairs = [_added(at, *part) for part in parts]
        return type(self)([total for total, _ in pairs], [errors for _, errors in pairs])

    def sum(self, at: BodyLowering, n: int = 0) -> SSAValue:
        """The n-th sum: total plus errors, or the total alone if its errors are infinite or NaN."""
        total, errors = self.totals[n], self.errors[n]
        size = at.insert(math.AbsFOp(errors)).result
        both = at.insert(arith.AddfOp(total, errors, AS_WRITTEN)).result
        return at.select("olt", size, at.constant(inf), both, total)


def _added(
    at: BodyLowering, total: SSAValue, errors: SSAValue, last: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """The running total and the sum of its rounding errors, with the last segment added."""

    def apply(kind: type[arith.AddfOp | arith.SubfOp], a: SSAValue, b: SSAValue) -> SSAValue:
        return at.insert(operations.binary(kind, a, b, fastmath=AS_WRITTEN)).result

    after = apply(arith.AddfOp, total, last)
    added = apply(arith.SubfOp, after, total)
    kept = apply(arith.SubfOp, after, added)
    lost = apply(arith.AddfOp, apply(arith.SubfOp, total, kept), apply(arith.SubfOp, last, added))
    return after, apply(arith.AddfOp, errors, lost)


@dataclass(frozen=True)
class StoredTotals:
    """Accumulators in two buffers: running totals, and the rounding errors of each.

    Loops only copy and clear what may be kept in registers: where they also compute with it, LLVM
    leaves it in memory.
    """

    total: SSAValue
    errors: SSAValue
    count: SSAValue
    lanes: int = 1
    """The number of elements that are loaded, added and stored at a time."""

    @classmethod
    def of(cls, at: BodyLowering, count: SSAValue, most: int, lanes: int = 1) -> Self:
        """Allocate both buffers, uninitialized; the count is at most `most`."""
        return cls(buffer(at, most, "total"), buffer(at, most, "errors"), count, lanes)

    def clear(self, at: BodyLowering, *targets: SSAValue) -> None:
        """Fill buffers with zeros."""

        def clear(inner: BodyLowering, n: SSAValue) -> None:
            zero = inner.constant(0.0)
            if self.lanes > 1:
                kind, number = vector_of(inner.element, self.lanes), zero
                broadcast = partial(operations.broadcast, number, kind)
                zero = inner.index.once(("splat", number), broadcast)
            for target in targets:
                self._store(inner, zero, target, n)

        self._each(at, clear)

    def add(self, at: BodyLowering, last: SSAValue) -> None:
        """Add the sums of a segment, which are in the buffer `last`, to the totals."""

        def add(inner: BodyLowering, n: SSAValue) -> None:
            total, errors, own = self._load(inner, n, self.total, self.errors, last)
            new = _added(inner, total, errors, own)
            for value, target in zip(new, (self.total, self.errors), strict=True):
                self._store(inner, value, target, n)

        self._each(at, add)

    def store_sums(self, at: BodyLowering, target: SSAValue) -> None:
        """Store the sums into a buffer."""

        def join(inner: BodyLowering, n: SSAValue) -> None:
            sums = CarriedTotals.of(self._load(inner, n, self.total, self.errors))
            self._store(inner, sums.sum(inner), target, n)

        self._each(at, join)

    def copy(self, at: BodyLowering, source: SSAValue, target: SSAValue) -> None:
        """Copy a buffer into another one."""

        def one(inner: BodyLowering, n: SSAValue) -> None:
            (number,) = self._load(inner, n, source)
            self._store(inner, number, target, n)

        self._each(at, one)

    def _each(self, at: BodyLowering, fill: Fill) -> None:
        """The loop over the elements of the buffers, `lanes` at a time."""
        loop(at, at.index.constant(0), self.count, "n", fill, self.lanes)

    def _load(self, at: BodyLowering, place: SSAValue, *sources: SSAValue) -> list[SSAValue]:
        if self.lanes == 1:
            return [load(at, source, place) for source in sources]
        kind = vector_of(at.element, self.lanes)
        return [at.insert(operations.load_lanes(s, place, kind)).result for s in sources]

    def _store(self, at: BodyLowering, value: SSAValue, target: SSAValue, place: SSAValue) -> None:
        to = operations.store if self.lanes == 1 else operations.store_lanes
        at.insert(to(value, target, place))
