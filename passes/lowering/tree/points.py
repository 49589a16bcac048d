"""Points: values of a definition at the points of the loops that are jammed around a statement.

    vector p by 64 in 16          four points, each a vector of 16 lanes
      store y                     y[n, c, p] at each of them

What several points have in common is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Self

from xdsl.ir import Block, SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.index_sets.sets import index_set
from tadc.passes.lowering.rows.lane_loops import Lanes, store_elements
from tadc.passes.lowering.rows.row_lanes import RowLanes, invariants
from tadc.passes.scheduling.tiles.tile import Tile

Kept = dict[tuple[SSAValue, int], SSAValue]
"""The elements of tensors that are in registers, at each point."""


class Points(RowLanes):
    """Emits what the statements of a definition compute, at all points."""

    def __init__(self, at: RowLanes, op: tix.DefineOp, tile: Tile, count: int, kept: Kept):
        super().__init__(at, op, tile, IndexUses())
        self.op = op
        self.mask = at.mask
        self.count = count
        self.kept = kept
        self.accumulators: dict[tix.ReductionOp, Lanes] = {}

    def inside(self, block: Block) -> Self:
        inner = super().inside(block)
        inner.accumulators = dict(self.accumulators)
        return inner

    @property
    def every(self) -> list[Self]:
        """The lowerings of all points."""
        return [self.at(None, n) for n in range(self.count)]

    # --- statements ---

    def begin(self, op: tix.ReductionOp) -> None:
        """Give a reduction accumulators without terms."""
        self.accumulators[op] = [self.splat(self.constant(op.IDENTITY))] * self.count

    def add_term(self, op: tix.ReductionOp) -> None:
        """Add the term at hand to the accumulators of a reduction."""
        terms = [at.lanes_of(tix.yielded(op.body)) for at in self.every]
        pairs = zip(self.accumulators[op], terms, strict=True)
        self.accumulators[op] = [self.add(a, b, op) for a, b in pairs]

    def end(self, op: tix.ReductionOp) -> None:
        """Let what the accumulators of a reduction hold be its value."""
        totals = enumerate(self.accumulators.pop(op))
        self.known.update(((op.results[0], None, n), total) for n, total in totals)

    def show(
        self, op: tix.ReductionOp, value_at: Callable[[Self, SSAValue | None], SSAValue]
    ) -> None:
        """Let a reduction have values at all points, which are made of its accumulators there."""
        held = self.accumulators.pop(op, [None] * self.count)
        values = [value_at(at, own) for at, own in zip(self.every, held, strict=True)]
        self.known.update(((op.results[0], None, n), value) for n, value in enumerate(values))

    def store(self, is_stored: bool, is_kept: bool) -> None:
        """Store the elements at all points, or keep them, or both."""
        for n, at in enumerate(self.every):
            value = at.lanes_of(tix.yielded(self.op.body))
            if is_kept:
                self.kept[self.op.result, n] = value
            if is_stored:
                store_elements(at, self.op, value)

    def hoist(self, inside: Collection[SSAValue]) -> None:
        """Compute what is the same for all values of the indices `inside`."""
        known = [c for c in index_set(self.op) if not any(c.form[v] for v in inside)]
        made = {tensor for tensor, _ in self.kept}
        for op in invariants(self.op.body, inside, known, self.uses, made):
            if not isinstance(op, tix.FloorDivOp):
                for at in self.every:
                    at.value(op.results[0])

    # --- values ---

    def _emitted(self, value: SSAValue) -> SSAValue:
        op = value.owner
        if isinstance(op, tix.ReadOp) and self.vector is not None:
            kept = self.kept.get((op.tensor, self.vector))
            if kept is not None:
                return kept
        return super()._emitted(value)
