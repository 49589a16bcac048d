"""Checks of a plan: what a loop reads is there before, and what others read later is stored.

    w[i] = r[i] + b[i]               a plan in which s runs along with w, behind t: the check says
    s[i] = b[i] * 2                  that "t reads s before it is computed"
    t[i, k] = s[i]

The planner decides who shares loops, form by form; here nobody knows why. Steps are gone through in
the order in which they run. Of each read of another definition is asked

- of another step: that it stands before, and stores the tensor;
- of what runs at once, in blocks, walks and streams together: that it reads nothing of the others;
- of rows and strips: that the row is the reader's own, is computed before, and still lies where it
  was put;
- of bands: that a band has all elements that it reads (`band_checks`).

A plan that does not hold gives no numbers, but a `WrongPlan`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.rewriting.cloner import free_values, operations_behind
from tadc.passes.rewriting.programs import reads_of
from tadc.passes.scheduling.bands.band_checks import mistakes_of_bands
from tadc.passes.scheduling.bands.band_stages import Bands
from tadc.passes.scheduling.nest import Nest, Rows
from tadc.passes.scheduling.rows.fuse_loops import Part, is_long
from tadc.passes.scheduling.scans import is_scanned
from tadc.passes.scheduling.step_order import Step, definitions_of


class WrongPlan(Exception):
    """An error of the compiler: loops in an order in which something is read before it is there."""


def require_computed(steps: Sequence[Step]) -> None:
    """Raise `WrongPlan` at the first mistake in the steps of a plan (`mistakes_in`)."""
    for mistake in mistakes_in(steps):
        raise WrongPlan(f"tadc has planned loops that cannot be right: {mistake}")


def mistakes_in(steps: Sequence[Step]) -> Iterator[str]:
    """Yield the mistakes of a plan, such as reads of what is not computed yet, or not stored."""
    computed = [op.result for step in steps for op in definitions_of(step)]
    missing = {*computed}
    if len(missing) < len(computed):
        yield "a definition is computed twice"
    stored = set[SSAValue]()
    for step in steps:
        ops = definitions_of(step)
        own = {op.result for op in ops}
        missing -= own
        for op in ops:
            for tensor in {r.tensor for r in reads_of(op)} - own - stored:
                if isinstance(tensor.owner, tix.DefineOp):
                    which = "before it is computed" if tensor in missing else "which is not stored"
                    yield f"{op.label.data} reads {tensor.owner.label.data}, {which}"
        if isinstance(step, Nest):
            yield from _mistakes_inside(step)
        stored.update(op.result for op in (step.written if isinstance(step, Nest) else ops))
    program = definitions_of(steps[0])[0].parent_op() if steps else None
    for tensor in program.returned if isinstance(program, tix.ProgramOp) else ():
        if isinstance(tensor.owner, tix.DefineOp) and tensor not in stored:
            yield f"the result {tensor.owner.label.data} is not stored"


def _mistakes_inside(nest: Nest) -> Iterator[str]:
    """Yield each read of one member of a nest by another that its loops do not allow."""
    match nest.loops:
        case Rows():
            yield from _Rows(nest.members, nest.loops).mistakes()
        case Bands():
            yield from mistakes_of_bands(nest.loops)
        case _:
            own = {op.result for op in nest.members}
            for op in nest.members:
                if not own.isdisjoint(r.tensor for r in reads_of(op)):
                    yield f"{op.label.data} reads what is computed at once with it"


# --- rows and strips ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rows:
    """Members that share rows or strips: a row of each in turn."""

    members: Sequence[tix.DefineOp]
    rows: Rows

    def mistakes(self) -> Iterator[str]:
        """Yield each read of another member's row that is wrong, and each row without memory."""
        made, kept = dict[SSAValue, tix.DefineOp](), dict[SSAValue, SSAValue]()
        for op in self.members:
            place = self._place(op)
            for read in (r for r in reads_of(op) if isinstance(r.tensor.owner, tix.DefineOp)):
                if any(read.tensor is other.result for other in self.members):
                    found = self._mistake(op, read, made, kept)
                    yield from [f"{op.label.data} reads {found}"] if found else []
            if self.rows.inside(op) and all(place is not o.result for o in self.rows.written):
                yield f"{op.label.data} has no memory"
            made[op.result], kept[place] = op, op.result
        yield from self._loops()

    def _mistake(
        self,
        op: tix.DefineOp,
        read: tix.ReadOp,
        made: dict[SSAValue, tix.DefineOp],
        kept: dict[SSAValue, SSAValue],
    ) -> str | None:
        """Find what is wrong about a read of another member's row; None if nothing is."""
        if read.tensor not in made:
            return "a row before it is computed"
        other = made[read.tensor]
        if not self._is_own_row(op, read, other):
            return f"rows of {other.label.data} that are not its own"
        place = self._place(other)
        if kept[place] is not read.tensor:
            return f"{other.label.data}, whose place another row has taken"
        if place is self._place(op) and not _is_in_place(op, read):
            return f"{other.label.data}, in whose place it is stored"
        return None

    def _is_own_row(self, op: tix.DefineOp, read: tix.ReadOp, other: tix.DefineOp) -> bool:
        """True if a read stays in the reader's own row, which a sum over rows does not have."""
        if self.rows.piece(other) or tuple(read.shape) != tuple(other.shape):
            return False
        lines, forms = self.rows.lines, dict(zip(other.indices, read.forms, strict=True))
        return [forms[v] for v in lines[other]] == [Affine.of(v) for v in lines[op]]

    def _place(self, op: tix.DefineOp) -> SSAValue:
        """The tensor whose memory holds a member's row: its own, or that of its host."""
        return self.rows.hosts.get(op.result, op.result)

    def _loops(self) -> Iterator[str]:
        """Yield each part that is fused into a loop before a value that it needs is computed."""
        there = set[object]()
        own = {op.result for op in self.members}
        for op in self.members:
            for part in self._parts(op):
                if part.source in there:
                    continue
                loop = [part, *self.rows.along.get(part.source, ())]
                for taken in loop:
                    inside = {o for o in taken.op.body.block.ops if is_long(o)}
                    if not ({*_needed(taken)} & (own | inside)) <= there:
                        yield f"{taken.op.label.data} runs along with {op.label.data} too early"
                there.update(taken.source for taken in loop)
            there.add(op.result)

    def _parts(self, op: tix.DefineOp) -> Iterator[Part]:
        """The parts of a definition along a row: each has its own loop, or is fused into
        another."""
        if self.rows.inside(op):
            yield Part(op)
        else:
            yield from (Part(op, o) for o in op.body.block.ops if is_long(o))


def _is_in_place(op: tix.DefineOp, read: tix.ReadOp) -> bool:
    """True if a row may overwrite one that it reads: elementwise, or as a scan, which reads a
    vector of terms before it writes one."""
    return [*read.forms] == [Affine.of(v) for v in op.indices] or is_scanned(op)


def _needed(part: Part) -> Iterator[object]:
    """The tensors that a part reads, and the other reductions whose values it needs."""
    if part.reduction is None:
        yield from (r.tensor for r in reads_of(part.op))
        return
    behind = operations_behind(free_values(part.reduction), part.op)
    for op in (part.reduction, *behind):
        yield from () if op is part.reduction else [op]
        yield from (r.tensor for r in op.walk() if isinstance(r, tix.ReadOp))
