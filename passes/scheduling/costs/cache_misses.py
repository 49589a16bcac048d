"""Lines that blocks read from beyond the caches of a core: what they cost.

    y[k, r] = sum[i, j](x[i, j, k] * d[i, j, r])        x: 6 MB, d: 1 MB

    rows r by 4, columns k by 64    4 lines of x for a term of a block
    rows k by 8, columns r by 32    none: rows read a line or two, which they ask for ahead

Each block reads along its columns, and what it reads first is gone when the next one begins. What
the caches of a core keep costs nothing here. What panels hold comes once for all blocks that share
it, and nothing is computed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable

from tadc.dialects import tix
from tadc.passes.analysis.access import ADJACENT, IN_ORDER, access
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.costs.line_reuse import LINE_BYTES, is_far, is_large
from tadc.passes.scheduling.costs.tile_cost import Sizes, terms_once
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import VECTOR_BYTES, tree_of

COST_OF_FAR_LINE = 6
"""The cost of a line that comes in order: three cycles, some of them beside computing."""


def cost_of_far_lines(
    sums: Iterable[tix.ReductionOp], tile: Tile, uses: IndexUses, sizes: Sizes
) -> float:
    """The cost per element of the result of lines from beyond the caches of a core."""
    if not tile.axes:
        return 0.0
    far = sum(terms_once(op, uses, sizes) * _lines(op, tile, uses, sizes) for op in sums)
    return COST_OF_FAR_LINE * far / (tile.height * tile.columns)


def _lines(op: tix.ReductionOp, tile: Tile, uses: IndexUses, sizes: Sizes) -> float:
    """The lines from beyond the caches of a core that a block reads for each term."""
    width = tile.columns * VECTOR_BYTES / tile.lanes / LINE_BYTES
    copied = [o for h in tile.panels.get(op, ()) for o in tree_of(h.value, op.body)]
    sources = [
        o for o in copied if isinstance(o, tix.ReadOp) and is_large(o.shape, tile.lanes, sizes)
    ]
    far = [
        read
        for read in _streamed(op, tile, uses)
        if read not in copied and is_far(read, op, tile, uses, sizes)
    ]
    return width * (len(far) + len(sources) / tile.shared_blocks)


def _streamed(op: tix.ReductionOp, tile: Tile, uses: IndexUses) -> list[tix.ReadOp]:
    """The reads of contiguous vectors that all rows share, and whose terms are not in order."""
    axes, column, last = {v for v, _ in tile.axes}, tile.column_index, op.indices[-1]
    return uses.once(
        (_streamed, op, frozenset(axes), column),
        lambda: [
            read
            for read in op.body.walk()
            if isinstance(read, tix.ReadOp)
            and access(read, column, uses) in ADJACENT
            and access(read, last, uses) not in IN_ORDER
            and axes.isdisjoint(uses.of_operation(read))
        ],
    )
