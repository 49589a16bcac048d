"""Guards: `E if condition else 0`, what most conditions in derivatives are."""

from __future__ import annotations

from typing import TypeGuard

from xdsl.ir import Region
from xdsl.rewriter import InsertPoint, Rewriter

from tadc.dialects import tix


def is_guard(op: object, identity: float = 0) -> TypeGuard[tix.IfOp]:
    """True if `op` is a value where one convex condition holds, and the identity elsewhere: 0, or
    that of the reduction whose terms are meant."""
    if not isinstance(op, tix.IfOp) or len(op.disjuncts) != 1:
        return False
    return tix.constant_value(tix.yielded(op.otherwise)) == identity


def take_branch(op: tix.IfOp | tix.WhereOp, branch: Region) -> None:
    """Put one branch of a choice in the place of the choice."""
    last = branch.block.last_op
    assert isinstance(last, tix.YieldOp)
    value = last.value
    Rewriter.erase_op(last)
    Rewriter.inline_block(branch.block, InsertPoint.before(op))
    op.result.replace_all_uses_with(value)
    Rewriter.erase_op(op)
