"""Points: values of a definition at the points of the loops that are jammed around a statement.

    jam i by 4                    two rows of vectors: eight points, each a vector of 16 lanes
      vector j by 32 in 16
        store y                   y[i, j] = (x[i, j] - m[i]) * g[j]  at each of them

What several points have in common is computed once: `m[i]`, which an iteration has just computed,
is there for each row, and a vector of `g` is loaded once for all of them. Of a choice by values
both sides are computed, and each lane takes one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Self

from xdsl.ir import Block, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Variable
from tadc.dialects.tix import elementwise as ew
from tadc.passes.index_sets.sets import index_set
from tadc.passes.lowering.lanes.lane_choices import LaneChoices
from tadc.passes.lowering.lanes.lane_tests import block_limits
from tadc.passes.lowering.loop_tree.reciprocals import quotient_of
from tadc.passes.lowering.loop_tree.unroll_and_jam import Jammed, KnownNumbers, invariants
from tadc.passes.lowering.tails import store_under_mask
from tadc.passes.scheduling.streams.stream_phases import Phase
from tadc.passes.scheduling.tiles.tile import Neighbour, Tile

Kept = dict[tuple[SSAValue, int], SSAValue]
"""Values in registers, for each vector: elements of tensors, and accumulators in memory that were
just added to."""

Reciprocals = Sequence[Mapping[SSAValue, SSAValue]]
"""The reciprocals of divisors, for each jammed iteration."""


@dataclass
class Vectors:
    """The vectors that a block computes at a time."""

    count: int
    mask: SSAValue | None = None
    """The lanes that are on; None for all."""
    kept: Kept = field(default_factory=Kept)
    loaded: dict[object, SSAValue] = field(default_factory=dict[object, SSAValue])
    """The elements that were loaded into registers, which all definitions share."""

    def copy(self) -> Vectors:
        """A copy for a nested block, whose loads are not visible outside of it."""
        return replace(self, kept=dict(self.kept), loaded=dict(self.loaded))


@dataclass(frozen=True)
class Guards:
    """The sides that the choices of definitions take in a block of code."""

    phases: Sequence[Phase] = ()
    kind: type[Points] | None = None
    """The class of lowering for their vectors."""


class Points(KnownNumbers, LaneChoices):
    """Emits values of a definition at all points: each vector of each jammed iteration."""

    taken: Mapping[SSAValue, Sequence[Neighbour]] = MappingProxyType({})
    """Values that another point has too, with the distance to it."""

    def __init__(
        self,
        at: KnownNumbers,
        op: tix.DefineOp,
        tile: Tile,
        vectors: Vectors,
        reciprocals: Reciprocals = (),
    ):
        super().__init__(at, op, tile, at.uses)
        # the vectors at the end of a row come one by one
        self.limits = block_limits(op, replace(tile, columns=tile.lanes))
        self.op = op
        self.numbers = at.numbers
        self.ranges = dict(at.ranges)
        self.rows = at.every if isinstance(at, Jammed) else [at]
        """The scalar lowering of each jammed iteration."""
        self.mask = vectors.mask
        self.loaded = vectors.loaded
        self.vectors = vectors
        self.reciprocals = reciprocals

    def of_block(self, block: Block, vectors: Vectors) -> Self:
        """The points of a nested block, which has these vectors."""
        inner = self.inside(block)
        inner.vectors, inner.loaded = vectors, vectors.loaded
        return inner

    def placed(self, places: Mapping[Variable, Affine]) -> Self:
        """A copy in which indices have other places: both share loads, but no other new values."""
        inner = self.apart()
        inner.index = self.index.placed(places)
        return inner

    def at(self, row: int | None, vector: int | None) -> Self:
        inner = super().at(row, vector)
        if row:
            inner.numbers = self.rows[row].numbers
            inner.scalars.update(self.rows[row].scalars)
        return inner

    def at_vector(self, vector: int) -> list[Self]:
        """The lowering of one vector, in each jammed iteration."""
        return [self.at(row, vector) for row in self.tile.rows_in([self.tile.row_index])]

    @property
    def every(self) -> list[Self]:
        """The lowerings of all points, in the order of accumulators: row by row."""
        rows = self.tile.rows_in([self.tile.row_index])
        return [self.at(row, vector) for row in rows for vector in range(self.vectors.count)]

    def hoist(self, inside: Collection[SSAValue]) -> None:
        """Compute the values that are invariant in the loops over the indices `inside`."""
        known = [c for c in index_set(self.op) if not any(c.form[v] for v in inside)]
        made = {tensor for tensor, _ in self.vectors.kept}
        for op in invariants(self.op.body, inside, known, self.uses, made):
            if not isinstance(op, tix.FloorDivOp):
                for at in self.every:
                    at.value(op.results[0])

    def follow(self, phase: Phase) -> None:
        """Fix the side that each choice of a phase takes in the interior."""
        self.sides = phase.inside.sides

    def store(
        self, value: SSAValue, column: Affine | None = None, is_streaming: bool = False
    ) -> None:
        """Store a vector under the mask, from this column on or its own; a whole one past the
        caches if it `is_streaming`."""
        place = self.place if column is None else self.place_of(column)
        store_under_mask(self, value, self.buffers[self.op.result], place, is_streaming)

    @property
    def place(self) -> SSAValue:
        """The place of the first lane in the result."""
        return self.place_of(Affine.of(self.op.indices[-1]))

    def place_of(self, column: Affine) -> SSAValue:
        """The place of a column in the result."""
        forms = [*map(Affine.of, self.op.indices[:-1]), column]
        return self.index.linear(forms, self.strides[self.op.result, self.op.shape])

    # --- values ---

    def key(self, op: tix.ReadOp, mask: SSAValue | None) -> object:
        """The key of a load by values of indices, by which definitions share equal loads."""
        values: dict[Variable, Affine] = {
            v: Affine.of(self.index.values[v])
            for form in op.forms
            for v in form.substitute(self.index.places).indices
        }
        placed = (form.substitute(self.index.places).substitute(values) for form in op.forms)
        return op.tensor, op.shape, self.lanes, mask, *placed

    def _emitted(self, value: SSAValue) -> SSAValue:
        op = value.owner
        if self.vector is None:
            return self.scalars[value] if value in self.scalars else super()._emitted(value)
        if isinstance(op, tix.ReadOp) and (op.tensor, self.vector) in self.vectors.kept:
            return self.vectors.kept[op.tensor, self.vector]
        if (shared := self._elsewhere(value)) is not None:
            return shared
        return self._quotient(op) if isinstance(op, ew.DivOp) else super()._emitted(value)

    def _elsewhere(self, value: SSAValue) -> SSAValue | None:
        """A value of this point that another point of the block has too; None if none has it."""
        for same in self.taken.get(value, ()):
            row = None if self.row is None else self.row + same.rows
            if row is not None and not 0 <= row < self.tile.rows:
                continue
            if same.columns == 0:
                return self.at(row, self.vector).value(same.value)
            first = (self.vector or 0) + same.columns // self.lanes
            if 0 <= first < self.vectors.count - 1:
                a, b = (self.at(row, n).lanes_of(same.value) for n in (first, first + 1))
                begin = same.columns % self.lanes
                return self.shuffled(a, b, range(begin, begin + self.lanes))
        return None

    def _quotient(self, op: ew.DivOp) -> SSAValue:
        known: Mapping[SSAValue, SSAValue] = {}
        if self.reciprocals:
            known = self.reciprocals[self.row or 0]
        if op.rhs not in known or self.tile.column_index not in self.uses.of(op.lhs):
            return super()._emitted(op.result)
        return quotient_of(self, self.lanes_of(op.lhs), self.value(op.rhs), known[op.rhs])
