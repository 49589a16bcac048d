"""`cut-sums`: a sum over rows that other definitions run along is cut into pieces of these rows.

    dm[i] = sum[j](dy[i, j] * g[j])
    dg[j] = sum[i](dy[i, j] * (x[i, j] - m[i]))          i in range(I)

becomes

    dm[i] = sum[j](dy[i, j] * g[j])
    dg_pieces[p, j] = sum[i in range(32*p, min(32*p + 32, I))](dy[i, j] * (x[i, j] - m[i]))
    dg[j] = sum[p](dg_pieces[p, j])                      p in range(⌈I / 32⌉)

by  {0, ..., I - 1} = ∪_p {32 p, ..., min(32 p + 32, I) - 1}.  A piece belongs to few rows, so that
one loop can compute these and add to it what they contribute, while they lie in a near cache
(`passes/scheduling/rows/rows.py`): the rows are read from memory once. Gradients of norms by their
weights are like this, and products of a matrix, and of its transpose, with vectors. Elements of
products of matrices share what they read, which is for blocks.

Sums along both indices of pairs are cut likewise, where a pair has something dear for both
(`passes/scheduling/pairs.py`). Of those along the first index,

    dx[i] = sum[j](exp(-(x[i] - z[j])**2) * b[j])
    dz[j] = sum[i](exp(-(x[i] - z[j])**2) * a[i])

dz becomes 16 pieces, of every sixteenth row each: dz_pieces[p, j] adds up the rows i = 16 q + p. So
their memory does not grow with the number of rows.

Pieces stand behind the last definition that runs along the rows, and what they are added up to
before the first one that reads it. Definitions that must round identically stay as they are. On
entry and on exit sums are bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import SSAValue

from dialects import tix
from dialects.tix import Affine, TensorType, between
from dialects.tix.affine import SizeValues
from passes.analysis.pairs import LongSum, long_sums, pairs_along
from passes.analysis.rounding import is_free, must_round_identically
from passes.index_sets.sets import boxed_indices
from passes.rewriting.builder import BodyBuilder
from passes.rewriting.cloner import Cloner
from passes.rewriting.part_sizes import PartSizes
from passes.rewriting.program_pass import ProgramPass
from passes.rewriting.programs import (
    ProgramBuilder,
    copy_changed,
    reads_of,
    start_copy,
    type_of,
)
from passes.rewriting.written_sizes import parse_sizes
from passes.scheduling.blocking import FEWEST_ELEMENTS_OF_ROW
from passes.scheduling.pairs import Walk, are_walked, walking_sum
from passes.scheduling.rows.piece_sums import ROWS_OF_PIECE
from passes.scheduling.rows.row_forms import long_reductions

FEWEST_ROWS = 2 * ROWS_OF_PIECE
"""The length of the shortest index that is cut."""

FEWEST_PIECES = 8
"""Pieces at least: they are what threads share."""

PIECES_OF_PAIRS = 16
"""Pieces of the rows of pairs: threads share them, and each has memory for its own sums."""

FEWEST_ROWS_OF_PAIRS = 32
"""Rows of such a piece at least."""

FEWEST_COLUMNS = 64
"""Columns of pairs at least: four vectors of f32."""

LONGEST_ROW = 1 << 14
"""Elements of the longest row: with a row of each of several tensors, 64 KB of f32, a near cache
keeps the sums of a piece."""


@dataclass(frozen=True)
class CutSumsPass(ProgramPass):
    """`cut-sums{sizes="I=512"}`: sums that are long for these sizes; right for all."""

    name = "cut-sums"
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return cut_sums(program, parse_sizes(self.sizes))


def cut_sums(program: tix.ProgramOp, sizes: Mapping[str, int]) -> tix.ProgramOp:
    """The program with sums over rows in pieces; itself where there are none."""
    cuts = _cuts_of(program, sizes)
    if not cuts:
        return program
    lengths = PartSizes(program, sizes)
    builder, cloner = start_copy(_Cutter, program)
    cloner.pieces = {}
    whole, waiting = {cut.definition for cut in cuts}, list[tix.DefineOp]()
    for op in program.definitions:
        needed = {read.tensor.owner for read in reads_of(op)}
        _append(builder, cloner, [w for w in waiting if w in needed])
        waiting = [w for w in waiting if w not in needed]
        if op in whole:
            waiting.append(op)
        else:
            _append(builder, cloner, [op])
        for cut in cuts:
            if cut.behind is op:
                pieces = _pieces(builder, cloner, cut, lengths)
                cloner.pieces[cut.op] = pieces, cut
    _append(builder, cloner, waiting)
    made = builder.finish(program, [cloner.value(v) for v in program.returned])
    made.derived = ArrayAttr([*program.derived, *lengths.derived])
    return made


def _append(builder: ProgramBuilder, cloner: _Cutter, ops: Sequence[tix.DefineOp]) -> None:
    for op in ops:
        cloner.values[op.result] = copy_changed(builder, cloner, op, cloner.pieces)


# --- which sums -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cut:
    """A sum to cut."""

    op: tix.SumOp
    definition: tix.DefineOp
    behind: tix.DefineOp
    """The definition behind which the pieces stand: all that they need is there."""
    rows: Sequence[Affine]
    """The lengths of the indices of the sum; the last one is cut."""
    along: SSAValue | None = None
    """For sums over pairs, the index of the definition along which elements of a piece lie side by
    side."""

    @property
    def inside(self) -> list[SSAValue]:
        """The indices of the definition in the order in which a piece has them."""
        indices = self.definition.indices
        last = [] if self.along is None else [self.along]
        return [*(v for v in indices if v not in last), *last]

    @property
    def shape(self) -> list[Affine]:
        """The sizes of these."""
        sizes = dict(zip(self.definition.indices, self.definition.shape, strict=True))
        return [sizes[v] for v in self.inside]


Row = tuple[SSAValue, int]
"""Rows of a tensor: what it has for all values of so many first indices."""


def _cuts_of(program: tix.ProgramOp, sizes: Mapping[str, int]) -> list[_Cut]:
    fixed = must_round_identically(program)
    free = [op for op in program.definitions if is_free(op, fixed)]
    last = {row: op for op in free for row in _rows_reduced(op)}
    places = {op: n for n, op in enumerate(program.definitions)}
    found = [cut for op in free for cut in _cuts_in(op, last, places, sizes)]
    found = found or _cuts_of_pairs(free, places, sizes)  # walks have no rows of other definitions
    whole = {cut.definition.result for cut in found}
    return [
        cut
        for cut in found
        if not whole & {r.tensor for r in reads_of(cut.definition)}
        and not any(
            read.tensor is cut.definition.result
            for op in program.definitions[: places[cut.behind] + 1]
            for read in reads_of(op)
        )
    ]


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
    places: Mapping[tix.DefineOp, int],
    sizes: Mapping[str, int],
) -> Iterator[_Cut]:
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
        needed = _definitions_read(op)
        yield _Cut(total, op, max([*partners, *needed], key=places.__getitem__), lengths)


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


# --- pairs ----------------------------------------------------------------------------------------


def _cuts_of_pairs(
    free: Sequence[tix.DefineOp],
    places: Mapping[tix.DefineOp, int],
    sizes: Mapping[str, int],
) -> list[_Cut]:
    """The sums along one index of pairs that a definition along the other one takes along
    (`passes/scheduling/pairs.py`): the first of those that take most."""
    ops = [op for op in free if op.indices and op.view is None]
    seconds = [second for op in ops for second in long_sums(op) if are_walked(second.op)]
    ways = [
        [cut for s in seconds if (cut := _cut_of_pair(first, s, places, sizes)) is not None]
        for first in filter(None, map(walking_sum, free))
    ]
    return max(ways, key=len) if ways else []


def _cut_of_pair(
    first: LongSum,
    second: LongSum,
    places: Mapping[tix.DefineOp, int],
    sizes: Mapping[str, int],
) -> _Cut | None:
    """The cut of the second sum, if one walk over pairs may compute both."""
    walker, length = first.definition, boxed_indices(first.op)[first.index]
    height = boxed_indices(second.op).get(second.index)
    if second.definition is walker or height is None or len(second.op.constraints) > 2:
        return None
    if not _are_many(height, length, sizes):
        return None
    is_there = all(places[op] < places[walker] for op in _definitions_read(second.definition))
    pair = pairs_along(first, second, length, height) if is_there else None
    if pair is None:
        return None
    cut = _Cut(second.op, second.definition, walker, [height], pair[1])
    return cut if Walk(first, pair[0]).has(cut.shape[:-1]) else None


def _are_many(rows: Affine, columns: Affine, sizes: Mapping[str, int]) -> bool:
    """True if there are enough rows for pieces, and enough columns for vectors."""
    if not {*rows.sizes, *columns.sizes} <= sizes.keys():
        return False
    known = SizeValues(sizes)
    along = columns.evaluate(known)
    is_long = rows.evaluate(known) >= PIECES_OF_PAIRS * FEWEST_ROWS_OF_PAIRS
    return is_long and FEWEST_COLUMNS <= along <= LONGEST_ROW


def _definitions_read(op: tix.DefineOp) -> list[tix.DefineOp]:
    return [r.tensor.owner for r in reads_of(op) if isinstance(r.tensor.owner, tix.DefineOp)]


# --- the change -----------------------------------------------------------------------------------


class _Cutter(Cloner):
    """Copies; sums whose pieces are there add these up."""

    pieces: dict[tix.SumOp, tuple[SSAValue, _Cut]]

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        """Copy a reduction, or add up the pieces of a sum that has some."""
        if not isinstance(op, tix.SumOp) or op not in self.pieces:
            return super().copy_reduction(op)
        pieces, cut = self.pieces[op]
        around = [self.form(Affine.of(v)) for v in cut.inside]
        lengths = type_of(pieces).shape[: len(op.indices)]

        def domain(own: list[SSAValue]) -> list[tix.Constraint]:
            ranges = zip(own, lengths, strict=True)
            return [c for v, length in ranges for c in between(0, Affine.of(v), length)]

        def piece(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            return e.read(pieces, [*map(Affine.of, own), *around])

        return self.builder.sum([*_hints(op.indices[:-1]), "p"], domain, piece)


def _pieces(builder: ProgramBuilder, cloner: Cloner, cut: _Cut, lengths: PartSizes) -> SSAValue:
    """Append the definition of the pieces of a sum."""
    op, around = cut.op, cut.definition
    *others, length = cut.rows
    outer, of_pairs = op.indices[:-1], cut.along is not None
    count = Affine(constant=PIECES_OF_PAIRS)
    if not of_pairs:
        count = lengths.of(length, ROWS_OF_PIECE, 0, "P")

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        place = Affine.of(own[len(outer)])
        inner = cloner.inner(
            e,
            [*outer, *cut.inside],
            [*own[: len(outer)], *own[len(outer) + 1 :]],
        )
        inner.require(op)
        if of_pairs:
            return _residue(e, inner, cut, place)
        return _rows(e, inner, cut, place, count)

    return builder.define(
        builder.fresh_label(f"{around.label.data}_pieces"),
        TensorType.of([*others, count, *cut.shape], tix.ELEMENT_TYPES[around.type.dtype]),
        [*_hints(outer), "p", *_hints(cut.inside)],
        around.location,
        body,
    )


def _rows(e: BodyBuilder, cloner: Cloner, cut: _Cut, place: Affine, count: Affine) -> SSAValue:
    """The sum over the rows of a piece, which follow each other."""
    row, length = cut.op.indices[-1], cut.rows[-1]

    def domain(rows: list[SSAValue]) -> list[tix.Constraint]:
        index = Affine.of(rows[0])
        within = between(0, index - place * ROWS_OF_PIECE, Affine(constant=ROWS_OF_PIECE))
        is_whole = count * ROWS_OF_PIECE == length
        return within if is_whole else [*within, tix.Constraint(length - index - 1)]

    def term(e: BodyBuilder, rows: list[SSAValue]) -> SSAValue:
        return cloner.inner(e, [row], rows).copy_body(cut.op.body)

    return e.sum(_hints([row]), domain, term)


def _residue(e: BodyBuilder, cloner: Cloner, cut: _Cut, place: Affine) -> SSAValue:
    """The sum over the rows of a piece, which have one residue."""
    row, length = cut.op.indices[-1], cut.rows[-1]

    def at(rows: list[SSAValue]) -> Affine:
        return Affine.of(rows[0]) * PIECES_OF_PAIRS + place

    def domain(rows: list[SSAValue]) -> list[tix.Constraint]:
        return [tix.Constraint(Affine.of(rows[0])), tix.Constraint(length - at(rows) - 1)]

    def term(e: BodyBuilder, rows: list[SSAValue]) -> SSAValue:
        inner = cloner.inner(e)
        inner.indices[row] = at(rows)
        return inner.copy_body(cut.op.body)

    return e.sum(["q"], domain, term)


def _hints(indices: Sequence[SSAValue]) -> list[str | None]:
    return [v.name_hint for v in indices]
