"""A statement while its ranges are inferred: its reads, and what is known of its indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field

from xdsl.ir import Region, SSAValue

from tadc.dialects.tix import Affine, Constraint, ReadOp, ReductionOp
from tadc.language.describe import Describer
from tadc.language.reads import Access, Ranges, reads, used
from tadc.language.sizes import Sizes


@dataclass
class Statement:
    """One definition, whose ranges are partly open."""

    region: Region
    sizes: dict[SSAValue, Affine]
    """The definition's indices that have a range."""
    open: list[SSAValue]
    """Indices without a range, in order of appearance."""
    shape_of: Callable[[SSAValue], Sequence[Affine]]
    open_ranges: dict[ReductionOp, list[Constraint]] = field(
        default_factory=dict[ReductionOp, list[Constraint]]
    )
    """For each reduction with open indices, the constraints known so far."""
    pinned: list[SSAValue] = field(default_factory=list[SSAValue])
    """Indices with the range of a declaration, which binds open sizes too."""
    beyond: Set[tuple[ReadOp, int]] = frozenset()
    """The dimensions of reads that have an element for every index."""
    old: SSAValue | None = None
    """The version before, where the statement updates a tensor."""


class Progress:
    """The reads of a statement, and the ranges of its indices so far."""

    def __init__(self, statement: Statement, sizes: Sizes, describer: Describer):
        self.statement = statement
        self.sizes = sizes
        self.describer = describer
        self.ranges = Ranges(statement.sizes, sizes.resolve, statement.open_ranges)
        self.accesses = reads(used(statement.region))
        self.open = list(statement.open)
        self.found: dict[SSAValue, Affine] = {}

    def close(self, index: SSAValue, size: Affine) -> None:
        """Have an open index run over 0 <= index < size."""
        self.open.remove(index)
        self.found[index] = self.ranges.sizes[index] = size

    def shape(self, access: Access) -> list[Affine]:
        """The shape of the tensor that is read, with what is known of sizes."""
        return [self.sizes.resolve(s) for s in self.statement.shape_of(access.read.tensor)]
