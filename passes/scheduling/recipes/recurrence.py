"""Recurrences: a loop carries the total of each element to the next one.

    y[k] = sum[j in range(k, N)](t[j] * prod[l in range(k + 1, j + 1)](w[l]))

    begin sum y.1[j]
    for k backwards
      carry y.1                 t[k] + w[k + 1] * what it was
      store y

Rows along other indices are independent of each other, and run in parallel.
"""

from __future__ import annotations

from tadc.dialects import tix
from tadc.passes.scheduling.loop_tree.nodes import (
    Axis,
    Begin,
    Carry,
    For,
    Mark,
    Node,
    Seq,
    Store,
    nested,
)
from tadc.passes.scheduling.recurrences import Recurrence


def recurrence(op: tix.DefineOp, found: Recurrence) -> Node:
    """The tree of a definition that is a recurrence."""
    axes = [Axis([v], size) for v, size in zip(op.indices, op.shape, strict=True)]
    (along,) = (axis for axis in axes if axis.indices[0] is found.scan.index)
    step = Seq([Carry(found), Store(op)])
    body = Seq([Begin(found.scan.op), For(along, step, backwards=not found.scan.is_forwards)])
    return nested([axis for axis in axes if axis is not along], body, Mark.PARALLEL)
