"""Terms that conditions leave out of sums, with all of their factors.

    sum[j]((a[i, j] if i < j else 0) * x[j])    there is no term where i >= j, whatever x[j] is

A choice by indices is absent at a point where it takes a number 0. So is a product of which one
factor is absent, a quotient of an absent number, a sum or a difference of two. In functions,
extrema and products over indices this 0 is a number like others.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import elementwise as ew
from tadc.interpreter.arrays import Array
from tadc.interpreter.points import Points


def values_in_terms(program: tix.ProgramOp) -> set[SSAValue]:
    """The values that may be absent: terms of sums, and their factors."""
    found: set[SSAValue] = set()
    pending = [tix.yielded(op.body) for op in program.walk() if isinstance(op, tix.SumOp)]
    while pending:
        value = pending.pop()
        if value not in found:
            found.add(value)
            pending += _parts(value.owner)
    return found


def _parts(op: object) -> list[SSAValue]:
    match op:
        case ew.MulOp() | ew.AddOp() | ew.SubOp() | ew.NegOp():
            return [*op.operands]
        case ew.DivOp():
            return [op.lhs]
        case tix.IfOp():
            return [tix.yielded(region) for region in op.regions]
        case _:
            return []


def absent_of(op: Operation, points: Points) -> Array | None:
    """The points at which a value is absent, since operands are; None: nowhere."""
    masks = [points.absent(v) for v in op.operands]
    there = [mask for mask in masks if mask is not None]
    match op:
        case ew.MulOp() if there:
            return np.logical_or.reduce(there)
        case ew.AddOp() | ew.SubOp() if len(there) == len(masks):
            return np.logical_and.reduce(there)
        case ew.DivOp():
            return masks[0]
        case ew.NegOp():
            return masks[0]
        case _:
            return None
