"""Terms of a sum that read, for one row of a block, what others read for the next row.

    y[i, j] = sum[u in range(3), v in range(3)](x[i + u, j + v] * w[u, v])       rows i

    term u of row r reads row r + u: three terms of four rows are 12 vectors, of which 6 differ

Where such terms are written out, side by side, a block loads each vector once: the index u comes
last. Its sums then have their terms in this order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.tiles.sum_lengths import (
    MOST_TERMS_OF_ROWS,
    MOST_TERMS_OF_WINDOW,
    constant_range,
    is_short,
    term_count,
)
from tadc.passes.scheduling.tiles.tile import Tile


def rows_last(op: tix.ReductionOp, tile: Tile, uses: IndexUses) -> Sequence[SSAValue]:
    """The indices of a sum, with the one along which rows share vectors moved innermost."""
    last = shared_index(op, tile, uses)
    return op.indices if last is None else [*(v for v in op.indices if v is not last), last]


def shared_index(op: tix.ReductionOp, tile: Tile, uses: IndexUses) -> SSAValue | None:
    """The index of a sum along which rows share vectors, if any."""
    return uses.once(
        (shared_index, op, tile.row_index, tile.column_index),
        lambda: next((v for v in reversed(op.indices) if _is_shared(op, v, tile, uses)), None),
    )


def rows_read_again(op: tix.ReductionOp, index: SSAValue, tile: Tile, uses: IndexUses) -> bool:
    """True if rows read the same numbers at different values of an index: `a[i + k]` for rows i."""
    row = tile.row_index
    if row is None:
        return False
    reads = (o for o in op.body.walk() if isinstance(o, tix.ReadOp))
    numbers = (r for r in reads if tile.column_index not in uses.of_operation(r))
    return any(f[index] and f[row] for read in numbers for f in read.forms)


def terms_to_next_row(op: tix.ReductionOp, tile: Tile, uses: IndexUses) -> int:
    """The number of terms by which a row reads a vector before the previous row does.

    It is negative where the row reads it later.
    """
    index, row = shared_index(op, tile, uses), tile.row_index
    if index is None or row is None:
        return 0
    reads = (o for o in op.body.walk() if isinstance(o, tix.ReadOp))
    moved = (r for r in reads if _distance(r, index, tile, uses))
    return next((f[row] // f[index] for read in moved for f in read.forms if f[index]), 0)


def vectors_of_rows(read: tix.ReadOp, op: tix.ReductionOp, tile: Tile, uses: IndexUses) -> float:
    """The vectors that a block loads per term of a read, less those that unrolled terms share.

    Terms of long sums share none: their tests of rows take what the loads save.
    """
    rows, row = tile.count_in(uses.of_operation(read)), tile.row_index
    index = shared_index(op, tile, uses)
    if row is None or index is None or (term_count(op) or inf) > MOST_TERMS_OF_WINDOW:
        return rows
    if not _distance(read, index, tile, uses):
        return rows
    (form,) = (f for f in read.forms if f[index])
    terms = range(_length(op, index))
    places = {form[row] * r + form[index] * k for r in range(tile.rows) for k in terms}
    return rows * len(places) / (tile.rows * len(terms))


def _is_shared(op: tix.ReductionOp, index: SSAValue, tile: Tile, uses: IndexUses) -> bool:
    """True if an index has constant bounds, and rows share vectors between some of its values."""
    inner = [o for o in op.body.walk() if isinstance(o, tix.ReductionOp) and not is_short(o)]
    slopes = any(c.form[tile.column_index] for c in op.constraints)
    length = _length(op, index)
    if tile.row_index is None or inner or slopes or not 1 < length <= MOST_TERMS_OF_ROWS:
        return False
    reads = (o for o in op.body.walk() if isinstance(o, tix.ReadOp))
    return any(0 < _distance(read, index, tile, uses) < length for read in reads)


def _length(op: tix.ReductionOp, index: SSAValue) -> int:
    found = constant_range(op, index)
    return found[1] if found else 0


def _distance(read: tix.ReadOp, index: SSAValue, tile: Tile, uses: IndexUses) -> int:
    """The number of terms between the reads of one vector by neighbouring rows; 0 if none is."""
    moved, row = [f for f in read.forms if f[index]], tile.row_index
    if row is None or len(moved) != 1 or tile.column_index not in uses.of_operation(read):
        return 0
    (form,) = moved
    distance, rest = divmod(abs(form[row]), abs(form[index]))
    return 0 if rest else distance
