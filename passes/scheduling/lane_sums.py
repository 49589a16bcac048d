"""Sums over several indices, the innermost of a known length: one partial sum per value of it.

    sum[j, k](E(j, k)),  k < 64                 for j { for k < 64 { lane[k] += E(j, k) } }
                                                sum of lane

The plain nest adds the 64 terms of each j to one number, and ends every j by adding the elements of
a vector to each other, which takes longer than the 64 terms. Here that happens once. It needs reads
that lie side by side along k.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue

from dialects import tix
from passes.scheduling.body_lowering import BodyLowering
from passes.scheduling.elementary import CONTRACT, REASSOCIATED
from passes.scheduling.emit import load, loop, store, zeroed
from passes.scheduling.index_uses import IndexUses
from passes.scheduling.tile_analysis import constant_range, is_short, stride
from passes.scheduling.tile_body import bounds

FEWEST_LANES, MOST_LANES = 16, 256
"""Lengths of the innermost index for which this pays."""


class LaneLowering(BodyLowering):
    """Emits such sums in lanes, all else as `BodyLowering` does."""

    def _sum(self, op: tix.SumOp, own: Sequence[SSAValue], start: SSAValue) -> SSAValue:
        if (
            len(own) < 2
            or op in self.as_written
            or len(own) < len(op.indices)
            or not _has_lanes(op)
        ):
            return super()._sum(op, own, start)
        low, length = constant_range(op, own[-1]) or (0, 0)
        lanes = zeroed(self, length, "lanes")
        self._add_terms(op, op.indices, lanes, low, length)
        return self._total(lanes, length, start)

    def _add_terms(
        self, op: tix.SumOp, own: Sequence[SSAValue], lanes: SSAValue, low: int, length: int
    ) -> None:
        index, *rest = own

        def term(inner: BodyLowering, k: SSAValue) -> None:
            first = inner.index.constant(low)
            inner.index.values[index] = inner.index.add(k, first) if low else k
            total = arith.AddfOp(load(inner, lanes, k), inner.region(op.body), CONTRACT)
            store(inner, inner.insert(total).result, lanes, k)

        def outer(inner: BodyLowering, k: SSAValue) -> None:
            assert isinstance(inner, LaneLowering)
            inner.index.values[index] = k
            inner._add_terms(op, rest, lanes, low, length)

        if rest:
            begin, end = bounds(self, op, own)
            loop(self, begin, end, index.name_hint, outer)
        else:
            zero = self.index.constant(0)
            loop(self, zero, self.index.constant(length), index.name_hint, term)

    def _total(self, lanes: SSAValue, length: int, start: SSAValue) -> SSAValue:
        block = Block(arg_types=[IndexType(), self.element])
        inner = self.inside(block)
        value = load(inner, lanes, block.args[0])
        block.add_op(
            scf.YieldOp(inner.insert(arith.AddfOp(block.args[1], value, REASSOCIATED)).result)
        )
        low, high, step = (self.index.constant(n) for n in (0, length, 1))
        return self.insert(scf.ForOp(low, high, step, [start], Region(block))).results[0]


def _has_lanes(op: tix.SumOp) -> bool:
    last = op.indices[-1]
    found = constant_range(op, last)
    if found is None or not FEWEST_LANES <= found[1] <= MOST_LANES:
        return False
    uses = IndexUses()
    inner = list(op.body.walk())
    if any(isinstance(o, tix.SumOp) and not is_short(o) for o in inner):
        return False
    return all(stride(o, last, uses) in (0, 1, -1) for o in inner if isinstance(o, tix.ReadOp))
