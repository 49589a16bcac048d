"""`join-guards`: a sum of values of which at most one is not 0 becomes a choice between them.

    (A if i == 0 else 0) + (B if i >= 1 and j == 0 else 0)

where `i >= 0` is known, becomes

    A if i == 0 else (B if j == 0 else 0)

since `A + 0 = A`, and `i >= 1` holds wherever `i == 0` does not. A condition with `or` around a
read is cut into disjoint disjuncts when it is derived, each with a sum of its own. Where these sums
are over one point, such guards are left of them, and each addition would only add zeros. Where `A`
and `B` are the same, that is one choice with both conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tadc.dialects import tix
from tadc.dialects.tix import Constraint
from tadc.dialects.tix import elementwise as ew
from tadc.passes.analysis.properties import sums_bounded, sums_over_ranges
from tadc.passes.index_sets.context import ContextCloner
from tadc.passes.index_sets.disjuncts import complement, negate
from tadc.passes.index_sets.space import feasible
from tadc.passes.rewriting.guards import is_guard, take_branch
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import copy_program


@dataclass(frozen=True)
class JoinGuardsPass(LocalPass):
    """`join-guards`: no options."""

    name = "join-guards"
    requires = leaves = (sums_bounded, sums_over_ranges)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return join_guards(program)


def join_guards(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with choices instead of sums; itself where nothing adds two guards."""
    additions = [op for d in program.definitions for op in d.walk() if isinstance(op, ew.AddOp)]
    if not any(is_guard(op.lhs.owner) and is_guard(op.rhs.owner) for op in additions):
        return program
    return copy_program(program, _Joiner)


class _Joiner(ContextCloner):
    """Copies; what is added to a guard, and is 0 wherever that is not, moves into it."""

    def copy(self, op: Operation) -> None:
        if not isinstance(op, ew.AddOp) or not self._join(op):
            super().copy(op)

    def _join(self, op: ew.AddOp) -> bool:
        x, y = self.value(op.lhs), self.value(op.rhs)
        first, second = x.owner, y.owner
        chain = _chain(first)
        once = all(len(list(v.uses)) == 1 for v in op.operands) and not (x.uses or y.uses)
        if not once or not chain or not is_guard(second):
            return False
        (disjunct,) = second.condition
        disjuncts = [p for choice in chain for p in choice.condition]
        if any(feasible([*self.known, *p, *disjunct]) for p in disjuncts):
            return False
        for each in (chain[0], second):  # behind all that the conditions use
            each.detach()
        self.builder.block.add_op(chain[0])
        same = next((c for c in chain if c.then.is_structurally_equivalent(second.then)), None)
        if same is None:
            _replace_zero(chain[-1].otherwise, second)
            self._drop_known(second, disjunct, disjuncts)
        else:
            widened = _widened(same, disjunct)
            x = widened.result if same is first else x
            second.drop_all_references()
        self.values[op.result] = x
        return True

    def _drop_known(
        self, op: tix.IfOp, disjunct: Sequence[Constraint], before: Sequence[Sequence[Constraint]]
    ) -> None:
        """Ask nothing that holds anyway where none of the conditions `before` does."""
        left = list(disjunct)
        for c in disjunct:
            others = [other for other in left if other != c]
            contexts = ([*self.known, *others, outside] for outside in negate(c))
            if not any(complement(before, context) for context in contexts):
                left = others
        if not left:
            take_branch(op, op.then)
        elif len(left) < len(disjunct):
            regions = [op.detach_region(region) for region in list(op.regions)]
            Rewriter.replace_op(op, tix.IfOp([left], *regions))


def _widened(op: tix.IfOp, disjunct: Sequence[Constraint]) -> tix.IfOp:
    """Put a choice in the place of `op` that takes its first side where `disjunct` holds, too."""
    regions = [op.detach_region(region) for region in list(op.regions)]
    wide = tix.IfOp([*op.condition, disjunct], *regions)
    wide.location = op.location
    Rewriter.replace_op(op, wide)
    return wide


def _chain(op: object) -> list[tix.IfOp]:
    """`A if ... else (B if ... else 0)` as its choices; empty where the last value is not 0."""
    found: list[tix.IfOp] = []
    while isinstance(op, tix.IfOp):
        found.append(op)
        last = tix.yielded(op.otherwise)
        if tix.constant_value(last) == 0:
            return found
        op = last.owner if last.owner.parent is op.otherwise.block else None
    return []


def _replace_zero(region: Region, op: tix.IfOp) -> None:
    """Have the region yield the value of `op`, which moves there."""
    last = region.block.last_op
    assert isinstance(last, tix.YieldOp)
    zero: SSAValue = last.value
    region.block.insert_op_before(op, last)
    last.operands[0] = op.result
    if isinstance(zero.owner, Operation) and not zero.uses:
        Rewriter.erase_op(zero.owner)
