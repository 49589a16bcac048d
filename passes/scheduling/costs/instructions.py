"""Instructions of a definition: how often each runs for one element, in the loops that it has.

y[i, j] = sum[k](x[i, k] * w[j, k])      blocks of 4 x 64, 16 lanes

x[i, k]       K / 64 for an element      one for a row, all columns
w[j, k]       K / (16 * 4)               one for a vector, all rows
+ of the sum  K / 16                     one for a vector of a row
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix.affine import SizeValues
from tadc.passes.analysis.access import stride
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.blocking import Blocking
from tadc.passes.scheduling.costs.frequencies import Frequencies
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import VECTOR_BYTES, lanes_of

LONGEST_STEP = 4
"""The largest stride at which LLVM vectorizes a loop."""


@dataclass
class Instructions:
    """Counts the instructions of an element of a definition."""

    op: tix.DefineOp
    nest: Blocking
    sizes: Mapping[str, int]
    found: Frequencies

    def __post_init__(self) -> None:
        self.uses = IndexUses()
        self.lanes = lanes_of(self.op)
        self.bytes = VECTOR_BYTES // self.lanes
        self.tile = next(filter(self._has_room, self.nest.tiles), None)
        self.along = self._vector_axes()

    @property
    def along_terms(self) -> bool:
        """True if the lanes of a tile are terms."""
        return self.tile is not None and self.tile.column_index not in self.op.indices

    def _has_room(self, tile: Tile) -> bool:
        """True if the sizes have room for a block."""
        known = SizeValues(self.sizes)
        shape = dict(zip(self.op.indices, self.op.shape, strict=True))
        axes = (tile.row_index, tile.rows), (tile.column_index, tile.columns)
        extents = [(shape.get(v), width) for v, width in axes if v is not None]
        return all(size is None or size.evaluate(known) >= width for size, width in extents)

    def computed(self) -> float:
        """Elements computed for each one of the result: more than 1 where the last blocks overlap
        those before, or are not full."""
        if self.tile is None or self.tile.in_stream:
            return 1.0
        known, tile = SizeValues(self.sizes), self.tile
        shape = dict(zip(self.op.indices, self.op.shape, strict=True))
        extents = {v: size.evaluate(known) for v, size in shape.items()}
        rows = 0 if tile.row_index is None else extents[tile.row_index]
        columns = extents.get(tile.column_index)
        waste = -(-rows // tile.rows) * tile.rows / rows if rows else 1.0
        return waste * tile.columns_for(columns) / columns if columns else waste

    def loops(self, op: Operation) -> list[SSAValue]:
        """The indices of the loops around an operation, the innermost first.

        Short sums are no loops: they are written out.
        """
        found: list[SSAValue] = []
        parent = op.parent_op()
        while parent is not None and not isinstance(parent, tix.DefineOp):
            if isinstance(parent, tix.ReductionOp) and not self.is_short(parent):
                found += reversed(parent.indices)
            parent = parent.parent_op()
        return found

    def issues(self, op: Operation) -> float:
        """The instructions of an operation per element, outside of loops that do not vary it."""
        runs = self.found.runs[op]
        used = self.uses.of_operation(op)
        for index in self.loops(op):
            if index in used:
                break
            runs /= max(1.0, self.found.lengths[index])
        return runs * self.share(op.results[0], op)

    def share(self, value: SSAValue, op: Operation) -> float:
        """The instructions for one use of a value, which lanes and rows share."""
        used = self.uses.of(value)
        if self.tile:
            own = op.indices if isinstance(op, tix.ReductionOp) else ()
            rows = self.tile.count_in(used) / self.tile.height
            if self.tile.column_index in (*used, *own):
                return rows / self.tile.lanes * self.tile.computed(value)
            return rows if self.along_terms else rows / self.tile.columns
        axis = self.axis(op)
        if axis is None:
            return 1.0
        inside = used | frozenset(op.indices if isinstance(op, tix.ReductionOp) else ())
        return 1 / self.lanes if axis in inside else 0.0

    def _vector_axes(self) -> dict[Operation, SSAValue | None]:
        """For each body, the definition's and those of sums, the index that its lanes run along."""
        axes: dict[Operation, SSAValue | None] = {}
        sums = [o for o in self.op.walk() if isinstance(o, tix.ReductionOp)]
        long = [s for s in sums if self.found.runs[s] and not self.is_short(s)]
        last = self.op.indices[-1] if self.op.indices else None
        if self.nest.stream or (last and not long and self._runs_along(self.op, last)):
            return {self.op: last}
        for s in long:
            inner = any(o is not s and o in long for o in s.walk())
            axes[s] = s.indices[-1] if not inner and self._runs_along(s, s.indices[-1]) else None
        return axes

    def is_short(self, op: tix.ReductionOp) -> bool:
        return prod(self.found.lengths[v] for v in op.indices) <= 16

    def _runs_along(self, op: Operation, index: SSAValue) -> bool:
        """True if LLVM vectorizes a loop over an index: the strides of all reads are short."""
        steps = [stride(o, index, self.uses) for o in op.walk() if isinstance(o, tix.ReadOp)]
        return all(step is not None and abs(step) <= LONGEST_STEP for step in steps)

    def axis(self, op: Operation) -> SSAValue | None:
        """The index that the lanes of an operation run along, outside of tiles."""
        parent: Operation | None = op
        while parent is not None:
            if parent in self.along:
                return self.along[parent]
            parent = parent.parent_op()
        return None
