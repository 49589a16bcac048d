"""A cut: a sum that becomes a sum of pieces, and where these stand in the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.rewriting.cloner import free_values
from tadc.passes.rewriting.programs import reads_of


@dataclass(frozen=True)
class Cut:
    """A sum to cut."""

    op: tix.SumOp
    definition: tix.DefineOp
    behind: int
    """The place of the definition behind which the pieces stand: all that they need is there. -1 if
    they need no definition."""
    rows: Sequence[Affine]
    """The lengths of the indices of the sum; the last one is cut."""
    along: SSAValue | None = None
    """For sums over pairs, the index of the definition along which elements of a piece lie side by
    side."""
    residues: int = 0
    """Of these, the number of pieces: one for each residue of rows."""

    @property
    def inside(self) -> list[SSAValue]:
        """The indices of the definition in the order in which a piece has them."""
        indices = self.definition.indices
        last = [] if self.along is None else [self.along]
        return [*(v for v in indices if v not in last), *last]

    @property
    def shape(self) -> list[Affine]:
        """The sizes of these."""
        sizes = dict(zip(self.definition.indices, self.definition.shape, strict=True))
        return [sizes[v] for v in self.inside]


Places = Mapping[tix.DefineOp, int]
"""The place of each definition in its program, in order."""


def first_readers(places: Places) -> dict[SSAValue, int]:
    """The place of the first definition that reads each tensor."""
    found: dict[SSAValue, int] = {}
    for op, place in places.items():
        for read in reads_of(op):
            found.setdefault(read.tensor, place)
    return found


def definitions_read(op: Operation) -> set[tix.DefineOp]:
    """The definitions whose results an operation reads, or what it uses of values around it."""
    found: set[tix.DefineOp] = set()
    for inner in op.walk():
        if isinstance(inner, tix.ReadOp) and isinstance(inner.tensor.owner, tix.DefineOp):
            found.add(inner.tensor.owner)
    for value in (*op.operands, *free_values(op)):
        if isinstance(value.owner, Operation) and not isinstance(value.owner, tix.DefineOp):
            found |= definitions_read(value.owner)
    return found
