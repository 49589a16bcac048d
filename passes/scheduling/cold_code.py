"""Small parts of a program's work: definitions whose loops should be short to compile, not to run.

    f_sum[i] = sum[k](d[i + k]**3)                             33 thousand terms
    f_sum_1[i, j] = sum[k]((a[i, k] + b[j, k])**2)             17 million

A block is written out, so that the time that it takes to compile grows with the vectors that it
has, whatever it computes. Where a definition has a small part of the terms of its program, twice
its time is nothing beside the time of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from tadc.dialects import tix
from tadc.dialects.tix.attributes import kept
from tadc.passes.rewriting.part_sizes import with_derived_sizes
from tadc.passes.scheduling.costs.tile_cost import Sizes, extent_of, terms_of
from tadc.passes.scheduling.tiles.sum_lengths import constant_range
from tadc.passes.scheduling.tiles.tile import Tile

SMALL_PART = 200
"""The least ratio of the terms of a whole program to those of a small part of it."""

FEW_VECTORS = 2
"""The most vectors of accumulators in a block of a small part."""


def is_small_part(op: tix.DefineOp, sizes: Sizes) -> bool:
    """True if a definition has a small part of the terms of its program, for these sizes."""
    program = op.parent_op()
    if not isinstance(program, tix.ProgramOp):
        return False
    sizes = with_derived_sizes(program, sizes)
    left = SMALL_PART * _terms(op, sizes, terms_of)
    known = tuple(sizes.items())
    for other in program.definitions:
        left -= kept(other, (other, known), _known_terms)
        if left < 0:
            return True
    return False


def has_few_vectors(tile: Tile) -> bool:
    """True if a block is quickly compiled."""
    return tile.height * tile.columns <= FEW_VECTORS * tile.lanes


def _terms(op: tix.DefineOp, sizes: Sizes, count: Callable[[tix.ReductionOp, Sizes], int]) -> int:
    """The approximate number of terms of all elements, with `count` for the terms of each sum."""
    sums = (o for o in op.body.block.ops if isinstance(o, tix.ReductionOp))
    elements = prod(extent_of(op, v, sizes) for v in op.indices)
    return elements * (1 + sum(count(s, sizes) for s in sums))


def _known_terms(op: tix.DefineOp, sizes: Sequence[tuple[str, int]]) -> int:
    """The terms of a definition, where an index of a sum with unknown bounds counts once."""
    return _terms(op, dict(sizes), _known_terms_of)


def _known_terms_of(op: tix.ReductionOp, sizes: Sizes) -> int:
    ranges = (constant_range(op, v, sizes) for v in op.indices)
    return prod(found[1] for found in ranges if found)
