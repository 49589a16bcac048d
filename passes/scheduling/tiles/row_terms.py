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
    """The indices of a sum, with the one behind all others along which rows share vectors."""
    last = shared_index(op, tile, uses)
    return op.indices if last is None else [*(v for v in op.indices if v is not last), last]


def shared_index(op: tix.ReductionOp, tile: Tile, uses: IndexUses) -> SSAValue | None:
    """The index of a sum along which rows share vectors, if any."""
    return uses.once(
        (shared_index, op, tile.row_index, tile.column_index),
        lambda: next((v for v in reversed(op.indices) if _is_shared(op, v, tile, uses)), None),
    )


def rows_read_again(op: tix.ReductionOp, index: SSAValue, tile: Tile, uses: IndexUses) -> bool:
    """True if a row reads for one value of an index a number that another row reads for another."""
    row = tile.row_index
    if row is None:
        return False
    reads = (o for o in op.body.walk() if isinstance(o, tix.ReadOp))
    numbers = (r for r in reads if tile.column_index not in uses.of_operation(r))
    return any(f[index] and f[row] for read in numbers for f in read.forms)


def terms_to_next_row(op: tix.ReductionOp, tile: Tile, uses: IndexUses) -> int:
    """The terms by which a row reads sooner what the row before reads, too; below 0: later."""
    index, row = shared_index(op, tile, uses), tile.row_index
    if index is None or row is None:
        return 0
    reads = (o for o in op.body.walk() if isinstance(o, tix.ReadOp))
    moved = (r for r in reads if _distance(r, index, tile, uses))
    return next((f[row] // f[index] for read in moved for f in read.forms if f[index]), 0)


def vectors_of_rows(read: tix.ReadOp, op: tix.ReductionOp, tile: Tile, uses: IndexUses) -> float:
    """The vectors that all rows of a block read for a term, those that terms of a window share in
    parts; longer sums make the tests of rows so often that these take what loads save."""
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
    """True if terms along an index have numbers as bounds, and rows read the same in some."""
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
    """The terms from one that reads a vector to one that reads the same for the row before; 0 where
    there are none."""
    moved, row = [f for f in read.forms if f[index]], tile.row_index
    if row is None or len(moved) != 1 or tile.column_index not in uses.of_operation(read):
        return 0
    (form,) = moved
    distance, rest = divmod(abs(form[row]), abs(form[index]))
    return 0 if rest else distance
