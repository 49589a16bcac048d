"""Elementwise loops: one iteration for each element, whose sums are scalars.

    parallel i
      parallel j
        store y

The indices of the result run in parallel, those of its sums inside of them.
"""

from __future__ import annotations

from tadc.dialects import tix
from tadc.passes.scheduling.loop_tree.nodes import Axis, Mark, Node, Store, nested


def elementwise(op: tix.DefineOp) -> Node:
    """The tree of a definition, all of whose indices run in parallel."""
    axes = [Axis([v], size) for v, size in zip(op.indices, op.shape, strict=True)]
    return nested(axes, Store(op), Mark.PARALLEL)
