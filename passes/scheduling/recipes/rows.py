"""Rows: definitions that are computed together, a row of each in turn.

    m[i] = max[j](x[i, j])                  parallel i by 4
    e[i, j] = exp(x[i, j] - m[i])             jam i by 4
    s[i] = sum[j](e[i, j])                      for i by 4 peel
    y[i, j] = e[i, j] / s[i]                      vector j by 64 in 16
                                                    begin max m.1[j]
                                                    for j by 64 mask
                                                      add m.1
                                                    combine lanes of m.1
                                                  keep m
                                                  ...

What is fused stands in one loop over rows: a row of each definition lies in a near cache. A row
waits for the end of each of its reductions, for vectors that are combined, lanes that are added up,
a root or a logarithm of one number: so several rows are jammed where they are short.

A reduction has some vectors of partial results in each row, which are combined in the end: `vector`
stands around its loop over terms. Sums over rows lie in the result, to which each row adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.analysis.costs import FREE, weight
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.size_bounds import SizeBounds
from tadc.passes.scheduling.loop_tree.nodes import (
    Add,
    AtMost,
    Axis,
    Begin,
    Buffer,
    ByReciprocals,
    Carry,
    Combine,
    For,
    Lazy,
    Mark,
    Node,
    Seq,
    Storage,
    Store,
    Tail,
    nested,
)
from tadc.passes.scheduling.nest import Rows
from tadc.passes.scheduling.rows.fuse_loops import Part, has_loops_of_its_own, has_quotients
from tadc.passes.scheduling.rows.rfactored_sums import PieceSum
from tadc.passes.scheduling.rows.vectorized_rows import long_reductions
from tadc.passes.scheduling.scans import is_scanned, row_scans
from tadc.passes.scheduling.tiles.sum_lengths import constraints_of
from tadc.passes.scheduling.tiles.tile_analysis import constant_extent, lanes_of

MOST_VECTORS_OF_REDUCTION = 4
"""Vectors of partial results of a row at most: an addition waits four cycles for the one before."""

VECTORS_OF_REDUCTIONS = 16
"""Vectors of partial results of all reductions and rows together: half of the registers."""

VECTORS_BESIDE_OTHERS = 8
"""Vectors of partial results, together, where the loop adds to sums over rows, too."""

VECTORS_OF_ELEMENTS = 2
"""Vectors of elements that a loop unrolls, over all jammed rows."""


def rows(members: Sequence[tix.DefineOp], shared: Rows, sizes: SizeBounds) -> Node:
    """The tree of definitions that share rows, in programs of these sizes."""
    return _Recipe(members, shared, sizes).tree()


@dataclass(frozen=True)
class _Recipe:
    """The loops of some definitions, as their plan says, for sizes in these bounds."""

    members: Sequence[tix.DefineOp]
    shared: Rows
    sizes: SizeBounds

    # --- loops over rows ---

    def tree(self) -> Node:
        """The loops over rows, with a row of each member inside."""
        taken = {part.source for parts in self.shared.along.values() for part in parts}
        body: Node = Seq([node for op in self.members for node in self._member(op, taken)])
        axes = self._axes()
        if self.shared.pieces:
            return nested(axes[:-1], self._pieces(axes[:-1], body), Mark.PARALLEL)
        height = self.shared.height
        if height == 1:
            return nested(axes, body, Mark.PARALLEL)
        *others, row = axes
        body = self._jammed(row, [*self.shared.shape.values()][-1], body)
        return nested(others, For(row, body, Mark.PARALLEL, height), Mark.PARALLEL)

    def _axes(self) -> list[Axis]:
        """The axes of rows, with the index that each definition calls its own."""
        lines = [*self.shared.lines.values()]
        every = zip(*lines, strict=True)
        sizes = self.shared.shape.values()
        return [Axis(indices, size) for indices, size in zip(every, sizes, strict=True)]

    def _jammed(self, row: Axis, length: Affine, body: Node) -> Node:
        """The loop over rows, unrolled and jammed by the height; the last ones may be peeled."""
        height = self.shared.height
        extent = constant_extent(length)
        parts = [extent, *(piece.height for piece in self.shared.pieces)]
        are_whole = all(part is not None and part % height == 0 for part in parts)
        tail = Tail.EXACT if are_whole else Tail.PEEL
        body = For(row, body, step=height, tail=tail, limit=self._limit())
        return For(row, body, Mark.JAM, height) if height > 1 else body

    def _limit(self) -> AtMost | None:
        """The test that rows are short enough to be jammed; None where numbers say so."""
        lengths, longest = self.shared.lengths, self.shared.longest
        if prod(self.sizes.of(length)[1] for length in lengths) <= longest:
            return None
        return AtMost(lengths, longest)

    def _pieces(self, others: Sequence[Axis], body: Node) -> Node:
        """The loop over pieces, with the rows of each, and the sums over them."""
        pieces = self.shared.pieces
        first = pieces[0]
        lines = [own[-1] for own in self.shared.lines.values()]
        body = self._jammed(Axis(lines, first.total), first.length, body)
        body = Seq([*(_cleared(piece) for piece in pieces), body])
        for piece in reversed(pieces):
            body = Buffer(piece.total, _column(piece), 0, body, storage=Storage.RESULT)
        numbers = [piece.op.indices[len(others)] for piece in pieces]
        return For(Axis(numbers, first.count), body, Mark.PARALLEL)

    # --- a row of a member ---

    def _member(self, op: tix.DefineOp, taken: set[Operation]) -> Iterator[Node]:
        """The loops and elements of a member in a row, without parts fused into loops of others."""
        inside = self.shared.inside(op)
        if not inside:
            yield from self._number(op, taken)
        elif not self.shared.piece(op) and has_loops_of_its_own(op, inside[-1]):
            yield self._own_loops(op, inside)
        elif op not in taken:
            yield self._loop([Part(op), *self.shared.along.get(op, ())])

    def _number(self, op: tix.DefineOp, taken: set[Operation]) -> Iterator[Node]:
        """The only element that a definition has in a row, after the reductions in it."""
        for reduction in long_reductions(op):
            if reduction.parent is not op.body.block:
                yield Lazy(reduction, self._loop([Part(op, reduction)]))
            elif reduction not in taken:
                yield self._loop([Part(op, reduction), *self.shared.along.get(reduction, ())])
        yield Store(op, is_stored=op in self.shared.written, is_kept=True)

    def _own_loops(self, op: tix.DefineOp, inside: Sequence[SSAValue]) -> Node:
        """The loops of a scan, or of quotients whose divisor does not vary along the row."""
        *others, column = _axes_of(op, inside)
        body = self._scan(op, column) if is_scanned(op) else self._loop([Part(op)], [column])
        return nested(others, ByReciprocals(op, body) if has_quotients(op, inside[-1]) else body)

    def _scan(self, op: tix.DefineOp, column: Axis) -> Node:
        """The loop of a scan along a row, which carries the totals for its elements."""
        scans = row_scans(op, IndexUses())
        lanes, count = lanes_of(op), 1 if is_heavy(op.body) else VECTORS_OF_ELEMENTS
        body: Node = Seq([*(Carry(scan) for scan in scans), Store(op)])
        backwards = any(not scan.is_forwards for scan in scans)
        body = For(column, body, step=lanes * count, tail=Tail.MASK, backwards=backwards)
        body = Seq([*(Begin(scan.op) for scan in scans), body])
        return For(column, body, Mark.VECTOR, lanes * count, lanes=lanes)

    # --- loops along a row ---

    def _loop(self, parts: Sequence[Part], axes: Sequence[Axis] = ()) -> Node:
        """The loop of one part or several over the same space."""
        axes = axes or self._space(parts)
        *others, column = axes
        lanes = lanes_of(parts[0].op)
        step = lanes * self._vectors(parts)
        ops = [part.reduction for part in parts if part.reduction]
        body: Node = Seq([self._statement(part) for part in parts])
        body = nested(others, For(column, body, step=step, tail=Tail.MASK))
        body = Seq([*map(Begin, ops), body, *map(Combine, ops)]) if ops else body
        return For(column, body, Mark.VECTOR, step, lanes=lanes)

    def _space(self, parts: Sequence[Part]) -> list[Axis]:
        """The axes that parts have in common: those of the first reduction, if there is one."""
        lead = next((part for part in parts if part.reduction), parts[0])
        others = [part for part in parts if part is not lead]
        every = zip(*(self._indices(part) for part in (lead, *others)), strict=True)
        if lead.reduction:
            return [Axis(indices, lead.reduction) for indices in every]
        sizes = dict(zip(lead.op.indices, lead.op.shape, strict=True))
        own = self._indices(lead)
        return [Axis(indices, sizes[v]) for indices, v in zip(every, own, strict=True)]

    def _indices(self, part: Part) -> Sequence[SSAValue]:
        """The indices of a part that run along the row."""
        return part.reduction.indices if part.reduction else self.shared.inside(part.op)

    def _statement(self, part: Part) -> Node:
        if part.reduction:
            return Add(part.reduction)
        piece = self.shared.piece(part.op)
        return Add(piece.total) if piece else Store(part.op)

    def _body(self, part: Part) -> Region:
        if part.reduction:
            return part.reduction.body
        piece = self.shared.piece(part.op)
        return piece.total.body if piece else part.op.body

    def _vectors(self, parts: Sequence[Part]) -> int:
        """The vectors of a row in an iteration. Remainder rows have as many accumulators as jammed
        ones, so that all rows add in the same order."""
        if any(is_heavy(self._body(part)) for part in parts):
            return 1
        height = self.shared.height
        ops = [part.reduction for part in parts if part.reduction]
        if not ops:
            return max(1, VECTORS_OF_ELEMENTS // height)
        room = VECTORS_OF_REDUCTIONS if len(ops) == len(parts) else VECTORS_BESIDE_OTHERS
        column = ops[0].indices[-1]
        _, length = self.sizes.lengths(column, constraints_of(ops[0], [column]))
        whole = int(min(MOST_VECTORS_OF_REDUCTION, length / lanes_of(parts[0].op)))
        return max(1, min(whole, room // (len(ops) * height)))


def is_heavy(body: Region) -> bool:
    """True if an elementary function keeps units busy, so that one vector at a time does."""
    return any(not isinstance(o, FREE) and weight(o) > 1 for o in body.walk())


def _axes_of(op: tix.DefineOp, indices: Sequence[SSAValue]) -> list[Axis]:
    sizes = dict(zip(op.indices, op.shape, strict=True))
    return [Axis([v], sizes[v]) for v in indices]


def _column(piece: PieceSum) -> Axis:
    return _axes_of(piece.op, piece.op.indices[-1:])[0]


def _cleared(piece: PieceSum) -> Node:
    """The loops that clear the sums of a piece."""
    *others, column = _axes_of(piece.op, piece.inside)
    lanes = lanes_of(piece.op)
    step = lanes * VECTORS_OF_ELEMENTS
    body: Node = For(column, Begin(piece.total), step=step, tail=Tail.MASK)
    return nested(others, For(column, body, Mark.VECTOR, step, lanes=lanes))
