"""Phases of a stream: the elements of a row by the residues of their column, a vector for each.

    y[i, q] = a[i, q // 2] * x[i, q]              q = 2 t + s, the vectors run along t:

    s = 0        a[i, t] * x[i, 2 t]              | 0 2 4 6 |
    s = 1        a[i, t] * x[i, 2 t + 1]          | 1 3 5 7 |

    y[i, 8 T ..]                                  | 0 1 2 3 | 4 5 6 7 |    interleaved, stored

Quotients of the column are indices in a phase and its residues are numbers: no lane divides, and a
choice by residues (`split-residues` puts its parts together by one) is made once for all lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import lcm

from xdsl.ir import Block, Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import INDEX, block_with
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.index_sets.sets import quotient_constraints, quotients_of, within
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import forms_of, view_of
from tadc.passes.scheduling.streams.interior import Inside, Range, inside_of, ranges_of
from tadc.passes.scheduling.streams.stream_guards import guards_of
from tadc.passes.scheduling.tiles.tile_analysis import points_of

MOST_PHASES = 4
"""The vectors of an iteration: as many as may be interleaved in a few instructions."""


@dataclass(frozen=True)
class Phase:
    """The elements of columns with one residue, as a definition: its last index is t, which runs
    up to the number of columns at most."""

    op: tix.DefineOp
    residue: int
    uses: IndexUses
    guards: Sequence[tix.IfOp]
    """Choices that differ along a row."""
    as_written: Set[Operation]
    """The operations that must round identically wherever they are computed."""
    columns: Range | None = None
    """The range of the last index, where the phase is not a whole row."""
    program: Operation | None = None
    """The program of the definition, or of the one that it is a part of."""

    @property
    def column(self) -> SSAValue:
        return self.op.indices[-1]

    @cached_property
    def inside(self) -> Inside:
        """The elements for which no guard changes sides."""
        ranges = ranges_of(self.op)
        if self.columns:
            ranges[self.column] = self.columns
        return inside_of(self.op, {*self.guards}, ranges)

    def splats(self) -> Iterator[tuple[tix.ReadOp, Mapping[Variable, Affine]]]:
        """The reads that do not vary along the columns, and are in bounds without conditions.

        Those in short reductions come with the indices of each term.
        """
        assert isinstance(self.program, tix.ProgramOp)
        pairs = [(Affine.of(v), n) for v, n in zip(self.op.indices, self.op.shape, strict=True)]
        inside = (form for o in self.op.body.walk() for form in forms_of(o))
        quotients = (c for q in quotients_of(inside) for c in quotient_constraints(q))
        known = [*within(pairs, self.program), *quotients]

        def found(block: Block, around: Sequence[Constraint]) -> list[tix.ReadOp]:
            reads = (o for o in block.ops if isinstance(o, tix.ReadOp))
            apart = (r for r in reads if self.column not in self.uses.of_operation(r))
            return [r for r in apart if stays_inside(r, [*known, *around])]

        body = self.op.body.block
        yield from ((read, {}) for read in found(body, ()))
        for inner in (o for o in body.ops if isinstance(o, tix.ReductionOp)):
            reads = found(inner.body.block, inner.constraints)
            yield from ((read, places) for places in points_of(inner) for read in reads)

    @staticmethod
    def of(
        op: tix.DefineOp,
        residue: int,
        as_written: Set[Operation],
        columns: Range | None = None,
        program: Operation | None = None,
    ) -> Phase:
        """A definition as a phase."""
        uses = IndexUses()
        guards = guards_of(op, uses)
        return Phase(op, residue, uses, guards, as_written, columns, program or op.parent_op())


def modulus_of(op: tix.DefineOp) -> int:
    """The number of phases in which no quotient of the column is left; 1 if there is none."""
    uses, column = IndexUses(), op.indices[-1]
    quotients = [o for o in op.body.walk() if isinstance(o, tix.FloorDivOp)]
    return lcm(*(o.divisor.data for o in quotients if column in uses.of_operation(o)))


@contextmanager
def phases_of(
    op: tix.DefineOp, modulus: int, as_written: Set[Operation] = frozenset()
) -> Generator[Sequence[Phase]]:
    """The phases of a definition while they are needed: itself, where there is one."""
    if modulus == 1:
        yield [Phase.of(op, 0, as_written)]
        return
    made = [_phase(op, modulus, residue, as_written) for residue in range(modulus)]
    try:
        yield made
    finally:
        for phase in made:
            phase.op.erase()


class PhaseCloner(Cloner):
    """Copies a body; tells which copies must round identically."""

    given: Set[Operation] = frozenset()
    found: set[Operation]

    def copy(self, op: Operation) -> None:
        super().copy(op)
        new = self.value(op.results[0]).owner
        if op in self.given and isinstance(new, Operation):
            self.found.add(new)


def _phase(op: tix.DefineOp, modulus: int, residue: int, as_written: Set[Operation]) -> Phase:
    end = op.shape[-1]
    columns = Range(0, end if end.terms else Affine(constant=end.constant // modulus))

    def place(column: Affine) -> Affine:
        return column * modulus + residue

    return made_phase(op, place, residue, PhaseCloner, as_written, columns)


def made_phase(
    op: tix.DefineOp,
    place: Callable[[Affine], Affine],
    residue: int,
    kind: Callable[[BodyBuilder], PhaseCloner],
    as_written: Set[Operation],
    columns: Range,
) -> Phase:
    """A copy of a definition at the columns that `place` gives for its own, to be erased."""
    block = block_with([INDEX] * len(op.indices))
    for new, old in zip(block.args, op.indices, strict=True):
        new.name_hint = old.name_hint
    builder = BodyBuilder(block, op.location)
    cloner = kind(builder)
    cloner.given, cloner.found = as_written, set()
    inner = cloner.inner(builder, op.indices, block.args)
    inner.indices[op.indices[-1]] = place(Affine.of(block.args[-1]))
    block.add_op(tix.YieldOp(inner.copy_body(op.body)))
    made = tix.DefineOp(op.label.data, op.type, Region(block), view_of(op.result))
    made.location = op.location
    return Phase.of(made, residue, cloner.found, columns, op.parent_op())
