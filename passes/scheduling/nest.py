"""A nest: definitions that one function computes, with what they share computed once.

    dz[j, k] = sum[i](exp(-d(i, j)) * x[i, k])         rows k, columns j: the block has three rows
    db[j] = sum[i](exp(-d(i, j)) * y[i])               of dz and one of db

Its body is one of several values. The widest of the definitions gives the indices; another one may
lack one of them, of which a block then holds all values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.scheduling.bands.band_stages import Bands
from tadc.passes.scheduling.blocking import PLAIN, Blocking
from tadc.passes.scheduling.pairs import Pairs
from tadc.passes.scheduling.rows.piece_sums import PieceSum
from tadc.passes.scheduling.rows.row_parts import Along, Part
from tadc.passes.scheduling.streams.streams import Stream
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import constant_extent


@dataclass(frozen=True)
class Rows:
    """The rows, or the strips, that the members of a nest share."""

    shared: Mapping[tix.DefineOp, Sequence[SSAValue]]
    """The indices of each member that all have in common, in one order."""
    written: Sequence[tix.DefineOp]
    """The members that have memory of their own."""
    hosts: Mapping[SSAValue, SSAValue]
    """For the rows of others that need memory, the tensor in whose place they are."""
    pieces: Sequence[PieceSum] = ()
    """The members to whose elements each row of a piece adds; they have no rows of their own."""
    in_strips: bool = False
    """True if vectors run along the last of the shared indices (`strips`)."""
    along: Along = field(default_factory=dict["Operation", "Sequence[Part]"])
    """The parts that loops along a row take along."""
    height: int = 1
    """The rows that are computed side by side, along the last of the shared indices."""
    lengths: Sequence[Affine] = ()
    """The numbers of values of the indices along a row."""
    longest: int = 0
    """The elements of the longest rows that go side by side."""

    @property
    def shape(self) -> Mapping[SSAValue, Affine]:
        """The indices of a row, as a member has them, and their sizes."""
        if not self.shared:
            return dict(zip(self.pieces[0].rows, self.pieces[0].lengths, strict=True))
        op, own = next(iter(self.shared.items()))
        sizes = dict(zip(op.indices, op.shape, strict=True))
        return {v: sizes[v] for v in own}

    @property
    def lines(self) -> Mapping[tix.DefineOp, Sequence[SSAValue]]:
        """For each member the indices that say which row it is in; of those in pieces, too."""
        return {**self.shared, **{piece.op: piece.rows for piece in self.pieces}}

    def inside(self, op: tix.DefineOp) -> Sequence[SSAValue]:
        """The indices of a member that run along a row."""
        piece = self.piece(op)
        return piece.inside if piece else [v for v in op.indices if v not in self.shared[op]]

    def piece(self, op: tix.DefineOp) -> PieceSum | None:
        """The sum over rows that a member is, if it is one."""
        return next((piece for piece in self.pieces if piece.op is op), None)


@dataclass(frozen=True)
class Nest:
    """Definitions that one function computes, in these tiles, the best first; none: element by
    element."""

    body: tix.DefineOp
    """The values of all members, in their order."""
    members: Sequence[tix.DefineOp]
    places: Sequence[Sequence[SSAValue]]
    """For each member the indices of the body that are its own."""
    tiles: Sequence[Tile]
    streams: Sequence[Stream] = ()
    """The streams that members are; several run together (`streams_together`)."""
    rows: Rows | None = None
    """The rows that members share, if they do: then their bodies stay apart."""
    pairs: Pairs | None = None
    """The walk over pairs of the first member, which takes the others along."""
    has_columns: bool = False
    """True if loops carry the totals of scans down columns (`column_scans`)."""
    bands: Bands | None = None
    """The bands that members share: stages, and the roots that need them."""
    is_small: bool = False
    """True for a small part of the work of a program: short code rather than quick code."""

    @property
    def written(self) -> Sequence[tix.DefineOp]:
        """The members that have memory of their own."""
        if self.bands:
            return [stage.of for stage in self.bands.roots]
        return self.rows.written if self.rows else self.members

    @staticmethod
    def of(op: tix.DefineOp, blocking: Blocking = PLAIN) -> Nest:
        """The nest of one definition."""
        streams = [blocking.stream] if blocking.stream else []
        return Nest(op, [op], [op.indices], blocking.tiles, streams)

    def results(self) -> Iterator[tuple[tix.DefineOp, Sequence[SSAValue], SSAValue]]:
        """Each member, its indices, and its value."""
        yield from zip(self.members, self.places, tix.all_yielded(self.body.body), strict=True)

    def forget(self) -> None:
        """Take bodies that were made for the nest out of the program again."""
        if self.body not in self.members:
            Rewriter.erase_op(self.body)
        for stage in reversed(self.bands.stages if self.bands else ()):
            Rewriter.erase_op(stage.op)

    def fits(self, tile: Tile) -> bool:
        """True if each element of each member belongs to one block."""
        shape = dict(zip(self.body.indices, self.body.shape, strict=True))
        missing = {v for own in self.places for v in shape if v not in own}
        whole = tile.row_index is not None and constant_extent(shape[tile.row_index]) == tile.rows
        return tile.column_index in shape and (
            not missing or (missing == {tile.row_index} and whole)
        )
