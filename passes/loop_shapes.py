"""In which form the index sets of a definition become loops: as narrow as they are, or as boxes.

Sums in the language, and in derivatives after `absorb-conditions`, run over exactly the points that
contribute. For a machine that is best where much is skipped, but loops of known length can be
unrolled, and loops with the same bounds for neighbouring elements run side by side in vectors and
register blocks, where a test is only a mask. So each definition takes the first that has a tile
(`passes/tiling.py`) of

- sums over narrow sets (`passes/absorb_conditions.py`), and over boxes where these are short;
- the definition as it is, with conditions in its sums;
- sums over boxes also where these are long;

and the first of these where none has.

A sum goes back to a box by

    sum over k in {k >= 0, k >= 1 - i, k <= 2, k <= N - i} of E(k)
    sum over k in {k >= 0, k <= 2} of (if k >= 1 - i, k <= N - i { E(k) } else 0)

Windows at the border of a tensor are like this, in convolutions with padding and in the gradients
of all convolutions. A long index needs a side on which its bounds stay, so that about half of the
box are points of the set: a band is not made a square.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.ir import Operation, SSAValue

from dialects import tix
from dialects.tix import Constraint, between
from passes.absorb_conditions import bounded_without_conditions
from passes.emitter import Emitter, Scope
from passes.known import KnownScope
from passes.programs import ProgramBuilder, arguments_of, copy_definition, copy_program
from passes.tile_facts import SHORT_SUM, Dependence, Tile

Choose = Callable[[tix.DefineOp], Sequence[Tile]]
"""The tiles of a definition."""


def shape_loops(program: tix.ProgramOp, choose: Choose | None) -> tix.ProgramOp:
    """The program with each definition in the form in which it runs best.

    Without tiles, conditions in sums are all that changes.
    """
    narrow = bounded_without_conditions(program)
    if choose is None and narrow is program:
        return program
    short = _boxed(narrow, _ShortBoxer)
    if choose is None:
        return short
    long = _boxed(narrow, _LongBoxer)
    versions = list(dict.fromkeys([short, program, long]))
    return program if versions == [program] else _mixed(versions, choose)


def _mixed(versions: Sequence[tix.ProgramOp], choose: Choose) -> tix.ProgramOp:
    """Of each definition the first version with a tile, else the first one."""
    program = versions[0]
    builder = ProgramBuilder(arguments_of(program))
    scope = Scope(Emitter(builder.block, program.location))
    for version in versions:
        scope.values.update(zip(version.body.block.args, builder.block.args, strict=True))
    for same in zip(*(v.definitions for v in versions), strict=True):
        best = next((op for op in same if _is_tiled(op, choose)), same[0])
        tensor = copy_definition(builder, scope, best)
        scope.values.update((op.result, tensor) for op in same)
    return builder.finish(program, [scope.value(v) for v in program.returned])


def _is_tiled(op: tix.DefineOp, choose: Choose) -> bool:
    """Has it a tile, and one in which more than conditions differs from column to column?"""
    reads = [r for r in op.walk() if isinstance(r, tix.ReadOp)]
    deps = Dependence()
    return any(tile.q in deps.operation(r) for tile in choose(op) for r in reads)


def _boxed(program: tix.ProgramOp, kind: type[_ShortBoxer]) -> tix.ProgramOp:
    if not any(isinstance(op, tix.ReductionOp) and kind.applies(op) for op in program.walk()):
        return program
    return copy_program(program, kind)


class _ShortBoxer(KnownScope):
    """Copies; reductions over parts of short boxes become reductions over these."""

    longest: int | None = SHORT_SUM

    @classmethod
    def applies(cls, op: tix.ReductionOp) -> bool:
        """Has it bounds that vary, each within a box, and no other reduction inside?"""
        if any(isinstance(o, tix.ReductionOp) for o in op.body.walk()):
            return False
        varying = [c.form for c in op.constraints if _varies(c, op)]
        sides = [{form[v] > 0 for form in varying if form[v]} for v in op.own]
        indices = [(v, side) for v, side in zip(op.own, sides, strict=True) if side]
        return bool(indices) and all(cls._has_box(op, v, len(side)) for v, side in indices)

    @classmethod
    def _has_box(cls, op: tix.ReductionOp, index: SSAValue, sides: int) -> bool:
        """Do the other bounds of an index, of which those on one side or two vary, make a box?"""
        fixed = [c.form for c in op.constraints if c.form[index] and not _varies(c, op)]
        if cls.longest is None and sides == 1 and len({form[index] > 0 for form in fixed}) == 2:
            return True
        numbers = [form for form in fixed if len(form.terms) == 1 and abs(form[index]) == 1]
        low = [-form.constant for form in numbers if form[index] > 0]
        high = [form.constant for form in numbers if form[index] < 0]
        return bool(low) and bool(high) and min(high) - max(low) < SHORT_SUM

    def copy(self, op: Operation) -> None:
        if op.results[0] not in self.values:
            super().copy(op)

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        if not self.applies(op):
            return super().copy_reduction(op)
        box = [c for c in op.constraints if not _varies(c, op)]
        varying = [c for c in op.constraints if _varies(c, op)]

        def domain(own: list[SSAValue]) -> list[Constraint]:
            return self.inner(self.emitter, op.own, own).constraints(box)

        def body(e: Emitter, own: list[SSAValue]) -> SSAValue:
            scope = self.inner(e, op.own, own)
            scope.known += scope.constraints(box)
            tests = scope.constraints(varying)
            scope.read_ahead(op, tests)

            def tested(e: Emitter, _: list[SSAValue]) -> SSAValue:
                inner = scope.inner(e, [], [])
                inner.known += tests
                return inner.copy_body(op.body)

            return e.guard(tests, tested, op.IDENTITY)

        return self.emitter.reduce(type(op), [v.name_hint for v in op.own], domain, body)

    def inner(
        self, emitter: Emitter, own: Sequence[SSAValue], new: Sequence[SSAValue]
    ) -> _ShortBoxer:
        scope = super().inner(emitter, own, new)
        assert isinstance(scope, _ShortBoxer)
        return scope

    def read_ahead(self, op: tix.ReductionOp, tests: list[Constraint]) -> None:
        """Read before the value: what is there anyway without a test, for it may be the same for
        many elements, and all else under a test of its own, which then only masks a read."""
        for read in op.body.block.ops:
            if isinstance(read, tix.ReadOp) and not any(map(_is_local, read.indices)):
                guards = [] if self._is_there(read) else tests
                self.values[read.result] = self.emitter.guard(guards, partial(self._read, read))

    def _read(self, read: tix.ReadOp, emitter: Emitter, own: list[SSAValue]) -> SSAValue:
        return emitter.read(self.value(read.tensor), [self.form(f) for f in read.forms])

    def _is_there(self, read: tix.ReadOp) -> bool:
        limits = zip(read.forms, read.tensor_type.shape, strict=True)
        return all(self.holds(c) for form, n in limits for c in between(0, self.form(form), n))


class _LongBoxer(_ShortBoxer):
    """The same with long boxes too."""

    longest = None


def _varies(constraint: Constraint, op: tix.ReductionOp) -> bool:
    """Does it hold an index around the reduction?"""
    return any(v not in op.own for v in constraint.form.indices)


def _is_local(index: SSAValue) -> bool:
    return isinstance(index.owner, tix.FloorDivOp)
