"""Segments of the rows of a stream, between the columns at which choices change sides.

    y[i, j] = exp(a[i, j]) if j < 64 else log(b[i, j - 64])

    j in 0 .. 64      exp(a[i, j])
    j in 64 ..        log(b[i, j - 64])

Vectors under masks compute both sides of a choice. That is well where one of them is a number, as
at the borders of windows; of others a large part of a row would be computed for nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.scheduling.streams.interior import Range
from tadc.passes.scheduling.streams.stream_phases import Phase, PhaseCloner, made_phase, modulus_of

MOST_SEGMENTS = 4
"""The segments of a row at most: each has code of its own."""


@dataclass(frozen=True)
class Segment:
    """The columns of a row from the first on, up to the next segment, as a definition."""

    first: int
    phase: Phase


def has_segments(op: tix.DefineOp) -> bool:
    """True if choices cut the rows of a definition, which has one phase."""
    return 1 < len(_firsts(op)) <= MOST_SEGMENTS and modulus_of(op) == 1


@contextmanager
def segments_of(
    op: tix.DefineOp, as_written: Set[Operation] = frozenset()
) -> Generator[Sequence[Segment]]:
    """The segments of a definition that has some, in order, while they are needed."""
    firsts = _firsts(op)
    ends = [*(Affine(constant=first) for first in firsts[1:]), *op.shape[-1:]]
    made = [
        Segment(first, _segment(op, Range(first, end), as_written))
        for first, end in zip(firsts, ends, strict=False)
    ]
    try:
        yield made
    finally:
        for segment in made:
            segment.phase.op.erase()


def _segment(op: tix.DefineOp, columns: Range, as_written: Set[Operation]) -> Phase:
    kind = partial(_SegmentCloner, op.indices[-1], columns.first)
    return made_phase(op, lambda column: column, 0, kind, as_written, columns)


class _SegmentCloner(PhaseCloner):
    """Copies a body as it is for columns from the first one of a segment on."""

    def __init__(self, column: SSAValue, first: int, builder: BodyBuilder):
        super().__init__(builder)
        self.column, self.first = column, first

    def copy_if(self, op: tix.IfOp) -> SSAValue:
        if not _cuts(op, self.column):
            return super().copy_if(op)
        place: dict[Variable, Affine] = {self.column: Affine(constant=self.first)}
        holds = all(c.substitute(place).form.constant >= 0 for c in op.condition[0])
        return self.copy_body(op.then if holds else op.otherwise)


def _firsts(op: tix.DefineOp) -> list[int]:
    """The first columns of segments."""
    if not op.indices:
        return [0]
    column = op.indices[-1]
    cuts = [o for o in op.body.walk() if isinstance(o, tix.IfOp) and _cuts(o, column)]
    found = {_change(c, column) for cut in cuts for c in cut.condition[0]}
    return [0, *sorted(first for first in found if first > 0)]


def _cuts(op: tix.IfOp, column: SSAValue) -> bool:
    """True for a choice by the column alone between what is computed on both sides."""
    every = [c for disjunct in op.condition for c in disjunct]
    sides = (tix.yielded(region) for region in (op.then, op.otherwise))
    return (
        len(op.condition) == 1
        and all(set(c.form.terms) == {column} and not c.equality for c in every)
        and all(tix.constant_value(value) is None for value in sides)
    )


def _change(constraint: Constraint, column: SSAValue) -> int:
    """The first column at which `c j + r >= 0` is not what it was before: `ceil(-r / c)` for
    `c > 0`, where it begins to hold, and `floor(r / -c) + 1` for `c < 0`."""
    c, r = constraint.form[column], constraint.form.constant
    return -(r // c) if c > 0 else r // -c + 1
