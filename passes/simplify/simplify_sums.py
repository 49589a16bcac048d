"""`simplify-sums`: sums over one point, factors, guards and constants.

    sum over k in {k >= p, k <= p} of E(k)          E(p)
    sum over k in {2 k <= p, 2 k + 1 >= p} of E(k)  E(p // 2)
    sum over k of c * E(k)                          c * sum over k of E(k)
    sum over k in {0 <= k < N} of c                 c * N
    sum over k in {k >= 0, k <= p} of c             c * (p + 1)                    if p >= -1
    sum over (k, l) in {0 <= k < N, l <= p} of c    c * N * sum over l in {l <= p} of 1
    if A { if B { E } else 0 } else 0               if A and B { E } else 0

and constants are folded wherever a copy meets them (`passes/rewriting/scalar_builder.py`). A factor
leaves a sum only where every element that it reads is provably there even if the sum is empty. What
is known in a place is not asked again: conditions that hold are dropped, bodies that cannot be
reached too. An empty sum is 0, whatever the factors of its terms are: so a factor that need not be
finite leaves only under a condition that there is a term, and so does one that may not be there
without a term of a window. It stays where conditions inside may leave out all terms, until
`absorb-conditions` has made them part of the set. Elements of tensors may be infinite or no
numbers. Only where sizes alone could leave a sum without terms, elements count as finite, and
`1 / x` does not.

Rounding may change by the reordering of products; nothing else does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import QuickOperation, operands_of
from tadc.dialects.tix import Affine, Constraint, between
from tadc.passes.analysis.properties import sums_bounded, sums_over_ranges
from tadc.passes.analysis.speculation import (
    is_number,
    is_number_product,
    is_speculatable_product,
)
from tadc.passes.index_sets.conditional_constants import absent_values
from tadc.passes.index_sets.context import ContextCloner
from tadc.passes.index_sets.disjuncts import negate, tightened
from tadc.passes.index_sets.space import conditions_of_a_point, implied_by
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.guards import is_guard
from tadc.passes.rewriting.products import Product, multiply
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import copy_program, type_of
from tadc.passes.scheduling.tiles.bounding_boxes import constant_length


@dataclass(frozen=True)
class SimplifySumsPass(LocalPass):
    """`simplify-sums`: no options."""

    name = "simplify-sums"
    requires = (sums_bounded,)
    leaves = (sums_bounded, sums_over_ranges)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return simplify_sums(program)


def simplify_sums(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with simpler sums and conditions."""
    return copy_program(program, _Simplifier)


class _Simplifier(ContextCloner):
    """Copies; reductions and conditions become simpler by what is known where they stand."""

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        """The reduction over the indices that have several values, where it has any terms."""
        if isinstance(op, tix.SumOp) and tix.constant_value(tix.yielded(op.body)) == 0:
            return self.builder.constant(0)
        cloner = self.inner(self.builder)
        free = [v for v in op.indices if not cloner.fix(v, op)]
        limits = [tightened(c) for c in cloner.constraints(op.constraints)]
        if any(map(_is_false, limits)):
            return self.builder.constant(op.IDENTITY)
        limits = [c for c in limits if c.form.terms]
        guards = [c for c in limits if not any(c.form[v] for v in free)]
        limits = [c for c in limits if c not in guards]
        guards = [c for c in guards if not cloner.holds(c)]
        if all(implied_by(c, limits) for c in guards) and not _needs(cloner, op, free, guards):
            guards = []  # where one fails there is no term anyway

        def guarded(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            inner = cloner.inner(e)
            inner.assume(guards)
            if not free:
                return inner.copy_body(op.body)
            if isinstance(op, tix.SumOp):
                return inner.factored_sum(op, free, limits)
            return inner.reduced(op, free, limits, lambda cloner: cloner.copy_body(op.body))

        return self.builder.guard(guards, guarded, op.IDENTITY)

    def fix(self, index: SSAValue, op: tix.ReductionOp) -> bool:
        """Give an index of a sum its only possible value, where there is at most one.

        From `m k <= e` and `m k >= e - c` with `0 <= c < m` follows `k = e // m`; whether that is a
        point of the set is for the constraints to say.
        """
        found = _single_value(index, op)
        if found is None:
            return False
        value, divisor = found
        form = self.form(value)
        if any(form[v] for v in op.indices):
            return False
        quotient = self.builder.floordiv(form, divisor)
        self.assume(between(0, form - quotient * divisor, divisor))
        self.indices[index] = quotient
        return True

    def reduced(
        self,
        op: tix.ReductionOp,
        free: Sequence[SSAValue],
        limits: Sequence[Constraint],
        value: Callable[[_Simplifier], SSAValue],
    ) -> SSAValue:
        """The reduction of `value` over these indices alone."""

        def domain(own: list[SSAValue]) -> list[Constraint]:
            return self.inner(self.builder, free, own).constraints(limits)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            cloner = self.inner(e, free, own)
            cloner.assume(cloner.constraints(limits))
            return value(cloner)

        return self.builder.reduce(type(op), [v.name_hint for v in free], domain, body)

    def factored_sum(
        self, op: tix.SumOp, free: Sequence[SSAValue], limits: Sequence[Constraint]
    ) -> SSAValue:
        """The sum, times the factors of its value that none of its indices enter."""
        product = Product.of(tix.yielded(op.body), op.body.block)
        conditions = conditions_of_a_point(free, limits)
        # what each term of a window reads is there where that has one
        is_window = all(constant_length(v, limits) is not None for v in free)
        has_terms = conditions is not None and is_window
        outside, inside = product.split(lambda v: self.can_leave(v, op, free))
        if has_terms:
            more, less = product.split(lambda v: self.can_leave(v, op, free, has_terms))
        else:
            more, less = outside, inside
        are_there = len(less.factors) == len(inside.factors)
        if are_there and is_number_product(outside):
            return self._factored(op, free, limits, outside, inside)
        conditions = None if conditions is None else [c for c in conditions if not self.holds(c)]
        if conditions and are_there and is_speculatable_product(outside):
            # sums over whole dimensions count as having terms
            conditions = [c for c in conditions if c.form.indices]
        if conditions is None or not absent_values(op.body).isdisjoint(inside.factors):
            outside, inside = product.split(lambda v: is_number(v) and self.can_leave(v, op, free))
            inside.take_divisors(outside)
            return self._factored(op, free, limits, outside, inside)

        def body(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            cloner = self.inner(e)
            cloner.assume(conditions)
            return cloner._factored(op, free, limits, more, less)

        return self.builder.guard(conditions, body)

    def _factored(
        self,
        op: tix.SumOp,
        free: Sequence[SSAValue],
        limits: Sequence[Constraint],
        outside: Product,
        inside: Product,
    ) -> SSAValue:
        counted = {} if inside.factors or inside.divisors else self._counted(op, free)
        left = [v for v in free if v not in counted]
        factors = [self.builder.index_to_real(size) for size in counted.values()]
        if left:
            limits = [c for c in limits if not any(c.form[v] for v in counted)]
            factors.append(self.reduced(op, left, limits, lambda cloner: multiply(cloner, inside)))
        return multiply(self, outside, factors)

    def _counted(self, op: tix.SumOp, free: Sequence[SSAValue]) -> dict[SSAValue, Affine]:
        """The indices of a sum that have so many values, whatever the others are."""
        counts = {v: self.form(count) for v in free if (count := _count(v, op)) is not None}
        return {v: count for v, count in counts.items() if self.holds(Constraint(count))}

    def can_leave(
        self, value: SSAValue, op: tix.SumOp, free: Sequence[SSAValue], has_terms: bool = False
    ) -> bool:
        """True if `value` depends on none of `free`, and all elements it reads are there anyway, as
        they are where the sum has terms."""
        pending, seen = [value], set[SSAValue]()
        reads: list[tix.ReadOp] = []
        while pending:
            v = pending.pop()
            owner = v.owner
            if v in seen or not isinstance(owner, QuickOperation) or not op.is_ancestor(owner):
                continue
            seen.add(v)
            every = [*owner.walk()]
            operands = [operand for o in every for operand in operands_of(o)]
            if any(v in free for v in operands):
                return False
            if any(isinstance(o, (tix.ReductionOp, tix.IfOp)) for o in every):
                return False
            reads += [o for o in every if isinstance(o, tix.ReadOp)]
            pending += operands
        return has_terms or all(map(self._in_range, reads))  # last: that takes proofs

    def _in_range(self, read: tix.ReadOp) -> bool:
        pairs = zip(read.forms, type_of(read.tensor).shape, strict=True)
        return all(self.holds(c) for form, size in pairs for c in between(0, self.form(form), size))

    def copy_if(self, op: tix.IfOp) -> SSAValue:
        disjuncts = [self._unknown(disjunct) for disjunct in op.condition]
        if any(not disjunct for disjunct in disjuncts):
            return self.inner(self.builder).copy_body(op.then)
        disjuncts = [disjunct for disjunct in disjuncts if not any(map(_is_false, disjunct))]
        if not disjuncts:
            return self.inner(self.builder).copy_body(op.otherwise)
        if is_guard(op):
            return self._merged(op, disjuncts[0])
        outside = [negate(disjuncts[0][0])] if _is_half_space(disjuncts) else []
        then, otherwise = self.branch(op, disjuncts, 0), self.branch(op, outside, 1)
        return self.builder.choose(disjuncts, then, otherwise)

    def _unknown(self, disjunct: Sequence[Constraint]) -> list[Constraint]:
        return [c for c in self.constraints(disjunct) if not self.holds(c)]

    def _merged(self, op: tix.IfOp, disjunct: list[Constraint]) -> SSAValue:
        """One condition for guards directly inside each other."""
        first = op.then.block.first_op
        if is_guard(first) and first.result is tix.yielded(op.then):
            inner = self.inner(self.builder)
            inner.assume(disjunct)
            return inner._merged_with(first, disjunct)
        return self.builder.guard(disjunct, self.branch(op, [disjunct], 0))

    def _merged_with(self, op: tix.IfOp, disjunct: list[Constraint]) -> SSAValue:
        (condition,) = op.condition
        return self._merged(op, [*disjunct, *self._unknown(condition)])


def _single_value(index: SSAValue, op: tix.ReductionOp) -> tuple[Affine, int] | None:
    """`e` and `m` such that `m k <= e <= m k + c` with `0 <= c < m`, if the set says so."""
    forms = [c.form for c in op.constraints if c.form[index] and not c.equality]
    for low, high in product(forms, forms):
        m = low[index]
        room = low + high
        if m > 0 and high[index] == -m and not room.terms and 0 <= room.constant < m:
            return high + Affine.of(index) * m, m
    return None


def _count(index: SSAValue, op: tix.ReductionOp) -> Affine | None:
    """The number of values of an index between two bounds, if no other index of the reduction
    changes it; negative where they are far apart the wrong way round."""
    around = [c for c in op.constraints if c.form[index]]
    if len(around) != 2 or any(c.equality for c in around):
        return None
    one, other = (c.form for c in around)
    if abs(one[index]) != 1 or one[index] + other[index]:
        return None
    count = one + other + 1
    return None if any(count[v] for v in op.indices) else count


def _is_false(constraint: Constraint) -> bool:
    """True for a constraint without indices and sizes that does not hold."""
    form = constraint.form
    return not form.terms and (form.constant != 0 if constraint.equality else form.constant < 0)


def _is_half_space(disjuncts: Sequence[Sequence[Constraint]]) -> bool:
    return len(disjuncts) == 1 and len(disjuncts[0]) == 1 and not disjuncts[0][0].equality


def _needs(
    at: _Simplifier, op: tix.ReductionOp, free: Sequence[SSAValue], guards: Sequence[Constraint]
) -> bool:
    """True if a reduction needs these guards: no index is left, or they let a factor leave it."""
    if not free or not isinstance(op, tix.SumOp):
        return not free
    inner = at.inner(at.builder)
    inner.assume(guards)
    product = Product.of(tix.yielded(op.body), op.body.block)
    return any(inner.can_leave(v, op, free) for v in (*product.factors, *product.divisors))
