"""The costs of operations, counted in additions: the one answer to what is dear.

The passes that ask set thresholds of their own: what is computed again rather than stored
(`outline_reductions`, `split_pullback`, `differentiation/forward_values`), and what a tile computes
ahead (`scheduling/tile_analysis`).
"""

from __future__ import annotations

from xdsl.ir import Operation

from tadc.dialects import tix
from tadc.dialects.tix import elementwise as ew

COST_OF_FUNCTION = 12
"""The cost of an elementary function, and of all that has no other cost."""

FREE = (tix.ConstantOp, tix.FloorDivOp, tix.YieldOp, ew.NegOp)
"""Operations that vanish into constants, addresses and signs."""

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
"""Functions of a few instructions; most powers have a small number as exponent."""


def weight(op: Operation) -> int:
    """The cost of an operation that is not `FREE`."""
    return 1 if isinstance(op, (tix.ReadOp, tix.IfOp, *CHEAP)) else COST_OF_FUNCTION
