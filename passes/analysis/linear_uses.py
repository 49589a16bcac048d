"""Linear uses of values: what an adjoint passes on without asking for their numbers.

    y = 2 * s + t        dy/ds = 2         linear in s: no adjoint asks for it
    y = s * t            dy/ds = t         the adjoint of t asks for s
    y = sqrt(s)          dy/ds = 0.5 / y   not linear

Sums, differences and products with numbers are linear, and what a choice or a sum makes of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import elementwise as ew


def adjoint_needs(value: SSAValue, definition: tix.DefineOp) -> bool:
    """True if an adjoint needs this value: it enters something otherwise than linearly.

    The exponential of it as the value of a definition is no need: its derivative is itself.
    """
    pending = {value: None}
    while pending:
        v, _ = pending.popitem()
        for use in v.uses:
            linear = linear_results(use.operation, v, definition)
            if linear is None:
                return True
            pending.update(dict.fromkeys(linear))
    return False


def linear_results(
    op: Operation, value: SSAValue, definition: tix.DefineOp
) -> Sequence[SSAValue] | None:
    """The results of an operation that `value` enters linearly; None where it enters otherwise."""
    match op:
        case ew.AddOp() | ew.SubOp() | ew.NegOp():
            return op.results
        case ew.MulOp() | ew.DivOp():
            other = op.rhs if op.lhs is value else op.lhs
            constant = tix.constant_value(other) is not None and op.lhs is not op.rhs
            linear = constant and (isinstance(op, ew.MulOp) or op.lhs is value)
            return op.results if linear else None
        case ew.ExpOp() if op.result is tix.yielded(definition.body):
            return ()
        case tix.YieldOp():
            parent = op.parent_op()
            if isinstance(parent, tix.ExtremumOp | tix.ProdOp):
                return None
            return parent.results if isinstance(parent, tix.IfOp | tix.WhereOp) else ()
        case _:
            return None
