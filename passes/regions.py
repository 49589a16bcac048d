"""Where an operation stands in a definition: the regions around it, as reductions and branches."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from dialects import tix
from dialects.tix import Constraint
from passes.conditions import complement, disjoint


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

    @property
    def reductions(self) -> list[tix.ReductionOp]:
        return [op for b in self.blocks if isinstance(op := b.parent_op(), tix.ReductionOp)]

    @property
    def branches(self) -> list[tuple[tix.IfOp, bool]]:
        """Each condition on the way, and whether the way goes through its first body."""
        parents = [(b, b.parent_op()) for b in self.blocks]
        return [(op, b is op.then.block) for b, op in parents if isinstance(op, tix.IfOp)]

    @property
    def indices(self) -> list[SSAValue]:
        """The indices of the definition, then those of the reductions."""
        return [*self.definition.indices, *(v for r in self.reductions for v in r.own)]

    @property
    def ranges(self) -> list[Constraint]:
        """The index sets of the definition and of the reductions."""
        return [*self.definition.constraints, *(c for r in self.reductions for c in r.constraints)]

    @property
    def cuts(self) -> list[list[list[Constraint]]]:
        """For each condition on the way, the disjoint convex pieces in which the way is taken."""
        ranges = self.ranges
        return [
            disjoint(op.condition, ranges) if first else complement(op.condition, ranges)
            for op, first in self.branches
        ]
