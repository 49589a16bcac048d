"""The place of an operation in a definition: the reductions and branches around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint
from tadc.once import cached_property
from tadc.passes.index_sets.disjuncts import Disjunct, complement, disjoint, tidied


@dataclass(frozen=True)
class Path:
    """The blocks between a definition and an operation in it, from outside in."""

    definition: tix.DefineOp
    blocks: tuple[Block, ...]

    @staticmethod
    def to(op: Operation, definition: tix.DefineOp) -> Path:
        blocks: list[Block] = []
        block = op.parent
        while block is not None and block is not definition.body.block:
            blocks.append(block)
            parent = block.parent_op()
            block = parent.parent if parent else None
        return Path(definition, tuple(reversed(blocks)))

    @cached_property
    def reductions(self) -> Sequence[tix.ReductionOp]:
        return reductions_around(self.blocks)

    @property
    def branches(self) -> list[tuple[tix.IfOp, bool]]:
        """Each condition on the way, and whether the way goes through its first body."""
        return branches_around(self.blocks)

    @cached_property
    def indices(self) -> Sequence[SSAValue]:
        """The indices of the definition, then those of the reductions."""
        return [*self.definition.indices, *(v for r in self.reductions for v in r.indices)]

    @property
    def ranges(self) -> list[Constraint]:
        """The index sets of the definition and of the reductions."""
        return [*self.definition.constraints, *(c for r in self.reductions for c in r.constraints)]

    def disjuncts(self, found: dict[Block, list[Disjunct]]) -> list[Disjunct]:
        """The disjoint convex disjuncts, by the conditions on the way, in which the way is taken.

        Empty ones are left out condition by condition: their number would grow with the product of
        the cuts. `found` keeps the disjuncts of each block, for other operations in it.
        """
        ranges, disjuncts = list(self.definition.constraints), [Disjunct()]
        for block in self.blocks:
            op = block.parent_op()
            if isinstance(op, tix.ReductionOp):
                ranges += op.constraints
            elif isinstance(op, tix.IfOp):
                if block not in found:
                    found[block] = _cut(op, block is op.then.block, disjuncts, ranges)
                disjuncts = found[block]
        return disjuncts


def reductions_around(blocks: Sequence[Block]) -> list[tix.ReductionOp]:
    """The reductions whose bodies are among these blocks."""
    return [op for b in blocks if isinstance(op := b.parent_op(), tix.ReductionOp)]


def branches_around(blocks: Sequence[Block]) -> list[tuple[tix.IfOp, bool]]:
    """The conditions that have a body among these blocks, and True where it is the first one."""
    parents = [(b, b.parent_op()) for b in blocks]
    return [(op, b is op.then.block) for b, op in parents if isinstance(op, tix.IfOp)]


def _cut(
    op: tix.IfOp, first: bool, disjuncts: Sequence[Disjunct], ranges: Sequence[Constraint]
) -> list[Disjunct]:
    """The parts of the disjuncts that lie in one of the two bodies of a condition."""
    cut = disjoint if first else complement
    return [
        tidied([*disjunct, *part])
        for disjunct in disjuncts
        for part in cut(op.condition, [*ranges, *disjunct])
    ]


def elements(definition: tix.DefineOp) -> list[SSAValue]:
    """The values that are the element wherever they are computed: what the body yields, and what
    the branches of such a value yield."""
    found = [tix.yielded(definition.body)]
    for value in found:
        if isinstance(value.owner, tix.IfOp | tix.WhereOp):
            found += [tix.yielded(region) for region in value.owner.regions]
    return found
