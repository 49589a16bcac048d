"""Lines that the rows of a block read term by term: what they cost where terms lie apart.

    y[i, j] = sum[k](a[k, i] * b[k, j])        six rows i: a line of `a` for each term

    a[k, i], lines of N numbers apart          a term takes a line, which is gone when the next rows
                                               read it: terms 4 KB apart share one place of a cache
    a[i, k]                                    six lines serve sixteen terms

An element that all columns share comes with an instruction that needs it. The price of the
instruction holds for elements side by side along the terms; others have these lines beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.access import stride
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.costs.line_reuse import LINE_BYTES
from tadc.passes.scheduling.costs.tile_cost import Sizes, length_of, terms_once
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import VECTOR_BYTES

COST_OF_LINE = 2
"""The cost of a line that serves one term: a cycle, from a further cache, not prefetched."""

COST_OF_LINE_IN_ONE_PLACE = 16
"""The cost of a line that conflicts have evicted from the two nearest caches."""

COST_OF_LINE_IN_TWO_PLACES = 6
"""The cost of a line that conflicts have evicted from the nearest cache alone."""

BYTES_OF_PLACE = 4096
"""The stride in bytes at which lines share a place of the nearest cache, of eight lines."""

FEWEST_TERMS = 32
"""The fewest values of the innermost index: fewer lines stay cached for the next rows."""


def cost_of_row_lines(
    sums: Iterable[tix.ReductionOp], tile: Tile, uses: IndexUses, sizes: Sizes
) -> float:
    """The cost per element of the result of lines that serve a single term of a row."""
    total = sum(terms_once(op, uses, sizes) * _of_term(op, tile, uses, sizes) for op in sums)
    return total / (tile.height * tile.columns)


def _of_term(op: tix.ReductionOp, tile: Tile, uses: IndexUses, sizes: Sizes) -> float:
    """The cost of the lines of a term of a block."""
    column, lanes = tile.column_index, tile.lanes
    apart = uses.once((_apart, op, column, lanes), lambda: _apart(op, column, lanes, uses, sizes))
    return sum(cost * _lines_of_rows(steps, tile) for cost, steps in apart)


def _apart(
    op: tix.ReductionOp, column: SSAValue, lanes: int, uses: IndexUses, sizes: Sizes
) -> Sequence[tuple[int, Mapping[SSAValue, int]]]:
    """The cost of a line, and the strides in bytes, of each read with a line for each term."""
    costs = [
        (read, _cost_of_line(read, op.indices[-1], lanes, uses, sizes))
        for read in _reads_of_rows(op, column, uses, sizes)
    ]
    return [
        (cost, {v: _bytes(read, v, lanes, uses, sizes) for v in uses.of(read.result)})
        for read, cost in costs
        if cost
    ]


def reads_in_one_place(
    op: tix.ReductionOp, column: SSAValue, lanes: int, uses: IndexUses, sizes: Sizes
) -> list[tix.ReadOp]:
    """The reads of rows whose terms evict each other from the nearest cache."""
    reads = _reads_of_rows(op, column, uses, sizes)
    costs = (_cost_of_line(read, op.indices[-1], lanes, uses, sizes) for read in reads)
    return [r for r, cost in zip(reads, costs, strict=True) if cost > COST_OF_LINE]


def _reads_of_rows(
    op: tix.ReductionOp, column: SSAValue, uses: IndexUses, sizes: Sizes
) -> list[tix.ReadOp]:
    """The reads that do not move with the column, but with the innermost index of a long sum."""
    last = op.indices[-1]
    return uses.once(
        (_reads_of_rows, op, column),
        lambda: [
            read
            for read in op.body.block.ops
            if isinstance(read, tix.ReadOp)
            and last in uses.of(read.result)
            and column not in uses.of(read.result)
            and length_of(op, last, sizes) >= FEWEST_TERMS
        ],
    )


def _cost_of_line(
    read: tix.ReadOp, last: SSAValue, lanes: int, uses: IndexUses, sizes: Sizes
) -> int:
    """The cost of the line that a read takes for each term; 0 where terms share lines."""
    return cost_of_lines_apart(_bytes(read, last, lanes, uses, sizes))


def cost_of_lines_apart(step: int) -> int:
    """The cost of a line at a stride of so many bytes; 0 where strides stay within a line."""
    if step < LINE_BYTES:
        return 0
    if step % (BYTES_OF_PLACE // 2):
        return COST_OF_LINE
    return COST_OF_LINE_IN_TWO_PLACES if step % BYTES_OF_PLACE else COST_OF_LINE_IN_ONE_PLACE


def _lines_of_rows(steps: Mapping[SSAValue, int], tile: Tile) -> int:
    """The lines that the rows of a block read for a term."""
    counts = [(n, steps[v]) for v, n in tile.axes if v in steps]
    return prod(-(-count * min(step, LINE_BYTES) // LINE_BYTES) for count, step in counts)


def _bytes(read: tix.ReadOp, index: SSAValue, lanes: int, uses: IndexUses, sizes: Sizes) -> int:
    """The stride of a read in bytes along an index; more than a line if it is unknown."""
    step = stride(read, index, uses, sizes)
    return LINE_BYTES + 1 if step is None else abs(step) * VECTOR_BYTES // lanes
