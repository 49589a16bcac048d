"""Constraints that hold at an operation: ranges of enclosing loops, branch conditions, quotients.

`ContextCloner` collects them while a pass copies a program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, between
from tadc.passes.index_sets.disjuncts import complement
from tadc.passes.index_sets.sets import (
    element_constraints,
    elements_of,
    index_set,
    local_constraints,
)
from tadc.passes.index_sets.space import Space, implied_by
from tadc.passes.rewriting.builder import Body, BodyBuilder
from tadc.passes.rewriting.cloner import Cloner


class ContextCloner(Cloner):
    """A cloner that copies with the constraints that hold at the place of the copy."""

    known: Sequence[Constraint] = ()
    """The constraints that hold at the place of the copy; a cloner inside starts with them."""

    def assume(self, constraints: Iterable[Constraint]) -> None:
        """Let these constraints hold for all that this cloner copies from now on."""
        self.known = (*self.known, *constraints)

    def copy_definition(
        self, op: tix.DefineOp, builder: BodyBuilder, own: Sequence[SSAValue]
    ) -> SSAValue:
        cloner = self.inner(builder, op.indices, own)
        cloner.known = tuple(cloner.constraints(index_set(op)))
        return cloner.copy_body(op.body)

    def copy(self, op: Operation) -> None:
        super().copy(op)
        if isinstance(op, tix.AtOp):
            self.assume(self.constraints(element_constraints(op)))
        if isinstance(op, tix.FloorDivOp):
            divisor = op.divisor.data
            form, quotient = self.form(op.form), self.form(Affine.of(op.result))
            self.assume(between(0, form - quotient * divisor, divisor))
            if quotient.terms and self.holds(Constraint(form)):
                self.assume([Constraint(quotient)])  # what rational numbers do not see

    def copy_if(self, op: tix.IfOp) -> SSAValue:
        return self.choice(op, op.condition)

    def choice(self, op: tix.IfOp, condition: Sequence[Sequence[Constraint]]) -> SSAValue:
        """Copies a choice, whose condition is this one here, in old indices."""
        disjuncts = [self.constraints(disjunct) for disjunct in condition]
        outside = complement(disjuncts) if len(disjuncts) == 1 else []
        then, otherwise = self.branch(op, disjuncts, 0), self.branch(op, outside, 1)
        return self.builder.choose(disjuncts, then, otherwise)

    def branch(self, op: tix.IfOp, disjuncts: Sequence[Sequence[Constraint]], region: int) -> Body:
        """Copies one body of a condition, where one of `disjuncts` holds."""

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            cloner = self.inner(e)
            if len(disjuncts) == 1:
                cloner.assume(disjuncts[0])
            return cloner.copy_body(op.regions[region])

        return body

    def holds(self, constraint: Constraint) -> bool:
        """True if the known constraints imply `constraint`."""
        space = Space(list(constraint.form.terms), self.known)
        return space.implied(constraint, space.rows(self.known) + space.sizes_not_negative())

    def can_read_ahead(self, forms: Iterable[Affine], op: Operation) -> bool:
        """True if the elements of index tensors in `op` that forms need are here, too: an element
        moves out of a reduction or a condition only where it is read inside of its tensor."""
        return all(
            self.holds(c)
            for element in elements_of(forms)
            if op.is_ancestor(element) and not element.is_clamped
            for form, size in zip(map(self.form, element.forms), element.shape, strict=True)
            for c in between(0, form, size)
        )


def stays_inside(op: Operation, known: Sequence[Constraint]) -> bool:
    """True if all elements that `op` reads are provably there wherever `known` holds: those of
    tensors, and those of index tensors that its indices are made of."""
    indices = [Affine.of(v) for v in op.operands if isinstance(v.owner, tix.LocalIndexOp)]
    if elements := elements_of(indices):
        known = [*known, *local_constraints(indices)]
        if not all(_is_inside(element, known) for element in elements):
            return False
    match op:
        case tix.ReadOp() | tix.AtOp():
            return _is_inside(op, known)
        case tix.ReductionOp():
            return _all_inside(op.body, [*known, *op.constraints])
        case tix.IfOp():
            outside = complement(op.condition, known)
            return all(
                _all_inside(op.then, [*known, *disjunct]) for disjunct in op.condition
            ) and all(_all_inside(op.otherwise, [*known, *disjunct]) for disjunct in outside)
        case tix.WhereOp():
            return all(_all_inside(region, known) for region in op.regions)
        case _:
            return True


def _is_inside(op: tix.ReadOp | tix.AtOp, known: Sequence[Constraint]) -> bool:
    """True if an element is provably there wherever `known` holds."""
    is_clamped = isinstance(op, tix.AtOp) and op.is_clamped
    return is_clamped or are_inside(op.forms, op.shape, known)


def are_inside(
    forms: Sequence[Affine], shape: Sequence[Affine], known: Sequence[Constraint]
) -> bool:
    """True if a place in a tensor of this shape is provably there wherever `known` holds."""
    pairs = zip(forms, shape, strict=True)
    limits = [c for form, size in pairs for c in between(0, form, size)]
    space = Space([], [*known, *limits])
    rows = space.rows(known) + space.sizes_not_negative()
    return all(space.implied(c, rows) for c in limits)


def is_bounded_inside(
    read: tix.ReadOp, known: Sequence[Constraint], bounds: Sequence[Constraint]
) -> bool:
    """True if a read is inside of its tensor wherever `known` holds, and each of `bounds` at a
    point of its own: so none of them may need another one."""
    limits = zip(read.forms, read.shape, strict=True)
    return all(
        implied_by(c, known) or any(implied_by(c, [*known, bound]) for bound in bounds)
        for form, size in limits
        for c in between(0, form, size)
    )


def _all_inside(region: Region, known: Sequence[Constraint]) -> bool:
    ops = list(region.block.ops)
    indices = [Affine.of(op.result) for op in ops if isinstance(op, tix.LocalIndexOp)]
    around = [*known, *local_constraints(indices)]
    return all(stays_inside(op, around) for op in ops)
