"""Values that are 0 in the lanes that a mask leaves out, as what is read there is 0.

    x[j - 1 ... j + 14] * w        0 where nothing of x is read, if w is finite

Where `w` is infinite or NaN, they are NaN, and so is every sum to which they are added.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import CompareLanesOp, SelectLanesOp
from tadc.dialects.tix import elementwise as ew
from tadc.passes.analysis.access import MASKED_STEPS
from tadc.passes.lowering.lanes.lanes_lowering import LanesLowering
from tadc.passes.lowering.loop_builders import any_of


def has_zeros(at: LanesLowering, value: SSAValue) -> bool:
    """True if a value is 0 in the lanes that the mask leaves out, provided that the factors of
    products are finite."""
    match value.owner:
        case tix.ReadOp() as op:
            is_masked = at.tile.column_index in at.uses.of_operation(op)
            is_masked &= op.result not in at.panels and not at.is_loaded(op)
            return is_masked and at.step(op) in MASKED_STEPS
        case tix.IfOp() as op:  # as of padding
            otherwise = tix.constant_value(tix.yielded(op.otherwise))
            return otherwise == 0.0 and has_zeros(at, tix.yielded(op.then))
        case ew.MulOp() as op:
            return any(has_zeros(at, factor) for factor in op.operands)
        case _:
            return False


def any_nan(at: LanesLowering, sum_: tix.SumOp, values: Iterable[SSAValue]) -> SSAValue:
    """A bit that says whether any lane of these values is NaN."""
    lanes = any_of(at, [at.insert(CompareLanesOp("une", v, v)).result for v in values])
    one, zero = (at.splat(at.constant(n)) for n in (1.0, 0.0))
    count = at.all_lanes(sum_, at.insert(SelectLanesOp(lanes, one, zero)).result)
    return at.insert(arith.CmpfOp(count, at.constant(0.0), "une")).result
