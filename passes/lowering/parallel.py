"""Parallel loops, and the pieces of a range that their iterations take.

    loops.parallel (%i, %piece) to (%I, (%J + 511) / 512) {
      %low = %piece * 512
      %high = min(%J, %low + 512)
      ...
    }

The last piece of a range may be shorter than the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, Self, TypeVar

from xdsl.ir import Block, Region, SSAValue

from tadc.dialects.loops import ParallelOp
from tadc.dialects.quick import INDEX, block_with
from tadc.passes.lowering.scalars.body_lowering import BodyLowering


class Lowering(Protocol):
    """Emits operations into a block."""

    def inside(self, block: Block) -> Self:
        """The lowering of a nested block."""
        ...


L = TypeVar("L", bound=Lowering)


def parallel(
    outer: L,
    sizes: Sequence[SSAValue],
    hints: Sequence[SSAValue | str],
    fill: Callable[[L, Sequence[SSAValue]], None],
    supersteps: int = 1,
) -> ParallelOp:
    """`loops.parallel` over [0, size) of each index, its block filled by `fill`.

    An index is called as its hint is, or like that value.
    """
    body = block_with([INDEX] * len(sizes))
    for index, hint in zip(body.args, hints, strict=True):
        index.name_hint = hint if isinstance(hint, str) else hint.name_hint
    fill(outer.inside(body), body.args)
    return ParallelOp(sizes, Region(body), supersteps)


def piece_of(
    at: BodyLowering, number: SSAValue, width: SSAValue, size: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """The bounds of a piece of [0, size); all pieces but the last are `width` long."""
    low = at.index.mul(number, width)
    return low, at.index.min(size, at.index.add(low, width))
