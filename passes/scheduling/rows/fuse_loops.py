"""Parts of definitions that run along a row in one loop.

    v[i] = sum[j](dy[i, j] * (x[i, j] - m[i]))       one loop over j, that of v, takes along
    t[i] = sum[j](dy[i, j]) + 2 * v[i]               the sum of t, and what a row adds to g;
    g[p, j] = sum[i in range(32*p, ...)](dy[i, j])   then v[i], t[i];
    dx[i, j] = dy[i, j] - t[i] * x[i, j]             then a loop for the elements of dx

A part is a reduction, the elements of a definition, or the terms that a row adds to sums over rows.
Members are computed in order, and each loop but those of elements takes parts of later ones along
that run over the same space, if all is there that they need: numbers of earlier members, and their
rows. Reductions and sums over rows may move ahead, since they write nothing that others read in the
meantime. So a row of a gradient is read once for all of its sums.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from xdsl.ir import Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.dialects.tix import elementwise as ew
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.rewriting.cloner import free_values
from tadc.passes.scheduling.rows.rfactored_sums import PieceSum
from tadc.passes.scheduling.scans import is_scanned
from tadc.passes.scheduling.tiles.sum_lengths import is_short


@dataclass(frozen=True)
class Part:
    """A part of a definition that a loop along a row computes."""

    op: tix.DefineOp
    reduction: tix.ReductionOp | None = None
    """A reduction in its body; None for its elements, or its terms of a sum over rows."""

    @property
    def source(self) -> Operation:
        """The operation that has a loop for this part."""
        return self.reduction or self.op


Along = Mapping[Operation, Sequence[Part]]
"""The later parts that are fused into the loop of each operation."""


def is_long(op: Operation) -> TypeGuard[tix.ReductionOp]:
    """True of a reduction that runs along rows, and is not unrolled where it stands."""
    return isinstance(op, tix.ReductionOp) and not is_short(op)


def has_loops_of_its_own(op: tix.DefineOp, column: SSAValue) -> bool:
    """True of elements that carry totals, or are quotients by a number of the row: these have a
    loop for each way to divide."""
    return is_scanned(op) or has_quotients(op, column)


def has_quotients(op: tix.DefineOp, column: SSAValue) -> bool:
    """True if elements are quotients by what does not vary along an index."""
    uses = IndexUses()
    return any(
        isinstance(o, ew.DivOp) and column in uses.of(o.lhs) and column not in uses.of(o.rhs)
        for o in op.walk()
    )


MOST_SUMS_OF_LOOP = 4
"""Reductions of a loop at most: each has vectors of partial results in registers for every row."""


def parts_along(
    members: Sequence[tix.DefineOp],
    shared: Mapping[tix.DefineOp, Sequence[SSAValue]],
    pieces: Sequence[PieceSum],
) -> Along:
    """The parts that are fused into loops of others, for members that share rows."""
    inside = {op: [v for v in op.indices if v not in own] for op, own in shared.items()}
    inside.update((piece.op, [*piece.inside]) for piece in pieces)
    return _Loops(members, inside, {piece.op: piece for piece in pieces}).found()


@dataclass
class _Loops:
    """The loops of a row, in the order in which they run."""

    members: Sequence[tix.DefineOp]
    inside: Mapping[tix.DefineOp, list[SSAValue]]
    """For each member the indices that run along the row."""
    pieces: Mapping[tix.DefineOp, PieceSum]
    missing: set[SSAValue] = field(default_factory=set["SSAValue"])
    """The tensors of members that are not computed yet."""
    done: set[Operation] = field(default_factory=set["Operation"])
    """The sources of parts that have a loop, of their own or fused."""

    def found(self) -> Along:
        along: dict[Operation, Sequence[Part]] = {}
        self.missing |= {op.result for op in self.members}
        for place, op in enumerate(self.members):
            for part in self._parts(op):
                if part.source not in self.done:
                    self.done.add(part.source)
                    later = [p for o in self.members[place:] for p in self._parts(o)]
                    along[part.source] = self._taken(part, later)
            self.missing.remove(op.result)
        return {source: parts for source, parts in along.items() if parts}

    def _parts(self, op: tix.DefineOp) -> list[Part]:
        """The parts of a definition, in order."""
        if self.inside[op]:
            return [Part(op)]
        return [Part(op, o) for o in op.body.block.ops if is_long(o)]

    def _taken(self, first: Part, later: Sequence[Part]) -> list[Part]:
        """The later parts that are fused into the loop of a part."""
        space, loop = self._space(first), [first]
        before = self.done - {first.source}
        if space is None or self._is_elements(first):
            return []
        for part in later:
            if part.source in self.done or self._is_elements(part) or self._space(part) != space:
                continue
            if _have_room([*loop, part]) and self._is_ready(part, before):
                loop.append(part)
                self.done.add(part.source)
        return loop[1:]

    def _is_elements(self, part: Part) -> bool:
        return part.reduction is None and part.op not in self.pieces

    def _space(self, part: Part) -> list[Affine] | None:
        """The numbers of values of the indices that a part runs over; None where it is no box."""
        if part.reduction is not None:
            return box(part.reduction)
        shape = dict(zip(part.op.indices, part.op.shape, strict=True))
        return [shape[v] for v in self.inside[part.op]]

    def _is_ready(self, part: Part, before: Container[Operation]) -> bool:
        """True if all inputs of a part precede its loop: tensors, and reductions in `before`."""
        body = part.reduction.body if part.reduction else self.pieces[part.op].total.body
        return all(
            op in before if is_long(op) else not self._is_missing(op)
            for op in _needed(part.op, body)
        )

    def _is_missing(self, op: Operation) -> bool:
        return isinstance(op, tix.ReadOp) and op.tensor in self.missing


def _have_room(loop: Sequence[Part]) -> bool:
    """True if registers hold the accumulators of a fused loop, and all of its reductions are sums,
    which may be in segments, or none is."""
    kinds = [isinstance(p.reduction, tix.SumOp) for p in loop if p.reduction]
    return len(kinds) <= MOST_SUMS_OF_LOOP and len({*kinds}) < 2


def box(op: tix.ReductionOp) -> list[Affine] | None:
    """The numbers of values of the indices of a reduction; None unless each begins at 0 and ends
    where sizes say."""
    lengths: list[Affine] = []
    for v in op.indices:
        own = {c for c in op.constraints if c.form[v]}
        ends = [c.form + Affine.of(v) + 1 for c in own if c.form[v] == -1]
        is_range = len(ends) == 1 and own == {
            Constraint(Affine.of(v)),
            Constraint(ends[0] - 1 - Affine.of(v)),
        }
        if not is_range or ends[0].indices:
            return None
        lengths += ends
    return lengths if len(op.constraints) == 2 * len(lengths) else None


def _needed(op: tix.DefineOp, body: Region) -> Iterator[Operation]:
    """The operations that a part's body needs: its own, and others in the definition."""
    roots, found = list[Operation](body.block.ops), set[Operation]()
    while roots:
        root = roots.pop()
        if root in found or not op.body.is_ancestor(root):
            continue
        found.add(root)
        yield root
        if not is_long(root):
            yield from (inner for inner in root.walk() if inner is not root)
            roots += (v.owner for v in free_values(root) if isinstance(v.owner, Operation))
