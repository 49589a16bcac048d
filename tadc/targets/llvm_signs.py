"""Values that are never below 0, as sums of squares: `exp(-x)` of them needs no test for overflow.

They may be -0 and NaN, which no comparison with 0 finds below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr
from xdsl.ir import SSAValue


def is_never_negative(value: SSAValue) -> bool:
    """True if a real value, or vector, is certainly nowhere below 0.

    Takes time linear in the operations that it is computed by.
    """
    found: dict[SSAValue, bool] = {}
    pending = [value]
    while pending:
        v = pending[-1]
        missing = [w for w in _sources(v) if w not in found]
        if missing:
            pending += missing
            continue
        found[pending.pop()] = _follows(v) and all(found[w] for w in _sources(v))
    return found[value]


def _sources(value: SSAValue) -> Sequence[SSAValue]:
    """The values that must be so for this one to be: products of equal factors need none."""
    match op := value.owner:
        case arith.AddfOp():
            return op.operands
        case arith.MulfOp() | math.FmaOp() | vector.FMAOp():
            same = op.operands[0] is op.operands[1]
            return op.operands[2:] if same else op.operands
        case arith.DivfOp():
            return op.operands[:1]
        case vector.BroadcastOp():
            return op.operands
        case _:
            return ()


def _follows(value: SSAValue) -> bool:
    """True if a value is not below 0 where none of its sources is."""
    match op := value.owner:
        case arith.ConstantOp():
            return _least(op) >= 0
        case arith.DivfOp():  # by 0, which may be -0, it could be any infinity
            divisor = op.operands[1].owner
            return isinstance(divisor, arith.ConstantOp) and _least(divisor) > 0
        case arith.AddfOp() | arith.MulfOp() | math.FmaOp() | vector.FMAOp():
            return True
        case _:
            return isinstance(op, math.AbsFOp | math.ExpOp | vector.BroadcastOp)


def _least(op: arith.ConstantOp) -> float:
    """The least number of a constant, of those in all lanes; NaN for what is not real."""
    match op.value:
        case FloatAttr():
            return op.value.value.data
        case DenseIntOrFPElementsAttr():
            return min(cast("Iterator[float]", op.value.iter_values()))
        case _:
            return float("nan")
