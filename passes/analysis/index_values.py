"""Values that are affine forms of indices and sizes, as numbers: `m - 1` in `x[n] ** (m - 1)`."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.dialects.tix import elementwise as ew


def form_of(value: SSAValue) -> Affine | None:
    """The form that a value is; None of any other value."""
    match value.owner:
        case tix.ConstantOp() as op:
            number = op.value.data
            return Affine(constant=int(number)) if number.is_integer() else None
        case tix.IndexToRealOp() as op:
            return op.form
        case ew.NegOp() as op:
            inner = form_of(op.operand)
            return None if inner is None else -inner
        case (ew.AddOp() | ew.SubOp()) as op:
            a, b = form_of(op.lhs), form_of(op.rhs)
            if a is None or b is None:
                return None
            return a + b if isinstance(op, ew.AddOp) else a - b
        case _:
            return None
