"""The index set of a definition, and the constraints of the quotients in index forms."""

from __future__ import annotations

from collections.abc import Iterable

from dialects import tix
from dialects.tix import Affine, Constraint, between


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
            for index, size in zip(op.indices, op.shape, strict=True)
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
