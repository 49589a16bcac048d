"""Values that can be computed in vectors along a row, the last of which is masked.

exp(x[i, j] - m[i])          along j: a vector of x, a number in all lanes, a function of vectors
x[j, i]                      none: neighbours along j lie apart
x[i, j] if j > i else 0      a masked read
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import BlockArgument, Operation, SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.access import ADJACENT, IN_ORDER, access
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.tiles.sum_lengths import is_short

LONGEST_ROW = 1 << 14
"""Elements of the longest row: with a row of each of several tensors, 64 KB of f32, a near cache
keeps the sums of a piece."""


def long_reductions(op: Operation) -> list[tix.ReductionOp]:
    """The reductions in an operation that are not unrolled where they stand."""
    return [o for o in op.walk() if isinstance(o, tix.ReductionOp) and not is_short(o)]


def rounding_reductions(op: Operation) -> list[tix.ReductionOp]:
    """The reductions in an operation, in which the order of terms matters."""
    return [r for r in long_reductions(op) if not isinstance(r, tix.ExtremumOp)]


def run_along(ops: Iterable[Operation], column: SSAValue, uses: IndexUses) -> bool:
    """True if these operations have forms for vectors along an index, of which lanes may be off."""
    return all(_runs_along(op, column, uses) for op in ops)


def _runs_along(op: Operation, column: SSAValue, uses: IndexUses) -> bool:
    match op:
        case tix.ConstantOp() | tix.UnaryOp() | tix.BinaryOp() | tix.YieldOp() | tix.WhereOp():
            return True
        case tix.ReadOp():
            return access(op, column, uses) in IN_ORDER
        case tix.ReductionOp():
            return is_short(op) and not any(isinstance(o, tix.IfOp) for o in op.body.walk())
        case tix.IfOp():
            used = [v for disjunct in op.condition for c in disjunct for v in c.form.indices]
            if not any(column in uses.of(v) for v in used):
                return True
            return all(isinstance(v, BlockArgument) for v in used) and all(
                _is_maskable(o, column, uses) for region in op.regions for o in region.walk()
            )
        case tix.IndexToRealOp():
            return not any(column in uses.of(v) and v is not column for v in op.form.indices)
        case _:
            return isinstance(op, tix.FloorDivOp) and column not in uses.of_operation(op)


def _is_maskable(op: Operation, column: SSAValue, uses: IndexUses) -> bool:
    """True if an operation can run under a mask."""
    return isinstance(op, tix.ConstantOp | tix.UnaryOp | tix.BinaryOp | tix.YieldOp) or (
        isinstance(op, tix.ReadOp) and access(op, column, uses) in ADJACENT
    )
