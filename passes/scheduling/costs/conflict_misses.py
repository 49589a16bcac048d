"""Vectors of rows that share one place of a cache: what they cost where others come between.

    z[c, h, p] = sum[d](x[d, h, p - d] * f[c, h, p - d])      eight rows c, p of 256, h of 32, f32

    f[c, h, ...]    eight lines, 32 KB apart, which the next terms read again
    x[d, h, ...]    a line for each term d, 32 KB apart, too

Lines that are a multiple of 4 KB apart share a place of the nearest cache, which has room for
eight. Large tensors begin alike on their pages, so that lines of both share one as well: those of
the rows are gone when the next term reads them. In a copy f[h, c, ...] rows lie side by side.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import prod

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.access import ADJACENT, access, stride
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.costs.line_reuse import LINE_BYTES
from tadc.passes.scheduling.costs.strided_lines import BYTES_OF_PLACE, COST_OF_LINE_IN_TWO_PLACES
from tadc.passes.scheduling.costs.tile_cost import NO_SIZES, Sizes, length_of, terms_once
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import VECTOR_BYTES, tree_of

LINES_OF_PLACE = 8
"""The lines that one place of the nearest cache holds (its associativity)."""


def cost_of_row_vectors(
    sums: Iterable[tix.ReductionOp], tile: Tile, uses: IndexUses, sizes: Sizes, example: Sizes
) -> float:
    """The cost per element of the result of conflict misses, where lines evict vectors of rows.

    An `example` says how far elements are apart, `sizes` are those that say how long ranges are.
    """
    rows = tuple(v for v, n in tile.axes if n > 1)
    displaced = (
        terms_once(op, uses, sizes) * _vectors(op, rows, tile, uses, example) for op in sums if rows
    )
    return COST_OF_LINE_IN_TWO_PLACES * sum(displaced) / (tile.height * tile.columns)


def _vectors(
    op: tix.ReductionOp, rows: Sequence[SSAValue], tile: Tile, uses: IndexUses, example: Sizes
) -> float:
    """The vectors that a block loads again for each term, as other lines have evicted them."""
    column, lanes = tile.column_index, tile.lanes
    displaced, others = uses.once(
        (displaced_rows, op, rows, column),
        lambda: displaced_rows(op, rows, column, lanes, uses, example),
    )
    copied = {o for h in tile.panels.get(op, ()) for o in tree_of(h.value, op.body)}
    if copied.issuperset(others):
        return 0
    counts = [tile.count_in(uses.of_operation(read)) for read in displaced if read not in copied]
    return sum(counts) * tile.columns / lanes


def displaced_rows(
    op: tix.ReductionOp,
    rows: Collection[SSAValue],
    column: SSAValue,
    lanes: int,
    uses: IndexUses,
    example: Sizes,
) -> tuple[Sequence[tix.ReadOp], Sequence[tix.ReadOp]]:
    """The reads of vectors whose rows fall into one place of a cache, though the next terms read
    them again; and the reads whose terms fill that place. Both are empty unless both exist."""

    def steps(read: tix.ReadOp, indices: Iterable[SSAValue]) -> dict[SSAValue, int]:
        """The strides of a read in bytes, along those of the indices that move it."""
        found = {v: stride(read, v, uses, example) for v in indices}
        return {v: abs(n) * VECTOR_BYTES // lanes for v, n in found.items() if n}

    def fills_place(read: tix.ReadOp) -> bool:
        apart = [v for v, step in steps(read, op.indices).items() if _is_in_place(step)]
        return prod(length_of(op, v, NO_SIZES) for v in apart) > LINES_OF_PLACE

    def is_displaced(read: tix.ReadOp) -> bool:
        inside = steps(read, op.indices).values()
        is_read_again = bool(inside) and all(step < LINE_BYTES for step in inside)
        return is_read_again and any(map(_is_in_place, steps(read, rows).values()))

    reads = [o for o in op.body.walk() if isinstance(o, tix.ReadOp)]
    vectors = [read for read in reads if access(read, column, uses) in ADJACENT]
    own = [read for read in vectors if not uses.of_operation(read).isdisjoint(rows)]
    displaced = list(filter(is_displaced, own))
    others = list(filter(fills_place, vectors)) if displaced else []
    return (displaced, others) if others else ([], [])


def _is_in_place(step: int) -> bool:
    """True if lines with this stride in bytes share a place of the cache, or nearly so."""
    off = step % BYTES_OF_PLACE
    return step > LINE_BYTES and min(off, BYTES_OF_PLACE - off) < LINE_BYTES
