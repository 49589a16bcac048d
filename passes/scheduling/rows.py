"""Definitions that share rows: neighbours computed row by row, while a row lies in a near cache.

    m[i] = max[j](x[i, j])                 for i:
    e[i, j] = exp(x[i, j] - m[i])            m[i] = ...;  e[i, all j] = ...
    s[i] = sum[j](e[i, j])                   s[i] = ...;  y[i, all j] = ...
    y[i, j] = e[i, j] / s[i]

One loop over their first indices takes the place of four passes over memory. Each of them has
either one element in a row, which may be a reduction over it, or the elements of a row; what they
read of each other lies in the row of the reader. So rows stay independent. Where they are in
memory, says `passes/scheduling/row_places.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from xdsl.ir import Operation, SSAValue

from dialects import tix
from dialects.tix import Affine
from passes.analysis.index_uses import IndexUses
from passes.rewriting.programs import reads_of
from passes.scheduling.nest import Nest, Rows
from passes.scheduling.row_forms import long_reductions, run_along
from passes.scheduling.row_places import places_of
from passes.scheduling.scans import column_scans, row_scans

MOST_MEMBERS = 16
"""The definitions that share rows at most."""


def rows_shared(
    nests: Sequence[Nest], alone: Collection[tix.DefineOp], plain: Collection[tix.DefineOp]
) -> list[Nest]:
    """The given nests in order, where neighbours share rows and scans carry totals.

    Those in `alone` share nothing, and those in `plain` stay as they are.
    """
    found: list[Nest] = []
    group: list[tuple[Nest, _Member]] = []
    for nest in nests:
        in_blocks = any(tile.column_index in nest.body.indices for tile in nest.tiles)
        is_free = len(nest.members) == 1 and not in_blocks and nest.body not in plain
        if is_free and column_scans(nest.body, IndexUses()):
            nest = replace(nest, has_columns=True)
        member = _member_of(nest) if is_free and not nest.has_columns else None
        last = group[-1][0].body if group else None
        shares = last not in alone and nest.body not in alone
        if member and group and shares and _may_join(member, [m for _, m in group]):
            group.append((nest, member))
            continue
        found += _joined(group)
        group = [(nest, member)] if member else []
        found += [] if member else [nest]
    return found + _joined(group)


def _member_of(nest: Nest) -> _Member | None:
    """The definition of a nest, if it may share rows."""
    if not nest.body.indices:
        return None
    member = _Member(nest.body)
    return member if member.has_rows else None


def _may_join(member: _Member, group: Sequence[_Member]) -> bool:
    """True if a definition shares rows with others, and what lies in them."""
    everyone = [*group, member]
    depth = _depth(everyone)
    if depth is None or len(group) == MOST_MEMBERS:
        return False
    return _are_apart(everyone, depth) and _shares(member, group, depth)


def _shares(member: _Member, group: Sequence[_Member], depth: int) -> bool:
    """True if what a definition reads is near: more than an element of the row."""
    made = {m.op.result for m in group}
    if len(member.op.indices) == depth and not member.reductions:
        return any(read.tensor in made for read in reads_of(member.op))
    near = made.union(*(m.rows_read(depth) for m in group))
    return bool(member.rows_read(depth) & near)


def _joined(group: Sequence[tuple[Nest, _Member]]) -> list[Nest]:
    """The nest of a group, or the nests themselves where nothing is gained.

    A reduction alone is a row for its vectors of partial results, of which LLVM makes fewer; of
    several over the same terms, `passes/scheduling/fusion.py` makes one loop.
    """
    members = [m for _, m in group]
    depth = _depth(members)
    rows = [m for m in members if m.reductions or len(m.op.indices) != depth]
    tiles = all(nest.tiles for nest, _ in group)  # blocks of rows share what all rows read
    scanned = any(m.scans for m in members)
    reduced = len(rows) > 1 and any(m.reductions for m in members)
    reduced |= len(members) == 1 and len(members[0].reductions) == 1
    if depth is None or tiles or not (scanned or reduced):
        return [nest for nest, _ in group]
    ops = [m.op for m in members]
    shared = {op: op.indices[:depth] for op in ops}
    rows = Rows(shared, *places_of(ops, depth))
    return [Nest(ops[0], ops, [op.indices for op in ops], (), rows=rows)]


class _Member:
    """A definition that may share rows, and its analyses."""

    def __init__(self, op: tix.DefineOp):
        self.op = op
        self.uses = IndexUses()
        self.scans = row_scans(op, self.uses)
        self.reductions = [] if self.scans else long_reductions(op)

    @cached_property
    def has_rows(self) -> bool:
        """True if vectors run along all of its reductions, or along its last index."""
        return bool(self.scans) or all(
            run_along(_inside(o), o.indices[-1], self.uses) for o in self.reductions or [self.op]
        )

    def rows_read(self, depth: int) -> set[SSAValue]:
        """The tensors of which a row of the result reads more than an element of the row."""
        outer = {*self.op.indices[:depth]}
        return {r.tensor for r in reads_of(self.op) if outer < self.uses.of_operation(r)}


def _inside(op: Operation) -> Iterator[Operation]:
    return (inner for inner in op.walk() if inner is not op)


# --- who may share --------------------------------------------------------------------------------


def _depth(members: Sequence[_Member]) -> int | None:
    """The number of first indices that all have in common; None where rows differ.

    A reduction runs over a row: all that have one have as many indices.
    """
    if not members:
        return None
    ranks = {len(m.op.indices) for m in members}
    reduced = {len(m.op.indices) for m in members if m.reductions}
    reduced |= {len(m.op.indices) - 1 for m in members if m.scans}
    depth = min(reduced) if reduced else min(min(ranks), max(ranks) - 1)
    shapes = {tuple(m.op.shape[:depth]) for m in members}
    fits = len(reduced) < 2 and depth <= min(ranks) and len(shapes) == 1
    scanned = any(m.scans for m in members)
    elements = {m.op.type.element for m in members}
    return depth if fits and (depth or scanned) and len(elements) == 1 else None


def _are_apart(members: Sequence[_Member], depth: int) -> bool:
    """True if what a row reads of members is in the same row."""
    made: dict[SSAValue, tix.DefineOp] = {m.op.result: m.op for m in members}
    return all(
        _is_in_row(read, m.op, made[read.tensor], depth)
        for m in members
        for read in reads_of(m.op)
        if read.tensor in made
    )


def _is_in_row(read: tix.ReadOp, reader: tix.DefineOp, made: tix.DefineOp, depth: int) -> bool:
    own = [Affine.of(v) for v in reader.indices[:depth]]
    return list(read.forms[:depth]) == own and tuple(read.shape) == tuple(made.shape)
