"""Definitions that share rows: neighbours computed row by row, while a row lies in a near cache.

    m[i] = max[j](x[i, j])                 for i:
    e[i, j] = exp(x[i, j] - m[i])            m[i] = ...;  e[i, all j] = ...
    s[i] = sum[j](e[i, j])                   s[i] = ...;  y[i, all j] = ...
    y[i, j] = e[i, j] / s[i]

One loop over indices that they have in common takes the place of four passes over memory. Each of
them has either one element in a row, which may be a reduction over it, or the elements of a row;
what they read of each other lies in the row of the reader. So rows stay independent. Where they are
in memory, says `passes/scheduling/rows/storage_reuse.py`.

    m[c] = sum[n, i](x[n, c, i]) / 4096    for c:  the row of a channel lies in pieces, which are
    y[n, c, i] = x[n, c, i] - m[c]                 read again from a near cache if it is short

Sums over the rows of a piece (`rfactored_sums`) may join them: a loop runs
over the rows of each piece, and each row adds its terms when it is computed.

    dg[p, j] = sum[i in range(32*p, 32*p + 32)](dy[i, j] * e[i, j])

Such sums that `cut-sums` has made share rows among themselves, too, or have them alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.once import cached_property
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.rewriting.programs import reads_of
from tadc.passes.scheduling.blocking import ChooseBlocking
from tadc.passes.scheduling.extents import Extents
from tadc.passes.scheduling.nest import Columns, Nest, Rows
from tadc.passes.scheduling.rows.fuse_loops import box, parts_along
from tadc.passes.scheduling.rows.rfactored_sums import PieceSum, piece_sum_of
from tadc.passes.scheduling.rows.storage_reuse import places_of
from tadc.passes.scheduling.rows.unroll_and_jam import (
    MOST_BYTES_JAMMED,
    ROWS_JAMMED,
    rows_jammed,
)
from tadc.passes.scheduling.rows.vectorized_rows import (
    LONGEST_ROW,
    long_reductions,
    run_along,
)
from tadc.passes.scheduling.scans import column_scans, row_scans
from tadc.passes.scheduling.tiles.tile_analysis import bytes_of_element

MOST_MEMBERS = 16
"""The definitions that share rows at most."""

MOST_TERMS_OF_ROW = 1 << 16
"""Terms of the longest sums whose row stays in a near cache: 256 KB of f32."""

MOST_GROUPS_ASKED = 8
"""The number of nearest groups that are searched for one that a definition may join."""


Shared = Mapping[tix.DefineOp, Sequence[SSAValue]]
"""The indices of each definition that all of them have in common."""


@dataclass
class _Group:
    """Nests that share rows, or one that does not."""

    nests: list[Nest]
    members: list[_Member]
    """Their definitions; none where the nest has no rows to share."""


def rows_shared(
    nests: Sequence[Nest],
    alone: Collection[tix.DefineOp],
    plain: Collection[tix.DefineOp],
    choose: ChooseBlocking,
) -> list[Nest]:
    """The given nests in order, where some share rows and scans carry totals.

    Those in `alone` share nothing, and those in `plain` stay as they are. What `choose` gives tells
    how long rows are.
    """
    groups: list[_Group] = []
    for nest in nests:
        in_blocks = any(tile.column_index in nest.body.indices for tile in nest.tiles)
        is_free = len(nest.members) == 1 and nest.members[0] not in plain
        is_free &= not in_blocks or piece_sum_of(nest.body) is not None
        if is_free and (scans := column_scans(nest.body, IndexUses())):
            nest, is_free = replace(nest, loops=Columns(scans)), False
        member = _member_of(nest, choose) if is_free else None
        group = None if member is None or nest.body in alone else _group_for(member, groups, alone)
        if group is None:
            groups.append(_Group([nest], [member] if member else []))
        else:
            group.nests.append(nest)
            group.members += [member] if member else []
    return [nest for group in groups for nest in _joined(group)]


def _group_for(
    member: _Member, groups: Sequence[_Group], alone: Collection[tix.DefineOp]
) -> _Group | None:
    """The nearest group that a definition may join, past groups whose results it does not read."""
    read = {r.tensor for r in reads_of(member.op)}
    for group in islice(reversed(groups), MOST_GROUPS_ASKED):
        rows = group.members
        if rows and rows[-1].op not in alone and _may_join(member, rows):
            return group
        if not read.isdisjoint(op.result for nest in group.nests for op in nest.members):
            return None
    return None


def _member_of(nest: Nest, choose: ChooseBlocking) -> _Member | None:
    """The definition of a nest, if it may share rows."""
    if not nest.body.indices:
        return None
    member = _Member(nest.body, choose(nest.body).extents)
    return member if member.has_rows else None


def _may_join(member: _Member, group: Sequence[_Member]) -> bool:
    """True if a definition has the same rows as a group, and reuses data of them."""
    shared = _shared([*group, member])
    return shared is not None and len(group) < MOST_MEMBERS and _shares(member, group, shared)


def _shares(member: _Member, group: Sequence[_Member], shared: Shared) -> bool:
    """True if a definition reads a row that the group reads, too, or a result of the group."""
    made = {m.op.result for m in group}
    if member.is_number(shared):
        return any(read.tensor in made for read in reads_of(member.op))
    near = {place for m in group for place in m.rows_read(shared)}
    return any(place in near or place[0] in made for place in member.rows_read(shared))


def _joined(group: _Group) -> list[Nest]:
    """The nest of a group, or the nests themselves where nothing is gained.

    A reduction alone is a row for its vectors of partial results, of which LLVM makes fewer; of
    several over the same terms, `passes/scheduling/fuse_sums.py` makes one loop.
    """
    members, nests = group.members, group.nests
    shared = _shared(members)
    if shared is None:
        return nests
    pieces = [m.piece for m in members if m.piece]
    if not shared:
        return _sums_alone(pieces, nests)
    numbers = len(next(iter(shared.values())))
    rows = [m for m in members if not m.is_number(shared)]
    # blocks of rows share what all rows read
    tiles = not pieces and all(nest.tiles for nest in nests)
    scanned = any(m.scans for m in members)
    reduced = len(rows) > 1 and any(m.reductions or m.piece for m in members)
    reduced |= len(members) == 1 and len(members[0].reductions) == 1
    if tiles or not (scanned or reduced):
        return nests
    ops = [m.op for m in members]
    found = Rows(shared, *places_of(ops, numbers), pieces, along=parts_along(ops, shared, pieces))
    long = [m for m in members if not m.is_number(shared) and not m.piece]
    if any(m.reductions for m in members) and all(_can_be_jammed(m, shared) for m in members):
        found = replace(
            found,
            height=min(m.jammed for m in [*long, *(m for m in members if m.piece)]),
            lengths=_lengths(long[0], shared),
            longest=MOST_BYTES_JAMMED // bytes_of_element(ops[0].type),
        )
    return [Nest.apart(ops, found)]


def _sums_alone(pieces: Sequence[PieceSum], nests: Sequence[Nest]) -> list[Nest]:
    """The nest of sums over rows that no member computes; or their own nests, if `cut-sums` cannot
    have made them, or if they have no blocks.

    Of several sums, some rows are added to each at a time, so that its vectors are loaded and
    stored once for all of these rows. One alone is as fast as memory.
    """
    if not all(piece.is_cut for piece in pieces) or not all(nest.tiles for nest in nests):
        return [*nests]
    ops, first = [piece.op for piece in pieces], pieces[0]
    shape = dict(zip(first.op.indices, first.op.shape, strict=True))
    rows = Rows(
        {},
        *places_of(ops, len(first.rows)),
        pieces,
        along=parts_along(ops, {}, pieces),
        height=ROWS_JAMMED if len(pieces) > 1 else 1,
        lengths=[shape[v] for v in first.inside],
        longest=LONGEST_ROW,
    )
    return [Nest.apart(ops, rows)]


def _can_be_jammed(member: _Member, shared: Shared) -> bool:
    """True if rows of a member can be jammed: their loops have the same bounds."""
    if member.piece:
        return True
    own = shared[member.op]
    tests = (c for o in member.reductions for c in o.constraints)
    used = (v for c in tests for v in c.form.indices)
    return bool(own) and not member.scans and not any(own[-1] in member.uses.of(v) for v in used)


def _lengths(member: _Member, shared: Shared) -> Sequence[Affine]:
    """The numbers of values of the indices along a row."""
    if member.reductions:
        return box(member.reductions[0]) or ()
    shape = zip(member.op.indices, member.op.shape, strict=True)
    return [size for v, size in shape if v not in shared[member.op]]


class _Member:
    """A definition that may share rows, and its analyses."""

    def __init__(self, op: tix.DefineOp, extents: Extents):
        self.op = op
        self.is_far = extents.terms > MOST_TERMS_OF_ROW
        self.jammed = rows_jammed(op, extents)
        self.uses = IndexUses()
        self.piece = piece_sum_of(op)
        self.scans = () if self.piece else row_scans(op, self.uses)
        self.reductions = [] if self.scans or self.piece else long_reductions(op)

    @cached_property
    def has_rows(self) -> bool:
        """True if vectors run along all of its reductions, or along its last index."""
        if self.piece:
            return run_along(_inside(self.piece.total), self.op.indices[-1], self.uses)
        return bool(self.scans) or all(
            run_along(_inside(o), o.indices[-1], self.uses) for o in self.reductions or [self.op]
        )

    def is_number(self, shared: Shared) -> bool:
        """True if it has one element in a row, which is no reduction over it."""
        is_one = self.op in shared and len(self.op.indices) == len(shared[self.op])
        return is_one and not self.reductions

    def rows_read(self, shared: Shared) -> set[tuple[SSAValue, tuple[tuple[int, ...], ...]]]:
        """The tensors of which a row reads more than an element, with row index coefficients."""
        outer = self.piece.rows if self.piece else shared[self.op]
        return {
            (r.tensor, tuple(tuple(f[v] for v in outer) for f in r.forms))
            for r in reads_of(self.op)
            if {*outer} < self.uses.of_operation(r)
        }


def _inside(op: Operation) -> Iterator[Operation]:
    return (inner for inner in op.walk() if inner is not op)


# --- who may share --------------------------------------------------------------------------------


def _shared(members: Sequence[_Member]) -> Shared | None:
    """The indices that definitions have in common; None where rows differ.

    A reduction runs over a row: all that have one have as many indices. These are the first ones of
    the others; or else, of several parts that lie apart, indices before the last one. Sums over
    rows of pieces have none of their own.
    """
    pieces = [m.piece for m in members if m.piece]
    if len(pieces) == len(members):
        return {} if _are_over_the_same(pieces) else None
    found = _shared_by_rows([m for m in members if not m.piece], bool(pieces))
    return found if found and _are_pieces(pieces, found) else None


def _are_over_the_same(pieces: Sequence[PieceSum]) -> bool:
    """True if sums are over the rows of the same pieces, and none reads another."""
    made = {piece.op.result for piece in pieces}
    kinds = {(*piece.lengths, piece.height, piece.op.type.element) for piece in pieces}
    return len(kinds) == 1 and not any(r.tensor in made for p in pieces for r in reads_of(p.op))


def _are_pieces(pieces: Sequence[PieceSum], shared: Shared) -> bool:
    """True if sums over rows add up the rows that other members share, in equal pieces."""
    first = next(iter(shared))
    lengths = [first.shape[first.indices.index(v)] for v in shared[first]]
    made: dict[SSAValue, tix.DefineOp] = {op.result: op for op in shared}
    sums = {piece.op.result for piece in pieces}
    read = (r for op in [*shared, *(p.op for p in pieces)] for r in reads_of(op))
    return (
        len({piece.height for piece in pieces}) < 2
        and all(
            piece.lengths == lengths and piece.op.type.element == first.type.element
            for piece in pieces
        )
        and not any(r.tensor in sums for r in read)
        and all(
            _is_in_row(r, piece.rows, made[r.tensor], shared)
            for piece in pieces
            for r in reads_of(piece.op)
            if r.tensor in made
        )
    )


def _shared_by_rows(members: Sequence[_Member], in_order: bool) -> Shared | None:
    """The indices that rows have in common: the first ones, if they must be `in_order`."""
    if not members:
        return None
    ranks = {len(m.op.indices) for m in members}
    reduced = {len(m.op.indices) for m in members if m.reductions}
    reduced |= {len(m.op.indices) - 1 for m in members if m.scans}
    depth = min(reduced) if reduced else min(min(ranks), max(ranks) - 1)
    scanned = any(m.scans for m in members)
    elements = {m.op.type.element for m in members}
    if len(reduced) > 1 or depth > min(ranks) or not (depth or scanned) or len(elements) > 1:
        return None
    first = {m.op: m.op.indices[:depth] for m in members}
    if are_apart(first):
        return first
    if (
        in_order
        or scanned
        or not reduced
        or ranks != {depth, max(ranks)}
        or any(m.is_far for m in members)
    ):
        return None
    for places in combinations(range(max(ranks) - 1), depth):
        own = {op: op.indices if len(op.indices) == depth else _at(op, places) for op in first}
        if are_apart(own):
            return own
    return None


def _at(op: tix.DefineOp, places: Sequence[int]) -> list[SSAValue]:
    return [op.indices[n] for n in places]


def are_apart(shared: Shared) -> bool:
    """True if members have as many rows, and read each other in the same row only."""
    sizes = {tuple(op.shape[op.indices.index(v)] for v in own) for op, own in shared.items()}
    made: dict[SSAValue, tix.DefineOp] = {op.result: op for op in shared}
    return len(sizes) == 1 and all(
        _is_in_row(read, own, made[read.tensor], shared)
        for op, own in shared.items()
        for read in reads_of(op)
        if read.tensor in made
    )


def _is_in_row(
    read: tix.ReadOp, own: Sequence[SSAValue], made: tix.DefineOp, shared: Shared
) -> bool:
    forms = dict(zip(made.indices, read.forms, strict=False))
    same_shape = tuple(read.shape) == tuple(made.shape)
    return same_shape and [forms[v] for v in shared[made]] == [Affine.of(v) for v in own]
