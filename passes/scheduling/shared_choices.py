"""Values that several choices with the same test compute, and that one computation could serve.

    where r < 1 { f(a / d) }               e = a / d
    where r < 1 { g(a / d) }               where r < 1 { f(e) };  where r < 1 { g(e) }

Only what is dear moves in front of the first choice. There it is computed whatever the test says,
as vectors compute both sides of a choice for all lanes anyway; what it reads is there.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.costs import COST_OF_FUNCTION, FREE, weight
from tadc.passes.analysis.value_numbers import ValueNumbers

ChoicePlan: TypeAlias = Mapping[Operation, Sequence[SSAValue]]
"""The values that move, by the choice that they move in front of, operands first."""


def choice_plan(blocks: Iterable[Sequence[Block]], numbers: ValueNumbers) -> ChoicePlan:
    """The values to move in groups of bodies, each of which becomes one body."""
    plan: dict[Operation, list[SSAValue]] = {}
    for together in blocks:
        ops = [o for block in together for o in block.ops]
        choices = [o for o in ops if isinstance(o, tix.WhereOp)]
        outside = {numbers[o.results[0]] for o in ops if choices and _is_dear(o)}
        for choice, value in _shared(choices, outside, numbers):
            plan.setdefault(choice, []).append(value)
    return plan


def _shared(
    choices: Sequence[tix.WhereOp], outside: Collection[int], numbers: ValueNumbers
) -> list[tuple[tix.WhereOp, SSAValue]]:
    """The expensive values that several choices with the same test compute on one side, or that are
    computed outside, too; each with the first of its choices."""
    found: dict[tuple[Hashable, int, int], dict[tix.WhereOp, SSAValue]] = {}
    for choice in choices:
        test = choice.comparison, numbers[choice.lhs], numbers[choice.rhs]
        for side, region in enumerate(choice.regions):
            for op in filter(_is_dear, region.block.ops):
                (result,) = op.results
                found.setdefault((test, side, numbers[result]), {}).setdefault(choice, result)
    return [
        next(iter(places.items()))
        for (_, _, number), places in found.items()
        if len(places) > 1 or number in outside
    ]


def _is_dear(op: Operation) -> bool:
    nothing = (*FREE, tix.WhereOp, tix.IfOp)
    return not isinstance(op, nothing) and weight(op) >= COST_OF_FUNCTION
