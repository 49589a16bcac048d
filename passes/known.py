"""What is known where an operation stands: constraints on the indices around it.

`KnownScope` collects them while a pass copies a program.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from dialects import tix
from dialects.tix import Affine, Constraint, between
from passes.conditions import complement
from passes.emitter import Body, Emitter, Scope


class KnownScope(Scope):
    """A scope that copies with the constraints that hold at the place of the copy."""

    known: list[Constraint]

    def inner(
        self, emitter: Emitter, own: Sequence[SSAValue], new: Sequence[SSAValue]
    ) -> KnownScope:
        scope = super().inner(emitter, own, new)
        assert isinstance(scope, KnownScope)
        scope.known = list(getattr(self, "known", ()))
        return scope

    def copy_definition(
        self, op: tix.DefineOp, emitter: Emitter, own: Sequence[SSAValue]
    ) -> SSAValue:
        scope = self.inner(emitter, op.indices, own)
        scope.known = scope.constraints(op.constraints)
        return scope.copy_body(op.body)

    def copy(self, op: Operation) -> None:
        super().copy(op)
        if isinstance(op, tix.FloorDivOp):
            divisor = op.divisor.data
            rest = self.form(op.form) - self.form(Affine.of(op.result)) * divisor
            self.known += between(0, rest, divisor)

    def copy_if(self, op: tix.IfOp) -> SSAValue:
        pieces = [self.constraints(piece) for piece in op.condition]
        outside = complement(pieces) if len(pieces) == 1 else []
        then, otherwise = self.branch(op, pieces, 0), self.branch(op, outside, 1)
        return self.emitter.choose(pieces, then, otherwise)

    def branch(self, op: tix.IfOp, pieces: Sequence[Sequence[Constraint]], region: int) -> Body:
        """Copies one body of a condition, where one of `pieces` holds."""

        def body(e: Emitter, own: list[SSAValue]) -> SSAValue:
            scope = self.inner(e, [], [])
            if len(pieces) == 1:
                scope.known += pieces[0]
            return scope.copy_body(op.regions[region])

        return body

    def holds(self, constraint: Constraint) -> bool:
        """Is `constraint` implied by what is known here?"""
        space = Space(list(constraint.form.terms), self.known)
        return space.implied(constraint, space.rows(self.known) + space.sizes_not_negative())
