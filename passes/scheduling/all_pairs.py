"""Walks over pairs: one sum along each of two indices, from values that a pair computes once.

    dx[i, k] = sum[j](exp(-d(i, j)) * b[j] * (x[i, k] - z[j, k]))
    dz_pieces[p, k, j] = sum[q](exp(-d(2*q + p, j)) * ...)              rows i = 2*q + p

A block has some rows i of a piece p, with all values of k, and a vector of columns j. The sums
along j are in registers, those along i are added to what is in memory.

Threads share 16 *units*: of each piece p the rows are cut into parts u, and the columns into as
many parts, of which a unit takes one after the other. In superstep s, unit (p, u) has the columns
of part u + s, counted around a circle: so no two units add to the same element of a piece, and each
element has its terms in an order that is known. Three parts, of one piece:

    columns  0   1   2
    rows 0  s=0 s=1 s=2
    rows 1  s=2 s=0 s=1
    rows 2  s=1 s=2 s=0

The more columns there are, the more parts and the fewer pieces, each of which takes memory for all
columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod

from xdsl.ir import Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import INDEX, block_with
from tadc.dialects.tix import Affine, Constraint, between
from tadc.passes.analysis.all_pairs import LongSum, long_sums, share_terms
from tadc.passes.index_sets.sets import boxed_indices
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import view_of
from tadc.passes.scheduling.joined_bodies import joined
from tadc.passes.scheduling.rows.rfactored_sums import ResidueSum
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums, is_short
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import constant_extent, lanes_of

ROWS_OF_PAIRS = 4
"""Rows of a block, whose terms are added up in registers before they are added to memory."""

UNITS_OF_PAIRS = 16
"""Units of work for the threads to share: the number of pieces, times the parts of each."""

FEWEST_COLUMNS_OF_PART = 256
"""The fewest columns of a part: in each part, every row adds up the lanes of its sum once."""

MOST_SUMS_OF_BLOCK = 16
"""Sums along the columns in a block: with what they read, as many vectors as registers hold."""


@dataclass(frozen=True)
class PairPiece:
    """A sum along the rows of pairs."""

    op: tix.DefineOp
    places: Sequence[SSAValue]
    """The body's indices for the dimensions of the sum between its piece and its column."""
    term: SSAValue
    """The value that a pair adds, in the body's sum."""


@dataclass(frozen=True)
class Pairs:
    """The loops of a definition that walks over pairs, and the sums that it takes along."""

    tile: Tile
    length: Affine
    """The number of rows."""
    width: Affine
    """The number of columns."""
    pieces: Sequence[PairPiece]

    @property
    def row(self) -> SSAValue:
        """The index of the rows; row `i` belongs to piece `i % tile.step`."""
        assert self.tile.row_index is not None
        return self.tile.row_index

    @property
    def parts(self) -> int:
        """The number of parts that the rows of a piece are cut into, and the columns."""
        return UNITS_OF_PAIRS // self.tile.step


@dataclass(frozen=True)
class Walk:
    """A definition that may walk over pairs of a row and an index of its only long sum."""

    sum: LongSum
    row: SSAValue

    @property
    def op(self) -> tix.DefineOp:
        return self.sum.definition

    @property
    def sizes(self) -> dict[SSAValue, Affine]:
        return dict(zip(self.op.indices, self.op.shape, strict=True))

    @property
    def whole(self) -> list[SSAValue]:
        """The indices of which each block has all values."""
        return [v for v in self.op.indices if v is not self.row]

    @property
    def rows(self) -> int:
        """The rows of a block; 0 if registers cannot hold a row's sums, or a size is unknown."""
        counts = [constant_extent(self.sizes[v]) for v in self.whole]
        known = [count or 1 for count in counts if count is not None]
        return min(ROWS_OF_PAIRS, MOST_SUMS_OF_BLOCK // prod(known)) * (len(known) == len(counts))

    def places_of(self, sizes: Sequence[Affine]) -> list[SSAValue] | None:
        """Indices other than the row's that have these sizes, in this order; None without any."""
        ways = permutations(self.whole, len(sizes))
        return next((list(w) for w in ways if [self.sizes[v] for v in w] == [*sizes]), None)

    def has(self, sizes: Sequence[Affine]) -> bool:
        """True if blocks cover indices of these sizes, beside the rows and the columns."""
        return self.rows > 0 and self.places_of(sizes) is not None


def pieces_for(columns: int) -> int:
    """The number of pieces that the rows are cut into for so many columns: 2, 4, 8 or 16."""
    parts = 1
    while 4 * parts <= UNITS_OF_PAIRS and 2 * parts * FEWEST_COLUMNS_OF_PART <= columns:
        parts *= 2
    return UNITS_OF_PAIRS // parts


def walking_sum(op: tix.DefineOp) -> LongSum | None:
    """The sum of a definition that may walk over pairs: the only long one, over a whole range."""
    found = next(long_sums(op), None)
    if found is None or blocked_sums(op.body) != [found.op] or len(found.op.constraints) > 2:
        return None
    return found if are_walked(found.op) and found.index in boxed_indices(found.op) else None


def are_walked(op: tix.SumOp) -> bool:
    """True if the terms of a sum consist of reads, arithmetic and short sums, without choices."""
    simple = tix.ReadOp | tix.UnaryOp | tix.BinaryOp | tix.ConstantOp | tix.IndexToRealOp
    inner = [o for o in op.body.walk() if not isinstance(o, tix.YieldOp)]
    return all(
        is_short(o) if isinstance(o, tix.ReductionOp) else isinstance(o, simple) for o in inner
    )


def walk_of(op: tix.DefineOp, pieces: Sequence[ResidueSum]) -> tuple[tix.DefineOp, Pairs] | None:
    """The joined body and the loops of a definition, and of the sums that share its walk.

    None if no sum shares it. The body is added to the program.
    """
    found = walking_sum(op)
    for row in op.indices if found else ():
        assert found
        walk = Walk(found, row)
        mine = [p for p in pieces if p.count == pieces[0].count and _fits(walk, p)]
        across = [_along_columns(walk, piece) for piece in mine]
        shares = [_shares(walk, own) for own in across]
        taken = [(p, own) for p, own, does in zip(mine, across, shares, strict=True) if does]
        made = _joined(walk, taken) if taken else None
        for own in across:
            own.erase()
        if made:
            return made
    return None


def _fits(walk: Walk, piece: ResidueSum) -> bool:
    """True if a sum of pieces runs along the rows of the walk, for each of its columns."""
    length = boxed_indices(walk.sum.op)[walk.sum.index]
    along = piece.length == walk.sizes[walk.row] and piece.op.shape[-1] == length
    same = piece.op.type.element == walk.op.type.element
    return along and same and are_walked(piece.total) and walk.has(piece.op.shape[1:-1])


def _shares(walk: Walk, across: tix.DefineOp) -> bool:
    """True if terms along columns share dear values with those of the walk."""
    (total,) = (o for o in across.body.block.ops if isinstance(o, tix.SumOp))
    same = dict(zip(across.indices, walk.op.indices, strict=True)) | {
        total.indices[0]: walk.sum.index
    }
    row = across.indices[walk.op.indices.index(walk.row)]
    return share_terms(walk.sum, LongSum(across, total), same, {row, total.indices[0]})


def _joined(
    walk: Walk, pieces: Sequence[tuple[ResidueSum, tix.DefineOp]]
) -> tuple[tix.DefineOp, Pairs]:
    """The body and the loops of the walk: one sum, whose loop computes the terms of all members."""
    op = walk.op
    every = range(len(op.indices))
    body = joined([op, *(across for _, across in pieces)], [every] * (1 + len(pieces)))
    assert body is not None, "sums along columns are over the same points"
    new = dict(zip(op.indices, body.indices, strict=True))
    totals = tix.all_yielded(body.body)[1:]
    (sum_,) = {total.owner for total in totals}
    assert isinstance(sum_, tix.SumOp)
    terms: dict[SSAValue, SSAValue] = dict(
        zip(sum_.results, tix.all_yielded(sum_.body), strict=True)
    )
    found = [
        PairPiece(
            piece.op, [new[v] for v in walk.places_of(piece.op.shape[1:-1]) or ()], terms[total]
        )
        for (piece, _), total in zip(pieces, totals, strict=True)
    ]
    whole = tuple((new[v], constant_extent(walk.sizes[v]) or 0) for v in walk.whole)
    lanes, step = lanes_of(op), pieces[0][0].count
    tile = Tile(new[walk.row], sum_.indices[0], walk.rows, lanes, lanes, whole=whole, step=step)
    width = boxed_indices(walk.sum.op)[walk.sum.index]
    return body, Pairs(tile, walk.sizes[walk.row], width, found)


def _along_columns(walk: Walk, piece: ResidueSum) -> tix.DefineOp:
    """A definition with the indices of the walk that adds up the terms of a piece along columns.

    It is not what is wanted, but it has the sum in whose loop the terms are computed. As all that
    is read moves with the row, `16*q + p`, it is enough that `p` is the row, and `q` is 0.
    """
    op, total = walk.op, piece.total
    block = block_with([INDEX] * len(op.indices))
    builder = BodyBuilder(block, piece.op.location)
    own = dict(zip(op.indices, block.args, strict=True))
    others = [own[v] for v in walk.places_of(piece.op.shape[1:-1]) or ()]
    length = piece.op.shape[-1]

    def domain(columns: list[SSAValue]) -> list[Constraint]:
        return between(0, Affine.of(columns[0]), length)

    def term(e: BodyBuilder, columns: list[SSAValue]) -> SSAValue:
        inner = Cloner(e).inner(e, piece.op.indices, [own[walk.row], *others, *columns])
        inner.indices[total.indices[0]] = Affine(constant=0)
        return inner.copy_body(total.body)

    value = builder.sum([walk.sum.index.name_hint], domain, term)
    block.add_op(tix.YieldOp(value))
    made = tix.DefineOp(op.label.data, op.type, Region(block), view_of(op.result))
    made.location = piece.op.location
    return made
