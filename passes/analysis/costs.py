"""The costs of operations, counted in additions: all passes ask here what is expensive.

The passes that ask set thresholds of their own: what is computed again rather than stored
(`outline_reductions`, `split_pullback`, `differentiation/forward_values`), and what a tile computes
ahead (`scheduling/tile_analysis`).
"""

from __future__ import annotations

from xdsl.ir import Operation

from tadc.dialects import tix
from tadc.dialects.tix import elementwise as ew
from tadc.passes.analysis.index_values import form_of

COST_OF_FUNCTION = 12
"""The cost of an elementary function, and of all that has no other cost."""

FREE = (tix.ConstantOp, tix.FloorDivOp, tix.AtOp, tix.YieldOp, ew.NegOp)
"""Operations that vanish into constants, addresses and signs."""

COST_OF_POWER = 4 * COST_OF_FUNCTION
"""The cost of a power whose exponent is a value: a logarithm and an exponential, more exact."""

ARITHMETIC = (ew.AddOp, ew.SubOp, ew.MulOp, ew.NegOp)
"""Single instructions that take as long as an addition."""

CHEAP = (
    *ARITHMETIC,
    ew.AbsOp,
    ew.MaximumOp,
    ew.MinimumOp,
    ew.PowOp,
    ew.StepOp,
    ew.ReluOp,
)
"""Functions of a few instructions; of powers, those with a number or an index as exponent."""


def weight(op: Operation) -> int:
    """The cost of an operation that is not `FREE`."""
    if isinstance(op, ew.PowOp) and not _is_by_count(op):
        return COST_OF_POWER
    return 1 if isinstance(op, (tix.ReadOp, tix.IfOp, *CHEAP)) else COST_OF_FUNCTION


def is_dear(op: Operation) -> bool:
    """True of a function, a division, and all else that takes as long."""
    return not isinstance(op, FREE) and weight(op) >= COST_OF_FUNCTION


def _is_by_count(op: ew.PowOp) -> bool:
    """True if an exponent is a number, or made of indices: mostly a small integer."""
    return tix.constant_value(op.rhs) is not None or form_of(op.rhs) is not None
