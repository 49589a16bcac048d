"""Values of a stream in the lanes of vectors: inside, where all guards hold, and at borders.

    y[i, j] = z[i, j] + (a[i] * x[i, j - 1] if j > 0 else 0)

Which vectors are inside depends on where rows begin in memory, and bits must not: both places
compute the same operations. At borders a mask stands between a product and the addition behind it,
so that processors cannot do both at once: then they do not inside either. The terms of a window
are masked behind the addition, which is one operation with the product in both places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.ir import Operation, SSAValue

from dialects import tix
from dialects.tix import Constraint
from passes.lowering.lanes.lane_choices import LaneChoices
from passes.scheduling.streams.stream_guards import is_guard


class BorderLowering(LaneChoices):
    """Emits values under masks; windows add what they add inside, in all lanes that have a term."""

    def with_term(self, total: SSAValue, op: tix.ReductionOp) -> SSAValue:
        tested = any(isinstance(o, tix.IfOp) for o in op.body.walk())
        if not isinstance(op, tix.SumOp) or not tested:
            return super().with_term(total, op)
        return self.plus(self.splat(total), tix.yielded(op.body), op)

    def depends_on_lanes(self, tests: Sequence[Constraint]) -> bool:
        return bool(tests)  # a branch would hide a product from the addition behind it


class InsideLowering(BorderLowering):
    """Emits values where the conditions of all guards hold."""

    def choice(self, op: tix.IfOp) -> SSAValue:
        if is_guard(op, self.tile.column_index, self.uses):
            return self.lanes_of(tix.yielded(op.then))
        return super().choice(op)

    def plus(self, sum_: SSAValue, term: SSAValue, op: tix.ReductionOp) -> SSAValue:
        return self.add(sum_, self.lanes_of(term), op)


def not_fused(guards: Iterable[tix.IfOp]) -> Iterator[Operation]:
    """The operations under guards whose values no addition behind them may be fused with."""
    for guard in guards:
        if not _is_term(guard):
            yield from guard.walk()


def _is_term(guard: tix.IfOp) -> bool:
    """True for a term of a window that is 0 where it is not there."""
    window = guard.parent_op()
    return (
        isinstance(window, tix.SumOp)
        and tix.yielded(window.body) is guard.results[0]
        and tix.constant_value(tix.yielded(guard.otherwise)) == 0.0
    )
