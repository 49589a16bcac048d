"""Values of rows in the lanes of vectors, and the numbers that are the same for all of them.

    y[i, j] = (x[i, j] - m[i]) / sqrt(v[i] + 1e-5) * g[j]       j along the lanes

`m[i]`, which the nest has just computed, and the root are there before the loop over j begins, one
for each row of those that are computed side by side; a vector of `g` is loaded once for all of
them. Of a choice by values both sides are computed, and each lane takes one.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Self

from xdsl.ir import Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Variable
from tadc.dialects.tix import elementwise as ew
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.lowering.lanes.lane_choices import LaneChoices
from tadc.passes.lowering.lanes.lane_tests import block_limits
from tadc.passes.lowering.rows.row_quotients import quotient_of
from tadc.passes.lowering.scalars.segments import SegmentLowering
from tadc.passes.rewriting.cloner import free_values
from tadc.passes.scheduling.tiles.tile import Tile


class KnownNumbers(SegmentLowering):
    """Emits values; elements of the row that were computed before are not read again."""

    numbers: dict[SSAValue, SSAValue]
    """The only element in this row of some tensors."""

    def _read(self, op: tix.ReadOp) -> SSAValue:
        return self.numbers[op.tensor] if op.tensor in self.numbers else super()._read(op)

    def compute_ahead(
        self, body: Region, inside: Collection[SSAValue], known: list[tix.Constraint]
    ) -> None:
        """Compute what a body has that is the same for all values of the indices `inside`.

        Elements are read ahead only where they are there whenever the constraints `known` hold.
        """
        for op in invariants(body, inside, known, IndexUses(), self.numbers):
            if not {*op.results} <= self.scalars.keys():
                self.operation(op)


def invariants(
    body: Region,
    inside: Collection[SSAValue],
    known: list[tix.Constraint],
    uses: IndexUses,
    made: Container[SSAValue],
) -> Iterator[Operation]:
    """The operations of a body that do not depend on the indices of loops `inside`, and may run
    before them: elements of tensors that are `made`, and of others those that are there whenever
    the constraints `known` hold."""
    later = set[SSAValue]()
    for op in body.block.ops:
        is_made = isinstance(op, tix.ReadOp) and op.tensor in made
        if (
            isinstance(op, tix.YieldOp | tix.ReductionOp | tix.IfOp | tix.WhereOp)
            or uses.of_operation(op) & {*inside}
            or {*op.operands, *free_values(op)} & later
            or not (is_made or stays_inside(op, known))
        ):
            later.update(op.results)
        else:
            yield op


class RowLanes(KnownNumbers, LaneChoices):
    """Emits values at vectors of a row, or of several rows side by side."""

    def __init__(
        self,
        at: KnownNumbers,
        op: tix.DefineOp,
        tile: Tile,
        uses: IndexUses,
        rows: Sequence[KnownNumbers] = (),
    ):
        super().__init__(at, op, tile, uses)
        # the vectors at the end of a row come one by one
        self.limits = block_limits(op, replace(tile, columns=self.lanes))
        self.outer = rows or [at]
        """The lowerings of what stands before the loop over vectors, one for each row."""
        self.numbers = at.numbers
        self.ranges = dict(at.ranges)
        self.reciprocals: Sequence[Mapping[SSAValue, SSAValue]] = ()
        """For each row the reciprocals of numbers that lanes are divided by; none: in no row."""

    def at(self, row: int | None, vector: int | None) -> Self:
        inner = super().at(row, vector)
        if row:
            inner.numbers = self.outer[row].numbers
            inner.scalars.update(self.outer[row].scalars)
        return inner

    def key(self, op: tix.ReadOp, mask: SSAValue | None) -> object:
        """A key that definitions share which have the same values for their indices."""
        values: dict[Variable, Affine] = {
            v: Affine.of(self.index.values[v])
            for form in op.forms
            for v in form.substitute(self.index.places).indices
        }
        placed = (form.substitute(self.index.places).substitute(values) for form in op.forms)
        return op.tensor, op.shape, self.lanes, mask, *placed

    def _emitted(self, value: SSAValue) -> SSAValue:
        if self.vector is None and value in self.scalars:
            return self.scalars[value]
        if self.vector is not None and isinstance(value.owner, ew.DivOp):
            return self._quotient(value.owner)
        return super()._emitted(value)

    def _quotient(self, op: ew.DivOp) -> SSAValue:
        known: Mapping[SSAValue, SSAValue] = {}
        if self.reciprocals:
            known = self.reciprocals[self.row or 0]
        if op.rhs not in known or self.tile.column_index not in self.uses.of(op.lhs):
            return super()._emitted(op.result)
        return quotient_of(self, self.lanes_of(op.lhs), self.value(op.rhs), known[op.rhs])
