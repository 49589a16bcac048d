"""Terms of a block that read at some column what another term reads at another column.

    y[i] = sum[k](x[i + k] * w[k])          x[i + k + 16], of lanes i, is x[i' + k] of i' = i + 16

Terms a vector apart are written out side by side, so that each vector is loaded once for all of
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.lowering.blocks.triangular_sums import Sums
from tadc.passes.lowering.lanes.lane_choices import LaneChoices
from tadc.passes.lowering.loop_builders import carrying_loop
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.tails import end_of_whole
from tadc.passes.scheduling.tiles.sum_lengths import constant_range

BlockT = TypeVar("BlockT", bound=LaneChoices)

SHIFTED_TERMS = 4
"""The number of terms unrolled together: the vectors that fit into registers besides sums."""


def shifts(at: LaneChoices, op: tix.ReductionOp, index: SSAValue) -> bool:
    """True if a read moves by one element along `index` and along columns, as `x[i + k]`."""
    column = at.tile.column_index
    reads = (o for o in op.body.walk() if isinstance(o, tix.ReadOp) and o.forms)
    return any(abs(r.forms[-1][column]) == abs(r.forms[-1][index]) == 1 for r in reads)


def all_are_shifted(at: LaneChoices, op: tix.ReductionOp, index: SSAValue, slopes: bool) -> bool:
    """True if the trip count is a known multiple of the terms unrolled: no remainder is left.

    `slopes` says if columns have different terms.
    """
    found = None if index in at.ranges or slopes else constant_range(op, index)
    return found is not None and found[1] % (SHIFTED_TERMS * at.lanes) == 0


def add_shifted(
    block: BlockT,
    op: tix.ReductionOp,
    low: SSAValue,
    high: SSAValue,
    sums: Sums,
    add: Callable[[BlockT, Sums], Sums],
) -> tuple[SSAValue, Sums]:
    """Add terms in groups a vector apart; give the first term that is left, and the sums.

    `add` adds one term.
    """
    index = op.indices[-1]
    size = SHIFTED_TERMS * block.lanes
    width, lanes = block.index.constant(size), block.index.constant(block.lanes)
    one, end = block.index.constant(1), block.index.max(low, end_of_whole(block, low, high, width))

    def part(at: BodyLowering, first: SSAValue, carried: Sums) -> Sums:
        last = at.index.add(first, lanes)
        return carrying_loop(at, first, last, one, index.name_hint, carried, terms)

    def terms(at: BodyLowering, k: SSAValue, carried: Sums) -> Sums:
        assert isinstance(at, type(block))
        at.index.values[index] = k
        for n in range(SHIFTED_TERMS):
            inner = at.apart()
            inner.index = at.index.placed({index: Affine.of(index) + n * at.lanes})
            carried = add(inner, carried)
        return carried

    return end, carrying_loop(block, low, end, width, "part", sums, part)
