"""Conditions that hold at a stage, checked where the next pass relies on them.

The verifiers of the dialect say what is well formed at every stage; these functions check what a
pass has made sure of. A program that breaks them raises `PassFailure` with the place and the
pass that would have been needed.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint
from tadc.passes.rewriting.failure import PassFailure
from tadc.passes.rewriting.programs import type_of


def require_bounded(program: tix.ProgramOp) -> None:
    """Every reduction gives each own index bounds in the indices before it: stage `bounded`."""
    for op in program.walk():
        if isinstance(op, tix.ReductionOp) and not _is_bounded(op):
            reason = "a sum is not bounded index by index; run infer-ranges first"
            raise PassFailure(op.location, reason)


def require_precision(program: tix.ProgramOp) -> None:
    """Every tensor has a machine type."""
    tensors = [*program.body.block.args, *(op.result for op in program.definitions)]
    if any(type_of(t).dtype == "real" for t in tensors):
        reason = "a tensor has elements of type real; run set-precision first"
        raise PassFailure(program.location, reason)


def require_no_views(program: tix.ProgramOp) -> None:
    """Every tensor is read and defined in the shape of its type."""
    for op in program.walk():
        if isinstance(op, tix.ReadOp | tix.DefineOp) and op.view is not None:
            reason = "a tensor is seen in another shape; merge-axes is for loops alone"
            raise PassFailure(op.location, reason)


def _is_bounded(op: tix.ReductionOp) -> bool:
    last = [_last_own(c, op) for c in op.constraints]
    if None in last or any(c.equality for c in op.constraints):
        return False
    signs = {(v, c.form[v] > 0) for v, c in zip(last, op.constraints, strict=True) if v}
    return all((v, positive) in signs for v in op.indices for positive in (True, False))


def _last_own(constraint: Constraint, op: tix.ReductionOp) -> SSAValue | None:
    """The index that a constraint bounds: the innermost own one that it holds."""
    held = [v for v in op.indices if constraint.form[v]]
    return held[-1] if held else None
