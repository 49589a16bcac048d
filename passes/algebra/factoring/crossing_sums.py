"""Sums of an element whose vectors run along different axes of memory.

    y[i] = sum[j](w[i, j] * x[j]) + sum[j](w[j, i] * x[j])

The terms of the first sum lie side by side, those of the second one do so for neighbouring
elements. One loop can run along one of them only, and reads what the other sum needs element by
element, each in a line of its own: so the first one becomes a tensor. Elements that share what they
read, as those of a product of matrices do, find it in panels.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.index_uses import IndexUses


def crosses_another(op: tix.SumOp, definition: tix.DefineOp, uses: IndexUses) -> bool:
    """True if vectors run along the terms of a sum, and along the elements in one beside it."""
    beside = [o for o in definition.body.block.ops if isinstance(o, tix.SumOp)]
    if op not in beside or not definition.indices:
        return False
    last, own = {definition.indices[-1]}, {*op.indices}
    crosses = any(_runs(read, own, last) for read in _unshared_reads(op, definition, uses))
    return crosses and any(
        _runs(read, last, {*other.indices})
        for other in beside
        if other is not op
        for read in _unshared_reads(other, definition, uses)
    )


def _unshared_reads(
    op: tix.SumOp, definition: tix.DefineOp, uses: IndexUses
) -> Iterator[tix.ReadOp]:
    """The reads of a sum of which each element has its own."""
    reads = (o for o in op.walk() if isinstance(o, tix.ReadOp))
    return (read for read in reads if uses.of_operation(read).issuperset(definition.indices))


def _runs(read: tix.ReadOp, along: Set[SSAValue], across: Set[SSAValue]) -> bool:
    """True if elements lie side by side along one of some indices, and apart along others."""
    *far, near = read.forms or (tix.Affine(),)
    here = {v for v in near.indices if abs(near[v]) == 1}
    there = {v for form in far for v in form.indices}
    return bool(here & along - there) and bool(there & across)
