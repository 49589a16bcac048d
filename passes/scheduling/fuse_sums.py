"""Definitions that share loops: those that sum over the same points, where that is cheaper.

    dz[j, k] = sum[i](dy[i] * exp(-d(i, j)) * (x[i, k] - z[j, k]))
    db[j] = sum[i](dy[i] * exp(-d(i, j)))                             one loop over i, one `exp`

The gradients of a function are like this: their terms are made of the same values. So are several
sums in one definition, as in a weighted mean. Definitions can share loops if none reads the other,
if the indices of each are among those of the widest one, with the same sizes, and if registers hold
the sums of all. The cost of tiles (`passes/scheduling/tiles/tile_choice.py`) decides. Where each
reads every element of a tensor once, memory is read once for all: there, they may cost as much.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, islice, product
from math import prod

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.rewriting.programs import reads_of
from tadc.passes.scheduling.blocking import ChooseBlocking
from tadc.passes.scheduling.costs.tile_cost import ASSUMED_EXTENT, TileCost, plain_cost
from tadc.passes.scheduling.joined_bodies import Places, joined
from tadc.passes.scheduling.nest import Nest, Plain, in_tiles
from tadc.passes.scheduling.scans import is_scanned
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import constant_extent, lanes_of, registers_for
from tadc.passes.scheduling.tiles.tile_choice import sums_of_blocks

MOST_OF_SEPARATE_COST = 0.85
"""The highest cost of loops that are shared, as a share of the cost of separate ones."""

MOST_NESTS_ASKED = 2
"""The nests that a definition may join at most: to ask one takes as long as to choose tiles."""


def nests(
    steps: Sequence[tix.DefineOp],
    alone: Collection[tix.DefineOp],
    choose: ChooseBlocking,
    walks: Sequence[Nest],
    exact: Collection[tix.DefineOp],
) -> list[Nest]:
    """The nests of these definitions, in order, `walks` among them: each stands where its first
    member does. Those in `alone` share loops with no other one; those in `exact` keep their own
    body, whose operations are known to round identically."""
    found: list[Nest] = []
    first = {nest.members[0]: nest for nest in walks}
    walking = {op for nest in walks for op in nest.members}
    alone = {*alone, *walking}
    for op in steps:
        if op in walking:
            found += [first[op]] if op in first else []
            continue
        nest = Nest.of(op, choose(op)) if op in exact else _nest_of(op, choose)
        for place in islice(_places_for(op, found, alone), MOST_NESTS_ASKED):
            fused = _cheaper([*found[place].members, op], [found[place], nest], choose)
            if fused is not None:
                found[place] = fused
                break
        else:
            found.append(nest)
    return found


def _places_for(
    op: tix.DefineOp, found: Sequence[Nest], alone: Collection[tix.DefineOp]
) -> Iterator[int]:
    """The places of nests that a definition may join, the nearest first.

    They read a tensor that it reads, too, and stand behind all nests that compute its inputs.
    """
    own = _tensors_read([op])
    for place in reversed(range(len(found) if op not in alone else 0)):
        members = found[place].members
        if own & {m.result for m in members}:
            return
        if own & _tensors_read(members) and not {*members} & {*alone}:
            yield place


def _tensors_read(ops: Sequence[tix.DefineOp]) -> set[SSAValue]:
    return {read.tensor for op in ops for read in reads_of(op)}


def _nest_of(op: tix.DefineOp, choose: ChooseBlocking) -> Nest:
    """The nest of one definition, in which sums may be joined."""
    plain = Nest.of(op, choose(op))
    return _cheaper([op], [plain], choose) or plain


def _cheaper(
    members: Sequence[tix.DefineOp], instead: Sequence[Nest], choose: ChooseBlocking
) -> Nest | None:
    """The best nest of these definitions, if it is cheaper than the nests that they have."""
    if not _are_apart(members) or any(map(is_scanned, members)):
        return None
    widest = max((op.shape for op in members), key=len)
    ways = product(*(_embeddings(op.shape, widest) for op in members))
    best: Nest | None = None
    limit: float | None = None
    for places in ways:
        nest = _joined(members, places, choose)
        if nest is None:
            continue  # as mostly: then nobody asks what the others cost
        if limit is None:
            limit = _share_of_cost(members) * sum(map(_cost, instead))
        if nest.tiles and _cost(nest) < limit:
            best, nest, limit = nest, best, _cost(nest)
        if nest is not None:
            nest.forget()
    if best is not None:
        for nest in instead:
            nest.forget()
    return best


def _share_of_cost(members: Sequence[tix.DefineOp]) -> float:
    """The highest cost of loops that these share, as a share of the cost of separate ones."""
    return 1.0 if _saves_reads(members) else MOST_OF_SEPARATE_COST


def _saves_reads(members: Sequence[tix.DefineOp]) -> bool:
    """True if the last one and others read each element of the same tensor once.

    Memory then is read once for all, which the cost does not count.
    """
    *others, last = map(_read_once, members)
    return any(last & other for other in others)


def _read_once(op: tix.DefineOp) -> set[SSAValue]:
    """The tensors that sums read without reuse: subscripts move with all indices."""
    uses, own = IndexUses(), {v for s in blocked_sums(op.body) for v in (*s.indices, *op.indices)}
    return {r.tensor for r in reads_of(op) if own and own <= uses.of_operation(r)}


def _are_apart(members: Sequence[tix.DefineOp]) -> bool:
    """True if none reads another one and all have one precision."""
    results = {op.result for op in members}
    return not results & _tensors_read(members) and len({op.type.element for op in members}) == 1


def _embeddings(shape: Sequence[Affine], widest: Sequence[Affine]) -> Iterator[tuple[int, ...]]:
    """The ways to match the dimensions of `shape` with equal ones of `widest`, in order."""
    for positions in combinations(range(len(widest)), len(shape)):
        if all(widest[n] == size for n, size in zip(positions, shape, strict=True)):
            yield positions


def _joined(members: Sequence[tix.DefineOp], places: Places, choose: ChooseBlocking) -> Nest | None:
    body = joined(members, places)
    if body is None:
        return None
    indices = [[body.indices[n] for n in own] for own in places]
    nest = Nest(body, members, indices, Plain())
    tiles = [t for t in choose(body).tiles if nest.fits(t) and _blocks_all_joined(body, t)]
    return replace(nest, loops=in_tiles(tiles))


def _blocks_all_joined(body: tix.DefineOp, tile: Tile) -> bool:
    """True if the blocks of a tile compute all joined sums, for which there are no other loops."""
    joined_sums = {o for o in body.walk() if isinstance(o, tix.SumOp) and len(o.results) > 1}
    return joined_sums <= {*sums_of_blocks(body, tile, IndexUses())}


def _cost(nest: Nest) -> float:
    """The cost of all sums of a nest, in its best tile if it has one."""
    op, uses, registers = nest.body, IndexUses(), registers_for(nest.members[0])
    lanes = registers.lanes(lanes_of(op))
    extents = (constant_extent(size) for size in op.shape)
    elements = prod(ASSUMED_EXTENT if n is None else n for n in extents)
    if not nest.tiles:
        return elements * plain_cost(blocked_sums(op.body), lanes, uses, {})
    tile = nest.tiles[0]
    sums = sums_of_blocks(op, tile, uses)
    return elements * TileCost(tile, lanes, uses, tile.shared_blocks, {}, registers).of(sums)
