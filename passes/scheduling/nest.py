"""A nest: definitions that one function computes, with what they share computed once.

    dz[j, k] = sum[i](exp(-d(i, j)) * x[i, k])         rows k, columns j: the block has three rows
    db[j] = sum[i](exp(-d(i, j)) * y[i])               of dz and one of db

Its body is one of several values. The widest of the definitions gives the indices; another one may
lack one of them, of which a block then holds all values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.scheduling.all_pairs import Pairs
from tadc.passes.scheduling.bands.band_stages import Bands
from tadc.passes.scheduling.blocking import PLAIN, Blocking
from tadc.passes.scheduling.loop_tree.nodes import Node
from tadc.passes.scheduling.recurrences import Recurrence, recurrence_of
from tadc.passes.scheduling.rows.fuse_loops import Along, Part
from tadc.passes.scheduling.rows.rfactored_sums import PieceSum
from tadc.passes.scheduling.scans import Scan
from tadc.passes.scheduling.streams.stream_choice import Stream
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import constant_extent


@dataclass(frozen=True)
class Plain:
    """One iteration for each element."""


@dataclass(frozen=True)
class Blocks:
    """Register blocks: of the first of these tiles for which the sizes of a call have room."""

    tiles: Sequence[Tile]


@dataclass(frozen=True)
class StreamBlocks:
    """Blocks of rows of a stream, which share what they read."""

    tile: Tile


@dataclass(frozen=True)
class Streams:
    """Streams, one for each member: a row of each in turn (`fuse_streams`)."""

    streams: Sequence[Stream]


@dataclass(frozen=True)
class Columns:
    """Loops that carry the totals of scans down columns."""

    scans: Sequence[Scan]


@dataclass(frozen=True)
class Carried:
    """A loop that carries the totals of sums from each element to the next one."""

    recurrence: Recurrence


@dataclass(frozen=True)
class Rows:
    """Rows that members share: a row of each in turn."""

    shared: Mapping[tix.DefineOp, Sequence[SSAValue]]
    """The indices of each member that all have in common, in one order."""
    written: Sequence[tix.DefineOp]
    """The members that have memory of their own."""
    hosts: Mapping[SSAValue, SSAValue]
    """The tensor in whose memory a row lies, for rows that have no memory of their own."""
    pieces: Sequence[PieceSum] = ()
    """The members that are sums over the rows of pieces, to which each row adds its terms."""
    along: Along = field(default_factory=dict["Operation", "Sequence[Part]"])
    """The parts that are fused into the loops of others along a row."""
    height: int = 1
    """The rows that are jammed, along the last of the shared indices."""
    lengths: Sequence[Affine] = ()
    """The numbers of values of the indices along a row."""
    longest: int = 0
    """The most elements of a row for rows to be jammed."""

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
        """The row indices of each member; for sums over pieces, those of the rows they add up."""
        return {**self.shared, **{piece.op: piece.rows for piece in self.pieces}}

    def inside(self, op: tix.DefineOp) -> Sequence[SSAValue]:
        """The indices of a member that run along a row."""
        piece = self.piece(op)
        return piece.inside if piece else [v for v in op.indices if v not in self.shared[op]]

    def piece(self, op: tix.DefineOp) -> PieceSum | None:
        """The sum over rows that a member is, if it is one."""
        return next((piece for piece in self.pieces if piece.op is op), None)


class Strips(Rows):
    """Rows that members share, whose vectors run along the last of the shared indices."""


@dataclass(frozen=True)
class Tree:
    """Loops that a tree gives, which no planner has chosen (docs/new-recipe.md)."""

    root: Node


Loops = Plain | Blocks | StreamBlocks | Streams | Columns | Carried | Rows | Pairs | Bands | Tree
"""Kinds of loops. Of rows, bands and streams, the bodies of members stay apart; of pairs the first
member has the walk, which takes the others along."""

OfOne = Plain | Blocks | StreamBlocks | Streams | Carried
"""Loops that a definition has by itself."""


@dataclass(frozen=True)
class Nest:
    """Definitions that one function computes, and how its loops run."""

    body: tix.DefineOp
    """The values of all members, in their order."""
    members: Sequence[tix.DefineOp]
    places: Sequence[Sequence[SSAValue]]
    """For each member the indices of the body that are its own."""
    loops: Loops
    is_small: bool = False
    """True for a small part of the work of a program: short code rather than quick code."""

    @property
    def tiles(self) -> Sequence[Tile]:
        """The tiles of blocks, the best first; of other loops none."""
        match self.loops:
            case Blocks(tiles):
                return tiles
            case StreamBlocks(tile):
                return [tile]
            case _:
                return []

    @property
    def is_free(self) -> bool:
        """True if the nest is of one definition, whose loops are those of its own."""
        return len(self.members) == 1 and isinstance(self.loops, OfOne)

    @property
    def written(self) -> Sequence[tix.DefineOp]:
        """The members that have memory of their own."""
        match self.loops:
            case Bands():
                return [stage.of for stage in self.loops.roots]
            case Rows():
                return self.loops.written
            case _:
                return self.members

    @staticmethod
    def of(op: tix.DefineOp, blocking: Blocking = PLAIN) -> Nest:
        """The nest of one definition."""
        return Nest(op, [op], [op.indices], _loops_of(blocking))

    @staticmethod
    def apart(ops: Sequence[tix.DefineOp], loops: Loops) -> Nest:
        """The nest of definitions whose bodies stay apart."""
        return Nest(ops[0], ops, [op.indices for op in ops], loops)

    def results(self) -> Iterator[tuple[tix.DefineOp, Sequence[SSAValue], SSAValue]]:
        """Each member, its indices, and its value."""
        yield from zip(self.members, self.places, tix.all_yielded(self.body.body), strict=True)

    def forget(self) -> None:
        """Erase bodies that were made for the nest."""
        if self.body not in self.members:
            Rewriter.erase_op(self.body)
        for stage in reversed(self.loops.stages if isinstance(self.loops, Bands) else ()):
            Rewriter.erase_op(stage.op)

    def fits(self, tile: Tile) -> bool:
        """True if each element of each member belongs to one block."""
        shape = dict(zip(self.body.indices, self.body.shape, strict=True))
        missing = {v for own in self.places for v in shape if v not in own}
        whole = tile.row_index is not None and constant_extent(shape[tile.row_index]) == tile.rows
        return tile.column_index in shape and (
            not missing or (missing == {tile.row_index} and whole)
        )


def in_tiles(tiles: Sequence[Tile]) -> Plain | Blocks | StreamBlocks:
    """The loops of blocks of these tiles."""
    if not tiles:
        return Plain()
    return StreamBlocks(tiles[0]) if tiles[0].in_stream else Blocks(tiles)


def carrying(nest: Nest) -> Nest:
    """The nest, with a loop that carries totals where its elements are a recurrence."""
    found = recurrence_of(nest.body) if isinstance(nest.loops, Plain) else None
    return replace(nest, loops=Carried(found)) if found else nest


def _loops_of(blocking: Blocking) -> OfOne | Tree:
    """The loops that a definition has by itself."""
    if blocking.tree is not None:
        return Tree(blocking.tree)
    return Streams([blocking.stream]) if blocking.stream else in_tiles(blocking.tiles)
