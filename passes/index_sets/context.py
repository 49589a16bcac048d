"""What is known where an operation stands: constraints on the indices around it.

`ContextCloner` collects them while a pass copies a program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Operation, Region, SSAValue

from dialects import tix
from dialects.tix import Affine, Constraint, between
from passes.index_sets.disjuncts import complement
from passes.index_sets.space import Space
from passes.rewriting.builder import Body, BodyBuilder
from passes.rewriting.cloner import Cloner


class ContextCloner(Cloner):
    """A cloner that copies with the constraints that hold at the place of the copy."""

    known: Sequence[Constraint] = ()
    """Those constraints; a cloner inside starts with them."""

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
        if isinstance(op, tix.FloorDivOp):
            divisor = op.divisor.data
            rest = self.form(op.form) - self.form(Affine.of(op.result)) * divisor
            self.assume(between(0, rest, divisor))

    def copy_if(self, op: tix.IfOp) -> SSAValue:
        disjuncts = [self.constraints(disjunct) for disjunct in op.condition]
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
        """Is `constraint` implied by what is known here?"""
        space = Space(list(constraint.form.terms), self.known)
        return space.implied(constraint, space.rows(self.known) + space.sizes_not_negative())


def index_set(op: tix.DefineOp) -> list[Constraint]:
    """Every index within its dimension, and what that says where the size is a derived one.

    `0 <= i < R` with `R = min((N - 2) floordiv 3, ...)` gives `3 * (i + 1) <= N - 2`.
    """
    program = op.parent_op()
    assert isinstance(program, tix.ProgramOp)
    bounds = {Affine.of(size.data.name): size.bounds for size in program.derived}
    return [
        *op.constraints,
        *(
            Constraint(form - (Affine.of(index) + 1) * divisor)
            for index, size in zip(op.indices, op.type.shape, strict=True)
            for form, divisor in bounds.get(size, ())
        ),
    ]


def quotient_constraints(op: tix.FloorDivOp) -> list[Constraint]:
    """`0 <= e - m q < m` for `q = e // m`."""
    divisor = op.divisor.data
    return between(0, op.form - Affine.of(op.result) * divisor, divisor)


def quotients_of(forms: Iterable[Affine]) -> list[tix.FloorDivOp]:
    """The quotients `e // m` that forms use, and those that these use."""
    pending = [v for form in forms for v in form.indices]
    found: dict[tix.FloorDivOp, None] = {}
    while pending:
        op = pending.pop().owner
        if isinstance(op, tix.FloorDivOp) and op not in found:
            found[op] = None
            pending += op.form.indices
    return list(found)


def stays_inside(op: Operation, known: Sequence[Constraint]) -> bool:
    """Are all elements that `op` reads provably there, wherever the constraints `known` hold?"""
    match op:
        case tix.ReadOp():
            limits = [
                c
                for form, size in zip(op.forms, op.tensor_type.shape, strict=True)
                for c in between(0, form, size)
            ]
            space = Space([], [*known, *limits])
            rows = space.rows(known) + space.sizes_not_negative()
            return all(space.implied(c, rows) for c in limits)
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


def _all_inside(region: Region, known: Sequence[Constraint]) -> bool:
    ops = list(region.block.ops)
    quotients = [c for q in ops if isinstance(q, tix.FloorDivOp) for c in quotient_constraints(q)]
    return all(stays_inside(op, [*known, *quotients]) for op in ops)
