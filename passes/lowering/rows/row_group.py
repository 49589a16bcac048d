"""The lowering of rows that are computed side by side: numbers that each of them has.

m[i] = max[j](x[i, j])         rows i, i + 1, i + 2, i + 3: four numbers m, which a loop over j
s[i] = sqrt(m[i])              with vectors of all four gives; then four roots
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from xdsl.ir import Block, SSAValue

from tadc.dialects import tix
from tadc.passes.lowering.rows.row_lanes import KnownNumbers
from tadc.passes.rewriting.shallow_copy import shallow_copy


class RowGroup(KnownNumbers):
    """Emits the numbers of a row; those beside it have lowerings of their own, in this block."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.numbers = dict[SSAValue, SSAValue]()
        self.height = 1
        """The rows that go side by side where so many are left."""
        self.beside: list[Self] = []
        """The lowerings of further rows, which go with this one."""

    @property
    def rows(self) -> list[Self]:
        """The lowerings of all rows that go side by side."""
        return [self, *self.beside]

    def inside(self, block: Block) -> Self:
        inner = super().inside(block)
        inner.numbers = dict(self.numbers)
        inner.beside = [row.inside(block) for row in self.beside]
        return inner

    def alone(self) -> Self:
        """The lowering of this row without those beside it."""
        inner = shallow_copy(self)
        inner.beside = []
        return inner

    def side_by_side(self) -> Self:
        """The lowering of as many rows side by side as the height."""
        first = self.inside(self.index.block)
        first.beside = [self.inside(self.index.block) for _ in range(1, self.height)]
        return first

    def place(
        self, shared: Mapping[tix.DefineOp, Sequence[SSAValue]], places: Sequence[SSAValue]
    ) -> None:
        """Give the indices of rows their values: the last one differs from row to row."""
        for n, row in enumerate(self.rows):
            values = list(places)
            if n:
                values[-1] = row.index.add(places[-1], row.index.constant(n))
            for own in shared.values():
                row.index.values.update(zip(own, values, strict=True))

    def fix(self, indices: Sequence[SSAValue], value: SSAValue) -> None:
        """Give indices one value in all rows."""
        for row in self.rows:
            row.index.values.update(dict.fromkeys(indices, value))
