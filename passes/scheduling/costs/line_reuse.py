"""Lines of a cache that a block reads: whether the next block of its group finds them there.

    y[i, j] = sum[k](x[i, k] * w[k, j])      blocks of 48 columns j, f32, K = 128

    128 runs of 3 lines, which lie apart: 384 lines, 24 KB

All blocks of a group read the same elements w[k, j]. Copied into a panel, they are read once more
than they are needed, while nothing else can be done; what stays in a cache needs no panel. Neither
does what follows in memory, if few blocks share it: a third of the time of five blocks is copying.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.analysis.access import ADJACENT, access, known_size, stride
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.costs.tile_cost import ASSUMED_EXTENT, Sizes, length_of
from tadc.passes.scheduling.tiles.tile import Hoisted, Tile
from tadc.passes.scheduling.tiles.tile_analysis import VECTOR_BYTES, constant_extent

LINE_BYTES = 64
"""The bytes of a line."""

LINES_APART = 16
"""The most lines of scattered runs that need no panel, for each vector that registers hold. With
AVX-512 they are 32 KB, two thirds of the nearest cache; where they share few places of it, as rows
of 4 KB do, the second cache still has them. Where registers hold less, blocks are narrower: as many
lines are more runs, each on a page of its own."""

BYTES_IN_ORDER = 1 << 19
"""The most bytes in order that need no panel: they come from the second cache in time."""

FEWEST_ROWS_OF_COPY = 48
"""The fewest rows for which it pays to copy a longer stretch: in order it comes from further caches
almost in time, and copying it costs as much as using it for some ten rows."""

BYTES_OF_CORE = 1 << 21
"""Bytes that the caches of a core keep at most."""

BYTES_BETWEEN = 1024
"""The largest gap in bytes between runs of one stretch: a page has several of them."""


def is_copied(
    hoisted: Hoisted,
    op: tix.ReductionOp,
    tile: Tile,
    uses: IndexUses,
    sizes: Sizes,
    registers: tix.Registers,
) -> bool:
    """True if it pays to copy a value into a panel, for these sizes.

    It does not where columns are contiguous in memory, and a cache keeps the lines of all terms
    from one block to the next, or few rows share a stretch that is read in order.
    """
    read = hoisted.value.owner
    if not isinstance(read, tix.ReadOp) or not is_adjacent(hoisted, tile, uses):
        return True
    run, apart = _runs(read, op, tile, uses, sizes)
    if apart:
        most = LINES_APART * registers.vectors
        return -(-run // LINE_BYTES) * prod(apart) > most
    return run > BYTES_IN_ORDER and tile.rows * tile.shared_blocks >= FEWEST_ROWS_OF_COPY


def is_adjacent(hoisted: Hoisted, tile: Tile, uses: IndexUses) -> bool:
    """True if a value is a read that is contiguous along the columns."""
    read = hoisted.value.owner
    return isinstance(read, tix.ReadOp) and access(read, tile.column_index, uses) in ADJACENT


def is_far(
    read: tix.ReadOp, op: tix.ReductionOp, tile: Tile, uses: IndexUses, sizes: Sizes
) -> bool:
    """True if the footprint of a read over all terms of a block exceeds the caches of a core."""
    run, apart = _runs(read, op, tile, uses, sizes)
    return run * prod(apart) > BYTES_OF_CORE


def is_large(shape: Iterable[Affine], lanes: int, sizes: Sizes) -> bool:
    """True if a tensor exceeds the caches of a core, with `lanes` of its elements in a vector."""
    lengths = (constant_extent(known_size(size, sizes)) for size in shape)
    elements = prod(ASSUMED_EXTENT if n is None else n for n in lengths)
    return elements * VECTOR_BYTES // lanes > BYTES_OF_CORE


def _runs(
    read: tix.ReadOp, op: tix.ReductionOp, tile: Tile, uses: IndexUses, sizes: Sizes
) -> tuple[int, list[int]]:
    """The bytes of a stretch that a block reads in order, and the trip counts of the other loops.

    Runs that follow each other in memory are one, with what lies between them; each of the others
    counts as often as it has terms.
    """
    element = VECTOR_BYTES // tile.lanes
    run = tile.columns * element
    steps = {v: stride(read, v, uses, sizes) for v in op.indices if v in uses.of_operation(read)}
    apart = [length_of(op, v, sizes) for v, step in steps.items() if step is None]
    known = [(abs(step) * element, v) for v, step in steps.items() if step is not None]
    for step, v in sorted(known, key=lambda walk: walk[0]):
        count = length_of(op, v, sizes)
        if step <= run + BYTES_BETWEEN:
            run += step * (count - 1)
        else:
            apart.append(count)
    return run, apart
