"""Points of definitions whose choices change sides along a loop, inside and at borders.

    y[i, j] = z[i, j] + (a[i] * x[i, j - 1] if j > 0 else 0)

Inside, where no choice changes sides, the sides are known. Which vectors are inside may depend on
where rows begin in memory, and bits must not: both places compute the same operations
(`passes/lowering/lanes/border_lanes.py`).
"""

from __future__ import annotations

from tadc.passes.lowering.lanes.border_lanes import BorderLowering, InsideLowering, not_fused
from tadc.passes.lowering.loop_tree.points import Points
from tadc.passes.scheduling.streams.stream_phases import Phase


class BorderPoints(Points, BorderLowering):
    """Emits vectors at borders, where each lane selects its side of a choice."""

    def follow(self, phase: Phase) -> None:
        self.as_written = {*phase.as_written, *not_fused(phase.guards)}


class InsidePoints(BorderPoints, InsideLowering):
    """Emits vectors in the interior, where all lanes take the same side of a choice."""

    def follow(self, phase: Phase) -> None:
        super().follow(phase)
        self.sides = phase.inside.sides
