"""Numbers of jammed iterations: each statement runs in all of them before the next one does.

    m[i] = max[j](x[i, j])       jam i by 4: four rows have a number m each, to which a loop over
    s[i] = sqrt(m[i])            j with vectors of all four comes; then four roots

Numbers that were kept are not read from memory again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from typing import Any, Self

from xdsl.ir import Block, Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Variable
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.lowering.scalars.segments import SegmentLowering
from tadc.passes.rewriting.cloner import free_values
from tadc.passes.rewriting.shallow_copy import shallow_copy


class KnownNumbers(SegmentLowering):
    """Emits values; elements that are in registers are not loaded."""

    numbers: dict[SSAValue, SSAValue]
    """The single element that some tensors have in this iteration."""
    uses: IndexUses

    def _read(self, op: tix.ReadOp) -> SSAValue:
        return self.numbers[op.tensor] if op.tensor in self.numbers else super()._read(op)


class Jammed(KnownNumbers):
    """Emits numbers of an iteration; each one jammed with it has a lowering in the block."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self.numbers = dict[SSAValue, SSAValue]()
        self.uses = IndexUses()
        self.others: Sequence[Self] = ()
        """The lowerings of further iterations, which are jammed with this one."""
        self.lazy: dict[Operation, Callable[[Self], None]] = {}
        """Reductions in choices, each with what emits its loops on demand."""

    @property
    def every(self) -> list[Self]:
        """The lowerings of all jammed iterations, this one first."""
        return [self, *self.others]

    def inside(self, block: Block) -> Self:
        inner = super().inside(block)
        inner.numbers, inner.lazy = dict(self.numbers), dict(self.lazy)
        inner.others = [other.inside(block) for other in self.others]
        return inner

    def jammed(self, indices: Sequence[SSAValue], count: int, first: SSAValue) -> Self:
        """The lowering of `count` jammed iterations, with indices from `first` on."""
        found = self.inside(self.index.block)
        found.others = [self.inside(self.index.block) for _ in range(1, count)]
        for n, at in enumerate(found.every):
            value = at.index.add(first, at.index.constant(n)) if n else first
            at.index.values.update(dict.fromkeys(indices, value))
        return found

    def placed(self, places: Mapping[Variable, Affine]) -> Self:
        """The lowering of the same iterations where indices have these places."""
        inner = shallow_copy(self)
        inner.scalars, inner.index = dict(self.scalars), self.index.placed(places)
        inner.others = [other.placed(places) for other in self.others]
        return inner

    def compute_ahead(
        self, body: Region, inside: Collection[SSAValue], known: list[tix.Constraint]
    ) -> None:
        """Compute the values of a body that are invariant in the loops over the indices `inside`.

        Elements are loaded ahead only where they are in bounds whenever the constraints `known`
        hold.
        """
        for at in self.every:
            for op in invariants(body, inside, known, at.uses, at.numbers):
                if not {*op.results} <= at.scalars.keys():
                    at.operation(op)

    def _scalar(self, op: Operation) -> SSAValue:
        """Emit a value; a reduction in a choice is emitted on demand, for this iteration alone."""
        if op not in self.lazy:
            return super()._scalar(op)
        alone = shallow_copy(self)
        alone.others = ()
        self.lazy[op](alone)
        return alone.scalars[op.results[0]]


def invariants(
    body: Region,
    inside: Collection[SSAValue],
    known: list[tix.Constraint],
    uses: IndexUses,
    made: Container[SSAValue],
) -> Iterator[Operation]:
    """The operations of a body that are invariant in the loops over `inside`, and safe to hoist.

    A load is safe if its tensor is `made`, or if it is in bounds whenever the constraints `known`
    hold.
    """
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
