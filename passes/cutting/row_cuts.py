"""Sums over rows that other definitions run along: which are cut into pieces of these rows.

dm[i] = sum[j](dy[i, j] * g[j])
dg[j] = sum[i](dy[i, j] * (x[i, j] - m[i]))          over the rows of dy, which dm runs along
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from xdsl.ir import SSAValue

from dialects import tix
from dialects.tix import Affine
from dialects.tix.affine import SizeValues
from passes.cutting.cut import Cut, definitions_read
from passes.index_sets.sets import boxed_indices
from passes.scheduling.blocking import FEWEST_ELEMENTS_OF_ROW
from passes.scheduling.rows.piece_sums import ROWS_OF_PIECE
from passes.scheduling.rows.row_forms import long_reductions

FEWEST_ROWS = 2 * ROWS_OF_PIECE
"""The length of the shortest index that is cut."""

FEWEST_PIECES = 8
"""Pieces at least: they are what threads share."""

LONGEST_ROW = 1 << 14
"""Elements of the longest row: with a row of each of several tensors, 64 KB of f32, a near cache
keeps the sums of a piece."""

Row = tuple[SSAValue, int]
"""Rows of a tensor: what it has for all values of so many first indices."""

Places = Mapping[tix.DefineOp, int]
"""The place of each definition in its program."""


def row_cuts(free: Sequence[tix.DefineOp], places: Places, sizes: Mapping[str, int]) -> list[Cut]:
    """The sums over rows that others reduce, among definitions that need not stay as they are."""
    last = {row: op for op in free for row in _rows_reduced(op)}
    return [cut for op in free for cut in _cuts_in(op, last, places, sizes)]


def _rows_reduced(op: tix.DefineOp) -> Iterator[Row]:
    """The rows of which each element of a definition is made, by reductions that run along one."""
    for reduction in long_reductions(op):
        for read in _reads_in(reduction):
            own, inside = _at(read, len(op.indices))
            if own == [*op.indices] and {*inside} <= {*reduction.indices}:
                yield read.tensor, len(op.indices)


def _cuts_in(
    op: tix.DefineOp,
    last: Mapping[Row, tix.DefineOp],
    places: Places,
    sizes: Mapping[str, int],
) -> Iterator[Cut]:
    """The sums of a definition over rows that others reduce."""
    for total in op.body.block.ops:
        if not isinstance(total, tix.SumOp) or not op.indices or op.view is not None:
            continue
        rows, count = boxed_indices(total), len(total.indices)
        if len(rows) != count or len(total.constraints) != 2 * count:
            continue
        lengths = [rows[v] for v in total.indices]
        partners = [
            last[read.tensor, count]
            for read in _reads_in(total)
            if (read.tensor, count) in last and _has_rows(read, total, op, lengths)
        ]
        if not partners or not _pays(lengths, op.shape, sizes):
            continue
        needed = definitions_read(op)
        yield Cut(total, op, max([*partners, *needed], key=places.__getitem__), lengths)


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


def _pays(lengths: Sequence[Affine], row: Sequence[Affine], sizes: Mapping[str, int]) -> bool:
    """True for many rows that are neither short nor long."""
    known = SizeValues(sizes)
    if not {name for form in (*lengths, *row) for name in form.sizes} <= sizes.keys():
        return False
    *others, rows = (form.evaluate(known) for form in lengths)
    *planes, along = (form.evaluate(known) for form in row)
    many = rows >= FEWEST_ROWS and prod(others) * rows >= FEWEST_PIECES * ROWS_OF_PIECE
    return many and along >= FEWEST_ELEMENTS_OF_ROW and prod(planes) * along <= LONGEST_ROW
