"""`infer-ranges`: give every index of a sum bounds, each affine in the indices around it.

The constraints of a sum, in any form, become by Fourier-Motzkin elimination (paper, 4.2, eq. 45)
a list in which index after index has lower and upper bounds in the indices before it, in the
indices around the sum and in sizes. Constraints without own indices are guards: they move to a
`tix.if` around the sum. What the surroundings imply - ranges of the definition and of outer sums,
guards, definitions of quotients, sizes being at least 0 - is left out.

    %2 = tix.sum (%j) in (%p == 2 * %t, %p >= 4 * %j, 4 * %j + 8 >= %p, %j >= 0, %j <= 4) {...}

becomes

    %2 = tix.if (%p == 2 * %t) {
      %3 = tix.sum (%j) in (%j >= 0, 4 * %j + 8 >= %p, %j <= 4, %p >= 4 * %j) {...}

Elimination is exponential in the number of indices, in principle: a sum that needs more than 500
inequalities on the way is refused. Reads of six indices through two equations need about 20.

On entry no equation holds an own index (`solve-index-kernels`). On exit every sum is *bounded*:
each constraint holds an own index, and bounds the last one that it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint
from tadc.passes.analysis.properties import equations_solved, sums_bounded
from tadc.passes.index_sets.context import ContextCloner
from tadc.passes.index_sets.space import Space, require_short_numbers
from tadc.passes.polyhedral.fourier_motzkin import BudgetError
from tadc.passes.polyhedral.loop_nests import LoopNest, Unbounded, implied_by_integers, loop_nest
from tadc.passes.polyhedral.matrix import Row
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.failure import PassFailure
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import copy_program, has_reductions

MOST_INEQUALITIES = 500
"""The number of inequalities between the other indices that may follow from those of one index."""


@dataclass(frozen=True)
class InferRangesPass(LocalPass):
    """`infer-ranges`: no options."""

    name = "infer-ranges"
    requires = (equations_solved,)
    leaves = (equations_solved, sums_bounded)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return infer_ranges(program)


def infer_ranges(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with bounded sums; itself where there are no reductions."""
    if not has_reductions(program):
        return program
    return copy_program(program, _Bounder)


class _Bounder(ContextCloner):
    """Copies; sums become bounded on the way."""

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        constraints = self.constraints(op.constraints)  # own indices stay the old ones here
        order = _loop_order(op)
        system = _System(op, order, constraints, self.known)
        bounds = system.bounds()
        if bounds is None:
            return self.builder.constant(op.IDENTITY)
        guards, limits = bounds
        require_short_numbers(op.location, [c.form for c in (*guards, *limits)])

        def domain(own: list[SSAValue]) -> list[Constraint]:
            return self.inner(self.builder, order, own).constraints(limits)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            cloner = self.inner(e, order, own)
            cloner.assume([*guards, *cloner.constraints(limits)])
            return cloner.copy_body(op.body)

        names = [v.name_hint for v in order]
        return self.builder.guard(
            guards, lambda e, _: e.reduce(type(op), names, domain, body), op.IDENTITY
        )


def _loop_order(op: tix.ReductionOp) -> list[SSAValue]:
    """Own indices, outermost first: innermost the one along which most reads have stride 1."""
    reads = [r for r in op.body.walk() if isinstance(r, tix.ReadOp) and r.forms]

    def unit_strides(v: SSAValue) -> int:
        return sum(abs(r.forms[-1][v]) == 1 and not any(f[v] for f in r.forms[:-1]) for r in reads)

    best = max((unit_strides(v) for v in op.indices), default=0)
    inner = [v for v in op.indices if unit_strides(v) == best][-1:]
    return [v for v in op.indices if v not in inner] + inner


class _System:
    """The constraints of one sum as rows over (own indices, outer indices and sizes, 1)."""

    def __init__(
        self,
        op: tix.ReductionOp,
        order: Sequence[SSAValue],
        constraints: Sequence[Constraint],
        known: Sequence[Constraint],
    ):
        self.op = op
        self.order = order
        self.known = known
        free = [c for c in constraints if not any(c.form[v] for v in order)]
        self.equations = [c for c in free if c.equality]
        self.inequalities = [c for c in constraints if not c.equality]
        self.space = Space(order, [*constraints, *known])

    def bounds(self) -> tuple[list[Constraint], list[Constraint]] | None:
        """The guards, and the bounds of the own indices in order; None if the sum is empty."""
        context = self.space.rows([*self.known, *self.equations]) + self.space.sizes_not_negative()
        rows = self.space.rows(self.inequalities)
        try:
            bounds = loop_nest(rows, len(self.order), context, exact=True, budget=MOST_INEQUALITIES)
        except Unbounded as error:
            name = self.order[error.variable].name_hint
            reason = f"the sum over {name} has no {error.direction} bound"
            raise PassFailure(self.op.location, reason) from None
        except BudgetError:
            raise PassFailure(self.op.location, self._too_many()) from None
        return None if bounds.empty else self._constraints(bounds)

    def _too_many(self) -> str:
        names = ", ".join(v.name_hint for v in self.order if v.name_hint)  # quotients have none
        return (
            f"the bounds of the sum over {names} take more than {MOST_INEQUALITIES} inequalities: "
            "conditions of fewer indices each take less, and so does a sum in parts"
        )

    def _constraints(self, bounds: LoopNest) -> tuple[list[Constraint], list[Constraint]]:
        sides = zip(bounds.lower, bounds.upper, strict=True)
        limits = [row for low, high in sides for row in (*low, *high)]
        known = self.space.rows(self.known) + self.space.sizes_not_negative()
        needed = self._needed_equations([*known, *bounds.guards, *limits])
        guards = [*needed, *(self.space.constraint(row) for row in bounds.guards)]
        return guards, [self.space.constraint(row) for row in limits]

    def _needed_equations(self, rows: Sequence[Row]) -> list[Constraint]:
        """The equations that `rows` and the other ones do not imply."""
        needed = list(self.equations)
        for equation in self.equations:
            others = [c for c in needed if c is not equation]
            around = [*rows, *self.space.rows(others)]
            if all(implied_by_integers(row, around) for row in self.space.rows([equation])):
                needed = others
        return needed
