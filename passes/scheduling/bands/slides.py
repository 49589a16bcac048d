"""Bands that slide along the first dimension, plane by plane: nothing is computed twice on the way.

    z[i, j, k] = sum[t in range(5)](b[t] * x[i, j + t, k])      for each i: plane i + 4 of z,
    y[i, j, k] = sum[s in range(5)](a[s] * z[i + s, j, k])        then plane i of y

A band that has all planes of a box computes those again that the next band has, and its buffers
hold few of their elements along other dimensions. One that slides is as long as it may be: its
buffers hold the planes that are read again, five of z here, in a ring, and a plane takes the place
of the one that nobody reads any more (`Ring` in `passes/lowering/scalars/index_lowering.py`).

Each stage is ahead of the root by as much as this reads of it, from its own plane on, so that a
plane is there before the first that reads it:

    plane i of a reader, with i + w for w in low .. high    of the stage: ahead by `high` more
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.rewriting.programs import reads_of
from tadc.passes.scheduling.bands.band_stages import Axis
from tadc.passes.scheduling.bands.band_windows import windows_of

LENGTH = 64
"""The planes of the root in a sliding band, unless stages overlap by many."""

TIMES_OF_REACH = 8
"""The planes of a sliding band for each plane of overlap, where that is longer than `LENGTH`."""


def longest(reach: int) -> int:
    """The most planes of the root in a sliding band, if stages overlap by `reach` planes."""
    return max(LENGTH, TIMES_OF_REACH * reach)


def planes_of(
    whole: Mapping[tix.DefineOp, tix.DefineOp],
    axes: Mapping[tix.DefineOp, Sequence[Axis | None]],
    stages: Collection[tix.DefineOp],
) -> dict[tix.DefineOp, int]:
    """The planes of each stage that its circular buffer holds; none where bands cannot slide, or
    where each plane is read at one step only.

    There is one root, the last definition, and all move by one plane as it does, by no other index.
    """
    *others, root = whole
    if any(op not in stages for op in others) or not _is_plain(axes[root]):
        return {}
    first = axes[root][0]
    if not all(own and _moves_with(own[0], first) for own in axes.values()):
        return {}
    made: dict[SSAValue, tix.DefineOp] = {op.result: op for op in others}
    ahead = {op: axis.high for op, own in axes.items() if (axis := own[0])}
    oldest: dict[tix.DefineOp, int] = {}
    for reader, like in whole.items():
        for read in (r for r in reads_of(like) if r.tensor in made):
            form, window = read.forms[0], windows_of(read, like)[0]
            moved = [v for v in form.indices if v in like.indices]
            if window is None or moved != [like.indices[0]] or form[moved[0]] != 1:
                return {}
            stage, plane = made[read.tensor], ahead[reader] + window.low
            oldest[stage] = min(oldest.get(stage, plane), plane)
    found = {op: ahead[op] - oldest[op] + 1 for op in others}
    return found if any(planes > 1 for planes in found.values()) else {}


def _is_plain(axes: Sequence[Axis | None]) -> bool:
    """True if a root has at least three dimensions, and a band just the values that it stores."""
    return len(axes) > 2 and all(a is None or (a.step, a.low, a.high) == (1, 0, 0) for a in axes)


def _moves_with(own: Axis | None, first: Axis | None) -> bool:
    """True if a dimension moves with the root's first index, one plane for each of its steps."""
    return own is not None and first is not None and (own.index, own.step) == (first.index, 1)
