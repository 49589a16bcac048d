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
    """The accumulators of a reduction in memory."""

    node: Buffer
    low: SSAValue
    """The first value of the part of the axis."""
    total: SSAValue
    """The accumulators."""
    before: SSAValue | None = None
    """The totals of all segments before, where there may be any: those of `sums`."""
    sums: StoredTotals | None = None

    @classmethod
    def allocate(cls, at: BodyLowering, node: Buffer, low: SSAValue) -> Self:
        """Buffers whose content is not known."""
        total = buffer(at, node.size, "total")
        if not node.is_compensated:
            return cls(node, low, total)
        sums = StoredTotals.of(at, at.index.constant(node.size), node.size)
        return cls(node, low, total, buffer(at, node.size, "before"), sums)

    def begin(self, at: BodyLowering) -> None:
        """Let there be no terms yet."""
        identity = self.node.of.IDENTITY

        def clear(inner: BodyLowering, n: SSAValue) -> None:
            store(inner, inner.constant(identity), self.total, n)

        loop(at, at.index.constant(0), at.index.constant(self.node.size), "n", clear)
        if self.sums is not None and self.before is not None:
            self.sums.clear(at, self.before, self.sums.total, self.sums.errors)

    def add(self, at: Points) -> SSAValue:
        """Add a vector of terms to the accumulators: gives what they hold then."""
        place = self._place(at)
        term = self._term(at)
        after = at.add(load_vector(at, self.total, place), term, self.node.of)
        store_vector(at, after, self.total, place)
        return after

    def value(self, at: Points, total: SSAValue | None) -> SSAValue:
        """A vector of what the reduction comes to so far; `total` is what its accumulators hold,
        where that is in a register."""
        place = self._place(at)
        total = load_vector(at, self.total, place) if total is None else total
        if self.before is None:
            return total
        return at.add(load_vector(at, self.before, place), total, self.node.of)

    def join(self, at: BodyLowering) -> None:
        """Count the accumulators to the totals before, and let there be no terms of the next
        segment yet."""
        assert self.sums is not None
        assert self.before is not None
        self.sums.add(at, self.total)
        self.sums.store_sums(at, self.before)
        self.sums.clear(at, self.total)

    def _term(self, at: Points) -> SSAValue:
        """A vector of terms, which change nothing in lanes where tests do not hold."""
        body, tests = self.node.of.body, self.node.tests
        if not tests:
            return at.lanes_of(tix.yielded(body))
        return at.where(tests, body, self.node.of.IDENTITY)

    def _place(self, at: Points) -> SSAValue:
        """The place of the first lane."""
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
        """Let a vector have no terms yet."""
        at.store(at.splat(at.constant(self.of.IDENTITY)))

    def add(self, at: Points, rows: Sequence[Points]) -> None:
        """Add the terms of jammed iterations to a vector, in order."""
        total = at.neighbours(at.buffers[at.op.result], at.place, at.mask)
        for row in rows:
            total = row.add(total, row.lanes_of(tix.yielded(self.of.body)), self.of)
        at.store(total)


Accumulators = StoredAccumulators | ResultAccumulators
