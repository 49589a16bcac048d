"""Sums over rows that are cut into pieces of these rows: those that other definitions run along.

    dm[i] = sum[j](dy[i, j] * g[j])                      reduces each row of dy
    dx[i, j] = dy[i, j] * h[i]                           makes a row of dx of each row of dy
    dg[j] = sum[i](dy[i, j] * (x[i, j] - m[i]))          is over the rows of dy

Sums over very many rows are cut even if no other definition runs along these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.dialects.tix.affine import SizeValues
from tadc.passes.index_sets.sets import boxed_indices
from tadc.passes.rewriting.programs import reads_of
from tadc.passes.scheduling.blocking import FEWEST_ELEMENTS_OF_ROW
from tadc.passes.scheduling.rows.fuse_strips import MOST_TERMS_OF_STRIP
from tadc.passes.scheduling.rows.rfactored_sums import ROWS_OF_PIECE
from tadc.passes.scheduling.rows.vectorized_rows import LONGEST_ROW, long_reductions
from tadc.passes.splitting.rfactor.cut import Cut, Places, definitions_read, first_readers

FEWEST_ROWS = 2 * ROWS_OF_PIECE
"""The length of the shortest index that is cut."""

FEWEST_PIECES = 8
"""Pieces at least: they are what threads share."""

FEWEST_COLUMNS_OF_STRIP = 64
"""Columns of a strip: four vectors of f32."""

FEWEST_ROWS_ALONE, FEWEST_ELEMENTS_ALONE = 1 << 11, 1 << 21
"""Rows, and elements of all of them, that are cut even if no other definition runs along them:
8 MB of f32."""

Row = tuple[SSAValue, int]
"""Rows of a tensor: what it has for all values of so many first indices."""

Runs = Mapping[Row, Sequence[tix.DefineOp]]
"""The definitions that run along rows, in order."""


def row_cuts(free: Sequence[tix.DefineOp], places: Places, sizes: Mapping[str, int]) -> list[Cut]:
    """The sums over rows to cut, of definitions that need not stay as they are."""
    reduced, made = _runs(free, _rows_reduced), _runs(free, _rows_made)
    readers, ready = first_readers(places), dict(places)
    cuts: list[Cut] = []
    for op in free:
        last = readers.get(op.result, len(places))
        for total, lengths, rows in _sums_over_rows(op):
            partners = _before(last, reduced, rows, places)
            if not partners and _is_wide(op, sizes):
                partners = _before(last, made, rows, places)
            behind = max([-1, *partners, *(ready[read] for read in definitions_read(total))])
            pays = _pays(lengths, op.shape, sizes)
            if pays and behind < last and (partners or _are_far(rows, lengths, op, sizes)):
                cuts.append(Cut(total, op, behind, lengths))
                ready[op] = max(ready[op], behind)
    return cuts


def _runs(ops: Sequence[tix.DefineOp], rows_of: Callable[[tix.DefineOp], Iterator[Row]]) -> Runs:
    """The definitions by the rows that `rows_of` finds in each."""
    found = defaultdict[Row, list[tix.DefineOp]](list)
    for op in ops:
        for row in rows_of(op):
            found[row].append(op)
    return found


def _before(last: int, runs: Runs, rows: Sequence[Row], places: Places) -> list[int]:
    """The places of definitions before a place that run along some of these rows."""
    found = (places[op] for row in rows for op in runs.get(row, ()))
    return [place for place in found if place < last]


def _rows_reduced(op: tix.DefineOp) -> Iterator[Row]:
    """The rows of which each element of a definition is made, by reductions that run along one."""
    for reduction in long_reductions(op):
        for read in _reads_in(reduction):
            own, inside = _at(read, len(op.indices))
            if own == [*op.indices] and {*inside} <= {*reduction.indices}:
                yield read.tensor, len(op.indices)


def _rows_made(op: tix.DefineOp) -> Iterator[Row]:
    """The rows that a definition makes, and those of tensors that it reads where it writes."""
    if long_reductions(op) or op.view is not None:
        return
    own: list[object] = [*op.indices]
    read = (r.tensor for r in reads_of(op) if [form.single_index for form in r.forms] == own)
    for tensor in dict.fromkeys([*read, op.result]):
        yield from ((tensor, count) for count in range(1, len(own)))


def _sums_over_rows(
    op: tix.DefineOp,
) -> Iterator[tuple[tix.SumOp, Sequence[Affine], Sequence[Row]]]:
    """The sums of a definition over all rows of some tensors, the lengths of their indices, and
    these rows."""
    for total in op.body.block.ops:
        if not isinstance(total, tix.SumOp) or not op.indices or op.view is not None:
            continue
        ranges, count = boxed_indices(total), len(total.indices)
        if len(ranges) != count or len(total.constraints) != 2 * count:
            continue
        lengths = [ranges[v] for v in total.indices]
        read = [r.tensor for r in _reads_in(total) if _has_rows(r, total, op, lengths)]
        yield total, lengths, [(tensor, count) for tensor in read]


def _has_rows(
    read: tix.ReadOp, total: tix.SumOp, op: tix.DefineOp, lengths: Sequence[Affine]
) -> bool:
    """True if the terms of each element of a definition read an element of their own from every
    row of a tensor.

    Elements of a product of matrices share what they read: that is for blocks.
    """
    own, inside = _at(read, len(lengths))
    whole = [*read.shape[: len(lengths)]] == [*lengths]
    return whole and own == [*total.indices] and inside == [*op.indices]


def _at(read: tix.ReadOp, count: int) -> tuple[list[object], list[object]]:
    """The indices at which a tensor is read, the first `count` apart; None for other forms."""
    indices: list[object] = [form.single_index for form in read.forms]
    return indices[:count], indices[count:]


def _reads_in(op: tix.ReductionOp) -> Iterator[tix.ReadOp]:
    return (inner for inner in op.walk() if isinstance(inner, tix.ReadOp))


def _is_wide(op: tix.DefineOp, sizes: Mapping[str, int]) -> bool:
    """True if a row fills the vectors of a strip (`passes/scheduling/rows`), which would
    have whole narrower rows."""
    columns = op.shape[-1]
    is_known = {*columns.sizes} <= sizes.keys()
    return is_known and columns.evaluate(SizeValues(sizes)) >= FEWEST_COLUMNS_OF_STRIP


def _are_far(
    rows: Sequence[Row], lengths: Sequence[Affine], op: tix.DefineOp, sizes: Mapping[str, int]
) -> bool:
    """True if a sum is over so many rows that no near cache keeps a strip of them, or all rows
    are so large that memory gives whole ones alone quickly."""
    if not rows or not _is_wide(op, sizes):
        return False
    known = SizeValues(sizes)
    terms, row = (prod(form.evaluate(known) for form in forms) for forms in (lengths, op.shape))
    return terms > MOST_TERMS_OF_STRIP or (
        terms >= FEWEST_ROWS_ALONE and terms * row >= FEWEST_ELEMENTS_ALONE
    )


def _pays(lengths: Sequence[Affine], row: Sequence[Affine], sizes: Mapping[str, int]) -> bool:
    """True for many rows that are neither short nor long."""
    known = SizeValues(sizes)
    if not {name for form in (*lengths, *row) for name in form.sizes} <= sizes.keys():
        return False
    *others, rows = (form.evaluate(known) for form in lengths)
    *planes, along = (form.evaluate(known) for form in row)
    many = rows >= FEWEST_ROWS and prod(others) * rows >= FEWEST_PIECES * ROWS_OF_PIECE
    return many and along >= FEWEST_ELEMENTS_OF_ROW and prod(planes) * along <= LONGEST_ROW
