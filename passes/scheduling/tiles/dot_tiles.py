"""Tiles whose vectors run along the terms of a sum (`dot_blocks`): which definitions may have one.

    w[o, s] = sum[n, t](y[n, o, t] * x[n, t + s])        rows o and s, vectors along t

They are for results that are too short for vectors. The plain nest loads two vectors for each
product that it adds, four by three rows load seven for twelve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import prod

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.access import is_slow, stride
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.rewriting.guards import is_guard
from tadc.passes.rewriting.programs import definition_around
from tadc.passes.scheduling.costs.tile_cost import ELEMENTS_OF_LINE, SHARE_OF_SUMS
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import constant_extent, is_rectangular, lanes_of

MOST_ROWS_APART = 8
"""The most rows of a block in lines of their own: rows of 4 KB, or of a multiple of that, share one
place of the nearest cache, which holds eight lines there."""

SUMS_UNDER_WAY = 8
"""The fewest registers of accumulators, with enough terms: they hide the latency of additions."""

LONGEST_WHOLE = 9
"""The most values of an index of which a block has all."""


def term_candidates(
    op: tix.DefineOp,
    registers: tix.Registers,
    extent: Callable[[SSAValue], int],
    length: Callable[[tix.ReductionOp, SSAValue], int],
) -> Iterator[Tile]:
    """Candidate tiles, with rows along an index and up to two short ones; none for strided terms.

    `extent` and `length` say how long an index of the result, and of a sum, is.
    """
    sums, uses, lanes = blocked_sums(op.body), IndexUses(), lanes_of(op)
    under_way = _sums_under_way(registers)
    most_sums = registers.count // 2 // registers.of_vector
    all_rows = int(SHARE_OF_SUMS * registers.count) // registers.of_vector
    if len(sums) != 1 or not has_terms_in_lanes(sums[0], uses):
        return
    apart = _rows_apart(sums[0], uses)
    used = uses.of_operation(sums[0])
    own = [v for v in op.indices if v in used and is_rectangular(sums[0], [v], uses)]
    column = sums[0].indices[-1]
    terms = length(sums[0], column)
    # a vector of which half are terms is better than none
    room = max(terms // lanes, int(2 * terms >= lanes))
    for whole in _short_ones(op, own):
        height = prod(count for _, count in whole)
        lines = prod(count for v, count in whole if v in apart)
        for row_index in (None, *own):
            few = MOST_ROWS_APART // lines if row_index in apart else registers.count
            most = min(most_sums // height, few)
            if any(v is row_index for v, _ in whole) or not most:
                continue
            rows = 1 if row_index is None else _even(extent(row_index), most)
            if row_index is not None and not whole and extent(row_index) <= min(all_rows, few):
                rows = extent(row_index)  # no rest
            if rows * height > 1 and (row_index is None or rows > 1):
                vectors = min(-(-under_way // (rows * height)), room)
                if vectors:
                    yield Tile(row_index, column, rows, vectors * lanes, lanes, whole=whole)


def single_row(op: tix.DefineOp, registers: tix.Registers) -> Tile | None:
    """The tile of one row, for which all sizes have room; None where terms lie apart."""
    sums = blocked_sums(op.body)
    if len(sums) != 1 or not has_terms_in_lanes(sums[0], IndexUses()):
        return None
    lanes = lanes_of(op)
    return Tile(None, sums[0].indices[-1], 1, _sums_under_way(registers) * lanes, lanes)


def _sums_under_way(registers: tix.Registers) -> int:
    """The number of vectors of accumulators that hides the latency of additions."""
    return max(1, SUMS_UNDER_WAY // registers.of_vector)


def _rows_apart(op: tix.ReductionOp, uses: IndexUses) -> set[SSAValue]:
    """The indices along which some read of a sum moves by a cache line or more."""
    reads = [o for o in op.body.walk() if isinstance(o, tix.ReadOp)]
    steps = ((v, stride(r, v, uses)) for r in reads for v in uses.of_operation(r))
    return {v for v, step in steps if step is None or abs(step) >= ELEMENTS_OF_LINE}


def _even(extent: int, most: int) -> int:
    """The rows of a block, at most `most`, evened out over the blocks of all rows."""
    return -(-extent // -(-extent // most)) if extent else 1


def _short_ones(
    op: tix.DefineOp, own: Sequence[SSAValue]
) -> Iterator[tuple[tuple[SSAValue, int], ...]]:
    """The sets of up to two short indices, each with its number of values."""
    extents = {v: constant_extent(op.shape[op.indices.index(v)]) for v in own}
    short = [(v, n) for v, n in extents.items() if n is not None and 1 < n <= LONGEST_WHOLE]
    for count in range(3):
        yield from combinations(short, count)


def has_terms_in_lanes(op: tix.ReductionOp, uses: IndexUses) -> bool:
    """True if vectors can run along the terms: all reads have short strides, or are one number."""
    index = op.indices[-1]
    inner = [o for o in op.body.walk() if not isinstance(o, tix.YieldOp)]
    simple = tix.ReadOp | tix.UnaryOp | tix.BinaryOp | tix.ConstantOp
    return all(isinstance(o, simple) or _is_border(o, op) for o in inner) and all(
        not is_slow(stride(o, index, uses)) for o in inner if isinstance(o, tix.ReadOp)
    )


def _is_border(op: Operation, sum_: tix.ReductionOp) -> bool:
    """True if a choice leaves all terms of an element out, or a few, as a window at borders does:
    its tests depend on indices of the result that have few values."""
    if not is_guard(op):
        return False
    used = {v for disjunct in op.condition for c in disjunct for v in c.form.indices}
    if used.isdisjoint(sum_.indices):
        return True
    around = definition_around(op)
    sizes = dict(zip(around.indices, around.shape, strict=True))
    extents = [constant_extent(sizes[v]) if v in sizes else None for v in used - {*sum_.indices}]
    return used.isdisjoint(sum_.indices) or all(
        extent is not None and extent <= LONGEST_WHOLE for extent in extents
    )
