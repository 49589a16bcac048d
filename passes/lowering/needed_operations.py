"""Operations and bounds in the bodies around a value that are emitted before it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.rewriting.cloner import free_values


def bounds(
    at: BodyLowering, op: tix.ReductionOp, indices: Sequence[SSAValue]
) -> tuple[SSAValue, SSAValue]:
    """The bounds of the first of `indices`, which are the innermost ones of the sum."""
    provide_bounds(at, op)
    return at.bounds(op, indices)


def provide_bounds(at: BodyLowering, op: tix.ReductionOp) -> None:
    """Emit the operations on which the bounds of a sum depend."""
    for outer in missing(at, op.free_indices, ())[0]:
        at.operation(outer)


def missing(
    at: BodyLowering, roots: Iterable[SSAValue], available: Container[SSAValue]
) -> tuple[list[Operation], list[SSAValue]]:
    """The operations, in order, and the available values that `roots` depend on and `at` lacks.

    The operations may stand in enclosing bodies, which are emitted later than the sums in them.
    """
    ops: dict[Operation, None] = {}
    found: dict[SSAValue, None] = {}

    def visit(value: SSAValue) -> None:
        owner = value.owner
        if value in at.scalars or value in at.index.values or not isinstance(owner, Operation):
            return
        if value in available:
            found[value] = None
        elif owner not in ops and not isinstance(owner, tix.DefineOp):
            for v in (*owner.operands, *free_values(owner)):
                visit(v)
            ops[owner] = None

    for root in roots:
        visit(root)
    return list(ops), list(found)
