"""Panels of a tile: what its blocks copy, in which chunks, and how many blocks share it.

    y[i, j] = sum[k](x[i, k] * w[j, k])       panel w[j, k], for 64 blocks of rows i

What a panel holds is the same for all rows of a block; a chunk is as much of it as a cache keeps.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.rewriting.shallow_copy import changed
from tadc.passes.scheduling.costs.line_reuse import FEWEST_ROWS_OF_COPY, is_adjacent, is_copied
from tadc.passes.scheduling.costs.tile_cost import Sizes, extent_of, length_of, terms_of
from tadc.passes.scheduling.tiles.packed_runs import run_of
from tadc.passes.scheduling.tiles.tile import Hoisted, Tile
from tadc.passes.scheduling.tiles.tile_analysis import (
    chunk_of,
    far_reads,
    hoisted_values,
    is_rectangular,
)

FEWEST_BLOCKS_OF_PANEL = 4
"""Blocks that share a panel at least, unless it is made of squares, which cost little."""

FEWEST_TERMS_OF_CHUNK = 32
"""Terms of a chunk at least: for each of them a panel is filled, and sums wait in memory."""

MOST_ROWS_PER_PANEL = 256
"""Rows that share a panel: copying it costs as much as using it for some ten rows."""

FEWEST_ITERATIONS = 8
"""The fewest parallel iterations, where there are as many blocks."""


def with_panels(
    op: tix.DefineOp,
    tile: Tile,
    sums: list[tix.ReductionOp],
    uses: IndexUses,
    sizes: Sizes,
    registers: tix.Registers,
) -> Tile:
    """The tile with its panels, chunks and groups."""
    if tile.row_index is None:
        return tile
    blocks = -(-extent_of(op, tile.row_index, sizes) // tile.rows)
    group = max(1, min(MOST_ROWS_PER_PANEL // tile.rows, blocks, _largest_group(op, tile, sizes)))
    panels: dict[tix.ReductionOp, tuple[Hoisted, ...]] = {}
    chunks: dict[tix.ReductionOp, tuple[SSAValue, int]] = {}
    along_terms = tile.column_index not in op.indices
    share = False  # what all blocks of a group read, be it in a panel or where it is
    along = ()
    grouped = changed(tile, group=group)
    moving = along_terms or not all(is_rectangular(s, [tile.column_index], uses) for s in sums)
    for s in sums if not moving else []:
        possible = hoisted_values(s, tile, uses).panels
        runs = [h for h in possible if run_of(h, s, tile.column_index, uses)]
        shared = possible if blocks >= FEWEST_BLOCKS_OF_PANEL else runs
        found = [h for h in shared if is_copied(h, s, grouped, uses, sizes, registers)]
        if len(sums) == 1 and all(h in runs for h in found):
            along = _along(op, tile, group, s, uses, sizes)
            beside = [] if found else [h for h in possible if is_adjacent(h, tile, uses)]
            if beside:
                sharing = changed(grouped, along=along)
                found = [h for h in beside if is_copied(h, s, sharing, uses, sizes, registers)]
        share |= bool(shared) or bool(found)
        cut = chunk_of(s, tile.columns)
        if cut and _terms_of_chunk(s, cut, sizes) < FEWEST_TERMS_OF_CHUNK:
            continue
        if found:
            panels[s] = tuple(found)
        if cut and (found or (far_reads(s, tile, uses) and terms_of(s, sizes) > cut[1])):
            chunks[s] = cut
    if not share:
        group = max(1, min(group, 64 // tile.rows))
    along = along if panels else ()
    return changed(tile, group=group, along=along, panels=panels, chunks=chunks)


def _along(
    op: tix.DefineOp,
    tile: Tile,
    group: int,
    sum_: tix.ReductionOp,
    uses: IndexUses,
    sizes: Sizes,
) -> tuple[tuple[SSAValue, int], ...]:
    """Other indices along which panels do not vary, and the values of each that share a panel.

    They are for few rows, as in images of 14 x 14.
    """
    axes = tile.column_index, *(index for index, _ in tile.axes)
    rows = tile.rows * group
    shared = [h.value for h in hoisted_values(sum_, tile, uses).panels]
    if not shared or rows >= FEWEST_ROWS_OF_COPY:
        return ()
    iterations = prod(extent_of(op, v, sizes) for v in op.indices) // (tile.columns * rows)
    found: list[tuple[SSAValue, int]] = []
    for index in reversed([v for v in op.indices if v not in axes]):
        if is_same_along(index, [sum_], shared, uses):
            extent = extent_of(op, index, sizes)
            parts = -(-FEWEST_ITERATIONS * extent // max(1, iterations))
            count = min(-(-extent // parts), MOST_ROWS_PER_PANEL // rows)
            if count > 1:
                found.append((index, count))
                rows, iterations = rows * count, iterations * -(-extent // count) // extent
    return tuple(found)


def is_same_along(
    index: SSAValue,
    sums: Iterable[tix.ReductionOp],
    shared: Iterable[SSAValue],
    uses: IndexUses,
) -> bool:
    """True if panels, and the bounds of their sums, do not vary along an index."""
    return all(is_rectangular(s, [index], uses) for s in sums) and not any(
        index in uses.of(value) for value in shared
    )


def _terms_of_chunk(op: tix.ReductionOp, cut: tuple[SSAValue, int], sizes: Sizes) -> int:
    """The terms of a chunk at most."""
    index, length = cut
    _, *inside = op.indices[op.indices.index(index) :]
    lengths = [length_of(op, v, sizes) for v in inside]
    return min(length, length_of(op, index, sizes)) * prod(lengths)


def _largest_group(op: tix.DefineOp, tile: Tile, sizes: Sizes) -> int:
    """The largest group of blocks that leaves enough iterations for all threads."""
    inside = tile.column_index, *(index for index, _ in tile.axes)
    groups = [extent_of(op, v, sizes) for v in op.indices if v not in inside]
    columns = extent_of(op, tile.column_index, sizes) if tile.column_index in op.indices else 1
    strips = max(1, columns // tile.columns)
    blocks = -(-extent_of(op, tile.row_index, sizes) // tile.rows)
    return prod(groups) * strips * blocks // FEWEST_ITERATIONS
