"""Ranges of indices that have none in the text.

An index that stands alone in a dimension, `a[i, k]`, runs over that dimension (`dimensions`). Any
other gets the largest interval from 0 in which every read is inside its tensor (`intervals`), one
after the other in the order of the text: what is found for one is known to those that follow.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine
from tadc.language.describe import Describer
from tadc.language.dimensions import Dimensions
from tadc.language.intervals import Intervals
from tadc.language.sizes import Sizes
from tadc.language.statement import Progress, Statement


def infer(statement: Statement, sizes: Sizes, describer: Describer) -> dict[SSAValue, Affine]:
    """The size `n` of each open index, which then runs over 0 <= i < n."""
    return Inference(statement, sizes, describer).run()


class Inference:
    """One run of the inference; `current` is the index that is dealt with, or that failed."""

    def __init__(self, statement: Statement, sizes: Sizes, describer: Describer):
        self.progress = Progress(statement, sizes, describer)
        self.dimensions = Dimensions(self.progress)
        self.intervals = Intervals(self.progress)
        self.current: SSAValue | None = None

    def run(self) -> dict[SSAValue, Affine]:
        """The sizes of the open indices; raises `RangeError` or `SizeError` where one has none."""
        progress = self.progress
        for index in progress.statement.pinned:
            self.dimensions.check_pinned(index)
        for index in list(progress.open):
            self.current = index
            if (size := self.dimensions.common_size(index)) is not None:
                progress.close(index, size)
        while progress.open:
            self._infer_interval()
        return {index: progress.sizes.resolve(size) for index, size in progress.found.items()}

    def _infer_interval(self) -> None:
        """Find the interval of the first index that has one."""
        for index in self.progress.open:
            self.current = index
            if (size := self.intervals.size(index)) is not None:
                return self.progress.close(index, size)
        self.current = self.progress.open[0]
        raise self.intervals.not_inferred(self.current)
