"""Legality of trees: iterations that are jammed have the same loops inside.

    jam i by 4
      for i by 4 peel
        vector j by 64 in 16
          for j by 64 mask
            begin sum y.1[k]
            for k                   0 <= k < K in all rows and lanes: legal
              add y.1               0 <= k <= i: row i + 1 has a term more, and is no row to jam

A loop that stands inside of others marked `JAM` or `VECTOR` runs once for all of their values, so
that its bounds must be the same for all of these. Terms in lanes are left out by masks instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.loop_tree.nodes import For, Mark, Node, nodes_in
from tadc.passes.scheduling.tiles.sum_lengths import constraints_of


def require_legal(tree: Node) -> None:
    """Raise `ValueError` where loops inside of jammed ones have bounds that differ."""
    for around in nodes_in(tree):
        if isinstance(around, For) and around.mark in (Mark.JAM, Mark.VECTOR):
            for index in _indices_of_bounds(around):
                if index in around.axis.indices:
                    name = index.name_hint or "i"
                    raise ValueError(f"{around.mark.value} {name}: bounds inside depend on {name}")


def _indices_of_bounds(around: For) -> Iterator[SSAValue]:
    """The indices on which the bounds of loops over terms inside of a loop depend."""
    uses = IndexUses()
    for node in nodes_in(around.body):
        if not isinstance(node, For) or not isinstance(node.axis.range, tix.ReductionOp):
            continue
        op = node.axis.range
        index = node.axis.index_in(op.indices)
        if index is None or index in around.axis.indices:
            continue
        for constraint in constraints_of(op, op.indices[op.indices.index(index) :]):
            for v in constraint.form.indices:
                yield from uses.of(v)
