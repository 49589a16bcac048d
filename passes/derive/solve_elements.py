"""`solve-elements`: indices of a sum that equal elements of index tensors need no loop.

    ds[e] = sum[q, seg[e] == q](dy[q])        becomes        ds[e] = dy[seg[e]]

An equation in the guard of all terms gives such an index, where the elements in it do not depend
on that index. They may depend on others of the sum:

    dx[p, k] = sum[i, e, dst[e] == i and src[e] == p](dy[i, k] * c[e])
    dx[p, k] = sum[e, src[e] == p](dy[dst[e], k] * c[e])

What bounds the index is a condition on the element then. Another index of the sum that only this
one bounds is that of a sum inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.index_sets.conditional_constants import indices_of
from tadc.passes.index_sets.context import are_inside
from tadc.passes.index_sets.sets import elements_of, local_constraints, local_indices
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.guards import is_guard
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import copy_program


@dataclass(frozen=True)
class SolveElementsPass(LocalPass):
    """`solve-elements`: no options."""

    name = "solve-elements"

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return solve_elements(program)


def solve_elements(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program without such indices; itself where it has none."""
    while any(_solution(op) for op in program.walk() if isinstance(op, tix.SumOp)):
        program = copy_program(program, _Solver)
    return program


def _solution(op: tix.SumOp) -> tuple[SSAValue, Affine] | None:
    """An own index, and the form with elements of index tensors that it equals."""
    guard = tix.yielded(op.body).owner
    if not is_guard(guard) or guard.parent is not op.body.block:
        return None
    (disjunct,) = guard.condition
    for c in disjunct:
        if c.equality and elements_of([c.form]):
            for v in op.indices:
                if abs(c.form[v]) == 1 and all(abs(b.form[v]) <= 1 for b in op.constraints):
                    form = (c.form - Affine.of(v) * c.form[v]) * -c.form[v]
                    if not {v, *_bounded_by(v, op)} & indices_of(form.indices):
                        return v, form
    return None


def _without(index: SSAValue, op: tix.ReductionOp) -> list[Constraint]:
    """The index set of a reduction, projected along an index whose coefficients are 1 and -1.

    That is exact for integers: some value of the index is at least all of its lower ends, and at
    most all of its upper ones, just where each of these is at least each of those.
    """
    rest = [c for c in op.constraints if not c.form[index]]
    halves = [h for c in op.constraints if c.form[index] for h in _inequalities(c)]
    lower = [form for form in halves if form[index] > 0]
    upper = [form for form in halves if form[index] < 0]
    joined = [Constraint(low + high) for low in lower for high in upper]
    # the others follow from what the term asks of the element
    return rest + [c for c in joined if {*c.form.indices} & {*op.indices}]


def _bounded_by(index: SSAValue, op: tix.ReductionOp) -> list[SSAValue]:
    """The other indices of a reduction that have no bounds without this one: those of a sum inside,
    once it is an element."""
    others = [v for v in op.indices if v is not index]
    return [v for v in others if not _has_bounds(v, _without(index, op))]


def _has_bounds(index: SSAValue, constraints: Sequence[Constraint]) -> bool:
    """True if an index has bounds on both sides."""
    sides = {(c.form[index] > 0) for c in constraints if c.form[index]}
    return len(sides) == 2 or any(c.equality and c.form[index] for c in constraints)


def _inequalities(constraint: Constraint) -> list[Affine]:
    """The forms that are not negative where the constraint holds."""
    return [constraint.form, -constraint.form] if constraint.equality else [constraint.form]


class _Solver(Cloner):
    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        found = _solution(op) if isinstance(op, tix.SumOp) else None
        if found is None:
            return super().copy_reduction(op)
        index, form = found
        about = [c for c in op.constraints if c.form[index]]
        nested = _bounded_by(index, op)
        outside = [v for v in op.indices if v is not index and v not in nested]

        def domain(own: list[SSAValue]) -> list[Constraint]:
            rest = [c for c in _without(index, op) if not any(c.form[v] for v in nested)]
            return self.inner(self.builder, outside, own).constraints(rest)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            cloner = self.inner(e, outside, own)
            for local in local_indices([form]):
                cloner.fetch(local.result)
            cloner.indices[index] = cloner.form(form)
            if nested:
                return cloner.rest_of(op, nested, index)
            return cloner.under_one_guard(op, about, index)

        if not outside:
            return self.builder.guard(domain([]), body)
        return self.builder.sum([v.name_hint for v in outside], domain, body)

    def under_one_guard(
        self, op: tix.ReductionOp, about: Sequence[Constraint], index: SSAValue
    ) -> SSAValue:
        """The term of a reduction where `about` holds, too: in its own guard, so that the next
        index is found there."""
        guard = tix.yielded(op.body).owner
        assert isinstance(guard, tix.IfOp)
        for inner in op.body.block.ops:
            if isinstance(inner, tix.AtOp) and index in indices_of(inner.indices):
                self.indices[inner.result] = self._before_guard(inner, index, op)
            elif inner is not guard and not isinstance(inner, tix.YieldOp):
                self.copy(inner)
        conditions = self.constraints([*about, *guard.condition[0]])
        return self.builder.guard(conditions, lambda e, _: self.inner(e).copy_body(guard.then))

    def _before_guard(self, element: tix.AtOp, index: SSAValue, op: tix.ReductionOp) -> Affine:
        """An element at a place that perhaps the guard alone tells to be there: the nearest one."""
        forms = [self.form(f) for f in element.forms]
        known = [
            *self.constraints([c for c in op.constraints if not c.form[index]]),
            *local_constraints(forms),
        ]
        clamp = element.is_clamped or not are_inside(forms, element.shape, known)
        return self.builder.at(self.value(element.tensor), forms, clamp)

    def rest_of(self, op: tix.ReductionOp, own: Sequence[SSAValue], index: SSAValue) -> SSAValue:
        """The sum over these indices alone, where the others have values."""
        limits = [c for c in op.constraints if any(c.form[v] for v in (*own, index))]

        def domain(new: list[SSAValue]) -> list[Constraint]:
            return self.inner(self.builder, own, new).constraints(limits)

        def body(e: BodyBuilder, new: list[SSAValue]) -> SSAValue:
            return self.inner(e, own, new).copy_body(op.body)

        return self.builder.sum([v.name_hint for v in own], domain, body)
