"""Strips: definitions that are computed together for some columns, one in each lane of vectors.

    m[n, p] = max[c](x[n, c, p])                parallel n
    y[n, c, p] = exp(x[n, c, p] - m[n, p])        parallel p by 64
                                                    vector p by 64 in 16
                                                      for p by 64 mask
                                                        ...

What is fused stands in one loop over strips: a strip of each definition lies in a near cache.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Region

from tadc.dialects import tix
from tadc.passes.scheduling.loop_tree.nodes import (
    Add,
    Axis,
    Begin,
    For,
    Mark,
    Node,
    Seq,
    Store,
    Tail,
    nested,
)
from tadc.passes.scheduling.nest import Strips
from tadc.passes.scheduling.tiles.sum_lengths import is_short
from tadc.passes.scheduling.tiles.tile_analysis import lanes_of

VECTORS_OF_STRIP = 4
"""Vectors that are jammed: an addition waits four cycles for the one before."""


def strips(members: Sequence[tix.DefineOp], shared: Strips) -> Node:
    """The tree of definitions that share strips along the last of their shared indices."""
    axes = _shared_axes(members, shared)
    *others, column = axes
    lanes = lanes_of(members[0])
    step = lanes * VECTORS_OF_STRIP
    parts = [part for op in members for part in _of_definition(op, shared)]
    body: Node = For(column, Seq(parts), Mark.SERIAL, step, Tail.MASK)
    body = For(column, body, Mark.VECTOR, step, lanes=lanes)
    body = For(column, body, Mark.PARALLEL, step)
    return nested(others, body, Mark.PARALLEL)


def _shared_axes(members: Sequence[tix.DefineOp], shared: Strips) -> list[Axis]:
    """The axes that definitions have in common, with the index that each calls its own."""
    first = members[0]
    sizes = dict(zip(first.indices, first.shape, strict=True))
    own = [shared.shared[op] for op in members]
    return [Axis(indices, sizes[indices[0]]) for indices in zip(*own, strict=True)]


def _of_definition(op: tix.DefineOp, shared: Strips) -> list[Node]:
    """The statements of a definition in a strip: its reductions, and its elements."""
    inside = shared.inside(op)
    sizes = dict(zip(op.indices, op.shape, strict=True))
    if inside:
        return [nested([Axis([v], sizes[v]) for v in inside], Store(op))]
    return [*_reductions_in(op.body), Store(op, is_stored=op in shared.written, is_kept=True)]


def _reductions_in(region: Region) -> list[Node]:
    """The reductions that a value needs, each before what reads it.

    Those of both sides of a choice are computed: lanes differ in what they choose by values, and
    where indices choose, members of strips have reductions that may run ahead.
    """
    found: list[Node] = []
    for op in region.block.ops:
        if isinstance(op, tix.ReductionOp) and not is_short(op):
            term = Seq([*_reductions_in(op.body), Add(op)])
            axes = [Axis([v], op) for v in op.indices]
            found += [Begin(op), nested(axes, term)]
        elif isinstance(op, tix.WhereOp | tix.IfOp):
            found += [node for side in op.regions for node in _reductions_in(side)]
    return found
