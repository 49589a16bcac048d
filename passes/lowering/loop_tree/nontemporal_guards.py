"""Tests whether the tensors of a call stay in the caches, made once for all loops."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tadc.dialects.loops import SharedCacheOp
from tadc.dialects.tix import Affine
from tadc.passes.lowering.scalars.index_lowering import IndexLowering
from tadc.passes.scheduling.loop_tree.nodes import Exceeds


def exceeds(index: IndexLowering, test: Exceeds) -> SSAValue:
    """A bit that says whether tensors exceed the largest cache, hoisted out of all loops.

    A tensor larger than the result counts as one of its size: about as many elements are read.
    """
    outside = index.outermost(())
    shapes = test.shapes
    counts = [_count(outside, shape) for _, shape in shapes]
    total = outside.constant(0)
    for (bytes_, _), count in zip(shapes, counts, strict=True):
        elements = count if count is counts[0] else outside.min(count, counts[0])
        total = outside.add(total, outside.mul(elements, outside.constant(bytes_)))
    cache = outside.once("largest cache", SharedCacheOp)
    key = "exceeds", total
    return outside.once(key, lambda: arith.CmpiOp(total, cache, "sge"))


def _count(index: IndexLowering, shape: Sequence[Affine]) -> SSAValue:
    """The number of elements of a shape."""
    return reduce(index.mul, map(index.form, shape), index.constant(1))
