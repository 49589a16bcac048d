"""`share-values`: equal values in a definition are computed once.

    %0 = tix.sub %a, %b                      %0 = tix.sub %a, %b
    %1 = tix.pow %0, 2.0                     %1 = tix.pow %0, 2.0
    %2 = tix.exp %1               becomes    %2 = tix.exp %1
    %3 = tix.sub %b, %a                      %3 = tix.add %2, %2
    %4 = tix.pow %3, 2.0
    %5 = tix.exp %4
    %6 = tix.add %2, %5

`passes/analysis/value_numbers.py` says which values are equal to the last bit. One that was
computed before, in the same body or one around it, is not computed again. A function or a reduction
that several bodies of choices by indices compute moves in front of them, under a condition of its
own (`passes/scheduling/shared_values.py`):

    (if A { f(exp(x)) }) + (if B { g(exp(x)) })

becomes

    e = if A or B { exp(x) };  (if A { f(e) }) + (if B { g(e) })

So does one that choices with the same test compute (`passes/scheduling/shared_choices.py`).

The gradient of a stencil that depends on differences of neighbours is like this: each difference
has two ends. Elements are read where they are there, and nothing is computed at more points than
before but for a few at the ends of ranges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.properties import calls_expanded, sums_bounded
from tadc.passes.analysis.value_numbers import ValueNumbers
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import rewrite_definition
from tadc.passes.rewriting.scoped_map import ScopedMap
from tadc.passes.scheduling.shared_choices import ChoicePlan, choice_plan
from tadc.passes.scheduling.shared_values import Plan, Shared, sharing_plan


@dataclass(frozen=True)
class ShareValuesPass(LocalPass):
    """`share-values`: no options."""

    name = "share-values"
    requires = (sums_bounded, calls_expanded)
    leaves = (sums_bounded,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return share_values(program)


def share_values(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with equal values in each definition computed once.

    It is the same one, changed in place. Definitions in which nothing but reads and constants comes
    twice stay as they are.
    """
    for op in program.definitions:
        numbers = ValueNumbers(op)
        if numbers.repeat:
            _rewrite(op, numbers)
    return program


def _rewrite(op: tix.DefineOp, numbers: ValueNumbers) -> None:
    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        choices = choice_plan(_blocks(op), numbers)
        sharer = _Sharer(e, numbers, sharing_plan(op, numbers), choices)
        return sharer.copy_definition(op, e, own)

    rewrite_definition(op, body)


def _blocks(op: tix.DefineOp) -> Iterator[list[Block]]:
    """The blocks of a definition that have choices by values, each alone."""
    for block in dict.fromkeys(o.parent for o in op.walk() if isinstance(o, tix.WhereOp)):
        assert block is not None
        yield [block]


class _Sharer(Cloner):
    """Copies a body; a value with the number of one that is there already becomes that."""

    def __init__(
        self, builder: BodyBuilder, numbers: ValueNumbers, plan: Plan, choices: ChoicePlan
    ):
        super().__init__(builder)
        self.numbers = numbers
        self.plan = plan
        self.choices = choices
        self.there: ScopedMap[int, SSAValue] = ScopedMap()
        """The new values that can be used here, by their numbers."""
        self.moved: ScopedMap[Operation, SSAValue] = ScopedMap()
        """New values that can be used where the operations stand."""

    def inner(
        self, builder: BodyBuilder, own: Sequence[SSAValue] = (), new: Sequence[SSAValue] = ()
    ) -> Self:
        cloner = super().inner(builder, own, new)
        cloner.there, cloner.moved = self.there.new_child(), self.moved.new_child()
        return cloner

    def copy(self, op: Operation) -> None:
        for shared in self.plan.get(op, ()):
            self._compute(shared)
        for value in self.choices.get(op, ()):
            self.fetch(value)
        if isinstance(op, tix.LocalIndexOp):
            return super().copy(op)
        (result,) = op.results
        number = self.numbers[result]
        value = self.moved.get(op) or self.there.get(number)
        if value is None:
            super().copy(op)
        else:
            self.values[result] = value
        self.there[number] = self.values[result]

    def _compute(self, shared: Shared) -> None:
        """Compute a value ahead of the bodies that need it."""
        value = shared.places[0].results[0]
        for v in (v for d in shared.condition for c in d for v in c.form.indices):
            self.fetch(v)
        if [] in shared.condition:
            self.fetch(value)
            return

        def body(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            cloner = self.inner(e)
            cloner.fetch(value)
            return cloner.value(value)

        condition = [self.constraints(disjunct) for disjunct in shared.condition]
        new = self.builder.choose(condition, body, lambda e, _: e.constant(0))
        self.moved.update(dict.fromkeys(shared.places, new))
