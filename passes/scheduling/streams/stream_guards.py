"""Guards of a stream: choices that differ along its rows, for which vectors at borders have masks.

y[i, j] = x[i, j - 1] if j > 0 else 0                               a guard: j > 0
y[i, j] = sum[t in range(3)](x[i, j + t] if j + t < N else 0)       one for all terms: j + 2 < N
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.tiles.sum_lengths import constant_range


def is_guard(op: tix.IfOp, column: SSAValue, uses: IndexUses) -> bool:
    """True if the condition differs along the column, or is a test of a term of a window."""
    forms = [c.form for disjunct in op.condition for c in disjunct]
    used = {used for form in forms for v in form.indices for used in uses.of(v)}
    return column in used or any(isinstance(owner_of(v), tix.ReductionOp) for v in used)


def guards_of(op: tix.DefineOp, uses: IndexUses) -> list[tix.IfOp]:
    """The choices of a definition that differ along its last index."""
    return [o for o in op.walk() if isinstance(o, tix.IfOp) and is_guard(o, op.indices[-1], uses)]


def owner_of(index: SSAValue) -> Operation | None:
    """The operation that an index belongs to."""
    return index.owner.parent_op() if isinstance(index.owner, Block) else None


def for_all_terms(constraint: Constraint) -> Constraint:
    """An inequality at the hardest term of each window around it: it then holds for all terms."""
    hardest: dict[Variable, Affine] = {}
    for v in constraint.form.indices:
        if isinstance(window := owner_of(v), tix.ReductionOp):
            first, length = constant_range(window, v) or (0, 1)
            end = first if constraint.form[v] > 0 else first + length - 1
            hardest[v] = Affine(constant=end)
    return constraint.substitute(hardest)
