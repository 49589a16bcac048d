"""Intervals: the values that a loop gives to its index.

    parallel j by 64          parts of 64 values, the last one of fewer
      for j                   the values of one part, as `parallel` leaves them

Loops inside of others over the same axis run over what these leave: that is strip-mining.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine
from tadc.passes.analysis.size_bounds import ANY_SIZE, Bounds
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.scheduling.loop_tree.nodes import AtMost, Axis


@dataclass(frozen=True)
class Interval:
    """The bounds of a loop: all values of an axis, or a part of them."""

    low: SSAValue
    """The first value."""
    high: SSAValue
    """The value behind the last one."""
    length: Bounds = ANY_SIZE
    """The bounds of the number of values."""
    step: int = 0
    """The length of each part but the last, where the range is cut into equal parts; else 0."""
    from_line: bool = False
    """True if values are counted from the start of the cache line in which a row begins."""


def size_of(at: BodyLowering, axis: Axis) -> SSAValue:
    """The number of values of an axis of results."""
    assert isinstance(axis.range, Affine), "loops over terms have bounds"
    return at.index.floordiv(axis.range + (axis.divisor - 1), axis.divisor)


def holds(at: BodyLowering, limit: AtMost) -> SSAValue:
    """A bit that says whether sizes are within a limit."""
    length = reduce(at.index.mul, map(at.index.form, limit.sizes))
    most = at.index.constant(limit.number)
    return at.index.once(("short", length), lambda: arith.CmpiOp(length, most, "sle"))
