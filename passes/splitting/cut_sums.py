"""`cut-sums`: a sum over rows that other definitions run along is cut into pieces of these rows.

    dm[i] = sum[j](dy[i, j] * g[j])
    dg[j] = sum[i](dy[i, j] * (x[i, j] - m[i]))          i in range(I)

becomes

    dm[i] = sum[j](dy[i, j] * g[j])
    dg_pieces[p, j] = sum[i in range(32*p, min(32*p + 32, I))](dy[i, j] * (x[i, j] - m[i]))
    dg[j] = sum[p](dg_pieces[p, j])                      p in range(⌈I / 32⌉)

by  {0, ..., I - 1} = ∪_p {32 p, ..., min(32 p + 32, I) - 1}.  A piece belongs to few rows, so that
one loop can compute these and add to it what they contribute, while they lie in a near cache
(`passes/scheduling/rows`): the rows are read from memory once. Gradients of norms by their
weights are like this, those of biases beside rows that are made element by element, and products
of a matrix, and of its transpose, with vectors. Elements of
products of matrices share what they read, which is for blocks.

Sums along both indices of pairs are cut likewise, where a pair has something dear for both
(`passes/scheduling/all_pairs.py`). Of those along the first index,

    dx[i] = sum[j](exp(-(x[i] - z[j])**2) * b[j])
    dz[j] = sum[i](exp(-(x[i] - z[j])**2) * a[i])

dz becomes 2 to 16 pieces, of one row in as many each: dz_pieces[p, j] adds up the rows i = 2 q + p.
So their memory does not grow with the number of rows.

Pieces stand behind the last definition that runs along the rows, and what they are added up to
before the first one that reads it. Sums over so many rows that no near cache keeps a strip of them
have pieces whatever runs along these, as memory gives whole rows quickest: they stand where all is
there that they read. Definitions that must round identically stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, TensorType, between
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import is_free, must_round_identically
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.part_sizes import PartSizes
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import (
    ProgramBuilder,
    copy_changed,
    start_copy,
    type_of,
)
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.rows.rfactored_sums import ROWS_OF_PIECE
from tadc.passes.splitting.rfactor.cut import Cut, definitions_read
from tadc.passes.splitting.rfactor.pair_cuts import pair_cuts
from tadc.passes.splitting.rfactor.row_cuts import row_cuts


@dataclass(frozen=True)
class CutSumsPass(ProgramPass):
    """`cut-sums{sizes="I=512"}`: sums that are long for these sizes; right for all."""

    name = "cut-sums"
    requires = leaves = (sums_bounded,)
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

    def append_needed(needed: Collection[tix.DefineOp]) -> None:
        """Append the sums that wait, of those that are needed now, and what they need before."""
        for op in [w for w in waiting if w in needed]:
            waiting.remove(op)
            append_needed(definitions_read(op))
            cloner.values[op.result] = copy_changed(builder, cloner, op, cloner.pieces)

    def append_pieces(place: int) -> None:
        """Append the pieces that stand behind the definition at a place."""
        for cut in cuts:
            if cut.behind == place:
                append_needed(definitions_read(cut.op))
                cloner.pieces[cut.op] = _pieces(builder, cloner, cut, lengths), cut

    append_pieces(-1)
    for place, op in enumerate(program.definitions):
        waiting.append(op)
        append_needed({op} - whole)
        append_pieces(place)
    append_needed({*waiting})
    made = builder.finish(program, [cloner.value(v) for v in program.returned])
    made.derived = ArrayAttr([*program.derived, *lengths.derived])
    return made


def _cuts_of(program: tix.ProgramOp, sizes: Mapping[str, int]) -> list[Cut]:
    fixed = must_round_identically(program)
    free = [op for op in program.definitions if is_free(op, fixed)]
    places = {op: n for n, op in enumerate(program.definitions)}
    # walks have no rows of other definitions
    return row_cuts(free, places, sizes) or pair_cuts(free, places, sizes)


# --- the change -----------------------------------------------------------------------------------


class _Cutter(Cloner):
    """Copies; sums whose pieces are there add these up."""

    pieces: dict[tix.SumOp, tuple[SSAValue, Cut]]

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


def _pieces(builder: ProgramBuilder, cloner: Cloner, cut: Cut, lengths: PartSizes) -> SSAValue:
    """Append the definition of the pieces of a sum."""
    op, around = cut.op, cut.definition
    *others, length = cut.rows
    outer, of_pairs = op.indices[:-1], cut.residues > 0
    count = Affine(constant=cut.residues)
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


def _rows(e: BodyBuilder, cloner: Cloner, cut: Cut, place: Affine, count: Affine) -> SSAValue:
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


def _residue(e: BodyBuilder, cloner: Cloner, cut: Cut, place: Affine) -> SSAValue:
    """The sum over the rows of a piece, which have one residue."""
    row, length = cut.op.indices[-1], cut.rows[-1]

    def at(rows: list[SSAValue]) -> Affine:
        return Affine.of(rows[0]) * cut.residues + place

    def domain(rows: list[SSAValue]) -> list[tix.Constraint]:
        return [tix.Constraint(Affine.of(rows[0])), tix.Constraint(length - at(rows) - 1)]

    def term(e: BodyBuilder, rows: list[SSAValue]) -> SSAValue:
        inner = cloner.inner(e)
        inner.indices[row] = at(rows)
        return inner.copy_body(cut.op.body)

    return e.sum(["q"], domain, term)


def _hints(indices: Sequence[SSAValue]) -> list[str | None]:
    return [v.name_hint for v in indices]
