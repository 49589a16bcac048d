"""Accumulators in memory: one for each value of an axis, on the stack or in the result.

    buffer y.1[j]                         total, and where segments are added, before, sums, errors
      begin sum y.1[k]                    total[all j] = 0
      for i
        vector j ... carry y.1            total[j .. j + 15] += x[i, j .. j + 15]
                     store y              before[j .. j + 15] + total[j .. j + 15]
      join y.1                            before = sums + total, with what rounding has lost

A vector of totals that was just added to is in a register, and not loaded again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.lowering.accumulators import StoredTotals
from tadc.passes.lowering.lanes.vector_lowering import load_vector, store_vector
from tadc.passes.lowering.loop_builders import buffer, loop, store
from tadc.passes.lowering.loop_tree.points import Points
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.scheduling.loop_tree.nodes import Buffer


@dataclass(frozen=True)
class StoredAccumulators:
    """The accumulators of a reduction in a buffer on the stack, one for each value of an axis."""

    node: Buffer
    low: SSAValue
    """The first value of the part of the axis that the buffer covers."""
    total: SSAValue
    """The buffer of accumulators."""
    before: SSAValue | None = None
    """The buffer of the sums of earlier segments, which `sums` adds up; None without segments."""
    sums: StoredTotals | None = None

    @classmethod
    def allocate(cls, at: BodyLowering, node: Buffer, low: SSAValue) -> Self:
        """Allocate uninitialized buffers."""
        total = buffer(at, node.size, "total")
        if not node.is_compensated:
            return cls(node, low, total)
        sums = StoredTotals.of(at, at.index.constant(node.size), node.size)
        return cls(node, low, total, buffer(at, node.size, "before"), sums)

    def begin(self, at: BodyLowering) -> None:
        """Fill the accumulators with the identity, and clear the sums of segments."""
        identity = self.node.of.IDENTITY

        def clear(inner: BodyLowering, n: SSAValue) -> None:
            store(inner, inner.constant(identity), self.total, n)

        loop(at, at.index.constant(0), at.index.constant(self.node.size), "n", clear)
        if self.sums is not None and self.before is not None:
            self.sums.clear(at, self.before, self.sums.total, self.sums.errors)

    def add(self, at: Points) -> SSAValue:
        """Add a vector of terms to the accumulators, and give their new values."""
        place = self._place(at)
        term = self._term(at)
        after = at.add(load_vector(at, self.total, place), term, self.node.of)
        store_vector(at, after, self.total, place)
        return after

    def value(self, at: Points, total: SSAValue | None) -> SSAValue:
        """A vector of the values of the reduction so far, with all earlier segments.

        `total` is the vector of accumulators where it is in a register already.
        """
        place = self._place(at)
        total = load_vector(at, self.total, place) if total is None else total
        if self.before is None:
            return total
        return at.add(load_vector(at, self.before, place), total, self.node.of)

    def join(self, at: BodyLowering) -> None:
        """Add the accumulators to the sums of earlier segments, and clear them for the next one."""
        assert self.sums is not None
        assert self.before is not None
        self.sums.add(at, self.total)
        self.sums.store_sums(at, self.before)
        self.sums.clear(at, self.total)

    def _term(self, at: Points) -> SSAValue:
        """A vector of terms, with the identity in lanes where the tests of the reduction fail."""
        body, tests = self.node.of.body, self.node.tests
        if not tests:
            return at.lanes_of(tix.yielded(body))
        return at.where(tests, body, self.node.of.IDENTITY)

    def _place(self, at: Points) -> SSAValue:
        """The position of the first lane in the buffer."""
        (column,) = self.node.axis.indices
        return at.index.sub(at.index.form(Affine.of(column)), self.low)


@dataclass(frozen=True)
class ResultAccumulators:
    """The accumulators of a reduction in the elements of its definition.

        scf.for %j { dg[p, j] = 0 }
        scf.for %i {                                     the rows of piece p, some jammed
          scf.for %j { dg[p, j] = dg[p, j] + f(i, j) }     a vector or two at a time

    They stay in a near cache while their loops run. Terms are added in order.
    """

    of: tix.ReductionOp

    def begin(self, at: Points) -> None:
        """Store the identity of the reduction into a vector of the result."""
        at.store(at.splat(at.constant(self.of.IDENTITY)))

    def add(self, at: Points, rows: Sequence[Points]) -> None:
        """Add the terms of jammed iterations to a vector, in order."""
        total = at.neighbours(at.buffers[at.op.result], at.place, at.mask)
        for row in rows:
            total = row.add(total, row.lanes_of(tix.yielded(self.of.body)), self.of)
        at.store(total)


Accumulators = StoredAccumulators | ResultAccumulators
