"""Properties that the next pass relies on, checked where a program may come from anywhere.

The verifiers of the dialect say what is well formed at every stage; these functions check what a
pass has made sure of. A program that breaks them raises `PassFailure` with the place and the
pass that would have been needed.
"""

from __future__ import annotations

from tadc.dialects import tix
from tadc.passes.analysis.properties import axes_apart, precisions_set, sums_bounded
from tadc.passes.rewriting.failure import PassFailure


def require_bounded(program: tix.ProgramOp) -> None:
    """Every reduction gives each own index bounds in the indices before it: stage `bounded`."""
    for op in sums_bounded(program):
        raise PassFailure(
            op.location, "a sum is not bounded index by index; run infer-ranges first"
        )


def require_precision(program: tix.ProgramOp) -> None:
    """Every tensor has a machine type."""
    if any(precisions_set(program)):
        reason = "a tensor has elements of type real; run set-precision first"
        raise PassFailure(program.location, reason)


def require_no_views(program: tix.ProgramOp) -> None:
    """Every tensor is read and defined in the shape of its type."""
    for op in axes_apart(program):
        reason = "a tensor is seen in another shape; merge-axes is for loops alone"
        raise PassFailure(op.location, reason)
